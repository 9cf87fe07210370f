//! The trait that everything hangs on.

pub(crate) mod answer;
pub(crate) mod change;
pub(crate) mod condition;
pub(crate) mod context;
pub(crate) mod error;
pub(crate) mod fetch;
pub(crate) mod keys;
pub(crate) mod migration;
pub(crate) mod outcome;
pub(crate) mod queues;
pub(crate) mod records;
pub(crate) mod transaction;
pub(crate) mod verb;
pub(crate) mod watchers;
pub(crate) mod without;

use crate::{
    Answer, Attributes, BulkChange, Changes, Conditions, Content, Context, Entry, Error,
    FetchAnswer, FetchRequest, Isolation, KeyPage, KeyRange, Migration, Outcome, Query, Queues,
    Records, Reference, Shape, Transaction, Value, Verb, Verbs,
};
use std::rc::Rc;
use std::time::Duration;

/// A store answers verbs on references. Every store and combinator behaves as written here; the
/// conformance suite (feature `conformance`) checks it against the memory store.
///
/// A store is used by one worker thread and shared by [`Rc`]. Verbs of one store may overlap when
/// they answer later; each is atomic for itself: a reader sees the content before a put or after
/// it, never a mixture, and a cancelled put either happened as a whole or not at all.
pub trait Store {
    /// Reads. A missing reference answers `None`, not an error.
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>>;

    /// Replaces or creates, with the collections above it. Content that was put is what the next get
    /// answers, with the same media type where the store keeps one. Putting a stream reads it to
    /// its end; a stream that fails leaves the old content.
    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let _ = (content, context);
        Error::not_allowed(Verb::Put, reference).into()
    }

    /// Adds to the collection at the reference (inserts a row, appends to a list or a file).
    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let _ = (content, context);
        Error::not_allowed(Verb::Post, reference).into()
    }

    /// Changes a part: the fields of a record that the content names, the others stay. Merging
    /// into a missing reference is [`crate::Kind::NotFound`].
    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let _ = (content, context);
        Error::not_allowed(Verb::Merge, reference).into()
    }

    /// Asks who may do a verb once more, without doing it, before an answer to it is repeated: the guards of the
    /// store, of which the answer has passed `guards`. Errors are those of the guards.
    fn readmit(
        &self,
        verb: Verb,
        reference: &Reference,
        content: Content,
        guards: u32,
        context: &Context,
    ) -> Answer<()> {
        let _ = (verb, reference, content, guards, context);
        Answer::ok(())
    }

    /// Removes. Answers whether there was something; removing a missing reference is no error.
    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        let _ = context;
        Error::not_allowed(Verb::Delete, reference).into()
    }

    /// The children, ordered by name (bytewise), without duplicates. `None` where the reference is
    /// no collection: a leaf or missing.
    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        let _ = context;
        Error::not_allowed(Verb::List, reference).into()
    }

    /// The leaves at all levels below the reference, in byte order of the whole key: one page.
    /// `None` from a store without a listing of its own; [`crate::list_keys`] then walks over
    /// [`Store::list`].
    fn keys(
        &self,
        reference: &Reference,
        range: &KeyRange,
        context: &Context,
    ) -> Answer<Option<KeyPage>> {
        let _ = (reference, range, context);
        Answer::ok(None)
    }

    /// Whether a post here adds its bytes to those of the content, whatever they mean. Must not wait.
    fn appends(&self, reference: &Reference) -> bool {
        let _ = reference;
        false
    }

    /// Whether content that is put here keeps its media type and its [`Content::metadata`], so that
    /// the next get answers them. Must not wait.
    fn keeps_metadata(&self, reference: &Reference) -> bool {
        let _ = reference;
        false
    }

    /// Replaces the attributes of the content and leaves the content itself. Whether the entity tag
    /// changes is the store's choice. Missing content is [`crate::Kind::NotFound`]. A store
    /// that does not keep attributes ([`Store::keeps_metadata`]) answers
    /// [`crate::Kind::NotAllowed`].
    fn annotate(
        &self,
        reference: &Reference,
        attributes: Attributes,
        context: &Context,
    ) -> Answer<Outcome> {
        let _ = (attributes, context);
        Error::not_allowed(Verb::Put, reference).into()
    }

    /// Moves content with its attributes to another reference, in one step for every reader, and
    /// replaces existing content. Makes the collections above it. Answers whether there was content
    /// to move; `only_if` of the context is about the target. A store whose move would be a copy
    /// answers [`crate::Kind::NotAllowed`], and the caller copies.
    fn relocate(&self, from: &Reference, to: &Reference, context: &Context) -> Answer<bool> {
        let _ = (to, context);
        Error::not_allowed(Verb::Put, from).into()
    }

    /// An address with which anyone may do one verb with the content — get, put or delete — until the
    /// validity is over. A store without such addresses answers [`crate::Kind::NotAllowed`].
    fn presign(
        &self,
        reference: &Reference,
        verb: Verb,
        validity: Duration,
        context: &Context,
    ) -> Answer<String> {
        let _ = (verb, validity, context);
        no_address(reference).into()
    }

    /// Sends a request of HTTP to the server of the reference; every status is an answer. A store that
    /// is no part of the web answers [`crate::Kind::NotAllowed`].
    fn fetch(
        &self,
        reference: &Reference,
        request: FetchRequest,
        context: &Context,
    ) -> Answer<FetchAnswer> {
        let _ = (request, context);
        fetch::no_web(reference).into()
    }

    /// Runs a query over the collection at the reference. A store that cannot answers
    /// [`crate::Kind::NotAllowed`], and the caller runs it over the elements it gets.
    fn query(&self, reference: &Reference, query: &Query, context: &Context) -> Answer<Content> {
        let _ = (query, context);
        Error::not_allowed(Verb::Query, reference).into()
    }

    /// Streams changes at the reference and below it, starting when the answer is ready. The stream
    /// covers every write that the store can see, by any writer. Several quick writes to a
    /// reference may be reported as one change, and a write without effect may be reported too. No
    /// change is missed. At most [`crate::WAITING_CHANGES`] are queued for each watcher.
    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        let _ = context;
        Error::not_allowed(Verb::Watch, reference).into()
    }

    /// Tables, statements and transactions, in a store that has them.
    fn tables(&self) -> Option<&dyn Tables> {
        None
    }

    /// Queues and streams, in a store that has them.
    fn queues(&self) -> Option<&dyn Queues> {
        None
    }

    /// The verbs that make sense on a reference, for 405 and OPTIONS. Must not wait.
    fn verbs(&self, reference: &Reference) -> Verbs {
        let _ = reference;
        Verbs::ALL
    }

    /// The write conditions ([`Context::only_if`]) that the store supports at the reference. Other
    /// conditions are refused ([`Conditions::admit`]), never ignored. Must not wait.
    fn conditions(&self, reference: &Reference) -> Conditions {
        let _ = reference;
        Conditions::None
    }

    /// The store of the reference and everything below it, with no way out of it: not by `..`, and
    /// by symbolic links only where `links` allows links that stay within it. Must not wait. There
    /// is no default: a wrapper that forgot this would open what its source protects.
    fn confined(&self, reference: &Reference, links: bool) -> Confinement;

    /// For a runtime that wants its own store back; `None` for all others.
    fn as_any(&self) -> Option<&dyn std::any::Any> {
        None
    }

    /// A description in a word or two, for graphs and logs: `memory`, `disk /srv/www`.
    fn describe(&self) -> String;

    /// The stores it is made of, for graphs: a label and the store.
    fn sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        Vec::new()
    }
}

/// The error of a store without presigned addresses.
pub fn no_address(reference: &Reference) -> Error {
    let message = format!("{reference} has no presigned addresses; a store of S3 has them");
    Error::new(crate::Kind::NotAllowed, message)
}

/// How a store keeps its readers below a reference: the answer of [`Store::confined`].
pub enum Confinement {
    /// The store has no links and resolves no `..`: it is confined as it is.
    Inherent,
    /// The store to use instead, with the reference as its root.
    By(Rc<dyn Store>),
    /// No such collection exists now. It may be created later.
    Missing,
    /// The store cannot keep its readers below the reference.
    Impossible,
}

/// Collections with a shape, statements and transactions: what a database adds to [`Store`].
pub trait Tables {
    /// Adds many records to the collection at the reference, all or none, and answers how many.
    /// The records are read while they are stored, so memory does not bound their number.
    fn insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64>;

    /// Changes or deletes all elements that a query selects, all or none. Answers how many or, where the query names
    /// fields, a list of records: these fields of the elements as they are then, and of deleted ones as they were
    /// (`*` for all fields). The query has a filter with its relations, an order and a limit, nothing else.
    fn change_all(
        &self,
        reference: &Reference,
        query: &Query,
        change: &BulkChange,
        context: &Context,
    ) -> Answer<Value>;

    /// The statement of a query in the store's own language: a record of `statement` and `parameters`. With
    /// `plan` a text, how the store would run it.
    fn explain(
        &self,
        reference: &Reference,
        query: &Query,
        plan: bool,
        context: &Context,
    ) -> Answer<Value>;

    /// Runs a statement in the store's own language (SQL) with positional parameters. A read
    /// returns its rows, a write the number of changed rows.
    fn run(
        &self,
        reference: &Reference,
        statement: &str,
        parameters: Vec<Value>,
        context: &Context,
    ) -> Answer<Content>;

    /// Runs the steps of a migration, each as a whole, as [`crate::MigrationAct`] says. Two callers at once take
    /// turns. A known step with other statements, and a new step before an applied one, is
    /// [`crate::Kind::Conflict`].
    fn migrate(
        &self,
        reference: &Reference,
        migration: Migration,
        context: &Context,
    ) -> Answer<Vec<String>>;

    /// The store of a collection of one shape, made if it does not exist: a table for a class.
    fn define(&self, reference: &Reference, shape: &Shape) -> Answer<Rc<dyn Store>>;

    /// The store of bytes by key with the name of the reference, created if it does not exist: tables
    /// for content of any kind and length.
    fn key_value_store(&self, reference: &Reference) -> Answer<Rc<dyn Store>>;

    /// The whole database as it is now, as a file that is complete in itself: checked, and
    /// consistent while others write.
    fn snapshot(&self, reference: &Reference, context: &Context) -> Answer<Content>;

    /// Ships the changes of the whole database from now on into a folder of another store, as states that
    /// can be restored. Answers once the target has taken something, or some seconds later.
    fn back_up(
        &self,
        reference: &Reference,
        order: BackupOrder,
    ) -> Answer<Rc<dyn ContinuousBackup>>;

    /// Gives unused space back to the system, and counts what is in the tables anew, so that queries
    /// find the best way.
    fn vacuum(&self, reference: &Reference, context: &Context) -> Answer<()>;

    /// Begins a transaction; the context carries the one around it, if there is one. Without an
    /// isolation it has that of the one around it, or is serializable.
    ///
    /// An error of kind [`crate::Kind::Conflict`] that is temporary, from a verb in it or from its
    /// commit, means that all of it may be tried again.
    fn begin(
        &self,
        reference: &Reference,
        isolation: Option<Isolation>,
        context: &Context,
    ) -> Answer<Rc<dyn Transaction>>;
}

/// Where the changes of a database belong, and how they get there.
#[derive(Clone)]
pub struct BackupOrder {
    /// The store of the target.
    pub store: Rc<dyn Store>,
    /// A folder in it.
    pub to: Reference,
    /// A record of options, or nil.
    pub options: Value,
}

/// A continuous backup that runs beside the program until it is stopped or the program ends.
pub trait ContinuousBackup {
    /// The age of the newest state in the target, in seconds: everything that was committed before is in
    /// it. `None` before the first state, and where another process ships.
    fn lag(&self) -> Option<f64>;

    /// What can be restored, the oldest first: records of `from` and `to` in microseconds since 1970, and
    /// the number of `states`.
    fn spans(&self) -> Answer<Value>;

    /// Ships what is left and stops.
    ///
    /// # Errors
    /// What is left could not be shipped in time.
    fn stop(&self) -> Answer<()>;
}

impl dyn Store + '_ {
    /// The tables of the store, or the error of a store without tables.
    ///
    /// # Errors
    /// [`crate::Kind::NotAllowed`].
    pub fn tables_for(&self, verb: Verb, reference: &Reference) -> crate::Result<&dyn Tables> {
        self.tables().ok_or_else(|| Error::not_allowed(verb, reference))
    }

    /// Asks the queues of the store, or refuses where it has none.
    pub fn with_queues<T>(
        &self,
        verb: Verb,
        reference: &Reference,
        ask: impl FnOnce(&dyn Queues) -> Answer<T>,
    ) -> Answer<T> {
        match self.queues() {
            Some(queues) => ask(queues),
            None => {
                let message = "only Redis and NATS have queues and streams; a table has jobs";
                Error::new(crate::Kind::NotAllowed, message).on(verb, reference).into()
            }
        }
    }

    /// Asks the tables of the store, or refuses where it has none.
    pub fn with_tables<T>(
        &self,
        verb: Verb,
        reference: &Reference,
        ask: impl FnOnce(&dyn Tables) -> Answer<T>,
    ) -> Answer<T> {
        match self.tables_for(verb, reference) {
            Ok(tables) => ask(tables),
            Err(error) => error.into(),
        }
    }
}
