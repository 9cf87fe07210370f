//! Changing a key.

use super::read::{StoredValue, VALUE_LIMIT, entity_tag, find};
use super::server::{RedisServer, Resend};
use super::{fault, stream};
use crate::merge::MergePatch;
use crate::wait;
use redis::{Cmd, Value as Reply, cmd};
use runnel_store::{
    Body, Condition, Content, Context, EntityTag, Error, Form, Kind, Reference, Result, Value, json,
};
use std::rc::Rc;
use std::time::Instant;

/// How often a change is tried when others change the same key at the same time.
const ATTEMPTS: usize = 32;

/// The longest time after which a key may vanish: a hundred years, in seconds.
const LONGEST_EXPIRY: f64 = 3_155_760_000.0;

/// Replaces a string if it still is what was read, and keeps the time at which it vanishes.
const REPLACE: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then \
     redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL') return 1 end return 0";

/// The same with a new time at which it vanishes.
const REPLACE_UNTIL: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then \
     redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3]) return 1 end return 0";

/// Removes a string if it still is what was read.
const REMOVE: &str = "if redis.call('GET', KEYS[1]) == ARGV[1] then \
     return redis.call('UNLINK', KEYS[1]) end return 0";

/// Sets and removes fields of a hash that is there.
const SET_FIELDS: &str = "if redis.call('TYPE', KEYS[1]).ok ~= 'hash' then return 0 end \
     local set = tonumber(ARGV[1]) \
     for at = 2, set * 2, 2 do redis.call('HSET', KEYS[1], ARGV[at], ARGV[at + 1]) end \
     for at = set * 2 + 2, #ARGV do redis.call('HDEL', KEYS[1], ARGV[at]) end return 1";

/// The milliseconds of `?expires=SECONDS`.
pub(super) fn expiry(reference: &Reference) -> Result<Option<u64>> {
    let query = reference.query().unwrap_or_default();
    let Some(text) = query.split('&').find_map(|part| part.strip_prefix("expires=")) else {
        return Ok(None);
    };
    match text.parse::<f64>() {
        Ok(seconds) if (0.001..=LONGEST_EXPIRY).contains(&seconds) => {
            Ok(Some((seconds * 1000.0) as u64))
        }
        _ => {
            let message = "expires is a number of seconds greater than 0, as in ?expires=60";
            Err(Error::new(Kind::Invalid, message))
        }
    }
}

pub(super) async fn put(
    server: &Rc<RedisServer>,
    key: &str,
    content: Content,
    expiry: Option<u64>,
    context: &Context,
) -> Result<bool> {
    let usual = server.options.operation_time;
    if matches!(content.body, Body::Value(Value::Nil)) {
        delete(server, key, context).await?;
        return Ok(false);
    }
    let bytes = content.read(VALUE_LIMIT).await?;
    if let Some(condition @ Condition::Tag(tag)) = &context.only_if {
        let deadline = wait::deadline(context, usual);
        let before = tagged(server, key, tag, deadline).await?;
        let mut script = cmd("EVAL");
        script.arg(if expiry.is_some() { REPLACE_UNTIL } else { REPLACE });
        script.arg(1).arg(key).arg(before).arg(bytes.as_ref()).arg(expiry);
        return match server.ask(&script, Resend::No, deadline).await? {
            Reply::Int(1) => Ok(false),
            _ => Err(condition.failed()),
        };
    }
    if let Some(condition) = &context.only_if {
        return put_if(server, key, &bytes, expiry, condition, wait::deadline(context, usual))
            .await;
    }
    let mut commands = redis::pipe();
    commands.atomic().cmd("EXISTS").arg(key);
    commands.cmd("SET").arg(key).arg(bytes.as_ref());
    if let Some(milliseconds) = expiry {
        commands.arg("PX").arg(milliseconds);
    }
    let replies = server.ask_all(&commands, Resend::Yes, wait::deadline(context, usual)).await?;
    Ok(matches!(replies.first(), Some(Reply::Int(0))))
}

/// The string at a key, if it has this tag.
async fn tagged(
    server: &Rc<RedisServer>,
    key: &str,
    tag: &EntityTag,
    deadline: Instant,
) -> Result<Vec<u8>> {
    match find(server, key, deadline).await? {
        StoredValue::Text(bytes) if !tag.weak && entity_tag(&bytes) == *tag => Ok(bytes),
        _ => Err(Condition::Tag(tag.clone()).failed()),
    }
}

/// SET looks and writes as one step.
async fn put_if(
    server: &Rc<RedisServer>,
    key: &str,
    bytes: &[u8],
    expiry: Option<u64>,
    condition: &Condition,
    deadline: Instant,
) -> Result<bool> {
    let mut command = cmd("SET").arg(key).arg(bytes).to_owned();
    let is_new = *condition == Condition::Absent;
    command.arg(if is_new { "NX" } else { "XX" });
    if let Some(milliseconds) = expiry {
        command.arg("PX").arg(milliseconds);
    }
    // Sent again after its answer was lost, it would not find what it relies on.
    match server.ask(&command, Resend::No, deadline).await? {
        Reply::Nil => Err(condition.failed()),
        _ => Ok(is_new),
    }
}

pub(super) async fn delete(server: &Rc<RedisServer>, key: &str, context: &Context) -> Result<bool> {
    let deadline = wait::deadline(context, server.options.operation_time);
    match &context.only_if {
        Some(condition @ Condition::Absent) => {
            let reply = server.ask(cmd("EXISTS").arg(key), Resend::Yes, deadline).await?;
            if reply == Reply::Int(0) { Ok(false) } else { Err(condition.failed()) }
        }
        Some(condition @ Condition::Tag(tag)) => {
            let before = tagged(server, key, tag, deadline).await?;
            let script = cmd("EVAL").arg(REMOVE).arg(1).arg(key).arg(before).to_owned();
            match server.ask(&script, Resend::No, deadline).await? {
                Reply::Int(1) => Ok(true),
                _ => Err(condition.failed()),
            }
        }
        Some(condition) => {
            let reply = server.ask(cmd("UNLINK").arg(key), Resend::No, deadline).await?;
            if reply == Reply::Int(0) { Err(condition.failed()) } else { Ok(true) }
        }
        None => {
            let reply = server.ask(cmd("UNLINK").arg(key), Resend::Yes, deadline).await?;
            Ok(reply != Reply::Int(0))
        }
    }
}

pub(super) async fn post(
    server: &Rc<RedisServer>,
    key: &str,
    content: Content,
    stream: Option<u64>,
    context: &Context,
) -> Result<()> {
    let part = match &content.body {
        Body::Value(value) => Some(value.clone()),
        Body::Lazy(lazy) if stream.is_some() => Some(lazy.clone().value().await?),
        _ => None,
    };
    let bytes = content.read(VALUE_LIMIT).await?;
    let fields = || match &part {
        Some(Value::Record(fields)) => Some(fields.clone()),
        Some(_) => None,
        None => match json::parse(&bytes) {
            Ok(Value::Record(fields)) => Some(fields),
            _ => None,
        },
    };
    let deadline = wait::deadline(context, server.options.operation_time);
    if let Some(length) = stream {
        return stream::post(server, key, fields().as_deref(), length, deadline).await;
    }
    let mut command = cmd("RPUSH").arg(key).arg(bytes.as_ref()).to_owned();
    for _ in 0..ATTEMPTS {
        match server.ask_for(&command, Resend::No, deadline).await? {
            Ok(_) => return Ok(()),
            Err(error) if error.code() == Some("WRONGTYPE") => {}
            Err(error) => return Err(fault::from_library(&error, &server.address)),
        }
        let kind = server.ask(cmd("TYPE").arg(key), Resend::Yes, deadline).await?;
        let Reply::SimpleString(kind) = kind else { continue };
        command = match kind.as_str() {
            "string" => cmd("APPEND").arg(key).arg(bytes.as_ref()).to_owned(),
            "set" => cmd("SADD").arg(key).arg(bytes.as_ref()).to_owned(),
            "stream" => {
                let mut add = cmd("XADD").arg(key).arg("*").to_owned();
                stream::add_fields(&mut add, fields().as_deref())?;
                add
            }
            "list" | "none" => cmd("RPUSH").arg(key).arg(bytes.as_ref()).to_owned(),
            _ => {
                let message = format!("a {kind} of Redis cannot be added to; merge sets fields");
                return Err(Error::new(Kind::Conflict, message));
            }
        };
    }
    Err(contended())
}

pub(super) async fn merge(
    server: &Rc<RedisServer>,
    key: &str,
    content: Content,
    context: &Context,
) -> Result<()> {
    let part = MergePatch::read(content, VALUE_LIMIT).await?;
    let deadline = wait::deadline(context, server.options.operation_time);
    for _ in 0..ATTEMPTS {
        let found = find(server, key, deadline).await?;
        if let Some(condition) = &context.only_if {
            let tag = match &found {
                StoredValue::Text(before) => Some(entity_tag(before)),
                _ => None,
            };
            condition.check((!matches!(found, StoredValue::Nothing)).then_some(tag.as_ref()))?;
        }
        let (change, again) = match (found, &part) {
            (StoredValue::Nothing, _) => {
                let message = "there is nothing to merge into; put creates it";
                return Err(Error::new(Kind::NotFound, message));
            }
            (StoredValue::Text(before), part) => {
                let after = part.applied_to(&before);
                let script = cmd("EVAL").arg(REPLACE).arg(1).arg(key).to_owned();
                (script.clone().arg(before).arg(after.as_ref()).to_owned(), Resend::No)
            }
            (StoredValue::Structure(kind), MergePatch::Fields(fields)) if kind == "hash" => {
                (set_fields(key, fields), Resend::Yes)
            }
            (StoredValue::Structure(kind), _) => {
                let message = format!(
                    "only fields can be merged into a hash, and nothing into \
                                       another {kind} of Redis; put replaces it"
                );
                return Err(Error::new(Kind::Conflict, message));
            }
        };
        if server.ask(&change, again, deadline).await? == Reply::Int(1) {
            return Ok(());
        }
    }
    Err(contended())
}

fn set_fields(key: &str, fields: &[(String, Value)]) -> Cmd {
    let (removed, set): (Vec<_>, Vec<_>) = fields.iter().partition(|(_, value)| value.is_nil());
    let mut script = cmd("EVAL").arg(SET_FIELDS).arg(1).arg(key).arg(set.len()).to_owned();
    for (name, value) in set {
        script.arg(name).arg(value.encode(Form::Text));
    }
    for (name, _) in removed {
        script.arg(name);
    }
    script
}

fn contended() -> Error {
    let message = format!("others changed it {ATTEMPTS} times in a row meanwhile");
    Error::new(Kind::Conflict, message).with_temporary(true)
}
