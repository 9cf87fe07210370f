//! Values through the converters and back: what comes back exactly, and what a form cannot tell
//! apart.

use proptest::prelude::*;
use runnel_store::{
    Compressed, Content, Context, Csv, Form, Json, Memory, Reference, Store, Value, json,
};
use std::rc::Rc;

fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(work)
}

fn memory() -> Rc<dyn Store> {
    Rc::new(Memory::site())
}

/// What a get answers after a value was put.
fn through(store: &dyn Store, value: &Value) -> Value {
    let (at, context) = (Reference::from_path("x"), Context::default());
    run(async {
        store.put(&at, Content::value(value.clone()), &context).await.unwrap();
        let found = store.get(&at, &context).await.unwrap().unwrap();
        found.into_value(1 << 24).await.unwrap()
    })
}

/// JSON text below, values above.
fn json_text() -> Json {
    Json::down(Rc::new(Json::up(memory())))
}

/// An integer of any size, as values keep it.
fn whole_number(digits: &str, negative: bool) -> Value {
    let trimmed = digits.trim_start_matches('0');
    let text = match (trimmed, negative) {
        ("", _) => "0".to_string(),
        (digits, true) => format!("-{digits}"),
        (digits, false) => digits.to_string(),
    };
    text.parse::<i64>().map_or_else(|_| Value::Big(text.into()), Value::Int)
}

/// Around what floats and 64 bits can hold, and anywhere else.
fn integers() -> impl Strategy<Value = Value> {
    let edges = [1_i64 << 53, (1 << 53) + 1, -(1 << 53) - 1, i64::MAX, i64::MIN, 0, -1];
    prop_oneof![
        proptest::sample::select(edges.to_vec()).prop_map(Value::Int),
        any::<i64>().prop_map(Value::Int),
        ("[0-9]{1,60}", any::<bool>()).prop_map(|(digits, sign)| whole_number(&digits, sign)),
    ]
}

/// Decimals and dates are kept as text: no digit of them changes.
fn texts() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<String>(),
        "-?[0-9]{1,30}\\.[0-9]{1,30}",
        "[0-9]{4}-[01][0-9]-[0-3][0-9]",
        "[ \"',;\\r\\n\\t\\\\\\x00\\x7f]{0,6}",
        Just("\u{0}".to_string()),
        Just("null".to_string()),
        Just("007".to_string()),
        Just("\u{feff}mark".to_string()),
    ]
}

/// What stands alone.
fn scalars() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::Bool),
        integers(),
        any::<f64>().prop_filter("numbers", |number| number.is_finite()).prop_map(Value::Float),
        texts().prop_map(Value::Text),
    ]
}

fn values() -> impl Strategy<Value = Value> {
    scalars().prop_recursive(4, 32, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::List),
            proptest::collection::vec((texts(), inner), 0..6).prop_map(Value::record),
        ]
    })
}

/// Values with what no text has a form for: bytes, and floats that are no numbers.
fn all_values() -> impl Strategy<Value = Value> {
    let odd = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..40)
            .prop_map(|bytes| Value::Bytes(bytes::Bytes::from(bytes))),
        Just(Value::Float(f64::NAN)),
        Just(Value::Float(f64::INFINITY)),
    ];
    prop_oneof![values(), odd.clone(), proptest::collection::vec(odd, 1..4).prop_map(Value::List)]
}

/// A value as JSON keeps it: bytes are base64 text, and what is no number is nil.
fn as_json(value: &Value) -> Value {
    match value {
        Value::Bytes(_) => {
            let quoted = String::from_utf8(json::text(value)).unwrap();
            Value::from(quoted.trim_matches('"'))
        }
        Value::Float(number) if !number.is_finite() => Value::Nil,
        Value::List(elements) => Value::List(elements.iter().map(as_json).collect()),
        Value::Record(fields) => {
            Value::record(fields.iter().map(|(name, value)| (name.clone(), as_json(value))))
        }
        other => other.clone(),
    }
}

/// A value as a cell of CSV keeps it: text, or nil where it is empty and not in quotes.
fn as_cell(value: &Value, alone: bool) -> Value {
    let text = match value {
        Value::Text(text) => return Value::from(text.as_str()),
        Value::Nil => String::new(),
        Value::Float(number) if !number.is_finite() => String::new(),
        Value::Bytes(_) => as_json(value).as_str().unwrap().to_string(),
        other => String::from_utf8(json::text(other)).unwrap(),
    };
    match text.as_str() {
        // A blank line would be none, so the only cell of a line is in quotes where it is empty.
        "" if !alone => Value::Nil,
        text => Value::from(text),
    }
}

fn records() -> impl Strategy<Value = (Vec<String>, Vec<Vec<Value>>)> {
    proptest::collection::btree_set("[^\u{feff}]{0,12}", 1..5).prop_flat_map(|names| {
        let names: Vec<String> = names.into_iter().collect();
        let row = proptest::collection::vec(all_values(), names.len());
        (Just(names), proptest::collection::vec(row, 1..8))
    })
}

proptest! {
    /// Integers of any size, floats, texts with any character and nil come back from JSON text as
    /// they were; what JSON has no form for comes back as what it is written as.
    #[test]
    fn json_is_exact(value in values()) {
        // Nil deletes: it is the content, not a part of it, that is missing then.
        prop_assume!(!value.is_nil());
        prop_assert_eq!(through(&json_text(), &value), value);
    }

    #[test]
    fn json_says_bytes_as_base64(value in all_values()) {
        let expected = as_json(&value);
        prop_assume!(!value.is_nil() && !expected.is_nil());
        prop_assert_eq!(through(&json_text(), &value), expected);
    }

    /// What JSON text says is kept digit by digit, also by a program that reads and writes it.
    #[test]
    fn json_text_stays_as_it_is(value in values()) {
        let once = json::text(&value);
        let read = json::parse(&once).unwrap();
        prop_assert_eq!(json::text(&read), once);
    }

    #[test]
    fn csv_is_exact_for_texts(
        (names, rows) in records().prop_map(|(names, rows)| {
            let text = |value: Value| Value::from(String::from_utf8_lossy(
                &value.encode(Form::Json)).as_ref());
            let rows: Vec<Vec<Value>> =
                rows.into_iter().map(|row| row.into_iter().map(text).collect()).collect();
            (names, rows)
        })
    ) {
        let table = table(&names, &rows);
        prop_assert_eq!(through(&Csv::down(memory()), &table), table);
    }

    #[test]
    fn csv_makes_text_of_all_values((names, rows) in records()) {
        let cells = |row: &Vec<Value>| {
            row.iter().map(|value| as_cell(value, names.len() == 1)).collect::<Vec<_>>()
        };
        let expected: Vec<Vec<Value>> = rows.iter().map(cells).collect();
        let store = Csv::down(memory());
        let found = through(&store, &table(&names, &rows));
        prop_assert_eq!(&found, &table(&names, &expected));
        // What has once been CSV stays the same from then on, but for the only cell of a line.
        prop_assert_eq!(through(&store, &found), found);
    }

    #[test]
    fn gzip_is_exact(bytes in proptest::collection::vec(any::<u8>(), 0..3000)) {
        let store = Compressed::gzip(memory());
        let (at, context) = (Reference::from_path("x"), Context::default());
        let found = run(async {
            store.put(&at, Content::bytes(bytes.clone()), &context).await.unwrap();
            let found = store.get(&at, &context).await.unwrap().unwrap();
            found.read(1 << 24).await.unwrap()
        });
        prop_assert_eq!(&found[..], &bytes[..]);
    }
}

fn table(names: &[String], rows: &[Vec<Value>]) -> Value {
    let record = |row: &Vec<Value>| Value::record(names.iter().cloned().zip(row.iter().cloned()));
    Value::List(rows.iter().map(record).collect())
}

/// The pairs that CSV makes the same, each as its documentation says.
#[test]
fn what_csv_cannot_tell_apart() {
    let store = Csv::down(memory());
    let column = |value: Value| {
        let fields = [("a", Value::from("x")), ("b", value)];
        through(&store, &Value::List(vec![Value::record(fields)]))
    };
    let empty_list = Value::List(Vec::new());
    for (one, other) in [
        (Value::Int(1), Value::from("1")),
        (Value::Bool(true), Value::from("true")),
        (Value::Float(1.0), Value::from("1.0")),
        (Value::Bytes(bytes::Bytes::from_static(b"a")), Value::from("YQ==")),
        (Value::Bytes(bytes::Bytes::new()), Value::Nil),
        (Value::Float(f64::NAN), Value::Nil),
        (empty_list.clone(), Value::from("[]")),
    ] {
        assert_eq!(column(one.clone()), column(other), "{one:?}");
    }
    assert_ne!(column("".into()), column(Value::Nil), "empty text is not nil");
    // Alone in its line, it is.
    let alone = |value: Value| through(&store, &Value::List(vec![Value::record([("a", value)])]));
    assert_eq!(alone("".into()), alone(Value::Nil));
    // A field that is not there is one that is nil.
    let ragged = Value::List(vec![
        Value::record([("a", Value::from("1"))]),
        Value::record([("a", Value::from("2")), ("b", Value::from("3"))]),
    ]);
    let filled = Value::List(vec![
        Value::record([("a", Value::from("1")), ("b", Value::Nil)]),
        Value::record([("a", Value::from("2")), ("b", Value::from("3"))]),
    ]);
    assert_eq!(through(&store, &ragged), filled);
    // Without records there are no names, and without names no records.
    assert_eq!(through(&store, &empty_list), empty_list);
}
