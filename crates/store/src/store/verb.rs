//! The verbs of a store.

/// The verbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verb {
    /// Read.
    Get,
    /// Replace or create.
    Put,
    /// Add to a collection.
    Post,
    /// Change a part.
    Merge,
    /// Remove.
    Delete,
    /// Children.
    List,
    /// Run a query.
    Query,
    /// Make a collection of a shape.
    Define,
    /// Stream changes.
    Watch,
    /// Begin a transaction.
    Begin,
}

impl Verb {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::Put => "put",
            Verb::Post => "post",
            Verb::Merge => "merge",
            Verb::Delete => "delete",
            Verb::List => "list",
            Verb::Query => "query",
            Verb::Define => "define",
            Verb::Watch => "watch",
            Verb::Begin => "begin",
        }
    }
}

/// A set of verbs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verbs(u16);

impl Verbs {
    /// No verb.
    pub const NONE: Verbs = Verbs(0);
    /// Every verb.
    pub const ALL: Verbs = Verbs(0x3ff);

    /// The set with one verb more.
    pub const fn with(self, verb: Verb) -> Self {
        Verbs(self.0 | 1 << verb as u8)
    }

    /// The set without a verb.
    pub const fn without(self, verb: Verb) -> Self {
        Verbs(self.0 & !(1 << verb as u8))
    }

    /// Whether the verb is in the set.
    pub const fn has(self, verb: Verb) -> bool {
        self.0 & (1 << verb as u8) != 0
    }
}
