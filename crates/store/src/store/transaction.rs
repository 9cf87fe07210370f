//! Several verbs that happen together or not at all.

use crate::Answer;
use std::any::Any;
use std::rc::Rc;

/// What a transaction may see of others (SQL:1999; Berenson et al., "A Critique of ANSI SQL Isolation
/// Levels", 1995), the weakest first. A store gives the requested one, or a stronger one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Isolation {
    /// Each statement sees what was committed before it.
    ReadCommitted,
    /// All statements see the same state of the database.
    RepeatableRead,
    /// As if transactions ran one after the other.
    #[default]
    Serializable,
}

impl Isolation {
    /// All of them, with the names that SQL gives them.
    pub const ALL: [(Isolation, &str); 3] = [
        (Isolation::ReadCommitted, "read committed"),
        (Isolation::RepeatableRead, "repeatable read"),
        (Isolation::Serializable, "serializable"),
    ];

    /// The level of a name.
    pub fn named(name: &str) -> Option<Isolation> {
        Isolation::ALL.into_iter().find(|(_, known)| *known == name).map(|(level, _)| level)
    }

    /// The name in SQL.
    pub fn name(self) -> &'static str {
        Isolation::ALL.into_iter().find(|(level, _)| *level == self).map_or("", |(_, name)| name)
    }
}

/// An open transaction, created by [`crate::Tables::begin`]. A verb whose [`crate::Context`]
/// carries it joins it in the store that created it; all other stores ignore it. Dropping it rolls
/// back.
pub trait Transaction {
    /// Makes everything in it happen: durable, and seen by others, when it answers well. An error
    /// means that nothing of it happened, unless it is [`crate::Kind::InDoubt`].
    fn commit(&self) -> Answer<()>;

    /// Gives everything in it up.
    fn roll_back(&self) -> Answer<()>;

    /// The transaction around this one: of another store, or of the same, which then makes the
    /// inner one a savepoint.
    fn outer(&self) -> Option<&Rc<dyn Transaction>>;

    /// For the store that made it.
    fn as_any(&self) -> &dyn Any;
}
