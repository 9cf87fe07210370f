//! `Label`: a text that only the program changes.

use crate::gtk::{self, Object};
use crate::json::shown;
use crate::session::{Behaviour, Made, Session, Widget};
use serde_json::Value;
use std::rc::Rc;

struct Label;

pub(super) fn label() -> Made {
    let label = Object::new("GtkLabel", &[("xalign", 0.0.into())]);
    Made { outer: label.clone(), inner: label, behaviour: Rc::new(Label) }
}

/// A label in the place of something that cannot be shown.
pub(super) fn complaint(text: &str) -> Made {
    let label = label();
    label.inner.set("label", text);
    gtk::set_style(&label.inner, "error", true);
    label
}

impl Behaviour for Label {
    fn connect(self: Rc<Self>, _: &Rc<Session>, _: &Rc<Widget>) {}

    fn apply(&self, _: &Rc<Session>, widget: &Rc<Widget>, property: &str, value: &Value) {
        if property == "value" && widget.kind == "Label" {
            set_text(&widget.inner, "label", value);
        }
    }
}

/// Sets a text where it differs.
pub(super) fn set_text(object: &Object, property: &str, value: &Value) {
    let text = shown(value);
    if object.get(property).text() != text {
        object.set(property, text.as_str());
    }
}
