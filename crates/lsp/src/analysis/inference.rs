//! What messages answer, and what they give to their blocks.

use super::builder::NameBuilder;
use super::index::KnownValue;
use runnel_catalogue::{Kind, KindOption, Message};

/// Messages of a collection that answer one of its elements.
const ELEMENTS: [&str; 16] = [
    "first",
    "last",
    "at:",
    "any",
    "anyOne",
    "detect:",
    "detect:ifNone:",
    "at:ifAbsent:",
    "max:",
    "min:",
    "removeFirst",
    "removeLast",
    "random",
    "find:",
    "firstWhere:",
    "insert:",
];
/// Messages of a collection that answer some of its elements.
const SELECTIONS: [&str; 18] = [
    "select:",
    "select",
    "where:",
    "filter:",
    "reject:",
    "sorted:",
    "sorted",
    "sortedBy:",
    "sortBy:",
    "first:",
    "skip:",
    "last:",
    "reversed",
    "reverse",
    "shuffled",
    "orderedBy:",
    "asArray",
    "copy",
];
/// Names that the catalogue gives to elements in blocks.
const ELEMENT_NAMES: [&str; 6] = ["each", "row", "element", "item", "object", "other"];

impl NameBuilder<'_> {
    /// The message of the kernel that a value understands.
    fn message(&self, value: &KnownValue, selector: &str) -> Option<&'static Message> {
        let class = self.index.kernel_class(value.class.as_deref()?);
        let catalogue = self.knowledge.catalogue;
        let found = catalogue.message(class, selector, value.is_class);
        found.or_else(|| {
            value.is_class.then(|| catalogue.message("Class", selector, false)).flatten()
        })
    }

    /// What a message gives to the block that is its argument with this number.
    pub(super) fn given(
        &self,
        receiver: &KnownValue,
        selector: &str,
        number: usize,
    ) -> Vec<KnownValue> {
        match selector {
            "to:do:" | "to:by:do:" | "timesRepeat:" | "repeat:" => {
                return vec![KnownValue::object("Number")];
            }
            "ifNotNil:" | "ifNil:ifNotNil:" | "ifNotNil:ifNil:" => return vec![receiver.clone()],
            "onError:" | "on:do:" => return vec![KnownValue::object("Error")],
            _ => {}
        }
        let Some(message) = self.message(receiver, selector) else {
            return vec![receiver.element_value()];
        };
        let options = message.parameters.get(number).map_or(&[][..], |one| &one.kind.options);
        let names = options.iter().find_map(|option| match option {
            KindOption::Block(Some(names)) => Some(names.as_slice()),
            _ => None,
        });
        let value = |name: &String| match name.as_str() {
            name if ELEMENT_NAMES.contains(&name) => receiver.element_value(),
            "index" | "number" => KnownValue::object("Number"),
            "error" => KnownValue::object("Error"),
            "transaction" => KnownValue::object("Transaction"),
            "match" => KnownValue::object("Match"),
            "socket" => KnownValue::object("WebSocket"),
            _ => KnownValue::default(),
        };
        names.unwrap_or_default().iter().map(value).collect()
    }

    /// What a message answers. `arguments`: their values; of a block the value that it answers.
    pub(super) fn answer(
        &mut self,
        receiver: &KnownValue,
        selector: &str,
        arguments: &[KnownValue],
    ) -> KnownValue {
        match selector {
            "ifTrue:" | "ifFalse:" | "ifNotNil:" => return arguments[0].clone(),
            "ifTrue:ifFalse:" | "ifFalse:ifTrue:" | "ifNil:ifNotNil:" | "ifNotNil:ifNil:" => {
                let same = arguments[0].class == arguments[1].class;
                return if same { arguments[0].clone() } else { KnownValue::default() };
            }
            "ifNil:" | "yourself" => return receiver.clone(),
            "=" | "==" | "!=" | "~=" | "≠" => return KnownValue::object("Boolean"),
            _ => {}
        }
        if let Some(answer) = self.own_answer(receiver, selector) {
            return answer;
        }
        if receiver.element.is_some() && !receiver.is_class {
            if ELEMENTS.contains(&selector) {
                return receiver.element_value();
            }
            if SELECTIONS.contains(&selector) {
                return receiver.clone();
            }
        }
        let Some(message) = self.message(receiver, selector) else { return KnownValue::default() };
        let mut answer = of_kind(&message.answer, receiver);
        match selector {
            "table:" => {
                answer.element = arguments[0].class.clone().filter(|_| arguments[0].is_class);
            }
            "collect:" if answer.is_known() => answer.element.clone_from(&arguments[0].class),
            _ => {}
        }
        answer
    }

    /// What methods and properties of the text's classes answer.
    fn own_answer(&self, receiver: &KnownValue, selector: &str) -> Option<KnownValue> {
        let class = receiver.class.as_deref()?;
        if let Some(method) = self.index.method(class, selector, receiver.is_class) {
            return Some(method.answer.clone());
        }
        if receiver.is_class {
            let is_own = self.index.classes.contains_key(class);
            return (is_own && selector == "new").then(|| KnownValue::object(class));
        }
        self.index.property(class, selector).map(|property| property.value.clone())
    }
}

/// A type of the catalogue as a value, where it has one class.
fn of_kind(kind: &Kind, receiver: &KnownValue) -> KnownValue {
    match kind.options.as_slice() {
        [KindOption::Class(class)] => KnownValue::object(class),
        [KindOption::Block(_)] => KnownValue::object("Block"),
        [KindOption::Receiver] => KnownValue { is_class: false, ..receiver.clone() },
        _ => KnownValue::default(),
    }
}
