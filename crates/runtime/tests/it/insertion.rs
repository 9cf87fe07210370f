//! Records of the program on their way into a store: whichever way they take, by cells in memory or as
//! objects that are read one by one, the store gets the same values in the same order.
#![allow(clippy::unwrap_used)]

use crate::support::{Lab, explained};
use runnel_store::{Answer, Content, Context, Records, Reference, Shape, Store, Tables, Value};
use std::cell::RefCell;
use std::rc::Rc;

/// Keeps what was inserted.
#[derive(Default)]
struct Kept {
    fields: Rc<RefCell<Vec<String>>>,
    values: Rc<RefCell<Vec<Value>>>,
}

impl Store for Kept {
    fn get(&self, _: &Reference, _: &Context) -> Answer<Option<Content>> {
        Answer::ok(None)
    }

    fn tables(&self) -> Option<&dyn Tables> {
        Some(self)
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        "kept".into()
    }
}

impl Tables for Kept {
    fn insert(&self, _: &Reference, mut records: Box<dyn Records>, _: &Context) -> Answer<u64> {
        let names = records.fields().to_vec();
        let (fields, values) = (self.fields.clone(), self.values.clone());
        Answer::later(async move {
            let mut all = Vec::new();
            while let Some(batch) = records.next().await? {
                all.extend(batch);
            }
            let count = all.len() / names.len().max(1);
            *fields.borrow_mut() = names;
            *values.borrow_mut() = all;
            Ok(count as u64)
        })
    }

    fn define(&self, _: &Reference, _: &Shape) -> Answer<Rc<dyn Store>> {
        let (fields, values) = (self.fields.clone(), self.values.clone());
        Answer::ok(Rc::new(Kept { fields, values }))
    }

    runnel_store::without!(
        change_all,
        explain,
        run,
        migrate,
        key_value_store,
        snapshot,
        back_up,
        vacuum,
        begin
    );
}

const CLASSES: &str = "class Row { var <int> id. var title. var value. } \
                       class Other { var <int> id. var title. var value. } \
                       table ← ref:memory:rows table. 1";

fn lab() -> (Lab, Rc<Kept>) {
    let kept = Rc::new(Kept::default());
    let lab = Lab::over(kept.clone());
    lab.value(CLASSES);
    (lab, kept)
}

/// What the store got, row by row, as JSON texts.
fn inserted(lab: &Lab, kept: &Kept, source: &str) -> Vec<String> {
    let count: usize = lab.value(source).parse().unwrap();
    let width = kept.fields.borrow().len();
    let values = kept.values.borrow();
    assert_eq!(values.len(), count * width, "{source}");
    let row = |row: &[Value]| row.iter().map(|value| format!("{value:?}")).collect::<Vec<_>>();
    values.chunks(width).map(|one| row(one).join(" ")).collect()
}

fn fault(lab: &Lab, source: &str) -> String {
    explained(&lab.run(source).unwrap_err())
}

#[test]
fn plain_values_arrive_as_they_are() {
    let (lab, kept) = lab();
    let rows = inserted(
        &lab,
        &kept,
        "list := ['a', '', 'größer', 1.5, -3, true, false, 9007199254740991, 0 / 1]. \
         table insertAll: (1 to: list count) collect: { :i | #Row{ id: i, title: 'x', value: list at: i - 1 } }",
    );
    let expected = [
        "Text(\"a\")",
        "Text(\"\")",
        "Text(\"größer\")",
        "Float(1.5)",
        "Int(-3)",
        "Bool(true)",
        "Bool(false)",
        "Int(9007199254740991)",
        "Int(0)",
    ];
    assert_eq!(rows.len(), expected.len());
    for (number, (row, value)) in rows.iter().zip(expected).enumerate() {
        assert_eq!(row, &format!("Int({}) Text(\"x\") {value}", number + 1));
    }
}

#[test]
fn more_than_a_batch_arrives_in_order() {
    let (lab, kept) = lab();
    for make in [
        "table insertAll: (1 to: 10007) collect: { :i | #Row{ id: i, title: \"t{i}\", value: i odd } }",
        "table insertAll: ((1 to: 10007) collect: { :i | #Row{ id: i, title: \"t{i}\", value: i odd } })",
        "table insertAll: { :rows | (1 to: 10007) do: { :i | \
             rows writeObject: #Row{ id: i, title: \"t{i}\", value: i odd } } }",
        // As dictionaries, which are read one by one.
        "table insertAll: (1 to: 10007) collect: { :i | #{ id: i, title: \"t{i}\", value: i odd } }",
    ] {
        let rows = inserted(&lab, &kept, make);
        assert_eq!(rows.len(), 10_007, "{make}");
        for (number, row) in (1..).zip(&rows) {
            let expected = format!("Int({number}) Text(\"t{number}\") Bool({})", number % 2 == 1);
            assert_eq!(row, &expected, "{make}");
        }
    }
}

#[test]
fn what_is_no_plain_value_stands_between_the_others() {
    let (lab, kept) = lab();
    // Every seventh value is a list, an object with a key, or a large number.
    let rows = inserted(
        &lab,
        &kept,
        "odd := [ [ 1, 2 ], #Other{ id: 77 }, 123456789012345678901234567890 ]. \
         table insertAll: (1 to: 9000) collect: { :i | row := #Row{ id: i, title: 't' }. \
             (i mod: 7) = 0 ifTrue: { row setValue: (odd at: (i mod: 3)) }. row }",
    );
    assert_eq!(rows.len(), 9_000);
    for (number, row) in (1..).zip(&rows) {
        let value = match (number % 7, number % 3) {
            (0, 0) => "List([Int(1), Int(2)])",
            (0, 1) => "Int(77)",
            (0, _) => "Big(\"123456789012345678901234567890\")",
            _ => "Nil",
        };
        assert_eq!(row, &format!("Int({number}) Text(\"t\") {value}"));
    }
}

#[test]
fn a_record_that_does_not_fit_is_named() {
    let (lab, _) = lab();
    let at = |number: usize, other: &str| {
        format!(
            "table insertAll: (1 to: 9000) collect: {{ :i | i = {number} ifTrue: {{ {other} }} \
                 ifFalse: {{ #Row{{ id: i, title: 't', value: i }} }} }}"
        )
    };
    for number in [2, 2730, 2731, 8999] {
        let said = fault(&lab, &at(number, "#Other{ id: 1 }"));
        assert!(said.contains(&format!("record {number} is of another class")), "{said}");
        let said = fault(&lab, &at(number, "3"));
        assert!(said.contains(&format!("record {number} is no record")), "{said}");
        let said = fault(&lab, &at(number, "nil"));
        assert!(said.contains("nil is no record"), "{said}");
    }
    assert!(fault(&lab, &at(1, "nil")).contains("nil is no record"));
    assert!(fault(&lab, "table insertAll: [ nil ]").contains("nil is no record"));
}

#[test]
fn keys_are_left_out_for_all_or_for_none() {
    let (lab, kept) = lab();
    let rows = inserted(
        &lab,
        &kept,
        "table insertAll: (1 to: 3000) collect: { :i | #Row{ title: 't', value: i } }",
    );
    assert_eq!(rows[2999], "Text(\"t\") Int(3000)");
    let said = fault(
        &lab,
        "table insertAll: (1 to: 3000) collect: { :i | i = 2900 ifTrue: { #Row{ id: 5, title: 't' } } \
             ifFalse: { #Row{ title: 't', value: i } } }",
    );
    assert!(said.contains("record 2900 has a key and the first one has none"), "{said}");
}

#[test]
fn insertions_in_each_other_do_not_meet() {
    let (lab, kept) = lab();
    let rows = inserted(
        &lab,
        &kept,
        "inner := 0. outer := table insertAll: (1 to: 2) collect: { :i | \
             inner := inner + (table insertAll: (1 to: 5) collect: { :j | #Row{ id: j, title: 'in', value: 0 } }). \
             #Row{ id: i, title: 'out', value: i } }. outer",
    );
    assert_eq!(rows, ["Int(1) Text(\"out\") Int(1)", "Int(2) Text(\"out\") Int(2)"]);
    assert_eq!(lab.value("inner"), "10");
}

#[test]
fn dictionaries_get_the_values_that_their_class_makes() {
    let (lab, kept) = lab();
    lab.value(
        "class Made { var title. var <int> size ← 3 + 4. var <[int]> parts ← [ 1 ]. var <Other> other. } \
         table ← ref:memory:made table: Made. 1",
    );
    for make in [
        "table insertAll: [ #{ title: 'a' }, #{ title: 'b', size: 2 }, #{ title: 'c', parts: [ ] } ]",
        "table insertAll: { :out | out writeObject: #{ title: 'a' }. \
             out forward: #{ title: 'b', size: 2 }. out writeObject: #{ title: 'c', parts: [ ] } }",
        "table insertAll: (0 to: 2) collect: { :i | \
             [ #{ title: 'a' }, #{ title: 'b', size: 2 }, #{ title: 'c', parts: [ ] } ] at: i }",
    ] {
        let rows = inserted(&lab, &kept, make);
        let expected = [
            "Text(\"a\") Int(7) List([Int(1)])",
            "Text(\"b\") Int(2) List([Int(1)])",
            "Text(\"c\") Int(7) List([])",
        ];
        assert_eq!(rows, expected, "{make}");
    }
    // An instance has had its values since it was made: what is nil in it stays so.
    let rows =
        inserted(&lab, &kept, "table insertAll: [ #Made{ title: 'a' } setSize: nil; yourself ]");
    assert_eq!(rows, ["Text(\"a\") List([Int(1)])"]);
}
