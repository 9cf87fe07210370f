//! What the compiler may take for granted: the kernel's classes, names and schemes.

use crate::engine::stack::{Stack, Type};
use crate::isolate::Isolate;
use runnel_compile::Known;

/// The kernel as the compiler sees it.
pub(crate) struct KernelNames<'a>(pub(crate) &'a Isolate);

/// Schemes that the compiler and the kernel know by themselves.
const OWN_SCHEMES: [&str; 19] = [
    "var",
    "default",
    "this",
    "self",
    "ref",
    "scheme",
    "class",
    "template",
    "protocol",
    "port",
    "framework",
    "query",
    "form",
    "header",
    "cookie",
    "body",
    "parts",
    "response",
    "request",
];

impl KernelNames<'_> {
    /// Looks into a table of the kernel: `fill` runs with the table's index.
    fn with_table<T>(&self, table: &str, fill: impl FnOnce(Stack) -> T) -> T {
        let stack = self.0.stack();
        stack.reserve(12);
        let top = stack.top();
        stack.push_kept(self.0.slots().kernel);
        stack.field(-1, table);
        let result = fill(stack);
        stack.set_top(top);
        result
    }

    fn has(&self, table: &str, name: &str) -> bool {
        self.with_table(table, |stack| {
            stack.kind(-1) == Type::Table && {
                stack.field(-1, name);
                stack.kind(-1) != Type::Nil
            }
        })
    }

    /// Makes variables known to the sources that follow, also while they hold nil.
    pub(crate) fn declare(&self, variables: &[String]) {
        self.with_table("declared", |stack| {
            let table = stack.top();
            for name in variables {
                stack.push_boolean(true);
                stack.set_field(table, name);
            }
        });
    }

    /// The classes with their messages, for the checker (`kernel/program/facts.lua`).
    pub(crate) fn facts(&self) -> runnel_check::Kernel {
        runnel_check::Kernel::parse(&self.facts_text())
    }

    /// The same as text.
    pub(crate) fn facts_text(&self) -> String {
        let stack = self.0.stack();
        stack.reserve(12);
        let top = stack.top();
        self.0.push_of_kernel(stack, "facts");
        let text = match stack.protected_call(0, 1) {
            true => stack.text(-1),
            false => String::new(),
        };
        stack.set_top(top);
        text
    }

    /// The keys of a table of the kernel that are texts.
    pub(crate) fn keys(&self, table: &str) -> Vec<String> {
        self.with_table(table, |stack| {
            let mut keys = Vec::new();
            if stack.kind(-1) != Type::Table {
                return keys;
            }
            let table = stack.top();
            stack.push_nil();
            while stack.next(table) {
                stack.pop(1);
                if stack.kind(-1) == Type::Text {
                    keys.push(stack.text(-1));
                }
            }
            keys
        })
    }
}

impl Known for KernelNames<'_> {
    fn is_class(&self, name: &str) -> bool {
        self.has("classes", name)
    }

    fn is_predefined(&self, name: &str) -> bool {
        self.has("predefinedNames", name)
    }

    fn is_variable(&self, name: &str) -> bool {
        self.has("variables", name) || self.has("declared", name)
    }

    fn is_scheme(&self, name: &str) -> bool {
        OWN_SCHEMES.contains(&name)
            || self.0.host().schemes().contains(&name)
            || self.has("schemes", name)
    }

    fn instance_variables(&self, class: &str) -> Vec<String> {
        self.with_table("classes", |stack| {
            let mut names = Vec::new();
            stack.field(-1, class);
            if stack.kind(-1) != Type::Table {
                return names;
            }
            stack.field(-1, "_ivars");
            if stack.kind(-1) != Type::Table {
                return names;
            }
            let table = stack.top();
            for position in 1..=stack.length(table) {
                stack.get_element(table, position);
                names.push(stack.text(-1));
                stack.pop(1);
            }
            names
        })
    }

    fn names(&self) -> Vec<String> {
        let mut names = self.keys("variables");
        names.extend(self.keys("predefinedNames"));
        names.extend(self.keys("classes"));
        names
    }

    fn schemes(&self) -> Vec<String> {
        let mut names: Vec<String> = OWN_SCHEMES.iter().map(|name| (*name).to_string()).collect();
        names.extend(self.0.host().schemes().iter().map(|name| (*name).to_string()));
        names.extend(self.keys("schemes"));
        names
    }

    fn default_replaced(&self) -> bool {
        self.with_table("replacedDefault", |stack| stack.boolean(-1))
    }
}
