//! Natives: functions of Rust that the kernel calls by name, one file for each subject.
#![allow(unsafe_code)]

pub(crate) mod call;
mod combine;
mod connect;
mod content;
mod copy;
mod jobs;
mod queues;
mod serving;
mod stores;
mod system;
mod tables;
mod tasks;
mod values;
mod watch;
mod windows;

pub(crate) use values::secrets::seed;

use crate::engine::memory;
use crate::engine::stack::Stack;
use crate::isolate::Isolate;
use call::Native;
use mlua::ffi::lua_State;
use std::os::raw::c_int;
use std::sync::LazyLock;

/// All natives. The position of a native is its number.
static NATIVES: LazyLock<Vec<(&str, Native)>> = LazyLock::new(|| {
    let rooms: [&[(&str, Native)]; 38] = [
        &stores::NATIVES,
        &content::arriving::NATIVES,
        &content::fetch::NATIVES,
        &combine::NATIVES,
        &connect::NATIVES,
        &tables::query::NATIVES,
        &tables::define::NATIVES,
        &tables::insert::NATIVES,
        &tables::maintain::NATIVES,
        &tables::place::NATIVES,
        &tables::rows::NATIVES,
        &tables::transaction::NATIVES,
        &tables::update::NATIVES,
        &serving::servers::NATIVES,
        &serving::observe::NATIVES,
        &serving::logging::NATIVES,
        &system::NATIVES,
        &values::compress::NATIVES,
        &values::csv::NATIVES,
        &values::dates::NATIVES,
        &values::json::NATIVES,
        &values::contracts::NATIVES,
        &values::forms::NATIVES,
        &tasks::NATIVES,
        &values::numbers::NATIVES,
        &values::patterns::NATIVES,
        &values::secrets::NATIVES,
        &values::text::NATIVES,
        &values::tokens::NATIVES,
        &values::toml::NATIVES,
        &values::xml::NATIVES,
        &values::markdown::NATIVES,
        &watch::NATIVES,
        &serving::live::NATIVES,
        &copy::NATIVES,
        &jobs::NATIVES,
        &queues::NATIVES,
        &windows::NATIVES,
    ];
    rooms.concat()
});

/// The names of the natives, by their number.
pub(crate) fn names() -> Vec<&'static str> {
    NATIVES.iter().map(|(name, _)| *name).collect()
}

/// What Lua calls: runs the native whose number is the upvalue. Answers `true, value`,
/// `false, error`, or nothing after the operation was left to the isolate.
// SAFETY: the engine calls it with its own state; panics of natives do not pass through it.
pub(crate) unsafe extern "C-unwind" fn trampoline(state: *mut lua_State) -> c_int {
    // SAFETY: the engine lives, and runs on this thread.
    let stack = unsafe { Stack::from_raw(state) };
    let Some((_, native)) = NATIVES.get(stack.upvalue_number()) else { return 0 };
    let Some(isolate) = Isolate::current() else { return 0 };
    // No allocation is refused, and so nothing raised, before the last of Rust's values is dropped.
    let mode = memory::enter_native();
    let results = call::run(&isolate, *native, stack);
    memory::leave(mode);
    results
}
