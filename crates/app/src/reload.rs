//! `runnel run --watch FILE`: a new version of the program after each change of it.
//!
//! The supervisor watches the file, and what the program reads while it starts, and exchanges the
//! program as it does at an upgrade. While a changed program does not start, the old one serves; a
//! browser that asks it for a page is shown what is wrong instead, every other client is answered
//! as before.

mod page;
mod reads;

pub(crate) use page::{Watched, set_page};
pub(crate) use reads::{MOST, Reads, end_of_start};

use crate::supervise::Event;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
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

/// The files that a program is made of.
pub(crate) struct Files {
    program: PathBuf,
    /// What each run of it reads while it starts, by its process.
    read: RefCell<BTreeMap<u32, BTreeSet<PathBuf>>>,
}

impl Files {
    /// The program itself.
    pub(crate) fn of(program: PathBuf) -> Rc<Files> {
        Rc::new(Files { program, read: RefCell::default() })
    }

    /// A run of the program reads a file.
    pub(crate) fn reads(&self, process: u32, file: PathBuf) {
        let mut read = self.read.borrow_mut();
        let files = read.entry(process).or_default();
        if files.len() < MOST {
            files.insert(file);
        }
    }

    /// A run of the program writes a file: it is none of those that make the program.
    pub(crate) fn writes(&self, file: &Path) {
        self.read.borrow_mut().values_mut().for_each(|files| {
            files.remove(file);
        });
    }

    /// Only these runs count still.
    pub(crate) fn keep(&self, processes: &[u32]) {
        self.read.borrow_mut().retain(|process, _| processes.contains(process));
    }

    fn all(&self) -> BTreeSet<PathBuf> {
        let mut all: BTreeSet<PathBuf> = self.read.borrow().values().flatten().cloned().collect();
        all.insert(self.program.clone());
        all
    }
}

/// Asks for another version whenever one of the files has changed.
pub(crate) async fn watch(files: Rc<Files>, events: mpsc::Sender<Event>) {
    let mut known = BTreeMap::from([(files.program.clone(), state(&files.program).await)]);
    loop {
        tokio::time::sleep(LOOK).await;
        let all = files.all();
        known.retain(|file, _| all.contains(file));
        let mut has_changed = false;
        for file in all {
            let now = state(&file).await;
            // A file that is gone is being replaced.
            let Some(before) = known.get(&file).filter(|_| now.is_some()) else {
                known.entry(file).or_insert(now);
                continue;
            };
            has_changed |= *before != now;
            known.insert(file, now);
        }
        if has_changed && events.send(Event::Exchange).await.is_err() {
            return;
        }
    }
}

async fn state(file: &Path) -> Option<(SystemTime, u64)> {
    let facts = tokio::fs::metadata(file).await.ok()?;
    Some((facts.modified().ok()?, facts.len()))
}
