//! The main loop: it sleeps until the display, a descriptor or a timer has something.
#![allow(unsafe_code)]

use super::library::{Pointer, library};
use std::cell::RefCell;
use std::ffi::{c_int, c_uint};
use std::os::fd::RawFd;
use std::ptr::null_mut;
use std::time::Duration;

/// Input, a hang-up or an error of a descriptor.
const READABLE: c_uint = 1 | 8 | 16;
/// Output.
const WRITABLE: c_uint = 4;

/// What runs; it answers whether it wants to run again.
type Task = Box<dyn FnMut() -> bool>;

/// Runs a task whenever a descriptor can be read.
pub(crate) fn when_readable(fd: RawFd, task: impl FnMut() -> bool + 'static) {
    watch(fd, READABLE, Box::new(task));
}

/// Runs a task whenever a descriptor can be written.
pub(crate) fn when_writable(fd: RawFd, task: impl FnMut() -> bool + 'static) {
    watch(fd, WRITABLE, Box::new(task));
}

fn watch(fd: RawFd, condition: c_uint, task: Task) {
    let data = Box::into_raw(Box::new(RefCell::new(task))).cast();
    // SAFETY: the source owns the task and frees it with `forget`.
    unsafe { (library().g_unix_fd_add_full)(0, fd, condition, file_ready, data, forget) };
}

/// A task that has not run yet.
pub(crate) struct DelayedTask(c_uint);

impl DelayedTask {
    /// Stops it.
    pub(crate) fn cancel(self) {
        // SAFETY: the source exists: its owner forgets the timer when it runs.
        unsafe { (library().g_source_remove)(self.0) };
    }
}

/// Runs a task once, after a time.
pub(crate) fn after(time: Duration, task: impl FnOnce() + 'static) -> DelayedTask {
    let mut task = Some(task);
    let task: Task = Box::new(move || {
        if let Some(task) = task.take() {
            task();
        }
        false
    });
    let data = Box::into_raw(Box::new(RefCell::new(task))).cast();
    let milliseconds = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
    // SAFETY: the source owns the task and frees it with `forget`.
    DelayedTask(unsafe { (library().g_timeout_add_full)(0, milliseconds, called, data, forget) })
}

/// Runs for the rest of the process.
pub(crate) fn run() {
    let gtk = library();
    // SAFETY: the loop is made here and never freed.
    unsafe { (gtk.g_main_loop_run)((gtk.g_main_loop_new)(null_mut(), 0)) };
}

extern "C" fn file_ready(_: c_int, _: c_uint, data: Pointer) -> c_int {
    called(data)
}

extern "C" fn called(data: Pointer) -> c_int {
    // SAFETY: the source calls it with its own task. A task that runs a nested loop is not entered
    // twice.
    let task = unsafe { &*data.cast::<RefCell<Task>>() };
    task.try_borrow_mut().map_or(1, |mut task| task().into())
}

extern "C" fn forget(data: Pointer) {
    // SAFETY: the source ended; it was made by one of the functions above.
    drop(unsafe { Box::from_raw(data.cast::<RefCell<Task>>()) });
}
