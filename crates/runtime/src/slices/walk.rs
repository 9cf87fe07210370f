//! Depth-first traversal of an object of the engine, slice by slice.
//!
//! Between two slices the program may change the object. The walk then sees some changes and misses
//! others; the events that its sink gets are well formed all the same.

use super::shared_keys::SharedKeys;
use super::{Slice, Workspace};
use crate::engine::stack::{Stack, Type};
use crate::isolate::Isolate;
use crate::values::kind::{DEPTH, DateParts, TableKind, decimal_text, table_kind};
use crate::values::plans::ClassPlan;
use std::os::raw::c_int;
use std::rc::Rc;

/// A value that is no collection.
pub(crate) enum Leaf<'a> {
    Nil,
    Boolean(bool),
    Number(f64),
    Text(&'a [u8]),
    /// The two's complement bytes of an integer.
    Big(&'a [u8]),
    Date(DateParts),
    /// The digits of an exact decimal number.
    Decimal(String),
    Data(&'a [u8]),
    /// A page or a part of one, or a class.
    Element,
    /// A block or a value of Rust.
    Opaque,
}

/// Receives the events of a walk in order.
pub(crate) trait WalkSink {
    /// Why it stops.
    type Stop;

    fn leaf(&mut self, leaf: Leaf<'_>) -> Result<(), Self::Stop>;
    fn begin_list(&mut self);
    /// Before each element of a list.
    fn element(&mut self, is_first: bool);
    fn end_list(&mut self);
    fn begin_record(&mut self);
    /// Before each value of a record.
    fn name(&mut self, name: &[u8], is_first: bool);
    /// A name as the sink writes it, for the records that share it.
    fn written_name(name: &[u8]) -> Box<[u8]>;
    /// Before each value of such a record.
    fn shared_name(&mut self, written: &[u8], is_first: bool);
    fn end_record(&mut self);
    /// An object whose fields follow, as those of a record: may stop.
    fn begin_object(&mut self, plan: Option<&ClassPlan>) -> Result<(), Self::Stop>;
    /// Before each value of an object.
    fn field(&mut self, plan: &ClassPlan, position: usize);
    /// Too deep, or within itself.
    fn too_deep(&mut self) -> Self::Stop;
    /// Bytes of its output, which count as work.
    fn size(&self) -> usize;
}

/// A collection that is being walked through; its tables lie on the stack, counted from the base.
enum WalkFrame {
    List {
        table: c_int,
        next: usize,
    },
    /// The keys lie there, and the map above them.
    Dictionary {
        keys: c_int,
        next: usize,
        is_first: bool,
        shared: Option<Rc<SharedKeys>>,
    },
    Object {
        table: c_int,
        plan: Rc<ClassPlan>,
        next: usize,
    },
}

/// The kind and the plan of the tables with one metatable.
#[derive(Clone)]
struct Known {
    metatable: usize,
    kind: TableKind,
    plan: Option<Rc<ClassPlan>>,
}

/// A walk through the object on top of a stack.
pub(crate) struct Walk<S> {
    isolate: Isolate,
    /// The root lies above it.
    base: c_int,
    frames: Vec<WalkFrame>,
    began: bool,
    /// The last object's class: lists hold objects of one class, mostly.
    last: Option<Known>,
    /// Where the keys of the last dictionary at each depth lie, and their names where a second one shares them.
    shared: Vec<(usize, Option<Rc<SharedKeys>>)>,
    pub(crate) sink: S,
}

impl<S: WalkSink> Walk<S> {
    /// A walk through the object on top of the stack, which it will pop.
    pub(crate) fn new(isolate: &Isolate, stack: Stack, sink: S) -> Walk<S> {
        let isolate = isolate.clone();
        let base = stack.top() - 1;
        let (frames, shared) = (Vec::new(), Vec::new());
        Walk { isolate, base, frames, began: false, last: None, shared, sink }
    }

    /// Moves what it has on the stack to a workspace, to go on there.
    pub(crate) fn move_to(&mut self, stack: Stack, workspace: &Workspace) {
        let count = stack.top() - self.base;
        workspace.stack().reserve(count + 24);
        stack.move_to(workspace.stack(), count);
        self.base = 0;
    }

    /// Pops what it has on the stack, after it has stopped.
    pub(crate) fn clear(&self, stack: Stack) {
        stack.set_top(self.base);
    }

    /// Walks until the slice is over or the object is; answers whether the object is.
    pub(crate) fn step(&mut self, stack: Stack, slice: &mut Slice) -> Result<bool, S::Stop> {
        stack.reserve(16);
        loop {
            let Some(kind) = self.push_next(stack)? else { return Ok(true) };
            let before = self.sink.size();
            self.value(stack, kind)?;
            let made = self.sink.size() - before;
            if slice.spend(made) && !self.frames.is_empty() {
                return Ok(false);
            }
        }
    }

    /// Pushes the next value; answers its kind, and nothing at the end.
    fn push_next(&mut self, stack: Stack) -> Result<Option<Type>, S::Stop> {
        let base = self.base;
        loop {
            let Some(frame) = self.frames.last_mut() else {
                // The root lies there already.
                let began = std::mem::replace(&mut self.began, true);
                return Ok((!began).then(|| stack.kind(-1)));
            };
            let bottom = match frame {
                WalkFrame::List { table, next } => {
                    *next += 1;
                    stack.get_element(base + *table, *next);
                    let kind = stack.kind(-1);
                    if kind != Type::Nil {
                        self.sink.element(*next == 1);
                        return Ok(Some(kind));
                    }
                    self.sink.end_list();
                    *table
                }
                WalkFrame::Dictionary { keys, next, is_first, shared } => {
                    let at = base + *keys;
                    let entry = match shared {
                        Some(shared) => shared.push_next(stack, at, next).map(|(name, kind)| {
                            self.sink.shared_name(name, std::mem::take(is_first));
                            kind
                        }),
                        None => next_entry(stack, at, next, &mut self.sink, is_first),
                    };
                    if entry.is_some() {
                        return Ok(entry);
                    }
                    self.sink.end_record();
                    *keys
                }
                WalkFrame::Object { table, plan, next } => {
                    if let Some(field) = plan.fields.get(*next) {
                        self.sink.field(plan, *next);
                        *next += 1;
                        stack.push_kept(field.key);
                        stack.get_raw(base + *table);
                        return Ok(Some(stack.kind(-1)));
                    }
                    self.sink.end_record();
                    *table
                }
            };
            stack.set_top(base + bottom - 1);
            self.frames.pop();
        }
    }

    /// Visits the value on top: pops it, or begins to walk through it.
    fn value(&mut self, stack: Stack, kind: Type) -> Result<(), S::Stop> {
        let leaf = match kind {
            Type::Nil => Leaf::Nil,
            Type::Boolean => Leaf::Boolean(stack.boolean(-1)),
            Type::Number => Leaf::Number(stack.number(-1)),
            Type::Text => {
                stack.with_text(-1, |text| self.sink.leaf(Leaf::Text(text)))?;
                stack.pop(1);
                return Ok(());
            }
            Type::Table if self.frames.len() > DEPTH || !stack.reserve(16) => {
                return Err(self.sink.too_deep());
            }
            Type::Table => return self.table(stack),
            Type::Function | Type::Userdata | Type::Other => Leaf::Opaque,
        };
        self.sink.leaf(leaf)?;
        stack.pop(1);
        Ok(())
    }

    fn table(&mut self, stack: Stack) -> Result<(), S::Stop> {
        let known = self.known(stack);
        let table = stack.top() - self.base;
        match known.kind {
            TableKind::Null => self.sink.leaf(Leaf::Nil)?,
            TableKind::Array => {
                self.sink.begin_list();
                self.frames.push(WalkFrame::List { table, next: 0 });
                return Ok(());
            }
            TableKind::Dictionary => {
                self.sink.begin_record();
                let slots = self.isolate.slots();
                stack.push_kept(slots.keys);
                stack.get_raw(-2);
                stack.push_kept(slots.map);
                stack.get_raw(-3);
                // The dictionary itself is not needed any more.
                stack.remove(-3);
                let shared = self.shared_keys(stack);
                let frame = WalkFrame::Dictionary { keys: table, next: 0, is_first: true, shared };
                self.frames.push(frame);
                return Ok(());
            }
            TableKind::Object => {
                self.sink.begin_object(known.plan.as_deref())?;
                let plan = known.plan.unwrap_or_default();
                self.frames.push(WalkFrame::Object { table, plan, next: 0 });
                return Ok(());
            }
            TableKind::Date => {
                let date = DateParts::read(stack, stack.top());
                self.sink.leaf(Leaf::Date(date))?;
            }
            TableKind::Decimal => {
                let text = decimal_text(stack, stack.top());
                self.sink.leaf(Leaf::Decimal(text))?;
            }
            TableKind::Text => {
                stack.field(-1, "_text");
                stack.with_bytes(-1, |text| self.sink.leaf(Leaf::Text(text)))?;
                stack.pop(1);
            }
            TableKind::Size => {
                stack.field(-1, "_bytes");
                let bytes = stack.number(-1);
                stack.pop(1);
                self.sink.leaf(Leaf::Number(bytes))?;
            }
            TableKind::Big | TableKind::Data => {
                stack.field(-1, "_bytes");
                let is_big = known.kind == TableKind::Big;
                stack.with_bytes(-1, |bytes| {
                    self.sink.leaf(if is_big { Leaf::Big(bytes) } else { Leaf::Data(bytes) })
                })?;
                stack.pop(1);
            }
            TableKind::Element | TableKind::Class => self.sink.leaf(Leaf::Element)?,
        }
        stack.pop(1);
        Ok(())
    }

    /// The names of the keys below the top, where the last dictionary at this depth has the same.
    fn shared_keys(&mut self, stack: Stack) -> Option<Rc<SharedKeys>> {
        let (depth, address) = (self.frames.len(), stack.address(-2) as usize);
        if depth >= self.shared.len() {
            self.shared.resize(depth + 1, (0, None));
        }
        let (last, known) = &mut self.shared[depth];
        if *last != address {
            (*last, *known) = (address, None);
        } else if known.is_none() {
            *known = SharedKeys::read(&self.isolate, stack, -2, S::written_name).map(Rc::new);
        }
        known.clone()
    }

    /// The kind and plan of the table on top: looked up only when its class differs from the last.
    fn known(&mut self, stack: Stack) -> Known {
        if !stack.metatable(-1) {
            return Known { metatable: 0, kind: TableKind::Object, plan: None };
        }
        let metatable = stack.address(-1) as usize;
        stack.pop(1);
        if let Some(last) = self.last.as_ref().filter(|last| last.metatable == metatable) {
            return last.clone();
        }
        let kind = table_kind(stack, -1);
        let plan = (kind == TableKind::Object)
            .then(|| self.isolate.plans().for_object(stack, stack.top()));
        let known = Known { metatable, kind, plan };
        self.last = Some(known.clone());
        known
    }
}

/// Passes the name of the next entry of a dictionary to the sink and pushes its value; answers the kind of
/// the value, and nothing at the end.
fn next_entry(
    stack: Stack,
    keys: c_int,
    next: &mut usize,
    sink: &mut impl WalkSink,
    is_first: &mut bool,
) -> Option<Type> {
    loop {
        *next += 1;
        stack.get_element(keys, *next);
        let name = match stack.kind(-1) {
            Type::Nil => return None,
            Type::Text | Type::Number => {
                stack.push_copy(-1);
                stack.get_raw(keys + 1);
                stack.top() - 1
            }
            // A key that was removed leaves a hole.
            _ => {
                stack.pop(1);
                continue;
            }
        };
        // Removed since the walk began.
        let kind = stack.kind(-1);
        if kind == Type::Nil {
            stack.pop(2);
            continue;
        }
        match stack.kind(name) {
            Type::Text => stack.with_bytes(name, |name| sink.name(name, *is_first)),
            _ => sink
                .name(crate::values::kind::number_text(stack.number(name)).as_bytes(), *is_first),
        }
        *is_first = false;
        stack.remove(-2);
        return Some(kind);
    }
}
