//! Durations, counted by their size: percentiles to within a fifth, in the room of a few numbers.

use std::time::Duration;

/// Steps into which each doubling is divided.
const STEPS: usize = 4;
/// Durations up to 2^20 microseconds, a second, are told apart.
const DOUBLINGS: usize = 20;
/// The last one is for all that are longer.
const BUCKETS: usize = STEPS * DOUBLINGS + 1;

/// Counts of durations.
#[derive(Clone, Debug)]
pub(crate) struct Durations {
    counts: Box<[u32; BUCKETS]>,
}

impl Default for Durations {
    fn default() -> Durations {
        Durations { counts: Box::new([0; BUCKETS]) }
    }
}

/// The number of a bucket: four to each doubling, by the leading bits.
fn bucket(microseconds: u64) -> usize {
    if microseconds < 4 {
        return microseconds as usize;
    }
    let doubling = microseconds.ilog2() as usize;
    let step = (microseconds >> (doubling - 2)) as usize & (STEPS - 1);
    (STEPS * (doubling - 1) + step).min(BUCKETS - 1)
}

/// The shortest duration of a bucket, in microseconds.
fn start(bucket: usize) -> u64 {
    if bucket < STEPS {
        return bucket as u64;
    }
    let (doubling, step) = (bucket / STEPS + 1, bucket % STEPS);
    (STEPS + step) as u64 * (1 << (doubling - 2))
}

impl Durations {
    pub(crate) fn add(&mut self, duration: Duration) {
        let microseconds = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let count = &mut self.counts[bucket(microseconds)];
        *count = count.saturating_add(1);
    }

    /// The duration, in microseconds, below which this part of all lies; nothing where there are
    /// none. It is in the middle of a bucket.
    pub(crate) fn percentile(&self, part: f64) -> Option<u64> {
        let all: u64 = self.counts.iter().map(|count| u64::from(*count)).sum();
        let wanted = ((all as f64 * part).ceil() as u64).max(1);
        let mut seen = 0;
        for (number, count) in self.counts.iter().enumerate() {
            seen += u64::from(*count);
            if seen >= wanted {
                return Some((start(number) + start(number + 1).max(1) - 1).div_ceil(2));
            }
        }
        None
    }

    /// The counts that are not 0, each with the number of its bucket.
    pub(crate) fn filled(&self) -> impl Iterator<Item = (usize, u32)> {
        let counts = self.counts.iter().copied().enumerate();
        counts.filter(|(_, count)| *count > 0)
    }

    /// Adds a count that was kept; what is no bucket is left out.
    pub(crate) fn restore(&mut self, bucket: usize, count: u32) {
        if let Some(known) = self.counts.get_mut(bucket) {
            *known = known.saturating_add(count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_follow_each_other() {
        for number in 0..BUCKETS - 1 {
            assert_eq!(bucket(start(number)), number);
            assert!(start(number) < start(number + 1), "{number}");
            assert_eq!(bucket(start(number + 1) - 1), number);
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn percentiles_are_near_the_durations() {
        let mut durations = Durations::default();
        assert_eq!(durations.percentile(0.5), None);
        for microseconds in 1..=1_000 {
            durations.add(Duration::from_micros(microseconds));
        }
        for (part, expected) in [(0.5, 500.0), (0.99, 990.0), (0.01, 10.0)] {
            let found = durations.percentile(part).unwrap_or_default() as f64;
            assert!((found / expected - 1.0).abs() < 0.2, "{part}: {found}");
        }
        let mut other = Durations::default();
        other.add(Duration::from_secs(900));
        for (bucket, count) in durations.filled() {
            other.restore(bucket, count);
        }
        assert!(other.percentile(1.0) > Some(900_000));
        assert_eq!(other.filled().map(|(_, count)| count).sum::<u32>(), 1_001);
    }
}
