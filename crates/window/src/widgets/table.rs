//! `Table`: rows of texts, of which only those near the visible ones are known.
//!
//! A cell that appears asks for its text. Rows that are not known are wanted from the program, a
//! block of them at once; the texts of cells that are still visible are then filled in.

use crate::gtk::{self, Object, PropertyValue, RowModel, WeakObject, main_loop};
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
/// The width that a cell asks for at least, in characters; an editor asks for no more.
const CHARACTERS: i32 = 5;
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

/// What shows a text, and the item of the list that it belongs to.
struct VisibleCell {
    cell: Object,
    item: WeakObject,
}

/// The texts of rows, and the cells that show them.
#[derive(Default)]
struct Cells {
    texts: RefCell<HashMap<u32, Vec<String>>>,
    visible: RefCell<HashMap<CellPlace, VisibleCell>>,
    /// Blocks that were wanted and have not come.
    wanted: RefCell<HashSet<u32>>,
    /// Blocks that are wanted next.
    next: RefCell<Vec<u32>>,
    /// The cell that was pressed last.
    pressed: Cell<CellPlace>,
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
        for (place, visible) in self.visible.borrow().iter() {
            if (first..end).contains(&place.0) {
                show(&visible.cell, &self.text(*place).unwrap_or_default());
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

/// Shows the text of a cell, which is a label or a label that can be edited. What the user edits
/// stays.
fn show(cell: &Object, text: &str) {
    if cell.is("GtkEditableLabel") && cell.get("editing").boolean() {
        return;
    }
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
        let (cells, is_editable) = (Rc::downgrade(&self.cells), self.is_editable.clone());
        widget.inner.connect("activate", move |arguments| {
            let row = arguments.first().map_or(0, PropertyValue::uint);
            match cells.upgrade().filter(|_| is_editable.get()) {
                Some(cells) => {
                    let (pressed, column) = cells.pressed.get();
                    edit(&cells, (row, if pressed == row { column } else { 0 }));
                }
                None => {
                    outbox.tell(id, "activate", row.into());
                }
            }
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
    let cells = table.cells.clone();
    on_item(&factory, "setup", move |item| {
        let cell =
            Object::new("GtkLabel", &[("xalign", 0.0.into()), ("width-chars", CHARACTERS.into())]);
        note_press(&cells, item, &cell, column);
        item.set("child", &cell);
    });
    let cells = table.cells.clone();
    on_item(&factory, "bind", move |item| {
        let place = (item.get("position").uint(), column);
        if let Some(cell) = item.get("child").object() {
            let visible = VisibleCell { cell: cell.clone(), item: item.downgrade() };
            cells.visible.borrow_mut().insert(place, visible);
            cells.fill(place, cell);
        }
    });
    let cells = table.cells.clone();
    on_item(&factory, "unbind", move |item| {
        let place = (item.get("position").uint(), column);
        if let Some(cell) = item.get("child").object() {
            let mut visible = cells.visible.borrow_mut();
            if visible.get(&place).is_some_and(|known| known.cell == *cell) {
                visible.remove(&place);
            }
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

/// Notes which cell was pressed, with the space around its label: a double click and Return edit it.
/// The list counts the clicks, because it takes them over from the cell.
fn note_press(cells: &Rc<Cells>, item: &Object, label: &Object, column: usize) {
    let (cells, item, weak) = (Rc::downgrade(cells), item.downgrade(), label.downgrade());
    let pressed = Rc::new(move || {
        if let (Some(cells), Some(item)) = (cells.upgrade(), item.upgrade()) {
            cells.pressed.set((item.get("position").uint(), column));
        }
    });
    label.connect("notify::parent", move |_| {
        let parent = weak.upgrade().map(|label| label.get("parent"));
        if let Some(cell) = parent.as_ref().and_then(PropertyValue::object) {
            let click = Object::new("GtkGestureClick", &[]);
            let pressed = pressed.clone();
            click.connect("pressed", move |_| {
                pressed();
                PropertyValue::Nothing
            });
            gtk::add_controller(cell, &click);
        }
        PropertyValue::Nothing
    });
}

/// Edits a visible cell whose text is known: an editor replaces its label.
fn edit(cells: &Rc<Cells>, place: CellPlace) {
    let known = cells.text(place).is_some();
    let found = cells.visible.borrow().get(&place).and_then(|visible| visible.item.upgrade());
    let Some(item) = found.filter(|_| known) else { return };
    let current = item.get("child");
    let editor = match current.object().filter(|cell| cell.is("GtkEditableLabel")) {
        Some(editor) => editor.clone(),
        None => editor(cells, &item, place.1),
    };
    cells
        .visible
        .borrow_mut()
        .insert(place, VisibleCell { cell: editor.clone(), item: item.downgrade() });
    item.set("child", &editor);
    show(&editor, &cells.text(place).unwrap_or_default());
    gtk::start_editing(&editor);
}

/// A label that can be edited. The end of editing is an event; Tab continues in the
/// next column.
fn editor(cells: &Rc<Cells>, item: &Object, column: usize) -> Object {
    /// `GDK_KEY_Tab`, and `GTK_PHASE_CAPTURE`: before the text gets the key.
    const TAB: u32 = 0xff09;
    const CAPTURE: i32 = 1;
    let editor = Object::new("GtkEditableLabel", &[("max-width-chars", CHARACTERS.into())]);
    let (shared, weak, place) = (Rc::downgrade(cells), editor.downgrade(), item.downgrade());
    let find = move || {
        let (cells, editor, item) = (shared.upgrade()?, weak.upgrade()?, place.upgrade()?);
        Some((cells, editor, (item.get("position").uint(), column)))
    };
    let find = Rc::new(find);
    let ended = find.clone();
    editor.connect("notify::editing", move |_| {
        if let Some((cells, editor, place)) = ended()
            && !editor.get("editing").boolean()
        {
            tell_edit(&cells, place, editor.get("text").text());
        }
        PropertyValue::Nothing
    });
    let keys = Object::new("GtkEventControllerKey", &[("propagation-phase", CAPTURE.into())]);
    keys.connect("key-pressed", move |arguments| {
        let is_tab = arguments.first().is_some_and(|key| key.uint() == TAB);
        if let (true, Some((cells, editor, (row, column)))) = (is_tab, find()) {
            gtk::stop_editing(&editor);
            edit(&cells, (row, column + 1));
        }
        PropertyValue::Bool(is_tab)
    });
    gtk::add_controller(&editor, &keys);
    editor
}

fn tell_edit(cells: &Cells, place: CellPlace, text: &str) {
    if cells.text(place).is_some_and(|known| known != text)
        && let Some(tell) = &*cells.edit.borrow()
    {
        tell(place, text.to_string());
    }
}
