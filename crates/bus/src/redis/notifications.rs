//! Keyspace notifications: how a server tells that keys change
//! (<https://redis.io/docs/latest/develop/pubsub/keyspace-notifications/>).

use super::server::{RedisServer, Resend};
use redis::{FromRedisValue, cmd};
use runnel_store::{Error, Kind, Result};
use std::rc::Rc;
use std::time::Instant;

/// The setting that turns them on.
const SETTING: &str = "notify-keyspace-events";

/// What has to be in the setting: channels by key (`K`), and every kind of event (`A` stands for
/// these letters).
const EVENTS: &str = "g$lshzxet";

/// How the channel of a key begins.
pub(super) const CHANNELS: &str = "__keyspace@";

/// Whether a channel or a pattern is about keys.
pub(super) fn is_of_keys(name: &[u8]) -> bool {
    name.starts_with(CHANNELS.as_bytes())
}

/// Turns the notifications on, where they are not.
///
/// # Errors
/// [`Kind::Denied`] with what to set, when the server does not let us look or change it.
pub(super) async fn enable(server: &Rc<RedisServer>, deadline: Instant) -> Result<()> {
    let asked =
        server.ask_for(cmd("CONFIG").arg("GET").arg(SETTING), Resend::Yes, deadline).await?;
    let Ok(reply) = asked else { return Err(not_ours(server)) };
    let setting = Vec::<String>::from_redis_value(reply).unwrap_or_default();
    let Some(wanted) = wanted(setting.get(1).map(String::as_str).unwrap_or_default()) else {
        return Ok(());
    };
    let set = cmd("CONFIG").arg("SET").arg(SETTING).arg(wanted).to_owned();
    match server.ask_for(&set, Resend::Yes, deadline).await? {
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

fn not_ours(server: &RedisServer) -> Error {
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
