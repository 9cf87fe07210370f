//! How far the log has been flushed, and who waits for it.

use crate::durable::disk_error::DiskError;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// What has been made durable.
#[derive(Debug, Default)]
pub(crate) struct FlushProgress {
    state: Mutex<FlushState>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct FlushState {
    /// The number of the last write that is durable.
    durable: u64,
    fault: Option<DiskError>,
    /// Who waits for which write.
    waiting: Vec<(u64, Waker)>,
    /// Snapshots tried so far.
    snapshots: u64,
    /// How the last one went.
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

    /// Tells that writes up to this one are durable.
    pub(crate) fn reach(&self, durable: u64) {
        let mut state = self.lock();
        state.durable = durable;
        let (ready, waiting) = std::mem::take(&mut state.waiting)
            .into_iter()
            .partition(|(write, _)| *write <= durable);
        state.waiting = waiting;
        self.wake(state, ready);
    }

    /// Tells that nothing more can be made durable.
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

    /// Why nothing more can be made durable.
    pub(crate) fn fault(&self) -> Option<DiskError> {
        self.lock().fault.clone()
    }

    /// Looks whether a write is durable, and waits for it otherwise.
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

    /// Forgets who waits for a write.
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

    /// Tells that a snapshot was made, or not.
    pub(crate) fn snapshot_done(&self, result: Result<(), DiskError>) {
        let mut state = self.lock();
        state.snapshots += 1;
        state.snapshot_fault = result.err();
        self.wake(state, Vec::new());
    }

    /// The number of snapshots tried so far.
    pub(crate) fn snapshots(&self) -> u64 {
        self.lock().snapshots
    }

    /// Blocks until this many snapshots were tried, and says how the last one went.
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
