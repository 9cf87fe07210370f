//! Slow statements in the log: the text with its placeholders, never the values.

use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Statements that take this long are logged.
pub const SLOW_STATEMENT: Duration = Duration::from_secs(1);

/// Statements whose slowness is remembered, so that each is logged once.
const REMEMBERED: usize = 1000;

/// The longest part of a statement that is logged.
const SHOWN: usize = 2000;

static LOGGED: LazyLock<Mutex<HashSet<String>>> = LazyLock::new(Mutex::default);

/// A statement that runs. It is logged when this is dropped, if it was slow.
pub(crate) struct RunningStatement<'a> {
    sql: &'a str,
    since: Instant,
}

impl<'a> RunningStatement<'a> {
    pub(crate) fn start(sql: &'a str) -> Self {
        RunningStatement { sql, since: Instant::now() }
    }
}

impl Drop for RunningStatement<'_> {
    fn drop(&mut self) {
        let elapsed = self.since.elapsed();
        if elapsed < SLOW_STATEMENT {
            return;
        }
        let mut logged = LOGGED.lock().unwrap_or_else(PoisonError::into_inner);
        if logged.len() >= REMEMBERED || !logged.insert(self.sql.to_string()) {
            return;
        }
        let statement: String = self.sql.chars().take(SHOWN).collect();
        tracing::warn!(seconds = elapsed.as_secs_f32(), statement, "slow statement");
    }
}
