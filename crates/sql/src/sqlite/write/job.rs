//! A write on its way through the writer.

use crate::sqlite::fault::SqlFault;
use rusqlite::Connection;
use std::time::Instant;

/// A piece of writing, from the queue to its answer. It may run more than once; only what its
/// last run did is committed and answered.
pub(crate) trait WriteJob: Send {
    /// Whether its caller has given up, or its deadline has passed.
    fn is_obsolete(&self) -> bool;
    fn deadline(&self) -> Option<Instant>;
    /// Runs it and remembers its result; answers whether it went well.
    fn run(&mut self, connection: &Connection) -> bool;
    /// Why it did not go well.
    fn fault(&self) -> Option<&SqlFault>;
    /// Replaces the result by a failure.
    fn fail(&mut self, fault: SqlFault);
    /// Sends the result to the caller.
    fn answer(self: Box<Self>);
}
