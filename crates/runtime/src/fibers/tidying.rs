//! Collection of garbage in idle time, which gives memory back to the system after a burst.

use crate::engine::collector::Collector;
use crate::isolate::{Isolate, IsolateState};
use std::rc::Weak;
use std::time::Duration;

/// The pause after a step in idle time: a collection takes half of a core at most.
const REST: Duration = Duration::from_millis(1);
/// The period at which idleness is measured.
const LOOK: Duration = Duration::from_secs(1);
/// Runs of fibers between two looks below which an engine is idle: some hundredths of a core.
const FEW_TURNS: u32 = 1000;
/// A busy engine is tidied after this many looks.
const LOOKS: u32 = 30;
/// When memory is given back once more.
const AFTERMATH: Duration = Duration::from_secs(15);

/// Adapts the collector after a fiber or native work has run, and starts tidying when it is due.
pub(crate) fn after_run(isolate: &Isolate) {
    if isolate.collector().after_run(isolate.stack())
        && tokio::runtime::Handle::try_current().is_ok()
    {
        isolate.collector().begin_tidying();
        tokio::task::spawn_local(tidy(isolate.downgrade()));
    }
}

/// Collects all garbage once the engine is idle, or when requests wait for its memory, and gives the
/// memory back.
async fn tidy(isolate: Weak<IsolateState>) {
    let current = || Isolate::upgrade(&isolate);
    for _ in 0..LOOKS {
        if Collector::is_urgent() {
            break;
        }
        let turns = || Some(current()?.collector().runs());
        let Some(before) = turns() else { return };
        tokio::time::sleep(LOOK).await;
        let Some(after) = turns() else { return };
        if after.wrapping_sub(before) < FEW_TURNS {
            break;
        }
    }
    loop {
        let Some(isolate) = current() else { return };
        if isolate.collector().relieve(isolate.stack()) {
            break;
        }
        drop(isolate);
        match Collector::is_urgent() {
            true => tokio::task::yield_now().await,
            false => tokio::time::sleep(REST).await,
        }
    }
    let Some(isolate) = current() else { return };
    isolate.host().give_back_memory();
    isolate.collector().end_tidying();
    drop(isolate);
    // Threads of pools that worked for the requests have ended by then.
    tokio::time::sleep(AFTERMATH).await;
    if let Some(isolate) = current() {
        isolate.host().give_back_memory();
    }
}
