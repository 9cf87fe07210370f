//! The isolate: one engine with the kernel loaded, used by one thread.

use crate::engine::collector::Collector;
use crate::engine::memory::Accounts;
use crate::engine::stack::{Slot, Stack};
use crate::engine::watchdog::Watchdog;
use crate::fibers::fiber::Coroutine;
use crate::fibers::scheduler::Scheduler;
use crate::host::Host;
use crate::natives::Task;
use crate::natives::call::{Native, Operation};
use crate::values::plans::Plans;
use mlua::{Lua, LuaOptions, StdLib};
use runnel_store::{Content, Context as Call, Transaction};
use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::collections::HashMap;
use std::rc::{Rc, Weak};

/// Places of a trace that are shown from its inner and from its outer end.
const INNERMOST: usize = 12;
const OUTERMOST: usize = 8;

/// What an isolate may use.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of memory for the program's objects ([`crate::engine::memory`]).
    pub memory: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { memory: 1 << 30 }
    }
}

/// Kept values of the kernel.
#[derive(Default)]
pub(crate) struct Slots {
    pub(crate) worker: Slot,
    pub(crate) error_methods: Slot,
    pub(crate) array: Slot,
    pub(crate) dictionary: Slot,
    pub(crate) null: Slot,
    pub(crate) big: Slot,
    pub(crate) make_data: Slot,
    pub(crate) make_lazy: Slot,
    pub(crate) make_store: Slot,
    pub(crate) instantiate: Slot,
    pub(crate) serve: Slot,
    pub(crate) serve_verbs: Slot,
    /// The name of the verb that is asked for most.
    pub(crate) get: Slot,
    pub(crate) text: Slot,
    pub(crate) json_text: Slot,
    pub(crate) html_text: Slot,
    pub(crate) element: Slot,
    pub(crate) sending: Slot,
    pub(crate) take_markup: Slot,
    pub(crate) kernel: Slot,
}

pub(crate) struct Inner {
    // Dropped first: no signal may come once the engine is gone.
    watchdog: Watchdog,
    pool: RefCell<Vec<Coroutine>>,
    pending: RefCell<Option<Operation>>,
    /// The answer of the fiber that is about to end, where its program does not look at it.
    answer: RefCell<Option<Content>>,
    call: RefCell<Call>,
    running: Cell<Stack>,
    scheduler: Rc<Scheduler>,
    collector: Collector,
    /// The fibers that the one that runs has started.
    children: RefCell<Vec<Rc<Task>>>,
    natives: RefCell<Vec<Native>>,
    plans: Plans,
    slots: Slots,
    sources: RefCell<HashMap<String, Rc<str>>>,
    host: Rc<dyn Host>,
    /// Whether a compiled loop can be interrupted; looked at before the first server starts.
    interruptible: OnceCell<bool>,
    /// The engine after its accounts: what is left then is freed by its own allocator.
    _engine: (Accounts, Lua),
}

/// From how many children on a fiber forgets those that have ended. Those that run are bounded.
const MANY_CHILDREN: usize = 64;

/// One engine with the kernel loaded. Clones are the same isolate.
#[derive(Clone)]
pub struct Isolate(Rc<Inner>);

thread_local! {
    static CURRENT: RefCell<Option<Isolate>> = const { RefCell::new(None) };
}

impl Isolate {
    /// Makes the isolate of this thread. A thread has one at a time.
    ///
    /// # Errors
    /// A sentence that says why the engine could not be set up; among others when it was built
    /// without the hook that time slices need.
    pub fn new(host: Rc<dyn Host>, limits: Limits) -> Result<Isolate, String> {
        let lua = engine();
        let main = crate::kernel::main_stack(&lua);
        main.prepare();
        let (natives, slots) = crate::kernel::load(&lua, main, host.server_options())?;
        let accounts =
            Accounts::open(main.0, lua.used_memory(), limits.memory, crate::engine::watchdog::fire);
        let watchdog = Watchdog::start(main.0).map_err(|error| error.to_string())?;
        let isolate = Isolate(Rc::new(Inner {
            watchdog,
            pool: RefCell::default(),
            pending: RefCell::default(),
            answer: RefCell::default(),
            call: RefCell::default(),
            running: Cell::new(main),
            scheduler: Rc::new(Scheduler::new()),
            collector: Collector::default(),
            children: RefCell::default(),
            natives: RefCell::new(natives),
            plans: Plans::default(),
            slots,
            sources: RefCell::default(),
            host,
            interruptible: OnceCell::new(),
            _engine: (accounts, lua),
        }));
        CURRENT.set(Some(isolate.clone()));
        Ok(isolate)
    }

    /// The isolate of this thread.
    pub(crate) fn current() -> Option<Isolate> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// For work in idle time, which does not keep the isolate alive.
    pub(crate) fn downgrade(&self) -> Weak<Inner> {
        Rc::downgrade(&self.0)
    }

    /// The isolate that [`Isolate::downgrade`] was asked of.
    pub(crate) fn of_inner(inner: Rc<Inner>) -> Isolate {
        Isolate(inner)
    }

    pub(crate) fn same(&self, other: &Isolate) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// The stack to work on: that of the fiber that runs, else the engine's own.
    pub(crate) fn stack(&self) -> Stack {
        self.0.running.get()
    }

    /// Whether time slices and deadlines work: without them nothing is served.
    pub(crate) fn is_interruptible(&self) -> bool {
        *self.0.interruptible.get_or_init(|| crate::engine::watchdog::is_effective(self.stack()))
    }

    pub(crate) fn host(&self) -> &dyn Host {
        &*self.0.host
    }

    pub(crate) fn slots(&self) -> &Slots {
        &self.0.slots
    }

    pub(crate) fn plans(&self) -> &Plans {
        &self.0.plans
    }

    pub(crate) fn worker(&self) -> Slot {
        self.0.slots.worker
    }

    pub(crate) fn error_methods(&self) -> Slot {
        self.0.slots.error_methods
    }

    pub(crate) fn native(&self, number: usize) -> Option<Native> {
        self.0.natives.borrow().get(number).copied()
    }

    pub(crate) fn pool(&self) -> RefMut<'_, Vec<Coroutine>> {
        self.0.pool.borrow_mut()
    }

    pub(crate) fn watchdog(&self) -> &Watchdog {
        &self.0.watchdog
    }

    /// Bytes that the program's objects take.
    pub(crate) fn used_memory(&self) -> usize {
        crate::engine::memory::used()
    }

    pub(crate) fn collector(&self) -> &Collector {
        &self.0.collector
    }

    pub(crate) fn scheduler(&self) -> &Rc<Scheduler> {
        &self.0.scheduler
    }

    /// The fiber that runs has started another one.
    pub(crate) fn add_child(&self, child: Rc<Task>) {
        let mut children = self.0.children.borrow_mut();
        // Now and then: looking at all of them each time would cost more than they do.
        if children.len() >= MANY_CHILDREN && children.len().is_power_of_two() {
            children.retain(|child| !child.is_over());
        }
        children.push(child);
    }

    /// Another fiber runs now, or goes on: its children for those of the one before.
    pub(crate) fn swap_children(&self, children: &mut Vec<Rc<Task>>) {
        std::mem::swap(&mut *self.0.children.borrow_mut(), children);
    }

    pub(crate) fn set_pending(&self, operation: Operation) {
        self.0.pending.replace(Some(operation));
    }

    pub(crate) fn take_pending(&self) -> Option<Operation> {
        self.0.pending.take()
    }

    /// Holds the answer of the fiber that runs until it ends, which it does at once.
    pub(crate) fn hold_answer(&self, content: Content) {
        self.0.answer.replace(Some(content));
    }

    pub(crate) fn take_answer(&self) -> Option<Content> {
        self.0.answer.take()
    }

    /// What the fiber that runs was called with.
    pub(crate) fn call(&self) -> Call {
        self.0.call.borrow().clone()
    }

    /// A fiber runs from here; answers what ran before.
    pub(crate) fn enter(&self, call: Call, stack: Stack) -> (Call, Stack) {
        (self.0.call.replace(call), self.0.running.replace(stack))
    }

    /// What ran before goes on; answers the call of the fiber that ran, which may have entered or
    /// left a transaction meanwhile.
    pub(crate) fn leave(&self, outer: (Call, Stack)) -> Call {
        self.0.running.set(outer.1);
        self.0.call.replace(outer.0)
    }

    /// From now on the verbs of the fiber that runs are part of this transaction, or of none.
    pub(crate) fn set_transaction(&self, transaction: Option<Rc<dyn Transaction>>) {
        self.0.call.borrow_mut().transaction = transaction;
    }

    pub(crate) fn flush_output(&self) {
        self.0.host.flush();
    }

    /// Remembers a source text, for traces.
    pub(crate) fn remember(&self, name: &str, source: &str) {
        self.0.sources.borrow_mut().insert(name.to_string(), source.into());
    }

    /// The text of a source that was run, for showing its lines.
    pub fn source(&self, name: &str) -> Option<Rc<str>> {
        self.0.sources.borrow().get(name).cloned()
    }

    /// A fault with its chain of source lines, for the log.
    pub fn explain(&self, fault: &crate::Fault) -> String {
        let mut text = format!("{}: {}", fault.kind, fault.message);
        if let Some(hint) = &fault.hint {
            text.push_str(&format!("\n  hint: {hint}"));
        }
        // Of a deep recursion both ends say enough.
        let left_out = fault.trace.len().saturating_sub(INNERMOST + OUTERMOST);
        for (number, place) in fault.trace.iter().enumerate() {
            if left_out > 0 && number == INNERMOST {
                text.push_str(&format!("\n  … {left_out} more"));
            }
            if (INNERMOST..INNERMOST + left_out).contains(&number) {
                continue;
            }
            let source = self.source(&place.source);
            let line = source
                .as_deref()
                .and_then(|source| source.lines().nth(place.line.saturating_sub(1) as usize))
                .map_or("", str::trim);
            text.push_str(&format!("\n  {}:{}  {line}", place.source, place.line));
        }
        text
    }
}

#[allow(unsafe_code)]
fn engine() -> Lua {
    // SAFETY: programs never reach Lua's own libraries: the compiler emits only calls of the
    // kernel. The kernel itself needs `debug` (metatables of basic types, traces) and `jit`.
    unsafe { Lua::unsafe_new_with(StdLib::ALL, LuaOptions::default()) }
}
