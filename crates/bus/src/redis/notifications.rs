//! Keyspace notifications: how a server tells that keys change
//! (<https://redis.io/docs/latest/develop/pubsub/keyspace-notifications/>).

use super::hub::{Hub, Topic};
use super::list::glob;
use super::server::{Again, Server};
use crate::feed::Feed;
use redis::{FromRedisValue, cmd};
use runnel_store::{Change, Changes, Error, Kind, Reference, Result};
use std::rc::Rc;
use std::time::Instant;

/// The setting that turns them on.
const SETTING: &str = "notify-keyspace-events";

/// What has to be in the setting: channels by key (`K`), and every kind of event (`A` stands for
/// these letters).
const EVENTS: &str = "g$lshzxet";

/// How the channel of a key begins.
const CHANNELS: &str = "__keyspace@";

/// Events after which there is nothing at the key.
const GONE: [&str; 5] = ["del", "expired", "evicted", "rename_from", "move_from"];

/// Events that change no content.
const IDLE: [&str; 5] = ["expire", "persist", "new", "keymiss", "expired_field"];

/// Watches the keys at and below a reference.
pub(super) async fn watch(hub: &Rc<Hub>, watched: Reference, deadline: Instant) -> Result<Changes> {
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
    hub.watch(Feed::new(watched), topics, Box::new(translate), deadline).await
}

/// Whether a topic is about keys.
pub(super) fn is_of_keys(topic: &Topic) -> bool {
    let (Topic::Channel(name) | Topic::Pattern(name)) = topic;
    name.starts_with(CHANNELS.as_bytes())
}

/// Turns the notifications on, where they are not.
///
/// # Errors
/// [`Kind::Denied`] with what to set, when the server does not let us look or change it.
pub(super) async fn enable(server: &Rc<Server>, deadline: Instant) -> Result<()> {
    let asked = server.ask_for(cmd("CONFIG").arg("GET").arg(SETTING), Again::Yes, deadline).await?;
    let Ok(reply) = asked else { return Err(not_ours(server)) };
    let setting = Vec::<String>::from_redis_value(reply).unwrap_or_default();
    let Some(wanted) = wanted(setting.get(1).map(String::as_str).unwrap_or_default()) else {
        return Ok(());
    };
    let set = cmd("CONFIG").arg("SET").arg(SETTING).arg(wanted).to_owned();
    match server.ask_for(&set, Again::Yes, deadline).await? {
        Ok(_) => Ok(()),
        Err(_) => Err(not_ours(server)),
    }
}

/// The setting with what is missing; `None` where nothing is.
fn wanted(now: &str) -> Option<String> {
    let all = now.contains('A') || EVENTS.chars().all(|event| now.contains(event));
    if all && now.contains('K') {
        return None;
    }
    let others: String = now.chars().filter(|flag| matches!(flag, 'E' | 'm' | 'n')).collect();
    Some(format!("KA{others}"))
}

fn not_ours(server: &Server) -> Error {
    let message = format!(
        "{} does not tell of changes, and we have no right to turn it on: set {SETTING} to KA in \
         its configuration, and allow the user CONFIG GET",
        server.address
    );
    Error::new(Kind::Denied, message)
}

#[cfg(test)]
mod tests {
    use super::wanted;

    #[test]
    fn settings_are_added_to() {
        assert_eq!(wanted("").as_deref(), Some("KA"));
        assert_eq!(wanted("Ex").as_deref(), Some("KAE"));
        assert_eq!(wanted("AKm"), None);
        assert_eq!(wanted("g$lshzxetK"), None);
        assert_eq!(wanted("KEg").as_deref(), Some("KAE"));
    }
}
