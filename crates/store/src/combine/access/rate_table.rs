//! The table of a rate limit: for each key the moment when its bucket is full again, shared by all
//! workers of the process.
//!
//! The algorithm is GCRA (the "virtual scheduling" form of ITU-T I.371), which allows exactly what a
//! token bucket of `burst` tokens allows. A key costs one number: the time at which it would have
//! used up what it took, at the allowed rate.
//!
//! ```text
//! 10 requests a second, burst 2      interval = 100 ms, capacity = 200 ms
//! at   0 ms   full at   0   → 100    allowed, 1 left
//! at   0 ms   full at 100   → 200    allowed, 0 left
//! at   0 ms   full at 200   → 300    300 - 0 > 200: refused for 100 ms
//! at 100 ms   full at 200   → 300    300 - 100 = 200: allowed
//! ```

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hash};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

/// The most keys that have an entry of their own in the table of one limit. Keys beyond share one
/// entry, so that all of them together are allowed what one is.
pub const LIMITED_KEYS: usize = 131_072;
/// Parts of a table with a lock each.
const SHARDS: usize = 64;
/// The time between two searches of a full part for entries that are no longer needed, in
/// nanoseconds.
const SWEEP_PAUSE: u64 = 100_000_000;
/// The longest time in which a bucket fills.
const LONGEST_FILL: Duration = Duration::from_secs(10 * 365 * 24 * 3600);

/// How much a limit allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RateQuota {
    pub(super) requests: u32,
    pub(super) per: Duration,
    pub(super) burst: u32,
}

impl RateQuota {
    /// The nanoseconds that one request costs; rounded up, so that never more is allowed.
    fn interval(self) -> u128 {
        self.per.as_nanos().div_ceil(u128::from(self.requests.max(1))).max(1)
    }

    /// Whether a bucket fills in a time that the table can count.
    pub(super) fn is_countable(self) -> bool {
        self.interval() * u128::from(self.burst) <= LONGEST_FILL.as_nanos()
    }
}

/// What a table says of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RateVerdict {
    pub(super) allowed: bool,
    /// Requests that are allowed at once after this one.
    pub(super) remaining: u64,
    /// Until nothing is used up.
    pub(super) reset: Duration,
    /// Until the next request is allowed; zero if it is now.
    pub(super) wait: Duration,
}

pub(super) struct RateTable {
    interval: u64,
    capacity: u64,
    start: Instant,
    /// Keyed at random for each table: no client can choose a key that meets another one. Keys
    /// themselves, which may be secrets, are not kept.
    hasher: RandomState,
    shards: Box<[Mutex<RateShard>]>,
    /// The entry of keys without one of their own.
    rest: Mutex<u64>,
}

#[derive(Default)]
struct RateShard {
    /// The time at which the bucket of a key is full, in nanoseconds since the start.
    entries: HashMap<u64, u64>,
    /// When a full shard may be searched again.
    sweep: u64,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Entries are single numbers: a panic leaves none half written.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl RateTable {
    pub(super) fn new(quota: RateQuota) -> RateTable {
        let most = u128::from(u64::MAX / 4);
        let interval = quota.interval().min(most);
        let capacity = (interval * u128::from(quota.burst.max(1))).min(most);
        RateTable {
            interval: interval as u64,
            capacity: capacity as u64,
            start: Instant::now(),
            hasher: RandomState::new(),
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            rest: Mutex::new(0),
        }
    }

    /// Nanoseconds since the table was made.
    pub(super) fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX / 4)
    }

    /// The key of something.
    pub(super) fn key(&self, of: impl Hash) -> u64 {
        self.hasher.hash_one(of)
    }

    /// Counts a request of a key at a moment, if it is allowed.
    pub(super) fn take(&self, key: u64, now: u64) -> RateVerdict {
        self.at(key, now, |full| {
            let next = (*full).max(now) + self.interval;
            if next - now > self.capacity {
                return self.verdict(false, *full, now);
            }
            *full = next;
            self.verdict(true, next, now)
        })
    }

    /// What the key has left, without counting.
    pub(super) fn look(&self, key: u64, now: u64) -> RateVerdict {
        let shard = locked(self.shard(key));
        let full = shard.entries.get(&key).copied().unwrap_or(0);
        self.verdict(true, full, now)
    }

    /// Takes back up to this many requests that were counted.
    pub(super) fn give_back(&self, key: u64, requests: u32) {
        let back = self.interval.saturating_mul(u64::from(requests));
        let mut shard = locked(self.shard(key));
        if let Some(full) = shard.entries.get_mut(&key) {
            *full = full.saturating_sub(back);
            return;
        }
        drop(shard);
        // One of its own is all that a key without an entry put here.
        let mut rest = locked(&self.rest);
        *rest = rest.saturating_sub(self.interval);
    }

    fn verdict(&self, allowed: bool, full: u64, now: u64) -> RateVerdict {
        let used = full.saturating_sub(now);
        let left = self.capacity.saturating_sub(used);
        RateVerdict {
            allowed,
            remaining: left / self.interval,
            reset: Duration::from_nanos(used),
            wait: Duration::from_nanos(self.interval.saturating_sub(left)),
        }
    }

    fn shard(&self, key: u64) -> &Mutex<RateShard> {
        &self.shards[key as usize % SHARDS]
    }

    fn at<T>(&self, key: u64, now: u64, change: impl FnOnce(&mut u64) -> T) -> T {
        let mut shard = locked(self.shard(key));
        if let Some(full) = shard.entries.get_mut(&key) {
            return change(full);
        }
        if shard.has_room(now) {
            return change(shard.entries.entry(key).or_insert(0));
        }
        drop(shard);
        change(&mut locked(&self.rest))
    }
}

impl RateShard {
    /// Whether another key fits. A full bucket needs no entry.
    fn has_room(&mut self, now: u64) -> bool {
        const MOST: usize = LIMITED_KEYS / SHARDS;
        if self.entries.len() < MOST {
            return true;
        }
        if now < self.sweep {
            return false;
        }
        self.entries.retain(|_, full| *full > now);
        self.sweep = now.saturating_add(SWEEP_PAUSE);
        self.entries.len() < MOST
    }
}

/// Which limits are the same one in every worker: the number that the program's engine gave it, and
/// what it allows.
type LimitIdentity = (u64, RateQuota, String);

static TABLES: Mutex<Vec<(LimitIdentity, Weak<RateTable>)>> = Mutex::new(Vec::new());

/// The table of a limit, which lives as long as a worker has the limit.
pub(super) fn shared_table(number: u64, quota: RateQuota, by: String) -> Arc<RateTable> {
    let identity = (number, quota, by);
    let mut tables = locked(&TABLES);
    tables.retain(|(_, table)| table.strong_count() > 0);
    let known = tables.iter().find(|(known, _)| *known == identity);
    if let Some(table) = known.and_then(|(_, table)| table.upgrade()) {
        return table;
    }
    let table = Arc::new(RateTable::new(quota));
    tables.push((identity, Arc::downgrade(&table)));
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn table(requests: u32, seconds: u64, burst: u32) -> RateTable {
        RateTable::new(RateQuota { requests, per: Duration::from_secs(seconds), burst })
    }

    fn allowed(table: &RateTable, key: u64, now: u64, times: usize) -> usize {
        (0..times).filter(|_| table.take(key, now).allowed).count()
    }

    #[test]
    fn a_bucket_empties_and_fills_at_the_rate() {
        let table = table(10, 1, 3);
        assert_eq!(allowed(&table, 1, 0, 10), 3);
        assert_eq!(allowed(&table, 1, SECOND / 10 - 1, 10), 0);
        assert_eq!(allowed(&table, 1, SECOND / 10, 10), 1);
        assert_eq!(allowed(&table, 1, 100 * SECOND, 10), 3);
        // Others have a bucket of their own.
        assert_eq!(allowed(&table, 2, 0, 10), 3);
    }

    #[test]
    fn no_window_has_more_than_requests_and_burst() {
        for (requests, burst) in [(10, 1), (10, 10), (7, 20), (1, 1)] {
            let table = table(requests, 1, burst);
            let mut times = Vec::new();
            // Odd steps, so that no step meets the interval.
            for step in 0..6000_u64 {
                let now = step * 1_234_567;
                if table.take(1, now).allowed {
                    times.push(now);
                }
            }
            for (at, begin) in times.iter().enumerate() {
                let within = times[at..].iter().take_while(|time| **time < begin + SECOND).count();
                assert!(
                    within <= (requests + burst) as usize,
                    "{within} of {requests} and {burst}"
                );
            }
            assert!(times.len() >= (requests * 7) as usize, "{} of {requests}", times.len());
        }
    }

    #[test]
    fn a_verdict_says_what_is_left_and_how_long_to_wait() {
        let table = table(60, 60, 2);
        let first = table.take(1, 0);
        assert_eq!((first.allowed, first.remaining), (true, 1));
        assert_eq!((first.reset, first.wait), (Duration::from_secs(1), Duration::ZERO));
        assert_eq!(table.take(1, 0).remaining, 0);
        let refused = table.take(1, SECOND / 4);
        assert!(!refused.allowed);
        assert_eq!(refused.wait, Duration::from_millis(750));
        assert_eq!(table.look(1, SECOND / 4).wait, refused.wait);
        assert_eq!(table.look(1, SECOND).remaining, 1);
        assert_eq!(table.look(9, SECOND).remaining, 2);
    }

    #[test]
    fn a_full_table_limits_all_further_keys_together() {
        let table = table(5, 60, 5);
        for key in 0..LIMITED_KEYS as u64 {
            assert!(table.take(key, 0).allowed);
        }
        let further = LIMITED_KEYS as u64..LIMITED_KEYS as u64 + 1000;
        assert_eq!(further.filter(|key| table.take(*key, 1).allowed).count(), 5);
        // Those that it knows keep what they have.
        assert_eq!(allowed(&table, 3, 2, 10), 4);
        let entries: usize = table.shards.iter().map(|shard| locked(shard).entries.len()).sum();
        assert_eq!(entries, LIMITED_KEYS);
        // Entries that are no longer needed make room.
        let later = 1000 * SECOND;
        let further = LIMITED_KEYS as u64..LIMITED_KEYS as u64 + 1000;
        assert_eq!(further.filter(|key| table.take(*key, later).allowed).count(), 1000);
    }

    #[test]
    fn threads_together_are_allowed_no_more_than_one() {
        let table = table(1, 3600, 100);
        let counts: Vec<usize> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|_| scope.spawn(|| allowed(&table, 7, 5, 1000))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or_default()).collect()
        });
        assert_eq!(counts.iter().sum::<usize>(), 100);
    }

    #[test]
    fn workers_share_the_table_of_a_limit() {
        let quota = RateQuota { requests: 3, per: Duration::from_secs(77), burst: 3 };
        let one = shared_table(1, quota, "client".into());
        assert!(Arc::ptr_eq(&one, &shared_table(1, quota, "client".into())));
        assert!(!Arc::ptr_eq(&one, &shared_table(2, quota, "client".into())));
        assert!(!Arc::ptr_eq(&one, &shared_table(1, quota, "route".into())));
        let other = RateQuota { burst: 4, ..quota };
        assert!(!Arc::ptr_eq(&one, &shared_table(1, other, "client".into())));
        assert_eq!(allowed(&one, 1, 0, 9), 3);
        drop(one);
        assert_eq!(allowed(&shared_table(1, quota, "client".into()), 1, 0, 9), 3);
    }
}
