//! Channels: a published message reaches the present watchers, and is not stored.

use super::hub::{RedisListener, Topic};
use super::list::glob;
use super::read::{self, VALUE_LIMIT};
use super::server::{RedisServer, Resend};
use crate::feed::WatchFeed;
use crate::wait;
use redis::cmd;
use runnel_store::{
    Answer, Change, Changes, Content, Context, Error, Kind, Outcome, Reference, Store, Verb, Verbs,
};
use std::rc::Rc;

/// The channels of a Redis or Valkey server (all its databases share them).
///
/// A channel is the path of a reference. A post publishes its content, as text. A watch reports
/// every message on the channel and on those below it (`news`, `news/today`), as a change whose
/// content is the message; a path with `*` is a pattern of Redis instead, such as `news.*`. After a
/// lost connection watchers get a `lost`.
pub struct RedisChannels {
    server: Rc<RedisServer>,
    hub: Rc<RedisListener>,
}

impl RedisChannels {
    pub(super) fn new(server: Rc<RedisServer>, hub: Rc<RedisListener>) -> Self {
        RedisChannels { server, hub }
    }
}

fn topics(name: &str) -> Vec<Topic> {
    match name {
        "" => vec![Topic::Pattern(b"*".to_vec())],
        pattern if pattern.contains('*') => vec![Topic::Pattern(pattern.as_bytes().to_vec())],
        name => vec![
            Topic::Channel(name.as_bytes().to_vec()),
            Topic::Pattern(format!("{}/*", glob(name)).into_bytes()),
        ],
    }
}

#[deny(clippy::missing_trait_methods)]
impl Store for RedisChannels {
    fn get(&self, reference: &Reference, _: &Context) -> Answer<Option<Content>> {
        Error::new(Kind::NotAllowed, "a channel has no content; watch it")
            .on(Verb::Get, reference)
            .into()
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let (server, context) = (self.server.clone(), context.clone());
        let channel = reference.relative_path().to_string();
        let admitted = context.unconditional(Verb::Post, reference);
        let published = async move {
            admitted?;
            if channel.is_empty() {
                return Err(Error::new(Kind::Invalid, "a channel needs a name"));
            }
            let bytes = content.read(VALUE_LIMIT).await?;
            let deadline = wait::deadline(&context, server.options.operation_time);
            let publish = cmd("PUBLISH").arg(channel).arg(bytes.as_ref()).to_owned();
            server.ask(&publish, Resend::No, deadline).await?;
            Ok(Outcome::changed())
        };
        Answer::later(published).on(Verb::Post, reference)
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        let deadline = wait::deadline(context, self.server.options.operation_time);
        let (hub, watched) = (self.hub.clone(), reference.clone());
        let name = reference.relative_path().trim_end_matches('/').to_string();
        let watching = async move {
            let named = watched.clone();
            let translate = move |channel: &[u8], said: bytes::Bytes| {
                let name = std::str::from_utf8(channel).ok()?;
                let content = Some(read::content(said.to_vec()));
                Some(Change { content, ..Change::changed(named.with_path(name)) })
            };
            let feed = WatchFeed::new(watched);
            hub.watch(feed, topics(&name), Box::new(translate), deadline).await
        };
        Answer::later(watching).on(Verb::Watch, reference)
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        match reference.relative_path().is_empty() {
            true => Verbs::NONE.with(Verb::Watch),
            false => Verbs::NONE.with(Verb::Watch).with(Verb::Post),
        }
    }

    runnel_store::without!(
        appends, put, merge, delete, list, keys, attributes, relocate, query, tables, conditions,
        links, as_any, sources
    );

    fn describe(&self) -> String {
        format!("redis channels {}", self.server.address)
    }
}
