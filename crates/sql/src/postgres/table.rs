//! One table as a store: the root is all rows, a key is one row.

use crate::admission::{Admission, refuse_key};
use crate::content::to_value;
use crate::incoming;
use crate::postgres::connection::client::Connection;
use crate::postgres::connection::session::{Repeat, Session};
use crate::postgres::connection::transaction;
use crate::postgres::core::{Core, missing};
use crate::postgres::fault::Fault;
use crate::postgres::query::rows::{self, Ahead, Rows};
use crate::postgres::query::select::{selection, translate};
use crate::postgres::schema::catalog::{Holds, TableInfo, field, quoted};
use crate::postgres::schema::define::seen_by;
use crate::postgres::value::parameter::Parameter;
use crate::postgres::watch::{self, Scope};
use crate::postgres::write::change::{self, RowOf, key_of};
use crate::postgres::write::conditional;
use crate::postgres::write::copy;
use crate::sqlite::LIST_LIMIT;
use runnel_store::{
    Answer, Changes, Condition, Conditions, Content, Context, Entry, Error, FieldType, Kind,
    Outcome, Query, RecordUse, Records, Reference, Shape, Store, TableFormat, Tables, Transaction,
    Value, Verb, Verbs, encode_segment,
};
use std::cell::RefCell;
use std::rc::Rc;

/// A table of a PostgreSQL database, seen as it is or as a class sees it.
///
/// It answers what [`crate::Table`] answers: all rows in the order of the primary key, a row by its
/// key, and queries in the reference (`?done=0&sort=-id&limit=10&offset=20&fields=id`). Differences
/// come from PostgreSQL's types:
///
/// - The statement runs when the rows are asked for. Up to [`crate::POSTGRES_AHEAD`] bytes of them
///   are there with the answer, and have an entity tag; the rest of a larger result is read from
///   the server while somebody reads it.
/// - Tables without a primary key of one column have no keys and no order of their own.
/// - `numeric` and `timestamptz` are carried as text, exactly; they are compared as numbers and
///   moments. `json` and `jsonb` are written as they are, arrays as lists, everything else as the
///   text that PostgreSQL writes. Text and JSON hold no NUL characters; such are refused.
/// - Writes under a condition lock the row, look and write in one transaction; the entity tag of a
///   row is one of this process.
/// - Names of tables are exact; `schema.table` names a table of another schema.
/// - Changes are told of whoever makes them. The first watch of a table makes the triggers that it
///   needs, for which the user has to own the table.
#[derive(Clone)]
pub struct PostgresTable(Rc<Inner>);

struct Inner {
    core: Rc<Core>,
    name: String,
    shape: Option<Shape>,
    class: Option<Rc<str>>,
    admission: Admission,
}

impl PostgresTable {
    pub(crate) fn new(core: &Rc<Core>, name: String, shape: Option<Shape>) -> Self {
        let class = shape.as_ref().map(|shape| Rc::from(shape.name.as_str()));
        let admission = Admission::new(shape.as_ref());
        PostgresTable(Rc::new(Inner { core: core.clone(), name, shape, class, admission }))
    }

    /// Its name in the database.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The shape of the class that it was defined with.
    pub fn shape(&self) -> Option<&Shape> {
        self.0.shape.as_ref()
    }

    /// Runs something with the description of the table; `None` where there is none.
    async fn seen<T>(
        &self,
        session: &Session,
        work: impl AsyncFn(&TableInfo) -> Result<T, Fault>,
    ) -> Result<Option<T>, Fault> {
        let inner = &self.0;
        let seeing = async |info: Rc<TableInfo>| match &inner.shape {
            Some(shape) => work(&seen_by(&info, shape)?).await,
            None => work(&info).await,
        };
        inner.core.with_table(session, &inner.name, seeing).await
    }

    /// The same for a verb that needs the table.
    async fn there<T>(
        &self,
        session: &Session,
        work: impl AsyncFn(&TableInfo) -> Result<T, Fault>,
    ) -> Result<T, Error> {
        let done = self.seen(session, work).await?;
        done.ok_or_else(|| missing(&self.0.name).into())
    }

    fn classed(&self, content: Content) -> Content {
        Content { class: self.0.class.clone(), ..content }
    }

    pub(crate) fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let (table, reference, context) = (self.clone(), reference.clone(), context.clone());
        Answer::later(async move {
            let session = table.0.core.session(&context);
            let reading = async |info: &TableInfo| {
                let key = &*reference.key();
                if key.is_empty() {
                    let select = Rc::new(selection(info, reference.query())?);
                    return Rows::content(&session, select, Ahead::Some, &context).await.map(Some);
                }
                let select = key_of(info, key).and_then(|key| change::select_one(info, key));
                match select {
                    Some(select) => rows::one(&session, &select, &context).await,
                    None => Ok(None),
                }
            };
            let content = table.seen(&session, reading).await?.flatten();
            Ok(content.map(|content| table.classed(content)))
        })
    }

    pub(crate) fn query(
        &self,
        reference: &Reference,
        query: &Query,
        context: &Context,
    ) -> Answer<Content> {
        if !reference.relative_path().is_empty() {
            let message = "a query runs over the table, not over one of its rows";
            return Error::new(Kind::NotAllowed, message).into();
        }
        let (table, query, context) = (self.clone(), query.clone(), context.clone());
        Answer::later(async move {
            let session = table.0.core.session(&context);
            let asking = async |info: &TableInfo| {
                let select = translate(info, &query)?;
                if !query.count {
                    let rows = Rows::content(&session, Rc::new(select), Ahead::Some, &context);
                    return rows.await.map(|content| table.classed(content));
                }
                let counting = async |connection: &Connection| {
                    let rows = connection.all(&select.sql, &select.parameters).await?;
                    rows.first().map_or(Ok(0), |row| field::<i64>(row, 0))
                };
                let count = session.run(Repeat::Yes, counting).await?;
                Ok(Content::value(Value::Int(count)))
            };
            table.there(&session, asking).await
        })
    }

    pub(crate) fn post(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        if let Err(error) = context.unconditional(Verb::Post, reference) {
            return error.into();
        }
        if !reference.relative_path().is_empty() {
            let message = "a row cannot be added to a row; post to the table itself";
            return Error::new(Kind::NotAllowed, message).into();
        }
        let (table, context) = (self.clone(), context.clone());
        Answer::later(async move {
            if let Some(format) =
                TableFormat::of(&content).filter(|_| context.from_client.is_none())
            {
                let session = table.0.core.session(&context);
                let columns = table.there(&session, async |info: &TableInfo| Ok(info.clone()));
                let columns = columns.await?;
                let kind = |name: &str| {
                    columns.column(name).map_or(FieldType::Any, |one| one.holds.kind())
                };
                let records = incoming::records(content, format, kind).await?;
                let rows = Tables::insert(&table, &Reference::default(), records, &context).await?;
                let count = Value::Int(i64::try_from(rows).unwrap_or(i64::MAX));
                return Ok(Outcome::changed().with_content(Content::value(count)));
            }
            let value = to_value(content).await?;
            table.0.admission.admit(&value, RecordUse::Create, &context)?;
            let session = table.0.core.session(&context);
            let client = context.from_client.as_ref();
            let Value::List(records) = value else {
                let inserting = async |info: &TableInfo| {
                    let names = value.as_record().unwrap_or_default().iter();
                    let given = names.filter(|(_, value)| !value.is_nil());
                    let given = given.map(|(name, _)| name.as_str());
                    let granted = client.map(|client| client.granted());
                    refuse_key(info.generated_key(), granted, given)?;
                    let inserted = insert(&session, info, &value).await;
                    inserted.map_err(|fault| fault.of_content(client.is_some()))
                };
                let inserted = table.there(&session, inserting).await?;
                let reference = inserted.key.map(Reference::from_path);
                let content = Some(table.classed(Content::value(inserted.row)));
                return Ok(Outcome { reference, content, ..Outcome::created() });
            };
            let inserting =
                async |info: &TableInfo| copy::insert_list(&session, info, &records).await;
            table.there(&session, inserting).await?;
            let count = Value::Int(records.len() as i64);
            Ok(Outcome::changed().with_content(Content::value(count)))
        })
    }

    pub(crate) fn put(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<bool> {
        let key = match row_key(reference, "put replaces one row; name it by its key") {
            Ok(key) => key,
            Err(error) => return error.into(),
        };
        let (table, on, context) = (self.clone(), reference.clone(), context.clone());
        Answer::later(async move {
            let value = to_value(content).await?;
            if value.is_nil() && context.from_client.is_none() {
                table.delete(&on, &context).await?;
                return Ok(false);
            }
            table.0.admission.admit(&value, RecordUse::Replace, &context)?;
            match context.only_if.clone() {
                None => {}
                Some(condition @ Condition::Absent) => {
                    let creating =
                        async |connection: &Connection, info: &TableInfo, key: &Parameter| {
                            change::create(connection, info, key, &value).await
                        };
                    let created = table.write(&key, &context, creating).await?;
                    return if created { Ok(true) } else { Err(condition.failed()) };
                }
                Some(condition) => {
                    let put = |table: &PostgresTable, on: &Reference, inside: &Context| {
                        table.put(on, Content::value(value), inside)
                    };
                    return conditional::write(table, on, context, condition, put).await;
                }
            }
            let writing = async |connection: &Connection, info: &TableInfo, key: &Parameter| {
                change::put(connection, info, key, &value).await
            };
            table.write(&key, &context, writing).await
        })
    }

    pub(crate) fn merge(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<()> {
        let key = match row_key(reference, "merge changes one row; name it by its key") {
            Ok(key) => key,
            Err(error) => return error.into(),
        };
        let (table, on, context) = (self.clone(), reference.clone(), context.clone());
        Answer::later(async move {
            let value = to_value(content).await?;
            table.0.admission.admit(&value, RecordUse::Change, &context)?;
            match context.only_if.clone() {
                None => {}
                Some(condition @ Condition::Absent) => {
                    conditional::check(&table, &on, &context, &condition).await?;
                    return Err(no_row());
                }
                Some(condition) => {
                    let merge = |table: &PostgresTable, on: &Reference, inside: &Context| {
                        table.merge(on, Content::value(value), inside)
                    };
                    return conditional::write(table, on, context, condition, merge).await;
                }
            }
            let writing = async |connection: &Connection, info: &TableInfo, key: &Parameter| {
                change::merge(connection, info, key, &value).await
            };
            match table.write(&key, &context, writing).await? {
                true => Ok(()),
                false => Err(no_row()),
            }
        })
    }

    async fn write(
        &self,
        key: &str,
        context: &Context,
        work: impl AsyncFn(&Connection, &TableInfo, &Parameter) -> Result<bool, Fault>,
    ) -> Result<bool, Error> {
        let session = self.0.core.session(context);
        let writing = async |info: &TableInfo| {
            let key = match key_of(info, key) {
                Some(key) => key,
                None if info.key.is_none() => return Err(info.no_key()),
                None => {
                    let name = &info.name;
                    let message = format!("'{key}' cannot be the key of a row of {name}");
                    return Err(Fault::invalid(message));
                }
            };
            let running = async |connection: &Connection| {
                let done = work(connection, info, &key).await;
                done.map_err(|fault| fault.of_content(context.from_client.is_some()))
            };
            session.run(Repeat::No, running).await
        };
        self.there(&session, writing).await
    }

    pub(crate) fn delete(&self, reference: &Reference, context: &Context) -> Answer<bool> {
        let refusal = "this would delete all rows at once; delete them by their keys, or run a \
                       DELETE statement on the database";
        match row_key(reference, refusal) {
            Ok(key) => {
                let (table, on, context) = (self.clone(), reference.clone(), context.clone());
                Answer::later(async move {
                    match context.only_if.clone() {
                        None => table.delete_row(key, context).await,
                        Some(condition @ Condition::Absent) => {
                            conditional::check(&table, &on, &context, &condition).await?;
                            Ok(false)
                        }
                        Some(condition) => {
                            let delete =
                                |table: &PostgresTable, on: &Reference, inside: &Context| {
                                    table.delete(on, inside)
                                };
                            conditional::write(table, on, context, condition, delete).await
                        }
                    }
                })
            }
            Err(error) => error.into(),
        }
    }

    /// Keeps others from the row of a key until the transaction of the caller ends.
    pub(crate) async fn lock(&self, key: &str, context: &Context) -> Result<(), Error> {
        let session = self.0.core.session(context);
        let locking = async |info: &TableInfo| {
            let Some(key) = key_of(info, key) else { return Ok(()) };
            let running =
                async |connection: &Connection| change::lock(connection, info, &key).await;
            session.run(Repeat::No, running).await
        };
        self.there(&session, locking).await
    }

    async fn delete_row(&self, key: String, context: Context) -> Result<bool, Error> {
        let session = self.0.core.session(&context);
        let deleting = async |info: &TableInfo| {
            if info.key.is_none() {
                return Err(info.no_key());
            }
            let Some(key) = key_of(info, &key) else { return Ok(false) };
            let running =
                async |connection: &Connection| change::delete(connection, info, &key).await;
            session.run(Repeat::No, running).await
        };
        self.there(&session, deleting).await
    }

    pub(crate) fn list(
        &self,
        reference: &Reference,
        context: &Context,
    ) -> Answer<Option<Vec<Entry>>> {
        if !reference.relative_path().is_empty() {
            return Answer::ok(None);
        }
        let (table, context) = (self.clone(), context.clone());
        Answer::later(async move {
            let session = table.0.core.session(&context);
            let listing = async |info: &TableInfo| match keys_sql(info) {
                Some(sql) => {
                    let reading = async |connection: &Connection| {
                        let limit = Parameter::int(LIST_LIMIT as i64 + 1);
                        let rows = connection.all(&sql, &[limit]).await?;
                        rows.iter().map(|row| field::<String>(row, 0)).collect()
                    };
                    session.run(Repeat::Yes, reading).await
                }
                None => Ok(Vec::new()),
            };
            let Some(names) = table.seen(&session, listing).await? else { return Ok(None) };
            if names.len() > LIST_LIMIT {
                let message =
                    format!("the table has more than {LIST_LIMIT} rows; query it instead");
                return Err(Error::new(Kind::TooLarge, message));
            }
            let entry = |name: String| Entry {
                name: encode_segment(&name).into_owned(),
                collection: false,
            };
            Ok(Some(names.into_iter().map(entry).collect()))
        })
    }

    pub(crate) fn insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64> {
        if !reference.relative_path().is_empty() {
            let message = "rows cannot be added to a row; insert them into the table itself";
            return Error::new(Kind::NotAllowed, message).into();
        }
        let records = match self.0.admission.admit_records(records, context) {
            Ok(records) => records,
            Err(error) => return error.into(),
        };
        let fields = records.fields();
        let (table, context, records) = (self.clone(), context.clone(), RefCell::new(records));
        Answer::later(async move {
            let session = table.0.core.session(&context);
            let granted = context.from_client.as_ref().map(|client| client.granted());
            if granted.is_some() {
                let keyless = async |info: &TableInfo| {
                    let names = fields.iter().map(String::as_str);
                    refuse_key(info.generated_key(), granted, names)
                };
                table.there(&session, keyless).await?;
            }
            let inserting = async |info: &TableInfo| copy::insert(&session, info, &records).await;
            table.there(&session, inserting).await
        })
    }

    /// The changes, with what stands before the keys in their references.
    pub(crate) fn watch(
        &self,
        reference: &Reference,
        prefix: String,
        context: &Context,
    ) -> Answer<Changes> {
        let (table, context) = (self.clone(), context.clone());
        let key = Some(reference.key().into_owned()).filter(|key| !key.is_empty());
        Answer::later(async move {
            let core = &table.0.core;
            // A watch outlasts the transaction in which it may be asked for.
            let session = core.session(&Context { transaction: None, ..context });
            let watching = async |info: &TableInfo| {
                let installing =
                    async |connection: &Connection| watch::install(connection, info).await;
                session.run(Repeat::No, installing).await?;
                let scope = Scope {
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

    pub(crate) fn verbs(&self, reference: &Reference) -> Verbs {
        let verbs = if reference.relative_path().is_empty() {
            [Verb::Get, Verb::Post, Verb::List, Verb::Query, Verb::Watch, Verb::Begin].as_slice()
        } else {
            &[Verb::Get, Verb::Put, Verb::Merge, Verb::Delete, Verb::Watch]
        };
        verbs.iter().fold(Verbs::NONE, |verbs, verb| verbs.with(*verb))
    }
}

/// Inserts a record, once more when it met a number that somebody else had taken.
async fn insert(
    session: &Session,
    info: &TableInfo,
    value: &Value,
) -> Result<change::Inserted, Fault> {
    let row = RowOf::of(info, value)?;
    let inserting = async |connection: &Connection| change::insert(connection, info, &row).await;
    match session.run(Repeat::No, inserting).await {
        Err(fault) if change::met_own_number(info, &row.columns, &fault) => {
            let moving = async |connection: &Connection| change::move_on(connection, info).await;
            session.run(Repeat::No, moving).await?;
            session.run(Repeat::No, inserting).await
        }
        done => done,
    }
}

fn no_row() -> Error {
    Error::new(Kind::NotFound, "there is no such row; put creates it")
}

fn row_key(reference: &Reference, refusal: &str) -> Result<String, Error> {
    match reference.relative_path() {
        "" => Err(Error::new(Kind::NotAllowed, refusal)),
        _ => Ok(reference.key().into_owned()),
    }
}

/// The statement that reads the keys as text, in bytewise order. Keys with a slash are not names
/// of children.
fn keys_sql(info: &TableInfo) -> Option<String> {
    let key = info.key().filter(|key| key.holds != Holds::Bytes)?;
    let name = format!("{}::text", quoted(&key.name));
    Some(format!(
        "SELECT {name} FROM {} WHERE strpos({name}, '/') = 0 ORDER BY {name} COLLATE \"C\" \
         LIMIT $1::int8",
        info.sql
    ))
}

#[deny(clippy::missing_trait_methods)]
impl Store for PostgresTable {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.get(reference, context).on(Verb::Get, reference)
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        self.put(reference, content, context).map(Outcome::put).on(Verb::Put, reference)
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        self.post(reference, content, context).on(Verb::Post, reference)
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let merged = self.merge(reference, content, context);
        merged.map(|()| Outcome::changed()).on(Verb::Merge, reference)
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        self.delete(reference, context).map(Outcome::deleted).on(Verb::Delete, reference)
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.list(reference, context).on(Verb::List, reference)
    }

    fn query(&self, reference: &Reference, query: &Query, context: &Context) -> Answer<Content> {
        self.query(reference, query, context).on(Verb::Query, reference)
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        self.watch(reference, String::new(), context).on(Verb::Watch, reference)
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        self.verbs(reference)
    }

    fn conditions(&self, reference: &Reference) -> Conditions {
        match reference.relative_path() {
            "" => Conditions::None,
            _ => Conditions::Tags,
        }
    }

    fn as_any(&self) -> Option<&dyn std::any::Any> {
        Some(self)
    }

    runnel_store::without!(keys, links, sources);

    fn describe(&self) -> String {
        format!("postgres table {}", self.0.name)
    }

    fn tables(&self) -> Option<&dyn Tables> {
        Some(self)
    }
}

impl Tables for PostgresTable {
    fn insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64> {
        self.insert(reference, records, context).on(Verb::Post, reference)
    }

    fn begin(&self, reference: &Reference, context: &Context) -> Answer<Rc<dyn Transaction>> {
        let (session, outer) = (self.0.core.session(context), context.transaction.clone());
        let begun = async move { transaction::begin(session, outer).await.map_err(Error::from) };
        Answer::later(begun).on(Verb::Begin, reference)
    }

    runnel_store::without!(run, migrate, define);
}
