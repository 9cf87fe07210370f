//! The names in buckets, and the buckets.

use super::names::BucketKind;
use super::server::{NatsConnection, NatsServer};
use super::{bucket, names, objects};
use crate::LISTING_LIMIT;
use async_nats::HeaderMap;
use async_nats::jetstream::consumer::DeliverPolicy;
use async_nats::jetstream::consumer::push::OrderedConfig;
use async_nats::jetstream::stream::{LastRawMessageErrorKind, Stream};
use futures_util::{StreamExt, TryStreamExt};
use runnel_store::{Entry, Error, Kind, Result, Value, json};
use std::collections::{BTreeMap, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::time::{Duration, Instant};

/// How long the next name is waited for before the server is asked whether there is one.
const QUIET: Duration = Duration::from_secs(1);

/// How often the end of a subject is looked up while others go on writing to it.
const ROUNDS: usize = 4;

/// ListedNames and whether something lies below them, in order.
#[derive(Default)]
struct ListedNames(BTreeMap<String, bool>);

impl ListedNames {
    /// Adds the name of what is below a path, which ends in a slash or is empty.
    fn add(&mut self, path: &str, above: &str) -> Result<()> {
        let Some(rest) = path.strip_prefix(above) else { return Ok(()) };
        let (name, collection) = match rest.split_once('/') {
            Some((name, _)) => (name, true),
            None => (rest, false),
        };
        if !name.is_empty() {
            *self.0.entry(name.to_string()).or_default() |= collection;
        }
        if self.0.len() > LISTING_LIMIT {
            let message = format!("what is there has more than {LISTING_LIMIT} names");
            return Err(Error::new(Kind::TooLarge, message));
        }
        Ok(())
    }

    /// As a listing; below the root of a bucket nothing is no collection.
    fn listing(self, root: bool) -> Option<Vec<Entry>> {
        let entry = |(name, collection)| Entry { name, collection };
        let entries: Vec<Entry> = self.0.into_iter().map(entry).collect();
        (root || !entries.is_empty()).then_some(entries)
    }
}

fn above(path: &str) -> String {
    let parts: Vec<_> = path.split('/').filter(|part| !part.is_empty()).collect();
    if parts.is_empty() { String::new() } else { format!("{}/", parts.join("/")) }
}

pub(super) async fn keys(
    server: &Rc<NatsServer>,
    bucket: &str,
    path: &str,
    deadline: Instant,
) -> Result<Option<Vec<Entry>>> {
    let key = names::key(path)?;
    server
        .with(deadline, |wire| async move {
            let Some(store) = bucket::open(server, &wire, bucket, false).await? else {
                return Ok(None);
            };
            let below = if key.is_empty() { ">".to_string() } else { format!("{key}.>") };
            let mut found = ListedNames::default();
            let above = above(path);
            let asked = (format!("{}{below}", store.prefix), DeliverPolicy::LastPerSubject);
            each_message(server, &wire, &store.stream, asked, |message| {
                let is_gone = message
                    .headers
                    .is_some_and(|headers| GONE.iter().any(|name| headers.get(*name).is_some()));
                let key = message.subject.strip_prefix(&store.prefix).filter(|_| !is_gone);
                match key.and_then(names::path) {
                    Some(path) => found.add(&path, &above),
                    None => Ok(()),
                }
            })
            .await?;
            Ok(found.listing(above.is_empty()))
        })
        .await
}

/// Headers of what marks a deleted key.
const GONE: [&str; 2] = ["KV-Operation", "Nats-Marker-Reason"];

pub(super) async fn objects(
    server: &Rc<NatsServer>,
    bucket: &str,
    path: &str,
    deadline: Instant,
) -> Result<Option<Vec<Entry>>> {
    server
        .with(deadline, |wire| async move {
            let Some(opened) = objects::open(server, &wire, bucket, false).await? else {
                return Ok(None);
            };
            let above = above(path);
            let mut found = ListedNames::default();
            // What describes an object replaces what did before (a roll-up), so all are the last.
            let asked = (format!("$O.{bucket}.M.>"), DeliverPolicy::All);
            each_message(server, &wire, &opened.stream, asked, |message| {
                let Ok(info) = json::parse(message.payload) else { return Ok(()) };
                let is_gone = info.get("deleted") == Some(&Value::Bool(true));
                match info.get("name").and_then(Value::as_str).filter(|_| !is_gone) {
                    Some(name) => found.add(name, &above),
                    None => Ok(()),
                }
            })
            .await?;
            Ok(found.listing(above.is_empty()))
        })
        .await
}

/// The last message of a subject.
struct LastMessage<'a> {
    subject: &'a str,
    headers: Option<&'a HeaderMap>,
    payload: &'a [u8],
}

/// The last messages of the subjects below one. Their consumer is removed afterwards: many of them slow
/// a server down until it notices that the consumer is gone.
async fn each_message<I>(
    server: &NatsServer,
    wire: &NatsConnection,
    stream: &Stream<I>,
    (subject, deliver_policy): (String, DeliverPolicy),
    mut found: impl FnMut(LastMessage<'_>) -> Result<()>,
) -> Result<()> {
    // Hashes of subjects.
    let (mut seen, hashing) = (HashSet::new(), RandomState::new());
    let consumer = stream.create_consumer(OrderedConfig {
        deliver_subject: wire.client.new_inbox(),
        filter_subject: subject.clone(),
        headers_only: deliver_policy == DeliverPolicy::LastPerSubject,
        deliver_policy,
        ..OrderedConfig::default()
    });
    let consumer = consumer.await.map_err(|error| server.fault(&error))?;
    let info = consumer.cached_info().clone();
    let read = async {
        if info.num_pending == 0 {
            return Ok(last_sequence(stream, &subject).await.is_none_or(|end| end == 0));
        }
        let mut messages = consumer.messages().await.map_err(|error| server.fault(&error))?;
        let (mut count, mut last, mut rounds) = (0, 0, 0);
        let mut end = None;
        loop {
            let message = match tokio::time::timeout(QUIET, messages.next()).await {
                Ok(Some(Ok(message))) => message,
                // It looks for its place again by itself.
                Ok(Some(Err(_))) => continue,
                Ok(None) => return Ok(true),
                Err(_) => match quiet_end(stream, &info.name, &subject, last).await {
                    Some(is_whole) => return Ok(is_whole),
                    None => continue,
                },
            };
            seen.insert(hashing.hash_one(message.subject.as_str()));
            found(LastMessage {
                subject: &message.subject,
                headers: message.headers.as_ref(),
                payload: &message.payload,
            })?;
            let told = message.info().map_err(|error| server.fault(&*error))?;
            (count, last) = (count + 1, told.stream_sequence);
            // Where others write, messages follow without end, and servers miscount: it is whole when none
            // is pending and the last one is that of the subject later.
            let is_over = told.pending == 0 || count >= info.num_pending;
            if is_over && end.is_none_or(|end| last >= end) {
                end = last_sequence(stream, &subject).await;
                if end.is_none_or(|end| last >= end) {
                    return Ok(told.pending == 0);
                }
                rounds += 1;
                if rounds == ROUNDS {
                    return Ok(false);
                }
            }
        }
    };
    let result: Result<bool> = read.await;
    // A consumer that is gone already needs no removal.
    let _ = stream.delete_consumer(&info.name).await;
    match result? {
        true => Ok(()),
        false => {
            let is_new = |subject: &str| !seen.contains(&hashing.hash_one(subject));
            each_subject(server, stream, &subject, is_new, found).await
        }
    }
}

/// Whether a quiet consumer has delivered all; `None` to wait for more. What was counted at its
/// beginning may have been deleted meanwhile.
async fn quiet_end<I>(
    stream: &Stream<I>,
    consumer: &str,
    subject: &str,
    last: u64,
) -> Option<bool> {
    let now = stream.consumer_info(consumer).await;
    let is_quiet = now.is_ok_and(|now| now.num_pending == 0);
    match last_sequence(stream, subject).await {
        Some(end) if last >= end => Some(true),
        _ => is_quiet.then_some(false),
    }
}

/// The last messages of new subjects, looked up one by one: messages that others replaced while a
/// consumer was read lie behind its end.
async fn each_subject<I>(
    server: &NatsServer,
    stream: &Stream<I>,
    below: &str,
    is_new: impl Fn(&str) -> bool,
    mut found: impl FnMut(LastMessage<'_>) -> Result<()>,
) -> Result<()> {
    let subjects = stream.info_with_subjects(below).await;
    let mut subjects = subjects.map_err(|error| server.fault(&error))?;
    while let Some((subject, _)) =
        subjects.try_next().await.map_err(|error| server.fault(&error))?
    {
        if !is_new(&subject) {
            continue;
        }
        match stream.get_last_raw_message_by_subject(&subject).await {
            Ok(message) => found(LastMessage {
                subject: &subject,
                headers: Some(&message.headers),
                payload: &message.payload,
            })?,
            Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {}
            Err(error) => return Err(server.fault(&error)),
        }
    }
    Ok(())
}

/// The sequence of the last message of a subject, 0 without any; `None` when the server cannot say.
async fn last_sequence<I>(stream: &Stream<I>, subject: &str) -> Option<u64> {
    match stream.get_last_raw_message_by_subject(subject).await {
        Ok(message) => Some(message.sequence),
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Some(0),
        Err(_) => None,
    }
}

/// The buckets of a kind.
pub(super) async fn buckets(
    server: &Rc<NatsServer>,
    kinds: BucketKind,
    deadline: Instant,
) -> Result<Vec<Entry>> {
    server
        .with(deadline, |wire| async move {
            let prefix = names::stream_prefix(kinds);
            let mut streams = wire.jetstream.stream_names();
            let mut found = ListedNames::default();
            while let Some(name) = streams.try_next().await.map_err(|error| server.fault(&error))? {
                if let Some(name) = name.strip_prefix(prefix) {
                    found.add(&format!("{name}/"), "")?;
                }
            }
            Ok(found.listing(true).unwrap_or_default())
        })
        .await
}

/// The streams that are no buckets.
pub(super) async fn streams(server: &Rc<NatsServer>, deadline: Instant) -> Result<Vec<Entry>> {
    server
        .with(deadline, |wire| async move {
            let mut streams = wire.jetstream.stream_names();
            let mut found = ListedNames::default();
            let buckets = [BucketKind::Keys, BucketKind::Objects].map(names::stream_prefix);
            while let Some(name) = streams.try_next().await.map_err(|error| server.fault(&error))? {
                if !buckets.iter().any(|prefix| name.starts_with(prefix)) {
                    found.add(&name, "")?;
                }
            }
            Ok(found.listing(true).unwrap_or_default())
        })
        .await
}
