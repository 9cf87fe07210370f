//! Bulk loading through the store: records arrive in batches and are indexed on another thread, so
//! that the worker stays responsive.

use super::SearchMember;
use super::document_writes::{is_json, record_of, text_of, unsupported};
use super::record_reader::RecordReader;
use crate::collection::id::Id;
use crate::collection::loader::Loader;
use bytes::Bytes;
use runnel_store::{
    Answer, Body, COLLECT_LIMIT, Content, Error, Form, Kind, Outcome, Records, Reference, Result,
    TableFormat, Value, json,
};

/// Documents of a batch for the other thread.
const BATCH: usize = 1_024;

/// The approximate size of a batch, in bytes.
const BATCH_BYTES: usize = 4 << 20;

/// Adds a record, a list of records, or a table.
pub(super) fn post(
    member: SearchMember,
    columns: Option<Vec<String>>,
    content: Content,
) -> Answer<Outcome> {
    if let Some(format) = TableFormat::of(&content) {
        return Answer::later(async move {
            table(member, RecordReader::new(content, format, columns)?).await
        });
    }
    if columns.is_some() {
        let message = "`columns` is for tables: send text/csv";
        return Error::new(Kind::Unsupported, message).into();
    }
    let text = match &content.body {
        Body::Value(_) | Body::Lazy(_) => content.encode(Form::Json),
        Body::Empty => text_of(content),
        Body::Bytes(_) | Body::Text(_) | Body::Stream(..) => match content.media_type.as_deref() {
            Some(kind) if !is_json(kind) => unsupported(kind).into(),
            _ => content.read(COLLECT_LIMIT),
        },
    };
    Answer::later(async move {
        let text = text.await?;
        if text.trim_ascii_start().first() == Some(&b'[') {
            return list(member, &text).await;
        }
        let record = record_of(&text)?;
        let id = member.keys.id_of_record(&record)?;
        let pending = {
            let _writing = member.shared.write_lock();
            member.shared.check_writable()?;
            member.collection().put(id.clone(), &text)?
        };
        pending.await?;
        Ok(Outcome::posted(Reference::from_path(id.to_string())))
    })
}

/// The outcome of a post: the number of records.
fn count_outcome(count: u64) -> Outcome {
    let count = i64::try_from(count).unwrap_or(i64::MAX);
    Outcome::changed().with_content(Content::value(Value::Int(count)))
}

async fn list(member: SearchMember, text: &[u8]) -> Result<Outcome> {
    let Value::List(records) = json::parse(text)? else { return Ok(count_outcome(0)) };
    let mut bulk = BulkLoad::new(member);
    for (number, record) in (1..).zip(records) {
        let id = bulk
            .member
            .keys
            .id_of_record(&record)
            .map_err(|error| with_position("record", number, error))?;
        bulk.add(id, json::text(&record).into(), ("record", number)).await?;
    }
    bulk.finish().await.map(count_outcome)
}

async fn table(member: SearchMember, mut incoming: RecordReader) -> Result<Outcome> {
    let mut bulk = BulkLoad::new(member);
    while let Some(records) = incoming.next().await? {
        for (line, text) in records {
            let id = record_of(&text).and_then(|record| bulk.member.keys.id_of_record(&record));
            bulk.add(id.map_err(|error| with_position("line", line, error))?, text, ("line", line))
                .await?;
        }
    }
    bulk.finish().await.map(count_outcome)
}

/// Adds records that arrive in batches.
pub(super) fn insert(member: SearchMember, mut records: Box<dyn Records>) -> Answer<u64> {
    Answer::later(async move {
        let fields = records.fields();
        let key = fields.iter().position(|field| field == member.keys.field());
        let Some(key) = key else { return Err(member.keys.missing_key_error()) };
        let mut bulk = BulkLoad::new(member);
        let mut number = 0;
        while let Some(values) = records.next().await? {
            for row in values.chunks(fields.len()) {
                number += 1;
                let id = bulk.member.keys.id_of_value(row.get(key).unwrap_or(&Value::Nil));
                let id = id.map_err(|error| with_position("record", number, error))?;
                let mut text = vec![b'{'];
                let there = fields.iter().zip(row).filter(|(_, value)| !value.is_nil());
                for (place, (name, value)) in there.enumerate() {
                    if place > 0 {
                        text.push(b',');
                    }
                    json::write_text(name, &mut text);
                    text.push(b':');
                    json::write(value, &mut text);
                }
                text.push(b'}');
                bulk.add(id, text.into(), ("record", number)).await?;
            }
        }
        bulk.finish().await
    })
}

/// Adds the position of a record to its error.
fn with_position(what: &str, number: u64, error: Error) -> Error {
    Error { message: format!("{what} {number}: {}", error.message), ..error }
}

/// A document in transit, with its position in the source.
type Waiting = (Id, Bytes, (&'static str, u64));

/// A loader and the batch for it.
struct BulkLoad {
    member: SearchMember,
    /// `None` while the other thread has it.
    loader: Option<Loader>,
    waiting: Vec<Waiting>,
    /// The size of the batch, in bytes.
    size: usize,
    count: u64,
}

impl BulkLoad {
    fn new(member: SearchMember) -> BulkLoad {
        let loader = Some(member.collection().load());
        BulkLoad { member, loader, waiting: Vec::with_capacity(BATCH), size: 0, count: 0 }
    }

    async fn add(&mut self, id: Id, text: Bytes, place: (&'static str, u64)) -> Result<()> {
        self.size += text.len();
        self.waiting.push((id, text, place));
        self.count += 1;
        let full = self.waiting.len() >= BATCH || self.size >= BATCH_BYTES;
        if full { self.flush().await } else { Ok(()) }
    }

    async fn flush(&mut self) -> Result<()> {
        let waiting = std::mem::replace(&mut self.waiting, Vec::with_capacity(BATCH));
        self.size = 0;
        let shared = self.member.shared.clone();
        let Some(mut loader) = self.loader.take() else { return Ok(()) };
        // An error of a store is not `Send`: its kind and message cross threads.
        let (loader, failure) = run_blocking(move || {
            for (id, text, (what, number)) in waiting {
                // Wait for the disk before the lock, while others can write.
                let collection = shared.collection();
                let ready = collection.wait_for_room();
                let _writing = shared.write_lock();
                let ready = ready.and_then(|()| shared.check_writable());
                // An identical document stays in its place, which makes loading twice cheap.
                let known = collection.document(&id).is_some_and(|there| there == text);
                let put = || if known { Ok(()) } else { loader.put(id, &text) };
                if let Err(error) = ready.and_then(|()| put()) {
                    let error = with_position(what, number, error);
                    return (loader, Some((error.kind, error.message)));
                }
            }
            (loader, None)
        })
        .await?;
        self.loader = Some(loader);
        match failure {
            Some((kind, message)) => Err(Error::new(kind, message)),
            None => Ok(()),
        }
    }

    /// The number of documents, once they are durable.
    async fn finish(mut self) -> Result<u64> {
        self.flush().await?;
        let Some(loader) = self.loader.take() else { return Ok(0) };
        let finished = run_blocking(move || {
            loader.finish().map_err(|error| (error.kind, error.message, error.detail))
        });
        match finished.await? {
            Ok(_) => Ok(self.count),
            Err((kind, message, detail)) => Err(Error { detail, ..Error::new(kind, message) }),
        }
    }
}

/// Runs blocking work on another thread.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|error| Error::new(Kind::Failed, "indexing failed").with_detail(error.to_string()))
}
