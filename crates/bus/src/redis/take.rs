//! Taking elements from a list.
//!
//! An element is taken by LPOP or RPOP in a task of its own. If the caller is gone when the reply
//! arrives, the task puts the element back at its end of the list. Waiting removes nothing: BLMOVE from
//! the list into itself, at the same end, returns as soon as there is an element.

use super::fault;
use super::read::content;
use super::server::{RedisConnection, RedisServer, Resend};
use crate::wait;
use redis::{FromRedisValue, Value as Reply, cmd};
use runnel_store::{Content, Context, Error, Kind, QueueEnd, Result};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// The longest wait for an element.
pub const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// The pause before a wait continues after its connection broke.
const BROKEN_PAUSE: Duration = Duration::from_millis(200);

/// How often an element of a caller that is gone is put back while the server is away.
const RETURNS: u32 = 5;

pub(super) async fn take(
    server: &Rc<RedisServer>,
    key: &str,
    end: QueueEnd,
    time: Duration,
    context: &Context,
) -> Result<Option<Content>> {
    if time > LONGEST_WAIT {
        let seconds = LONGEST_WAIT.as_secs();
        let message = format!("an element is waited for at most {seconds} seconds");
        return Err(Error::new(Kind::Invalid, message));
    }
    let longest = Instant::now() + time;
    let until = context.deadline.map_or(longest, |deadline| deadline.min(longest));
    let mut connection = None;
    loop {
        if let Some(bytes) = pop(server, key, end, context).await? {
            return Ok(Some(content(bytes)));
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        await_element(server, key, end, until, &mut connection).await;
    }
}

/// Removes an element. It goes back when this future is dropped before it is ready.
async fn pop(
    server: &Rc<RedisServer>,
    key: &str,
    end: QueueEnd,
    context: &Context,
) -> Result<Option<Vec<u8>>> {
    let (sender, receiver) = oneshot::channel();
    let (accept, accepted) = oneshot::channel::<()>();
    let deadline = wait::deadline(context, server.options.operation_time);
    let (server, key) = (server.clone(), key.to_string());
    tokio::task::spawn_local(async move {
        let popped = popped(&server, &key, end, deadline).await;
        let element = popped.as_ref().ok().cloned().flatten();
        // An answer that is never accepted counts as not delivered, too.
        drop(sender.send(popped));
        if let (Some(element), Err(_)) = (element, accepted.await) {
            put_back(&server, &key, end, &element).await;
        }
    });
    let gone = |_| Error::new(Kind::Cancelled, "the program ends");
    let popped = receiver.await.map_err(gone)?;
    // The task has nothing to do after an error.
    let _ = accept.send(());
    popped
}

async fn popped(
    server: &Rc<RedisServer>,
    key: &str,
    end: QueueEnd,
    deadline: Instant,
) -> Result<Option<Vec<u8>>> {
    let name = if end == QueueEnd::First { "LPOP" } else { "RPOP" };
    match server.ask_for(cmd(name).arg(key), Resend::No, deadline).await? {
        Ok(Reply::Nil) => Ok(None),
        Ok(reply) => Ok(Vec::<u8>::from_redis_value(reply).ok()),
        Err(error) if error.code() == Some("WRONGTYPE") => {
            let kind = match server.ask(cmd("TYPE").arg(key), Resend::Yes, deadline).await? {
                Reply::SimpleString(kind) => kind,
                _ => "value".to_string(),
            };
            let message = format!("elements are taken from a list, and there is a {kind}");
            Err(Error::new(Kind::Conflict, message))
        }
        Err(error) => Err(fault::from_library(&error, &server.address)),
    }
}

async fn put_back(server: &Rc<RedisServer>, key: &str, end: QueueEnd, element: &[u8]) {
    let name = if end == QueueEnd::First { "LPUSH" } else { "RPUSH" };
    let push = cmd(name).arg(key).arg(element).to_owned();
    for attempt in 0..RETURNS {
        let deadline = Instant::now() + server.options.operation_time;
        match server.ask(&push, Resend::No, deadline).await {
            Err(error) if error.temporary => {
                tokio::time::sleep(BROKEN_PAUSE * 2_u32.pow(attempt)).await;
            }
            Err(error) => {
                tracing::error!(%error, "an element that was taken could not be put back");
                return;
            }
            Ok(_) => return,
        }
    }
    tracing::error!("an element that was taken could not be put back");
}

/// Waits until there may be an element, at most until the time is over. Dropping it closes the
/// connection that waits, and leaves the list as it is.
async fn await_element(
    server: &Rc<RedisServer>,
    key: &str,
    end: QueueEnd,
    until: Instant,
    connection: &mut Option<Rc<RedisConnection>>,
) {
    let waiting = async {
        // The semaphore is never closed.
        let Ok(_room) = server.blocking.acquire().await else { return };
        if connection.is_none() {
            *connection = server.own_connection().await.ok();
        }
        let left = until.saturating_duration_since(Instant::now()).as_secs_f64().max(0.001);
        let side = if end == QueueEnd::First { "LEFT" } else { "RIGHT" };
        let wait = cmd("BLMOVE").arg(key).arg(key).arg(side).arg(side).arg(left).to_owned();
        let answer = match connection {
            Some(connection) => connection.block_on(&wait, until).await,
            None => None,
        };
        if !matches!(answer, Some(Ok(_))) {
            *connection = None;
            tokio::time::sleep(BROKEN_PAUSE).await;
        }
    };
    // The end of the time is no error.
    let _ = tokio::time::timeout_at(until.into(), waiting).await;
}
