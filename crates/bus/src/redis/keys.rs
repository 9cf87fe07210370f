//! The keys of one database as a store.

use super::follower::RedisFollower;
use super::hub::RedisListener;
use super::server::RedisServer;
use super::{RedisChannels, key_watch, list, read, stream, take, write};
use crate::address::Address;
use crate::{BusOptions, wait};
use runnel_store::{
    Answer, Changes, Conditions, Content, Context, Entry, Error, GroupMember, GroupOptions, Kind,
    Outcome, QueueEnd, Queues, Reference, Result, Store, Verb, Verbs,
};
use std::rc::Rc;
use std::time::Duration;

/// How long a key may be, in bytes.
pub const KEY_LIMIT: usize = 64 << 10;

/// The keys of one database of a Redis or Valkey server.
///
/// A key is the path of a reference without the slashes before it, as it is. The names in a
/// listing are the parts between slashes; keys that are no UTF-8, or begin with a slash, belong to
/// other programs and cannot be reached.
///
/// - **Text and bytes** are strings; anything else is kept as what a person reads, so that records
///   and lists are JSON text. There is no media type; strings have entity tags.
/// - **get** answers a string as text (as bytes where it is no UTF-8). What other programs keep
///   with other commands is read as a value: a hash as a record, a list as a list, a set as a list
///   in bytewise order, a sorted set as a record of member and score in order of the scores, a
///   stream as a list of records with their `id`; at most [`crate::ELEMENTS_LIMIT`] elements.
/// - **put** replaces whatever is there; nil deletes. The query `expires=60` lets it vanish after
///   that many seconds; fractions are fine.
/// - **post** adds to the end of a list, which is made where nothing is, to a string, a set, or a
///   stream (the fields of a record, which gets an id). With the query `stream` it makes a stream,
///   of at most `maxLength` messages ([`crate::MAX_LENGTH`]).
/// - **merge** sets the fields of a hash, or of a record kept as JSON text; nil removes a field of a
///   hash. Anything else is replaced. What merges at the same time is not lost. The time at which
///   a key vanishes stays.
/// - **delete** removes the key and nothing below it.
/// - Puts, merges and deletes keep conditions: that something or nothing is there, and the tag of a
///   string. A put under a tag keeps the time at which the key vanishes, as INCR does.
/// - **watch** needs keyspace notifications. They are turned on if the server allows it; otherwise
///   the error says how to set `notify-keyspace-events`. After a lost connection the watcher gets a
///   `lost`. Emptying a whole database (`FLUSHDB`) is not reported, and a key that expires is
///   reported when the server removes it, which may be later.
pub struct Redis {
    server: Rc<RedisServer>,
    hub: Rc<RedisListener>,
}

impl Redis {
    /// The database of a URL: `redis://user:password@host:port/0`, or `rediss:` where the
    /// connection has to be encrypted. Nothing is connected yet.
    ///
    /// # Errors
    /// [`Kind::Invalid`] for a URL that is none of these.
    pub fn open(url: &str, options: &BusOptions) -> Result<Rc<Redis>> {
        let (address, database) = of_url(url)?;
        Ok(Redis::at(address, database, options))
    }

    pub(super) fn at(address: Address, database: i64, options: &BusOptions) -> Rc<Redis> {
        let server = Rc::new(RedisServer::new(address, database, options.clone()));
        Rc::new(Redis { hub: RedisListener::new(server.clone()), server })
    }

    /// The channels of the same server, over the same connections.
    pub fn channels(&self) -> Rc<RedisChannels> {
        Rc::new(RedisChannels::new(self.server.clone(), self.hub.clone()))
    }

    fn admits(&self, verb: Verb, reference: &Reference, context: &Context) -> Result<()> {
        let condition = context.only_if.as_ref();
        self.conditions(reference).admit(condition, verb, reference)
    }

    /// Does something with a key: not at the root.
    fn at_key<T: 'static, F: Future<Output = Result<T>> + 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        act: impl FnOnce(Rc<RedisServer>, String) -> F,
    ) -> Answer<T> {
        match checked(reference.relative_path()) {
            Ok(key) => Answer::later(act(self.server.clone(), key.to_string())).on(verb, reference),
            Err(error) => error.on(verb, reference).into(),
        }
    }
}

/// The address and the database of a URL.
pub(super) fn of_url(url: &str) -> Result<(Address, i64)> {
    const SCHEMES: [(&str, bool); 4] =
        [("redis", false), ("rediss", true), ("valkey", false), ("valkeys", true)];
    let (address, path, _) = Address::of_url(url, &SCHEMES, 6379)?;
    match path.trim_end_matches('/') {
        "" => Ok((address, 0)),
        number => Ok((address, database(number)?)),
    }
}

/// The number of a database.
pub(super) fn database(part: &str) -> Result<i64> {
    part.parse::<u16>().map(i64::from).map_err(|_| {
        let message = "after the host comes the number of a database (usually 0) or pubsub, \
                       as in redis://host/0/key";
        Error::new(Kind::Invalid, message)
    })
}

fn checked(key: &str) -> Result<&str> {
    if key.is_empty() {
        return Err(Error::new(Kind::Invalid, "a key is needed: redis:key"));
    }
    if key.len() > KEY_LIMIT {
        let message = format!("the key has more than {KEY_LIMIT} bytes");
        return Err(Error::new(Kind::TooLarge, message));
    }
    Ok(key)
}

#[deny(clippy::missing_trait_methods)]
impl Store for Redis {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        if reference.relative_path().is_empty() {
            return Answer::ok(None);
        }
        let deadline = wait::deadline(context, self.server.options.operation_time);
        self.at_key(Verb::Get, reference, |server, key| async move {
            read::get(&server, &key, deadline).await
        })
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let (expiry, admitted) =
            (write::expiry(reference), self.admits(Verb::Put, reference, context));
        let context = context.clone();
        self.at_key(Verb::Put, reference, |server, key| async move {
            admitted?;
            write::put(&server, &key, content, expiry?, &context).await.map(Outcome::put)
        })
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let (context, admitted) = (context.clone(), context.unconditional(Verb::Post, reference));
        let length = stream::length(reference);
        self.at_key(Verb::Post, reference, |server, key| async move {
            admitted?;
            write::post(&server, &key, content, length?, &context).await?;
            Ok(Outcome::changed())
        })
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let (context, admitted) = (context.clone(), self.admits(Verb::Merge, reference, context));
        self.at_key(Verb::Merge, reference, |server, key| async move {
            admitted?;
            write::merge(&server, &key, content, &context).await?;
            Ok(Outcome::changed())
        })
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        let (context, admitted) = (context.clone(), self.admits(Verb::Delete, reference, context));
        self.at_key(Verb::Delete, reference, |server, key| async move {
            admitted?;
            write::delete(&server, &key, &context).await.map(Outcome::deleted)
        })
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        let deadline = wait::deadline(context, self.server.options.operation_time);
        let (server, above) = (self.server.clone(), reference.relative_path().to_string());
        let listed = async move { list::list(&server, &above, deadline).await };
        Answer::later(listed).on(Verb::List, reference)
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        let deadline = wait::deadline(context, self.server.options.operation_time);
        let (hub, watched) = (self.hub.clone(), reference.clone());
        let watching = async move { key_watch::watch(&hub, watched, deadline).await };
        Answer::later(watching).on(Verb::Watch, reference)
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        let verbs = Verbs::NONE.with(Verb::Get).with(Verb::List).with(Verb::Watch);
        if reference.relative_path().is_empty() {
            return verbs;
        }
        verbs.with(Verb::Put).with(Verb::Post).with(Verb::Merge).with(Verb::Delete)
    }

    fn appends(&self, _: &Reference) -> bool {
        true
    }

    fn conditions(&self, _: &Reference) -> Conditions {
        Conditions::Tags
    }

    fn queues(&self) -> Option<&dyn Queues> {
        Some(self)
    }

    runnel_store::without!(keys, attributes, relocate, query, own_queues, links, as_any, sources);

    fn describe(&self) -> String {
        format!("redis {}/{}", self.server.address, self.server.database)
    }
}

#[deny(clippy::missing_trait_methods)]
impl Queues for Redis {
    fn take(
        &self,
        reference: &Reference,
        end: QueueEnd,
        wait: Duration,
        context: &Context,
    ) -> Answer<Option<Content>> {
        let context = context.clone();
        self.at_key(Verb::Delete, reference, |server, key| async move {
            take::take(&server, &key, end, wait, &context).await
        })
    }

    fn join(
        &self,
        reference: &Reference,
        group: &GroupOptions,
        context: &Context,
    ) -> Answer<Rc<dyn GroupMember>> {
        let deadline = wait::deadline(context, self.server.options.operation_time);
        let GroupOptions { name, lease } = group.clone();
        self.at_key(Verb::Watch, reference, |server, key| async move {
            stream::make_group(&server, &key, &name, "$", deadline).await?;
            let member = RedisFollower::new(server, key, name, lease)?;
            Ok(Rc::new(member) as Rc<dyn GroupMember>)
        })
    }

    fn disband(&self, reference: &Reference, group: &str, context: &Context) -> Answer<bool> {
        let deadline = wait::deadline(context, self.server.options.operation_time);
        let group = group.to_string();
        self.at_key(Verb::Delete, reference, |server, key| async move {
            stream::remove_group(&server, &key, &group, deadline).await
        })
    }
}
