//! A follower of a stream: a consumer of a consumer group.
//!
//! What is delivered stays in the pending list of the group until it is acknowledged. A message whose
//! idle time is longer than the lease is claimed by any follower (XAUTOCLAIM), which also counts the
//! delivery. Renewing sets the idle time to 0, giving back sets it to the lease less the pause.

use super::fault;
use super::read;
use super::server::{RedisConnection, RedisServer, Resend};
use super::stream::make_group;
use crate::queue::{DEAD_LETTERS, MOST_DELIVERED, ROUND};
use redis::{FromRedisValue, RedisError, Value as Reply, cmd};
use runnel_store::{Answer, Deliveries, Delivery, Error, GroupMember, Kind, Result};
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// Moves a message to the dead letters, unless that was done: the fields of the message with
/// `error` and `message`, its id.
const BURY: &str = "local entry = redis.call('XRANGE', KEYS[1], ARGV[2], ARGV[2])[1] \
     if redis.call('XACK', KEYS[1], ARGV[1], ARGV[2]) == 0 or not entry then return 0 end \
     local fields = entry[2] \
     for _, field in ipairs({ 'error', ARGV[3], 'message', ARGV[2] }) do fields[#fields + 1] = field end \
     redis.call('XADD', KEYS[2], 'MAXLEN', '~', ARGV[4], '*', unpack(fields)) return 1";

/// A follower in a group.
pub(super) struct RedisFollower(Rc<FollowerState>);

struct FollowerState {
    server: Rc<RedisServer>,
    key: String,
    group: String,
    /// Our own name in the group.
    name: String,
    lease: Duration,
    /// What was delivered to us and is not done.
    running: RefCell<BTreeSet<String>>,
    /// When the messages of others are looked at again, and from which id on.
    claiming: RefCell<(Option<Instant>, Vec<u8>)>,
    /// The connection that waits for messages.
    connection: RefCell<Option<Rc<RedisConnection>>>,
    lost: Cell<u64>,
}

impl RedisFollower {
    pub(super) fn new(
        server: Rc<RedisServer>,
        key: String,
        group: String,
        lease: Duration,
    ) -> Result<Self> {
        let mut bytes = [0; 12];
        runnel_store::fill_random(&mut bytes)?;
        let name = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let claiming = RefCell::new((None, b"0-0".to_vec()));
        let (running, connection, lost) = Default::default();
        let state =
            FollowerState { server, key, group, name, lease, running, claiming, connection, lost };
        Ok(RedisFollower(Rc::new(state)))
    }
}

impl FollowerState {
    fn deadline(&self) -> Instant {
        Instant::now() + self.server.options.operation_time
    }

    fn fault(&self, error: &RedisError) -> Error {
        fault::from_library(error, &self.server.address)
    }

    /// Takes over messages whose lease has ended, and those given back.
    async fn claim(&self, most: usize) -> Result<Vec<Delivery>> {
        let from = self.claiming.borrow().1.clone();
        let mut claim =
            cmd("XAUTOCLAIM").arg(&self.key).arg(&self.group).arg(&self.name).to_owned();
        claim.arg(self.lease.as_millis() as u64).arg(from).arg("COUNT").arg(most);
        let reply = match self.server.ask_for(&claim, Resend::Yes, self.deadline()).await? {
            Ok(reply) => reply,
            Err(error) if error.code() == Some("NOGROUP") => {
                self.make_again().await?;
                return Ok(Vec::new());
            }
            Err(error) => return Err(self.fault(&error)),
        };
        let Reply::Array(parts) = reply else { return Ok(Vec::new()) };
        let mut parts = parts.into_iter();
        let next = parts.next().and_then(|id| Vec::<u8>::from_redis_value(id).ok());
        let next = next.unwrap_or_else(|| b"0-0".to_vec());
        // At the end of the list there is time until the next look.
        let is_whole = next == b"0-0";
        let pause = ROUND.min(self.lease / 4);
        *self.claiming.borrow_mut() = (is_whole.then(|| Instant::now() + pause), next);
        let entries = match parts.next() {
            Some(Reply::Array(entries)) => entries,
            _ => Vec::new(),
        };
        if let Some(Reply::Array(removed)) = parts.next() {
            self.lost.set(self.lost.get() + removed.len() as u64);
        }
        let mut claimed = Vec::new();
        for entry in entries {
            let Some((id, value)) = read::message(entry) else {
                self.lost.set(self.lost.get() + 1);
                continue;
            };
            if self.running.borrow().contains(&id) {
                continue;
            }
            let attempt = self.attempts(&id).await?;
            claimed.push(Delivery { id, value, attempt });
        }
        Ok(claimed)
    }

    /// How often a message was delivered.
    async fn attempts(&self, id: &str) -> Result<u64> {
        let ask = cmd("XPENDING").arg(&self.key).arg(&self.group).arg(id).arg(id).arg(1).to_owned();
        let reply = self.server.ask(&ask, Resend::Yes, self.deadline()).await?;
        let rows = Vec::<(String, String, u64, u64)>::from_redis_value(reply).unwrap_or_default();
        Ok(rows.first().map_or(1, |row| row.3))
    }

    /// Waits for new messages for a while.
    async fn read(&self, most: usize) -> Result<Vec<Delivery>> {
        let known = self.connection.borrow_mut().take();
        let connection = match known {
            Some(connection) => connection,
            None => self.server.own_connection().await?,
        };
        let next = self.claiming.borrow().0;
        let wait = next.map_or(ROUND, |next| next.saturating_duration_since(Instant::now()));
        let wait = wait.clamp(Duration::from_millis(10), ROUND);
        let mut read = cmd("XREADGROUP").arg("GROUP").arg(&self.group).arg(&self.name).to_owned();
        read.arg("COUNT").arg(most).arg("BLOCK").arg(wait.as_millis() as u64);
        read.arg("STREAMS").arg(&self.key).arg(">");
        let reply = match connection.block_on(&read, self.deadline() + wait).await {
            Some(Ok(reply)) => reply,
            Some(Err(error)) if error.code() == Some("NOGROUP") => {
                self.make_again().await?;
                return Ok(Vec::new());
            }
            // The stream was removed while we waited.
            Some(Err(error)) if error.code() == Some("UNBLOCKED") => return Ok(Vec::new()),
            Some(Err(error)) => return Err(self.fault(&error)),
            None => {
                let message = format!("{} closed the connection", self.server.address);
                return Err(Error::new(Kind::Unavailable, message));
            }
        };
        self.connection.replace(Some(connection));
        let Reply::Array(streams) = reply else { return Ok(Vec::new()) };
        let Some(Reply::Array(stream)) = streams.into_iter().next() else { return Ok(Vec::new()) };
        let Some(Reply::Array(entries)) = stream.into_iter().nth(1) else { return Ok(Vec::new()) };
        let message = |(id, value)| Delivery { id, value, attempt: 1 };
        Ok(entries.into_iter().filter_map(read::message).map(message).collect())
    }

    /// The stream or the group was removed: what is in a new stream is for the group.
    async fn make_again(&self) -> Result<()> {
        self.lost.set(self.lost.get() + 1);
        make_group(&self.server, &self.key, &self.group, "0", self.deadline()).await
    }

    async fn next(&self, most: usize) -> Result<Deliveries> {
        let most = most.clamp(1, MOST_DELIVERED);
        let is_due = self.claiming.borrow().0.is_none_or(|next| next <= Instant::now());
        let mut messages = if is_due { self.claim(most).await? } else { Vec::new() };
        if messages.is_empty() {
            messages = self.read(most).await?;
        }
        self.running.borrow_mut().extend(messages.iter().map(|message| message.id.clone()));
        Ok(Deliveries { messages, lost: self.lost.take() })
    }

    /// Claims messages for ourselves with an idle time, without counting a delivery.
    async fn set_idle(&self, ids: &[String], idle: Duration) -> Result<()> {
        let mut claim = cmd("XCLAIM").arg(&self.key).arg(&self.group).arg(&self.name).to_owned();
        claim.arg(0).arg(ids).arg("IDLE").arg(idle.as_millis() as u64).arg("JUSTID");
        match self.server.ask_for(&claim, Resend::Yes, self.deadline()).await? {
            Ok(_) => Ok(()),
            Err(error) if error.code() == Some("NOGROUP") => Ok(()),
            Err(error) => Err(self.fault(&error)),
        }
    }
}

#[deny(clippy::missing_trait_methods)]
impl GroupMember for RedisFollower {
    fn next(&self, most: usize) -> Answer<Deliveries> {
        let state = self.0.clone();
        Answer::later(async move { state.next(most).await })
    }

    fn acknowledge(&self, id: &str) -> Answer<()> {
        let (state, id) = (self.0.clone(), id.to_string());
        Answer::later(async move {
            let done = cmd("XACK").arg(&state.key).arg(&state.group).arg(&id).to_owned();
            state.server.ask(&done, Resend::Yes, state.deadline()).await?;
            state.running.borrow_mut().remove(&id);
            Ok(())
        })
    }

    fn give_back(&self, id: &str, pause: Duration) -> Answer<()> {
        let (state, id) = (self.0.clone(), id.to_string());
        Answer::later(async move {
            state.running.borrow_mut().remove(&id);
            state.set_idle(&[id], state.lease.saturating_sub(pause)).await
        })
    }

    fn bury(&self, id: &str, reason: &str) -> Answer<()> {
        let (state, id, reason) = (self.0.clone(), id.to_string(), reason.to_string());
        Answer::later(async move {
            let mut bury = cmd("EVAL").arg(BURY).arg(2).arg(&state.key).to_owned();
            bury.arg(format!("{}/dead", state.key)).arg(&state.group).arg(&id);
            bury.arg(reason).arg(DEAD_LETTERS);
            state.server.ask(&bury, Resend::Yes, state.deadline()).await?;
            state.running.borrow_mut().remove(&id);
            Ok(())
        })
    }

    fn renew(&self) -> Answer<()> {
        let state = self.0.clone();
        Answer::later(async move {
            let ids: Vec<String> = state.running.borrow().iter().cloned().collect();
            if ids.is_empty() {
                return Ok(());
            }
            state.set_idle(&ids, Duration::ZERO).await
        })
    }

    fn lease(&self) -> Duration {
        self.0.lease
    }
}
