//! Several verbs that happen together or not at all.

use crate::Answer;
use std::any::Any;
use std::rc::Rc;

/// An open transaction, created by [`crate::Tables::begin`]. A verb whose [`crate::Context`]
/// carries it joins it in the store that created it; all other stores ignore it. Dropping it rolls
/// back.
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
