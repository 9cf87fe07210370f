//! Subjects: messages to the present subscribers.

use super::bucket::plain;
use super::server::NatsServer;
use crate::wait;
use async_nats::RequestErrorKind;
use bytes::Bytes;
use runnel_store::{Content, Context, Error, Kind, Outcome, Result};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Instant;

/// How long a subject may be, in bytes.
const SUBJECT_LIMIT: usize = 1024;

/// The subject of a path: slashes are dots.
pub(super) fn subject(path: &str) -> Result<String> {
    let parts: Vec<_> = path.split(['/', '.']).filter(|part| !part.is_empty()).collect();
    let subject = parts.join(".");
    if subject.len() > SUBJECT_LIMIT {
        let message = format!("the subject has more than {SUBJECT_LIMIT} bytes");
        return Err(Error::new(Kind::TooLarge, message));
    }
    if subject.chars().any(|char| char.is_whitespace() || char.is_control()) {
        return Err(Error::new(Kind::Invalid, "a subject has no spaces"));
    }
    Ok(subject)
}

/// Whether it stands for several subjects.
pub(super) fn is_pattern(subject: &str) -> bool {
    subject.split('.').any(|part| part == "*" || part == ">")
}

fn one_subject(path: &str) -> Result<String> {
    let subject = subject(path)?;
    if is_pattern(&subject) {
        let message = "only a watch can be of several subjects: write one without * and >";
        return Err(Error::new(Kind::Invalid, message));
    }
    Ok(subject)
}

/// Sends a message and answers the first reply; `None` without responders.
pub(super) async fn request(
    server: &Rc<NatsServer>,
    path: &str,
    said: Option<Bytes>,
    deadline: Instant,
) -> Result<Option<Content>> {
    requested(server, path, said, deadline, &Cell::new(false)).await
}

async fn requested(
    server: &Rc<NatsServer>,
    path: &str,
    said: Option<Bytes>,
    deadline: Instant,
    is_sent: &Cell<bool>,
) -> Result<Option<Content>> {
    let subject = one_subject(path)?;
    server
        .with(deadline, |wire| async move {
            is_sent.set(true);
            match wire.client.request(subject, said.unwrap_or_default()).await {
                Ok(reply) => Ok(Some(plain(reply.payload))),
                Err(error) if error.kind() == RequestErrorKind::NoResponders => Ok(None),
                Err(error) => Err(server.fault(&error)),
            }
        })
        .await
}

/// Publishes a message, or sends it and waits for a reply.
pub(super) async fn post(
    server: &Rc<NatsServer>,
    path: &str,
    content: Content,
    reply: bool,
    context: &Context,
) -> Result<Outcome> {
    let time = server.options.operation_time;
    let wire = server.wire(wait::deadline(context, time)).await?;
    let said = content.read(wire.client.max_payload()).await?;
    let deadline = wait::deadline(context, time);
    let is_sent = &Cell::new(false);
    let unsure = |error: Error| if is_sent.get() { error.in_doubt() } else { error };
    if reply {
        let replied = requested(server, path, Some(said), deadline, is_sent).await;
        let replied = replied.map_err(unsure)?;
        let content = replied
            .ok_or_else(|| Error::new(Kind::Unavailable, "nobody listens at this subject now"))?;
        return Ok(Outcome::changed().with_content(content));
    }
    let subject = one_subject(path)?;
    let published = server.with(deadline, |wire| async move {
        let published = wire.client.publish(subject, said).await;
        published.map_err(|error| server.fault(&error))?;
        is_sent.set(true);
        wire.client.flush().await.map_err(|error| server.fault(&error))?;
        Ok(Outcome::changed())
    });
    published.await.map_err(unsure)
}
