//! The widgets of a program by their id, and what all of them have in common.

use crate::gtk::{self, Object};
use crate::json::{is_true, pixels, shown};
use crate::outbox::Outbox;
use serde_json::Value;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// Widgets of a session; a node beyond is not made.
const WIDGETS: usize = 100_000;
/// Depth of a tree of widgets. The reader of JSON refuses a frame that is more than twice as deep.
const DEPTH: usize = 50;

/// Where a widget stands in its container: x, y, width, height, from the bottom left.
pub(crate) type Frame = [Option<i32>; 4];

/// What the kinds of widgets do differently.
pub(crate) trait Behaviour {
    /// Turns signals into events.
    fn connect(self: Rc<Self>, session: &Rc<Session>, widget: &Rc<Widget>);
    /// Changes a property. Unknown properties change nothing.
    fn apply(&self, session: &Rc<Session>, widget: &Rc<Widget>, property: &str, value: &Value);
    /// Whether a value of the program waits until the user's typing is known.
    fn is_waiting(&self) -> bool {
        false
    }
    /// Shows a value that waited.
    fn settle(&self, _session: &Rc<Session>, _widget: &Widget) {}
}

/// What a kind is made of.
pub(crate) struct Made {
    /// What stands in the container.
    pub(crate) outer: Object,
    /// What has the value and the focus; often the same.
    pub(crate) inner: Object,
    pub(crate) behaviour: Rc<dyn Behaviour>,
}

/// A widget of the program.
pub(crate) struct Widget {
    pub(crate) id: u64,
    pub(crate) kind: String,
    pub(crate) outer: Object,
    pub(crate) inner: Object,
    pub(crate) frame: Cell<Frame>,
    pub(crate) children: RefCell<Vec<u64>>,
    behaviour: Rc<dyn Behaviour>,
    depth: usize,
    /// Whether the program changes it now: its signals are not the user's.
    is_quiet: Cell<bool>,
}

impl Widget {
    /// Runs a change of the program, whose signals are no events.
    pub(crate) fn quietly(&self, change: impl FnOnce()) {
        let before = self.is_quiet.replace(true);
        change();
        self.is_quiet.set(before);
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.is_quiet.get()
    }

    fn set_frame(&self, property: &str, to: Option<i32>) {
        let mut frame = self.frame.get();
        let place = match property {
            "x" => 0,
            "y" => 1,
            "width" => 2,
            _ => 3,
        };
        frame[place] = to;
        self.frame.set(frame);
        if frame[0].is_some() && frame[1].is_some() {
            gtk::set_style(&self.inner, "placed", true);
            gtk::queue_resize(&self.outer);
        } else if place >= 2 {
            self.outer.set(&format!("{property}-request"), to.unwrap_or(-1).max(-1));
        }
    }
}

/// What windows, widgets and events share.
pub(crate) struct Session {
    pub(crate) outbox: Rc<Outbox>,
    widgets: RefCell<HashMap<u64, Rc<Widget>>>,
    /// Makes the objects of a kind.
    make: fn(&str, &Value) -> Made,
}

impl Session {
    pub(crate) fn new(outbox: Rc<Outbox>, make: fn(&str, &Value) -> Made) -> Rc<Session> {
        Rc::new(Session { outbox, widgets: RefCell::default(), make })
    }

    pub(crate) fn widget(&self, id: u64) -> Option<Rc<Widget>> {
        self.widgets.borrow().get(&id).cloned()
    }

    /// Tells the program what the user did.
    pub(crate) fn tell(&self, widget: &Widget, event: &'static str, value: Value) -> u64 {
        self.outbox.tell(widget.id, event, value)
    }

    /// Makes a widget of a node, and those inside it.
    pub(crate) fn build(self: &Rc<Self>, node: &Value, depth: usize) -> Option<Rc<Widget>> {
        let id = node["id"].as_u64()?;
        let kind = node["kind"].as_str().unwrap_or_default();
        let is_room = self.widgets.borrow().len() < WIDGETS && depth <= DEPTH;
        if !is_room || self.widget(id).is_some() {
            return None;
        }
        let made = (self.make)(kind, node);
        let widget = Rc::new(Widget {
            id,
            kind: kind.into(),
            outer: made.outer,
            inner: made.inner,
            frame: Cell::default(),
            children: RefCell::default(),
            behaviour: made.behaviour,
            depth,
            is_quiet: Cell::new(false),
        });
        self.widgets.borrow_mut().insert(id, widget.clone());
        widget.behaviour.clone().connect(self, &widget);
        self.apply_all(&widget, node);
        Some(widget)
    }

    /// Makes or keeps a child: one of `old` whose kind is the same stays as it is, with its focus and
    /// caret, and takes over the properties of the node. Answers whether it is new.
    pub(crate) fn build_child(
        self: &Rc<Self>,
        parent: &Widget,
        old: &[u64],
        node: &Value,
    ) -> Option<(Rc<Widget>, bool)> {
        let id = node["id"].as_u64()?;
        match self.widget(id).filter(|_| old.contains(&id)) {
            Some(child) => {
                self.apply_all(&child, node);
                Some((child, false))
            }
            None => self.build(node, parent.depth + 1).map(|child| (child, true)),
        }
    }

    /// Changes all properties: a menu, which makes a window taller, first; children last.
    fn apply_all(self: &Rc<Self>, widget: &Rc<Widget>, node: &Value) {
        const FIRST: &str = "menu";
        const LAST: [&str; 3] = ["value", "rows", "children"];
        if let Some(value) = node.get(FIRST) {
            self.apply(widget, FIRST, value);
        }
        let properties = || node.as_object().into_iter().flatten();
        for (property, value) in properties() {
            if !matches!(property.as_str(), "id" | "kind" | FIRST)
                && !LAST.contains(&property.as_str())
            {
                self.apply(widget, property, value);
            }
        }
        for property in LAST {
            if let Some(value) = node.get(property) {
                self.apply(widget, property, value);
            }
        }
    }

    /// Changes a property of a widget.
    pub(crate) fn apply(self: &Rc<Self>, widget: &Rc<Widget>, property: &str, value: &Value) {
        match property {
            "label" => {
                gtk::set_accessible_name(&widget.inner, &shown(value));
                widget.behaviour.apply(self, widget, property, value);
            }
            "enabled" => widget.outer.set("sensitive", is_true(value)),
            "tooltip" => widget.outer.set("tooltip-text", shown(value).as_str()),
            "focus" if is_true(value) => gtk::grab_focus(&widget.inner),
            "x" | "y" | "width" | "height" if widget.kind != "Window" => {
                widget.set_frame(property, pixels(value));
            }
            _ => widget.behaviour.apply(self, widget, property, value),
        }
    }

    /// Takes a widget and those inside off the session.
    pub(crate) fn forget(&self, id: u64) {
        let widget = self.widgets.borrow_mut().remove(&id);
        if let Some(widget) = widget {
            for child in widget.children.take() {
                self.forget(child);
            }
        }
    }

    /// Notes what the program has handled, and shows values that waited for it.
    pub(crate) fn settle(self: &Rc<Self>, handled: u64) {
        self.outbox.set_handled(handled);
        let widgets: Vec<_> = self.widgets.borrow().values().cloned().collect();
        for widget in widgets.iter().filter(|widget| widget.behaviour.is_waiting()) {
            widget.behaviour.settle(self, widget);
        }
    }
}
