//! A histogram of durations with fixed buckets: one writer thread, any number of readers.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Bucket bounds in microseconds, from a constant response to the request timeout.
pub(crate) const BOUNDS: [u64; 17] = [
    50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000,
    1_000_000, 2_500_000, 5_000_000, 10_000_000,
];

/// Adds to a number with a single writer: needs no locked bus.
pub(crate) fn bump(number: &AtomicU64, by: u64) {
    number.store(number.load(Relaxed).wrapping_add(by), Relaxed);
}

/// Raises a maximum with a single writer.
pub(crate) fn raise(number: &AtomicU64, to: u64) {
    if number.load(Relaxed) < to {
        number.store(to, Relaxed);
    }
}

/// A histogram with a single writer.
#[derive(Debug, Default)]
pub(crate) struct Histogram {
    counts: [AtomicU64; BOUNDS.len() + 1],
    /// Sum of all values, in microseconds.
    sum: AtomicU64,
}

impl Histogram {
    pub(crate) fn record(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let place = BOUNDS.iter().position(|bound| micros <= *bound).unwrap_or(BOUNDS.len());
        bump(&self.counts[place], 1);
        bump(&self.sum, micros);
    }
}

/// The sum of several histograms.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct HistogramTotals {
    /// Values in each bucket; the last one has no upper bound.
    pub(crate) counts: [u64; BOUNDS.len() + 1],
    /// In microseconds.
    pub(crate) sum: u64,
}

impl HistogramTotals {
    pub(crate) fn add(&mut self, histogram: &Histogram) {
        for (total, count) in self.counts.iter_mut().zip(&histogram.counts) {
            *total += count.load(Relaxed);
        }
        self.sum = self.sum.wrapping_add(histogram.sum.load(Relaxed));
    }

    pub(crate) fn count(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_counts_where_it_belongs() {
        let histogram = Histogram::default();
        for micros in [0, 50, 51, 10_000_000, 10_000_001] {
            histogram.record(Duration::from_micros(micros));
        }
        let mut totals = HistogramTotals::default();
        totals.add(&histogram);
        assert_eq!(totals.counts[..3], [2, 1, 0]);
        assert_eq!(totals.counts[16..], [1, 1]);
        assert_eq!((totals.count(), totals.sum), (5, 20_000_102));
        totals.add(&histogram);
        assert_eq!(totals.count(), 10);
    }
}
