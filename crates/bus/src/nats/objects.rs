//! Objects of any size.

use super::fault;
use super::reader::Reader;
use super::server::{Server, Wire};
use crate::wait;
use async_nats::HeaderMap;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::object_store::{
    Config, GetErrorKind, InfoErrorKind, Object, ObjectInfo, ObjectMetadata, ObjectStore,
};
use bytes::{Bytes, BytesMut};
use futures_util::stream;
use runnel_store::{Body, Content, Context, EntityTag, Error, Form, Kind, Result, Value};
use std::rc::Rc;
use std::time::{Duration, Instant, SystemTime};
use tokio::io::{AsyncRead, ReadBuf};

/// How long the name of an object may be, in bytes.
pub const OBJECT_NAME_LIMIT: usize = 1024;

/// Objects up to this size are read as a whole before they are answered, so that replacing one
/// meanwhile does not break the reading.
const WHOLE: usize = 1 << 20;

/// How often a whole object is read when it is replaced meanwhile.
const ATTEMPTS: usize = 8;

/// Bytes that are read at once.
const CHUNK: usize = 128 << 10;

/// The header that keeps the media type.
const MEDIA_TYPE: &str = "Content-Type";

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
    server: &Server,
    wire: &Wire,
    bucket: &str,
    make: bool,
) -> Result<Option<ObjectStore>> {
    match wire.jetstream.get_object_store(bucket).await {
        Ok(store) => return Ok(Some(store)),
        Err(error) if fault::code(&error) == Some(ErrorCode::STREAM_NOT_FOUND) => {}
        Err(error) => return Err(server.fault(&error)),
    }
    if !make {
        return Ok(None);
    }
    let config = Config { bucket: bucket.to_string(), ..Config::default() };
    match wire.jetstream.create_object_store(config).await {
        Ok(store) => Ok(Some(store)),
        // Somebody else was quicker.
        Err(_) => match wire.jetstream.get_object_store(bucket).await {
            Ok(store) => Ok(Some(store)),
            Err(error) => Err(server.fault(&error)),
        },
    }
}

pub(super) async fn get(
    server: &Rc<Server>,
    bucket: &str,
    path: &str,
    known: Option<EntityTag>,
    deadline: Instant,
) -> Result<Option<Content>> {
    let name = name(path)?;
    server
        .with(deadline, |wire| async move {
            let Some(store) = open(server, &wire, bucket, false).await? else { return Ok(None) };
            for _ in 0..ATTEMPTS {
                let object = match store.get(&name).await {
                    Ok(object) => object,
                    Err(error) if error.kind() == GetErrorKind::NotFound => return Ok(None),
                    Err(error) => return Err(server.fault(&error)),
                };
                let content = described(&object.info);
                if known.is_some() && known == content.entity_tag {
                    return Ok(Some(content));
                }
                let size = object.info.size;
                if size > WHOLE {
                    let time = server.options.operation_time;
                    let body = streamed(object, server.clone(), time);
                    return Ok(Some(Content { body, ..content }));
                }
                if let Some(bytes) = whole(object, &store, &name).await {
                    return Ok(Some(Content { body: Body::Bytes(bytes), ..content }));
                }
            }
            let message = format!("it was replaced {ATTEMPTS} times while it was read");
            Err(Error::new(Kind::Conflict, message).with_temporary(true))
        })
        .await
}

/// What is known about an object beside its bytes.
pub(super) fn described(info: &ObjectInfo) -> Content {
    let header = info.headers.as_ref().and_then(|headers| headers.get(MEDIA_TYPE));
    Content {
        media_type: header.map(|value| value.as_str().to_string().into()),
        entity_tag: Some(EntityTag::strong(info.nuid.as_str())),
        modified: info.modified.map(SystemTime::from),
        ..Content::default()
    }
}

/// How long the bytes of an object are waited for before it is looked whether it was replaced.
const REPLACED: Duration = Duration::from_millis(200);

/// All bytes of an object; `None` when it was replaced meanwhile.
async fn whole(mut object: Object, store: &ObjectStore, name: &str) -> Option<Bytes> {
    let mut bytes = BytesMut::with_capacity(object.info.size);
    loop {
        match tokio::time::timeout(REPLACED, read(&mut object, &mut bytes)).await {
            Ok(Ok(0)) => return (bytes.len() == object.info.size).then(|| bytes.freeze()),
            Ok(Ok(_)) => {}
            Ok(Err(_)) => return None,
            Err(_) => match store.info(name).await {
                Ok(info) if info.nuid == object.info.nuid && !info.deleted => {}
                _ => return None,
            },
        }
    }
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
fn streamed(object: Object, server: Rc<Server>, time: Duration) -> Body {
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
    server: &Rc<Server>,
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
    let content = if matches!(content.body, Body::Lazy(_)) {
        Content::bytes(content.encode(Form::Text).await?)
    } else {
        content
    };
    let opened = server.with(wait::deadline(context, time), |wire| async move {
        let store = open(server, &wire, bucket, true).await?;
        store.ok_or_else(|| Error::new(Kind::Failed, "the bucket could not be made"))
    });
    let store = opened.await?;
    let created = match store.info(&name).await {
        Ok(info) => info.deleted,
        Err(error) if error.kind() == InfoErrorKind::NotFound => true,
        Err(error) => return Err(server.fault(&error)),
    };
    let (mut reader, progress) = Reader::of(content).await?;
    let metadata = ObjectMetadata { name, headers, ..ObjectMetadata::default() };
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
    server: &Rc<Server>,
    bucket: &str,
    path: &str,
    deadline: Instant,
) -> Result<bool> {
    let name = name(path)?;
    server
        .with(deadline, |wire| async move {
            let Some(store) = open(server, &wire, bucket, false).await? else { return Ok(false) };
            match store.info(&name).await {
                Ok(info) if info.deleted => return Ok(false),
                Ok(_) => {}
                Err(error) if error.kind() == InfoErrorKind::NotFound => return Ok(false),
                Err(error) => return Err(server.fault(&error)),
            }
            store.delete(&name).await.map_err(|error| server.fault(&error))?;
            Ok(true)
        })
        .await
}
