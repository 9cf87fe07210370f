//! Widgets with others inside: `Window`, `VStack`, `HStack`, `Grid`, `Scroll`.
//!
//! Where all children of a container have a place (`x` and `y`), it places them there, counted from
//! the bottom left; otherwise it stacks them.

use super::menus;
use crate::gtk::{self, Object, PropertyValue};
use crate::json::{elements, pixels, shown};
use crate::session::{Behaviour, Frame, Made, Session, Widget};
use serde_json::{Value, json};
use std::cell::Cell;
use std::rc::Rc;

/// How a container arranges its children.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Stacked,
    Placed,
    Cells,
    Single,
}

/// Pixels between the children of a stack.
const SPACING: i32 = 8;

/// The state of a container: `inside` holds the children.
struct Container {
    inside: Object,
    layout: Layout,
    /// The height of the menu bar of a window.
    menu_height: Cell<i32>,
}

/// `GTK_ORIENTATION_VERTICAL`.
const VERTICAL: i32 = 1;

pub(super) fn window(node: &Value) -> Made {
    let (inside, layout) = arrangement(node, false);
    if layout == Layout::Stacked {
        gtk::set_style(&inside, "content", true);
    }
    let outer = Object::new("GtkWindow", &[("child", (&inside).into())]);
    let behaviour = Container::shared(inside, layout);
    Made { inner: outer.clone(), outer, behaviour }
}

pub(super) fn stack(node: &Value, is_row: bool) -> Made {
    let (inside, layout) = arrangement(node, is_row);
    let behaviour = Container::shared(inside.clone(), layout);
    Made { inner: inside.clone(), outer: inside, behaviour }
}

/// What holds the children: a box, or a surface where all children have a place.
fn arrangement(node: &Value, is_row: bool) -> (Object, Layout) {
    let children = elements(&node["children"]);
    let is_placed = !children.is_empty()
        && children.iter().all(|child| child["x"].is_number() && child["y"].is_number());
    if is_placed {
        let empty = Object::new("GtkBox", &[]);
        return (Object::new("GtkOverlay", &[("child", (&empty).into())]), Layout::Placed);
    }
    let settings: [(&str, PropertyValue); 2] =
        [("orientation", i32::from(!is_row).into()), ("spacing", SPACING.into())];
    (Object::new("GtkBox", &settings), Layout::Stacked)
}

pub(super) fn grid() -> Made {
    let grid = Object::new(
        "GtkGrid",
        &[("row-spacing", SPACING.into()), ("column-spacing", SPACING.into())],
    );
    let behaviour = Container::shared(grid.clone(), Layout::Cells);
    Made { inner: grid.clone(), outer: grid, behaviour }
}

pub(super) fn scroll() -> Made {
    let expand = [("hexpand", true.into()), ("vexpand", true.into())];
    let scroll = Object::new("GtkScrolledWindow", &expand);
    let behaviour = Container::shared(scroll.clone(), Layout::Single);
    Made { inner: scroll.clone(), outer: scroll, behaviour }
}

impl Behaviour for Container {
    fn connect(self: Rc<Self>, session: &Rc<Session>, widget: &Rc<Widget>) {
        if self.layout == Layout::Placed {
            let (session, weak) = (session.clone(), Rc::downgrade(widget));
            self.inside.connect("get-child-position", move |arguments| {
                let child = arguments.first().and_then(PropertyValue::object);
                let placed = weak.upgrade().zip(child);
                placed
                    .and_then(|(parent, child)| place(&session, &parent, child))
                    .unwrap_or(PropertyValue::Nothing)
            });
        }
        if widget.kind == "Window" {
            connect_window(session, widget);
        }
    }

    fn apply(&self, session: &Rc<Session>, widget: &Rc<Widget>, property: &str, value: &Value) {
        match (widget.kind.as_str(), property) {
            ("Window", "title") => widget.outer.set("title", shown(value).as_str()),
            ("Window", "menu") => self.set_menu(session, widget, elements(value)),
            ("Window", "width" | "height") => {
                let more = if property == "height" { self.menu_height.get() } else { 0 };
                let size = pixels(value).filter(|size| *size > 0).map_or(-1, |size| size + more);
                widget.outer.set(&format!("default-{property}"), size);
            }
            (_, "spacing") if self.layout == Layout::Stacked => {
                self.inside.set("spacing", pixels(value).unwrap_or(SPACING).max(0));
            }
            ("Grid", "rows") => self.set_rows(session, widget, elements(value)),
            (_, "children") => self.set_children(session, widget, elements(value)),
            _ => {}
        }
    }
}

fn connect_window(session: &Rc<Session>, widget: &Rc<Widget>) {
    let (shared, id) = (session.clone(), widget.id);
    widget.outer.connect("close-request", move |_| {
        shared.forget(id);
        shared.outbox.send(&json!(["closed", id]));
        PropertyValue::Bool(false)
    });
    let (shared, weak) = (session.clone(), Rc::downgrade(widget));
    let is_told = Rc::new(Cell::new(false));
    widget.outer.connect("map", move |_| {
        let clock = weak.upgrade().and_then(|widget| gtk::frame_clock(&widget.outer));
        let (session, is_told) = (shared.clone(), is_told.clone());
        if let Some(clock) = clock {
            clock.connect("after-paint", move |_| {
                if !is_told.replace(true) {
                    session.outbox.send(&json!(["shown", id]));
                }
                PropertyValue::Nothing
            });
        }
        PropertyValue::Nothing
    });
}

/// The rectangle of a child that has a place, from the top left as GTK counts.
fn place(session: &Session, parent: &Widget, child: &Object) -> Option<PropertyValue> {
    let children = parent.children.borrow();
    let mut widgets = children.iter().filter_map(|id| session.widget(*id));
    let found = widgets.find(|widget| widget.outer == *child)?;
    let surface = found.outer.get("parent");
    let [_, height] = gtk::size(surface.object()?);
    Some(PropertyValue::Rectangle(rectangle(
        found.frame.get(),
        gtk::least_size(&found.outer),
        height,
    )))
}

/// A frame from the bottom left as a rectangle from the top left. What needs more height than its
/// frame has is centred on it.
fn rectangle(frame: Frame, least: [i32; 2], surface: i32) -> [i32; 4] {
    let [x, y, width, height] = frame;
    let (x, y) = (x.unwrap_or(0), y.unwrap_or(0));
    let height_asked = height.unwrap_or(least[1]);
    let (width, height) = (width.unwrap_or(0).max(least[0]), height_asked.max(least[1]));
    let top = surface - y - height_asked - (height - height_asked) / 2;
    [x, top, width, height]
}

impl Container {
    fn shared(inside: Object, layout: Layout) -> Rc<Container> {
        Rc::new(Container { inside, layout, menu_height: Cell::new(0) })
    }

    /// Replaces the children. Those that stay keep their focus and caret.
    fn set_children(&self, session: &Rc<Session>, widget: &Widget, nodes: &[Value]) {
        let old = self.drop_missing(session, widget, nodes);
        // Placing a child asks for its frame: it is one of ours by then.
        let new: Vec<u64> = nodes.iter().filter_map(|node| node["id"].as_u64()).collect();
        widget.children.replace(merged(&old, &new));
        let mut last: Option<Object> = None;
        let mut ids = Vec::with_capacity(nodes.len());
        for node in nodes {
            let Some((child, is_new)) = session.build_child(widget, &old, node) else { continue };
            match self.layout {
                Layout::Stacked => {
                    gtk::place_in_box(&self.inside, &child.outer, last.as_ref(), is_new);
                }
                Layout::Placed if is_new => gtk::add_overlay(&self.inside, &child.outer),
                Layout::Single if is_new => self.inside.set("child", &child.outer),
                _ => {}
            }
            last = Some(child.outer.clone());
            ids.push(child.id);
        }
        widget.children.replace(ids);
    }

    /// Shows a menu bar above the content; the window becomes taller by it.
    fn set_menu(&self, session: &Rc<Session>, widget: &Widget, menus: &[Value]) {
        let bar = menus::bar(session, &widget.outer, menus);
        let column = [("orientation", VERTICAL.into())];
        let around = Object::new("GtkBox", &column);
        widget.outer.set("child", PropertyValue::Nothing);
        if let Some(before) = self.inside.get("parent").object() {
            gtk::remove_from_box(before, &self.inside);
        }
        self.inside.set("vexpand", true);
        gtk::place_in_box(&around, &bar, None, true);
        gtk::place_in_box(&around, &self.inside, Some(&bar), true);
        widget.outer.set("child", &around);
        self.menu_height.set(gtk::least_size(&bar)[1]);
    }

    /// Replaces the cells of a grid.
    fn set_rows(&self, session: &Rc<Session>, widget: &Widget, rows: &[Value]) {
        let nodes: Vec<Value> = rows.iter().flat_map(|row| elements(row).to_vec()).collect();
        let old = self.drop_missing(session, widget, &nodes);
        let mut ids = Vec::with_capacity(nodes.len());
        for (row, cells) in (0..).zip(rows) {
            for (column, node) in (0..).zip(elements(cells)) {
                let found = session.build_child(widget, &old, node);
                let Some((child, is_new)) = found else { continue };
                ids.push(child.id);
                if !is_new {
                    gtk::remove_from_grid(&self.inside, &child.outer);
                }
                gtk::attach_to_grid(&self.inside, &child.outer, column, row, 1, 1);
            }
        }
        widget.children.replace(ids);
    }

    /// Removes the children that are in none of the nodes. Answers those that stay.
    fn drop_missing(&self, session: &Session, widget: &Widget, nodes: &[Value]) -> Vec<u64> {
        let mut kept = Vec::new();
        for id in widget.children.take() {
            let Some(child) = session.widget(id) else { continue };
            let is_kept = |node: &Value| node["id"] == id && node["kind"] == child.kind.as_str();
            if nodes.iter().any(is_kept) {
                kept.push(id);
                continue;
            }
            match self.layout {
                Layout::Stacked => gtk::remove_from_box(&self.inside, &child.outer),
                Layout::Placed => gtk::remove_overlay(&self.inside, &child.outer),
                Layout::Cells => gtk::remove_from_grid(&self.inside, &child.outer),
                Layout::Single => self.inside.set("child", PropertyValue::Nothing),
            }
            session.forget(id);
        }
        kept
    }
}

/// The ids of two lists, each once.
fn merged(old: &[u64], new: &[u64]) -> Vec<u64> {
    let others = old.iter().filter(|id| !new.contains(id));
    new.iter().chain(others).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_counted_from_the_bottom_left() {
        let frame = [Some(20), Some(30), Some(160), Some(24)];
        assert_eq!(rectangle(frame, [10, 20], 105), [20, 51, 160, 24]);
    }

    #[test]
    fn a_widget_that_needs_more_height_is_centred_on_its_frame() {
        let frame = [Some(0), Some(10), Some(50), Some(20)];
        assert_eq!(rectangle(frame, [60, 30], 100), [0, 65, 60, 30]);
    }

    #[test]
    fn children_are_listed_once() {
        assert_eq!(merged(&[1, 2, 3], &[3, 4]), [3, 4, 1, 2]);
    }
}
