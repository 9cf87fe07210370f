//! Why the new version of a watched program does not start: the text that browsers see.

use std::sync::{Mutex, PoisonError};

/// The environment variable of programs that run under `--watch`.
pub(crate) const VARIABLE: &str = "RUNNEL_WATCHED";

static FAULT: Mutex<Option<String>> = Mutex::new(None);

/// Takes the fault from the supervisor as JSON text; an empty text clears it.
pub(crate) fn set_fault(text: &str) {
    let text: Option<String> = serde_json::from_str(text).ok();
    *FAULT.lock().unwrap_or_else(PoisonError::into_inner) = text.filter(|text| !text.is_empty());
}

/// The fault of the new version, if it has one.
pub(super) fn fault() -> Option<String> {
    FAULT.lock().unwrap_or_else(PoisonError::into_inner).clone()
}
