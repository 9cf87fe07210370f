//! Changing many rows, each by the key that its record names, in one trip to the store.

use crate::engine::stack::{Stack, Type};
use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::natives::stores::{any_store, inner_call};
use crate::slices::data::read_value;
use crate::values::kind::{TableKind, table_kind};
use crate::values::records::{field, no_record};
use runnel_store::{Content, Error, Reference, Value};
use std::os::raw::c_int;

pub(crate) const NATIVES: [(&str, Native); 1] = [("updateAll", update_all)];

/// `(store, array, count)`: merges the elements of the array into the rows of their keys, all or none.
fn update_all(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let stack = arguments.0;
    let mut records = Vec::new();
    for position in 1..=arguments.number(3) as usize {
        stack.get_element(2, position);
        let record = changes(isolate, stack, position);
        stack.pop(1);
        records.push(attempt!(record));
    }
    let content = Content::value(Value::List(records));
    let answer = store.merge(&Reference::default(), content, &inner_call(isolate));
    Reply::answer(answer, |_| Given::Nil)
}

/// The fields of the record on top of the stack. Those of an instance that are nil were never said.
fn changes(isolate: &Isolate, stack: Stack, position: usize) -> Result<Value, Error> {
    let record = stack.top();
    if stack.kind(record) != Type::Table || !stack.reserve(16) {
        return Err(no_record(stack, record, position));
    }
    match table_kind(stack, record) {
        TableKind::Dictionary => read_value(isolate, stack, record),
        TableKind::Object => instance(isolate, stack, record),
        _ => Err(no_record(stack, record, position)),
    }
}

fn instance(isolate: &Isolate, stack: Stack, record: c_int) -> Result<Value, Error> {
    let plan = isolate.plans().for_object(stack, record);
    let mut fields = Vec::with_capacity(plan.fields.len());
    for planned in &plan.fields {
        stack.push_kept(planned.key);
        stack.get_raw(record);
        let value = field(isolate, stack);
        stack.set_top(record);
        match value? {
            Value::Nil => {}
            value => fields.push((planned.name.clone(), value)),
        }
    }
    Ok(Value::Record(fields))
}
