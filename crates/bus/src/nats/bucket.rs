//! Keys and values.

use super::fault;
use super::names::{self, BucketKind, stream_prefix};
use super::server::{NatsConnection, NatsServer};
use crate::merge::MergePatch;
use crate::wait;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::kv::{self, Entry, Operation, UpdateErrorKind};
use async_nats::jetstream::stream::{self, DiscardPolicy};
use bytes::Bytes;
use runnel_store::{Body, Content, Context, EntityTag, Error, Kind, Result, Text, Value};
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Instant, SystemTime};

/// Revisions of a key that a bucket of ours keeps.
const HISTORY: i64 = 1;

/// How often a change is tried when others change the same key at the same time.
const ATTEMPTS: usize = 32;

/// The bucket of a name; `None` where there is none and none is to be made.
pub(super) async fn open(
    server: &NatsServer,
    wire: &NatsConnection,
    bucket: &str,
    make: bool,
) -> Result<Option<kv::Store>> {
    if let Some(store) = wire.buckets.borrow().get(bucket) {
        return Ok(Some(store.clone()));
    }
    let store = match wire.jetstream.get_key_value(bucket).await {
        Ok(store) => store,
        Err(error) if fault::code(&error) != Some(ErrorCode::STREAM_NOT_FOUND) => {
            return Err(server.fault(&error));
        }
        Err(_) if !make => return Ok(None),
        Err(_) => {
            // The library's own way asks older servers what they cannot answer.
            let made = wire.jetstream.create_stream(stream::Config {
                name: format!("{}{bucket}", stream_prefix(BucketKind::Keys)),
                subjects: vec![format!("$KV.{bucket}.>")],
                max_messages_per_subject: HISTORY,
                discard: DiscardPolicy::New,
                allow_rollup: true,
                deny_delete: true,
                allow_direct: true,
                num_replicas: 1,
                ..stream::Config::default()
            });
            let made = made.await;
            match (wire.jetstream.get_key_value(bucket).await, made) {
                // Another client may have created it meanwhile.
                (Ok(store), _) => store,
                (Err(_), Err(error)) => return Err(server.fault(&error)),
                (Err(error), Ok(_)) => return Err(server.fault(&error)),
            }
        }
    };
    NatsConnection::remember(&wire.buckets, bucket, &store);
    Ok(Some(store))
}

/// Does something in a bucket. A cached bucket that was deleted is looked up once more.
async fn within<T, F: Future<Output = Result<T>>>(
    server: &Rc<NatsServer>,
    bucket: &str,
    make: bool,
    deadline: Instant,
    act: impl Fn(kv::Store) -> F,
) -> Result<Option<T>> {
    server
        .with(deadline, |wire| async move {
            let known = wire.buckets.borrow().contains_key(bucket);
            let Some(store) = open(server, &wire, bucket, make).await? else { return Ok(None) };
            match act(store).await {
                Err(error) if known && fault::is_missing(&error) => {
                    wire.buckets.borrow_mut().remove(bucket);
                    match open(server, &wire, bucket, make).await? {
                        Some(store) => act(store).await.map(Some),
                        None => Ok(None),
                    }
                }
                result => result.map(Some),
            }
        })
        .await
}

/// The entry of a key: a value or a delete marker.
async fn entry(server: &NatsServer, store: &kv::Store, key: &str) -> Result<Option<Entry>> {
    store.entry(key).await.map_err(|error| server.fault(&error))
}

fn is_live(entry: &Option<Entry>) -> bool {
    entry.as_ref().is_some_and(|entry| entry.operation == Operation::Put)
}

pub(super) async fn get(
    server: &Rc<NatsServer>,
    bucket: &str,
    path: &str,
    known: Option<EntityTag>,
    deadline: Instant,
) -> Result<Option<Content>> {
    let key = names::key(path)?;
    let key = key.as_str();
    let found =
        within(
            server,
            bucket,
            false,
            deadline,
            |store| async move { entry(server, &store, key).await },
        );
    let Some(found) = found.await?.flatten().filter(|entry| entry.operation == Operation::Put)
    else {
        return Ok(None);
    };
    Ok(Some(content(found, known)))
}

/// The content of an entry; short for one who knows it.
pub(super) fn content(entry: Entry, known: Option<EntityTag>) -> Content {
    let created = SystemTime::from(entry.created);
    let tag = tag(&entry);
    let content =
        if known.as_ref() == Some(&tag) { Content::default() } else { plain(entry.value) };
    Content { entity_tag: Some(tag), modified: Some(created), ..content }
}

/// A bucket that was deleted and made again counts from the beginning: the time tells them apart.
fn tag(entry: &Entry) -> EntityTag {
    let created = SystemTime::from(entry.created);
    let since = created.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    EntityTag::strong(format!("{}-{:x}", entry.revision, since.as_nanos()))
}

/// Checks the condition against the entry whose revision the write then relies on.
fn check(context: &Context, found: &Option<Entry>) -> Result<()> {
    let Some(condition) = &context.only_if else { return Ok(()) };
    let tag = found.as_ref().filter(|_| is_live(found)).map(tag);
    condition.check(tag.as_ref().map(Some))
}

/// Bytes as text if they are UTF-8.
pub(super) fn plain(bytes: Bytes) -> Content {
    match Text::from_utf8(bytes) {
        Ok(text) => Content::text(text),
        Err(bytes) => Content::bytes(bytes),
    }
}

pub(super) async fn put(
    server: &Rc<NatsServer>,
    bucket: &str,
    path: &str,
    content: Content,
    context: &Context,
) -> Result<bool> {
    if matches!(content.body, Body::Value(Value::Nil)) {
        delete(server, bucket, path, context).await?;
        return Ok(false);
    }
    let bytes = read(server, content, context).await?;
    let put = change(server, bucket, path, true, context, |_| Ok(bytes.clone()));
    let is_repeatable = context.only_if.is_none();
    put.await.map_err(|unsure| if is_repeatable { unsure.error } else { unsure.in_doubt() })
}

pub(super) async fn post(
    server: &Rc<NatsServer>,
    bucket: &str,
    path: &str,
    content: Content,
    context: &Context,
) -> Result<()> {
    let bytes = read(server, content, context).await?;
    let added = change(server, bucket, path, true, context, |before| {
        Ok(match before {
            Some(before) => [before.as_ref(), &bytes].concat().into(),
            None => bytes.clone(),
        })
    });
    added.await.map(|_| ()).map_err(UnsureError::in_doubt)
}

pub(super) async fn merge(
    server: &Rc<NatsServer>,
    bucket: &str,
    path: &str,
    content: Content,
    context: &Context,
) -> Result<()> {
    let limit = limit(server, context).await?;
    let part = MergePatch::read(content, limit).await?;
    let merged = change(server, bucket, path, false, context, |before| match before {
        Some(before) => Ok(part.applied_to(before)),
        None => {
            let message = "there is nothing to merge into; put creates it";
            Err(Error::new(Kind::NotFound, message))
        }
    });
    merged.await.map(|_| ()).map_err(UnsureError::in_doubt)
}

pub(super) async fn delete(
    server: &Rc<NatsServer>,
    bucket: &str,
    path: &str,
    context: &Context,
) -> Result<bool> {
    let key = names::key(path)?;
    let key = key.as_str();
    let deadline = wait::deadline(context, server.options.operation_time);
    let (is_sent, is_repeatable) = (&Cell::new(false), context.only_if.is_none());
    let deleted = within(server, bucket, false, deadline, |store| async move {
        for _ in 0..ATTEMPTS {
            let found = entry(server, &store, key).await?;
            check(context, &found)?;
            let Some(live) = found.filter(|entry| entry.operation == Operation::Put) else {
                return Ok(false);
            };
            is_sent.set(true);
            let deleted = store.delete_expect_revision(key, Some(live.revision)).await;
            is_sent.set(deleted.as_ref().is_err_and(|error| !fault::is_refusal(error)));
            match deleted {
                Ok(()) => return Ok(true),
                Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => {}
                Err(error) => return Err(server.fault(&error)),
            }
        }
        Err(contended())
    });
    let is_unsure = || is_sent.get() && !is_repeatable;
    let deleted = deleted.await.map_err(|error| if is_unsure() { error.in_doubt() } else { error });
    match deleted? {
        Some(deleted) => Ok(deleted),
        None => check(context, &None).map(|()| false),
    }
}

/// An error, and whether it is that of a write whose reply was lost.
struct UnsureError {
    error: Error,
    is_sent: bool,
}

impl UnsureError {
    fn in_doubt(self) -> Error {
        if self.is_sent { self.error.in_doubt() } else { self.error }
    }
}

impl From<Error> for UnsureError {
    fn from(error: Error) -> Self {
        UnsureError { error, is_sent: false }
    }
}

/// Replaces the value of a key by a function of it, with optimistic concurrency: the function runs
/// again when another client changes the key meanwhile. Answers whether the key was created.
async fn change(
    server: &Rc<NatsServer>,
    bucket: &str,
    path: &str,
    make: bool,
    context: &Context,
    after: impl Fn(Option<&Bytes>) -> Result<Bytes>,
) -> std::result::Result<bool, UnsureError> {
    let key = names::key(path)?;
    let deadline = wait::deadline(context, server.options.operation_time);
    let (key, after, is_sent) = (key.as_str(), &after, &Cell::new(false));
    let changed = within(server, bucket, make, deadline, |store| async move {
        for _ in 0..ATTEMPTS {
            let found = entry(server, &store, key).await?;
            check(context, &found)?;
            let live = is_live(&found);
            let revision = found.as_ref().map_or(0, |entry| entry.revision);
            let before = found.as_ref().filter(|_| live).map(|entry| &entry.value);
            let value = after(before)?;
            is_sent.set(true);
            let updated = store.update(key, value, revision).await;
            is_sent.set(updated.as_ref().is_err_and(|error| !fault::is_refusal(error)));
            match updated {
                Ok(_) => return Ok(!live),
                Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => {}
                Err(error) => return Err(server.fault(&error)),
            }
        }
        Err(contended())
    });
    match changed.await.map_err(|error| UnsureError { error, is_sent: is_sent.get() })? {
        Some(created) => Ok(created),
        None => {
            check(context, &None)?;
            Ok(after(None).map(|_| true)?)
        }
    }
}

/// How large a value may be.
async fn limit(server: &Rc<NatsServer>, context: &Context) -> Result<usize> {
    let deadline = wait::deadline(context, server.options.operation_time);
    Ok(server.wire(deadline).await?.client.max_payload())
}

async fn read(server: &Rc<NatsServer>, content: Content, context: &Context) -> Result<Bytes> {
    let limit = limit(server, context).await?;
    content.read(limit).await
}

fn contended() -> Error {
    let message = format!("others changed it {ATTEMPTS} times in a row meanwhile");
    Error::new(Kind::Conflict, message).with_temporary(true)
}
