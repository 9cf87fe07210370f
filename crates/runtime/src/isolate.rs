//! The isolate: one engine with the kernel loaded, used by one thread.
#![allow(unsafe_code)]

use crate::engine::collector::Collector;
use crate::engine::memory::Accounts;
use crate::engine::source_map::SourceMaps;
use crate::engine::stack::{Slot, Stack};
use crate::engine::thread::EngineThread;
use crate::engine::watchdog::{self, Watchdog};
use crate::fibers::scheduler::Scheduler;
use crate::fibers::task::FiberTask;
use crate::host::Host;
use crate::values::plans::{InstancePlans, Plans};
use mlua::Lua;
use mlua::ffi::lua_State;
use runnel_compile::Chunk;
use runnel_store::{Content, Context as Call, Transaction};
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::pin::Pin;
use std::rc::{Rc, Weak};
use std::task::{Context, Poll};

/// Idle coroutines kept for the next fibers.
const POOL: usize = 1024;

/// What a fiber waits for.
pub(crate) trait Operation {
    /// Polls it for the call of its fiber. Once it is ready, two values lie on the isolate's stack:
    /// `true` and the result, or `false` and the error.
    fn poll(
        self: Pin<&mut Self>,
        isolate: &Isolate,
        call: &Call,
        context: &mut Context<'_>,
    ) -> Poll<()>;
}

pub(crate) type PendingOperation = Pin<Box<dyn Operation>>;

/// An engine with the kernel loaded, before it becomes an isolate.
pub(crate) struct Engine {
    pub(crate) main: *mut lua_State,
    pub(crate) slots: KernelSlots,
    pub(crate) accounts: Accounts,
    pub(crate) watchdog: Watchdog,
    pub(crate) lua: Lua,
}

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

/// Slots of the kernel's values that Rust uses.
#[derive(Default)]
pub(crate) struct KernelSlots {
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
    /// The name of the most frequent verb.
    pub(crate) get: Slot,
    /// The names of what a dictionary has (dictionary.lua).
    pub(crate) keys: Slot,
    pub(crate) map: Slot,
    pub(crate) text: Slot,
    pub(crate) json_text: Slot,
    pub(crate) html_text: Slot,
    pub(crate) element: Slot,
    pub(crate) sending: Slot,
    pub(crate) take_markup: Slot,
    pub(crate) kernel: Slot,
}

pub(crate) struct IsolateState {
    // Dropped first: no signal may arrive after the engine is closed.
    watchdog: Watchdog,
    pool: RefCell<Vec<EngineThread>>,
    pending: RefCell<Option<PendingOperation>>,
    /// The answer of the fiber that is about to end, where its program does not read it.
    answer: RefCell<Option<Content>>,
    call: RefCell<Call>,
    running: Cell<*mut lua_State>,
    scheduler: Rc<Scheduler>,
    collector: Collector,
    /// The fibers that the running fiber has forked.
    children: RefCell<Vec<Rc<FiberTask>>>,
    plans: Plans,
    instance_plans: InstancePlans,
    slots: KernelSlots,
    sources: RefCell<HashMap<String, Rc<str>>>,
    source_maps: SourceMaps,
    folder: RefCell<Option<String>>,
    host: Rc<dyn Host>,
    /// Whether a compiled loop can be interrupted; measured before the first server starts.
    interruptible: OnceCell<bool>,
    /// The engine after its accounts: its own allocator frees the rest.
    _engine: (Accounts, Lua),
}

/// Children of a fiber beyond which it drops those that have ended. Running ones are bounded.
const MANY_CHILDREN: usize = 64;

/// One engine with the kernel loaded. Clones are the same isolate.
#[derive(Clone)]
pub struct Isolate(Rc<IsolateState>);

thread_local! {
    static CURRENT: RefCell<Option<Isolate>> = const { RefCell::new(None) };
}

impl Isolate {
    /// The isolate of an engine with the kernel loaded; from now on that of this thread.
    pub(crate) fn of_engine(engine: Engine, host: Rc<dyn Host>) -> Isolate {
        let isolate = Isolate(Rc::new(IsolateState {
            watchdog: engine.watchdog,
            pool: RefCell::default(),
            pending: RefCell::default(),
            answer: RefCell::default(),
            call: RefCell::default(),
            running: Cell::new(engine.main),
            scheduler: Rc::new(Scheduler::new()),
            collector: Collector::default(),
            children: RefCell::default(),
            plans: Plans::default(),
            instance_plans: InstancePlans::default(),
            slots: engine.slots,
            sources: RefCell::default(),
            source_maps: SourceMaps::default(),
            folder: RefCell::default(),
            host,
            interruptible: OnceCell::new(),
            _engine: (engine.accounts, engine.lua),
        }));
        CURRENT.set(Some(isolate.clone()));
        isolate
    }

    /// The isolate of this thread.
    pub fn current() -> Option<Isolate> {
        CURRENT.with_borrow(Clone::clone)
    }

    /// For work in idle time, which does not keep the isolate alive.
    pub(crate) fn downgrade(&self) -> Weak<IsolateState> {
        Rc::downgrade(&self.0)
    }

    /// The isolate behind a weak pointer, while it lives.
    pub(crate) fn upgrade(state: &Weak<IsolateState>) -> Option<Isolate> {
        state.upgrade().map(Isolate)
    }

    pub(crate) fn same(&self, other: &Isolate) -> bool {
        Rc::ptr_eq(&self.0, &other.0)
    }

    /// The stack to work on: that of the fiber that runs, else the engine's own.
    pub(crate) fn stack(&self) -> Stack<'_> {
        // SAFETY: the isolate owns the engine, and a fiber keeps its coroutine while it runs.
        unsafe { Stack::from_raw(self.0.running.get()) }
    }

    /// Whether time slices and deadlines work: without them nothing is served.
    pub(crate) fn is_interruptible(&self) -> bool {
        *self.0.interruptible.get_or_init(|| watchdog::is_effective(self.stack()))
    }

    pub(crate) fn host(&self) -> &dyn Host {
        &*self.0.host
    }

    pub(crate) fn shared_host(&self) -> Rc<dyn Host> {
        self.0.host.clone()
    }

    pub(crate) fn slots(&self) -> &KernelSlots {
        &self.0.slots
    }

    /// Pushes a function or table of the kernel; uses one more slot of the stack meanwhile.
    pub(crate) fn push_of_kernel(&self, stack: Stack, name: &str) {
        stack.push_kept(self.0.slots.kernel);
        stack.field(-1, name);
        stack.remove(-2);
    }

    pub(crate) fn plans(&self) -> &Plans {
        &self.0.plans
    }

    pub(crate) fn instance_plans(&self) -> &InstancePlans {
        &self.0.instance_plans
    }

    /// A coroutine of the pool, which runs the kernel's `worker`.
    pub(crate) fn take_coroutine(&self) -> EngineThread {
        if let Some(coroutine) = self.0.pool.borrow_mut().pop() {
            return coroutine;
        }
        let coroutine = EngineThread::new(self.stack());
        coroutine.stack().push_kept(self.slots().worker);
        coroutine
    }

    /// Gives an idle coroutine back to the pool.
    pub(crate) fn recycle(&self, coroutine: EngineThread) {
        let mut pool = self.0.pool.borrow_mut();
        if pool.len() < POOL {
            pool.push(coroutine);
        } else {
            drop(pool);
            coroutine.release(self.stack());
        }
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

    /// Adds a fiber that the running fiber has forked.
    pub(crate) fn add_child(&self, child: Rc<FiberTask>) {
        let mut children = self.0.children.borrow_mut();
        // Only at powers of two: checking all of them each time would cost more than they do.
        if children.len() >= MANY_CHILDREN && children.len().is_power_of_two() {
            children.retain(|child| !child.has_ended());
        }
        children.push(child);
    }

    /// Exchanges the children of the running fiber for those of the next.
    pub(crate) fn swap_children(&self, children: &mut Vec<Rc<FiberTask>>) {
        std::mem::swap(&mut *self.0.children.borrow_mut(), children);
    }

    pub(crate) fn set_pending(&self, operation: PendingOperation) {
        self.0.pending.replace(Some(operation));
    }

    pub(crate) fn take_pending(&self) -> Option<PendingOperation> {
        self.0.pending.take()
    }

    /// Holds the answer of the running fiber until it ends, which it does at once.
    pub(crate) fn hold_answer(&self, content: Content) {
        self.0.answer.replace(Some(content));
    }

    pub(crate) fn take_answer(&self) -> Option<Content> {
        self.0.answer.take()
    }

    /// The call of the running fiber.
    pub(crate) fn call(&self) -> Call {
        self.0.call.borrow().clone()
    }

    /// Makes a fiber the running one; answers the call and the stack of the one before.
    pub(crate) fn enter(&self, call: Call, stack: Stack) -> (Call, *mut lua_State) {
        (self.0.call.replace(call), self.0.running.replace(stack.state()))
    }

    /// Makes the fiber before the running one again; answers the call of the fiber that ran, which may
    /// have entered or left a transaction meanwhile.
    pub(crate) fn leave(&self, outer: (Call, *mut lua_State)) -> Call {
        self.0.running.set(outer.1);
        self.0.call.replace(outer.0)
    }

    /// Makes the following verbs of the running fiber part of a transaction, or of none.
    pub(crate) fn set_transaction(&self, transaction: Option<Rc<dyn Transaction>>) {
        self.0.call.borrow_mut().transaction = transaction;
    }

    pub(crate) fn flush_output(&self) {
        self.0.host.flush();
    }

    /// Sets the folder of a program whose name has none: the files that it loads lie below it.
    pub fn set_folder(&self, folder: &str) {
        *self.0.folder.borrow_mut() = Some(folder.to_string());
    }

    /// The name of a source with its folder.
    pub(crate) fn placed(&self, name: &str) -> String {
        match &*self.0.folder.borrow() {
            Some(folder) if !name.contains('/') => format!("{folder}/{name}"),
            _ => name.to_string(),
        }
    }

    /// Remembers a source text and its places, for traces; answers the name of its chunk.
    pub(crate) fn remember(&self, name: &str, source: &str, chunk: &mut Chunk) -> String {
        let source: Rc<str> = source.into();
        self.0.sources.borrow_mut().insert(name.to_string(), source.clone());
        let places = std::mem::take(&mut chunk.places);
        let definitions = std::mem::take(&mut chunk.definitions);
        self.0.source_maps.chunk_name(name, &source, places, definitions)
    }

    /// The text of a source that was run, for showing its lines.
    pub fn source(&self, name: &str) -> Option<Rc<str>> {
        self.0.sources.borrow().get(name).cloned()
    }
}
