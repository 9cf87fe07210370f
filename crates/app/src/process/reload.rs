//! `runnel run --watch FILE`: a new version of the program after each change of it.
//!
//! The supervisor polls the file and the files that the program reads while it starts, and exchanges
//! the program as in an upgrade. While the new version does not start, the old one serves: browsers
//! that load a page get the error instead, all other clients get the usual response.

pub(crate) mod fault;
mod page;
mod reads;

pub(crate) use page::{Watched, set_page};
use reads::MOST;
pub(crate) use reads::Reads;

use crate::process::supervise::event::SupervisorEvent;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime};
use tokio::sync::mpsc;

/// The polling interval. Editors replace files, and folders may be network mounts, where
/// notifications are unreliable; polling finds every change at a negligible cost.
const LOOK: Duration = Duration::from_millis(250);

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

    /// A run of the program writes a file, which is therefore data and not source.
    pub(crate) fn writes(&self, file: &Path) {
        self.read.borrow_mut().values_mut().for_each(|files| {
            files.remove(file);
        });
    }

    /// Forgets all other runs.
    pub(crate) fn keep(&self, processes: &[u32]) {
        self.read.borrow_mut().retain(|process, _| processes.contains(process));
    }

    fn all(&self) -> BTreeSet<PathBuf> {
        let mut all: BTreeSet<PathBuf> = self.read.borrow().values().flatten().cloned().collect();
        all.insert(self.program.clone());
        all
    }
}

/// Requests an exchange when a file has changed.
pub(crate) async fn watch(files: Rc<Files>, events: mpsc::Sender<SupervisorEvent>) {
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
        if has_changed && events.send(SupervisorEvent::Exchange).await.is_err() {
            return;
        }
    }
}

async fn state(file: &Path) -> Option<(SystemTime, u64)> {
    let facts = tokio::fs::metadata(file).await.ok()?;
    Some((facts.modified().ok()?, facts.len()))
}
