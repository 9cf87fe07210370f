//! The thread in the background: it checks the newest state of each text, and searches the folder for definitions.

use super::event::Event;
use crate::documents::OpenText;
use crate::features::diagnostics;
use crate::features::workspace::{FolderIndex, SymbolQuery};
use crate::knowledge::Knowledge;
use lsp_server::RequestId;
use runnel_compile::CleanStatements;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

/// Searches that wait; further ones find nothing.
const MOST_SEARCHES: usize = 32;

#[derive(Default)]
struct Jobs {
    /// Texts to check, by address: a new state replaces one that waits.
    checks: BTreeMap<String, Arc<OpenText>>,
    searches: VecDeque<(RequestId, SymbolQuery)>,
    has_ended: bool,
}

#[derive(Default)]
struct Shared {
    jobs: Mutex<Jobs>,
    changed: Condvar,
}

/// The thread, seen from the loop.
pub(super) struct Worker {
    shared: Arc<Shared>,
}

impl Worker {
    pub(super) fn start(knowledge: Arc<Knowledge>, events: SyncSender<Event>) -> Worker {
        let shared = Arc::new(Shared::default());
        let own = shared.clone();
        let run = move || {
            let mut memory = WorkerMemory::default();
            while let Some(event) = own.next().map(|job| job.run(&knowledge, &mut memory)) {
                if events.send(event).is_err() {
                    break;
                }
            }
        };
        let _ = std::thread::Builder::new()
            .name("lsp worker".into())
            .stack_size(diagnostics::STACK)
            .spawn(run);
        Worker { shared }
    }

    /// Checks a state of a text, unless a newer one comes first.
    pub(super) fn check(&self, document: Arc<OpenText>) {
        self.change(|jobs| drop(jobs.checks.insert(document.uri.as_str().to_owned(), document)));
    }

    /// Searches the folder; answers whether there was room.
    pub(super) fn search(&self, id: RequestId, query: SymbolQuery) -> bool {
        self.change(|jobs| {
            let has_room = jobs.searches.len() < MOST_SEARCHES;
            if has_room {
                jobs.searches.push_back((id, query));
            }
            has_room
        })
    }

    fn change<T>(&self, change: impl FnOnce(&mut Jobs) -> T) -> T {
        let mut jobs = self.shared.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        let result = change(&mut jobs);
        self.shared.changed.notify_one();
        result
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.change(|jobs| jobs.has_ended = true);
    }
}

enum Job {
    Check(Arc<OpenText>),
    Search(RequestId, SymbolQuery),
}

impl Shared {
    /// Waits for a job; none when the server ends.
    fn next(&self) -> Option<Job> {
        let mut jobs = self.jobs.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if jobs.has_ended {
                return None;
            }
            if let Some((_, document)) = jobs.checks.pop_first() {
                return Some(Job::Check(document));
            }
            if let Some((id, query)) = jobs.searches.pop_front() {
                return Some(Job::Search(id, query));
            }
            jobs = self.changed.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// What the thread keeps from job to job.
#[derive(Default)]
struct WorkerMemory {
    folder: FolderIndex,
    /// What the text that was checked last was left with, by its address.
    clean: (String, CleanStatements),
}

impl Job {
    fn run(self, knowledge: &Knowledge, memory: &mut WorkerMemory) -> Event {
        match self {
            Job::Check(document) => {
                let uri = document.uri.as_str();
                if memory.clean.0 != uri {
                    memory.clean = (uri.to_owned(), CleanStatements::default());
                }
                // A fault of the checker costs its findings, not the server.
                let run = || diagnostics::diagnose(&document, knowledge, &mut memory.clean.1);
                let findings = catch_unwind(AssertUnwindSafe(run)).unwrap_or_default();
                Event::Checked(document, findings)
            }
            Job::Search(id, query) => {
                let run = || memory.folder.symbols(&query, knowledge);
                let found = catch_unwind(AssertUnwindSafe(run)).unwrap_or_default();
                Event::Found(id, found)
            }
        }
    }
}
