//! A key-value store of PostgreSQL, on the connections of a worker.

use crate::key_value::backend::{KeyStart, KeyValueBackend};
use crate::key_value::entry::{
    EntryWrite, FoundObject, ObjectEntry, ReplacedObject, StoredAttributes, WriteStamp,
};
use crate::key_value::store::KeyValueStore;
use crate::postgres::connection::client::PostgresConnection;
use crate::postgres::connection::session::Repeat;
use crate::postgres::fault::{SqlFault, SqlFaultCause, SqlResult};
use crate::postgres::key_value::statements::KeyValueQueries;
use crate::postgres::key_value::tables;
use crate::postgres::watch::{self, WatchScope};
use crate::postgres::worker_database::{WorkerDatabase, missing};
use bytes::Bytes;
use runnel_store::{Answer, Changes, Condition, Context, Error, Outcome, Reference, Store};
use std::rc::Rc;

/// One store as a worker sees it.
#[derive(Clone)]
pub(crate) struct PostgresKeyValue {
    core: Rc<WorkerDatabase>,
    sql: Rc<KeyValueQueries>,
}

/// Opens a store, and makes its tables when they do not exist.
pub(crate) fn open(core: &Rc<WorkerDatabase>, name: String) -> Answer<Rc<dyn Store>> {
    let core = core.clone();
    Answer::later(async move {
        tables::make(&core, &name).await?;
        let sql = Rc::new(KeyValueQueries::new(name));
        Ok(Rc::new(KeyValueStore::open(PostgresKeyValue { core, sql })) as Rc<dyn Store>)
    })
}

impl PostgresKeyValue {
    /// Reads on a connection of the pool, or in the transaction of the caller.
    fn read<T: 'static>(
        &self,
        context: &Context,
        work: impl AsyncFn(&KeyValueQueries, &PostgresConnection) -> SqlResult<T> + 'static,
    ) -> Answer<T> {
        let (session, sql) = (self.core.session(context), self.sql.clone());
        Answer::later(async move {
            let reading = async |connection: &PostgresConnection| work(&sql, connection).await;
            session.run(Repeat::Yes, reading).await.map_err(Error::from)
        })
    }

    /// Writes in a transaction, or within that of the caller. Before its commit nothing has happened,
    /// so that a connection that died is replaced as for reading.
    fn write<T: 'static>(
        &self,
        context: &Context,
        work: impl AsyncFn(&KeyValueQueries, &PostgresConnection) -> SqlResult<T> + 'static,
    ) -> Answer<T> {
        let (session, sql) = (self.core.session(context), self.sql.clone());
        Answer::later(async move {
            let is_within = session.transaction.is_some();
            let writing = async |connection: &PostgresConnection| {
                if is_within {
                    return work(&sql, connection).await;
                }
                connection.set_entered(true);
                connection.batch("BEGIN").await?;
                let done = work(&sql, connection).await;
                let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
                let ended = connection.batch(end).await;
                // A connection that is still within its transaction is closed.
                connection.set_entered(ended.is_err());
                let done = done?;
                ended
                    .map(|()| done)
                    .map_err(|fault| SqlFault { cause: SqlFaultCause::Other, ..fault.in_doubt() })
            };
            session.run(Repeat::Yes, writing).await.map_err(Error::from)
        })
    }
}

impl KeyValueBackend for PostgresKeyValue {
    fn describe(&self) -> String {
        format!("key-value store {} of postgres {}", self.sql.name, self.core.place())
    }

    fn place(&self) -> String {
        format!("postgres {} {}", self.core.place(), self.sql.name)
    }

    fn find(
        &self,
        key: String,
        known: Option<String>,
        context: &Context,
    ) -> Answer<Option<FoundObject>> {
        self.read(context, async move |sql, connection| {
            sql.find(connection, &key, known.as_ref()).await
        })
    }

    fn chunk(&self, object: i64, part: u64, context: &Context) -> Answer<Option<Bytes>> {
        self.read(context, async move |sql, connection| sql.chunk(connection, object, part).await)
    }

    fn begin(&self, chunks: Vec<Bytes>, stamp: WriteStamp, context: &Context) -> Answer<i64> {
        self.write(context, async move |sql, connection| {
            sql.begin(connection, &chunks, &stamp).await
        })
    }

    fn extend(
        &self,
        object: i64,
        part: u64,
        chunks: Vec<Bytes>,
        stamp: WriteStamp,
        context: &Context,
    ) -> Answer<()> {
        self.write(context, async move |sql, connection| {
            sql.extend(connection, object, part, &chunks, &stamp).await
        })
    }

    fn abandon(&self, object: i64) {
        let abandoned = self.write(&Context::default(), async move |sql, connection| {
            sql.abandon(connection, object).await
        });
        crate::key_value::sweep::detach(abandoned);
    }

    fn put(&self, write: EntryWrite, context: &Context) -> Answer<Option<ReplacedObject>> {
        self.write(context, async move |sql, connection| sql.put(connection, &write).await)
    }

    fn append(
        &self,
        key: String,
        bytes: Bytes,
        only_if: Option<Condition>,
        stamp: WriteStamp,
        context: &Context,
    ) -> Answer<bool> {
        self.write(context, async move |sql, connection| {
            sql.append(connection, &key, &bytes, only_if.as_ref(), &stamp).await
        })
    }

    fn delete(
        &self,
        key: String,
        only_if: Option<Condition>,
        stamp: WriteStamp,
        context: &Context,
    ) -> Answer<Option<ReplacedObject>> {
        self.write(context, async move |sql, connection| {
            sql.delete(connection, &key, only_if.as_ref(), &stamp).await
        })
    }

    fn annotate(
        &self,
        key: String,
        attributes: StoredAttributes,
        only_if: Option<Condition>,
        context: &Context,
    ) -> Answer<Outcome> {
        let annotated = self.write(context, async move |sql, connection| {
            sql.annotate(connection, &key, &attributes, only_if.as_ref()).await
        });
        annotated.map(|tag| Outcome::changed().with_entity_tag(Some(tag)))
    }

    fn relocate(
        &self,
        from: String,
        to: String,
        only_if: Option<Condition>,
        stamp: WriteStamp,
        context: &Context,
    ) -> Answer<(bool, Option<ReplacedObject>)> {
        self.write(context, async move |sql, connection| {
            sql.relocate(connection, (&from, &to), only_if.as_ref(), &stamp).await
        })
    }

    fn page(
        &self,
        start: KeyStart,
        limit: usize,
        metadata: bool,
        context: &Context,
    ) -> Answer<Vec<ObjectEntry>> {
        self.read(context, async move |sql, connection| {
            sql.page(connection, &start, limit, metadata).await
        })
    }

    fn children(&self, prefix: String, limit: usize, context: &Context) -> Answer<Vec<String>> {
        self.read(context, async move |sql, connection| {
            sql.children(connection, &prefix, limit).await
        })
    }

    fn sweep(&self, in_use: Vec<i64>, now: i64) -> Answer<bool> {
        self.write(&Context::default(), async move |sql, connection| {
            sql.sweep(connection, &in_use, now).await
        })
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        let (store, deadline) = (self.clone(), context.deadline);
        let key = reference.relative_path().trim_end_matches('/').to_string();
        Answer::later(async move {
            let core = &store.core;
            // A watch outlasts the transaction of the caller.
            let session = core.session(&Context { deadline, ..Context::default() });
            let name = &store.sql.name;
            let info = core.look(&session, name).await?.ok_or_else(|| missing(name))?;
            let installing =
                async |connection: &PostgresConnection| watch::install(connection, &info).await;
            session.run(Repeat::No, installing).await?;
            let scope = WatchScope {
                schema: info.schema.clone(),
                table: info.table.clone(),
                prefix: String::new(),
                key: Some(key).filter(|key| !key.is_empty()),
            };
            Ok(session.within(core.hub.watch(scope)).await?)
        })
    }
}
