//! Telling people at a terminal how far a long insertion is.

use crate::isolate::Isolate;
use std::time::{Duration, Instant};

/// Between two lines.
const PAUSE: Duration = Duration::from_millis(200);

/// How far an insertion is. Its end takes the line away.
pub(crate) struct Progress {
    isolate: Isolate,
    done: u64,
    expected: Option<u64>,
    told: Instant,
    shown: bool,
}

impl Progress {
    pub(crate) fn new(isolate: &Isolate, expected: Option<u64>) -> Self {
        Progress { isolate: isolate.clone(), done: 0, expected, told: Instant::now(), shown: false }
    }

    /// So many records more.
    pub(crate) fn add(&mut self, records: u64) {
        self.done += records;
        if self.told.elapsed() < PAUSE {
            return;
        }
        self.told = Instant::now();
        self.shown = true;
        let text = match self.expected {
            Some(all) if all > 0 => {
                let percent = self.done.saturating_mul(100) / all;
                format!("{} of {all} records, {percent} %", self.done)
            }
            _ => format!("{} records", self.done),
        };
        self.isolate.host().progress(&text);
    }

    pub(crate) fn end(&mut self) {
        if self.shown {
            self.isolate.host().progress("");
            self.shown = false;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}
