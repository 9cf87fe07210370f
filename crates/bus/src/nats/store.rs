//! One server as a store.

use super::follower::NatsFollower;
use super::names::BucketKind;
use super::server::NatsServer;
use super::{bucket, listing, names, object_attributes, objects, streams, subjects, watch};
use crate::address::Address;
use crate::queue::max_length;
use crate::{BusOptions, wait};
use runnel_store::{
    Answer, Attributes, Changes, Conditions, Content, Context, Entry, Error, GroupMember,
    GroupOptions, Kind, Outcome, QueueEnd, Queues, Reference, Result, Store, Verb, Verbs,
    guessed_media_type,
};
use std::rc::Rc;
use std::time::Duration;

/// A NATS server.
///
/// - `kv/BUCKET/key`: **keys and values** (JetStream). A bucket is made by the first put or watch,
///   with a history of one; others are used as they are. The parts of a path are the parts of the
///   key between dots, and characters that a key cannot have are escaped, so that every path has a
///   key of its own (`a.txt` is `a=2Etxt`); keys of other programs that are written differently are
///   not listed. Values are text and bytes; anything else is kept as what a person reads, records
///   and lists as JSON text. The entity tag is the revision. A put of nil deletes; a post adds
///   bytes to bytes; a merge sets fields of a record kept as JSON text. What several do at the same
///   time is done one after the other, and all conditions of writes are kept. A value is no larger
///   than a message of the server (1 MiB unless it says otherwise).
/// - `objects/BUCKET/name`: **objects** (JetStream), streamed both ways, with their media type,
///   metadata and an entity tag. A bucket is made by the first put or watch. A put that fails leaves the old
///   object. Reading a large one fails when it is replaced meanwhile.
/// - `subjects/a/b` or `subjects/a.b`: **subjects**. A post publishes; with the query `?reply` it
///   waits for one reply and answers it. A get is a request without content, and answers `None`
///   without responders. A watch reports every message at the subject and below it, with its
///   content; `*` and `>` in the path are the wildcards of NATS.
/// - `streams/NAME`: **streams** (JetStream). A post adds a message and answers when it is stored;
///   the first one makes the stream, of at most `?maxLength=` messages ([`crate::MAX_LENGTH`]),
///   which are kept until each group of followers has done them. A get answers them as a list.
/// - A **watch** of keys and objects resumes after a lost connection without a gap; a watch of
///   subjects gets a `lost`.
pub struct Nats {
    server: Rc<NatsServer>,
}

/// Where a path leads.
enum NatsPath<'a> {
    Root,
    /// The buckets of keys, or those of objects.
    Buckets(BucketKind),
    /// A bucket, and what is in it; the path is empty at its root.
    In(BucketKind, &'a str, &'a str),
    Subject(&'a str),
    /// The streams.
    Streams,
    Stream(&'a str),
}

impl Nats {
    /// The server of a URL: `nats://user:password@host:port`, `nats://token@host`, or `tls:` where
    /// the connection has to be encrypted; `?credentials=FILE` names a file of credentials.
    /// Nothing is connected yet.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for a URL that is none of these.
    pub fn open(url: &str, options: &BusOptions) -> Result<Rc<Nats>> {
        let (address, credentials) = of_url(url)?;
        Ok(Nats::at(address, credentials, options))
    }

    pub(super) fn at(
        address: Address,
        credentials: Option<String>,
        options: &BusOptions,
    ) -> Rc<Nats> {
        Rc::new(Nats { server: Rc::new(NatsServer::new(address, credentials, options.clone())) })
    }

    fn answer<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        future: impl Future<Output = Result<T>> + 'static,
    ) -> Answer<T> {
        Answer::later(future).on(verb, reference)
    }

    fn deadline(&self, context: &Context) -> std::time::Instant {
        wait::deadline(context, self.server.options.operation_time)
    }
}

/// The address and the credentials of a URL.
pub(super) fn of_url(url: &str) -> Result<(Address, Option<String>)> {
    const SCHEMES: [(&str, bool); 2] = [("nats", false), ("tls", true)];
    let (address, _, query) = Address::of_url(url, &SCHEMES, 4222)?;
    let credentials = query.as_deref().and_then(|query| query.strip_prefix("credentials="));
    Ok((address, credentials.map(str::to_string)))
}

fn place(path: &str) -> Result<NatsPath<'_>> {
    let path = path.trim_start_matches('/');
    let (first, rest) = path.split_once('/').unwrap_or((path, ""));
    let rest = rest.trim_start_matches('/');
    let kinds = match first {
        "" => return Ok(NatsPath::Root),
        "subjects" => return Ok(NatsPath::Subject(rest)),
        "streams" if rest.is_empty() => return Ok(NatsPath::Streams),
        "streams" => return Ok(NatsPath::Stream(names::stream(rest.trim_matches('/'))?)),
        "kv" => BucketKind::Keys,
        "objects" => BucketKind::Objects,
        _ => {
            let message =
                "a path begins with kv, objects, streams or subjects, as in nats:kv/tasks/7";
            return Err(Error::new(Kind::Invalid, message));
        }
    };
    if rest.is_empty() {
        return Ok(NatsPath::Buckets(kinds));
    }
    let (bucket, inside) = rest.split_once('/').unwrap_or((rest, ""));
    Ok(NatsPath::In(kinds, names::bucket(bucket)?, inside.trim_matches('/')))
}

#[deny(clippy::missing_trait_methods)]
impl Store for Nats {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let (server, deadline) = (self.server.clone(), self.deadline(context));
        let (reference_here, known) = (reference.clone(), context.known.clone());
        self.answer(Verb::Get, reference, async move {
            match place(reference_here.path())? {
                NatsPath::Subject(subject) if !subject.is_empty() => {
                    subjects::request(&server, subject, None, deadline).await
                }
                NatsPath::Stream(name) => streams::get(&server, name, deadline).await,
                NatsPath::In(BucketKind::Keys, bucket, path) if !path.is_empty() => {
                    bucket::get(&server, bucket, path, known, deadline).await
                }
                NatsPath::In(BucketKind::Objects, bucket, path) if !path.is_empty() => {
                    objects::get(&server, bucket, path, known, deadline).await
                }
                _ => Ok(None),
            }
        })
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        if let Err(error) = Error::refuse_expiry(reference) {
            return error.on(Verb::Put, reference).into();
        }
        let content = content.of_client(context, guessed_media_type(reference.path()));
        let (server, context, at) = (self.server.clone(), context.clone(), reference.clone());
        self.answer(Verb::Put, reference, async move {
            match place(at.path())? {
                NatsPath::In(BucketKind::Keys, bucket, path) if !path.is_empty() => {
                    bucket::put(&server, bucket, path, content, &context).await.map(Outcome::put)
                }
                NatsPath::In(BucketKind::Objects, bucket, path) if !path.is_empty() => {
                    context.unconditional(Verb::Put, &at)?;
                    objects::put(&server, bucket, path, content, &context).await.map(Outcome::put)
                }
                _ => Err(Error::not_allowed(Verb::Put, &at)),
            }
        })
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let (server, context, at) = (self.server.clone(), context.clone(), reference.clone());
        self.answer(Verb::Post, reference, async move {
            match place(at.path())? {
                NatsPath::Subject(subject) if !subject.is_empty() => {
                    context.unconditional(Verb::Post, &at)?;
                    let reply = at.query().is_some_and(|query| query.split('&').any(is_reply));
                    subjects::post(&server, subject, content, reply, &context).await
                }
                NatsPath::Stream(name) => {
                    context.unconditional(Verb::Post, &at)?;
                    let length = max_length(&at)?;
                    streams::post(&server, name, content, length, &context).await?;
                    Ok(Outcome::changed())
                }
                NatsPath::In(BucketKind::Keys, bucket, path) if !path.is_empty() => {
                    bucket::post(&server, bucket, path, content, &context).await?;
                    Ok(Outcome::changed())
                }
                _ => Err(Error::not_allowed(Verb::Post, &at)),
            }
        })
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let (server, context, at) = (self.server.clone(), context.clone(), reference.clone());
        self.answer(Verb::Merge, reference, async move {
            match place(at.path())? {
                NatsPath::In(BucketKind::Keys, bucket, path) if !path.is_empty() => {
                    bucket::merge(&server, bucket, path, content, &context).await?;
                    Ok(Outcome::changed())
                }
                _ => Err(Error::not_allowed(Verb::Merge, &at)),
            }
        })
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        let (server, context, at) = (self.server.clone(), context.clone(), reference.clone());
        let deadline = self.deadline(&context);
        self.answer(Verb::Delete, reference, async move {
            match place(at.path())? {
                NatsPath::In(BucketKind::Keys, bucket, path) if !path.is_empty() => {
                    bucket::delete(&server, bucket, path, &context).await.map(Outcome::deleted)
                }
                NatsPath::In(BucketKind::Objects, bucket, path) if !path.is_empty() => {
                    context.unconditional(Verb::Delete, &at)?;
                    objects::delete(&server, bucket, path, deadline).await.map(Outcome::deleted)
                }
                _ => Err(Error::not_allowed(Verb::Delete, &at)),
            }
        })
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        let (server, deadline) = (self.server.clone(), self.deadline(context));
        let at = reference.clone();
        self.answer(Verb::List, reference, async move {
            match place(at.path())? {
                NatsPath::Root => {
                    let entry = |name: &str| Entry { name: name.to_string(), collection: true };
                    Ok(Some(["kv", "objects", "streams", "subjects"].map(entry).into()))
                }
                NatsPath::Buckets(kinds) => {
                    Ok(Some(listing::buckets(&server, kinds, deadline).await?))
                }
                NatsPath::In(BucketKind::Keys, bucket, path) => {
                    listing::keys(&server, bucket, path, deadline).await
                }
                NatsPath::In(BucketKind::Objects, bucket, path) => {
                    listing::objects(&server, bucket, path, deadline).await
                }
                NatsPath::Streams => Ok(Some(listing::streams(&server, deadline).await?)),
                NatsPath::Subject(_) | NatsPath::Stream(_) => {
                    Err(Error::not_allowed(Verb::List, &at))
                }
            }
        })
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        let (server, deadline) = (self.server.clone(), self.deadline(context));
        let at = reference.clone();
        self.answer(Verb::Watch, reference, async move {
            match place(at.path())? {
                NatsPath::Subject(subject) => watch::subject(&server, &at, subject, deadline).await,
                NatsPath::In(BucketKind::Keys, bucket, path) => {
                    watch::keys(&server, &at, bucket, path, deadline).await
                }
                NatsPath::In(BucketKind::Objects, bucket, path) => {
                    watch::objects(&server, &at, bucket, path, deadline).await
                }
                _ => Err(Error::not_allowed(Verb::Watch, &at)),
            }
        })
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        let none = Verbs::NONE;
        match place(reference.path()) {
            Err(_) => none,
            Ok(NatsPath::Stream(_)) => none.with(Verb::Get).with(Verb::Post),
            Ok(NatsPath::Root | NatsPath::Buckets(_) | NatsPath::Streams) => none.with(Verb::List),
            Ok(NatsPath::Subject("")) => none.with(Verb::Watch),
            Ok(NatsPath::Subject(_)) => none.with(Verb::Get).with(Verb::Post).with(Verb::Watch),
            Ok(NatsPath::In(kinds, _, path)) => {
                let reading = none.with(Verb::Get).with(Verb::List).with(Verb::Watch);
                match (path.is_empty(), kinds) {
                    (true, _) => reading,
                    (false, BucketKind::Objects) => reading.with(Verb::Put).with(Verb::Delete),
                    (false, BucketKind::Keys) => {
                        let writing = reading.with(Verb::Put).with(Verb::Delete);
                        writing.with(Verb::Post).with(Verb::Merge)
                    }
                }
            }
        }
    }

    fn conditions(&self, reference: &Reference) -> Conditions {
        match place(reference.path()) {
            Ok(NatsPath::In(BucketKind::Keys, _, path)) if !path.is_empty() => Conditions::Tags,
            _ => Conditions::None,
        }
    }

    fn appends(&self, reference: &Reference) -> bool {
        self.conditions(reference) == Conditions::Tags
    }

    fn keeps_metadata(&self, reference: &Reference) -> bool {
        let place = place(reference.path());
        matches!(place, Ok(NatsPath::In(BucketKind::Objects, _, path)) if !path.is_empty())
    }

    fn annotate(
        &self,
        reference: &Reference,
        attributes: Attributes,
        context: &Context,
    ) -> Answer<Outcome> {
        let (server, context, at) = (self.server.clone(), context.clone(), reference.clone());
        let deadline = self.deadline(&context);
        self.answer(Verb::Put, reference, async move {
            match place(at.path())? {
                NatsPath::In(BucketKind::Objects, bucket, path) if !path.is_empty() => {
                    context.unconditional(Verb::Put, &at)?;
                    object_attributes::annotate(&server, bucket, path, &attributes, deadline)
                        .await?;
                    Ok(Outcome::changed())
                }
                _ => Err(Error::not_allowed(Verb::Put, &at)),
            }
        })
    }

    fn queues(&self) -> Option<&dyn Queues> {
        Some(self)
    }

    runnel_store::without!(
        keys, presign, fetch, relocate, query, own_queues, links, as_any, sources
    );

    fn describe(&self) -> String {
        format!("nats {}", self.server.address)
    }
}

#[deny(clippy::missing_trait_methods)]
impl Queues for Nats {
    fn take(
        &self,
        reference: &Reference,
        _: QueueEnd,
        _: Duration,
        _: &Context,
    ) -> Answer<Option<Content>> {
        let message = "NATS has no lists to take from; follow a stream: nats:streams/orders";
        Error::new(Kind::NotAllowed, message).on(Verb::Delete, reference).into()
    }

    fn join(
        &self,
        reference: &Reference,
        group: &GroupOptions,
        context: &Context,
    ) -> Answer<Rc<dyn GroupMember>> {
        let (server, deadline) = (self.server.clone(), self.deadline(context));
        let (at, group) = (reference.clone(), group.clone());
        self.answer(Verb::Watch, reference, async move {
            let stream = stream_of(&at)?;
            let joined = NatsFollower::join(server, stream, group.name, group.lease, deadline);
            Ok(Rc::new(joined.await?) as Rc<dyn GroupMember>)
        })
    }

    fn disband(&self, reference: &Reference, group: &str, context: &Context) -> Answer<bool> {
        let (server, deadline) = (self.server.clone(), self.deadline(context));
        let (at, group) = (reference.clone(), group.to_string());
        self.answer(Verb::Delete, reference, async move {
            streams::disband(&server, &stream_of(&at)?, &group, deadline).await
        })
    }
}

/// The stream of a reference that is followed.
fn stream_of(reference: &Reference) -> Result<String> {
    match place(reference.path())? {
        NatsPath::Stream(name) => Ok(name.to_string()),
        _ => {
            let message =
                "only a stream has followers that share its messages: nats:streams/orders";
            Err(Error::new(Kind::NotAllowed, message))
        }
    }
}

fn is_reply(part: &str) -> bool {
    part == "reply" || part == "reply=true"
}
