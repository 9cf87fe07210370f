//! Durations, counted by their size: enough for percentiles to within a fifth, in the room of a few
//! numbers.

use std::time::Duration;

/// Steps into which each doubling is divided.
const STEPS: usize = 4;
/// Doublings of a microsecond up to 2^20, about a second.
const DOUBLINGS: usize = 20;
/// The last bucket counts all longer durations.
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

impl Durations {
    pub(crate) fn add(&mut self, duration: Duration) {
        let microseconds = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
        let count = &mut self.counts[bucket(microseconds)];
        *count = count.saturating_add(1);
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

    /// The shortest duration of a bucket, in microseconds: the statistics page computes it too.
    fn start(bucket: usize) -> u64 {
        if bucket < STEPS {
            return bucket as u64;
        }
        let (doubling, step) = (bucket / STEPS + 1, bucket % STEPS);
        (STEPS + step) as u64 * (1 << (doubling - 2))
    }

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
    fn counts_come_back() {
        let mut durations = Durations::default();
        durations.add(Duration::from_micros(5));
        durations.add(Duration::from_secs(900));
        let mut other = Durations::default();
        for (bucket, count) in durations.filled() {
            other.restore(bucket, count);
        }
        assert!(other.filled().eq([(5, 1), (BUCKETS - 1, 1)]));
    }
}
