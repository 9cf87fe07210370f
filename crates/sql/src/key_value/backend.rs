//! What a database system does below a key-value store. Each call is one transaction.

use crate::key_value::entry::{
    EntryWrite, FoundObject, ObjectEntry, ReplacedObject, StoredAttributes, WriteStamp,
};
use bytes::Bytes;
use runnel_store::{Answer, Changes, Condition, Context, Outcome, Reference};

/// The tables of one store. Keys are checked; `context` has the deadline and the transaction of the
/// caller.
pub(crate) trait KeyValueBackend: 'static {
    /// The store and its database, without secrets.
    fn describe(&self) -> String;

    /// A name of the database and the store that is the same for all workers of this process.
    fn place(&self) -> String;

    /// The entry of a key, with its content where that is of one chunk and has another tag.
    fn find(
        &self,
        key: String,
        known: Option<String>,
        context: &Context,
    ) -> Answer<Option<FoundObject>>;

    /// A chunk of an object; `None` where it is gone.
    fn chunk(&self, object: i64, part: u64, context: &Context) -> Answer<Option<Bytes>>;

    /// Makes an object of the first chunks, which no key names yet. Answers its number.
    fn begin(&self, chunks: Vec<Bytes>, stamp: WriteStamp, context: &Context) -> Answer<i64>;

    /// Adds chunks to such an object; the first one has the number `part`.
    fn extend(
        &self,
        object: i64,
        part: u64,
        chunks: Vec<Bytes>,
        stamp: WriteStamp,
        context: &Context,
    ) -> Answer<()>;

    /// Marks such an object for the sweep, without waiting.
    fn abandon(&self, object: i64);

    /// Switches a key to other content, under its condition. Answers what it replaced.
    fn put(&self, write: EntryWrite, context: &Context) -> Answer<Option<ReplacedObject>>;

    /// Adds bytes to the content of a key, or makes it. Answers whether it was there.
    fn append(
        &self,
        key: String,
        bytes: Bytes,
        only_if: Option<Condition>,
        stamp: WriteStamp,
        context: &Context,
    ) -> Answer<bool>;

    /// Removes a key. Answers what it named.
    fn delete(
        &self,
        key: String,
        only_if: Option<Condition>,
        stamp: WriteStamp,
        context: &Context,
    ) -> Answer<Option<ReplacedObject>>;

    /// Replaces the attributes of a key.
    fn annotate(
        &self,
        key: String,
        attributes: StoredAttributes,
        only_if: Option<Condition>,
        context: &Context,
    ) -> Answer<Outcome>;

    /// Moves a key. Answers whether there was one, and what it replaced.
    fn relocate(
        &self,
        from: String,
        to: String,
        only_if: Option<Condition>,
        stamp: WriteStamp,
        context: &Context,
    ) -> Answer<(bool, Option<ReplacedObject>)>;

    /// Entries in byte order of their keys: from a key on, or after it.
    fn page(
        &self,
        start: KeyStart,
        limit: usize,
        metadata: bool,
        context: &Context,
    ) -> Answer<Vec<ObjectEntry>>;

    /// The first key of each child below a prefix, which is empty or ends in a slash, in byte order:
    /// at most `limit`.
    fn children(&self, prefix: String, limit: usize, context: &Context) -> Answer<Vec<String>>;

    /// Frees some chunks of unused objects whose time is over, but not those in use. Answers whether
    /// there may be more.
    fn sweep(&self, in_use: Vec<i64>, now: i64) -> Answer<bool>;

    /// The changes at a key and below it.
    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes>;
}

/// Where a page of keys starts.
#[derive(Clone, Debug)]
pub(crate) enum KeyStart {
    From(String),
    After(String),
}
