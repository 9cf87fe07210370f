//! A table within a transaction: everything runs on the writer's connection, which alone sees what
//! the transaction has done, also to the tables themselves. Rows are read at once, because they
//! cannot be read after the transaction.

use crate::database::description::TableDescription;
use crate::rows::parameters;
use crate::sqlite::fault::{SqlFaultCause, SqlResult};
use crate::sqlite::read::encode;
use crate::sqlite::read::keys::keys_sql;
use crate::sqlite::read::select::{SqliteSelect, list, translate};
use crate::sqlite::schema::catalog::{TableInfo, quoted, related_on};
use crate::sqlite::schema::define::seen_by;
use crate::sqlite::table::{SqliteRows, keys};
use crate::sqlite::write::change::{WriteTarget, key_cell};
use crate::sqlite::write::transaction::SqliteTransaction;
use crate::sqlite::write::watch;
use futures_util::StreamExt;
use runnel_store::{Answer, Changes, Content, Context, Kind, Query, Reference, Shape, Value};
use rusqlite::Connection;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

impl WriteTarget {
    /// The table as the transaction sees it.
    fn read(
        connection: &Connection,
        name: &str,
        shape: Option<&Shape>,
    ) -> SqlResult<Option<Arc<WriteTarget>>> {
        let Some(info) = TableInfo::read(connection, name)? else { return Ok(None) };
        let info = match shape {
            Some(shape) => seen_by(&info, shape)?,
            None => info,
        };
        info.refuse_key_value()?;
        Ok(Some(Arc::new(WriteTarget::new(info))))
    }
}

impl SqliteRows {
    /// Runs work in a transaction, with the table as it is there.
    pub(crate) fn within<T: Send + 'static>(
        &self,
        held: &Rc<SqliteTransaction>,
        deadline: Option<Instant>,
        mut work: impl FnMut(&Connection, &Arc<WriteTarget>) -> SqlResult<T> + Send + 'static,
    ) -> Answer<T> {
        let (name, shape, known) = (self.0.name.clone(), self.0.shape.clone(), self.0.known());
        let missing = self.0.missing().with("in a transaction", SqlFaultCause::Stale);
        held.run(deadline, move |connection| {
            let mut version = connection.prepare_cached("PRAGMA schema_version")?;
            let schema: i64 = version.query_row([], |row| row.get(0))?;
            let target = match &known {
                Some((version, target)) if *version == schema => target.clone(),
                _ => match WriteTarget::read(connection, &name, shape.as_ref())? {
                    Some(target) => target,
                    None => return Err(missing.clone()),
                },
            };
            work(connection, &target)
        })
    }

    pub(crate) fn rows_within(
        &self,
        held: &Rc<SqliteTransaction>,
        query: Option<&str>,
        context: &Context,
    ) -> Answer<Option<Content>> {
        let (query, place) = (query.map(String::from), context.place);
        let found = self.within(held, context.deadline, move |connection, target| {
            let info = &target.info;
            let query = match &query {
                None => Query::default(),
                Some(text) => parameters::parse(text, |name| Ok(info.column(name)?.kind))?,
            };
            let select = translate(info, &query, &Vec::new())?;
            select.place.set(place);
            Ok(Some(Value::List(encode::records(connection, &select)?)))
        });
        found_within(found)
    }

    pub(crate) fn row_within(
        &self,
        held: &Rc<SqliteTransaction>,
        key: &str,
        context: &Context,
    ) -> Answer<Option<Content>> {
        let key = key.to_string();
        found_within(self.within(held, context.deadline, move |connection, target| {
            row(connection, target, &key)
        }))
    }

    pub(crate) fn query_within(
        &self,
        held: &Rc<SqliteTransaction>,
        query: &Query,
        context: &Context,
    ) -> Answer<Content> {
        let (query, place) = (query.clone(), context.place);
        let found = self.within(held, context.deadline, move |connection, target| {
            let others = related_on(connection, &query)?;
            let select = translate(&target.info, &query, &others)?;
            select.place.set(place);
            Ok(match query.count {
                true => Value::Int(encode::count(connection, &select)?),
                false => Value::List(encode::records(connection, &select)?),
            })
        });
        found.map(Content::value)
    }

    pub(crate) fn keys_within(
        &self,
        held: &Rc<SqliteTransaction>,
        context: &Context,
    ) -> Answer<Option<Vec<String>>> {
        self.within(held, context.deadline, move |connection, target| {
            match keys_sql(&target.info)? {
                Some(sql) => keys(connection, &sql).map(Some),
                None => Ok(Some(Vec::new())),
            }
        })
    }

    /// The changes of the table or of one of its rows; `named` says whether references begin with
    /// the name of the table.
    pub(crate) fn changes(
        &self,
        reference: &Reference,
        named: bool,
        context: &Context,
    ) -> Answer<Changes> {
        let name = self.0.name.clone();
        let path = match &*reference.key() {
            "" => name.clone(),
            key => format!("{name}/{key}"),
        };
        let changes = watch::watch(&self.0.reader.shared, &path, context.deadline);
        if named {
            return changes;
        }
        changes.map(move |changes| {
            let within = changes.map(move |change| {
                let mut change = change?;
                let path = change.reference.relative_path();
                let rest = path.strip_prefix(name.as_str()).unwrap_or_default();
                let rest = rest.trim_start_matches('/').to_string();
                change.reference = Reference::from_path(rest);
                Ok(change)
            });
            Box::pin(within) as Changes
        })
    }
}

/// Rows that were read, as content. A missing table is no content.
fn found_within(found: Answer<Option<Value>>) -> Answer<Option<Content>> {
    Answer::later(async move {
        match found.await {
            Ok(found) => Ok(found.map(Content::value)),
            Err(error) if error.kind == Kind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    })
}

fn row(connection: &Connection, target: &WriteTarget, key: &str) -> SqlResult<Option<Value>> {
    let info = &target.info;
    let (Some(condition), Some(key)) = (info.key_condition(1), key_cell(info, key)) else {
        return Ok(None);
    };
    let shown: Vec<_> = info.columns.iter().collect();
    let (names, table) = (list(&shown), quoted(&info.name));
    let sql = format!("SELECT {names} FROM {table} WHERE {condition}");
    let select = SqliteSelect::new(sql, vec![key], Some(target.columns.clone()), false);
    Ok(encode::records(connection, &select)?.pop())
}
