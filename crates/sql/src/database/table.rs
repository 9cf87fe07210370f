//! One table as a store: the root is all rows, a key is one row.

use crate::database::backend::{InsertedRow, TableBackend};
use crate::database::constraint;
use crate::database::description::unknown_column;
use crate::rows::admission::Admission;
use crate::rows::record::to_value;
use crate::rows::{incoming, parameters, served};
use runnel_store::{
    Answer, Body, BulkChange, Changes, Conditions, Content, Context, Entry, Error, FieldType,
    Isolation, Kind, LARGEST_PAGE, Outcome, Query, QueryExpression, RecordUse, Records, Reference,
    Result, Shape, Store, TableFormat, Tables, Transaction, Value, Verb, Verbs, encode_segment,
};
use std::rc::Rc;

/// The most keys that listing a table answers.
pub const LIST_LIMIT: usize = 100_000;

/// The refusal of a merge into the table itself.
const CHANGES_ONE: &str = "merge changes one row; name it by its key";

/// A table of a database, as it is or as a class sees it.
///
/// - Reading the root answers all rows in the order of the primary key, lazily: JSON, CSV or a list
///   of records. A query in the reference chooses: `?done=0&sort=-id&limit=10&offset=20&fields=id`.
/// - Reading a key answers one record; `None` where the row does not exist, or where the text cannot
///   be a key of this table.
/// - Posting a record inserts a row, posting a list of them inserts all or none.
/// - Putting a record at a key replaces or inserts that row; columns that it does not name get
///   their defaults. Merging changes the named columns. Putting nil deletes.
/// - Merging a list of records into the root changes the row of the key of each, all or none. Only a
///   program may do that.
/// - The transaction that writes also checks the condition of a put, merge or delete.
/// - Deleting the root is not allowed: that would delete all rows at once.
pub struct SqlTable<T>(Rc<TableInner<T>>);

struct TableInner<T> {
    rows: T,
    name: String,
    shape: Option<Shape>,
    class: Option<Rc<str>>,
    admission: Admission,
}

impl<T> Clone for SqlTable<T> {
    fn clone(&self) -> Self {
        SqlTable(self.0.clone())
    }
}

impl<T: TableBackend> SqlTable<T> {
    pub(crate) fn new(rows: T, name: String, shape: Option<Shape>) -> Self {
        let class = shape.as_ref().map(|shape| Rc::from(shape.name.as_str()));
        let admission = Admission::new(shape.as_ref());
        SqlTable(Rc::new(TableInner { rows, name, shape, class, admission }))
    }

    /// Its name in the database.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The shape of the class that it was defined with.
    pub fn shape(&self) -> Option<&Shape> {
        self.0.shape.as_ref()
    }

    /// The answer of a write; an error names a broken rule in the words of the class.
    fn explained<R: 'static>(&self, written: Answer<R>) -> Answer<R> {
        match written {
            Answer::Ready(Ok(done)) => Answer::ok(done),
            failed => {
                let table = self.clone();
                failed.then(move |done| {
                    let explain = |error| constraint::explain(table.shape(), table.name(), error);
                    Answer::Ready(done.map_err(explain))
                })
            }
        }
    }

    fn classed(&self, content: Content) -> Content {
        Content { class: self.0.class.clone(), ..content }
    }

    pub(crate) fn read(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let query = reference.query().filter(|query| !query.is_empty());
        let found = match reference.relative_path() {
            "" if context.from_client.is_some() => self.page(query, context),
            "" => self.0.rows.rows(query, context),
            path => self.0.rows.row(path, context),
        };
        match found {
            Answer::Ready(found) => {
                Answer::Ready(found.map(|content| content.map(|content| self.classed(content))))
            }
            later => {
                let table = self.clone();
                later.map(move |content| content.map(|content| table.classed(content)))
            }
        }
    }

    /// The part of the rows that a client gets at once.
    fn page(&self, query: Option<&str>, context: &Context) -> Answer<Option<Content>> {
        let (table, context) = (self.clone(), context.clone());
        let Some(text) = query else {
            return match self.0.rows.fits(self.largest_page()) {
                true => self.0.rows.rows(None, &context),
                false => self.part(None, Query::default(), &context),
            };
        };
        let text = text.to_string();
        self.0.rows.columns(&context).and_then(move |columns| {
            let names = || columns.iter().map(|(column, _)| column.as_str());
            let find = |name: &str| {
                let alike = |one: &&str| one.eq_ignore_ascii_case(name);
                let found = names().position(|one| one == name);
                match found.or_else(|| names().position(|one| alike(&one))) {
                    Some(position) => Ok(columns[position].1),
                    None => Err(unknown_column(&table.0.name, name, names())),
                }
            };
            match parameters::parse(&text, find) {
                Ok(query) => table.part(Some(&text), query, &context),
                Err(fault) => Error::from(fault).into(),
            }
        })
    }

    /// The most rows that a client gets at once.
    fn largest_page(&self) -> u64 {
        self.0.shape.as_ref().map_or(LARGEST_PAGE, |shape| shape.served.largest_page)
    }

    /// The rows of a query that fit a page, with a link to those behind it. What fits is
    /// asked for without a limit, which is quicker.
    fn part(&self, text: Option<&str>, query: Query, context: &Context) -> Answer<Option<Content>> {
        let limits = self.0.shape.as_ref().map(|shape| shape.served.clone()).unwrap_or_default();
        let page = match served::page(text.unwrap_or_default(), query, &limits) {
            Ok(page) => page,
            Err(fault) => return Error::from(fault).into(),
        };
        let (table, whole, context) = (self.clone(), text.map(String::from), context.clone());
        self.0.rows.query(&page.behind, &context).then(move |behind| match behind.map(|n| n.body) {
            Ok(Body::Value(Value::Int(0))) => {
                if whole.is_none() {
                    table.0.rows.note_fit(table.largest_page());
                }
                table.0.rows.rows(whole.as_deref(), &context)
            }
            Ok(_) => {
                table.0.rows.rows(Some(&page.query), &context).map(move |rows| {
                    rows.map(|rows| Content { next: Some(page.next.into()), ..rows })
                })
            }
            // The table may be missing, which is no error.
            Err(error) if error.kind == Kind::NotFound => table.0.rows.rows(None, &context),
            Err(error) => error.into(),
        })
    }

    pub(crate) fn select(
        &self,
        reference: &Reference,
        query: &Query,
        context: &Context,
    ) -> Answer<Content> {
        let key = reference.relative_path();
        if query.lock {
            return self.locked(key, query, context);
        }
        if !key.is_empty() {
            return not_over_a_row();
        }
        let found = self.0.rows.query(query, context);
        if query.count {
            return found;
        }
        let table = self.clone();
        found.map(move |content| table.classed(content))
    }

    /// Rows that no other transaction changes before that of the caller ends: the row of a key, or those
    /// of a query.
    fn locked(&self, key: &str, query: &Query, context: &Context) -> Answer<Content> {
        if query.count || query.is_grouped() {
            let message = "`forUpdate` locks rows, not what is computed from them";
            return Error::new(Kind::NotAllowed, message).into();
        }
        let (table, query, context) = (self.clone(), query.clone(), context.clone());
        let key = (!key.is_empty()).then(|| key.to_string());
        Answer::later(async move {
            table.0.rows.lock(key.as_deref(), &context).await?;
            let found = match key {
                None => table.0.rows.query(&query, &context).await?,
                Some(key) => table
                    .0
                    .rows
                    .row(&key, &context)
                    .await?
                    .unwrap_or_else(|| Content::value(Value::Nil)),
            };
            Ok(table.classed(found))
        })
    }

    pub(crate) fn add(
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
            return Answer::later(async move { table.add_text(content, format, &context).await });
        }
        to_value(content).and_then(move |value| {
            match table.0.admission.admit(value, RecordUse::Create, &context) {
                Err(error) => error.into(),
                Ok(Value::List(records)) => {
                    let count = records.len() as u64;
                    let inserted = table.explained(table.0.rows.insert_list(records, &context));
                    inserted.map(move |()| inserted_many(count))
                }
                Ok(record) => table.insert_one(record, &context),
            }
        })
    }

    /// Inserts the records of a text: comma-separated values, or JSON line by line.
    async fn add_text(
        &self,
        content: Content,
        format: TableFormat,
        context: &Context,
    ) -> Result<Outcome> {
        let columns = self.0.rows.columns(context).await?;
        let kind = |name: &str| {
            let same = columns.iter().find(|(column, _)| column == name);
            let alike = || columns.iter().find(|(column, _)| column.eq_ignore_ascii_case(name));
            same.or_else(alike).map_or(FieldType::Any, |(_, kind)| *kind)
        };
        let records = incoming::records(content, format, kind).await?;
        Ok(inserted_many(self.insert_many(records, context).await?))
    }

    fn insert_one(&self, record: Value, context: &Context) -> Answer<Outcome> {
        let class = self.0.class.clone();
        let inserted = self.explained(self.0.rows.insert(record, context));
        inserted.map(move |InsertedRow { key, row }| Outcome {
            reference: key.map(Reference::from_path),
            content: Some(Content { class, ..Content::value(row) }),
            ..Outcome::created()
        })
    }

    fn insert_many(&self, records: Box<dyn Records>, context: &Context) -> Answer<u64> {
        match self.0.admission.admit_records(records, context) {
            Ok(records) => self.explained(self.0.rows.insert_records(records, context)),
            Err(error) => error.into(),
        }
    }

    pub(crate) fn replace(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<bool> {
        let key = match row_key(reference, "put replaces one row; name it by its key") {
            Ok(key) => key,
            Err(error) => return error.into(),
        };
        let (table, context) = (self.clone(), context.clone());
        to_value(content).and_then(move |value| {
            if value.is_nil() && context.from_client.is_none() {
                return table.0.rows.delete(key, &context).map(|_| false);
            }
            match table.0.admission.admit(value, RecordUse::Replace, &context) {
                Ok(value) => table.explained(table.0.rows.put(key, value, &context)),
                Err(error) => error.into(),
            }
        })
    }

    pub(crate) fn change(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<()> {
        if reference.relative_path().is_empty() && context.from_client.is_none() {
            return self.change_many(reference, content, context);
        }
        let key = match row_key(reference, CHANGES_ONE) {
            Ok(key) => key,
            Err(error) => return error.into(),
        };
        let (table, context) = (self.clone(), context.clone());
        let changed = to_value(content).and_then(move |value| {
            match table.0.admission.admit(value, RecordUse::Change, &context) {
                Ok(value) => table.explained(table.0.rows.merge(key, value, &context)),
                Err(error) => error.into(),
            }
        });
        changed.and_then(|exists| match exists {
            true => Answer::ok(()),
            false => Error::new(Kind::NotFound, "there is no such row; put creates it").into(),
        })
    }

    fn change_many(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<()> {
        if let Err(error) = context.unconditional(Verb::Merge, reference) {
            return error.into();
        }
        let (table, context) = (self.clone(), context.clone());
        to_value(content).and_then(move |value| {
            match table.0.admission.admit(value, RecordUse::Change, &context) {
                Err(error) => error.into(),
                Ok(Value::List(records)) => {
                    table.explained(table.0.rows.merge_list(records, &context))
                }
                Ok(_) => Error::new(Kind::NotAllowed, CHANGES_ONE).into(),
            }
        })
    }

    /// Changes or deletes what a query selects. Values that are given obey the class; what is computed, the
    /// constraints of the table. Only a program may do that.
    pub(crate) fn change_selected(
        &self,
        reference: &Reference,
        query: &Query,
        change: &BulkChange,
        context: &Context,
    ) -> Answer<Value> {
        if !reference.relative_path().is_empty() {
            return not_over_a_row();
        }
        if let Err(error) = context.unconditional(change.verb(), reference) {
            return error.into();
        }
        let admitted = match change {
            BulkChange::Delete => Ok(BulkChange::Delete),
            BulkChange::Set(fields) => self.admit_fields(fields, context).map(BulkChange::Set),
        };
        match admitted {
            Ok(change) => self.explained(self.0.rows.change_all(query, &change, context)),
            Err(error) => error.into(),
        }
    }

    /// The fields of a change with the values that the class makes of those that are given.
    fn admit_fields(
        &self,
        fields: &[(String, QueryExpression)],
        context: &Context,
    ) -> Result<Vec<(String, QueryExpression)>> {
        let given = fields.iter().filter_map(|(name, value)| match value {
            QueryExpression::Value(value) => Some((name.clone(), value.clone())),
            _ => None,
        });
        let record = Value::Record(given.collect());
        let admitted = self.0.admission.admit(record, RecordUse::Change, context)?;
        let admitted = |name: &str| admitted.get(name).cloned().map(QueryExpression::Value);
        let field = |(name, value): &(String, QueryExpression)| {
            (name.clone(), admitted(name).unwrap_or_else(|| value.clone()))
        };
        Ok(fields.iter().map(field).collect())
    }

    pub(crate) fn remove(&self, reference: &Reference, context: &Context) -> Answer<bool> {
        let refusal = "this would delete all rows at once; delete them by their keys, or run a \
                       DELETE statement on the database";
        match row_key(reference, refusal) {
            Ok(key) => self.0.rows.delete(key, context),
            Err(error) => error.into(),
        }
    }

    pub(crate) fn entries(
        &self,
        reference: &Reference,
        context: &Context,
    ) -> Answer<Option<Vec<Entry>>> {
        if !reference.relative_path().is_empty() {
            return Answer::ok(None);
        }
        self.0.rows.keys(context).and_then(|keys| match keys {
            None => Answer::ok(None),
            Some(keys) if keys.len() > LIST_LIMIT => {
                let message =
                    format!("the table has more than {LIST_LIMIT} rows; query it instead");
                Error::new(Kind::TooLarge, message).into()
            }
            Some(keys) => {
                let name = |key: String| encode_segment(&key).into_owned();
                let entry = |key: String| Entry { name: name(key), collection: false };
                Answer::ok(Some(keys.into_iter().map(entry).collect()))
            }
        })
    }

    pub(crate) fn changes(
        &self,
        reference: &Reference,
        named: bool,
        context: &Context,
    ) -> Answer<Changes> {
        self.0.rows.watch(reference, named, context)
    }
}

/// The outcome of posting many rows: their number.
fn inserted_many(rows: u64) -> Outcome {
    let count = Value::Int(i64::try_from(rows).unwrap_or(i64::MAX));
    Outcome::changed().with_content(Content::value(count))
}

/// The answer to a lock where no transaction would release it.
pub(crate) fn outside_of_transactions<R>() -> Answer<R> {
    let message = "`forUpdate` locks until the end of a transaction: ask within `transaction:`";
    Error::new(Kind::NotAllowed, message).into()
}

fn not_over_a_row<R>() -> Answer<R> {
    let message = "a query runs over the table, not over one of its rows";
    Error::new(Kind::NotAllowed, message).into()
}

fn row_key(reference: &Reference, refusal: &str) -> Result<String> {
    match reference.relative_path() {
        "" => Err(Error::new(Kind::NotAllowed, refusal)),
        path => Ok(path.to_string()),
    }
}

#[deny(clippy::missing_trait_methods)]
impl<T: TableBackend> Store for SqlTable<T> {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.read(reference, context).on(Verb::Get, reference)
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        self.replace(reference, content, context).map(Outcome::put).on(Verb::Put, reference)
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        self.add(reference, content, context).on(Verb::Post, reference)
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let merged = self.change(reference, content, context);
        merged.map(|()| Outcome::changed()).on(Verb::Merge, reference)
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        self.remove(reference, context).map(Outcome::deleted).on(Verb::Delete, reference)
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.entries(reference, context).on(Verb::List, reference)
    }

    fn query(&self, reference: &Reference, query: &Query, context: &Context) -> Answer<Content> {
        self.select(reference, query, context).on(Verb::Query, reference)
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        self.changes(reference, false, context).on(Verb::Watch, reference)
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        let verbs = match reference.relative_path() {
            "" => [Verb::Get, Verb::Post, Verb::List, Verb::Query, Verb::Watch, Verb::Begin]
                .as_slice(),
            _ => &[Verb::Get, Verb::Put, Verb::Merge, Verb::Delete, Verb::Watch, Verb::Begin],
        };
        verbs.iter().fold(Verbs::NONE, |verbs, verb| verbs.with(*verb))
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

    runnel_store::without!(appends, keys, attributes, relocate, queues, links, sources);

    fn describe(&self) -> String {
        format!("{} {}", T::LABEL, self.0.name)
    }

    fn tables(&self) -> Option<&dyn Tables> {
        Some(self)
    }
}

impl<T: TableBackend> Tables for SqlTable<T> {
    fn insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64> {
        if !reference.relative_path().is_empty() {
            let message = "rows cannot be added to a row; insert them into the table itself";
            return Answer::from(Error::new(Kind::NotAllowed, message)).on(Verb::Post, reference);
        }
        if let Err(error) = context.unconditional(Verb::Post, reference) {
            return error.into();
        }
        self.insert_many(records, context).on(Verb::Post, reference)
    }

    fn begin(
        &self,
        reference: &Reference,
        isolation: Option<Isolation>,
        context: &Context,
    ) -> Answer<Rc<dyn Transaction>> {
        self.0.rows.begin(isolation, context).on(Verb::Begin, reference)
    }

    fn change_all(
        &self,
        reference: &Reference,
        query: &Query,
        change: &BulkChange,
        context: &Context,
    ) -> Answer<Value> {
        self.change_selected(reference, query, change, context).on(change.verb(), reference)
    }

    fn explain(
        &self,
        reference: &Reference,
        query: &Query,
        plan: bool,
        context: &Context,
    ) -> Answer<Value> {
        if !reference.relative_path().is_empty() {
            return not_over_a_row().on(Verb::Query, reference);
        }
        self.0.rows.explain(query, plan, context).on(Verb::Query, reference)
    }

    runnel_store::without!(run, migrate, define, key_value_store, snapshot, back_up, vacuum);
}
