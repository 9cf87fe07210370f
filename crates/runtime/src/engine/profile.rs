//! A profile: where programs are at regular moments of their running time, on all threads.
//!
//! While one is taken, each watchdog asks the hook of its isolate to look at every second tick
//! ([`sample`]). What the time between two looks costs is attributed to the lines that run then; while a
//! native runs, to the line that called it. Fibers that wait cost nothing.
#![allow(unsafe_code)]

use super::source_map::EngineFrame;
use super::stack::Stack;
use mlua::ffi;
use std::collections::HashMap;
use std::ffi::CStr;
use std::os::raw::{c_char, c_int};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Ticks of the watchdog between two samples.
pub(super) const TICKS: u32 = 2;
/// The time between two samples.
pub const INTERVAL: Duration = Duration::from_millis(2 * TICKS as u64);
/// Frames of a stack that are kept, from the innermost one on.
const DEEPEST: c_int = 128;
/// Different stacks that are kept; further ones are counted only.
const MOST_STACKS: usize = 20_000;
/// How the names of the kernel's chunks begin.
const KERNEL: &str = "kernel/";

static ACTIVE: AtomicBool = AtomicBool::new(false);
static LEFT_OUT: AtomicU64 = AtomicU64::new(0);
static STACKS: Mutex<Option<HashMap<Vec<ProfileFrame>, u64>>> = Mutex::new(None);

/// A place of a program in a profile.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ProfileFrame {
    /// The file or reference of the source; empty for a message of the kernel.
    pub source: String,
    /// The line, from 1; 0 for a message of the kernel.
    pub line: u32,
    /// The message that called it, where it is known.
    pub message: Option<String>,
}

/// What a profile has seen.
#[derive(Clone, Debug, Default)]
pub struct Profile {
    /// The stacks, each from the outermost frame on, and how often it was seen; the most frequent first.
    pub stacks: Vec<(Vec<ProfileFrame>, u64)>,
    /// Samples whose stacks are left out, because there were too many different ones.
    pub left_out: u64,
}

impl Profile {
    /// All samples.
    pub fn samples(&self) -> u64 {
        self.stacks.iter().map(|(_, count)| count).sum::<u64>() + self.left_out
    }
}

/// A profile that is taken. Dropping it ends it.
pub struct Profiling(());

/// Begins a profile of all programs of this process; `None` while another one is taken.
pub fn start_profile() -> Option<Profiling> {
    let mut stacks = stacks();
    if stacks.is_some() {
        return None;
    }
    *stacks = Some(HashMap::new());
    LEFT_OUT.store(0, Ordering::Relaxed);
    ACTIVE.store(true, Ordering::Release);
    Some(Profiling(()))
}

impl Profiling {
    /// Ends the profile.
    pub fn stop(self) -> Profile {
        let taken = stacks().take().unwrap_or_default();
        let mut list: Vec<(Vec<ProfileFrame>, u64)> = taken.into_iter().collect();
        list.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        Profile { stacks: list, left_out: LEFT_OUT.load(Ordering::Relaxed) }
    }
}

impl Drop for Profiling {
    fn drop(&mut self) {
        ACTIVE.store(false, Ordering::Release);
        *stacks() = None;
    }
}

fn stacks() -> MutexGuard<'static, Option<HashMap<Vec<ProfileFrame>, u64>>> {
    STACKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a profile is taken.
pub(super) fn is_active() -> bool {
    ACTIVE.load(Ordering::Relaxed)
}

/// Looks where the program is. Called by the hook.
pub(super) fn sample(stack: Stack) {
    let frames = frames(stack);
    if frames.is_empty() {
        return;
    }
    let mut stacks = stacks();
    let Some(stacks) = &mut *stacks else { return };
    if let Some(count) = stacks.get_mut(&frames) {
        *count += 1;
    } else if stacks.len() < MOST_STACKS {
        stacks.insert(frames, 1);
    } else {
        LEFT_OUT.fetch_add(1, Ordering::Relaxed);
    }
}

/// The frames, from the outermost one on. What the kernel calls within itself is left out.
fn frames(stack: Stack) -> Vec<ProfileFrame> {
    let mut found: Vec<ProfileFrame> = Vec::new();
    for level in 0..DEEPEST {
        // SAFETY: the engine fills the record, whose texts live as long as the function; read at once.
        let frame = unsafe {
            let mut record: ffi::lua_Debug = std::mem::zeroed();
            if ffi::lua_getstack(stack.state(), level, &mut record) == 0 {
                break;
            }
            if ffi::lua_getinfo(stack.state(), c"nSl".as_ptr(), &mut record) == 0 {
                continue;
            }
            frame(text(record.source), record.currentline, text(record.name))
        };
        let Some(frame) = frame else { continue };
        match found.last_mut() {
            // The outermost message of the kernel is the one that the program sent.
            Some(inner) if frame.source.is_empty() && inner.source.is_empty() => *inner = frame,
            _ => found.push(frame),
        }
    }
    // What starts the fiber is the kernel's own.
    if found.len() > 1 && found.last().is_some_and(|outer| outer.source.is_empty()) {
        found.pop();
    }
    found.reverse();
    found
}

/// # Safety
/// Null, or a C string that lives until the answer is dropped.
unsafe fn text<'a>(pointer: *const c_char) -> Option<&'a str> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: the caller's.
    unsafe { CStr::from_ptr(pointer) }.to_str().ok()
}

/// A frame of the program or of the kernel; none for the engine's own.
fn frame(source: Option<&str>, line: c_int, name: Option<&str>) -> Option<ProfileFrame> {
    let source = source?.strip_prefix(['=', '@'])?;
    let message = name.filter(|name| *name != "?").map(selector);
    if let Some(file) = source.strip_prefix(KERNEL) {
        let message = message.unwrap_or_else(|| file.trim_end_matches(".lua").to_owned());
        return Some(ProfileFrame { source: String::new(), line: 0, message: Some(message) });
    }
    if source == "[C]" {
        return None;
    }
    let frame = EngineFrame::new(source.as_bytes(), u32::try_from(line).ok()?);
    let source = String::from_utf8_lossy(frame.source).into_owned();
    Some(ProfileFrame { source, line: frame.place().line, message })
}

/// Names of functions that are operators in programs: those that generated code calls, and messages.
const OPERATORS: [(&str, &str); 20] = [
    ("add", "+"),
    ("sub", "-"),
    ("mul", "*"),
    ("div", "/"),
    ("lt", "<"),
    ("le", "≤"),
    ("gt", ">"),
    ("ge", "≥"),
    ("eq", "="),
    ("concat", ","),
    ("add_", "+"),
    ("sub_", "-"),
    ("mul_", "*"),
    ("isEqual_", "="),
    ("isNotEqualTo_", "≠"),
    ("isLessThan_", "<"),
    ("isGreaterThan_", ">"),
    ("isLessThanOrEqualTo_", "≤"),
    ("isGreaterThanOrEqualTo_", "≥"),
    ("concat_", ","),
];

/// The selector of a Lua name, as `core/selector.lua` spells it.
fn selector(name: &str) -> String {
    if let Some((_, operator)) = OPERATORS.iter().find(|(known, _)| *known == name) {
        return (*operator).to_owned();
    }
    let text = name.replace("_2", "\u{1}").replace("_0", "-").replace("_1", ".");
    text.replace('_', ":").replace('\u{1}', "_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_the_words_of_the_program() {
        let of = |source, line, name| frame(Some(source), line, name);
        let program = of("=tasks.st", 12, Some("at_put_")).unwrap();
        assert_eq!((program.source.as_str(), program.line), ("tasks.st", 12));
        assert_eq!(program.message.as_deref(), Some("at:put:"));
        let kernel = of("=kernel/collections/array.lua", 40, Some("collect_")).unwrap();
        assert_eq!((kernel.source.as_str(), kernel.message.as_deref()), ("", Some("collect:")));
        let unnamed = of("=kernel/text/json.lua", 4, None).unwrap();
        assert_eq!(unnamed.message.as_deref(), Some("text/json"));
        let operator = of("=kernel/values/number.lua", 4, Some("isLessThan_")).unwrap();
        assert_eq!(operator.message.as_deref(), Some("<"));
        assert_eq!(of("=[C]", -1, None), None);
    }

    #[test]
    fn there_is_one_profile_at_a_time() {
        let first = start_profile().unwrap();
        assert!(start_profile().is_none() && is_active());
        assert_eq!(first.stop().samples(), 0);
        assert!(!is_active());
        drop(start_profile().unwrap());
    }
}
