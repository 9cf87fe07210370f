//! Texts to edit: `TextField`, `NumberField`, `TextView`.
//!
//! The program never disturbs typing: a value that is shown already changes nothing, the caret stays,
//! and while a field has the focus, a value waits until the program says that it has handled what
//! was typed.

use crate::gtk::{self, Object, PropertyValue};
use crate::json::{is_true, number, of_number, shown};
use crate::session::{Behaviour, Made, Session, Widget};
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The state of a field.
struct EditedText {
    /// What has the property `text`: the field, or the buffer of a view.
    text: Object,
    is_number: bool,
    range: Cell<[Option<f64>; 2]>,
    /// The text that was committed last, or set by the program.
    committed: RefCell<String>,
    /// The number of the last event with what was typed.
    typed: Cell<u64>,
    /// A value of the program that waits.
    waiting: RefCell<Option<String>>,
}

impl EditedText {
    fn new(text: Object, is_number: bool) -> Rc<EditedText> {
        Rc::new(EditedText {
            text,
            is_number,
            range: Cell::default(),
            committed: RefCell::default(),
            typed: Cell::new(0),
            waiting: RefCell::default(),
        })
    }

    fn current(&self) -> String {
        self.text.get("text").text().to_string()
    }

    /// The number in the field, within its range.
    fn number(&self) -> Option<f64> {
        let text = self.current().replace(',', ".");
        let [least, most] = self.range.get();
        let found = number(&Value::String(text))?;
        let found = least.map_or(found, |least| found.max(least));
        Some(most.map_or(found, |most| found.min(most)))
    }

    /// What an event says; nothing for a number that is none.
    fn value(&self) -> Option<Value> {
        if self.is_number {
            return self.number().map(of_number);
        }
        Some(Value::String(self.current()))
    }
}

pub(super) fn field(is_number: bool) -> Made {
    let entry = Object::new("GtkEntry", &[("hexpand", true.into()), ("width-chars", 6.into())]);
    if is_number {
        /// `GTK_INPUT_PURPOSE_NUMBER`, for keyboards on a screen.
        const NUMBER: i32 = 3;
        entry.set("input-purpose", NUMBER);
        entry.set("xalign", 1.0);
    }
    let behaviour = EditedText::new(entry.clone(), is_number);
    Made { outer: entry.clone(), inner: entry, behaviour }
}

pub(super) fn text_view() -> Made {
    /// `GTK_WRAP_WORD_CHAR`.
    const WORDS: i32 = 3;
    let view = Object::new(
        "GtkTextView",
        &[
            ("wrap-mode", WORDS.into()),
            ("left-margin", 6.into()),
            ("right-margin", 6.into()),
            ("top-margin", 4.into()),
            ("bottom-margin", 4.into()),
        ],
    );
    let expand = true;
    let outer = Object::new(
        "GtkScrolledWindow",
        &[
            ("child", (&view).into()),
            ("hexpand", expand.into()),
            ("vexpand", expand.into()),
            ("has-frame", true.into()),
            ("min-content-height", 60.into()),
        ],
    );
    let buffer = Object::new("GtkTextBuffer", &[("enable-undo", true.into())]);
    view.set("buffer", &buffer);
    Made { outer, inner: view, behaviour: EditedText::new(buffer, false) }
}

/// Runs a step of a field at a signal.
fn on(
    session: &Rc<Session>,
    widget: &Rc<Widget>,
    field: &Rc<EditedText>,
    step: fn(&EditedText, &Rc<Session>, &Widget),
) -> impl Fn(&[PropertyValue]) -> PropertyValue + 'static {
    let (session, widget, field) = (session.clone(), Rc::downgrade(widget), Rc::downgrade(field));
    move |_| {
        if let (Some(widget), Some(field)) = (widget.upgrade(), field.upgrade()) {
            step(&field, &session, &widget);
        }
        PropertyValue::Nothing
    }
}

impl EditedText {
    fn typed(&self, session: &Rc<Session>, widget: &Widget) {
        if widget.is_quiet() {
            return;
        }
        self.waiting.take();
        let value = self.value();
        if self.is_number {
            let is_wrong = value.is_none() && !self.current().trim().is_empty();
            gtk::set_style(&widget.inner, "error", is_wrong);
        }
        if let Some(value) = value {
            self.typed.set(session.tell(widget, "input", value));
        }
    }

    /// Return.
    fn commit(&self, session: &Rc<Session>, widget: &Widget) {
        let Some(value) = self.value() else { return };
        if self.is_number {
            self.show(widget, &shown(&value));
        }
        self.committed.replace(self.current());
        self.typed.set(session.tell(widget, "action", value));
    }

    /// The focus left: what was typed counts, and a value that waited is shown.
    fn leave(&self, session: &Rc<Session>, widget: &Widget) {
        if *self.committed.borrow() != self.current() {
            self.commit(session, widget);
        } else if let Some(text) = self.waiting.take() {
            self.show(widget, &text);
        }
    }

    /// Shows a text of the program, which is no event. The caret stays.
    fn show(&self, widget: &Widget, text: &str) {
        if self.current() != text {
            widget.quietly(|| {
                let caret = gtk::caret(&self.text);
                self.text.set("text", text);
                gtk::set_caret(&self.text, caret);
            });
        }
        self.committed.replace(self.current());
        if self.is_number {
            gtk::set_style(&widget.inner, "error", false);
        }
    }
}

impl Behaviour for EditedText {
    fn connect(self: Rc<Self>, session: &Rc<Session>, widget: &Rc<Widget>) {
        self.text.connect("changed", on(session, widget, &self, EditedText::typed));
        if widget.inner.is("GtkEntry") {
            widget.inner.connect("activate", on(session, widget, &self, EditedText::commit));
        }
        let focus = Object::new("GtkEventControllerFocus", &[]);
        focus.connect("leave", on(session, widget, &self, EditedText::leave));
        gtk::add_controller(&widget.inner, &focus);
    }

    fn apply(&self, session: &Rc<Session>, widget: &Rc<Widget>, property: &str, value: &Value) {
        match property {
            "value" => {
                let is_known = session.outbox.has_handled(self.typed.get());
                if !is_known && gtk::has_focus(&widget.inner) {
                    self.waiting.replace(Some(shown(value)));
                } else {
                    self.waiting.take();
                    self.show(widget, &shown(value));
                }
            }
            "placeholder" if widget.inner.is("GtkEntry") => {
                widget.inner.set("placeholder-text", shown(value).as_str());
            }
            "editable" => widget.inner.set("editable", is_true(value)),
            "min" | "max" => {
                let mut range = self.range.get();
                range[usize::from(property == "max")] = number(value);
                self.range.set(range);
            }
            _ => {}
        }
    }

    fn is_waiting(&self) -> bool {
        self.waiting.borrow().is_some()
    }

    fn settle(&self, session: &Rc<Session>, widget: &Widget) {
        if session.outbox.has_handled(self.typed.get())
            && let Some(text) = self.waiting.take()
        {
            self.show(widget, &text);
        }
    }
}
