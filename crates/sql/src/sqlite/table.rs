//! SQLite below [`SqlTable`].

use crate::database::backend::{InsertedRow, TableBackend};
use crate::database::description::TableDescription;
use crate::database::scope::related;
use crate::database::slow::RunningStatement;
use crate::database::table::{LIST_LIMIT, SqlTable, outside_of_transactions};
use crate::rows::admission::refuse_key;
use crate::sqlite::connection::cell::SqliteValue;
use crate::sqlite::connection::statement_counts;
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::read::answer_cache::CachedAnswer;
use crate::sqlite::read::keys::{key_path, keys_sql, target_key};
use crate::sqlite::read::plan::TablePlan;
use crate::sqlite::read::reader::{DatabaseVersion, ReadSite, SqliteReader};
use crate::sqlite::read::row::row_content;
use crate::sqlite::read::rows::LazyRows;
use crate::sqlite::read::select::{self, SqliteSelect};
use crate::sqlite::read::{encode, explain};
use crate::sqlite::schema::catalog::{RowKey, related_on};
use crate::sqlite::schema::define::seen_by;
use crate::sqlite::write::change::{RecordBatch, RowValues, WriteTarget, key_cell};
use crate::sqlite::write::{condition, insert, transaction};
use runnel_store::{
    Answer, BulkChange, Changes, Content, Context, FieldType, Isolation, Kind, Query, Records,
    Reference, Shape, Transaction, Value,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

/// A table of an SQLite database; see [`SqlTable`].
pub type SqliteTable = SqlTable<SqliteRows>;

/// What SQLite does below [`SqliteTable`].
#[derive(Clone)]
pub struct SqliteRows(pub(crate) Rc<SqliteTableState>);

pub(crate) struct SqliteTableState {
    pub(crate) reader: Rc<SqliteReader>,
    pub(crate) name: String,
    pub(crate) shape: Option<Shape>,
    plan: RefCell<Option<(i64, Rc<TablePlan>)>>,
    /// The version of the database at which all rows fitted a page, and its size.
    fits: Cell<Option<(i64, u64)>>,
}

impl SqliteRows {
    pub(crate) fn new(reader: Rc<SqliteReader>, name: String, shape: Option<Shape>) -> Self {
        SqliteRows(Rc::new(SqliteTableState {
            reader,
            name,
            shape,
            plan: RefCell::default(),
            fits: Cell::default(),
        }))
    }

    /// The plan for writing; a table that is not there is an error.
    fn plan(&self, context: &Context) -> Answer<Rc<TablePlan>> {
        let inner = self.0.clone();
        // While nothing was committed the plan that is known holds, and needs no transaction.
        if let Some(stamp) = inner.reader.unchanged()
            && let Some((schema, plan)) = &*inner.plan.borrow()
            && *schema == stamp.schema
        {
            return Answer::ok(plan.clone());
        }
        self.0.reader.patiently(context.deadline, move |reader| {
            let plan = reader.snapshot(|_, stamp| inner.plan(stamp))?;
            plan.ok_or_else(|| inner.missing())
        })
    }

    /// Changes rows: what is wanted is checked first, on the worker where that is possible, and
    /// then done by the writer, with others or in the transaction that the caller is in.
    fn change<P: Send + 'static, T: Send + 'static>(
        &self,
        context: &Context,
        check: impl FnOnce(&WriteTarget) -> SqlResult<P> + Send + 'static,
        work: impl Fn(&WriteTarget, &rusqlite::Connection, &P) -> SqlResult<T> + Send + 'static,
    ) -> Answer<T> {
        let deadline = context.deadline;
        if let Some(held) = transaction::current(&self.0.reader.shared, context) {
            let mut check = Some(check);
            return self.within(&held, deadline, move |connection, target| {
                let check = check.take().ok_or_else(SqlFault::stopped)?;
                let done = work(target, connection, &check(target)?);
                done.map_err(|fault| target.explain(connection, fault))
            });
        }
        let shared = self.0.reader.shared.clone();
        self.plan(context).and_then(move |plan| match check(&plan.target) {
            Err(fault) => Answer::Ready(Err(fault.into())),
            Ok(checked) => {
                let target = plan.target.clone();
                shared.write(deadline, move |connection| {
                    let done = work(&target, connection, &checked);
                    done.map_err(|fault| target.explain(connection, fault))
                })
            }
        })
    }

    fn write_row(
        &self,
        key: String,
        value: Value,
        context: &Context,
        write: fn(&WriteTarget, &rusqlite::Connection, &SqliteValue, &RowValues) -> SqlResult<bool>,
    ) -> Answer<bool> {
        let client = context.from_client.is_some();
        let check = move |target: &WriteTarget| {
            let key = target_key(&target.info, &key)?;
            let row = target.keyed(&key, value).map_err(|fault| fault.of_content(client))?;
            Ok((key, row))
        };
        let only_if = context.only_if.clone();
        self.change(context, check, move |target, connection, (key, row)| {
            condition::check(only_if.as_ref(), target, connection, Some(key))?;
            write(target, connection, key, row)
        })
    }
}

impl TableBackend for SqliteRows {
    const LABEL: &'static str = "table";

    fn rows(&self, query: Option<&str>, context: &Context) -> Answer<Option<Content>> {
        if let Some(held) = transaction::current(&self.0.reader.shared, context) {
            return self.rows_within(&held, query, context);
        }
        match self.0.rows(query, context) {
            Err(fault) if fault.is_busy() => {}
            done => return Answer::Ready(done.map_err(Into::into)),
        }
        let (inner, query, later) = (self.0.clone(), query.map(String::from), context.clone());
        let again = move |_: &SqliteReader| inner.rows(query.as_deref(), &later);
        self.0.reader.patiently(context.deadline, again)
    }

    fn row(&self, key: &str, context: &Context) -> Answer<Option<Content>> {
        if let Some(held) = transaction::current(&self.0.reader.shared, context) {
            // Other reads are lazy content, which may be encoded after the first write.
            if self.0.reader.has_log()
                && held.is_untouched()
                && let Ok(found) = self.0.row(key, context)
            {
                return Answer::ok(found);
            }
            return self.row_within(&held, key, context);
        }
        match self.0.row(key, context) {
            Err(fault) if fault.is_busy() => {}
            done => return Answer::Ready(done.map_err(Into::into)),
        }
        let (inner, key, later) = (self.0.clone(), key.to_string(), context.clone());
        let again = move |_: &SqliteReader| inner.row(&key, &later);
        self.0.reader.patiently(context.deadline, again)
    }

    /// Transactions wait for each other: what one has read is locked.
    fn lock(&self, _: Option<&str>, context: &Context) -> Answer<()> {
        match transaction::current(&self.0.reader.shared, context) {
            Some(_) => Answer::ok(()),
            None => outside_of_transactions(),
        }
    }

    fn query(&self, query: &Query, context: &Context) -> Answer<Content> {
        if let Some(held) = transaction::current(&self.0.reader.shared, context) {
            return self.query_within(&held, query, context);
        }
        if *query == Query::default() {
            let inner = self.0.clone();
            return self.rows(None, context).and_then(move |rows| match rows {
                Some(rows) => Answer::ok(rows),
                None => Answer::Ready(Err(inner.missing().into())),
            });
        }
        let (inner, query, later) = (self.0.clone(), query.clone(), context.clone());
        let (reader, deadline) = (self.0.reader.clone(), context.deadline);
        let found = reader.patiently(deadline, move |reader| {
            reader.snapshot(|_, stamp| {
                let plan = inner.plan(stamp)?.ok_or_else(|| inner.missing())?;
                let find = || related(&query, |name| reader.table(name));
                let select = plan.translated(&query, find)?;
                if !query.count {
                    return Ok(TableQuery::Content(LazyRows::content(
                        &inner.reader,
                        stamp,
                        select,
                        &later,
                    )));
                }
                Ok(match reader.cached(stamp, &select) {
                    Some(CachedAnswer::Count(count)) => {
                        TableQuery::Content(Content::value(Value::Int(count)))
                    }
                    _ => {
                        select.place.set(later.place);
                        TableQuery::Count(select)
                    }
                })
            })
        });
        found.and_then(move |found| match found {
            TableQuery::Content(content) => Answer::ok(content),
            TableQuery::Count(select) => {
                reader.count(&select, deadline).map(|count| Content::value(Value::Int(count)))
            }
        })
    }

    fn fits(&self, page: u64) -> bool {
        let known = self.0.fits.get().filter(|(_, most)| *most <= page);
        let stamp = self.0.reader.unchanged();
        known.zip(stamp).is_some_and(|((data, _), stamp)| data == stamp.data)
    }

    fn note_fit(&self, page: u64) {
        let stamp = self.0.reader.unchanged();
        self.0.fits.set(stamp.map(|stamp| (stamp.data, page)));
    }

    fn keys(&self, context: &Context) -> Answer<Option<Vec<String>>> {
        if let Some(held) = transaction::current(&self.0.reader.shared, context) {
            return self.keys_within(&held, context);
        }
        let (inner, deadline) = (self.0.clone(), context.deadline);
        let reader = self.0.reader.clone();
        let sql = reader.patiently(deadline, move |reader| {
            let plan = reader.snapshot(|_, stamp| inner.plan(stamp))?;
            plan.map(|plan| keys_sql(&plan.target.info)).transpose()
        });
        sql.and_then(move |sql| match sql {
            None => Answer::ok(None),
            Some(None) => Answer::ok(Some(Vec::new())),
            Some(Some(sql)) => {
                let work = move |connection: &rusqlite::Connection, _: ReadSite<'_>| {
                    keys(connection, &sql).map(Some)
                };
                reader.read(deadline, work, |_, _, _| {})
            }
        })
    }

    fn columns(&self, context: &Context) -> Answer<Vec<(String, FieldType)>> {
        self.plan(context).map(|plan| {
            let columns = plan.target.info.columns.iter();
            columns.map(|column| (column.name.clone(), column.kind)).collect()
        })
    }

    fn insert(&self, record: Value, context: &Context) -> Answer<InsertedRow> {
        let client = context.from_client.as_ref();
        let granted = client.map(|client| client.granted().to_vec());
        let check = move |target: &WriteTarget| {
            let names = record.as_record().unwrap_or_default().iter();
            let given = names.filter(|(_, value)| !value.is_nil()).map(|(name, _)| name.as_str());
            refuse_key(target.info.generated_key(), granted.as_deref(), given)?;
            RowValues::of_record(&target.info, record)
                .map_err(|fault| fault.of_content(granted.is_some()))
        };
        let insert = |target: &WriteTarget, connection: &rusqlite::Connection, row: &RowValues| {
            let inserted = target.insert(connection, row)?;
            let key = inserted.key.as_ref().and_then(|key| key_path(&target.info, key));
            Ok(InsertedRow { key, row: inserted.row })
        };
        self.change(context, check, insert)
    }

    fn insert_list(&self, records: Vec<Value>, context: &Context) -> Answer<()> {
        let check = move |target: &WriteTarget| RecordBatch::of_records(&target.info, records);
        self.change(context, check, WriteTarget::insert_all)
    }

    fn insert_records(&self, records: Box<dyn Records>, context: &Context) -> Answer<u64> {
        let (shared, deadline) = (self.0.reader.shared.clone(), context.deadline);
        let held = transaction::current(&shared, context);
        let target = match &held {
            Some(held) => self.within(held, deadline, |_, target| Ok(target.clone())),
            None => self.plan(context).map(|plan| plan.target.clone()),
        };
        let granted = context.from_client.as_ref().map(|client| client.granted().to_vec());
        Answer::later(async move {
            let target = target.await?;
            let fields = records.fields();
            let names = fields.iter().map(String::as_str);
            refuse_key(target.info.generated_key(), granted.as_deref(), names)?;
            insert::insert(shared, held, target, records, deadline).await
        })
    }

    fn put(&self, key: String, record: Value, context: &Context) -> Answer<bool> {
        self.write_row(key, record, context, WriteTarget::put)
    }

    fn merge(&self, key: String, record: Value, context: &Context) -> Answer<bool> {
        self.write_row(key, record, context, WriteTarget::merge)
    }

    fn merge_list(&self, records: Vec<Value>, context: &Context) -> Answer<()> {
        let check = move |target: &WriteTarget| RecordBatch::of_changes(&target.info, records);
        self.change(context, check, WriteTarget::merge_all)
    }

    fn change_all(&self, query: &Query, change: &BulkChange, context: &Context) -> Answer<Value> {
        let (query, change, place) = (query.clone(), change.clone(), context.place);
        self.change(
            context,
            |_| Ok(()),
            move |target, connection, ()| {
                let others = related_on(connection, &query)?;
                let changing = select::change(&target.info, &query, &change, &others)?;
                changing.place.set(place);
                if changing.columns.is_some() {
                    return encode::records(connection, &changing).map(Value::List);
                }
                let _running = RunningStatement::start(&changing.sql, changing.place.get());
                let mut statement = connection.prepare_cached(&changing.sql)?;
                let cells = rusqlite::params_from_iter(&changing.parameters);
                Ok(Value::from(statement.execute(cells)? as u64))
            },
        )
    }

    fn explain(&self, query: &Query, plan: bool, context: &Context) -> Answer<Value> {
        let (inner, query) = (self.0.clone(), query.clone());
        self.0.reader.patiently(context.deadline, move |reader| {
            reader.snapshot(|connection, stamp| {
                let table = inner.plan(stamp)?.ok_or_else(|| inner.missing())?;
                let find = || related(&query, |name| reader.table(name));
                let select = table.translated(&query, find)?;
                if plan {
                    explain::plan(connection, &select)
                } else {
                    Ok(explain::statement(&select))
                }
            })
        })
    }

    fn delete(&self, key: String, context: &Context) -> Answer<bool> {
        let check = move |target: &WriteTarget| match target.info.key {
            RowKey::None => Err(target.info.no_key()),
            _ => Ok(key_cell(&target.info, &key)),
        };
        let only_if = context.only_if.clone();
        self.change(context, check, move |target, connection, key| {
            condition::check(only_if.as_ref(), target, connection, key.as_ref())?;
            key.as_ref().map_or(Ok(false), |key| target.delete(connection, key))
        })
    }

    fn watch(&self, reference: &Reference, named: bool, context: &Context) -> Answer<Changes> {
        self.changes(reference, named, context)
    }

    fn begin(&self, _: Option<Isolation>, context: &Context) -> Answer<Rc<dyn Transaction>> {
        transaction::begin(&self.0.reader.shared, context)
    }
}

/// The keys of a table, with the statement of [`keys_sql`].
pub(crate) fn keys(connection: &rusqlite::Connection, sql: &str) -> SqlResult<Vec<String>> {
    let mut statement = connection.prepare_cached(sql)?;
    let names = statement.query_map([LIST_LIMIT as i64 + 1], |row| row.get(0))?;
    Ok(names.collect::<rusqlite::Result<_>>()?)
}

/// What a query comes to before anything long has run.
enum TableQuery {
    Content(Content),
    Count(Arc<SqliteSelect>),
}

impl SqliteTableState {
    fn rows(self: &Rc<Self>, query: Option<&str>, context: &Context) -> SqlResult<Option<Content>> {
        if let Some(content) = self.all(query, context) {
            return Ok(Some(content));
        }
        self.reader.snapshot(|_, stamp| {
            let Some(plan) = self.plan(stamp)? else { return Ok(None) };
            let select = match query {
                None => plan.all.clone(),
                Some(text) => plan.select(text)?,
            };
            Ok(Some(LazyRows::content(&self.reader, stamp, select, context)))
        })
    }

    fn row(&self, key: &str, context: &Context) -> SqlResult<Option<Content>> {
        let (content, _) = self.reader.steadily(|connection, stamp| {
            let Some(plan) = self.plan(stamp)? else { return Ok(None) };
            let key = key_cell(&plan.target.info, key);
            let (Some(sql), Some(key)) = (&plan.target.one, key) else { return Ok(None) };
            row_content(connection, sql, &key, &plan.target.columns, context)
        })?;
        statement_counts::count(u64::from(content.is_some()));
        statement_counts::flush(&self.reader.shared.counters);
        Ok(content)
    }

    /// All rows, while nothing was written since the table was last looked at: no statement runs
    /// before they are wanted.
    fn all(&self, query: Option<&str>, context: &Context) -> Option<Content> {
        let stamp = self.reader.unchanged().filter(|_| query.is_none())?;
        let plan = self.plan.borrow();
        let (_, plan) = plan.as_ref().filter(|(schema, _)| *schema == stamp.schema)?;
        Some(LazyRows::content(&self.reader, stamp, plan.all.clone(), context))
    }

    /// The plan at a version of the schema; `None` when there is no such table.
    fn plan(&self, stamp: DatabaseVersion) -> SqlResult<Option<Rc<TablePlan>>> {
        if let Some((schema, plan)) = &*self.plan.borrow()
            && *schema == stamp.schema
        {
            return Ok(Some(plan.clone()));
        }
        let Some(info) = self.reader.table(&self.name)? else { return Ok(None) };
        let info = match &self.shape {
            Some(shape) => seen_by(&info, shape)?,
            None => (*info).clone(),
        };
        info.refuse_key_value()?;
        let plan = Rc::new(TablePlan::new(info)?);
        *self.plan.borrow_mut() = Some((stamp.schema, plan.clone()));
        Ok(Some(plan))
    }

    /// What is known of the table, and at which version of the schema.
    pub(crate) fn known(&self) -> Option<(i64, Arc<WriteTarget>)> {
        self.plan.borrow().as_ref().map(|(schema, plan)| (*schema, plan.target.clone()))
    }

    pub(crate) fn missing(&self) -> SqlFault {
        let message = format!("there is no table {}; define it with a class", self.name);
        SqlFault::new(Kind::NotFound, message)
    }
}
