//! The stack of a coroutine: LuaJIT's C interface behind small methods.
//!
//! All other files of the crate work on values of the engine through [`Stack`]. ARCHITECTURE.md lists
//! the few that use the C interface themselves, each with its reason.
#![allow(unsafe_code)]

use super::source_map::EngineFrame;
use bytes::Bytes;
use mlua::ffi::{self, lua_State};
use std::any::Any;
use std::cell::Cell;
use std::ffi::{CStr, CString};
use std::marker::PhantomData;
use std::os::raw::{c_char, c_int, c_void};
use std::rc::Rc;

/// The stack of one coroutine, while its engine is borrowed.
///
/// Its methods rely on these facts:
/// - The state is alive for `'s`, and one thread uses it ([`Stack::from_raw`]).
/// - An index names a value, and `table` a table: callers check the kind of what a program made.
///   Debug builds assert it.
/// - Methods that allocate never raise the memory error ([`crate::engine::memory`]).
///
/// Bytes of a text never leave the stack by reference, since the collector may free a text that was
/// popped: [`Stack::text`] copies, [`Stack::with_bytes`] lends them to a closure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stack<'s> {
    state: *mut lua_State,
    engine: PhantomData<&'s lua_State>,
}

/// The kinds of values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Type {
    Nil,
    Boolean,
    Number,
    Text,
    Table,
    Function,
    Userdata,
    Other,
}

/// Steps of the engine in one of ours: each looks at 2 KB.
const COLLECT_STEPS: u32 = 16;
/// No cycle takes more steps of ours than this and one for each so many bytes in use: a quarter of
/// what they look at, for one that began in the midst of another.
const MOST_STEPS: usize = 64;
const LEAST_PER_STEP: usize = 8 << 10;

const NATIVE: *const c_void = &raw const MARK as *const c_void;
const ANSWER: *const c_void = (&raw const MARK as *const c_void).wrapping_byte_add(1);
static MARK: [u8; 2] = [0; 2];

thread_local! {
    /// Where the metatable of native values of this thread's isolate lies, for telling them apart.
    static NATIVE_METATABLE: Cell<*const c_void> = const { Cell::new(std::ptr::null()) };
    static CYCLE: Cell<Cycle> = const { Cell::new(Cycle::Ended) };
    /// Steps since the cycle began.
    static STEPS: Cell<usize> = const { Cell::new(0) };
}

/// Whether the collection that [`Stack::collect_step`] drives has ended.
#[derive(Clone, Copy, PartialEq)]
enum Cycle {
    Begun,
    Ended,
}

/// A value that is collected at the end of a cycle.
struct EndOfCycle;

impl Drop for EndOfCycle {
    fn drop(&mut self) {
        CYCLE.set(Cycle::Ended);
    }
}

// SAFETY: the signature is that of LuaJIT's lj_api.c.
unsafe extern "C-unwind" {
    /// Exported by LuaJIT, not declared by mlua for it.
    fn lua_isyieldable(state: *mut lua_State) -> c_int;
}

/// A reference to a Lua value, kept in the engine's registry.
pub(crate) type Slot = i32;

// SAFETY (whole impl): see the type.
impl<'s> Stack<'s> {
    /// The stack of a state.
    ///
    /// # Safety
    /// The state is alive for `'s`, and belongs to the calling thread's engine.
    // SAFETY: as above; nothing is read here.
    pub(crate) unsafe fn from_raw(state: *mut lua_State) -> Stack<'s> {
        Stack { state, engine: PhantomData }
    }

    /// The state, for calls of the C interface.
    pub(crate) fn state(self) -> *mut lua_State {
        self.state
    }

    pub(crate) fn top(self) -> c_int {
        unsafe { ffi::lua_gettop(self.state) }
    }

    pub(crate) fn set_top(self, top: c_int) {
        unsafe { ffi::lua_settop(self.state, top) }
    }

    /// One small step of a collection, which begins where none is under way. Answers whether a cycle
    /// has ended.
    ///
    /// `LUA_GCSTEP` would go on until all that was allocated beyond the threshold is made up for: a
    /// tenth of a second after a text of 16 MB. So the threshold is set to what is used now, and an
    /// allocation takes one step of the engine's own. A value that nothing reaches tells by its end
    /// that the cycle is over; should its finalizer be lost, for want of memory, the number of steps
    /// does.
    pub(crate) fn collect_step(self) -> bool {
        if CYCLE.get() != Cycle::Begun {
            CYCLE.set(Cycle::Begun);
            STEPS.set(0);
            self.push_native(Rc::new(EndOfCycle));
            self.pop(1);
        }
        STEPS.set(STEPS.get() + 1);
        if STEPS.get() > MOST_STEPS + crate::engine::memory::used() / LEAST_PER_STEP {
            CYCLE.set(Cycle::Ended);
            return true;
        }
        for _ in 0..COLLECT_STEPS {
            unsafe { ffi::lua_gc(self.state, ffi::LUA_GCRESTART, 0) };
            self.push_bytes(b"_n");
            self.pop(1);
            if CYCLE.get() == Cycle::Ended {
                return true;
            }
        }
        false
    }

    /// How far the heap may grow before the next collection begins, in percent of what is alive.
    pub(crate) fn set_heap_growth(self, percent: c_int) {
        unsafe { ffi::lua_gc(self.state, ffi::LUA_GCSETPAUSE, percent) };
    }

    pub(crate) fn pop(self, count: c_int) {
        unsafe { ffi::lua_settop(self.state, -count - 1) }
    }

    /// Makes room; `false` when the stack is at its limit.
    pub(crate) fn reserve(self, count: c_int) -> bool {
        unsafe { ffi::lua_checkstack(self.state, count) != 0 }
    }

    /// Whether the code that runs on this stack can wait: no call of C lies in between.
    pub(crate) fn can_yield(self) -> bool {
        unsafe { lua_isyieldable(self.state) != 0 }
    }

    /// Whether what is asked for with this stack can be answered later: by code that can wait, or
    /// where no code runs.
    pub(crate) fn can_wait(self) -> bool {
        // SAFETY: the record is written before it is read, and only when there is a level.
        let runs = unsafe { ffi::lua_getstack(self.state, 0, &mut std::mem::zeroed()) != 0 };
        self.can_yield() || !runs
    }

    /// Calls with the frames of the program, innermost function first, until there is an answer: of functions whose
    /// source begins with `@`, which the kernel's own do not. The main function of a chunk only calls others.
    pub(crate) fn program_frames<T>(
        self,
        depth: c_int,
        mut found: impl FnMut(EngineFrame) -> Option<T>,
    ) -> Option<T> {
        for level in 1..depth {
            // SAFETY: the record is written before it is read: only when there is such a level, and then by the
            // engine, whose text ends with a NUL.
            let (source, line, is_main) = unsafe {
                let mut frame: ffi::lua_Debug = std::mem::zeroed();
                if ffi::lua_getstack(self.state, level, &mut frame) == 0
                    || ffi::lua_getinfo(self.state, c"Sl".as_ptr(), &mut frame) == 0
                {
                    return None;
                }
                let source = CStr::from_ptr(frame.source).to_bytes();
                (source, frame.currentline, *frame.what == b'm' as c_char)
            };
            if let (Some(source), Ok(line @ 1..), false) =
                (source.strip_prefix(b"@"), u32::try_from(line), is_main)
                && let Some(answer) = found(EngineFrame::new(source, line))
            {
                return Some(answer);
            }
        }
        None
    }

    /// Removes a value; those above it move down.
    pub(crate) fn remove(self, index: c_int) {
        unsafe { ffi::lua_remove(self.state, index) }
    }

    /// Moves the value on top to an index, in the place of what lies there.
    pub(crate) fn replace(self, index: c_int) {
        unsafe { ffi::lua_replace(self.state, index) }
    }

    /// Pushes a new coroutine; answers its state.
    pub(crate) fn new_thread(self) -> *mut lua_State {
        unsafe { ffi::lua_newthread(self.state) }
    }

    pub(crate) fn absolute(self, index: c_int) -> c_int {
        if index < 0 && index > ffi::LUA_REGISTRYINDEX { self.top() + index + 1 } else { index }
    }

    pub(crate) fn kind(self, index: c_int) -> Type {
        match unsafe { ffi::lua_type(self.state, index) } {
            ffi::LUA_TNIL | ffi::LUA_TNONE => Type::Nil,
            ffi::LUA_TBOOLEAN => Type::Boolean,
            ffi::LUA_TNUMBER => Type::Number,
            ffi::LUA_TSTRING => Type::Text,
            ffi::LUA_TTABLE => Type::Table,
            ffi::LUA_TFUNCTION => Type::Function,
            ffi::LUA_TUSERDATA => Type::Userdata,
            _ => Type::Other,
        }
    }

    pub(crate) fn boolean(self, index: c_int) -> bool {
        unsafe { ffi::lua_toboolean(self.state, index) != 0 }
    }

    pub(crate) fn number(self, index: c_int) -> f64 {
        unsafe { ffi::lua_tonumber(self.state, index) }
    }

    /// The bytes of a text; none for other kinds: numbers are not converted, for that would change
    /// them in place.
    ///
    /// # Safety
    /// The value stays where it is for `'b`.
    // SAFETY: as above; LuaJIT does not move the bytes of a text.
    pub(crate) unsafe fn bytes<'b>(self, index: c_int) -> &'b [u8] {
        if self.kind(index) != Type::Text {
            return &[];
        }
        let mut length = 0;
        unsafe {
            let start = ffi::lua_tolstring(self.state, index, &mut length);
            std::slice::from_raw_parts(start.cast(), length)
        }
    }

    /// Lends the bytes of a text to a closure, which leaves the value where it is; none for other
    /// kinds.
    pub(crate) fn with_bytes<T>(self, index: c_int, read: impl FnOnce(&[u8]) -> T) -> T {
        // SAFETY: the bytes do not outlive the closure.
        read(unsafe { self.bytes(index) })
    }

    /// The same of what is known to be a text.
    pub(crate) fn with_text<T>(self, index: c_int, read: impl FnOnce(&[u8]) -> T) -> T {
        debug_assert_eq!(self.kind(index), Type::Text, "a text is expected at {index}");
        let mut length = 0;
        // SAFETY: the bytes do not outlive the closure; of a text the engine answers a pointer.
        read(unsafe {
            let start = ffi::lua_tolstring(self.state, index, &mut length);
            std::slice::from_raw_parts(start.cast(), length)
        })
    }

    /// A copy of the bytes of a text; none for other kinds.
    pub(crate) fn copied_bytes(self, index: c_int) -> Bytes {
        self.with_bytes(index, Bytes::copy_from_slice)
    }

    /// A copy of a text; empty for other kinds. What is not UTF-8 in it is replaced.
    pub(crate) fn text(self, index: c_int) -> String {
        self.with_bytes(index, |bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// Debug builds check that an index names a table.
    fn check_table(self, index: c_int) {
        debug_assert_eq!(self.kind(index), Type::Table, "a table is expected at {index}");
    }

    pub(crate) fn push_nil(self) {
        unsafe { ffi::lua_pushnil(self.state) }
    }

    pub(crate) fn push_boolean(self, value: bool) {
        unsafe { ffi::lua_pushboolean(self.state, value.into()) }
    }

    pub(crate) fn push_number(self, value: f64) {
        unsafe { ffi::lua_pushnumber(self.state, value) }
    }

    pub(crate) fn push_bytes(self, bytes: &[u8]) {
        unsafe { ffi::lua_pushlstring(self.state, bytes.as_ptr().cast(), bytes.len()) };
    }

    pub(crate) fn push_copy(self, index: c_int) {
        unsafe { ffi::lua_pushvalue(self.state, index) }
    }

    pub(crate) fn new_table(self, elements: usize, fields: usize) {
        let bounded = |count: usize| c_int::try_from(count).unwrap_or(c_int::MAX);
        unsafe { ffi::lua_createtable(self.state, bounded(elements), bounded(fields)) }
    }

    /// `table[position] = value on top`, which is popped.
    pub(crate) fn set_element(self, table: c_int, position: usize) {
        self.check_table(table);
        unsafe { ffi::lua_rawseti(self.state, table, position as ffi::lua_Integer) }
    }

    /// Pushes `table[position]`.
    pub(crate) fn get_element(self, table: c_int, position: usize) {
        self.check_table(table);
        unsafe { ffi::lua_rawgeti_(self.state, table, position as c_int) };
    }

    /// `table[key below top] = value on top`; both are popped.
    pub(crate) fn set_raw(self, table: c_int) {
        self.check_table(table);
        unsafe { ffi::lua_rawset(self.state, table) }
    }

    /// Replaces the key on top by `table[key]`, without metamethods.
    pub(crate) fn get_raw(self, table: c_int) {
        self.check_table(table);
        unsafe { ffi::lua_rawget_(self.state, table) };
    }

    /// Pushes a field by its name, without metamethods.
    pub(crate) fn field(self, table: c_int, name: &str) {
        let table = self.absolute(table);
        self.push_bytes(name.as_bytes());
        self.get_raw(table);
    }

    /// `table.name = value on top`, which is popped; without metamethods.
    pub(crate) fn set_field(self, table: c_int, name: &str) {
        let table = self.absolute(table);
        self.push_bytes(name.as_bytes());
        unsafe { ffi::lua_insert(self.state, -2) };
        self.set_raw(table);
    }

    pub(crate) fn length(self, index: c_int) -> usize {
        unsafe { ffi::lua_objlen(self.state, index) }
    }

    /// The next key and value of a table after the key on top, which is popped.
    pub(crate) fn next(self, table: c_int) -> bool {
        self.check_table(table);
        unsafe { ffi::lua_next(self.state, table) != 0 }
    }

    /// Pushes the metatable, if there is one.
    pub(crate) fn metatable(self, index: c_int) -> bool {
        unsafe { ffi::lua_getmetatable(self.state, index) != 0 }
    }

    /// Gives the value at the index the metatable on top, which is popped.
    pub(crate) fn set_metatable(self, index: c_int) {
        unsafe { ffi::lua_setmetatable(self.state, index) };
    }

    /// The address of a table, for telling cycles.
    pub(crate) fn address(self, index: c_int) -> *const c_void {
        unsafe { ffi::lua_topointer(self.state, index) }
    }

    // References -----------------------------------------------------------------------------

    /// Sets up the metatable of native values.
    pub(crate) fn prepare(self) {
        unsafe {
            ffi::lua_pushlightuserdata(self.state, NATIVE.cast_mut());
            self.new_table(0, 2);
            ffi::lua_pushcfunction(self.state, collect_native);
            self.set_field(-2, "__gc");
            self.push_bytes(b"native");
            self.set_field(-2, "__metatable");
            NATIVE_METATABLE.set(self.address(-1));
            self.set_raw(ffi::LUA_REGISTRYINDEX);
        }
    }

    /// Keeps the value on top, which is popped.
    pub(crate) fn keep(self) -> Slot {
        unsafe { ffi::luaL_ref(self.state, ffi::LUA_REGISTRYINDEX) }
    }

    /// Pushes a kept value.
    pub(crate) fn push_kept(self, slot: Slot) {
        unsafe { ffi::lua_rawgeti_(self.state, ffi::LUA_REGISTRYINDEX, slot) };
    }

    /// Lets a kept value go.
    pub(crate) fn release(self, slot: Slot) {
        if self.reserve(4) {
            unsafe { ffi::luaL_unref(self.state, ffi::LUA_REGISTRYINDEX, slot) };
        }
    }

    // Native values --------------------------------------------------------------------------

    /// Pushes a value of Rust; it is dropped when Lua no longer reaches it.
    pub(crate) fn push_native(self, value: Rc<dyn Any>) {
        unsafe {
            let place = ffi::lua_newuserdata(self.state, size_of::<Rc<dyn Any>>());
            place.cast::<Rc<dyn Any>>().write(value);
            ffi::lua_pushlightuserdata(self.state, NATIVE.cast_mut());
            self.get_raw(ffi::LUA_REGISTRYINDEX);
            self.set_metatable(-2);
        }
    }

    /// A value that stands for the answer of the fiber that runs, which the isolate holds.
    pub(crate) fn push_answer(self) {
        unsafe { ffi::lua_pushlightuserdata(self.state, ANSWER.cast_mut()) };
    }

    pub(crate) fn is_answer(self, index: c_int) -> bool {
        unsafe {
            ffi::lua_type(self.state, index) == ffi::LUA_TLIGHTUSERDATA
                && ffi::lua_touserdata(self.state, index).cast_const() == ANSWER
        }
    }

    /// The value of Rust at an index, if it is one.
    pub(crate) fn native(self, index: c_int) -> Option<Rc<dyn Any>> {
        if self.kind(index) != Type::Userdata || !self.metatable(index) {
            return None;
        }
        let metatable = self.address(-1);
        self.pop(1);
        if metatable != NATIVE_METATABLE.get() {
            return None;
        }
        // SAFETY: only `push_native` gives that metatable, and it writes the value first.
        unsafe {
            let place = ffi::lua_touserdata(self.state, index).cast::<Rc<dyn Any>>();
            Some((*place).clone())
        }
    }

    /// Pushes a C function with a number as its upvalue.
    pub(crate) fn push_function(self, function: ffi::lua_CFunction, number: usize) {
        unsafe {
            ffi::lua_pushnumber(self.state, number as f64);
            ffi::lua_pushcclosure(self.state, function, 1);
        }
    }

    /// The number that `push_function` gave, inside that function.
    pub(crate) fn upvalue_number(self) -> usize {
        self.number(ffi::lua_upvalueindex(1)) as usize
    }

    /// Calls what lies below the arguments; `false` leaves the error on the stack.
    pub(crate) fn protected_call(self, arguments: c_int, results: c_int) -> bool {
        let mode = crate::engine::memory::enter_engine();
        let status = unsafe { ffi::lua_pcall(self.state, arguments, results, 0) };
        crate::engine::memory::leave(mode);
        status == ffi::LUA_OK
    }

    /// Pushes the function of a Lua source text.
    ///
    /// # Errors
    /// The engine's message about the source.
    pub(crate) fn load(self, lua: &str, name: &str) -> Result<(), String> {
        let name = CString::new(format!("@{}", name.replace('\0', "?"))).unwrap_or_default();
        // SAFETY: the text and the name live during the call; mode "t" refuses bytecode.
        let status = unsafe {
            let (text, length) = (lua.as_ptr().cast(), lua.len());
            ffi::luaL_loadbufferx(self.state, text, length, name.as_ptr(), c"t".as_ptr())
        };
        if status == ffi::LUA_OK {
            return Ok(());
        }
        let message = self.text(-1);
        self.pop(1);
        Err(message)
    }

    /// Moves values from the top of this stack to another of the same isolate.
    pub(crate) fn move_to(self, other: Stack<'_>, count: c_int) {
        unsafe { ffi::lua_xmove(self.state, other.state, count) }
    }
}

/// Drops a value of Rust that Lua no longer reaches.
unsafe extern "C-unwind" fn collect_native(state: *mut lua_State) -> c_int {
    let mode = crate::engine::memory::enter_native();
    // SAFETY: called by the collector once for each value that `push_native` wrote.
    unsafe {
        let place = ffi::lua_touserdata(state, 1).cast::<Rc<dyn Any>>();
        if !place.is_null() {
            place.drop_in_place();
        }
    }
    crate::engine::memory::leave(mode);
    0
}
