//! The trait that everything hangs on.

pub(crate) mod answer;
pub(crate) mod change;
pub(crate) mod condition;
pub(crate) mod error;
pub(crate) mod keys;
pub(crate) mod outcome;
pub(crate) mod records;
pub(crate) mod tables;
pub(crate) mod transaction;
pub(crate) mod watchers;
pub(crate) mod without;

use crate::{
    Answer, Changes, Condition, Conditions, Content, EntityTag, Error, KeyPage, KeyRange, Outcome,
    Query, Reference, Tables, Text, Transaction,
};
use std::rc::Rc;
use std::time::Instant;

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

    /// Runs a query over the collection at the reference. A store that cannot answers
    /// [`crate::Kind::NotAllowed`], and the caller runs it over the elements it gets.
    fn query(&self, reference: &Reference, query: &Query, context: &Context) -> Answer<Content> {
        let _ = (query, context);
        Error::not_allowed(Verb::Query, reference).into()
    }

    /// Tells of changes at the reference and below it, from the moment of the answer on: whatever
    /// is written after that is told, by whomever the store can see. Changes may be told once for
    /// several writes of a reference in quick succession, and a write may be told though it changed
    /// nothing, but never the other way round. At most [`crate::WAITING_CHANGES`] wait for a watcher.
    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        let _ = context;
        Error::not_allowed(Verb::Watch, reference).into()
    }

    /// Tables, statements and transactions, in a store that has them.
    fn tables(&self) -> Option<&dyn Tables> {
        None
    }

    /// The verbs that make sense on a reference, for 405 and OPTIONS. Must not wait.
    fn verbs(&self, reference: &Reference) -> Verbs {
        let _ = reference;
        Verbs::ALL
    }

    /// The conditions of writes ([`Context::only_if`]) that are kept at the reference. One that is
    /// not is refused ([`Conditions::admit`]), never ignored. Must not wait.
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

    /// What it is, in a word or two, for graphs and logs: `memory`, `disk /srv/www`.
    fn describe(&self) -> String;

    /// The stores it is made of, for graphs: a label and the store.
    fn sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        Vec::new()
    }
}

/// A child in a listing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its name within the parent, without slashes.
    pub name: String,
    /// Whether it has (or can have) children of its own.
    pub collection: bool,
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
    /// Tell of changes.
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

/// What a caller says beside the reference. The default asks for nothing special.
#[derive(Clone, Default)]
pub struct Context {
    /// The validator of what the caller has: a store that knows its own cheaply may answer
    /// [`crate::Body::Empty`] with the same tag instead of the content.
    pub known: Option<EntityTag>,
    /// What has to be so for a put, merge or delete to happen ([`Store::conditions`]). Posts may keep
    /// or refuse it; reads do not look at it.
    pub only_if: Option<Condition>,
    /// When the caller stops waiting. Stores that wait for others should stop by then.
    pub deadline: Option<Instant>,
    /// The HTTP exchange this is part of, for programs that look at requests.
    pub exchange: Option<Rc<dyn Exchange>>,
    /// The innermost transaction that the caller is in.
    pub transaction: Option<Rc<dyn Transaction>>,
    /// Set where the content of a write came from a client of a server.
    pub from_client: Option<ClientContent>,
}

/// Content that a client sent: it obeys the class of its table.
#[derive(Clone, Debug, Default)]
pub struct ClientContent {
    /// The fields that the program has set in it, which may be any of the class.
    pub granted: Option<Rc<[String]>>,
    /// The text that the client sent, where it was read at once.
    pub text: Option<bytes::Bytes>,
}

impl ClientContent {
    /// The fields that the program has set.
    pub fn granted(&self) -> &[String] {
        self.granted.as_deref().unwrap_or_default()
    }
}

impl Context {
    /// Refuses a condition, for stores and verbs that keep none.
    ///
    /// # Errors
    /// [`crate::Kind::NotAllowed`] when there is a condition.
    pub fn unconditional(&self, verb: Verb, reference: &Reference) -> crate::Result<()> {
        Conditions::None.admit(self.only_if.as_ref(), verb, reference)
    }

    /// Charges the request for memory of the engine, such as that of parsed values, until the values
    /// are collected after its end. Programs outside of requests have the engine's limit alone.
    ///
    /// # Errors
    /// As [`crate::Held::add`].
    pub fn hold(&self, bytes: usize) -> crate::Result<()> {
        match self.exchange.as_ref().and_then(|exchange| exchange.allowance()) {
            Some(allowance) => allowance.hold(bytes),
            None => Ok(()),
        }
    }

    /// Charges the request for the engine's copy of content that has arrived, as [`Context::hold`].
    ///
    /// # Errors
    /// As [`crate::Held::add_arriving`].
    pub fn hold_arrived(&self, bytes: usize) -> crate::Result<()> {
        match self.exchange.as_ref().and_then(|exchange| exchange.allowance()) {
            Some(allowance) => allowance.hold_arrived(bytes),
            None => Ok(()),
        }
    }

    /// Whether content is the short answer to a caller who has it already: [`crate::Body::Empty`]
    /// with the tag that the caller knows.
    pub fn knows(&self, content: &Content) -> bool {
        self.known.is_some()
            && self.known == content.entity_tag
            && matches!(content.body, crate::Body::Empty)
    }
}

/// A request being answered, as a program may see it: the schemes `query:`, `header:`, `cookie:`,
/// `form:`, `body:` and `response:`.
pub trait Exchange {
    /// The method, such as `GET`.
    fn method(&self) -> &str;
    /// The path with its query, as sent.
    fn target(&self) -> &str;
    /// The address of the client.
    fn peer(&self) -> String;
    /// A parameter of the query, unescaped; the first when it stands twice.
    fn query(&self, name: &str) -> Option<String>;
    /// A header of the request; several fields of a name are joined by `, `.
    fn header(&self, name: &str) -> Option<String>;
    /// All headers of the request by their names in small letters, in the order in which the
    /// names first came; several fields of a name are joined as [`Exchange::header`] does.
    fn headers(&self) -> Vec<(String, String)> {
        Vec::new()
    }
    /// A cookie of the request.
    fn cookie(&self, name: &str) -> Option<String>;
    /// The first field of a name in a form body: text, or for a file a record of `name`,
    /// `mediaType` and `data`. All fields, as a record with a list for a name that stands more than
    /// once, where the name is empty.
    ///
    /// # Errors
    /// [`Kind::Invalid`](crate::Kind::Invalid) for a malformed form,
    /// [`Kind::TooLarge`](crate::Kind::TooLarge) for one above the limits of forms.
    fn form(&self, name: &str) -> crate::Result<Option<crate::Value>>;
    /// The body of the request as it came.
    fn body(&self) -> Option<Text>;
    /// The name of the request that log lines of all servers share, where it has one.
    fn id(&self) -> Option<String> {
        None
    }
    /// What this request may hold of the memory of all requests, where it is counted.
    fn allowance(&self) -> Option<&crate::Allowance> {
        None
    }
    /// A program says which of its patterns answers, such as `/item/:id`, for those who count.
    fn set_route(&self, pattern: &str) {
        let _ = pattern;
    }
    /// A call to another server begins that is made for this request. `None` where nobody follows
    /// it. The target has no query and no password.
    fn calling(&self, method: &str, target: &str) -> Option<Box<dyn Calling>> {
        let _ = (method, target);
        None
    }
    /// Sets the status of the answer.
    fn set_status(&self, status: u16);
    /// Sets a header of the answer; an invalid name or value is an error.
    fn set_header(&self, name: &str, value: &str) -> crate::Result<()>;
    /// Takes back what was set: a header by its name, or the `status`.
    fn unset(&self, name: &str) {
        let _ = name;
    }
}

/// A call to another server while it is under way: dropping it says that the call was given up.
pub trait Calling {
    /// Headers that the call carries, so that the other server's work belongs to the same trace.
    fn headers(&self) -> Vec<(&'static str, String)>;
    /// The head of the answer came, with this status, or none will come.
    fn ended(self: Box<Self>, outcome: std::result::Result<u16, &crate::Error>);
}
