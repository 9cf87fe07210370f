//! Replacing the attributes of an object: its media type, a header, and its metadata.

use super::objects::{MEDIA_TYPE, name, open};
use super::server::{NatsConnection, NatsServer};
use async_nats::HeaderMap;
use async_nats::header::{NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, NATS_ROLLUP};
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE;
use runnel_store::{Attributes, Error, Kind, Result, Value, json};
use std::rc::Rc;
use std::time::Instant;

/// How often attributes are replaced when the object is replaced meanwhile.
const ATTEMPTS: usize = 8;

/// Replaces the attributes of an object: the message that describes it, if that is still the one
/// that was read. Another client may have replaced the object with its chunks.
pub(super) async fn annotate(
    server: &Rc<NatsServer>,
    bucket: &str,
    path: &str,
    attributes: &Attributes,
    deadline: Instant,
) -> Result<()> {
    let name = name(path)?;
    let subject = format!("$O.{bucket}.M.{}", URL_SAFE.encode(&name));
    let subject = subject.as_str();
    server
        .with(deadline, |wire| async move {
            for _ in 0..ATTEMPTS {
                if replace(server, &wire, bucket, subject, attributes).await? {
                    return Ok(());
                }
            }
            let message = format!("it was replaced {ATTEMPTS} times meanwhile");
            Err(Error::new(Kind::Conflict, message).with_temporary(true))
        })
        .await
}

/// Answers whether the object was not replaced meanwhile.
async fn replace(
    server: &NatsServer,
    wire: &NatsConnection,
    bucket: &str,
    subject: &str,
    attributes: &Attributes,
) -> Result<bool> {
    let missing = || Error::new(Kind::NotFound, "there is no object to give attributes to");
    let opened = open(server, wire, bucket, false).await?.ok_or_else(missing)?;
    let last = match opened.stream.get_last_raw_message_by_subject(subject).await {
        Ok(last) => last,
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => {
            return Err(missing());
        }
        Err(error) => return Err(server.fault(&error)),
    };
    let mut info = json::parse(&last.payload)?;
    if info.get("deleted") == Some(&Value::Bool(true)) {
        return Err(missing());
    }
    describe(&mut info, attributes);
    let mut headers = HeaderMap::new();
    headers.insert(NATS_ROLLUP, "sub");
    headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, last.sequence.to_string().as_str());
    let payload = json::text(&info).into();
    let sent = wire.jetstream.publish_with_headers(subject.to_string(), headers, payload).await;
    match sent.map_err(|error| server.fault(&error))?.await {
        Ok(_) => Ok(true),
        Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => Ok(false),
        Err(error) => Err(server.fault(&error)),
    }
}

/// Sets the attributes in what describes an object.
fn describe(info: &mut Value, attributes: &Attributes) {
    let text = |text: &str| Value::Text(text.to_string());
    let media_type = attributes.media_type.as_deref();
    let headers = media_type.map(|own| (MEDIA_TYPE, Value::List(vec![text(own)])));
    info.set("headers", Value::record(headers));
    let pairs = attributes.metadata.iter().flat_map(|metadata| metadata.iter());
    info.set("metadata", Value::record(pairs.map(|(name, value)| (name.clone(), text(value)))));
}
