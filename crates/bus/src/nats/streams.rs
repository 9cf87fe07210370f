//! Streams of JetStream: messages that are kept until all groups of followers have done them.

use super::fault;
use super::server::{NatsConnection, NatsServer};
use crate::queue::{DEAD_LETTERS, MAX_LENGTH, check_group};
use crate::wait;
use async_nats::HeaderMap;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::message::PublishMessage;
use async_nats::jetstream::stream::{
    self, DirectGetErrorKind, DiscardPolicy, RetentionPolicy, Stream,
};
use bytes::Bytes;
use runnel_store::{Content, Context, Error, Kind, Result, Value, json};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

/// Messages that a stream may have to be read as a value.
const READ_LIMIT: u64 = 1_000;

/// The header of a dead letter with what went wrong.
const ERROR: &str = "Runnel-Error";

/// What a stream is made for.
#[derive(Clone, Copy)]
pub(super) enum StreamPurpose {
    /// Messages for followers, up to the limit: a full stream refuses more.
    Messages(u64),
    /// Dead letters. The oldest ones are removed.
    DeadLetters,
}

/// The stream of a name, made if it is missing.
pub(super) async fn open(
    server: &NatsServer,
    wire: &NatsConnection,
    name: &str,
    purpose: StreamPurpose,
) -> Result<Stream<()>> {
    let jetstream = &wire.jetstream;
    if !wire.streams.borrow().contains_key(name) {
        match jetstream.get_stream(name).await {
            Ok(_) => {}
            Err(error) if fault::code(&error) != Some(ErrorCode::STREAM_NOT_FOUND) => {
                return Err(server.fault(&error));
            }
            Err(_) => {
                let (retention, discard, length) = match purpose {
                    StreamPurpose::Messages(length) => {
                        (RetentionPolicy::Interest, DiscardPolicy::New, length)
                    }
                    StreamPurpose::DeadLetters => {
                        (RetentionPolicy::Limits, DiscardPolicy::Old, DEAD_LETTERS)
                    }
                };
                let made = jetstream.create_stream(stream::Config {
                    name: name.to_string(),
                    subjects: vec![name.to_string()],
                    max_messages: i64::try_from(length).unwrap_or(i64::MAX),
                    retention,
                    discard,
                    allow_direct: true,
                    num_replicas: 1,
                    ..stream::Config::default()
                });
                let made = made.await.map(|_| ());
                // Another client may have made it meanwhile.
                if let (Err(error), Err(_)) = (made, jetstream.get_stream(name).await) {
                    return Err(server.fault(&error));
                }
            }
        }
        NatsConnection::remember(&wire.streams, name, &());
    }
    let opened = jetstream.get_stream_no_info(name).await;
    opened.map_err(|error| server.fault(&error))
}

/// Adds a message, and waits until the server has stored it.
pub(super) async fn post(
    server: &Rc<NatsServer>,
    name: &str,
    content: Content,
    length: Option<u64>,
    context: &Context,
) -> Result<()> {
    let time = server.options.operation_time;
    let wire = server.wire(wait::deadline(context, time)).await?;
    let said = content.read(wire.client.max_payload()).await?;
    let deadline = wait::deadline(context, time);
    let purpose = StreamPurpose::Messages(length.unwrap_or(MAX_LENGTH));
    let is_sent = &Cell::new(false);
    let posted = server.with(deadline, |wire| async move {
        let known = wire.streams.borrow().contains_key(name);
        open(server, &wire, name, purpose).await?;
        let stored = store(server, &wire, name, said.clone(), HeaderMap::new(), is_sent).await;
        match stored {
            Err(error) if known && fault::is_missing(&error) => {
                wire.streams.borrow_mut().remove(name);
                open(server, &wire, name, purpose).await?;
                store(server, &wire, name, said, HeaderMap::new(), is_sent).await
            }
            stored => stored,
        }
    });
    posted.await.map_err(|error| if is_sent.get() { error.in_doubt() } else { error })
}

async fn store(
    server: &NatsServer,
    wire: &NatsConnection,
    name: &str,
    payload: Bytes,
    headers: HeaderMap,
    is_sent: &Cell<bool>,
) -> Result<()> {
    let message = PublishMessage::build().payload(payload).headers(headers).expected_stream(name);
    let refused = |error: &(dyn std::error::Error + 'static)| {
        is_sent.set(!fault::is_refusal(error));
        server.fault(error)
    };
    is_sent.set(true);
    let sent = wire.jetstream.send_publish(name.to_string(), message).await;
    sent.map_err(|error| refused(&error))?.await.map_err(|error| refused(&error))?;
    is_sent.set(false);
    Ok(())
}

/// Adds a message to the dead letters of a stream, once for each id.
pub(super) async fn bury(
    server: &Rc<NatsServer>,
    name: &str,
    id: &str,
    payload: Bytes,
    reason: &str,
    deadline: Instant,
) -> Result<()> {
    let dead = format!("{name}-dead");
    let dead = dead.as_str();
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Msg-Id", id);
    let line: String =
        reason.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    headers.insert(ERROR, line.as_str());
    server
        .with(deadline, |wire| async move {
            open(server, &wire, dead, StreamPurpose::DeadLetters).await?;
            store(server, &wire, dead, payload, headers, &Cell::new(false)).await
        })
        .await
}

/// The value of a message: records and lists from JSON text, otherwise text or bytes.
pub(super) fn value(payload: Bytes) -> Value {
    if matches!(payload.first(), Some(b'{' | b'['))
        && let Ok(value) = json::parse(&payload)
    {
        return value;
    }
    payload.into()
}

/// All messages of a stream as a list: their `id`, their `value`, and the `error` of a dead letter.
pub(super) async fn get(
    server: &Rc<NatsServer>,
    name: &str,
    deadline: Instant,
) -> Result<Option<Content>> {
    server
        .with(deadline, |wire| async move {
            let stream = match wire.jetstream.get_stream(name).await {
                Ok(stream) => stream,
                Err(error) if fault::code(&error) == Some(ErrorCode::STREAM_NOT_FOUND) => {
                    return Ok(None);
                }
                Err(error) => return Err(server.fault(&error)),
            };
            let info = stream.cached_info();
            if info.state.messages > READ_LIMIT {
                let message = format!("the stream has more than {READ_LIMIT} messages; follow it");
                return Err(Error::new(Kind::TooLarge, message));
            }
            if !info.config.allow_direct {
                let message = "the stream can be followed, and not read: allow_direct is off";
                return Err(Error::new(Kind::NotAllowed, message));
            }
            let (mut list, mut next) = (Vec::new(), info.state.first_sequence);
            while list.len() < READ_LIMIT as usize {
                match stream.direct_get_next_for_subject(">", Some(next)).await {
                    Ok(message) => {
                        next = message.sequence + 1;
                        let mut fields = vec![
                            ("id".to_string(), Value::from(message.sequence.to_string())),
                            ("value".to_string(), value(message.payload)),
                        ];
                        if let Some(error) = message.headers.get(ERROR) {
                            fields.push(("error".to_string(), error.as_str().into()));
                        }
                        list.push(Value::Record(fields));
                    }
                    Err(error) if error.kind() == DirectGetErrorKind::NotFound => break,
                    Err(error) => return Err(server.fault(&error)),
                }
            }
            Ok((!list.is_empty()).then(|| Content::value(Value::List(list))))
        })
        .await
}

/// Removes a group of followers.
pub(super) async fn disband(
    server: &Rc<NatsServer>,
    name: &str,
    group: &str,
    deadline: Instant,
) -> Result<bool> {
    check_group(group)?;
    server
        .with(deadline, |wire| async move {
            let stream = wire.jetstream.get_stream_no_info(name).await;
            let stream = stream.map_err(|error| server.fault(&error))?;
            match stream.delete_consumer(group).await {
                Ok(_) => Ok(true),
                Err(error) => match fault::code(&error) {
                    Some(ErrorCode::CONSUMER_NOT_FOUND | ErrorCode::STREAM_NOT_FOUND) => Ok(false),
                    _ => Err(server.fault(&error)),
                },
            }
        })
        .await
}
