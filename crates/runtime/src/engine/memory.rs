//! The memory limit of an engine: out of memory is an error of the program and never an abort.
//!
//! LuaJIT reports a refused allocation by an exception, which must not cross a frame of Rust. So
//! the allocator refuses only while the engine runs code of its own, under a protected call. While
//! Rust works on the engine's stacks every allocation succeeds, and the result is checked after.
//!
//! There are two limits. Beyond the first, the program's own, the fiber that allocates is stopped
//! at its next instruction and continues after a collection ([`crate::engine::collector`]), or with an
//! error if that has freed too little. The second, a quarter higher, is what the allocator refuses.
//!
//! What is freed of large blocks leaves the process at once. The global allocator keeps freed blocks for a
//! while, and a text that grows frees one of each size: a program limited to 256 MiB took 880.
#![allow(unsafe_code)]

use mlua::ffi::{self, lua_State};
use std::alloc::{Layout, alloc, dealloc, realloc};
use std::cell::Cell;
use std::os::raw::c_void;
use std::ptr;

/// The allocator may go beyond the limit by this part of it, so that an error can be handled.
const RESERVE: usize = 4;
/// After an error the program may use this part of the limit more before the next.
const HANDLING: usize = 16;
/// Allocations up to this many bytes may take a part of the limit more, as large as that for
/// handling: the collector calls finalizers in the midst of the engine's code, and one whose stack
/// cannot grow is lost, with what its value holds.
const SMALL: usize = 64 << 10;
/// Bytes beyond the limit after which the allocating fiber is stopped again.
const ALARM_STEP: usize = 4 << 20;
/// Blocks from this many bytes are given back to the system when they are freed.
const RELEASED: usize = 4 << 20;
/// A large block that grows is copied in pieces of this many bytes, each of which is given back at once: the
/// block is never in memory twice.
const MOVED: usize = 1 << 20;
/// At least the size of a page of memory.
const PAGE: usize = 64 << 10;
/// The alignment of every allocation, as the engine expects.
const ALIGN: usize = 16;
/// The text of the engine's own memory error, by which Lua and Rust recognize it.
pub(crate) const MESSAGE: &[u8] = b"not enough memory";
/// The message of the error that the program gets for it.
pub(crate) const EXPLANATION: &str = "the program used up the memory it may have";

/// The accounts of one engine. Its allocator has the address.
struct Heap {
    used: usize,
    /// The program's limit.
    limit: usize,
    /// What the allocator refuses.
    most: usize,
    /// Use beyond which the hook is armed.
    alarm: usize,
    /// Stops the fiber that runs, at its next instruction.
    stop: fn(),
    /// Whether an allocation may be refused: no frame of Rust lies above the protected call.
    refuses: bool,
}

thread_local! {
    static HEAP: Cell<*mut Heap> = const { Cell::new(ptr::null_mut()) };
}

/// The accounts of this thread's engine.
fn heap<T>(read: impl FnOnce(&mut Heap) -> T) -> Option<T> {
    let heap = HEAP.get();
    // SAFETY: the engine's `Accounts` own it and clear the pointer before; one thread uses it, and
    // no reference outlives a call.
    (!heap.is_null()).then(|| read(unsafe { &mut *heap }))
}

/// Owns the accounts of an engine; drop it before the engine is closed.
pub(crate) struct Accounts {
    heap: *mut Heap,
    state: *mut lua_State,
    /// The allocator of the engine before.
    outer: (ffi::lua_Alloc, *mut c_void),
}

impl Accounts {
    /// Counts what the engine of this thread allocates from now on, with `used` bytes already in
    /// use, and limits it. `stop` stops the fiber that runs.
    pub(crate) fn open(state: *mut lua_State, used: usize, limit: usize, stop: fn()) -> Accounts {
        let most = limit.saturating_add(limit / RESERVE);
        let accounts = Heap { used, limit, most, alarm: limit, stop, refuses: false };
        let heap = Box::into_raw(Box::new(accounts));
        HEAP.set(heap);
        // SAFETY: the engine is alive and idle. Both allocators use the global one with the same
        // layouts, so that either frees what the other allocated.
        unsafe {
            let mut context = ptr::null_mut();
            let outer = ffi::lua_getallocf(state, &mut context);
            ffi::lua_setallocf(state, allocate, heap.cast());
            Accounts { heap, state, outer: (outer, context) }
        }
    }
}

impl Drop for Accounts {
    fn drop(&mut self) {
        if HEAP.get() == self.heap {
            HEAP.set(ptr::null_mut());
        }
        runnel_store::collected(runnel_store::garbage());
        // SAFETY: the engine is still alive, and its own allocator frees the rest.
        unsafe {
            ffi::lua_setallocf(self.state, self.outer.0, self.outer.1);
            drop(Box::from_raw(self.heap));
        }
    }
}

/// The allocator of the engine (`lua_Alloc`).
// SAFETY: the signature and its contract are those of Lua 5.1; `accounts` is the `Heap` that
// `Accounts::open` passed with it.
unsafe extern "C" fn allocate(
    accounts: *mut c_void,
    block: *mut c_void,
    old: usize,
    new: usize,
) -> *mut c_void {
    // SAFETY: see above; `old` is the size with which the block was allocated.
    unsafe {
        let heap = &mut *accounts.cast::<Heap>();
        let old_layout = Layout::from_size_align_unchecked(old, ALIGN);
        if new == 0 {
            if !block.is_null() {
                heap.used = heap.used.wrapping_sub(old);
                if old >= RELEASED {
                    release_pages(block.cast(), old);
                }
                dealloc(block.cast(), old_layout);
            }
            return ptr::null_mut();
        }
        let old = if block.is_null() { 0 } else { old };
        let used = heap.used.wrapping_sub(old).wrapping_add(new);
        if used > heap.alarm && new > old && !heap.admits(used, new) {
            return ptr::null_mut();
        }
        let Ok(layout) = Layout::from_size_align(new, ALIGN) else { return ptr::null_mut() };
        let given = match block.is_null() {
            true => alloc(layout),
            false if old >= RELEASED => move_block(block.cast(), old_layout, layout),
            false => realloc(block.cast(), old_layout, new),
        };
        if given.is_null() {
            if !heap.refuses {
                std::alloc::handle_alloc_error(layout);
            }
            return ptr::null_mut();
        }
        heap.used = used;
        given.cast()
    }
}

/// Gives the whole pages of a part of a block back to the system. Their content is lost.
///
/// # Safety
/// The bytes belong to one live allocation, and are written again before they are read.
unsafe fn release_pages(part: *mut u8, size: usize) {
    let skipped = part.align_offset(PAGE);
    let whole = size.saturating_sub(skipped) / PAGE * PAGE;
    if whole > 0 {
        // SAFETY: the caller's promise. A refusal changes nothing but the memory in use.
        unsafe { libc::madvise(part.add(skipped).cast(), whole, libc::MADV_DONTNEED) };
    }
}

/// Reallocates a large block. Null where there is no memory, with the block as it was.
///
/// # Safety
/// As for [`realloc`]: the block was allocated with its layout.
#[cold]
unsafe fn move_block(block: *mut u8, old: Layout, new: Layout) -> *mut u8 {
    // SAFETY: both blocks have their sizes, and are not the same one.
    unsafe {
        let given = alloc(new);
        if given.is_null() {
            return given;
        }
        let kept = old.size().min(new.size());
        for start in (0..kept).step_by(MOVED) {
            let size = MOVED.min(kept - start);
            ptr::copy_nonoverlapping(block.add(start), given.add(start), size);
            release_pages(block.add(start), size);
        }
        release_pages(block.add(kept), old.size() - kept);
        dealloc(block, old);
        given
    }
}

impl Heap {
    /// An allocation beyond the alarm.
    #[cold]
    fn admits(&mut self, used: usize, new: usize) -> bool {
        let most = match new {
            0..=SMALL => self.most.saturating_add(self.limit / HANDLING),
            _ => self.most,
        };
        if self.refuses && used > most {
            return false;
        }
        self.alarm = used.saturating_add(ALARM_STEP);
        (self.stop)();
        true
    }
}

/// The mode before [`enter_engine`] or [`enter_native`].
#[derive(Clone, Copy)]
#[must_use]
pub(crate) struct AllocationMode(bool);

/// The engine runs code of its own from here, under protection: allocations may be refused.
pub(crate) fn enter_engine() -> AllocationMode {
    AllocationMode(heap(|heap| std::mem::replace(&mut heap.refuses, true)).unwrap_or_default())
}

/// Rust works on the engine's stacks from here: no allocation is refused.
pub(crate) fn enter_native() -> AllocationMode {
    AllocationMode(heap(|heap| std::mem::replace(&mut heap.refuses, false)).unwrap_or_default())
}

/// Restores the mode before [`enter_engine`] or [`enter_native`].
pub(crate) fn leave(mode: AllocationMode) {
    heap(|heap| heap.refuses = mode.0);
}

/// Bytes that the objects of this thread's engine take.
pub(crate) fn used() -> usize {
    heap(|heap| heap.used).unwrap_or_default()
}

/// The program's limit, in bytes.
pub(crate) fn limit() -> usize {
    heap(|heap| heap.limit).unwrap_or(usize::MAX)
}

/// Whether the program is over its limit.
pub(crate) fn is_over() -> bool {
    heap(|heap| heap.used > heap.limit).unwrap_or_default()
}

/// Whether even the reserve beyond the limit is used up: native work that builds many objects asks
/// between two of them, and stops.
pub(crate) fn is_exceeded() -> bool {
    heap(|heap| heap.used > heap.most).unwrap_or_default()
}

/// Whether the reserve beyond the limit does not suffice for so many bytes more, of which native work is about
/// to make a text.
pub(crate) fn would_exceed(more: usize) -> bool {
    heap(|heap| heap.used.saturating_add(more) > heap.most).unwrap_or_default()
}

/// After a whole collection: whether so little is free that it would have to begin again soon. Sets
/// the alarm anew.
pub(crate) fn is_exhausted() -> bool {
    let look = |heap: &mut Heap| {
        heap.alarm = heap.limit.max(heap.used) + heap.limit / HANDLING;
        heap.used > heap.limit - heap.limit / 8
    };
    heap(look).unwrap_or_default()
}
