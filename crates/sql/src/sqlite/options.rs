//! How a database is opened.

use crate::database::slow::SLOW_STATEMENT;
use std::time::Duration;

/// Connections of one database that read beside the workers' own, unless told otherwise.
pub const POOL_CONNECTIONS: usize = 4;

/// How a database is opened. All openings of one file in a process share its writer, so they have
/// to agree on these.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqliteOptions {
    /// What an answered write survives.
    pub synchronous: Synchronous,
    /// How long to wait for the locks of other processes before a verb fails as temporarily
    /// unavailable.
    pub busy_timeout: Duration,
    /// Whether writing is refused. A file without write permission is read-only by itself.
    pub read_only: bool,
    /// Whether encoded answers are kept while the database has not changed.
    pub cache_answers: bool,
    /// Connections that read beside the workers' own, for all workers together: the number of reads
    /// longer than [`crate::READ_BUDGET`] that run concurrently.
    pub max_connections: usize,
    /// How long such a read waits for one of them, and a write for a place in the writer's queue.
    pub pool_timeout: Duration,
    /// How long a transaction of a program may take. All other writers wait meanwhile; after this it
    /// is rolled back, and its next verb fails.
    pub transaction_time: Duration,
    /// Statements that take this long are logged.
    pub slow_statement_time: Duration,
}

impl Default for SqliteOptions {
    fn default() -> Self {
        SqliteOptions {
            synchronous: Synchronous::Full,
            busy_timeout: Duration::from_secs(5),
            read_only: false,
            cache_answers: true,
            max_connections: POOL_CONNECTIONS,
            pool_timeout: Duration::from_secs(5),
            transaction_time: Duration::from_secs(5),
            slow_statement_time: SLOW_STATEMENT,
        }
    }
}

/// What an answered write survives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// A loss of power: the write-ahead log is flushed to the disk before the answer.
    #[default]
    Full,
    /// A crash of the process, but not of the machine: the log is flushed at checkpoints only.
    Normal,
}

impl Synchronous {
    pub(crate) fn pragma(self) -> &'static str {
        match self {
            Synchronous::Full => "full",
            Synchronous::Normal => "normal",
        }
    }
}
