//! TopicWatch keys: keyspace notifications as changes.

use super::hub::{RedisListener, Topic};
use super::list::glob;
use super::notifications::{CHANNELS, enable};
use crate::feed::WatchFeed;
use runnel_store::{Change, Changes, Reference, Result};
use std::rc::Rc;
use std::time::Instant;

/// Events after which there is nothing at the key.
const GONE: [&str; 5] = ["del", "expired", "evicted", "rename_from", "move_from"];

/// Events that change no content.
const IDLE: [&str; 5] = ["expire", "persist", "new", "keymiss", "expired_field"];

/// Watches the keys at and below a reference.
pub(super) async fn watch(
    hub: &Rc<RedisListener>,
    watched: Reference,
    deadline: Instant,
) -> Result<Changes> {
    enable(&hub.server, deadline).await?;
    let key = watched.relative_path().trim_end_matches('/').to_string();
    let prefix = format!("{CHANNELS}{}__:", hub.server.database);
    let topics = if key.is_empty() {
        vec![Topic::Pattern(format!("{}*", glob(&prefix)).into_bytes())]
    } else {
        vec![
            Topic::Channel(format!("{prefix}{key}").into_bytes()),
            Topic::Pattern(format!("{}/*", glob(&format!("{prefix}{key}"))).into_bytes()),
        ]
    };
    let named = watched.clone();
    let translate = move |channel: &[u8], event: bytes::Bytes| {
        let key = std::str::from_utf8(channel.strip_prefix(prefix.as_bytes())?).ok()?;
        let event = std::str::from_utf8(&event).ok()?;
        let reference = named.with_path(key);
        match event {
            event if IDLE.contains(&event) => None,
            event if GONE.contains(&event) => Some(Change::deleted(reference)),
            _ => Some(Change::changed(reference)),
        }
    };
    hub.watch(WatchFeed::new(watched), topics, Box::new(translate), deadline).await
}
