//! Streams of messages with a bounded length: posts, and groups of followers.

use super::fault;
use super::server::{RedisServer, Resend};
use crate::queue::{MAX_LENGTH, check_group, max_length};
use redis::{Cmd, FromRedisValue, Value as Reply, cmd};
use runnel_store::{Error, Form, Kind, Reference, Result, Value};
use std::rc::Rc;
use std::time::Instant;

/// Adds a message. A stream that is full loses the messages that all its groups have done, and without
/// groups its oldest tenth; if that is not enough, the answer names a group that is behind.
const POST: &str = "local key, most = KEYS[1], tonumber(ARGV[1]) \
     if redis.call('TYPE', key).ok == 'stream' and redis.call('XLEN', key) >= most then \
       local function parts(id) local a, b = string.match(id, '(%d+)-(%d+)') return tonumber(a), tonumber(b) end \
       local floor, behind, fa, fb \
       for _, info in ipairs(redis.call('XINFO', 'GROUPS', key)) do \
         local group = {} \
         for at = 1, #info, 2 do group[info[at]] = info[at + 1] end \
         local a, b = parts(group['last-delivered-id']) \
         local pending = redis.call('XPENDING', key, group.name) \
         if pending[1] > 0 then a, b = parts(pending[2]) else b = b + 1 end \
         local first = string.format('%d-%d', a, b) \
         if not floor or a < fa or (a == fa and b < fb) then floor, behind, fa, fb = first, group.name, a, b end \
       end \
       if floor then redis.call('XTRIM', key, 'MINID', floor) \
       else redis.call('XTRIM', key, 'MAXLEN', math.floor(most * 0.9)) end \
       if redis.call('XLEN', key) >= most then return behind end \
     end \
     redis.call('XADD', key, '*', unpack(ARGV, 2)) return 1";

/// The length of `?stream` and `?stream&maxLength=1000`; `None` where a post appends to the existing value.
pub(super) fn length(reference: &Reference) -> Result<Option<u64>> {
    let query = reference.query().unwrap_or_default();
    let is_stream = query.split('&').any(|part| part == "stream" || part == "stream=true");
    let length = max_length(reference)?;
    Ok((is_stream || length.is_some()).then(|| length.unwrap_or(MAX_LENGTH)))
}

/// The arguments of XADD for the fields of a record.
pub(super) fn add_fields(command: &mut Cmd, fields: Option<&[(String, Value)]>) -> Result<()> {
    let Some(fields) = fields.filter(|fields| !fields.is_empty()) else {
        let message = "what is added to a stream of Redis is a record with fields";
        return Err(Error::new(Kind::Unsupported, message));
    };
    for (name, value) in fields {
        command.arg(name).arg(value.encode(Form::Text));
    }
    Ok(())
}

pub(super) async fn post(
    server: &Rc<RedisServer>,
    key: &str,
    fields: Option<&[(String, Value)]>,
    length: u64,
    deadline: Instant,
) -> Result<()> {
    let mut script = cmd("EVAL").arg(POST).arg(1).arg(key).arg(length).to_owned();
    add_fields(&mut script, fields)?;
    match server.ask(&script, Resend::No, deadline).await? {
        Reply::Int(1) => Ok(()),
        behind => {
            let group = String::from_redis_value(behind).unwrap_or_default();
            let message = format!(
                "the stream has {length} messages, and the follower {group} has not done the oldest"
            );
            Err(Error::new(Kind::Unavailable, message))
        }
    }
}

/// Makes a group, and the stream, unless they are there.
pub(super) async fn make_group(
    server: &Rc<RedisServer>,
    key: &str,
    group: &str,
    after: &str,
    deadline: Instant,
) -> Result<()> {
    check_group(group)?;
    let make =
        cmd("XGROUP").arg("CREATE").arg(key).arg(group).arg(after).arg("MKSTREAM").to_owned();
    match server.ask_for(&make, Resend::Yes, deadline).await? {
        Ok(_) => Ok(()),
        Err(error) if error.code() == Some("BUSYGROUP") => Ok(()),
        Err(error) if error.code() == Some("WRONGTYPE") => {
            let message = "what is there is no stream; a post to ?stream makes one";
            Err(Error::new(Kind::Conflict, message))
        }
        Err(error) => Err(fault::from_library(&error, &server.address)),
    }
}

/// Removes a group.
pub(super) async fn remove_group(
    server: &Rc<RedisServer>,
    key: &str,
    group: &str,
    deadline: Instant,
) -> Result<bool> {
    check_group(group)?;
    let remove = cmd("XGROUP").arg("DESTROY").arg(key).arg(group).to_owned();
    match server.ask_for(&remove, Resend::Yes, deadline).await? {
        Ok(reply) => Ok(reply == Reply::Int(1)),
        // Without the stream there is no group.
        Err(error) if error.to_string().contains("requires the key to exist") => Ok(false),
        Err(error) => Err(fault::from_library(&error, &server.address)),
    }
}
