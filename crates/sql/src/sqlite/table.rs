//! One table as a store: the root is all rows, a key is one row.

use crate::admission::{Admission, refuse_key};
use crate::content::to_value;
use crate::incoming;
use crate::sqlite::connection::statement_counts;
use crate::sqlite::fault::Fault;
use crate::sqlite::read::answer_cache::Kept;
use crate::sqlite::read::keys::{entries, key_text, keys_sql, target_key};
use crate::sqlite::read::plan::Plan;
use crate::sqlite::read::reader::{Reader, Site, Stamp};
use crate::sqlite::read::row::row_content;
use crate::sqlite::read::rows::Rows;
use crate::sqlite::read::select::Select;
use crate::sqlite::schema::catalog::Key;
use crate::sqlite::schema::define::seen_by;
use crate::sqlite::write::change::{Batch, Row, Target, key_cell, no_key};
use crate::sqlite::write::condition;
use crate::sqlite::write::insert;
use crate::sqlite::write::transaction;
use runnel_store::{
    Answer, Changes, Conditions, Content, Context, Entry, Error, FieldType, Kind, Outcome, Query,
    RecordUse, Records, Reference, Shape, Store, TableFormat, Tables, Transaction, Value, Verb,
    Verbs,
};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

/// The most keys that listing a table answers.
pub const LIST_LIMIT: usize = 100_000;

/// A table of a database, seen as it is or as a class sees it.
///
/// - Reading the root answers all rows in the order of the primary key, lazily: JSON, CSV or a list
///   of records. A query in the reference chooses: `?done=0&sort=-id&limit=10&offset=20&fields=id`.
/// - Reading a key answers one record; `None` where there is no such row, or where the text cannot
///   be a key of this table. Tables without a primary key of one column go by SQLite's row numbers.
/// - Posting a record inserts a row, posting a list of them inserts all or none.
/// - Putting a record at a key replaces or inserts that row; columns that it does not name get
///   their defaults. Merging changes the named columns. Putting nil deletes.
/// - The conditions of puts, merges and deletes are looked at in the transaction that writes.
/// - Deleting the root is not allowed: that would be all rows at once.
///
/// Booleans are stored as 0 and 1 and shown as `false` and `true` where the class or the column
/// says `Bool`. Numbers keep their 64 bits; a value that the column would change is refused.
#[derive(Clone)]
pub struct Table(pub(crate) Rc<Inner>);

pub(crate) struct Inner {
    pub(crate) reader: Rc<Reader>,
    pub(crate) name: String,
    pub(crate) shape: Option<Shape>,
    class: Option<Rc<str>>,
    admission: Admission,
    plan: RefCell<Option<(i64, Rc<Plan>)>>,
}

impl Table {
    pub(crate) fn new(reader: Rc<Reader>, name: String, shape: Option<Shape>) -> Self {
        let class = shape.as_ref().map(|shape| Rc::from(shape.name.as_str()));
        let admission = Admission::new(shape.as_ref());
        Table(Rc::new(Inner { reader, name, shape, class, admission, plan: RefCell::default() }))
    }

    /// Its name in the database.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The shape of the class that it was defined with.
    pub fn shape(&self) -> Option<&Shape> {
        self.0.shape.as_ref()
    }

    /// The plan for writing; a table that is not there is an error.
    fn plan(&self, context: &Context) -> Answer<Rc<Plan>> {
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

    pub(crate) fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        if let Some(held) = transaction::of(&self.0.reader.shared, context) {
            return self.get_within(&held, reference, context);
        }
        match self.0.get(reference, context) {
            Err(fault) if fault.is_busy() => {}
            done => return Answer::Ready(done.map_err(Into::into)),
        }
        let (inner, reference, later) = (self.0.clone(), reference.clone(), context.clone());
        let again = move |_: &Reader| inner.get(&reference, &later);
        self.0.reader.patiently(context.deadline, again)
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
        if let Some(held) = transaction::of(&self.0.reader.shared, context) {
            return self.query_within(&held, query, context);
        }
        if *query == Query::default() && reference.query().is_none() {
            let inner = self.0.clone();
            let found = self.get(reference, context);
            return found.and_then(move |rows| match rows {
                Some(rows) => Answer::ok(rows),
                None => Error::from(inner.missing()).into(),
            });
        }
        let (inner, query, later) = (self.0.clone(), query.clone(), context.clone());
        let (reader, deadline) = (self.0.reader.clone(), context.deadline);
        let found = reader.patiently(deadline, move |reader| {
            reader.snapshot(|_, stamp| {
                let plan = inner.plan(stamp)?.ok_or_else(|| inner.missing())?;
                let select = plan.translated(&query)?;
                if !query.count {
                    let content = Rows::content(&inner.reader, stamp, select, &later);
                    return Ok(Found::Content(inner.classed(content)));
                }
                Ok(match reader.kept(stamp, &select) {
                    Some(Kept::Count(count)) => Found::Content(Content::value(Value::Int(count))),
                    _ => Found::Count(select),
                })
            })
        });
        found.and_then(move |found| match found {
            Found::Content(content) => Answer::ok(content),
            Found::Count(select) => {
                reader.count(&select, deadline).map(|count| Content::value(Value::Int(count)))
            }
        })
    }

    pub(crate) fn post(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        if !reference.relative_path().is_empty() {
            let message = "a row cannot be added to a row; post to the table itself";
            return Error::new(Kind::NotAllowed, message).into();
        }
        if let Err(error) = context.unconditional(Verb::Post, reference) {
            return error.into();
        }
        let (table, context) = (self.clone(), context.clone());
        if let Some(format) = TableFormat::of(&content).filter(|_| context.from_client.is_none()) {
            let plan = self.plan(&context);
            return Answer::later(async move {
                let plan = plan.await?;
                let columns = &plan.target.info;
                let kind = |name: &str| match columns.position(name) {
                    Some(position) => columns.columns[position].kind,
                    None => FieldType::Any,
                };
                let records = incoming::records(content, format, kind).await?;
                posted(table.insert_records(records, &context).await?)
            });
        }
        to_value(content).and_then(move |value| {
            match (table.0.admission.admit(&value, RecordUse::Create, &context), value) {
                (Err(error), _) => error.into(),
                (Ok(()), Value::List(values)) => table.insert_all(values, &context),
                (Ok(()), value) => table.insert(value, &context),
            }
        })
    }

    /// Changes rows: what is wanted is checked first, on the worker where that is possible, and
    /// then done by the writer, with others or in the transaction that the caller is in.
    fn change<P: Send + 'static, T: Send + 'static>(
        &self,
        context: &Context,
        check: impl FnOnce(&Target) -> Result<P, Fault> + Send + 'static,
        work: impl Fn(&Target, &rusqlite::Connection, &P) -> Result<T, Fault> + Send + 'static,
    ) -> Answer<T> {
        let deadline = context.deadline;
        if let Some(held) = transaction::of(&self.0.reader.shared, context) {
            let mut check = Some(check);
            return self.within(&held, deadline, move |connection, target| {
                let check = check.take().ok_or_else(Fault::stopped)?;
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

    fn insert(&self, value: Value, context: &Context) -> Answer<Outcome> {
        let class = self.0.class.clone();
        let client = context.from_client.as_ref();
        let granted = client.map(|client| client.granted().to_vec());
        let check = move |target: &Target| {
            let names = value.as_record().unwrap_or_default().iter();
            let given = names.filter(|(_, value)| !value.is_nil()).map(|(name, _)| name.as_str());
            refuse_key(target.info.generated_key(), granted.as_deref(), given)?;
            Row::of(&target.info, value).map_err(|fault| fault.of_content(granted.is_some()))
        };
        self.change(context, check, Target::insert).map(|inserted| Outcome {
            reference: inserted.key.as_ref().and_then(key_text).map(Reference::from_path),
            content: Some(Content { class, ..Content::value(inserted.row) }),
            ..Outcome::created()
        })
    }

    fn insert_all(&self, values: Vec<Value>, context: &Context) -> Answer<Outcome> {
        let count = values.len() as i64;
        let check = move |target: &Target| Batch::of(&target.info, values);
        self.change(context, check, Target::insert_all)
            .map(move |()| Outcome::changed().with_content(Content::value(Value::Int(count))))
    }

    /// Inserts many rows as they come: see [`insert`].
    fn insert_records(&self, records: Box<dyn Records>, context: &Context) -> Answer<u64> {
        let (shared, deadline) = (self.0.reader.shared.clone(), context.deadline);
        let held = transaction::of(&shared, context);
        let target = match &held {
            Some(held) => self.within(held, deadline, |_, target| Ok(target.clone())),
            None => self.plan(context).map(|plan| plan.target.clone()),
        };
        let granted = context.from_client.as_ref().map(|client| client.granted().to_vec());
        let records = match self.0.admission.admit_records(records, context) {
            Ok(records) => records,
            Err(error) => return error.into(),
        };
        Answer::later(async move {
            let target = target.await?;
            let fields = records.fields();
            let names = fields.iter().map(String::as_str);
            refuse_key(target.info.generated_key(), granted.as_deref(), names)?;
            insert::insert(shared, held, target, records, deadline).await
        })
    }

    pub(crate) fn put(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<bool> {
        let key = match self.row_key(reference, "put replaces one row; name it by its key") {
            Ok(key) => key,
            Err(error) => return error.into(),
        };
        let (table, context) = (self.clone(), context.clone());
        to_value(content).and_then(move |value| {
            if value.is_nil() && context.from_client.is_none() {
                return table.delete_row(key, &context).map(|_| false);
            }
            if let Err(error) = table.0.admission.admit(&value, RecordUse::Replace, &context) {
                return error.into();
            }
            table.write_row(key, value, &context, Target::put)
        })
    }

    pub(crate) fn merge(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<()> {
        let key = match self.row_key(reference, "merge changes one row; name it by its key") {
            Ok(key) => key,
            Err(error) => return error.into(),
        };
        let (table, context) = (self.clone(), context.clone());
        to_value(content)
            .and_then(move |value| {
                match table.0.admission.admit(&value, RecordUse::Change, &context) {
                    Ok(()) => table.write_row(key, value, &context, Target::merge),
                    Err(error) => error.into(),
                }
            })
            .and_then(|found| match found {
                true => Answer::ok(()),
                false => Error::new(Kind::NotFound, "there is no such row; put creates it").into(),
            })
    }

    fn write_row(
        &self,
        key: String,
        value: Value,
        context: &Context,
        write: fn(
            &Target,
            &rusqlite::Connection,
            &crate::sqlite::connection::cell::Cell,
            &Row,
        ) -> Result<bool, Fault>,
    ) -> Answer<bool> {
        let client = context.from_client.is_some();
        let check = move |target: &Target| {
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

    pub(crate) fn delete(&self, reference: &Reference, context: &Context) -> Answer<bool> {
        let refusal = "this would delete all rows at once; delete them by their keys, or run a \
                       DELETE statement on the database";
        match self.row_key(reference, refusal) {
            Ok(key) => self.delete_row(key, context),
            Err(error) => error.into(),
        }
    }

    fn delete_row(&self, key: String, context: &Context) -> Answer<bool> {
        let check = move |target: &Target| match target.info.key {
            Key::None => Err(no_key(&target.info)),
            _ => Ok(key_cell(&target.info, &key)),
        };
        let only_if = context.only_if.clone();
        self.change(context, check, move |target, connection, key| {
            condition::check(only_if.as_ref(), target, connection, key.as_ref())?;
            key.as_ref().map_or(Ok(false), |key| target.delete(connection, key))
        })
    }

    pub(crate) fn list(
        &self,
        reference: &Reference,
        context: &Context,
    ) -> Answer<Option<Vec<Entry>>> {
        if !reference.relative_path().is_empty() {
            return Answer::ok(None);
        }
        if let Some(held) = transaction::of(&self.0.reader.shared, context) {
            return self.list_within(&held, context);
        }
        let (inner, deadline) = (self.0.clone(), context.deadline);
        let reader = self.0.reader.clone();
        let keys = reader.patiently(deadline, move |reader| {
            let plan = reader.snapshot(|_, stamp| inner.plan(stamp))?;
            Ok(plan.map(|plan| keys_sql(&plan.target.info)))
        });
        keys.and_then(move |sql| match sql {
            None => Answer::ok(None),
            Some(None) => Answer::ok(Some(Vec::new())),
            Some(Some(sql)) => {
                let work = move |connection: &rusqlite::Connection, _: Site<'_>| {
                    let mut statement = connection.prepare_cached(&sql)?;
                    let names = statement.query_map([LIST_LIMIT as i64 + 1], |row| row.get(0))?;
                    Ok(names.collect::<rusqlite::Result<Vec<String>>>()?)
                };
                reader.read(deadline, work, |_, _, _| {}).and_then(entries)
            }
        })
    }

    fn row_key(&self, reference: &Reference, refusal: &str) -> Result<String, Error> {
        match reference.relative_path() {
            "" => Err(Error::new(Kind::NotAllowed, refusal)),
            _ => Ok(reference.key().into_owned()),
        }
    }

    pub(crate) fn verbs(&self, reference: &Reference) -> Verbs {
        let verbs = if reference.relative_path().is_empty() {
            [Verb::Get, Verb::Post, Verb::List, Verb::Query, Verb::Watch, Verb::Begin].as_slice()
        } else {
            &[Verb::Get, Verb::Put, Verb::Merge, Verb::Delete, Verb::Watch, Verb::Begin]
        };
        verbs.iter().fold(Verbs::NONE, |verbs, verb| verbs.with(*verb))
    }
}

/// The answer of a post of many rows: how many.
fn posted(rows: u64) -> Result<Outcome, Error> {
    let count = Value::Int(i64::try_from(rows).unwrap_or(i64::MAX));
    Ok(Outcome::changed().with_content(Content::value(count)))
}

/// What a query comes to before anything long has run.
enum Found {
    Content(Content),
    Count(Arc<Select>),
}

impl Inner {
    fn get(
        self: &Rc<Self>,
        reference: &Reference,
        context: &Context,
    ) -> Result<Option<Content>, Fault> {
        if let Some(content) = self.all(reference, context) {
            return Ok(Some(content));
        }
        self.reader.snapshot(|connection, stamp| {
            let Some(plan) = self.plan(stamp)? else { return Ok(None) };
            let key = &*reference.key();
            if !key.is_empty() {
                let (Some(sql), Some(key)) = (&plan.target.one, key_cell(&plan.target.info, key))
                else {
                    return Ok(None);
                };
                let content = row_content(connection, sql, &key, &plan.target.columns, context)?;
                statement_counts::statement(u64::from(content.is_some()));
                statement_counts::tell(&self.reader.shared.counters);
                return Ok(content.map(|content| self.classed(content)));
            }
            let select = match reference.query() {
                None | Some("") => plan.all.clone(),
                Some(text) => plan.select(text)?,
            };
            Ok(Some(self.classed(Rows::content(&self.reader, stamp, select, context))))
        })
    }

    /// All rows, while nothing was written since the table was last looked at: no statement runs
    /// before they are wanted.
    fn all(&self, reference: &Reference, context: &Context) -> Option<Content> {
        let whole = reference.relative_path().is_empty() && reference.query().is_none();
        let stamp = self.reader.unchanged().filter(|_| whole)?;
        let plan = self.plan.borrow();
        let (_, plan) = plan.as_ref().filter(|(schema, _)| *schema == stamp.schema)?;
        let content = Rows::content(&self.reader, stamp, plan.all.clone(), context);
        Some(self.classed(content))
    }

    /// The plan at a version of the schema; `None` when there is no such table.
    fn plan(&self, stamp: Stamp) -> Result<Option<Rc<Plan>>, Fault> {
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
        let plan = Rc::new(Plan::new(info)?);
        *self.plan.borrow_mut() = Some((stamp.schema, plan.clone()));
        Ok(Some(plan))
    }

    /// What is known of the table, and at which version of the schema.
    pub(crate) fn known(&self) -> Option<(i64, Arc<Target>)> {
        self.plan.borrow().as_ref().map(|(schema, plan)| (*schema, plan.target.clone()))
    }

    pub(crate) fn missing(&self) -> Fault {
        let message = format!("there is no table {}; define it with a class", self.name);
        Fault::new(Kind::NotFound, message)
    }

    pub(crate) fn classed(&self, content: Content) -> Content {
        Content { class: self.class.clone(), ..content }
    }
}

#[deny(clippy::missing_trait_methods)]
impl Store for Table {
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
        self.changes(reference, context).on(Verb::Watch, reference)
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
        format!("table {}", self.0.name)
    }

    fn tables(&self) -> Option<&dyn Tables> {
        Some(self)
    }
}

impl Tables for Table {
    fn insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64> {
        if !reference.relative_path().is_empty() {
            return Error::not_allowed(Verb::Post, reference).into();
        }
        if let Err(error) = context.unconditional(Verb::Post, reference) {
            return error.into();
        }
        self.insert_records(records, context).on(Verb::Post, reference)
    }

    fn begin(&self, reference: &Reference, context: &Context) -> Answer<Rc<dyn Transaction>> {
        transaction::begin(&self.0.reader.shared, context).on(Verb::Begin, reference)
    }

    runnel_store::without!(run, migrate, define);
}
