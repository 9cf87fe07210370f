//! A rate limit of one log line a second for events that clients can cause at will.

use std::cell::Cell;
use std::time::{Duration, Instant};

const SECOND: Duration = Duration::from_secs(1);

/// Passes one line a second, and counts suppressed ones.
#[derive(Default)]
pub(crate) struct LogRate {
    until: Cell<Option<Instant>>,
    left_out: Cell<u64>,
}

impl LogRate {
    pub(crate) const fn new() -> LogRate {
        LogRate { until: Cell::new(None), left_out: Cell::new(0) }
    }

    /// Whether a line may be written, with the number of lines suppressed before it.
    pub(crate) fn allow(&self) -> Option<u64> {
        let now = Instant::now();
        if self.until.get().is_some_and(|until| now < until) {
            self.left_out.set(self.left_out.get().saturating_add(1));
            return None;
        }
        self.until.set(Some(now + SECOND));
        Some(self.left_out.take())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_second_passes() {
        let rate = LogRate::new();
        assert_eq!(rate.allow(), Some(0));
        assert_eq!((rate.allow(), rate.allow()), (None, None));
        rate.until.set(Some(Instant::now()));
        assert_eq!(rate.allow(), Some(2));
    }
}
