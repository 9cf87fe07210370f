//! Depth-first traversal of an object of the engine, slice by slice.
//!
//! Between two slices the program may change the object. The walk then sees some changes and misses
//! others; the events that its sink gets are well formed all the same.

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
    pub(crate) sink: S,
}

impl<S: WalkSink> Walk<S> {
    /// A walk through the object on top of the stack, which it will pop.
    pub(crate) fn new(isolate: &Isolate, stack: Stack, sink: S) -> Walk<S> {
        let isolate = isolate.clone();
        let base = stack.top() - 1;
        Walk { isolate, base, frames: Vec::new(), began: false, last: None, sink }
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
            if !self.push_next(stack)? {
                return Ok(true);
            }
            let before = self.sink.size();
            self.value(stack)?;
            let made = self.sink.size() - before;
            if slice.spend(made) && !self.frames.is_empty() {
                return Ok(false);
            }
        }
    }

    /// Pushes the next value; answers whether there is one.
    fn push_next(&mut self, stack: Stack) -> Result<bool, S::Stop> {
        let base = self.base;
        loop {
            let Some(frame) = self.frames.last_mut() else {
                // The root lies there already.
                return Ok(!std::mem::replace(&mut self.began, true));
            };
            let bottom = match frame {
                WalkFrame::List { table, next } => {
                    *next += 1;
                    stack.get_element(base + *table, *next);
                    if stack.kind(-1) != Type::Nil {
                        self.sink.element(*next == 1);
                        return Ok(true);
                    }
                    self.sink.end_list();
                    *table
                }
                WalkFrame::Dictionary { keys, next, is_first } => {
                    match next_entry(stack, base + *keys, next, &mut self.sink, is_first) {
                        true => return Ok(true),
                        false => self.sink.end_record(),
                    }
                    *keys
                }
                WalkFrame::Object { table, plan, next } => {
                    if let Some(field) = plan.fields.get(*next) {
                        self.sink.field(plan, *next);
                        *next += 1;
                        stack.push_kept(field.key);
                        stack.get_raw(base + *table);
                        return Ok(true);
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
    fn value(&mut self, stack: Stack) -> Result<(), S::Stop> {
        let leaf = match stack.kind(-1) {
            Type::Nil => Leaf::Nil,
            Type::Boolean => Leaf::Boolean(stack.boolean(-1)),
            Type::Number => Leaf::Number(stack.number(-1)),
            Type::Text => {
                stack.with_bytes(-1, |text| self.sink.leaf(Leaf::Text(text)))?;
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
                stack.field(-1, "_keys");
                stack.field(-2, "_map");
                // The dictionary itself is not needed any more.
                stack.remove(-3);
                self.frames.push(WalkFrame::Dictionary { keys: table, next: 0, is_first: true });
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

/// Passes the name of the next entry of a dictionary to the sink and pushes its value; answers whether
/// there is one.
fn next_entry(
    stack: Stack,
    keys: c_int,
    next: &mut usize,
    sink: &mut impl WalkSink,
    is_first: &mut bool,
) -> bool {
    loop {
        *next += 1;
        stack.get_element(keys, *next);
        let name = match stack.kind(-1) {
            Type::Nil => return false,
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
        if stack.kind(-1) == Type::Nil {
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
        return true;
    }
}
