//! Plans: how the instances of a class are written, and made of records; once for each class.

use crate::engine::stack::{Slot, Stack, Type};
use runnel_store::json::write_text;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::os::raw::c_int;
use std::rc::Rc;

/// One field of a class: how it is written and where its value is.
pub(crate) struct PlannedField {
    pub(crate) name: String,
    /// `"name":`
    pub(crate) prefix: Vec<u8>,
    pub(crate) key: Slot,
}

/// How the instances of a class are written: made once per class.
#[derive(Default)]
pub(crate) struct ClassPlan {
    pub(crate) fields: Vec<PlannedField>,
    /// The class says itself how it is written.
    pub(crate) custom: bool,
}

/// The plans of an isolate, by the address of the class's method table (which is never freed).
#[derive(Default)]
pub(crate) struct Plans {
    known: RefCell<FxHashMap<usize, Rc<ClassPlan>>>,
}

impl Plans {
    /// Forgets what was known: a class has a new instance variable.
    pub(crate) fn forget(&self, stack: Stack) {
        for (_, plan) in self.known.borrow_mut().drain() {
            for field in &plan.fields {
                stack.release(field.key);
            }
        }
    }

    /// The plan for the object at an index.
    pub(crate) fn for_object(&self, stack: Stack, index: c_int) -> Rc<ClassPlan> {
        if !stack.metatable(index) {
            return Rc::new(ClassPlan::default());
        }
        let address = stack.address(-1) as usize;
        if let Some(plan) = self.known.borrow().get(&address) {
            stack.pop(1);
            return plan.clone();
        }
        let plan = Rc::new(ClassPlan::make(stack, stack.top()));
        stack.pop(1);
        self.known.borrow_mut().insert(address, plan.clone());
        plan
    }
}

impl ClassPlan {
    fn make(stack: Stack, methods: c_int) -> ClassPlan {
        // Messages with which a class says itself how it is written (kernel/text/json.lua).
        let mut custom = false;
        for message in ["jsonRepresentation", "asDictionary", "writeOnJSONStream_"] {
            stack.field(methods, message);
            custom |= stack.kind(-1) == Type::Function;
            stack.pop(1);
        }
        // Lists of rows are written where they were read.
        stack.field(methods, "_listsRows");
        custom |= stack.boolean(-1);
        stack.pop(1);
        let mut fields = Vec::new();
        stack.field(methods, "_class");
        if stack.kind(-1) == Type::Table {
            stack.field(-1, "_ivars");
            let names = stack.top();
            if stack.kind(names) == Type::Table {
                for position in 1..=stack.length(names) {
                    stack.get_element(names, position);
                    let name = stack.text(-1);
                    stack.pop(1);
                    stack.push_bytes(runnel_compile::field(&name).as_bytes());
                    let key = stack.keep();
                    let mut prefix = Vec::new();
                    write_text(&name, &mut prefix);
                    prefix.push(b':');
                    fields.push(PlannedField { name, prefix, key });
                }
            }
            stack.pop(1);
        }
        stack.pop(1);
        ClassPlan { fields, custom }
    }
}

/// How a record becomes an instance of a class.
pub(crate) struct InstancePlan {
    pub(crate) methods: Slot,
    pub(crate) fields: Vec<InstanceField>,
}

/// One field of a class.
pub(crate) struct InstanceField {
    pub(crate) name: String,
    pub(crate) key: Slot,
    /// The function that makes more of a plain value: a date, an object.
    pub(crate) reader: Option<Slot>,
}

/// The plans of an isolate by the names of the classes; none for a class that says itself how its
/// instances are made.
#[derive(Default)]
pub(crate) struct InstancePlans {
    known: RefCell<FxHashMap<Rc<str>, Option<Rc<InstancePlan>>>>,
}

impl InstancePlans {
    /// What is known of a class, if anything is.
    pub(crate) fn known(&self, class: &str) -> Option<Option<Rc<InstancePlan>>> {
        self.known.borrow().get(class).cloned()
    }

    pub(crate) fn remember(&self, class: Rc<str>, plan: Option<Rc<InstancePlan>>) {
        self.known.borrow_mut().insert(class, plan);
    }

    /// Forgets what was known: a class has changed.
    pub(crate) fn forget(&self, stack: Stack) {
        for plan in self.known.borrow_mut().drain().filter_map(|(_, plan)| plan) {
            stack.release(plan.methods);
            for field in &plan.fields {
                stack.release(field.key);
                field.reader.iter().for_each(|reader| stack.release(*reader));
            }
        }
    }
}
