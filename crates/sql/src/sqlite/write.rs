//! Writing: the thread that owns the writing connection, the group commit, transactions, and the
//! change feed that reports what they committed.

pub(crate) mod backlog;
pub(crate) mod change;
pub(crate) mod change_feed;
pub(crate) mod condition;
pub(crate) mod insert;
pub(crate) mod job;
pub(crate) mod queue;
pub(crate) mod removed_rows;
pub(crate) mod reply;
pub(crate) mod shared;
pub(crate) mod transaction;
pub(crate) mod transaction_reads;
pub(crate) mod vacuum;
pub(crate) mod watch;
pub(crate) mod writer;
