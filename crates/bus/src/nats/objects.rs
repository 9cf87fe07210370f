//! Objects of any size.

use super::fault;
use super::names::{BucketKind, stream_prefix};
use super::reader::ContentReader;
use super::server::{NatsConnection, NatsServer, ObjectBucket};
use crate::wait;
use async_nats::HeaderMap;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::object_store::{
    Config, GetErrorKind, InfoErrorKind, Object, ObjectInfo, ObjectMetadata,
};
use async_nats::jetstream::stream::Stream;
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use runnel_store::{Body, Content, Context, EntityTag, Error, Form, Kind, Metadata, Result, Value};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};
use tokio::io::{AsyncRead, ReadBuf};

/// How long the name of an object may be, in bytes.
pub const OBJECT_NAME_LIMIT: usize = 1024;

/// ObjectBucket up to this size are read as a whole before they are answered, so that replacing one
/// meanwhile does not break the reading.
const WHOLE: usize = 1 << 20;

/// How often a whole object is read when it is replaced meanwhile.
const ATTEMPTS: usize = 8;

/// Bytes that are read at once.
const CHUNK: usize = 128 << 10;

/// The header that keeps the media type.
pub(super) const MEDIA_TYPE: &str = "Content-Type";

/// A checked name: the parts of a path with single slashes between them.
pub(super) fn name(path: &str) -> Result<String> {
    let name = path.split('/').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
    if name.len() > OBJECT_NAME_LIMIT {
        let message = format!("the name of an object has more than {OBJECT_NAME_LIMIT} bytes");
        return Err(Error::new(Kind::TooLarge, message));
    }
    Ok(name)
}

/// The bucket of a name; `None` where there is none and none is to be made.
pub(super) async fn open(
    server: &NatsServer,
    wire: &NatsConnection,
    bucket: &str,
    make: bool,
) -> Result<Option<ObjectBucket>> {
    if let Some(known) = wire.object_buckets.borrow().get(bucket) {
        return Ok(Some(known.clone()));
    }
    let store = match wire.jetstream.get_object_store(bucket).await {
        Ok(store) => store,
        Err(error) if fault::code(&error) != Some(ErrorCode::STREAM_NOT_FOUND) => {
            return Err(server.fault(&error));
        }
        Err(_) if !make => return Ok(None),
        Err(_) => {
            let config = Config { bucket: bucket.to_string(), ..Config::default() };
            let made = wire.jetstream.create_object_store(config).await;
            match (wire.jetstream.get_object_store(bucket).await, made) {
                // Another client may have created it meanwhile.
                (Ok(store), _) => store,
                (Err(_), Err(error)) => return Err(server.fault(&error)),
                (Err(error), Ok(_)) => return Err(server.fault(&error)),
            }
        }
    };
    let name = format!("{}{bucket}", stream_prefix(BucketKind::Objects));
    let stream = wire.jetstream.get_stream_no_info(name).await;
    let stream = stream.map_err(|error| server.fault(&error))?;
    let opened = ObjectBucket { store, stream };
    NatsConnection::remember(&wire.object_buckets, bucket, &opened);
    Ok(Some(opened))
}

/// Does something in a bucket. A cached bucket that was deleted is looked up once more.
async fn within<T, F: Future<Output = Result<T>>>(
    server: &Rc<NatsServer>,
    bucket: &str,
    deadline: Instant,
    act: impl Fn(ObjectBucket) -> F,
) -> Result<Option<T>> {
    server
        .with(deadline, |wire| async move {
            let known = wire.object_buckets.borrow().contains_key(bucket);
            let Some(opened) = open(server, &wire, bucket, false).await? else { return Ok(None) };
            match act(opened).await {
                Err(error) if known && fault::is_missing(&error) => {
                    wire.object_buckets.borrow_mut().remove(bucket);
                    match open(server, &wire, bucket, false).await? {
                        Some(opened) => act(opened).await.map(Some),
                        None => Ok(None),
                    }
                }
                result => result.map(Some),
            }
        })
        .await
}

pub(super) async fn get(
    server: &Rc<NatsServer>,
    bucket: &str,
    path: &str,
    known: Option<EntityTag>,
    deadline: Instant,
) -> Result<Option<Content>> {
    let name = name(path)?;
    let (name, known) = (name.as_str(), &known);
    let found = within(server, bucket, deadline, |opened| async move {
        for attempt in 0..ATTEMPTS {
            let object = match opened.store.get(name).await {
                Ok(object) => object,
                Err(error) if error.kind() == GetErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(server.fault(&error)),
            };
            let content = described(&object.info);
            if known.is_some() && *known == content.entity_tag {
                return Ok(Some(content));
            }
            if object.info.size > WHOLE {
                let time = server.options.operation_time;
                let body = streamed(object, server.clone(), time);
                return Ok(Some(Content { body, ..content }));
            }
            if let Some(bytes) = whole(&opened.stream, &object.info).await {
                return Ok(Some(Content { body: Body::Bytes(bytes), ..content }));
            }
            tokio::time::sleep(REPLACED * attempt as u32).await;
        }
        let message = format!("it was replaced {ATTEMPTS} times while it was read");
        Err(Error::new(Kind::Conflict, message).with_temporary(true))
    });
    Ok(found.await?.flatten())
}

/// What is known about an object beside its bytes.
pub(super) fn described(info: &ObjectInfo) -> Content {
    let header = info.headers.as_ref().and_then(|headers| headers.get(MEDIA_TYPE));
    Content {
        media_type: header.map(|value| value.as_str().to_string().into()),
        entity_tag: Some(EntityTag::strong(info.nuid.as_str())),
        metadata: metadata(info),
        modified: info.modified.map(SystemTime::from),
        ..Content::default()
    }
}

/// The metadata of an object; `None` without any.
fn metadata(info: &ObjectInfo) -> Option<Rc<Metadata>> {
    let pairs = info.metadata.iter().map(|(name, value)| (name.clone(), value.clone()));
    (!info.metadata.is_empty()).then(|| Rc::new(pairs.collect()))
}

/// Metadata as the library takes it.
fn stored(metadata: Option<&Metadata>) -> HashMap<String, String> {
    let pairs = metadata.into_iter().flatten();
    pairs.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// How much longer is waited each time before an object that was replaced is read again.
const REPLACED: Duration = Duration::from_millis(5);

/// All bytes of a small object; `None` when it was replaced meanwhile. Its few chunks are asked for
/// one by one, which is much less work for the server than telling them to a consumer.
async fn whole(stream: &Stream<()>, info: &ObjectInfo) -> Option<Bytes> {
    let subject = format!("$O.{}.C.{}", info.bucket, info.nuid);
    let mut bytes = BytesMut::with_capacity(info.size);
    let mut next = 1;
    for _ in 0..info.chunks {
        let chunk = stream.direct_get_next_for_subject(subject.as_str(), Some(next)).await.ok()?;
        next = chunk.sequence + 1;
        if info.chunks == 1 && chunk.payload.len() == info.size {
            return Some(chunk.payload);
        }
        bytes.extend_from_slice(&chunk.payload);
    }
    (bytes.len() == info.size).then(|| bytes.freeze())
}

/// Reads some bytes and answers how many; none is the end.
async fn read(object: &mut Object, into: &mut BytesMut) -> std::io::Result<usize> {
    let mut chunk = [0; 8 << 10];
    let mut buffer = ReadBuf::new(&mut chunk);
    std::future::poll_fn(|context| {
        std::pin::Pin::new(&mut *object).poll_read(context, &mut buffer)
    })
    .await?;
    into.extend_from_slice(buffer.filled());
    Ok(buffer.filled().len())
}

/// The bytes of a large object, piece by piece at the reader's pace.
fn streamed(object: Object, server: Rc<NatsServer>, time: Duration) -> Body {
    let size = object.info.size as u64;
    let chunks = stream::try_unfold(Some(object), move |object| {
        let server = server.clone();
        async move {
            let Some(mut object) = object else { return Ok(None) };
            let mut chunk = BytesMut::with_capacity(CHUNK);
            while chunk.len() < CHUNK {
                match tokio::time::timeout(time, read(&mut object, &mut chunk)).await {
                    Ok(Ok(0)) => {
                        let last = (!chunk.is_empty()).then(|| (chunk.freeze(), None));
                        return Ok(last);
                    }
                    Ok(Ok(_)) => {}
                    Ok(Err(error)) => {
                        let message = "the object broke off; it may have been replaced";
                        return Err(
                            Error::new(Kind::Unavailable, message).with_detail(error.to_string())
                        );
                    }
                    Err(_) => return Err(wait::too_late(&server.address)),
                }
            }
            Ok(Some((chunk.freeze(), Some(object))))
        }
    });
    Body::Stream(Box::pin(chunks), Some(size))
}

pub(super) async fn put(
    server: &Rc<NatsServer>,
    bucket: &str,
    path: &str,
    content: Content,
    context: &Context,
) -> Result<bool> {
    let name = name(path)?;
    let time = server.options.operation_time;
    if matches!(content.body, Body::Value(Value::Nil)) {
        delete(server, bucket, &name, wait::deadline(context, time)).await?;
        return Ok(false);
    }
    let headers = content.media_type.as_deref().and_then(|media_type| {
        let mut headers = HeaderMap::new();
        headers.insert(MEDIA_TYPE, media_type.parse::<async_nats::HeaderValue>().ok()?);
        Some(headers)
    });
    let metadata = stored(content.metadata.as_deref());
    let content = if matches!(content.body, Body::Lazy(_)) {
        Content::bytes(content.encode(Form::Text).await?)
    } else {
        content
    };
    let opened = server.with(wait::deadline(context, time), |wire| async move {
        let store = open(server, &wire, bucket, true).await?;
        store.ok_or_else(|| Error::new(Kind::Failed, "the bucket could not be made"))
    });
    let store = opened.await?.store;
    let created = match store.info(&name).await {
        Ok(info) => info.deleted,
        Err(error) if error.kind() == InfoErrorKind::NotFound => true,
        Err(error) => return Err(server.fault(&error)),
    };
    let (mut reader, progress) = ContentReader::open(content).await?;
    let metadata = ObjectMetadata { name, headers, metadata, ..ObjectMetadata::default() };
    let putting = async {
        tokio::select! {
            put = store.put(metadata, &mut reader) => put.map_err(|error| {
                progress.failure().unwrap_or_else(|| server.fault(&error))
            }),
            () = progress.stuck(time) => Err(wait::too_late(&server.address)),
        }
    };
    match context.deadline {
        Some(deadline) => wait::by(deadline, &server.address, putting).await?,
        None => putting.await?,
    };
    Ok(created)
}

pub(super) async fn delete(
    server: &Rc<NatsServer>,
    bucket: &str,
    path: &str,
    deadline: Instant,
) -> Result<bool> {
    let name = name(path)?;
    let name = name.as_str();
    let deleted = within(server, bucket, deadline, |opened| async move {
        match opened.store.info(name).await {
            Ok(info) if info.deleted => return Ok(false),
            Ok(_) => {}
            Err(error) if error.kind() == InfoErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(server.fault(&error)),
        }
        opened.store.delete(name).await.map_err(|error| server.fault(&error))?;
        Ok(true)
    });
    Ok(deleted.await?.unwrap_or(false))
}
