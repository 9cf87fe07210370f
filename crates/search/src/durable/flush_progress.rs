//! The progress of the log's flushes, and the tasks that wait for them.

use crate::durable::disk_error::DiskError;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// The durable writes and the state of snapshots.
#[derive(Debug, Default)]
pub(crate) struct FlushProgress {
    state: Mutex<FlushState>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct FlushState {
    /// The number of the last durable write.
    durable: u64,
    fault: Option<DiskError>,
    /// The wakers, by the write that each awaits.
    waiting: Vec<(u64, Waker)>,
    /// The number of snapshot attempts.
    snapshots: u64,
    /// The error of the last attempt.
    snapshot_fault: Option<DiskError>,
}

impl FlushProgress {
    pub(crate) fn new(durable: u64) -> FlushProgress {
        FlushProgress {
            state: Mutex::new(FlushState { durable, ..FlushState::default() }),
            moved: Condvar::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, FlushState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Marks the writes up to this one as durable.
    pub(crate) fn reach(&self, durable: u64) {
        let mut state = self.lock();
        state.durable = durable;
        let (ready, waiting) = std::mem::take(&mut state.waiting)
            .into_iter()
            .partition(|(write, _)| *write <= durable);
        state.waiting = waiting;
        self.wake(state, ready);
    }

    /// Marks the log as failed: no further write becomes durable.
    pub(crate) fn fail(&self, fault: DiskError) {
        let mut state = self.lock();
        state.fault.get_or_insert(fault);
        let waiting = std::mem::take(&mut state.waiting);
        self.wake(state, waiting);
    }

    fn wake(&self, state: MutexGuard<'_, FlushState>, wakers: Vec<(u64, Waker)>) {
        drop(state);
        self.moved.notify_all();
        wakers.into_iter().for_each(|(_, waker)| waker.wake());
    }

    /// The error of a failed log.
    pub(crate) fn fault(&self) -> Option<DiskError> {
        self.lock().fault.clone()
    }

    /// Polls the durability of a write and registers the waker.
    pub(crate) fn poll(&self, write: u64, waker: &Waker) -> Poll<Result<(), DiskError>> {
        let mut state = self.lock();
        if state.durable >= write {
            return Poll::Ready(Ok(()));
        }
        if let Some(fault) = &state.fault {
            return Poll::Ready(Err(fault.clone()));
        }
        match state.waiting.iter_mut().find(|(other, _)| *other == write) {
            Some((_, known)) => known.clone_from(waker),
            None => state.waiting.push((write, waker.clone())),
        }
        Poll::Pending
    }

    /// Removes the waker of a write.
    pub(crate) fn forget(&self, write: u64) {
        self.lock().waiting.retain(|(other, _)| *other != write);
    }

    /// Blocks until a write is durable.
    pub(crate) fn wait(&self, write: u64) -> Result<(), DiskError> {
        let mut state = self.lock();
        loop {
            if state.durable >= write {
                return Ok(());
            }
            if let Some(fault) = &state.fault {
                return Err(fault.clone());
            }
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Records the result of a snapshot.
    pub(crate) fn snapshot_done(&self, result: Result<(), DiskError>) {
        let mut state = self.lock();
        state.snapshots += 1;
        state.snapshot_fault = result.err();
        self.wake(state, Vec::new());
    }

    /// The number of snapshot attempts.
    pub(crate) fn snapshots(&self) -> u64 {
        self.lock().snapshots
    }

    /// Blocks until this many snapshots were attempted and returns the result of the last.
    pub(crate) fn wait_for_snapshot(&self, number: u64) -> Result<(), DiskError> {
        let mut state = self.lock();
        while state.snapshots < number && state.fault.is_none() {
            state = self.moved.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        let fault = state.fault.as_ref().filter(|_| state.snapshots < number);
        match fault.or(state.snapshot_fault.as_ref()) {
            Some(fault) => Err(fault.clone()),
            None => Ok(()),
        }
    }
}
