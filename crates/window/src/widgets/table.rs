//! `Table`: rows of texts, of which only those near the visible ones are known.
//!
//! A cell that appears asks for its text. Rows that are not known are wanted from the program, a
//! block of them at once; the texts of cells that are still visible are then filled in.

use crate::gtk::{self, Object, PropertyValue, RowModel, main_loop};
use crate::json::{elements, is_true, shown};
use crate::session::{Behaviour, Made, Session, Widget};
use serde_json::{Value, json};
use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::time::Duration;

/// Rows of a table.
const ROWS: u64 = 10_000_000;
/// Columns of a table.
const COLUMNS: usize = 256;
/// Rows that are wanted at once.
const BLOCK: u32 = 128;
/// Rows that are known at the same time; those far from the visible ones are forgotten first.
const KNOWN: usize = 8_192;
/// How long rows are collected until they are wanted.
const COLLECTING: Duration = Duration::from_millis(4);
/// No row is selected: `GTK_INVALID_LIST_POSITION`.
const NONE: u32 = u32::MAX;

/// A visible cell: its row and column.
type CellPlace = (u32, usize);

/// The state of a table.
struct Table {
    rows: Rc<RowModel>,
    selection: Object,
    cells: Rc<Cells>,
    columns: RefCell<Vec<Object>>,
    is_editable: Rc<Cell<bool>>,
}

/// Gets the text of a cell that the user edited.
type EditHandler = Box<dyn Fn(CellPlace, String)>;

/// The texts of rows, and the cells that show them.
#[derive(Default)]
struct Cells {
    texts: RefCell<HashMap<u32, Vec<String>>>,
    visible: RefCell<HashMap<CellPlace, Object>>,
    /// Blocks that were wanted and have not come.
    wanted: RefCell<HashSet<u32>>,
    /// Blocks that are wanted next.
    next: RefCell<Vec<u32>>,
    /// The row of the cell that appeared last.
    near: Cell<u32>,
    /// Set once the table is connected.
    want: RefCell<Option<Box<dyn Fn()>>>,
    edit: RefCell<Option<EditHandler>>,
}

impl Cells {
    fn text(&self, (row, column): CellPlace) -> Option<String> {
        let texts = self.texts.borrow();
        Some(texts.get(&row)?.get(column).cloned().unwrap_or_default())
    }

    /// Shows the text of a cell, or wants it.
    fn fill(&self, place: CellPlace, cell: &Object) {
        let text = self.text(place);
        if text.is_none() {
            self.want(place.0);
        }
        show(cell, &text.unwrap_or_default());
    }

    fn want(&self, row: u32) {
        self.near.set(row);
        let block = row / BLOCK;
        if !self.wanted.borrow_mut().insert(block) {
            return;
        }
        let mut next = self.next.borrow_mut();
        next.push(block);
        if next.len() == 1
            && let Some(want) = &*self.want.borrow()
        {
            want();
        }
    }

    /// Takes over texts of rows, and fills in the cells that show them.
    fn put(&self, first: u32, rows: &[Value]) {
        let mut texts = self.texts.borrow_mut();
        for (row, cells) in (first..).zip(rows) {
            texts.insert(row, elements(cells).iter().take(COLUMNS).map(shown).collect());
            self.wanted.borrow_mut().remove(&(row / BLOCK));
        }
        if texts.len() > KNOWN {
            let (near, reach) = (self.near.get(), (KNOWN / 4) as u32);
            texts.retain(|row, _| row.abs_diff(near) <= reach);
        }
        drop(texts);
        let end = first.saturating_add(u32::try_from(rows.len()).unwrap_or(0));
        for (place, cell) in self.visible.borrow().iter() {
            if (first..end).contains(&place.0) {
                show(cell, &self.text(*place).unwrap_or_default());
            }
        }
    }

    /// Forgets all texts; visible rows are wanted again.
    fn forget(&self) {
        self.texts.borrow_mut().clear();
        self.wanted.borrow_mut().clear();
        self.next.borrow_mut().clear();
        let rows: HashSet<u32> = self.visible.borrow().keys().map(|place| place.0).collect();
        for row in rows {
            self.want(row);
        }
    }
}

/// Shows the text of a cell, which is a label or a label that can be edited.
fn show(cell: &Object, text: &str) {
    let property = if cell.is("GtkLabel") { "label" } else { "text" };
    if cell.get(property).text() != text {
        cell.set(property, text);
    }
}

pub(super) fn table() -> Made {
    let rows = RowModel::new();
    let selection = Object::new(
        "GtkSingleSelection",
        &[
            ("autoselect", false.into()),
            ("can-unselect", true.into()),
            ("model", rows.model().into()),
        ],
    );
    let view = Object::new(
        "GtkColumnView",
        &[("model", (&selection).into()), ("show-row-separators", true.into())],
    );
    let outer = Object::new(
        "GtkScrolledWindow",
        &[
            ("child", (&view).into()),
            ("hexpand", true.into()),
            ("vexpand", true.into()),
            ("has-frame", true.into()),
            ("min-content-height", 80.into()),
        ],
    );
    let behaviour = Rc::new(Table {
        rows,
        selection,
        cells: Rc::default(),
        columns: RefCell::default(),
        is_editable: Rc::default(),
    });
    Made { outer, inner: view, behaviour }
}

impl Behaviour for Table {
    fn connect(self: Rc<Self>, session: &Rc<Session>, widget: &Rc<Widget>) {
        let (shared, weak) = (session.clone(), Rc::downgrade(widget));
        let selection = self.selection.downgrade();
        self.selection.connect("notify::selected", move |_| {
            let selected = selection.upgrade().map_or(NONE, |one| one.get("selected").uint());
            if let Some(widget) = weak.upgrade().filter(|widget| !widget.is_quiet()) {
                let value = if selected == NONE { Value::Null } else { selected.into() };
                shared.tell(&widget, "action", value);
            }
            PropertyValue::Nothing
        });
        let (outbox, id) = (session.outbox.clone(), widget.id);
        widget.inner.connect("activate", move |arguments| {
            let row = arguments.first().map_or(0, PropertyValue::uint);
            outbox.tell(id, "activate", row.into());
            PropertyValue::Nothing
        });
        let (outbox, table) = (session.outbox.clone(), Rc::downgrade(&self));
        self.cells.want.replace(Some(Box::new(move || {
            let (outbox, table) = (outbox.clone(), table.clone());
            main_loop::after(COLLECTING, move || {
                for wanted in table.upgrade().map(|table| table.take_wanted()).unwrap_or_default() {
                    outbox.tell(id, "want", wanted);
                }
            });
        })));
        let outbox = session.outbox.clone();
        self.cells.edit.replace(Some(Box::new(move |(row, column), text| {
            outbox.tell(id, "edit", json!([row, column, text]));
        })));
    }

    fn apply(&self, _: &Rc<Session>, widget: &Rc<Widget>, property: &str, value: &Value) {
        match property {
            "columns" => self.set_columns(widget, elements(value)),
            "rows" => {
                let count = value["count"].as_u64().unwrap_or(0).min(ROWS);
                self.cells.forget();
                widget.quietly(|| self.rows.set_count(u32::try_from(count).unwrap_or(0)));
            }
            "cells" => {
                let first = value[0].as_u64().and_then(|first| u32::try_from(first).ok());
                if let Some(first) = first {
                    self.cells.put(first, elements(&value[1]));
                }
            }
            "value" => {
                let row = value.as_u64().and_then(|row| u32::try_from(row).ok());
                widget.quietly(|| self.selection.set("selected", row.unwrap_or(NONE)));
            }
            "editable" => self.is_editable.set(is_true(value)),
            _ => {}
        }
    }
}

impl Table {
    /// The rows that were collected, neighbouring blocks at once: first row and count.
    fn take_wanted(&self) -> Vec<Value> {
        let mut blocks = self.cells.next.take();
        blocks.sort_unstable();
        let count = self.rows.count();
        let runs = blocks.chunk_by(|one, next| *next == one + 1);
        let rows = runs.map(|run| {
            let first = run[0] * BLOCK;
            (first, first.saturating_add(run.len() as u32 * BLOCK).min(count))
        });
        rows.filter(|(first, end)| first < end)
            .map(|(first, end)| json!([first, end - first]))
            .collect()
    }

    fn set_columns(&self, widget: &Widget, columns: &[Value]) {
        for column in self.columns.take() {
            gtk::remove_column(&widget.inner, &column);
        }
        self.cells.visible.borrow_mut().clear();
        let made = columns.iter().take(COLUMNS).enumerate().map(|(at, column)| {
            let object = Object::new(
                "GtkColumnViewColumn",
                &[
                    ("title", shown(&column["title"]).as_str().into()),
                    ("factory", (&factory(self, at)).into()),
                    ("expand", true.into()),
                    ("resizable", true.into()),
                ],
            );
            gtk::append_column(&widget.inner, &object);
            object
        });
        let made = made.collect();
        self.columns.replace(made);
    }
}

/// Makes the cells of a column, and fills them when they appear.
fn factory(table: &Table, column: usize) -> Object {
    let factory = Object::new("GtkSignalListItemFactory", &[]);
    let (cells, is_editable) = (table.cells.clone(), table.is_editable.clone());
    on_item(&factory, "setup", move |item| {
        let cell = if is_editable.get() {
            editable_cell(&cells, item, column)
        } else {
            Object::new("GtkLabel", &[("xalign", 0.0.into())])
        };
        item.set("child", &cell);
    });
    let cells = table.cells.clone();
    on_item(&factory, "bind", move |item| {
        let place = (item.get("position").uint(), column);
        if let Some(cell) = item.get("child").object() {
            cells.visible.borrow_mut().insert(place, cell.clone());
            cells.fill(place, cell);
        }
    });
    let cells = table.cells.clone();
    on_item(&factory, "unbind", move |item| {
        if let Some(cell) = item.get("child").object() {
            // Its position may be another one by now.
            cells.visible.borrow_mut().retain(|place, other| place.1 != column || other != cell);
        }
    });
    factory
}

fn on_item(factory: &Object, signal: &str, handler: impl Fn(&Object) + 'static) {
    factory.connect(signal, move |arguments| {
        if let Some(item) = arguments.first().and_then(PropertyValue::object) {
            handler(item);
        }
        PropertyValue::Nothing
    });
}

/// A cell that a double click or Return edits. What was typed is told when editing ends.
fn editable_cell(cells: &Rc<Cells>, item: &Object, column: usize) -> Object {
    let cell = Object::new("GtkEditableLabel", &[("text", "".into())]);
    let (cells, weak_cell) = (Rc::downgrade(cells), cell.downgrade());
    let place = item.downgrade();
    cell.connect("notify::editing", move |_| {
        let found = (cells.upgrade(), weak_cell.upgrade(), place.upgrade());
        let (Some(cells), Some(cell), Some(item)) = found else { return PropertyValue::Nothing };
        if cell.get("editing").boolean() {
            return PropertyValue::Nothing;
        }
        let place = (item.get("position").uint(), column);
        let text = cell.get("text").text().to_string();
        if cells.text(place).is_some_and(|known| known != text)
            && let Some(edit) = &*cells.edit.borrow()
        {
            edit(place, text);
        }
        PropertyValue::Nothing
    });
    cell
}
