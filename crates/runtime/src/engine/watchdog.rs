//! Time slices and deadlines: a watchdog thread, and the hook that interrupts a fiber.
//!
//! The engine calls a hook between two instructions, in compiled loops too (it is built with
//! `LUAJIT_ENABLE_CHECKHOOK`). The hook costs nothing until it is armed. The watchdog arms it when
//! a slice overruns, by a signal to the isolate's own thread: the handler runs where the engine
//! runs, as in LuaJIT's own command; `crates/runtime/luajit/interrupt.h` keeps it from the engine's
//! compiler of traces. The hook then yields the fiber, or past its deadline raises an error.
//!
//! A function of the kernel that keeps state is not interrupted, so that what it does between two calls is whole for
//! other fibers: the hook waits until another function runs, or for [`MOST_STEPS`] in a long loop.
//!
//! While a profile is taken ([`profile`]), the hook also looks where the program is, at every second tick.
//!
//! While nothing runs the watchdog sleeps without a timer: an idle process does not wake up.
#![allow(unsafe_code)]

use super::profile;
use super::stack::Stack;
use mlua::ffi::{self, lua_State};
use std::cell::Cell;
use std::ffi::CStr;
use std::os::raw::c_int;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A time slice: a fiber runs for one to two of these before it yields.
pub(crate) const SLICE: Duration = Duration::from_millis(2);
/// Ticks without any fiber running after which the watchdog goes to sleep.
const IDLE_TICKS: u32 = 50;
/// Instructions after which the hook looks again whether the kernel is left.
const STEP: c_int = 100;
/// How often it looks before it interrupts the kernel: far beyond the longest change of its state.
const MOST_STEPS: u32 = 100;
/// How the names of the kernel's chunks begin (`build.rs`).
const KERNEL_CHUNK: &[u8] = b"=kernel/";
/// Rooms of the kernel that compute with what they are given, perhaps for long: they are interrupted anywhere.
const COMPUTING: [&[u8]; 4] = [b"core/", b"text/", b"values/", b"collections/"];
/// The signal; its default is to be ignored, and no library here uses it.
const SIGNAL: c_int = libc::SIGURG;

thread_local! {
    /// The state whose hook the signal arms; null while no isolate lives on this thread.
    static STATE: Cell<*mut lua_State> = const { Cell::new(std::ptr::null_mut()) };
    /// The deadline of the fiber that runs on this thread.
    static DEADLINE: Cell<Option<Instant>> = const { Cell::new(None) };
    /// Whether a fiber runs on this thread.
    static RUNNING: Cell<bool> = const { Cell::new(false) };
    /// Whether the hook raised an error in the fiber that runs.
    static RAISED: Cell<bool> = const { Cell::new(false) };
    /// The hook raises the memory error.
    static OUT_OF_MEMORY: Cell<bool> = const { Cell::new(false) };
    /// What the watchdog of this thread has seen; null without one.
    static SEEN: Cell<*const WatchState> = const { Cell::new(std::ptr::null()) };
    /// The slice is over, or its fiber raises an error: what [`fire`] asks for.
    static FIRED: Cell<bool> = const { Cell::new(false) };
    /// How often the hook has met the kernel since the slice was over.
    static STEPS: Cell<u32> = const { Cell::new(0) };
    /// Pushes the error of a passed deadline: set once the kernel is there.
    static DEADLINE_ERROR: Cell<i32> = const { Cell::new(0) };
}

#[derive(Default)]
struct WatchState {
    /// Counts up at each start and each end of a slice: odd while a fiber runs.
    slice: AtomicU64,
    asleep: AtomicBool,
    stop: AtomicBool,
    /// The slice is over: the hook yields the fiber.
    over: AtomicBool,
    /// The hook looks where the program is.
    sampled: AtomicBool,
}

/// The watchdog of one isolate. Dropped before the isolate: no signal comes after that.
pub(crate) struct Watchdog {
    shared: Arc<WatchState>,
    thread: Option<JoinHandle<()>>,
}

impl Watchdog {
    /// Starts watching the isolate of the calling thread.
    pub(crate) fn start(state: *mut lua_State) -> std::io::Result<Watchdog> {
        STATE.set(state);
        // SAFETY: the handler only touches thread-local cells without destructors and
        // `lua_sethook`, which LuaJIT allows in signal handlers.
        let target = unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = arm as extern "C" fn(c_int) as libc::sighandler_t;
            action.sa_flags = libc::SA_RESTART;
            libc::sigemptyset(&mut action.sa_mask);
            if libc::sigaction(SIGNAL, &action, std::ptr::null_mut()) != 0 {
                return Err(std::io::Error::last_os_error());
            }
            libc::pthread_self() as usize
        };
        let shared = Arc::new(WatchState::default());
        SEEN.set(Arc::as_ptr(&shared));
        let watched = shared.clone();
        let thread = std::thread::Builder::new()
            .name("watchdog".into())
            .stack_size(64 * 1024)
            .spawn(move || watch(&watched, target))?;
        Ok(Watchdog { shared, thread: Some(thread) })
    }

    /// A fiber begins to run on this thread, perhaps inside a verb of another one. Answers what
    /// [`Watchdog::end`] wants back.
    pub(crate) fn begin(&self, deadline: Option<Instant>) -> OuterRun {
        let outer = OuterRun {
            deadline: DEADLINE.replace(deadline),
            nested: RUNNING.replace(true),
            raised: RAISED.replace(false),
        };
        // An odd number stays odd: a new slice begins while a fiber runs.
        self.shared.slice.fetch_add(if outer.nested { 2 } else { 1 }, Ordering::Release);
        if self.shared.asleep.load(Ordering::Acquire)
            && let Some(thread) = &self.thread
        {
            thread.thread().unpark();
        }
        outer
    }

    /// It ends or waits. Answers whether an error was raised in it because it was late.
    pub(crate) fn end(&self, outer: OuterRun) -> bool {
        DEADLINE.set(outer.deadline);
        RUNNING.set(outer.nested);
        self.shared.slice.fetch_add(if outer.nested { 2 } else { 1 }, Ordering::Release);
        RAISED.replace(outer.raised)
    }
}

/// The watchdog's state before a fiber began to run.
pub(crate) struct OuterRun {
    deadline: Option<Instant>,
    nested: bool,
    raised: bool,
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // The thread ends within one tick; it cannot panic.
            let _ = thread.join();
        }
        STATE.set(std::ptr::null_mut());
        SEEN.set(std::ptr::null());
    }
}

fn watch(shared: &WatchState, target: usize) {
    let mut seen = 0;
    let mut idle = 0;
    let mut ticks: u32 = 0;
    while !shared.stop.load(Ordering::Acquire) {
        let slice = shared.slice.load(Ordering::Acquire);
        let running = slice % 2 == 1;
        ticks = ticks.wrapping_add(1);
        let is_over = running && slice == seen;
        let is_sampled = running && ticks.is_multiple_of(profile::TICKS) && profile::is_active();
        if is_over {
            shared.over.store(true, Ordering::Release);
        }
        if is_sampled {
            shared.sampled.store(true, Ordering::Release);
        }
        if is_over || is_sampled {
            // SAFETY: the watched thread lives: it joins this thread before it ends.
            unsafe { libc::pthread_kill(target as libc::pthread_t, SIGNAL) };
        }
        idle = if slice == seen && !running { idle + 1 } else { 0 };
        seen = slice;
        if idle > IDLE_TICKS {
            shared.asleep.store(true, Ordering::SeqCst);
            if shared.slice.load(Ordering::SeqCst) == seen && !shared.stop.load(Ordering::SeqCst) {
                std::thread::park();
            }
            shared.asleep.store(false, Ordering::SeqCst);
            idle = 0;
        }
        std::thread::park_timeout(SLICE);
    }
}

/// Lets the hook fire at the next instruction of the engine of this thread.
pub(crate) fn fire() {
    FIRED.set(true);
    arm(SIGNAL);
}

/// What the hook is to do: whether the slice is over, and whether it looks where the program is.
fn wanted() -> (bool, bool) {
    let fired = FIRED.replace(false);
    let seen = SEEN.get();
    if seen.is_null() {
        return (fired, false);
    }
    // SAFETY: the watchdog of this thread owns it, and clears the pointer before it goes.
    let seen = unsafe { &*seen };
    let take = |flag: &AtomicBool| flag.swap(false, Ordering::AcqRel);
    (take(&seen.over) || fired, take(&seen.sampled))
}

/// The fiber that runs next raises the memory error at its next instruction.
pub(crate) fn raise_next() {
    OUT_OF_MEMORY.set(true);
    fire();
}

/// Whether the hook raises the memory error now. Asked once for each [`raise_next`].
pub(crate) fn takes_raise() -> bool {
    OUT_OF_MEMORY.replace(false)
}

extern "C" fn arm(_signal: c_int) {
    let state = STATE.get();
    if !state.is_null() {
        // SAFETY: runs on the isolate's own thread, between two of its instructions or outside
        // it; `lua_sethook` is what LuaJIT's own signal handler calls.
        unsafe { ffi::lua_sethook(state, Some(hook), ffi::LUA_MASKCOUNT, 1) };
    }
}

/// Whether the function that the hook interrupts is one of the kernel that keeps state.
///
/// # Safety
/// For the arguments of a hook, while it runs.
unsafe fn keeps_state(state: *mut lua_State, frame: *mut ffi::lua_Debug) -> bool {
    // SAFETY: the engine fills the source of a frame with a C string that lives as long as its function.
    unsafe {
        ffi::lua_getinfo(state, c"S".as_ptr(), frame) != 0
            && CStr::from_ptr((*frame).source)
                .to_bytes()
                .strip_prefix(KERNEL_CHUNK)
                .is_some_and(|name| !COMPUTING.iter().any(|room| name.starts_with(room)))
    }
}

unsafe extern "C-unwind" fn hook(state: *mut lua_State, frame: *mut ffi::lua_Debug) {
    // SAFETY: called by the engine on its own thread; no Rust value with a destructor is alive
    // when it leaves by an error or a yield.
    unsafe {
        let stack = Stack::from_raw(state);
        ffi::lua_sethook(state, None, 0, 0);
        if takes_raise() {
            ffi::lua_checkstack(state, 2);
            stack.push_bytes(crate::engine::memory::MESSAGE);
            ffi::lua_error(state);
        }
        let (is_over, is_sampled) = wanted();
        if is_sampled {
            profile::sample(stack);
        }
        if !is_over {
            return;
        }
        if STEPS.get() < MOST_STEPS && keeps_state(state, frame) {
            STEPS.set(STEPS.get() + 1);
            FIRED.set(true);
            ffi::lua_sethook(state, Some(hook), ffi::LUA_MASKCOUNT, STEP);
            return;
        }
        STEPS.set(0);
        let late = match DEADLINE.get() {
            Some(deadline) => Instant::now() >= deadline,
            None => false,
        };
        if late {
            // Once in a slice: a second error on the way out would meet the coroutine where nothing
            // protects it, and hide where the first came from.
            DEADLINE.set(None);
            RAISED.set(true);
            ffi::lua_checkstack(state, 8);
            stack.push_kept(DEADLINE_ERROR.get());
            ffi::lua_call(state, 0, 1);
            ffi::lua_error(state);
        }
        if stack.can_yield() {
            ffi::lua_yield(state, 0);
        }
    }
}

/// Whether a compiled loop can be interrupted: runs one of about a second with a deadline in the past,
/// and sends itself the signal 0.3 ms later.
pub(crate) fn is_effective(stack: Stack) -> bool {
    const LOOP: &[u8] = b"local n = 0 for i = 1, 1e9 do n = n + i end return n";
    stack.reserve(8);
    // SAFETY: the text lives during the call; the thread that is signalled waits for the sender.
    let (loaded, target) = unsafe {
        let name = c"=check".as_ptr();
        let loaded = ffi::luaL_loadbuffer(stack.state(), LOOP.as_ptr().cast(), LOOP.len(), name);
        (loaded == ffi::LUA_OK, libc::pthread_self() as usize)
    };
    if !loaded {
        return false;
    }
    let outer = DEADLINE.replace(Some(Instant::now()));
    FIRED.set(true);
    let raised = RAISED.get();
    let sender = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_micros(300));
        // SAFETY: see above.
        unsafe { libc::pthread_kill(target as libc::pthread_t, SIGNAL) };
    });
    let finished = stack.protected_call(0, 1);
    let _ = sender.join();
    DEADLINE.set(outer);
    // The error was asked for: the fiber that starts a server is not late.
    RAISED.set(raised);
    stack.pop(1);
    !finished
}

/// Sets the kernel function that answers the error of a missed deadline.
pub(crate) fn set_deadline_error(slot: i32) {
    DEADLINE_ERROR.set(slot);
}

#[cfg(test)]
mod tests {
    use super::{STATE, fire};
    use mlua::{Lua, Thread};

    /// Whether a coroutine is interrupted in a function of this name, whose slice is over when it begins.
    fn is_interrupted(name: &str, text: &str) -> bool {
        let lua = Lua::new();
        let mut state = std::ptr::null_mut();
        // SAFETY: only the pointer is taken.
        unsafe { lua.exec_raw::<()>((), |inner| state = inner) }.unwrap();
        STATE.set(state);
        let over = lua.create_function(|_, ()| {
            fire();
            Ok(())
        });
        let over = over.unwrap();
        lua.globals().set("over", over).unwrap();
        let function = lua.load(text).set_name(name).into_function().unwrap();
        let thread: Thread = lua.create_thread(function).unwrap();
        thread.resume::<()>(()).unwrap();
        STATE.set(std::ptr::null_mut());
        thread.status() == mlua::thread::ThreadStatus::Resumable
    }

    #[test]
    fn a_change_of_the_kernel_is_whole() {
        let change = "over() local a = {} for i = 1, 50 do a[i] = i end return a[1]";
        assert!(is_interrupted("=program.st", change));
        assert!(!is_interrupted("=kernel/live/view.lua", change));
    }

    #[test]
    fn a_long_loop_of_the_kernel_is_interrupted() {
        let change = "over() local n = 0 for i = 1, 1e6 do n = n + i end return n";
        assert!(is_interrupted("=kernel/jobs/jobs.lua", change));
    }

    #[test]
    fn rooms_that_compute_are_interrupted_anywhere() {
        assert!(is_interrupted(
            "=kernel/core/pieces.lua",
            "over() local a = {} a[1] = 1 return a[1]"
        ));
    }
}
