//! Metrics of stores that talk to databases and other servers. `observe` reads them; the stores do
//! not depend on it.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The places of each kind that are counted by their own names; others are counted together, as
/// [`OTHER_PLACES`]. So a program that asks any number of hosts does not fill the memory.
pub const COUNTED_PLACES: usize = 64;

/// The name under which the places beyond [`COUNTED_PLACES`] are counted.
pub const OTHER_PLACES: &str = "(other)";

/// The upper bounds of the histogram buckets in [`Waits`], in microseconds.
pub const WAIT_BOUNDS: [u64; 11] =
    [100, 500, 1_000, 5_000, 10_000, 50_000, 100_000, 500_000, 1_000_000, 5_000_000, 10_000_000];

/// The numbers of one place, such as a database or a host, in all workers of the process.
#[derive(Debug)]
pub struct Counters {
    /// What kind of store counts: `sqlite`, `postgres`, `http`, `search`.
    pub kind: &'static str,
    /// Which one: a path, a host or the name of an index, without user and password.
    pub place: String,
    counts: [AtomicU64; Count::ALL.len()],
    levels: [AtomicU64; Level::ALL.len()],
    /// The waiting times for connections, excluding immediate ones.
    pub waits: Waits,
}

/// What only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// Statements that a database ran.
    Statements,
    /// Rows that statements answered.
    Rows,
    /// Reads served from the cache.
    Kept,
    /// Transactions that were committed.
    Commits,
    /// Writes that were committed in them.
    Writes,
    /// Requests to other servers.
    Requests,
    /// Requests that were not answered, or with a status of 500 or more.
    Failures,
    /// Requests that were sent once more.
    Retries,
    /// Connections that were made.
    Opened,
    /// Calls refused because the queue was full.
    Refused,
    /// Calls that timed out in the queue.
    Late,
    /// Records that could not be taken, such as documents of an index.
    SetAside,
}

/// What grows and falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// The maximum number of connections.
    Slots,
    /// Those that are in use.
    Used,
    /// How many wait for one.
    Waiting,
    /// Connections that are open, in use or not.
    Open,
}

impl Count {
    /// All of them.
    pub const ALL: [Count; 12] = [
        Count::Statements,
        Count::Rows,
        Count::Kept,
        Count::Commits,
        Count::Writes,
        Count::Requests,
        Count::Failures,
        Count::Retries,
        Count::Opened,
        Count::Refused,
        Count::Late,
        Count::SetAside,
    ];
}

impl Level {
    /// All of them.
    pub const ALL: [Level; 4] = [Level::Slots, Level::Used, Level::Waiting, Level::Open];
}

/// How many waited how long.
#[derive(Debug, Default)]
pub struct Waits {
    counts: [AtomicU64; WAIT_BOUNDS.len() + 1],
    micros: AtomicU64,
}

impl Waits {
    /// One more.
    pub fn record(&self, time: Duration) {
        let micros = u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        let place = WAIT_BOUNDS.iter().position(|bound| micros <= *bound);
        self.counts[place.unwrap_or(WAIT_BOUNDS.len())].fetch_add(1, Relaxed);
        self.micros.fetch_add(micros, Relaxed);
    }

    /// How many waited up to each bound and longer than the one before it; the last of them longer
    /// than all bounds.
    pub fn counts(&self) -> [u64; WAIT_BOUNDS.len() + 1] {
        std::array::from_fn(|index| self.counts[index].load(Relaxed))
    }

    /// All of it together, in microseconds.
    pub fn micros(&self) -> u64 {
        self.micros.load(Relaxed)
    }
}

impl Counters {
    /// The numbers of a place: the same for the same kind and place, as long as the process lives.
    pub fn of(kind: &'static str, place: &str) -> Arc<Counters> {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let is_of = |one: &&Arc<Counters>, place: &str| one.kind == kind && one.place == place;
        if let Some(known) = all.iter().find(|one| is_of(one, place)) {
            return known.clone();
        }
        let is_full = all.iter().filter(|one| one.kind == kind).count() >= COUNTED_PLACES;
        let place = if is_full { OTHER_PLACES } else { place };
        if let Some(known) = all.iter().find(|one| is_of(one, place)) {
            return known.clone();
        }
        let made = Arc::new(Counters {
            kind,
            place: place.to_string(),
            counts: Default::default(),
            levels: Default::default(),
            waits: Waits::default(),
        });
        all.push(made.clone());
        made
    }

    /// Those of all places, by kind and place.
    pub fn all() -> Vec<Arc<Counters>> {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner).clone();
        all.sort_by(|a, b| (a.kind, &a.place).cmp(&(b.kind, &b.place)));
        all
    }

    /// Adds to a counter.
    pub fn add(&self, count: Count, more: u64) {
        self.counts[count as usize].fetch_add(more, Relaxed);
    }

    /// The same. Returns whether nothing was counted before, which is worth a line of the log.
    pub fn count_first(&self, count: Count, more: u64) -> bool {
        self.counts[count as usize].fetch_add(more, Relaxed) == 0
    }

    /// How many were counted.
    pub fn count(&self, count: Count) -> u64 {
        self.counts[count as usize].load(Relaxed)
    }

    /// Raises a level.
    pub fn rise(&self, level: Level, by: u64) {
        self.levels[level as usize].fetch_add(by, Relaxed);
    }

    /// Lowers a level, by no more than it was raised.
    pub fn fall(&self, level: Level, by: u64) {
        self.levels[level as usize].fetch_sub(by, Relaxed);
    }

    /// Where a level stands.
    pub fn level(&self, level: Level) -> u64 {
        self.levels[level as usize].load(Relaxed)
    }
}

/// Few are made, and none in a hurry.
static ALL: Mutex<Vec<Arc<Counters>>> = Mutex::new(Vec::new());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_has_one_set_of_numbers() {
        let (one, same) = (Counters::of("one", "a"), Counters::of("one", "a"));
        one.add(Count::Rows, 2);
        same.add(Count::Rows, 3);
        assert_eq!((one.count(Count::Rows), one.count(Count::Kept)), (5, 0));
        assert_eq!(Counters::of("two", "a").count(Count::Rows), 0);
        one.rise(Level::Open, 2);
        same.fall(Level::Open, 1);
        assert_eq!(one.level(Level::Open), 1);
        for (index, count) in Count::ALL.into_iter().enumerate() {
            assert_eq!(count as usize, index);
        }
        for (index, level) in Level::ALL.into_iter().enumerate() {
            assert_eq!(level as usize, index);
        }
    }

    #[test]
    fn the_number_of_places_is_bounded() {
        for number in 0..2 * COUNTED_PLACES {
            Counters::of("many", &number.to_string()).add(Count::Requests, 1);
        }
        let all: Vec<_> = Counters::all().into_iter().filter(|one| one.kind == "many").collect();
        assert_eq!(all.len(), COUNTED_PLACES + 1);
        let other = all.iter().find(|one| one.place == OTHER_PLACES);
        assert_eq!(other.map(|one| one.count(Count::Requests)), Some(COUNTED_PLACES as u64));
    }

    #[test]
    fn waits_count_where_they_belong() {
        let waits = Waits::default();
        for micros in [0, 100, 101, 10_000_001] {
            waits.record(Duration::from_micros(micros));
        }
        let counts = waits.counts();
        assert_eq!((counts[0], counts[1], counts[WAIT_BOUNDS.len()]), (2, 1, 1));
        assert_eq!(waits.micros(), 10_000_202);
    }
}
