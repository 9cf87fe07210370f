//! The raw interface of the engine, behind small methods. With `fiber` and `watchdog` the only
//! place of this crate with `unsafe`.
#![allow(unsafe_code)]

use mlua::ffi::{self, lua_State};
use std::any::Any;
use std::cell::Cell;
use std::ffi::CString;
use std::os::raw::{c_int, c_void};
use std::rc::Rc;

/// The stack of one coroutine of an isolate.
///
/// Every method relies on the same two facts, which the isolate keeps: the state is alive (the
/// isolate outlives its fibers and objects), and it is used on the isolate's own thread only.
/// Methods that allocate never raise the memory error ([`crate::engine::memory`]).
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Stack(pub(crate) *mut lua_State);

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

const NATIVE: *const c_void = &raw const MARK as *const c_void;
const ANSWER: *const c_void = (&raw const MARK as *const c_void).wrapping_byte_add(1);
static MARK: [u8; 2] = [0; 2];

thread_local! {
    /// Where the metatable of native values of this thread's isolate lies, for telling them apart.
    static NATIVE_METATABLE: Cell<*const c_void> = const { Cell::new(std::ptr::null()) };
    static CYCLE: Cell<Cycle> = const { Cell::new(Cycle::Ended) };
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

// SAFETY (whole impl): see the type. Indices are checked by the callers against `top`.
impl Stack {
    pub(crate) fn top(self) -> c_int {
        unsafe { ffi::lua_gettop(self.0) }
    }

    pub(crate) fn set_top(self, top: c_int) {
        unsafe { ffi::lua_settop(self.0, top) }
    }

    /// One small step of a collection, which begins where none is under way. Answers whether a cycle
    /// has ended.
    ///
    /// `LUA_GCSTEP` would go on until all that was allocated beyond the threshold is made up for: a
    /// tenth of a second after a text of 16 MB. So the threshold is set to what is used now, and an
    /// allocation takes one step of the engine's own. A value that nothing reaches tells by its end
    /// that the cycle is over.
    pub(crate) fn collect_step(self) -> bool {
        if CYCLE.get() != Cycle::Begun {
            CYCLE.set(Cycle::Begun);
            self.push_native(Rc::new(EndOfCycle));
            self.pop(1);
        }
        for _ in 0..COLLECT_STEPS {
            unsafe { ffi::lua_gc(self.0, ffi::LUA_GCRESTART, 0) };
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
        unsafe { ffi::lua_gc(self.0, ffi::LUA_GCSETPAUSE, percent) };
    }

    pub(crate) fn pop(self, count: c_int) {
        unsafe { ffi::lua_settop(self.0, -count - 1) }
    }

    /// Makes room; `false` when the stack is at its limit.
    pub(crate) fn reserve(self, count: c_int) -> bool {
        unsafe { ffi::lua_checkstack(self.0, count) != 0 }
    }

    /// Whether the code that runs on this stack can wait: no call of C lies in between.
    pub(crate) fn can_yield(self) -> bool {
        unsafe { lua_isyieldable(self.0) != 0 }
    }

    /// Whether what is asked for with this stack can be answered later: by code that can wait, or
    /// where no code runs.
    pub(crate) fn can_wait(self) -> bool {
        // SAFETY: the record is written before it is read, and only when there is a level.
        let runs = unsafe { ffi::lua_getstack(self.0, 0, &mut std::mem::zeroed()) != 0 };
        self.can_yield() || !runs
    }

    /// Removes a value; those above it move down.
    pub(crate) fn remove(self, index: c_int) {
        unsafe { ffi::lua_remove(self.0, index) }
    }

    /// Moves the value on top to an index, in the place of what lies there.
    pub(crate) fn replace(self, index: c_int) {
        unsafe { ffi::lua_replace(self.0, index) }
    }

    /// Pushes a new coroutine; answers its stack.
    pub(crate) fn new_thread(self) -> Stack {
        Stack(unsafe { ffi::lua_newthread(self.0) })
    }

    pub(crate) fn absolute(self, index: c_int) -> c_int {
        if index < 0 && index > ffi::LUA_REGISTRYINDEX { self.top() + index + 1 } else { index }
    }

    pub(crate) fn kind(self, index: c_int) -> Type {
        match unsafe { ffi::lua_type(self.0, index) } {
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
        unsafe { ffi::lua_toboolean(self.0, index) != 0 }
    }

    pub(crate) fn number(self, index: c_int) -> f64 {
        unsafe { ffi::lua_tonumber(self.0, index) }
    }

    /// The bytes of a text, as long as the value stays on the stack. Empty for other kinds:
    /// numbers are not converted, for that would change them in place.
    pub(crate) fn bytes<'a>(self, index: c_int) -> &'a [u8] {
        if self.kind(index) != Type::Text {
            return &[];
        }
        let mut length = 0;
        unsafe {
            let start = ffi::lua_tolstring(self.0, index, &mut length);
            std::slice::from_raw_parts(start.cast(), length)
        }
    }

    pub(crate) fn push_nil(self) {
        unsafe { ffi::lua_pushnil(self.0) }
    }

    pub(crate) fn push_boolean(self, value: bool) {
        unsafe { ffi::lua_pushboolean(self.0, value.into()) }
    }

    pub(crate) fn push_number(self, value: f64) {
        unsafe { ffi::lua_pushnumber(self.0, value) }
    }

    pub(crate) fn push_bytes(self, bytes: &[u8]) {
        unsafe { ffi::lua_pushlstring(self.0, bytes.as_ptr().cast(), bytes.len()) };
    }

    pub(crate) fn push_copy(self, index: c_int) {
        unsafe { ffi::lua_pushvalue(self.0, index) }
    }

    pub(crate) fn new_table(self, elements: usize, fields: usize) {
        let bounded = |count: usize| c_int::try_from(count).unwrap_or(c_int::MAX);
        unsafe { ffi::lua_createtable(self.0, bounded(elements), bounded(fields)) }
    }

    /// `table[position] = value on top`, which is popped.
    pub(crate) fn set_element(self, table: c_int, position: usize) {
        unsafe { ffi::lua_rawseti(self.0, table, position as ffi::lua_Integer) }
    }

    /// Pushes `table[position]`.
    pub(crate) fn get_element(self, table: c_int, position: usize) {
        unsafe { ffi::lua_rawgeti_(self.0, table, position as c_int) };
    }

    /// `table[key below top] = value on top`; both are popped.
    pub(crate) fn set_raw(self, table: c_int) {
        unsafe { ffi::lua_rawset(self.0, table) }
    }

    /// Replaces the key on top by `table[key]`, without metamethods.
    pub(crate) fn get_raw(self, table: c_int) {
        unsafe { ffi::lua_rawget_(self.0, table) };
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
        unsafe { ffi::lua_insert(self.0, -2) };
        self.set_raw(table);
    }

    pub(crate) fn length(self, index: c_int) -> usize {
        unsafe { ffi::lua_objlen(self.0, index) }
    }

    /// The next key and value of a table after the key on top, which is popped.
    pub(crate) fn next(self, table: c_int) -> bool {
        unsafe { ffi::lua_next(self.0, table) != 0 }
    }

    /// Pushes the metatable, if there is one.
    pub(crate) fn metatable(self, index: c_int) -> bool {
        unsafe { ffi::lua_getmetatable(self.0, index) != 0 }
    }

    /// Gives the value at the index the metatable on top, which is popped.
    pub(crate) fn set_metatable(self, index: c_int) {
        unsafe { ffi::lua_setmetatable(self.0, index) };
    }

    /// The address of a table, for telling cycles.
    pub(crate) fn address(self, index: c_int) -> *const c_void {
        unsafe { ffi::lua_topointer(self.0, index) }
    }

    // References -----------------------------------------------------------------------------

    /// Sets up the metatable of native values.
    pub(crate) fn prepare(self) {
        unsafe {
            ffi::lua_pushlightuserdata(self.0, NATIVE.cast_mut());
            self.new_table(0, 2);
            ffi::lua_pushcfunction(self.0, collect_native);
            self.set_field(-2, "__gc");
            self.push_bytes(b"native");
            self.set_field(-2, "__metatable");
            NATIVE_METATABLE.set(self.address(-1));
            self.set_raw(ffi::LUA_REGISTRYINDEX);
        }
    }

    /// Keeps the value on top, which is popped.
    pub(crate) fn keep(self) -> Slot {
        unsafe { ffi::luaL_ref(self.0, ffi::LUA_REGISTRYINDEX) }
    }

    /// Pushes a kept value.
    pub(crate) fn push_kept(self, slot: Slot) {
        unsafe { ffi::lua_rawgeti_(self.0, ffi::LUA_REGISTRYINDEX, slot) };
    }

    /// Lets a kept value go.
    pub(crate) fn release(self, slot: Slot) {
        if self.reserve(4) {
            unsafe { ffi::luaL_unref(self.0, ffi::LUA_REGISTRYINDEX, slot) };
        }
    }

    // Native values --------------------------------------------------------------------------

    /// Pushes a value of Rust; it is dropped when Lua no longer reaches it.
    pub(crate) fn push_native(self, value: Rc<dyn Any>) {
        unsafe {
            let place = ffi::lua_newuserdata(self.0, size_of::<Rc<dyn Any>>());
            place.cast::<Rc<dyn Any>>().write(value);
            ffi::lua_pushlightuserdata(self.0, NATIVE.cast_mut());
            self.get_raw(ffi::LUA_REGISTRYINDEX);
            self.set_metatable(-2);
        }
    }

    /// A value that stands for the answer of the fiber that runs, which the isolate holds.
    pub(crate) fn push_answer(self) {
        unsafe { ffi::lua_pushlightuserdata(self.0, ANSWER.cast_mut()) };
    }

    pub(crate) fn is_answer(self, index: c_int) -> bool {
        unsafe {
            ffi::lua_type(self.0, index) == ffi::LUA_TLIGHTUSERDATA
                && ffi::lua_touserdata(self.0, index).cast_const() == ANSWER
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
            let place = ffi::lua_touserdata(self.0, index).cast::<Rc<dyn Any>>();
            Some((*place).clone())
        }
    }

    /// Pushes a C function with a number as its upvalue.
    pub(crate) fn push_function(self, function: ffi::lua_CFunction, number: usize) {
        unsafe {
            ffi::lua_pushnumber(self.0, number as f64);
            ffi::lua_pushcclosure(self.0, function, 1);
        }
    }

    /// The number that `push_function` gave, inside that function.
    pub(crate) fn upvalue_number(self) -> usize {
        self.number(ffi::lua_upvalueindex(1)) as usize
    }

    /// Calls what lies below the arguments; `false` leaves the error on the stack.
    pub(crate) fn protected_call(self, arguments: c_int, results: c_int) -> bool {
        let mode = crate::engine::memory::enter_engine();
        let status = unsafe { ffi::lua_pcall(self.0, arguments, results, 0) };
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
            ffi::luaL_loadbufferx(self.0, text, length, name.as_ptr(), c"t".as_ptr())
        };
        if status == ffi::LUA_OK {
            return Ok(());
        }
        let message = String::from_utf8_lossy(self.bytes(-1)).into_owned();
        self.pop(1);
        Err(message)
    }

    /// Moves values from the top of this stack to another of the same isolate.
    pub(crate) fn move_to(self, other: Stack, count: c_int) {
        unsafe { ffi::lua_xmove(self.0, other.0, count) }
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
