//! Instances of classes made of the records of a store, without a dictionary for each and without a call of
//! the program.

use super::kind::Origin;
use super::plans::{InstanceField, InstancePlan};
use super::push::push_data_of;
use crate::engine::stack::{Stack, Type};
use crate::isolate::Isolate;
use runnel_store::Value;
use std::rc::Rc;

/// The plan of a class, made when it is first asked for.
fn plan_of(isolate: &Isolate, stack: Stack, class: &Rc<str>) -> Option<Rc<InstancePlan>> {
    if let Some(plan) = isolate.instance_plans().known(class) {
        return plan;
    }
    let plan = read_plan(isolate, stack, class).map(Rc::new);
    isolate.instance_plans().remember(class.clone(), plan.clone());
    plan
}

fn read_plan(isolate: &Isolate, stack: Stack, class: &str) -> Option<InstancePlan> {
    let top = stack.top();
    isolate.push_of_kernel(stack, "instancePlan");
    stack.push_bytes(class.as_bytes());
    let made = stack.protected_call(1, 1) && stack.kind(-1) == Type::Table;
    let plan = made.then(|| {
        let list = stack.top();
        let keep = |position| {
            stack.get_element(list, position);
            stack.keep()
        };
        let field = |position| {
            stack.get_element(list, position);
            let name = stack.text(-1);
            stack.pop(1);
            stack.get_element(list, position + 2);
            let is_read = stack.kind(-1) == Type::Function;
            stack.pop(1);
            let reader = is_read.then(|| keep(position + 2));
            InstanceField { name, key: keep(position + 1), reader }
        };
        let fields = (2..=stack.length(list)).step_by(3).map(field).collect();
        InstancePlan { methods: keep(1), fields }
    });
    stack.set_top(top);
    plan
}

/// Pushes an instance with the fields of a record. Pushes nothing and answers false where one of them is none
/// of the class.
fn push_instance(
    isolate: &Isolate,
    stack: Stack,
    plan: &InstancePlan,
    record: &[(String, Value)],
    origin: Origin,
) -> bool {
    stack.new_table(0, record.len());
    let instance = stack.top();
    for (position, (name, value)) in record.iter().enumerate() {
        // Columns usually come in the order of the class.
        let usual = plan.fields.get(position).filter(|field| field.name == *name);
        let field = usual.or_else(|| plan.fields.iter().find(|field| field.name == *name));
        if !field.is_some_and(|field| set_field(isolate, stack, field, value, origin)) {
            stack.set_top(instance - 1);
            return false;
        }
    }
    stack.push_kept(plan.methods);
    stack.set_metatable(instance);
    true
}

/// Sets a field of the instance on top of the stack. Answers false where its reader fails.
fn set_field(
    isolate: &Isolate,
    stack: Stack,
    field: &InstanceField,
    value: &Value,
    origin: Origin,
) -> bool {
    if value.is_nil() {
        return true;
    }
    let instance = stack.top();
    stack.push_kept(field.key);
    if let Some(reader) = field.reader {
        stack.push_kept(reader);
    }
    push_data_of(isolate, stack, value, origin);
    if field.reader.is_some() && !stack.protected_call(1, 1) {
        return false;
    }
    stack.set_raw(instance);
    true
}

/// Pushes what a store answered for a class: an instance for a record, an array of them for a list.
/// Pushes nothing and answers false where the program has to make them.
pub(crate) fn push_instances(
    isolate: &Isolate,
    stack: Stack,
    class: &Rc<str>,
    value: &Value,
) -> bool {
    if !stack.reserve(16) {
        return false;
    }
    let Some(plan) = plan_of(isolate, stack, class) else { return false };
    match value {
        Value::Record(record) => push_instance(isolate, stack, &plan, record, Origin::Program),
        Value::List(items) => {
            stack.new_table(items.len(), 0);
            let array = stack.top();
            for (position, item) in items.iter().enumerate() {
                let record = item.as_record();
                if !record.is_some_and(|record| {
                    push_instance(isolate, stack, &plan, record, Origin::Program)
                }) {
                    stack.set_top(array - 1);
                    return false;
                }
                stack.set_element(array, position + 1);
            }
            stack.push_kept(isolate.slots().array);
            stack.set_metatable(array);
            true
        }
        _ => false,
    }
}

/// Pushes the instance that a client sent, as kernel/tables/instance.lua makes it: marked, with the key that the
/// client named. Pushes nothing and answers false where the program has to make it.
pub(crate) fn push_sent_instance(
    isolate: &Isolate,
    stack: Stack,
    class: &Rc<str>,
    value: &Value,
) -> bool {
    let Value::Record(record) = value else { return false };
    if !stack.reserve(16) {
        return false;
    }
    let Some(plan) = plan_of(isolate, stack, class) else { return false };
    if !push_instance(isolate, stack, &plan, record, Origin::Client) {
        return false;
    }
    let instance = stack.top();
    stack.push_boolean(true);
    stack.set_field(instance, "_sent");
    if let Some((_, key)) = record.iter().find(|(name, _)| name == "id") {
        match key {
            Value::Nil => stack.push_kept(isolate.slots().null),
            key => push_data_of(isolate, stack, key, Origin::Client),
        }
        stack.set_field(instance, "_sentKey");
    }
    true
}
