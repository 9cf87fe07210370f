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
pub struct Verbs(u32);

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
        Verbs(self.0 & !(1 << verb as u8) & !Verbs::stream_bit(verb))
    }

    /// The set with a writing verb that takes its content while it arrives.
    pub const fn with_streamed(self, verb: Verb) -> Self {
        Verbs(self.with(verb).0 | Verbs::stream_bit(verb))
    }

    /// Whether the verb takes its content while it arrives, whatever its size: a server calls it as soon as
    /// the head of a request is there. Other verbs may get small content in one piece.
    pub const fn streams(self, verb: Verb) -> bool {
        self.0 & Verbs::stream_bit(verb) != 0
    }

    /// The set of a reverse proxy: a server relays requests here as they are, in any method, with their
    /// headers and their body ([`Verbs::relays`]).
    pub const fn with_relay(self) -> Self {
        Verbs(self.0 | Verbs::RELAY)
    }

    /// The same verbs, but requests are not relayed.
    pub const fn without_relay(self) -> Self {
        Verbs(self.0 & !Verbs::RELAY)
    }

    /// Whether requests here are relayed as they are. The verb then only asks the stores on the way,
    /// and the request and its answer travel in the exchange of the context.
    pub const fn relays(self) -> bool {
        self.0 & Verbs::RELAY != 0
    }

    /// The set of a store that may ask who asks, such as a program's handlers: whether it takes a write, and what
    /// it answers, is known for that visitor alone ([`crate::RecordingExchange`]).
    pub const fn with_visitor(self) -> Self {
        Verbs(self.0 | Verbs::VISITOR)
    }

    /// Whether the store may ask who asks. A layer that answers for it has to ask it first.
    pub const fn asks_visitor(self) -> bool {
        self.0 & Verbs::VISITOR != 0
    }

    /// The set of a store with a guard before each read: a guard, or a scheme with a guard before each `get`.
    pub const fn with_guard(self) -> Self {
        Verbs(self.with_visitor().0 | Verbs::GUARD)
    }

    /// Whether each read passes a guard.
    pub const fn is_guarded(self) -> bool {
        self.0 & Verbs::GUARD != 0
    }

    /// The set of a store that is meant to be listed: by a handler of the program, or an option. A server
    /// lists other stores only where it is told to, for the names in them may be all that protects their content.
    pub const fn with_public_list(self) -> Self {
        Verbs(self.with(Verb::List).0 | Verbs::PUBLIC_LIST)
    }

    /// The same verbs, but the list is not meant for clients.
    pub const fn without_public_list(self) -> Self {
        Verbs(self.0 & !Verbs::PUBLIC_LIST)
    }

    /// Whether the store is meant to be listed.
    pub const fn lists_in_public(self) -> bool {
        self.has(Verb::List) && self.0 & Verbs::PUBLIC_LIST != 0
    }

    const RELAY: u32 = 1 << 13;
    const VISITOR: u32 = 1 << 14;
    const GUARD: u32 = 1 << 15;
    const PUBLIC_LIST: u32 = 1 << 16;

    /// The bits behind those of the verbs, for the three that carry content.
    const fn stream_bit(verb: Verb) -> u32 {
        match verb {
            Verb::Put => 1 << 10,
            Verb::Post => 1 << 11,
            Verb::Merge => 1 << 12,
            _ => 0,
        }
    }

    /// Whether no verb is in the set.
    pub const fn is_empty(self) -> bool {
        self.0 & Verbs::ALL.0 == 0
    }

    /// Whether the verb is in the set.
    pub const fn has(self, verb: Verb) -> bool {
        self.0 & (1 << verb as u8) != 0
    }
}
