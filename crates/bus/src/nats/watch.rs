//! Watching keys, objects and subjects.
//!
//! A task for each watcher takes what the server tells into the watcher's bounded queue, so that a
//! slow watcher gets a `lost` and no queue grows without bound.

use super::server::{NatsConnection, NatsServer};
use super::{bucket, names, objects as object, subjects};
use crate::feed::WatchFeed;
use async_nats::Client;
use async_nats::connection::State;
use async_nats::jetstream::kv::{Entry, Operation};
use futures_util::StreamExt;
use futures_util::stream::{self, Stream};
use runnel_store::{Change, Changes, Error, Kind, Reference, Result};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::task::AbortHandle;

/// How often it is looked whether a connection that broke is there again.
const AGAIN: Duration = Duration::from_millis(50);

/// Ends a task when it is dropped.
struct WatchTask(AbortHandle);

impl Drop for WatchTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Lets a task tell a watcher.
fn watch_task(feed: &Rc<WatchFeed>, task: impl Future<Output = ()> + 'static) -> Changes {
    feed.changes(WatchTask(tokio::task::spawn_local(task).abort_handle()))
}

/// The place of a path in the watched reference's own words: what stands before the path.
fn beside(watched: &Reference, path: &str) -> String {
    let whole = watched.path().trim_end_matches('/');
    let base = whole.len().saturating_sub(path.trim_matches('/').len());
    whole[..base].trim_end_matches('/').to_string()
}

pub(super) async fn keys(
    server: &Rc<NatsServer>,
    watched: &Reference,
    bucket: &str,
    path: &str,
    deadline: Instant,
) -> Result<Changes> {
    let key = names::key(path)?;
    let (wire, start, entries) = server
        .with(deadline, |wire| async move {
            let store = bucket::open(server, &wire, bucket, true).await?;
            let store = store.ok_or_else(|| Error::new(Kind::Failed, "the bucket is gone"))?;
            let info = store.stream.get_info().await.map_err(|error| server.fault(&error))?;
            let start = info.state.last_sequence;
            let selected = match key.as_str() {
                "" => vec![">".to_string()],
                key => vec![key.to_string(), format!("{key}.>")],
            };
            let mut entries = Vec::new();
            for key in selected {
                let watch = store.watch_from_revision(key, start + 1).await;
                entries.push(watch.map_err(|error| server.fault(&error))?);
            }
            Ok((wire, start, stream::select_all(entries)))
        })
        .await?;
    let feed = WatchFeed::new(watched.clone());
    let base = beside(watched, path);
    let named = watched.clone();
    let change = move |entry: Entry| {
        // A consumer that restarts may begin before our start.
        let path = names::path(&entry.key).filter(|_| entry.revision > start)?;
        let reference = named.with_path(format!("{base}/{path}"));
        Some(match entry.operation {
            Operation::Put => {
                let content = Some(bucket::content(entry, None));
                Change { content, ..Change::changed(reference) }
            }
            _ => Change::deleted(reference),
        })
    };
    Ok(watch_task(&feed, forward(feed.clone(), wire, entries, change)))
}

pub(super) async fn objects(
    server: &Rc<NatsServer>,
    watched: &Reference,
    bucket: &str,
    path: &str,
    deadline: Instant,
) -> Result<Changes> {
    let name = object::name(path)?;
    let (wire, infos) = server
        .with(deadline, |wire| async move {
            let store = object::open(server, &wire, bucket, true).await?;
            let store = store.ok_or_else(|| Error::new(Kind::Failed, "the bucket is gone"))?;
            let infos = store.store.watch().await.map_err(|error| server.fault(&error))?;
            Ok((wire, infos))
        })
        .await?;
    let feed = WatchFeed::new(watched.clone());
    let base = beside(watched, path);
    let named = watched.clone();
    let change = move |info: async_nats::jetstream::object_store::ObjectInfo| {
        let below = name.is_empty()
            || info.name == name
            || info.name.strip_prefix(&name).is_some_and(|rest| rest.starts_with('/'));
        let reference = named.with_path(format!("{base}/{}", info.name));
        below.then(|| match info.deleted {
            true => Change::deleted(reference),
            false => Change::changed(reference),
        })
    };
    Ok(watch_task(&feed, forward(feed.clone(), wire, infos, change)))
}

/// Forwards the changes of a bucket. Its errors are lost connections: the consumer resumes where it
/// was after the reconnection.
async fn forward<T, E>(
    feed: Rc<WatchFeed>,
    _wire: Rc<NatsConnection>,
    mut told: impl Stream<Item = std::result::Result<T, E>> + Unpin,
    change: impl Fn(T) -> Option<Change>,
) {
    while let Some(item) = told.next().await {
        match item {
            Ok(item) => {
                if let Some(change) = change(item) {
                    feed.push(change);
                }
            }
            Err(_) => tokio::time::sleep(AGAIN).await,
        }
    }
    feed.fail(Error::new(Kind::Unavailable, "the connection was closed for good"));
}

pub(super) async fn subject(
    server: &Rc<NatsServer>,
    watched: &Reference,
    path: &str,
    deadline: Instant,
) -> Result<Changes> {
    let subject = subjects::subject(path)?;
    let (wire, messages) = server
        .with(deadline, |wire| async move {
            let selected = match subject.as_str() {
                "" => vec![">".to_string()],
                pattern if subjects::is_pattern(pattern) => vec![pattern.to_string()],
                subject => vec![subject.to_string(), format!("{subject}.>")],
            };
            let mut messages = Vec::new();
            for subject in selected {
                let subscribed = wire.client.subscribe(subject).await;
                messages.push(subscribed.map_err(|error| server.fault(&error))?);
            }
            settled(server, &wire.client).await?;
            Ok((wire, stream::select_all(messages)))
        })
        .await?;
    let feed = WatchFeed::new(watched.clone());
    let place = SubjectNames::new(watched, path);
    let mut gaps = wire.gaps.clone();
    gaps.mark_unchanged();
    let feed_of_task = feed.clone();
    Ok(watch_task(&feed, async move {
        let mut messages = messages;
        loop {
            tokio::select! {
                biased;
                Ok(()) = gaps.changed() => {
                    // A watcher that read again now would get an error: the server is unreachable.
                    while wire.client.connection_state() != State::Connected {
                        tokio::time::sleep(AGAIN).await;
                    }
                    feed_of_task.lose();
                }
                message = messages.next() => match message {
                    Some(message) => {
                        let content = Some(bucket::plain(message.payload));
                        let reference = place.reference(&message.subject);
                        feed_of_task.push(Change { content, ..Change::changed(reference) });
                    }
                    None => break,
                },
            }
        }
        feed_of_task.fail(Error::new(Kind::Unavailable, "the connection was closed for good"));
    }))
}

/// Waits until the server has taken all that was said before: it answers in order.
async fn settled(server: &NatsServer, client: &Client) -> Result<()> {
    let inbox = client.new_inbox();
    let subscribed = client.subscribe(inbox.clone()).await;
    let mut echo = subscribed.map_err(|error| server.fault(&error))?;
    client.publish(inbox, bytes::Bytes::new()).await.map_err(|error| server.fault(&error))?;
    echo.next().await;
    Ok(())
}

/// How subjects are named to one who watches.
struct SubjectNames {
    watched: Reference,
    /// The watched subject and what it is in the watched reference; nothing for patterns.
    known: Option<(String, String)>,
    base: String,
}

impl SubjectNames {
    fn new(watched: &Reference, path: &str) -> Self {
        let subject = path.replace('/', ".").trim_matches('.').to_string();
        let base = beside(watched, path);
        let plain = !subject.is_empty() && !subjects::is_pattern(&subject);
        let known = plain.then(|| (subject, watched.path().trim_end_matches('/').to_string()));
        SubjectNames { watched: watched.clone(), known, base }
    }

    fn reference(&self, subject: &str) -> Reference {
        if let Some((known, path)) = &self.known
            && let Some(rest) = subject.strip_prefix(known.as_str())
            && (rest.is_empty() || rest.starts_with('.'))
        {
            return self.watched.with_path(format!("{path}{}", rest.replace('.', "/")));
        }
        self.watched.with_path(format!("{}/{}", self.base, subject.replace('.', "/")))
    }
}
