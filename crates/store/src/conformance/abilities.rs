//! What a store under test can do.

use crate::Conditions;
use std::time::Duration;

/// What a store can do beyond the least that every store can: get, put and delete text at paths of
/// several parts. Start from [`Abilities::ALL`] and take away what it lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Abilities {
    /// As what content comes back.
    pub keeps: Keeps,
    /// Bytes that are no text come back.
    pub binary: bool,
    /// Empty content comes back empty.
    pub empty: bool,
    /// There can be content at a path that has others below it. Without, it is a conflict.
    pub inner_content: bool,
    /// Collections can be listed. Without, nothing is asked of listings.
    pub listing: bool,
    /// A collection is gone with the last thing in it. Without, it stays and is listed.
    pub collections_vanish: bool,
    /// Putting nil deletes.
    pub nil_deletes: bool,
    /// What a post does.
    pub posting: Posting,
    /// Merges change fields of records.
    pub merge: bool,
    /// Queries run over lists of records.
    pub query: bool,
    /// The media type that was put comes back.
    pub media_types: bool,
    /// Attributes that were put come back ([`crate::Store::keeps_metadata`]), can be replaced
    /// alone, and are copied with the content.
    pub attributes: bool,
    /// Content can be moved ([`crate::Store::relocate`]).
    pub relocation: bool,
    /// Content has entity tags.
    pub entity_tags: bool,
    /// The conditions of writes that are kept. Others are refused.
    pub conditions: Conditions,
    /// Names can have any characters but slashes.
    pub odd_names: bool,
    /// A put that is given up does nothing any more. Without, the work may be done elsewhere and
    /// go on.
    pub cancels_at_once: bool,
    /// Watches report changes. Without this ability, a watch is refused.
    pub watch: bool,
    /// Every change is reported separately and in order. Without this ability, the order may
    /// differ, and two changes of one reference may be reported as one.
    pub watch_in_order: bool,
    /// A watcher that does not listen can be overrun: more changes than wait for one are made in
    /// a moment.
    pub watch_overruns: bool,
    /// How long a change may take to be told before the store fails: generous, because nothing
    /// waits longer than it has to.
    pub watch_delay: Duration,
    /// The largest content that is tried, in bytes.
    pub large: usize,
    /// How many random lists of operations are run: fewer where every step asks a slow server.
    pub random_lists: u64,
}

/// As what content comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeps {
    /// As it was put: values as values.
    Values,
    /// As what a person reads ([`crate::Form::Text`]).
    Text,
    /// As JSON text; and bytes that are put have to be JSON.
    Json,
}

/// What a post does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Posting {
    /// Nothing that the suite could check.
    Other,
    /// What [`crate::Memory`] does: adds to lists, makes them where nothing is.
    Lists,
    /// Adds bytes to bytes.
    Appends,
}

impl Abilities {
    /// Everything that the memory store can do.
    pub const ALL: Abilities = Abilities {
        keeps: Keeps::Values,
        binary: true,
        empty: true,
        inner_content: true,
        listing: true,
        collections_vanish: true,
        nil_deletes: true,
        posting: Posting::Lists,
        merge: true,
        query: true,
        media_types: true,
        attributes: true,
        relocation: true,
        entity_tags: true,
        conditions: Conditions::Tags,
        odd_names: true,
        cancels_at_once: true,
        watch: true,
        watch_in_order: true,
        watch_overruns: true,
        watch_delay: Duration::from_secs(30),
        large: 3 << 20,
        random_lists: 20,
    };
}
