//! Several verbs that happen together or not at all.

use crate::Answer;
use std::any::Any;
use std::rc::Rc;

/// A transaction under way, made by [`crate::Tables::begin`]. Verbs whose [`crate::Context`] carries
/// it are part of it when they reach the store that made it; all other stores pay no attention to
/// it. Dropping it rolls back.
pub trait Transaction {
    /// Makes everything in it happen: durable, and seen by others, when it answers well. An error
    /// means that nothing of it happened.
    fn commit(&self) -> Answer<()>;

    /// Gives everything in it up.
    fn roll_back(&self) -> Answer<()>;

    /// The transaction around this one: of another store, or of the same, which then makes the
    /// inner one a savepoint.
    fn outer(&self) -> Option<&Rc<dyn Transaction>>;

    /// For the store that made it.
    fn as_any(&self) -> &dyn Any;
}
