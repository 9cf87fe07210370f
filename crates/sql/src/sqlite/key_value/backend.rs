//! A key-value store of SQLite, on the writer and the readers of its database.

use crate::key_value::backend::{KeyStart, KeyValueBackend};
use crate::key_value::entry::{
    EntryWrite, FoundObject, ObjectEntry, ReplacedObject, StoredAttributes, WriteStamp,
};
use crate::key_value::layout;
use crate::key_value::store::KeyValueStore;
use crate::sqlite::fault::SqlResult;
use crate::sqlite::key_value::statements::{self, KeyValueStatements};
use crate::sqlite::read::reader::{ReadSite, SqliteReader};
use crate::sqlite::write::writer::{ExclusiveTask, WriterSession, WriterTask};
use crate::sqlite::write::{transaction, watch};
use bytes::Bytes;
use futures_util::StreamExt;
use runnel_store::{Answer, Changes, Condition, Context, EntityTag, Outcome, Reference, Store};
use rusqlite::Connection;
use std::rc::Rc;
use std::sync::Arc;
use tokio::sync::oneshot;

/// One store as a worker sees it.
pub(crate) struct SqliteKeyValue {
    reader: Rc<SqliteReader>,
    sql: Arc<KeyValueStatements>,
}

/// Opens a store, and makes its tables when they do not exist.
pub(crate) fn open(reader: &Rc<SqliteReader>, name: String) -> Answer<Rc<dyn Store>> {
    if let Err(fault) = layout::check_name(&name) {
        return Answer::Ready(Err(fault.into()));
    }
    let looked = name.clone();
    let existing = reader.patiently(None, move |reader| {
        reader.snapshot(|connection, _| statements::existing(connection, &looked))
    });
    let (shared, reader) = (reader.shared.clone(), reader.clone());
    let named = existing.and_then(move |existing| match existing {
        Some(name) => Answer::ok(name),
        None => shared.write(None, move |connection| statements::make(connection, &name)),
    });
    named.map(move |name| {
        let sql = Arc::new(KeyValueStatements::new(name));
        Rc::new(KeyValueStore::open(SqliteKeyValue { reader, sql })) as Rc<dyn Store>
    })
}

impl SqliteKeyValue {
    /// Reads on this worker at once, or in the transaction of the caller.
    fn read<T: Send + 'static>(
        &self,
        context: &Context,
        work: impl Fn(&KeyValueStatements, &Connection) -> SqlResult<T> + Clone + Send + 'static,
    ) -> Answer<T> {
        let sql = self.sql.clone();
        if let Some(held) = transaction::current(&self.reader.shared, context) {
            return held.run(context.deadline, move |connection| work(&sql, connection));
        }
        let work = move |connection: &Connection, _: ReadSite<'_>| work(&sql, connection);
        self.reader.read(context.deadline, work, |_, _, _| {})
    }

    /// Writes with others, or in the transaction of the caller.
    fn write<T: Send + 'static>(
        &self,
        context: &Context,
        work: impl Fn(&KeyValueStatements, &Connection) -> SqlResult<T> + Send + 'static,
    ) -> Answer<T> {
        let (shared, sql) = (&self.reader.shared, self.sql.clone());
        if let Some(held) = transaction::current(shared, context) {
            return held.run(context.deadline, move |connection| work(&sql, connection));
        }
        shared.write(context.deadline, move |connection| work(&sql, connection))
    }
}

impl KeyValueBackend for SqliteKeyValue {
    fn describe(&self) -> String {
        format!("key-value store {} of sqlite {}", self.sql.name, self.reader.shared.place)
    }

    fn place(&self) -> String {
        format!("sqlite {} {}", self.reader.shared.place, self.sql.name)
    }

    fn find(
        &self,
        key: String,
        known: Option<String>,
        context: &Context,
    ) -> Answer<Option<FoundObject>> {
        self.read(context, move |sql, connection| sql.find(connection, &key, known.as_deref()))
    }

    fn chunk(&self, object: i64, part: u64, context: &Context) -> Answer<Option<Bytes>> {
        self.read(context, move |sql, connection| sql.chunk(connection, object, part))
    }

    fn begin(&self, chunks: Vec<Bytes>, stamp: WriteStamp, context: &Context) -> Answer<i64> {
        self.write(context, move |sql, connection| sql.begin(connection, &chunks, &stamp))
    }

    fn extend(
        &self,
        object: i64,
        part: u64,
        chunks: Vec<Bytes>,
        stamp: WriteStamp,
        context: &Context,
    ) -> Answer<()> {
        self.write(context, move |sql, connection| {
            sql.extend(connection, object, part, &chunks, &stamp)
        })
    }

    fn abandon(&self, object: i64) {
        let task = AbandonedUpload { sql: self.sql.clone(), object };
        // A full queue leaves it to the sweep after the time of uploads.
        let (_, unheard) = oneshot::channel();
        drop(self.reader.shared.writer.queue::<()>(
            WriterTask::Alone(Box::new(task)),
            unheard,
            None,
        ));
    }

    fn put(&self, write: EntryWrite, context: &Context) -> Answer<Option<ReplacedObject>> {
        self.write(context, move |sql, connection| sql.put(connection, &write))
    }

    fn append(
        &self,
        key: String,
        bytes: Bytes,
        only_if: Option<Condition>,
        stamp: WriteStamp,
        context: &Context,
    ) -> Answer<bool> {
        self.write(context, move |sql, connection| {
            sql.append(connection, &key, &bytes, only_if.as_ref(), &stamp)
        })
    }

    fn delete(
        &self,
        key: String,
        only_if: Option<Condition>,
        stamp: WriteStamp,
        context: &Context,
    ) -> Answer<Option<ReplacedObject>> {
        self.write(context, move |sql, connection| {
            sql.delete(connection, &key, only_if.as_ref(), &stamp)
        })
    }

    fn annotate(
        &self,
        key: String,
        attributes: StoredAttributes,
        only_if: Option<Condition>,
        context: &Context,
    ) -> Answer<Outcome> {
        let annotated = self.write(context, move |sql, connection| {
            sql.annotate(connection, &key, &attributes, only_if.as_ref())
        });
        annotated.map(|tag| Outcome::changed().with_entity_tag(Some(EntityTag::strong(tag))))
    }

    fn relocate(
        &self,
        from: String,
        to: String,
        only_if: Option<Condition>,
        stamp: WriteStamp,
        context: &Context,
    ) -> Answer<(bool, Option<ReplacedObject>)> {
        self.write(context, move |sql, connection| {
            sql.relocate(connection, (&from, &to), only_if.as_ref(), &stamp)
        })
    }

    fn page(
        &self,
        start: KeyStart,
        limit: usize,
        metadata: bool,
        context: &Context,
    ) -> Answer<Vec<ObjectEntry>> {
        self.read(context, move |sql, connection| sql.page(connection, &start, limit, metadata))
    }

    fn children(&self, prefix: String, limit: usize, context: &Context) -> Answer<Vec<String>> {
        self.read(context, move |sql, connection| sql.children(connection, &prefix, limit))
    }

    fn sweep(&self, in_use: Vec<i64>, now: i64) -> Answer<bool> {
        // Opening a database that is only read writes nothing.
        let context = Context::default();
        let due = self.read(&context, move |sql, connection| sql.is_due(connection, now));
        let (shared, sql) = (self.reader.shared.clone(), self.sql.clone());
        due.and_then(move |due| match due {
            false => Answer::ok(false),
            true => shared.write(None, move |connection| sql.sweep(connection, &in_use, now)),
        })
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        let name = self.sql.name.clone();
        let path = format!("{name}/{}", reference.relative_path());
        let changes = watch::watch(&self.reader.shared, &path, context.deadline);
        changes.map(move |changes| {
            let below = changes.map(move |change| {
                change.map(|mut change| {
                    // A loss has the watched path or one above it.
                    let path = change.reference.relative_path();
                    let key = path.strip_prefix(name.as_str()).unwrap_or_default();
                    let key = key.strip_prefix('/').unwrap_or_default().to_string();
                    change.reference = Reference::from_path(key);
                    change
                })
            });
            Box::pin(below) as Changes
        })
    }
}

/// Marks an upload without a caller for the sweep.
struct AbandonedUpload {
    sql: Arc<KeyValueStatements>,
    object: i64,
}

impl ExclusiveTask for AbandonedUpload {
    fn run(self: Box<Self>, session: &WriterSession) {
        let mut done = session.begin();
        done = done.and_then(|()| self.sql.abandon(&session.connection, self.object));
        if let Err(fault) = done.and_then(|()| session.commit()) {
            tracing::debug!(?fault, "an upload that was given up is swept later");
        }
    }
}
