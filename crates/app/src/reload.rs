//! `runnel run --watch FILE`: a new version of the program after each change of it.
//!
//! The supervisor watches the file and exchanges the program as it does at an upgrade. While a
//! changed program does not start, the old one serves; a browser that asks it for a page is
//! shown what is wrong instead, every other client is answered as before.

mod page;

pub(crate) use page::Watched;

use crate::supervise::Event;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::sync::mpsc;

/// Set for programs that are watched.
pub(crate) const VARIABLE: &str = "RUNNEL_WATCHED";
/// How often the file is looked at. Editors replace files, and folders may be on another machine:
/// a look finds every change, and costs nothing that matters on a developer's machine.
const LOOK: Duration = Duration::from_millis(250);

/// What is wrong with the new version of the program.
static FAULT: Mutex<Option<String>> = Mutex::new(None);

/// The supervisor says what is wrong, as JSON text; nothing, when it is empty.
pub(crate) fn set_fault(text: &str) {
    let text: Option<String> = serde_json::from_str(text).ok();
    *FAULT.lock().unwrap_or_else(PoisonError::into_inner) = text.filter(|text| !text.is_empty());
}

/// What is wrong, if anything is.
fn fault() -> Option<String> {
    FAULT.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Asks for another version whenever the file has changed.
pub(crate) async fn watch(file: PathBuf, events: mpsc::Sender<Event>) {
    let mut known = state(&file).await;
    loop {
        tokio::time::sleep(LOOK).await;
        let now = state(&file).await;
        // A file that is gone is being replaced.
        if now.is_none() || now == known {
            continue;
        }
        known = now;
        if events.send(Event::Exchange).await.is_err() {
            return;
        }
    }
}

async fn state(file: &Path) -> Option<(SystemTime, u64)> {
    let facts = tokio::fs::metadata(file).await.ok()?;
    Some((facts.modified().ok()?, facts.len()))
}
