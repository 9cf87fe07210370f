//! The names below a key.

use super::server::{RedisServer, Resend};
use crate::LISTING_LIMIT;
use redis::{FromRedisValue, cmd};
use runnel_store::{Entry, Error, Kind, Result};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Instant;

/// Keys that the server looks at for one step of a listing.
const STEP: usize = 1000;

/// The children of a key, bytewise ordered. The server looks through all its keys for them, step by
/// step, so that others are answered in between.
pub(super) async fn list(
    server: &Rc<RedisServer>,
    above: &str,
    deadline: Instant,
) -> Result<Option<Vec<Entry>>> {
    let above = above.trim_end_matches('/');
    let prefix = if above.is_empty() { String::new() } else { format!("{above}/") };
    let pattern = format!("{}*", glob(&prefix));
    let mut found: BTreeMap<String, bool> = BTreeMap::new();
    let mut cursor = b"0".to_vec();
    loop {
        let step =
            cmd("SCAN").arg(&cursor).arg("MATCH").arg(&pattern).arg("COUNT").arg(STEP).to_owned();
        let reply = server.ask(&step, Resend::Yes, deadline).await?;
        let step = <(Vec<u8>, Vec<Vec<u8>>)>::from_redis_value(reply);
        let (next, keys) = step.map_err(|error| {
            Error::new(Kind::Failed, format!("{} answered no list of keys", server.address))
                .with_detail(error.to_string())
        })?;
        for key in keys {
            add(&mut found, &prefix, key);
        }
        if found.len() > LISTING_LIMIT {
            return Err(super::read::too_large("names", LISTING_LIMIT));
        }
        if next == b"0" {
            break;
        }
        cursor = next;
    }
    let entry = |(name, collection)| Entry { name, collection };
    let entries: Vec<Entry> = found.into_iter().map(entry).collect();
    Ok((above.is_empty() || !entries.is_empty()).then_some(entries))
}

fn add(found: &mut BTreeMap<String, bool>, prefix: &str, key: Vec<u8>) {
    let Ok(key) = String::from_utf8(key) else { return };
    let Some(rest) = key.strip_prefix(prefix) else { return };
    let (name, collection) = match rest.split_once('/') {
        Some((name, _)) => (name, true),
        None => (rest, false),
    };
    if !name.is_empty() {
        *found.entry(name.to_string()).or_default() |= collection;
    }
}

/// Text as a pattern that matches nothing else.
pub(super) fn glob(text: &str) -> String {
    let mut pattern = String::with_capacity(text.len());
    for char in text.chars() {
        if matches!(char, '*' | '?' | '[' | ']' | '\\' | '^') {
            pattern.push('\\');
        }
        pattern.push(char);
    }
    pattern
}
