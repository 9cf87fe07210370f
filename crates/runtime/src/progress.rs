//! Telling people at a terminal how far something long is.

use crate::isolate::Isolate;
use std::time::{Duration, Instant};

/// Between two lines.
const PAUSE: Duration = Duration::from_millis(200);

/// How far an insertion or a copy is. Its end takes the line away.
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
        let (done, expected) = (self.done, self.expected);
        self.say(|| match expected {
            Some(all) if all > 0 => {
                let percent = done.saturating_mul(100) / all;
                format!("{done} of {all} records, {percent} %")
            }
            _ => format!("{done} records"),
        });
    }

    /// Says how far it is, unless it was just said.
    pub(crate) fn say(&mut self, text: impl FnOnce() -> String) {
        if self.told.elapsed() >= PAUSE {
            self.told = Instant::now();
            self.shown = true;
            self.isolate.host().progress(&text());
        }
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
