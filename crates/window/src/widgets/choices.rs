//! What is pressed or chosen: `Button`, `Checkbox`, `PopUp`.

use super::labels::set_text;
use crate::gtk::{self, Object, PropertyValue};
use crate::json::{elements, is_true, shown};
use crate::session::{Behaviour, Made, Session, Widget};
use serde_json::Value;
use std::rc::Rc;

/// No item is chosen: `GTK_INVALID_LIST_POSITION`.
const NONE: u32 = u32::MAX;

struct Button;
struct Checkbox;
struct PopUp;

fn made(class: &'static str, behaviour: Rc<dyn Behaviour>) -> Made {
    let object = Object::new(class, &[]);
    Made { outer: object.clone(), inner: object, behaviour }
}

pub(super) fn button() -> Made {
    made("GtkButton", Rc::new(Button))
}

pub(super) fn checkbox() -> Made {
    made("GtkCheckButton", Rc::new(Checkbox))
}

pub(super) fn pop_up() -> Made {
    made("GtkDropDown", Rc::new(PopUp))
}

/// Tells an action at a signal that the user caused.
fn tell_action(
    session: &Rc<Session>,
    widget: &Rc<Widget>,
    signal: &str,
    value: fn(&Widget) -> Value,
) {
    let (session, weak) = (session.clone(), Rc::downgrade(widget));
    widget.inner.connect(signal, move |_| {
        if let Some(widget) = weak.upgrade().filter(|widget| !widget.is_quiet()) {
            session.tell(&widget, "action", value(&widget));
        }
        PropertyValue::Nothing
    });
}

impl Behaviour for Button {
    fn connect(self: Rc<Self>, session: &Rc<Session>, widget: &Rc<Widget>) {
        tell_action(session, widget, "clicked", |_| Value::Null);
    }

    fn apply(&self, _: &Rc<Session>, widget: &Rc<Widget>, property: &str, value: &Value) {
        if property == "title" {
            set_text(&widget.inner, "label", value);
        }
    }
}

impl Behaviour for Checkbox {
    fn connect(self: Rc<Self>, session: &Rc<Session>, widget: &Rc<Widget>) {
        let is_on = |widget: &Widget| widget.inner.get("active").boolean().into();
        tell_action(session, widget, "toggled", is_on);
    }

    fn apply(&self, _: &Rc<Session>, widget: &Rc<Widget>, property: &str, value: &Value) {
        match property {
            "title" => set_text(&widget.inner, "label", value),
            "value" => widget.quietly(|| widget.inner.set("active", is_true(value))),
            _ => {}
        }
    }
}

impl Behaviour for PopUp {
    fn connect(self: Rc<Self>, session: &Rc<Session>, widget: &Rc<Widget>) {
        tell_action(session, widget, "notify::selected", |widget| {
            let chosen = widget.inner.get("selected").uint();
            if chosen == NONE { Value::Null } else { chosen.into() }
        });
    }

    fn apply(&self, _: &Rc<Session>, widget: &Rc<Widget>, property: &str, value: &Value) {
        match property {
            "items" => {
                let items: Vec<String> = elements(value).iter().map(shown).collect();
                let items: Vec<&str> = items.iter().map(String::as_str).collect();
                let chosen = widget.inner.get("selected");
                widget.quietly(|| {
                    widget.inner.set("model", &gtk::text_list(&items));
                    widget.inner.set("selected", chosen);
                });
            }
            "value" => {
                let chosen = value.as_u64().and_then(|index| u32::try_from(index).ok());
                widget.quietly(|| widget.inner.set("selected", chosen.unwrap_or(NONE)));
            }
            _ => {}
        }
    }
}
