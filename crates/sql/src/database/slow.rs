//! Slow statements in the log: the text with its placeholders and the place in the program, never the values.

use runnel_store::ProgramPlace;
use std::cell::Cell;
use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Statements that take this long are logged, unless the options of the database say otherwise.
pub const SLOW_STATEMENT: Duration = Duration::from_secs(1);

/// Statements whose slowness is remembered, so that each is logged once.
const REMEMBERED: usize = 1000;

/// The longest part of a statement that is logged.
const SHOWN: usize = 2000;

static LOGGED: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);

thread_local! {
    /// The time from which on statements of the database that this thread works for are slow.
    static THRESHOLD: Cell<Duration> = const { Cell::new(SLOW_STATEMENT) };
}

/// Sets the time from which on the next statements of this thread are slow.
pub(crate) fn set_threshold(threshold: Duration) {
    THRESHOLD.set(threshold);
}

/// A statement that runs. It is logged when this is dropped, if it was slow.
pub(crate) struct RunningStatement<'a> {
    sql: &'a str,
    place: ProgramPlace,
    threshold: Duration,
    since: Instant,
}

impl<'a> RunningStatement<'a> {
    /// A statement of a thread that works for one database: see [`set_threshold`].
    pub(crate) fn start(sql: &'a str, place: ProgramPlace) -> Self {
        RunningStatement::start_with(sql, place, THRESHOLD.get())
    }

    pub(crate) fn start_with(sql: &'a str, place: ProgramPlace, threshold: Duration) -> Self {
        RunningStatement { sql, place, threshold, since: Instant::now() }
    }
}

impl Drop for RunningStatement<'_> {
    fn drop(&mut self) {
        let elapsed = self.since.elapsed();
        if elapsed < self.threshold {
            return;
        }
        let mut logged = LOGGED.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.len() >= REMEMBERED || !logged.insert(self.sql.to_string()) {
            return;
        }
        let statement: String = self.sql.chars().take(SHOWN).collect();
        let (seconds, place) = (elapsed.as_secs_f32(), self.place.text());
        tracing::warn!(seconds, place = place.as_deref(), statement, "slow statement");
    }
}

/// The place that asked last, for statements that several places share. It is no part of what a statement is.
#[derive(Debug, Default)]
pub(crate) struct LatestPlace(AtomicU32);

impl LatestPlace {
    pub(crate) fn set(&self, place: ProgramPlace) {
        self.0.store(place.number(), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> ProgramPlace {
        ProgramPlace::numbered(self.0.load(Ordering::Relaxed))
    }
}

impl PartialEq for LatestPlace {
    fn eq(&self, _: &LatestPlace) -> bool {
        true
    }
}
