//! Jobs that one worker runs for all: `onceEvery:`.
//!
//! The worker that asks first leads a job. When it ends, the next worker that asks takes over. A
//! process that another one replaces leads nothing any more, so that old and new do not both run a
//! job while requests drain.

use crate::process::handover;
use runnel_store::{Error, Kind, Result};
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

/// Jobs of a program at most.
const MOST: usize = 10_000;

/// The state of a job.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Leader {
    Worker(usize),
    /// Its worker has ended.
    Free,
    /// The job was cancelled.
    Ended,
}

/// The leaders of jobs by their names.
#[derive(Default)]
struct Jobs(HashMap<String, Leader>);

static JOBS: LazyLock<Mutex<Jobs>> = LazyLock::new(Mutex::default);

impl Jobs {
    fn leads(&mut self, job: &str, worker: usize) -> Result<Option<bool>> {
        let count = self.0.len();
        match self.0.get_mut(job) {
            Some(Leader::Ended) => Ok(None),
            Some(Leader::Worker(leader)) => Ok(Some(*leader == worker)),
            Some(free) => {
                *free = Leader::Worker(worker);
                Ok(Some(true))
            }
            None if count >= MOST => {
                let message = format!("a program has at most {MOST} jobs of `onceEvery:`");
                Err(Error::new(Kind::Unavailable, message))
            }
            None => {
                self.0.insert(job.to_string(), Leader::Worker(worker));
                Ok(Some(true))
            }
        }
    }

    fn release(&mut self, worker: usize) {
        for leader in self.0.values_mut() {
            if *leader == Leader::Worker(worker) {
                *leader = Leader::Free;
            }
        }
    }
}

fn jobs() -> MutexGuard<'static, Jobs> {
    JOBS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a worker runs a job; `None`: the job was cancelled.
///
/// # Errors
/// There are too many jobs.
pub(crate) fn leads(job: &str, worker: usize) -> Result<Option<bool>> {
    let leads = jobs().leads(job, worker)?;
    Ok(leads.map(|leads| leads && !handover::is_leaving()))
}

/// Cancels a job in all workers.
pub(crate) fn end(job: &str) {
    if let Some(leader) = jobs().0.get_mut(job) {
        *leader = Leader::Ended;
    }
}

/// Frees the jobs of a worker that has ended.
pub(super) fn release(worker: usize) {
    jobs().release(worker);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_worker_takes_over_when_the_leader_has_ended() {
        let mut jobs = Jobs::default();
        assert_eq!(jobs.leads("a.st:1 1", 0).ok(), Some(Some(true)));
        assert_eq!(jobs.leads("a.st:1 1", 1).ok(), Some(Some(false)));
        assert_eq!(jobs.leads("a.st:2 1", 1).ok(), Some(Some(true)));
        jobs.release(0);
        assert_eq!(jobs.leads("a.st:1 1", 1).ok(), Some(Some(true)));
        assert_eq!(jobs.leads("a.st:1 1", 2).ok(), Some(Some(false)));
    }

    #[test]
    fn a_cancelled_job_is_over_for_all() {
        let mut jobs = Jobs::default();
        assert_eq!(jobs.leads("job", 0).ok(), Some(Some(true)));
        jobs.0.insert("job".into(), Leader::Ended);
        assert_eq!(jobs.leads("job", 0).ok(), Some(None));
        assert_eq!(jobs.leads("job", 1).ok(), Some(None));
    }
}
