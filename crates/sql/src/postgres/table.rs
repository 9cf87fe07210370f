//! PostgreSQL below [`SqlTable`].

use crate::database::backend::{InsertedRow, TableBackend};
use crate::database::description::{TableColumn, TableDescription};
use crate::database::scope::{RelatedTables, as_seen, related_names};
use crate::database::table::{LIST_LIMIT, SqlTable, outside_of_transactions};
use crate::postgres::connection::client::PostgresConnection;
use crate::postgres::connection::session::{PostgresSession, Repeat};
use crate::postgres::connection::transaction;
use crate::postgres::fault::SqlResult;
use crate::postgres::query::rows::{self, Ahead, ResultRows};
use crate::postgres::query::select::{self, selection, translate};
use crate::postgres::schema::catalog::{Holds, TableInfo};
use crate::postgres::schema::define::seen_by;
use crate::postgres::schema::read_catalog::field;
use crate::postgres::value::parameter::Parameter;
use crate::postgres::watch::{self, WatchScope};
use crate::postgres::worker_database::{WorkerDatabase, missing};
use crate::postgres::write::change::{self, RowParameters, key_of};
use crate::postgres::write::copy;
use crate::postgres::write::merge::RowChanges;
use crate::rows::admission::refuse_key;
use runnel_store::{
    Answer, BulkChange, Changes, Condition, Content, Context, Error, FieldType, Isolation, Query,
    Records, Reference, Shape, Transaction, Value,
};
use std::cell::RefCell;
use std::rc::Rc;

/// A table of a PostgreSQL database; see [`SqlTable`]. PostgreSQL's types make differences:
///
/// - The statement runs when the rows are asked for. Up to [`crate::POSTGRES_AHEAD`] bytes of them
///   are part of the answer, and have an entity tag; the rest of a larger result is read from the
///   server when the caller reads it.
/// - Tables without a primary key of one column have no keys and no order of their own.
/// - `numeric` and `timestamptz` are carried as text, exactly; they are compared as numbers and
///   moments. `json` and `jsonb` are written as they are, arrays as lists, everything else as the
///   text that PostgreSQL writes. Text and JSON with NUL characters are refused.
/// - A write under a condition locks the row, checks and writes in one transaction; the entity tag
///   of a row is valid in this process.
/// - Names of tables are exact; `schema.table` names a table of another schema.
/// - Changes by all programs are reported. The first watch of a table creates the triggers that it
///   needs, for which the user has to own the table.
pub type PostgresTable = SqlTable<PostgresRows>;

/// What PostgreSQL does below [`PostgresTable`].
#[derive(Clone)]
pub struct PostgresRows(Rc<PostgresTableState>);

struct PostgresTableState {
    core: Rc<WorkerDatabase>,
    name: String,
    shape: Option<Shape>,
}

/// What a verb does with the row of a key.
#[derive(Clone)]
enum RowWrite {
    Put(Value),
    Merge(Value),
    Delete,
}

impl PostgresRows {
    pub(crate) fn new(core: &Rc<WorkerDatabase>, name: String, shape: Option<Shape>) -> Self {
        PostgresRows(Rc::new(PostgresTableState { core: core.clone(), name, shape }))
    }

    /// Runs something with the description of the table; `None` where there is none.
    async fn seen<T>(
        &self,
        session: &PostgresSession,
        work: impl AsyncFn(&TableInfo) -> SqlResult<T>,
    ) -> SqlResult<Option<T>> {
        let inner = &self.0;
        let seeing = async |info: Rc<TableInfo>| {
            info.refuse_key_value()?;
            match &inner.shape {
                Some(shape) => work(&seen_by(&info, shape)?).await,
                None => work(&info).await,
            }
        };
        inner.core.with_table(session, &inner.name, seeing).await
    }

    /// The same for a verb that needs the table.
    async fn there<T>(
        &self,
        session: &PostgresSession,
        work: impl AsyncFn(&TableInfo) -> SqlResult<T>,
    ) -> Result<T, Error> {
        let done = self.seen(session, work).await?;
        done.ok_or_else(|| missing(&self.0.name).into())
    }

    /// The tables of the relations of a query.
    async fn others(
        &self,
        session: &PostgresSession,
        query: &Query,
    ) -> SqlResult<RelatedTables<TableInfo>> {
        let mut tables = RelatedTables::new();
        for table in related_names(query) {
            if let Some(info) = self.0.core.look(session, &table.name).await? {
                tables.push((table.clone(), as_seen(table, info)));
            }
        }
        Ok(tables)
    }

    async fn read_row(&self, key: &str, context: &Context) -> Result<Option<Content>, Error> {
        let session = self.0.core.session(context);
        let reading = async |info: &TableInfo| {
            let select = key_of(info, key).and_then(|key| change::select_one(info, key));
            match select {
                Some(select) => rows::one(&session, &select, context).await,
                None => Ok(None),
            }
        };
        Ok(self.seen(&session, reading).await?.flatten())
    }

    /// Writes the row of a key under the condition of the context. Answers whether a put created
    /// the row, whether the row of a merge exists, or whether the deleted row existed.
    fn write(&self, key: String, write: RowWrite, context: &Context) -> Answer<bool> {
        let (table, context) = (self.clone(), context.clone());
        Answer::later(async move {
            let free = Context { only_if: None, ..context.clone() };
            match (&context.only_if, &write) {
                (None, _) => table.write_now(&key, &write, false, &context).await,
                (Some(condition @ Condition::Absent), RowWrite::Put(_)) => {
                    let created = table.write_now(&key, &write, true, &free).await?;
                    if created { Ok(true) } else { Err(condition.failed()) }
                }
                // A row that does not exist is neither changed nor deleted.
                (Some(condition @ Condition::Absent), _) => {
                    table.check(&key, condition, &free).await.map(|()| false)
                }
                (Some(condition), _) => table.write_locked(&key, &write, condition, free).await,
            }
        })
    }

    /// Checks a condition of the row of a key.
    async fn check(
        &self,
        key: &str,
        condition: &Condition,
        context: &Context,
    ) -> Result<(), Error> {
        let looking = Context { known: None, ..context.clone() };
        let found = self.read_row(key, &looking).await?;
        condition.check(found.as_ref().map(|row| row.entity_tag.as_ref()))
    }

    /// Writes in a transaction that locks the row before it checks the condition, so that no other
    /// transaction changes the row in between. A row that does not exist cannot be locked, so
    /// [`Condition::Absent`] needs another way.
    async fn write_locked(
        &self,
        key: &str,
        write: &RowWrite,
        condition: &Condition,
        context: Context,
    ) -> Result<bool, Error> {
        let transaction = self.begin(Some(Isolation::ReadCommitted), &context).await?;
        let inside = Context { transaction: Some(transaction.clone()), ..context };
        let session = self.0.core.session(&inside);
        let locking = async |info: &TableInfo| {
            let Some(key) = key_of(info, key) else { return Ok(()) };
            let running =
                async |connection: &PostgresConnection| change::lock(connection, info, &key).await;
            session.run(Repeat::No, running).await
        };
        let written = async {
            self.there(&session, locking).await?;
            self.check(key, condition, &inside).await?;
            self.write_now(key, write, false, &inside).await
        };
        match written.await {
            Ok(written) => transaction.commit().await.map(|()| written),
            Err(error) => {
                // The caller gets the error of the write; the transaction ends in any case.
                let ended: Result<(), Error> = transaction.roll_back().await;
                drop(ended);
                Err(error)
            }
        }
    }

    /// Writes without a condition; with `create` a put leaves a row that exists as it is.
    async fn write_now(
        &self,
        key: &str,
        write: &RowWrite,
        create: bool,
        context: &Context,
    ) -> Result<bool, Error> {
        let session = self.0.core.session(context);
        let writing = async |info: &TableInfo| {
            let key = match key_of(info, key) {
                Some(key) => key,
                None if info.key_positions().is_empty() => return Err(info.no_key()),
                None if matches!(write, RowWrite::Delete) => return Ok(false),
                None => return Err(info.not_a_key(key)),
            };
            let running = async |connection: &PostgresConnection| {
                let done = match write {
                    RowWrite::Put(value) if create => {
                        change::create(connection, info, &key, value).await
                    }
                    RowWrite::Put(value) => change::put(connection, info, &key, value).await,
                    RowWrite::Merge(value) => change::merge(connection, info, &key, value).await,
                    RowWrite::Delete => change::delete(connection, info, &key).await,
                };
                done.map_err(|fault| fault.of_content(context.from_client.is_some()))
            };
            session.run(Repeat::No, running).await
        };
        self.there(&session, writing).await
    }
}

impl TableBackend for PostgresRows {
    const LABEL: &'static str = "postgres table";

    fn rows(&self, query: Option<&str>, context: &Context) -> Answer<Option<Content>> {
        let (table, context) = (self.clone(), context.clone());
        let query = query.map(String::from);
        Answer::later(async move {
            let session = table.0.core.session(&context);
            let reading = async |info: &TableInfo| {
                let select = Rc::new(selection(info, query.as_deref())?);
                ResultRows::content(&session, select, Ahead::Some, &context).await
            };
            Ok(table.seen(&session, reading).await?)
        })
    }

    fn row(&self, key: &str, context: &Context) -> Answer<Option<Content>> {
        let (table, key, context) = (self.clone(), key.to_string(), context.clone());
        Answer::later(async move { table.read_row(&key, &context).await })
    }

    fn lock(&self, key: Option<&str>, context: &Context) -> Answer<()> {
        let session = self.0.core.session(context);
        if session.transaction.is_none() {
            return outside_of_transactions();
        }
        let Some(key) = key.map(String::from) else { return Answer::ok(()) };
        let table = self.clone();
        Answer::later(async move {
            let locking = async |info: &TableInfo| {
                let Some(key) = key_of(info, &key) else { return Ok(()) };
                let running = async |connection: &PostgresConnection| {
                    change::lock(connection, info, &key).await
                };
                session.run(Repeat::No, running).await
            };
            table.there(&session, locking).await
        })
    }

    fn query(&self, query: &Query, context: &Context) -> Answer<Content> {
        let (table, query, context) = (self.clone(), query.clone(), context.clone());
        Answer::later(async move {
            let session = table.0.core.session(&context);
            let asking = async |info: &TableInfo| {
                let others = table.others(&session, &query).await?;
                let select = translate(info, &query, &others)?;
                if !query.count {
                    return ResultRows::content(&session, Rc::new(select), Ahead::Some, &context)
                        .await;
                }
                let counting = async |connection: &PostgresConnection| {
                    let rows = connection.all(&select.sql, &select.parameters).await?;
                    rows.first().map_or(Ok(0), |row| field::<i64>(row, 0))
                };
                let count = session.run(Repeat::Yes, counting).await?;
                Ok(Content::value(Value::Int(count)))
            };
            table.there(&session, asking).await
        })
    }

    fn keys(&self, context: &Context) -> Answer<Option<Vec<String>>> {
        let (table, context) = (self.clone(), context.clone());
        Answer::later(async move {
            let session = table.0.core.session(&context);
            let listing = async |info: &TableInfo| {
                if !info.key_parts.is_empty() {
                    return Err(info.no_list());
                }
                let Some(sql) = keys_sql(info) else { return Ok(Vec::new()) };
                let reading = async |connection: &PostgresConnection| {
                    let limit = Parameter::int(LIST_LIMIT as i64 + 1);
                    let rows = connection.all(&sql, &[limit]).await?;
                    rows.iter().map(|row| field::<String>(row, 0)).collect()
                };
                session.run(Repeat::Yes, reading).await
            };
            Ok(table.seen(&session, listing).await?)
        })
    }

    fn columns(&self, context: &Context) -> Answer<Vec<(String, FieldType)>> {
        let (table, context) = (self.clone(), context.clone());
        Answer::later(async move {
            let session = table.0.core.session(&context);
            let columns = async |info: &TableInfo| {
                let columns = info.columns.iter();
                Ok(columns.map(|column| (column.name.clone(), column.holds.kind())).collect())
            };
            table.there(&session, columns).await
        })
    }

    fn insert(&self, record: Value, context: &Context) -> Answer<InsertedRow> {
        let (table, context) = (self.clone(), context.clone());
        Answer::later(async move {
            let session = table.0.core.session(&context);
            let client = context.from_client.as_ref();
            let inserting = async |info: &TableInfo| {
                let names = record.as_record().unwrap_or_default().iter();
                let given = names.filter(|(_, value)| !value.is_nil());
                let given = given.map(|(name, _)| name.as_str());
                let granted = client.map(|client| client.granted());
                refuse_key(info.generated_key(), granted, given)?;
                let inserted = insert(&session, info, &record).await;
                inserted.map_err(|fault| fault.of_content(client.is_some()))
            };
            table.there(&session, inserting).await
        })
    }

    fn insert_list(&self, records: Vec<Value>, context: &Context) -> Answer<()> {
        let (table, context) = (self.clone(), context.clone());
        Answer::later(async move {
            let session = table.0.core.session(&context);
            let inserting =
                async |info: &TableInfo| copy::insert_list(&session, info, &records).await;
            table.there(&session, inserting).await
        })
    }

    fn insert_records(&self, records: Box<dyn Records>, context: &Context) -> Answer<u64> {
        let fields = records.fields();
        let (table, context, records) = (self.clone(), context.clone(), RefCell::new(records));
        Answer::later(async move {
            let session = table.0.core.session(&context);
            let granted = context.from_client.as_ref().map(|client| client.granted());
            let inserting = async |info: &TableInfo| {
                let names = fields.iter().map(String::as_str);
                refuse_key(info.generated_key(), granted, names)?;
                copy::insert(&session, info, &records).await
            };
            table.there(&session, inserting).await
        })
    }

    fn put(&self, key: String, record: Value, context: &Context) -> Answer<bool> {
        self.write(key, RowWrite::Put(record), context)
    }

    fn merge(&self, key: String, record: Value, context: &Context) -> Answer<bool> {
        self.write(key, RowWrite::Merge(record), context)
    }

    fn merge_list(&self, records: Vec<Value>, context: &Context) -> Answer<()> {
        let (table, context) = (self.clone(), context.clone());
        Answer::later(async move {
            let session = table.0.core.session(&context);
            let changing = async |info: &TableInfo| {
                let changes = RowChanges::of_records(info, &records)?;
                let running =
                    async |connection: &PostgresConnection| changes.run(connection, &session).await;
                session.run(Repeat::No, running).await
            };
            table.there(&session, changing).await
        })
    }

    fn change_all(&self, query: &Query, change: &BulkChange, context: &Context) -> Answer<Value> {
        let (table, query, context) = (self.clone(), query.clone(), context.clone());
        let change = change.clone();
        Answer::later(async move {
            let session = table.0.core.session(&context);
            let changing = async |info: &TableInfo| {
                let others = table.others(&session, &query).await?;
                let changing = select::change(info, &query, &change, &others)?;
                let running = async |connection: &PostgresConnection| {
                    if !query.fields.is_empty() {
                        let rows = rows::returned(connection, &session, &changing).await?;
                        return Ok(Value::List(rows));
                    }
                    let count = connection.execute(&changing.sql, &changing.parameters).await?;
                    Ok(Value::from(count))
                };
                session.run(Repeat::No, running).await
            };
            table.there(&session, changing).await
        })
    }

    fn explain(&self, query: &Query, plan: bool, context: &Context) -> Answer<Value> {
        let (table, query, context) = (self.clone(), query.clone(), context.clone());
        Answer::later(async move {
            let session = table.0.core.session(&context);
            let explaining = async |info: &TableInfo| {
                let others = table.others(&session, &query).await?;
                let select = translate(info, &query, &others)?;
                if !plan {
                    return Ok(select.shown());
                }
                let sql = format!("EXPLAIN {}", select.sql);
                let running = async |connection: &PostgresConnection| {
                    let rows = connection.all(&sql, &select.parameters).await?;
                    rows.iter().map(|row| field::<String>(row, 0)).collect::<SqlResult<Vec<_>>>()
                };
                let lines = session.run(Repeat::Yes, running).await?;
                Ok(Value::from(lines.join("\n")))
            };
            table.there(&session, explaining).await
        })
    }

    fn delete(&self, key: String, context: &Context) -> Answer<bool> {
        self.write(key, RowWrite::Delete, context)
    }

    fn watch(&self, reference: &Reference, named: bool, context: &Context) -> Answer<Changes> {
        let (table, context) = (self.clone(), context.clone());
        let prefix = if named { format!("{}/", table.0.name) } else { String::new() };
        let key = Some(reference.key().into_owned()).filter(|key| !key.is_empty());
        Answer::later(async move {
            let core = &table.0.core;
            // A watch outlasts the transaction of the caller.
            let session = core.session(&Context { transaction: None, ..context });
            let watching = async |info: &TableInfo| {
                let installing =
                    async |connection: &PostgresConnection| watch::install(connection, info).await;
                session.run(Repeat::No, installing).await?;
                let scope = WatchScope {
                    schema: info.schema.clone(),
                    table: info.table.clone(),
                    prefix: prefix.clone(),
                    key: key.clone(),
                };
                session.within(core.hub.watch(scope)).await
            };
            table.there(&session, watching).await
        })
    }

    fn begin(
        &self,
        isolation: Option<Isolation>,
        context: &Context,
    ) -> Answer<Rc<dyn Transaction>> {
        let (pool, context) = (self.0.core.pool.clone(), context.clone());
        Answer::later(async move {
            transaction::begin(&pool, isolation, &context).await.map_err(Error::from)
        })
    }
}

/// Inserts a record, and retries once when the generated key exists already.
async fn insert(
    session: &PostgresSession,
    info: &TableInfo,
    value: &Value,
) -> SqlResult<InsertedRow> {
    let row = RowParameters::of_record(info, value)?;
    let inserting =
        async |connection: &PostgresConnection| change::insert(connection, info, &row).await;
    match session.run(Repeat::No, inserting).await {
        Err(fault) if change::met_own_number(info, &row.columns, &fault) => {
            let moving =
                async |connection: &PostgresConnection| change::move_on(connection, info).await;
            session.run(Repeat::No, moving).await?;
            session.run(Repeat::No, inserting).await
        }
        done => done,
    }
}

/// The statement that reads the keys as text, in bytewise order. Keys with a slash are not names
/// of children.
fn keys_sql(info: &TableInfo) -> Option<String> {
    let key = info.key().filter(|key| key.holds != Holds::Bytes)?;
    let name = format!("{}::text", key.quoted());
    Some(format!(
        "SELECT {name} FROM {} WHERE strpos({name}, '/') = 0 ORDER BY {name} COLLATE \"C\" \
         LIMIT $1::int8",
        info.sql
    ))
}
