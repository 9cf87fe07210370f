//! A follower of a stream: a client of a durable pull consumer with explicit acknowledgements.
//!
//! The server delivers a message again when its lease (ack wait) is over. Progress renews the lease, a
//! negative acknowledgement with a delay gives the message back.

use super::server::{NatsConnection, NatsServer};
use super::streams::{self, StreamPurpose};
use crate::queue::{MAX_LENGTH, MOST_DELIVERED, ROUND, check_group};
use crate::wait;
use async_nats::jetstream::consumer::pull::{Batch, Config};
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer};
use async_nats::jetstream::context::ConsumerInfoErrorKind;
use async_nats::jetstream::{AckKind, Message};
use futures_util::StreamExt;
use runnel_store::{Answer, Deliveries, Delivery, Error, GroupMember, Kind, Result};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The number of messages whose attempts are counted here too; those of further ones are the server's count alone.
const MOST_COUNTED: usize = 10_000;

/// A follower in a group.
pub(super) struct NatsFollower(Rc<FollowerState>);

/// A message that was delivered to us.
struct Running {
    message: Message,
    attempt: u64,
}

struct FollowerState {
    server: Rc<NatsServer>,
    stream: String,
    group: String,
    lease: Cell<Duration>,
    /// The consumer, on the connection on which it was found.
    consumer: RefCell<Option<(Rc<NatsConnection>, PullConsumer)>>,
    /// What was delivered to us and is not done.
    running: RefCell<HashMap<String, Rc<Running>>>,
    /// The attempts of messages with a negative acknowledgement. nats-server 2.9 does not count a redelivery that
    /// became due without a pull request.
    given_back: RefCell<HashMap<String, u64>>,
    lost: Cell<u64>,
}

impl NatsFollower {
    /// Joins the group of a stream; both are made if they are missing.
    pub(super) async fn join(
        server: Rc<NatsServer>,
        stream: String,
        group: String,
        lease: Duration,
        deadline: Instant,
    ) -> Result<NatsFollower> {
        check_group(&group)?;
        let lease = Cell::new(lease);
        let (consumer, running, given_back, lost) = Default::default();
        let state =
            FollowerState { server, stream, group, lease, consumer, running, given_back, lost };
        state.connect(deadline, DeliverPolicy::New).await?;
        // A new group has lost nothing.
        state.lost.set(0);
        Ok(NatsFollower(Rc::new(state)))
    }
}

impl FollowerState {
    fn deadline(&self) -> Instant {
        Instant::now() + self.server.options.operation_time
    }

    /// The consumer on the present connection; a missing one is made and begins as told.
    async fn connect(&self, deadline: Instant, begin: DeliverPolicy) -> Result<PullConsumer> {
        let wire = self.server.wire(deadline).await?;
        if let Some((known, consumer)) = &*self.consumer.borrow()
            && Rc::ptr_eq(known, &wire)
        {
            return Ok(consumer.clone());
        }
        let finding = self.find(&wire, begin);
        let consumer = wait::by(deadline, &self.server.address, finding).await?;
        self.lease.set(consumer.cached_info().config.ack_wait);
        self.consumer.replace(Some((wire, consumer.clone())));
        Ok(consumer)
    }

    async fn find(&self, wire: &NatsConnection, begin: DeliverPolicy) -> Result<PullConsumer> {
        // The stream may have been removed since it was opened.
        wire.streams.borrow_mut().remove(&self.stream);
        let purpose = StreamPurpose::Messages(MAX_LENGTH);
        let stream = streams::open(&self.server, wire, &self.stream, purpose).await?;
        match stream.consumer_info(&self.group).await {
            Ok(_) => {
                let found = stream.get_consumer::<Config>(&self.group).await;
                return found.map_err(|error| self.server.fault(&*error));
            }
            Err(error) if error.kind() == ConsumerInfoErrorKind::NotFound => {}
            Err(error) => return Err(self.server.fault(&error)),
        }
        self.lost.set(self.lost.get() + 1);
        let made = stream.create_consumer(Config {
            durable_name: Some(self.group.clone()),
            deliver_policy: begin,
            ack_policy: AckPolicy::Explicit,
            ack_wait: self.lease.get(),
            max_deliver: -1,
            ..Config::default()
        });
        made.await.map_err(|error| self.server.fault(&error))
    }

    async fn next(&self, most: usize) -> Result<Deliveries> {
        let consumer = self.connect(self.deadline(), DeliverPolicy::All).await?;
        let asked = self.ask(&consumer, most.clamp(1, MOST_DELIVERED)).await;
        let received = match asked {
            Ok(received) => received,
            Err(error) => {
                self.consumer.replace(None);
                return Err(error);
            }
        };
        let mut messages = Vec::with_capacity(received.len());
        for message in received {
            let Ok(info) = message.info() else {
                // Any client of the server may send to an inbox: foreign messages must not stop the stream.
                self.lost.set(self.lost.get() + 1);
                continue;
            };
            let (id, attempt) = (info.stream_sequence.to_string(), info.delivered.max(1) as u64);
            let counted = self.given_back.borrow_mut().remove(&id).unwrap_or(0) + 1;
            let value = streams::value(message.payload.clone());
            let attempt = attempt.max(counted);
            messages.push(Delivery { id: id.clone(), value, attempt });
            self.running.borrow_mut().insert(id, Rc::new(Running { message, attempt }));
        }
        Ok(Deliveries { messages, lost: self.lost.take() })
    }

    /// Waits for one message, and takes what else is there.
    async fn ask(&self, consumer: &PullConsumer, most: usize) -> Result<Vec<Message>> {
        let first = consumer.batch().max_messages(1).expires(ROUND).messages().await;
        let first = first.map_err(|error| self.server.fault(&error))?;
        let mut received = self.received(first).await?;
        if !received.is_empty() && most > 1 {
            let rest = consumer.fetch().max_messages(most - 1).expires(ROUND).messages().await;
            let rest = rest.map_err(|error| self.server.fault(&error))?;
            received.extend(self.received(rest).await?);
        }
        Ok(received)
    }

    async fn received(&self, mut batch: Batch) -> Result<Vec<Message>> {
        let end = self.deadline() + ROUND;
        let mut received = Vec::new();
        loop {
            match tokio::time::timeout_at(end.into(), batch.next()).await {
                Ok(Some(Ok(message))) => received.push(message),
                Ok(None) => return Ok(received),
                // What was received is done first; the next question meets the same fault.
                _ if !received.is_empty() => return Ok(received),
                Ok(Some(Err(error))) => return Err(self.server.fault(&*error)),
                Err(_) => return Err(wait::too_late(&self.server.address)),
            }
        }
    }

    /// Counts an attempt that comes again, unless too many are counted.
    fn count(&self, id: String, attempt: u64) {
        let mut counts = self.given_back.borrow_mut();
        if counts.len() < MOST_COUNTED {
            counts.insert(id, attempt);
        }
    }

    fn running(&self, id: &str) -> Option<Rc<Running>> {
        self.running.borrow().get(id).cloned()
    }

    /// Says something about a message, and waits until the server has heard it.
    async fn answer(&self, message: &Message, kind: AckKind) -> Result<()> {
        let saying = async {
            message.double_ack_with(kind).await.map_err(|error| self.server.fault(&*error))
        };
        wait::by(self.deadline(), &self.server.address, saying).await
    }
}

#[deny(clippy::missing_trait_methods)]
impl GroupMember for NatsFollower {
    fn next(&self, most: usize) -> Answer<Deliveries> {
        let state = self.0.clone();
        Answer::later(async move { state.next(most).await })
    }

    fn acknowledge(&self, id: &str) -> Answer<()> {
        let (state, id) = (self.0.clone(), id.to_string());
        Answer::later(async move {
            let Some(running) = state.running(&id) else { return Ok(()) };
            state.answer(&running.message, AckKind::Ack).await?;
            state.running.borrow_mut().remove(&id);
            Ok(())
        })
    }

    fn give_back(&self, id: &str, pause: Duration) -> Answer<()> {
        let (state, id) = (self.0.clone(), id.to_string());
        Answer::later(async move {
            let running = state.running.borrow_mut().remove(&id);
            let Some(running) = running else { return Ok(()) };
            state.count(id, running.attempt);
            let pause = pause.min(state.lease.get());
            state.answer(&running.message, AckKind::Nak((!pause.is_zero()).then_some(pause))).await
        })
    }

    fn bury(&self, id: &str, reason: &str) -> Answer<()> {
        let (state, id, reason) = (self.0.clone(), id.to_string(), reason.to_string());
        Answer::later(async move {
            let Some(running) = state.running(&id) else { return Ok(()) };
            let (server, name) = (&state.server, format!("{}-{id}", state.group));
            let payload = running.message.payload.clone();
            streams::bury(server, &state.stream, &name, payload, &reason, state.deadline()).await?;
            state.answer(&running.message, AckKind::Ack).await?;
            state.running.borrow_mut().remove(&id);
            Ok(())
        })
    }

    fn renew(&self) -> Answer<()> {
        let state = self.0.clone();
        Answer::later(async move {
            let running: Vec<Rc<Running>> = state.running.borrow().values().cloned().collect();
            for running in running {
                let renewed = running.message.ack_with(AckKind::Progress).await;
                renewed.map_err(|error| {
                    let message = format!("{} cannot be reached", state.server.address);
                    Error::new(Kind::Unavailable, message).with_detail(error.to_string())
                })?;
            }
            Ok(())
        })
    }

    fn lease(&self) -> Duration {
        self.0.lease.get()
    }
}
