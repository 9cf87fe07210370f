//! Reading a key, whatever is there.

use super::server::{RedisServer, Resend};
use redis::{FromRedisValue, Value as Reply, cmd};
use runnel_store::{COLLECT_LIMIT, Content, EntityTag, Error, Kind, Result, Text, Value};
use std::hash::{DefaultHasher, Hasher};
use std::rc::Rc;
use std::time::Instant;

/// How large a value may be, in bytes, when it is read, put or merged.
pub const VALUE_LIMIT: usize = COLLECT_LIMIT;

/// Elements that are read of a list, a hash, a set or a stream. Larger ones are
/// [`Kind::TooLarge`].
pub const ELEMENTS_LIMIT: usize = 65_536;

/// What is at a key.
pub(super) enum StoredValue {
    Nothing,
    Text(Vec<u8>),
    /// Something with a structure, by the name that `TYPE` gives it.
    Structure(String),
}

/// The content at a key.
pub(super) async fn get(
    server: &Rc<RedisServer>,
    key: &str,
    deadline: Instant,
) -> Result<Option<Content>> {
    match find(server, key, deadline).await? {
        StoredValue::Nothing => Ok(None),
        StoredValue::Text(bytes) => {
            let entity_tag = Some(entity_tag(&bytes));
            Ok(Some(Content { entity_tag, ..content(bytes) }))
        }
        StoredValue::Structure(kind) => {
            Ok(structure(server, key, &kind, deadline).await?.map(Content::value))
        }
    }
}

/// The string at a key, or what else is there.
pub(super) async fn find(
    server: &Rc<RedisServer>,
    key: &str,
    deadline: Instant,
) -> Result<StoredValue> {
    // A range is bounded, and tells an empty string from none only by a second question.
    let range = cmd("GETRANGE").arg(key).arg(0).arg(VALUE_LIMIT).to_owned();
    match server.ask_for(&range, Resend::Yes, deadline).await? {
        Ok(Reply::BulkString(bytes)) if bytes.len() > VALUE_LIMIT => {
            Err(too_large("bytes", VALUE_LIMIT))
        }
        Ok(Reply::BulkString(bytes)) if !bytes.is_empty() => Ok(StoredValue::Text(bytes)),
        Ok(_) => match server.ask(cmd("TYPE").arg(key), Resend::Yes, deadline).await? {
            Reply::SimpleString(kind) if kind == "string" => Ok(StoredValue::Text(Vec::new())),
            _ => Ok(StoredValue::Nothing),
        },
        Err(error) if error.code() == Some("WRONGTYPE") => {
            match server.ask(cmd("TYPE").arg(key), Resend::Yes, deadline).await? {
                Reply::SimpleString(kind) if kind == "none" => Ok(StoredValue::Nothing),
                Reply::SimpleString(kind) => Ok(StoredValue::Structure(kind)),
                _ => Ok(StoredValue::Nothing),
            }
        }
        Err(error) => Err(super::fault::from_library(&error, &server.address)),
    }
}

/// The tag of a string: 128 bits of its bytes. What is written under a tag is compared as a whole
/// by the server, so that two strings with the same tag are not taken for each other there.
pub(super) fn entity_tag(bytes: &[u8]) -> EntityTag {
    let half = |number: u8| {
        let mut hasher = DefaultHasher::new();
        hasher.write_u8(number);
        hasher.write(bytes);
        hasher.finish()
    };
    EntityTag::strong(format!("{:016x}{:016x}", half(0), half(1)))
}

/// Bytes as text if they are UTF-8.
pub(super) fn content(bytes: Vec<u8>) -> Content {
    match Text::from_utf8(bytes.into()) {
        Ok(text) => Content::text(text),
        Err(bytes) => Content::bytes(bytes),
    }
}

async fn structure(
    server: &Rc<RedisServer>,
    key: &str,
    kind: &str,
    deadline: Instant,
) -> Result<Option<Value>> {
    let count = match kind {
        "hash" => Some("HLEN"),
        "set" => Some("SCARD"),
        "zset" => Some("ZCARD"),
        "list" => Some("LLEN"),
        "stream" => Some("XLEN"),
        _ => {
            let message = format!("a {kind} of Redis cannot be read here");
            return Err(Error::new(Kind::Unsupported, message));
        }
    };
    if let Some(count) = count {
        match server.ask(cmd(count).arg(key), Resend::Yes, deadline).await? {
            Reply::Int(count) if count > ELEMENTS_LIMIT as i64 => {
                return Err(too_large("elements", ELEMENTS_LIMIT));
            }
            _ => {}
        }
    }
    let read = match kind {
        "hash" => cmd("HGETALL").arg(key).to_owned(),
        "set" => cmd("SMEMBERS").arg(key).to_owned(),
        "zset" => cmd("ZRANGE").arg(key).arg(0).arg(ELEMENTS_LIMIT).arg("WITHSCORES").to_owned(),
        "list" => cmd("LRANGE").arg(key).arg(0).arg(ELEMENTS_LIMIT).to_owned(),
        _ => cmd("XRANGE").arg(key).arg("-").arg("+").arg("COUNT").arg(ELEMENTS_LIMIT).to_owned(),
    };
    let Reply::Array(elements) = server.ask(&read, Resend::Yes, deadline).await? else {
        return Err(Error::new(Kind::Failed, format!("{} answered no list", server.address)));
    };
    if elements.is_empty() {
        return Ok(None);
    }
    Ok(Some(match kind {
        "hash" => record(elements, |value| value),
        "zset" => record(elements, score),
        "stream" => Value::List(elements.into_iter().map(entry).collect()),
        "set" => {
            let mut members: Vec<Vec<u8>> = elements.into_iter().filter_map(bytes).collect();
            members.sort();
            let member = |bytes: Vec<u8>| Value::from(bytes::Bytes::from(bytes));
            Value::List(members.into_iter().map(member).collect())
        }
        _ => Value::List(elements.into_iter().map(plain).collect()),
    }))
}

/// Names and values that alternate.
fn record(elements: Vec<Reply>, change: fn(Value) -> Value) -> Value {
    let mut elements = elements.into_iter();
    let mut fields = Vec::with_capacity(elements.len() / 2);
    while let (Some(name), Some(value)) = (elements.next(), elements.next()) {
        let name = bytes(name).unwrap_or_default();
        fields.push((String::from_utf8_lossy(&name).into_owned(), change(plain(value))));
    }
    Value::Record(fields)
}

/// The score of a sorted set, which comes as text.
fn score(value: Value) -> Value {
    match value.as_str().and_then(|text| text.parse::<f64>().ok()) {
        Some(number) => Value::Float(number),
        None => value,
    }
}

/// An entry of a stream: its id and its fields.
fn entry(reply: Reply) -> Value {
    let Reply::Array(parts) = reply else { return plain(reply) };
    let mut parts = parts.into_iter();
    let id = parts.next().map_or(Value::Nil, plain);
    let fields = match parts.next() {
        Some(Reply::Array(fields)) => record(fields, |value| value),
        _ => Value::Record(Vec::new()),
    };
    let mut whole = vec![("id".to_string(), id)];
    if let Value::Record(fields) = fields {
        whole.extend(fields.into_iter().filter(|(name, _)| name != "id"));
    }
    Value::Record(whole)
}

/// An entry of a stream as a message: its id, and its fields as a record. `None` for one that was
/// removed.
pub(super) fn message(reply: Reply) -> Option<(String, Value)> {
    let Reply::Array(parts) = reply else { return None };
    let mut parts = parts.into_iter();
    let id = String::from_redis_value(parts.next()?).ok()?;
    match parts.next()? {
        Reply::Array(fields) => Some((id, record(fields, |value| value))),
        _ => None,
    }
}

fn bytes(reply: Reply) -> Option<Vec<u8>> {
    Vec::<u8>::from_redis_value(reply).ok()
}

fn plain(reply: Reply) -> Value {
    match reply {
        Reply::Int(number) => Value::Int(number),
        Reply::Double(number) => Value::Float(number),
        other => bytes(other).map_or(Value::Nil, |bytes| bytes::Bytes::from(bytes).into()),
    }
}

pub(super) fn too_large(what: &str, limit: usize) -> Error {
    Error::new(Kind::TooLarge, format!("what is there has more than {limit} {what}"))
}
