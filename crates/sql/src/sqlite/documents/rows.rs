//! Documents below [`SqlTable`].

use crate::database::backend::{InsertedRow, TableBackend};
use crate::database::description::TableDescription;
use crate::database::table::{LIST_LIMIT, SqlTable};
use crate::rows::admission::refuse_key;
use crate::rows::parameters;
use crate::sqlite::documents::folder::{AT_ONCE, DOCUMENT_ROWS, DocumentFolder, FoundDocument};
use crate::sqlite::documents::row_engine::{FoundRow, RowEngine};
use crate::sqlite::documents::row_store::RowStore;
use crate::sqlite::documents::unique::UniqueFields;
use crate::sqlite::fault::SqlResult;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::join_all;
use runnel_store::{
    Answer, Body, BulkChange, Change, ChangeKind, Changes, Condition, Content, Context, DATA_POOL,
    Error, FieldType, Form, Isolation, Kind, Lazy, Query, Records, Reference, Result, Shape,
    Transaction, Value,
};
use std::any::Any;
use std::cell::Cell;
use std::rc::Rc;

/// A table of documents in a store; see [`SqlTable`].
pub type DocumentTable = SqlTable<DocumentRows>;

/// How often a change is tried when others change the same row, or take the same number.
const ATTEMPTS: usize = 100;
/// Numbers that were taken by others after which the keys are listed again.
const TAKEN: usize = 8;
/// Documents up to which a query runs on the worker itself.
const QUERIED_AT_ONCE: usize = 512;

/// What a store of documents does below [`DocumentTable`].
#[derive(Clone)]
pub struct DocumentRows(Rc<DocumentState>);

struct DocumentState {
    store: RowStore,
    name: String,
    shape: Shape,
    /// The number that this worker gives to the next row.
    next: Cell<Option<i64>>,
}

/// The rows of a query, which become objects of the class only where a program wants them.
struct FoundRows(Value);

impl Lazy for FoundRows {
    fn encode(&self, form: Form) -> Answer<Bytes> {
        Content::value(self.0.clone()).encode(form)
    }

    fn value(&self) -> Answer<Value> {
        Answer::ok(self.0.clone())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// How a row changes.
enum RowChange {
    Put(Value),
    Merge(Value),
}

impl DocumentRows {
    pub(super) fn new(folder: DocumentFolder, name: String, shape: &Shape) -> SqlResult<Self> {
        let engine = RowEngine::new(&name, shape)?;
        let unique = UniqueFields::new(folder.clone(), shape);
        let store = RowStore::new(folder, engine, unique);
        let (shape, next) = (shape.clone(), Cell::new(None));
        Ok(DocumentRows(Rc::new(DocumentState { store, name, shape, next })))
    }

    /// Does something that waits for the store.
    fn later<T: 'static, F: Future<Output = Result<T>> + 'static>(
        &self,
        work: impl FnOnce(Rc<DocumentState>) -> F,
    ) -> Answer<T> {
        Answer::later(work(self.0.clone()))
    }
}

impl DocumentState {
    /// The path of a key that is written to; an error where no row can have it.
    fn target(&self, path: &str) -> Result<String> {
        Ok(self
            .store
            .engine
            .key_path(path)
            .ok_or_else(|| self.store.engine.info().not_a_key(path))?)
    }

    async fn all_keys(&self, most: usize, context: &Context) -> Result<Vec<String>> {
        self.store.folder.keys(self.store.engine.key_length(), most, context).await
    }

    /// The rows of a query, or their number.
    async fn select(&self, query: &Query, context: &Context) -> Result<Value> {
        let is_cut = query.limit.is_some() || query.offset > 0;
        let is_plain = query.filter.is_none() && query.sort.is_empty() && !query.is_grouped();
        let counts_keys = query.count && is_plain && !is_cut;
        // Keys alone say which rows a page without a filter has.
        let pages = is_plain && !query.count && self.store.engine.key_length() == 1;
        let most = if counts_keys || pages { LIST_LIMIT } else { DOCUMENT_ROWS };
        let mut keys = self.all_keys(most, context).await?;
        if keys.len() > most {
            return Err(too_many(&self.name, most));
        }
        if counts_keys {
            return Ok(Value::Int(i64::try_from(keys.len()).unwrap_or(i64::MAX)));
        }
        let mut query = query.clone();
        if pages {
            if self.store.engine.is_numbered() {
                keys.sort_by_key(|key| key.parse::<i64>().unwrap_or(i64::MAX));
            }
            let skipped = usize::try_from(query.offset).unwrap_or(usize::MAX).min(keys.len());
            keys.drain(..skipped);
            let limit = query.limit.and_then(|limit| usize::try_from(limit).ok());
            keys.truncate(limit.unwrap_or(usize::MAX));
            (query.offset, query.limit) = (0, None);
            if keys.len() > DOCUMENT_ROWS {
                return Err(too_many(&self.name, DOCUMENT_ROWS));
            }
        }
        let found = self.store.folder.read_all(keys, context).await?;
        self.evaluate(found, query).await
    }

    async fn evaluate(&self, found: Vec<FoundRow>, query: Query) -> Result<Value> {
        let folder = self.store.folder.place().clone();
        let named = move |row: &FoundRow| format!("{}.json", folder.join(&row.key));
        if found.len() <= QUERIED_AT_ONCE {
            return Ok(self.store.engine.query(&found, &query, named)?);
        }
        let (name, shape) = (self.name.clone(), self.shape.clone());
        let names: Vec<String> = found.iter().map(&named).collect();
        DATA_POOL
            .attempt(move || {
                let engine = RowEngine::new(&name, &shape)?;
                let places = found.iter().map(|row| row.key.as_str()).zip(names);
                let places: std::collections::HashMap<&str, String> = places.collect();
                let named =
                    |row: &FoundRow| places.get(row.key.as_str()).cloned().unwrap_or_default();
                Ok(engine.query(&found, &query, named)?)
            })
            .await
    }

    /// Writes a new row. Answers its key.
    async fn create(
        &self,
        row: &mut Value,
        is_numbered: bool,
        context: &Context,
    ) -> Result<String> {
        let column = self.store.engine.info().generated_key().unwrap_or_default().to_string();
        for attempt in 0..ATTEMPTS {
            if is_numbered {
                let number = self.number(attempt > 0 && attempt % TAKEN == 0, context).await?;
                row.set(column.as_str(), Value::Int(number));
            }
            let key = self.store.engine.row_path(row)?;
            let new = (&*row, &*row);
            let written = self.store.write(&key, None, new, Condition::Absent, context).await;
            if written.is_err() && is_numbered {
                self.give_back(row.get(&column));
            }
            if written? {
                return Ok(key);
            }
            if !is_numbered {
                return Err(self.same_key());
            }
        }
        Err(crowded())
    }

    /// The number of a new row; after `again` from the keys that there are now.
    async fn number(&self, again: bool, context: &Context) -> Result<i64> {
        let known = self.next.get().filter(|_| !again);
        let next = match known {
            Some(next) => next,
            None => {
                let keys = self.all_keys(LIST_LIMIT, context).await?;
                if keys.len() > LIST_LIMIT {
                    return Err(too_many(&self.name, LIST_LIMIT));
                }
                let numbers = keys.iter().filter_map(|key| key.parse::<i64>().ok());
                let largest = numbers.max().unwrap_or(0).max(0);
                // Others of this worker may have got numbers while the keys were listed.
                largest.saturating_add(1).max(self.next.get().unwrap_or(1))
            }
        };
        let after = next.checked_add(1);
        self.next.set(Some(after.ok_or_else(|| Error::new(Kind::Conflict, "no number is left"))?));
        Ok(next)
    }

    /// The number of a row that was refused is that of the next one.
    fn give_back(&self, number: Option<&Value>) {
        let number = number.and_then(Value::as_i64);
        if number.is_some() && self.next.get() == number.and_then(|number| number.checked_add(1)) {
            self.next.set(number);
        }
    }

    /// A change of the store as one of the row at the reference, or of those below it.
    fn change_of(&self, change: Change, root: &Reference) -> Option<Change> {
        if change.kind == ChangeKind::Lost {
            return Some(Change::lost(root.clone()));
        }
        let mut key = self.store.folder.key_of(&change.reference)?;
        if self.store.engine.key_length() == 1 {
            key = runnel_store::decode_segment(&key).into_owned();
        }
        let rest = key.strip_prefix(root.relative_path())?;
        let is_below = root.relative_path().is_empty() || rest.is_empty() || rest.starts_with('/');
        is_below.then(|| Change { content: None, reference: root.with_path(key), ..change })
    }

    fn same_key(&self) -> Error {
        let keys = self.shape.keys.join(" and ");
        let message = format!("another row has the same {keys}");
        let error = Error::new(Kind::Conflict, message.clone());
        let pointer = |key: &String| runnel_store::pointer_of(key);
        self.shape.keys.iter().fold(error, |error, key| error.with_field(pointer(key), &message))
    }

    /// A record as a new row, and whether it gets its number from the table.
    fn new_row(&self, record: Value, context: &Context) -> Result<(Value, bool)> {
        let client = context.from_client.as_ref();
        let granted = client.map(|client| client.granted().to_vec());
        let names = record.as_record().unwrap_or_default().iter();
        let given = names.filter(|(_, value)| !value.is_nil()).map(|(name, _)| name.as_str());
        let generated = self.store.engine.info().generated_key();
        let has_key = |name: &&str| generated.is_some_and(|key| name.eq_ignore_ascii_case(key));
        let is_numbered =
            self.store.engine.is_numbered() && !given.clone().any(|name| has_key(&name));
        refuse_key(generated, granted.as_deref(), given)?;
        let row = self.store.engine.insert(record);
        Ok((row.map_err(|fault| fault.of_content(client.is_some()))?, is_numbered))
    }

    /// Writes new rows; when one fails, those before it are deleted again.
    async fn create_all(
        &self,
        rows: Vec<(Value, bool)>,
        written: &mut Vec<String>,
        context: &Context,
    ) -> Result<()> {
        let mut rows = rows.into_iter();
        loop {
            let part = rows.by_ref().take(AT_ONCE).map(|(mut row, is_numbered)| async move {
                self.create(&mut row, is_numbered, context).await
            });
            let done = join_all(part.collect::<Vec<_>>()).await;
            if done.is_empty() {
                return Ok(());
            }
            let mut failure = None;
            for one in done {
                match one {
                    Ok(key) => written.push(key),
                    Err(error) => failure = failure.or(Some(error)),
                }
            }
            if let Some(error) = failure {
                return Err(error);
            }
        }
    }

    /// Deletes what an insertion that failed has written.
    async fn undo(&self, written: Vec<String>, context: &Context) {
        let context = Context { only_if: None, ..context.clone() };
        for key in written {
            if let Err(error) = self.store.delete(&key, &context).await {
                let row = self.store.folder.document(&key);
                tracing::warn!(%row, %error, "a row of an insertion that failed is left");
            }
        }
    }

    /// Changes the row of a key: reads it, and writes it if it is still the same. Answers whether it was
    /// there, or `None` for a merge into nothing.
    async fn change(
        &self,
        key: &str,
        change: RowChange,
        context: &Context,
    ) -> Result<Option<bool>> {
        let client = context.from_client.is_some();
        let (RowChange::Put(new) | RowChange::Merge(new)) = &change;
        self.store.engine.check(key, new).map_err(|fault| fault.of_content(client))?;
        for _ in 0..ATTEMPTS {
            let found = self.store.folder.read(key, context).await?;
            if let Some(condition) = &context.only_if {
                condition.check(found.as_ref().map(|found| found.tag.as_ref()))?;
            }
            let before = found.as_ref().map(|found| &found.row);
            let row = match (&change, before) {
                (RowChange::Merge(_), None) => return Ok(None),
                (RowChange::Merge(record), Some(before)) => {
                    self.store.engine.merge(before, record.clone())
                }
                (RowChange::Put(record), before) => {
                    self.store.engine.put(key, before, record.clone())
                }
            };
            let row = row.map_err(|fault| fault.of_content(client))?;
            let document = match (&change, before) {
                (RowChange::Merge(_), Some(before)) => merged(&before.fields, row.clone()),
                _ => row.clone(),
            };
            let existed = found.is_some();
            let only_if = match &found {
                None => Condition::Absent,
                Some(FoundDocument { tag: Some(tag), .. }) => Condition::Tag(tag.clone()),
                Some(_) => {
                    let message =
                        "the store has no entity tag for this row, so that a change could be lost";
                    return Err(Error::new(Kind::NotAllowed, message));
                }
            };
            let new = (&row, &document);
            if self.store.write(key, before, new, only_if, context).await? {
                return Ok(Some(existed));
            }
        }
        Err(crowded())
    }
}

/// A document with the fields of its row; what the class does not know stays.
fn merged(before: &Value, row: Value) -> Value {
    let mut document = before.clone();
    if let Value::Record(fields) = row {
        for (name, value) in fields {
            document.set(name, value);
        }
    }
    document
}

fn crowded() -> Error {
    let message = format!("others changed the table {ATTEMPTS} times in a row meanwhile");
    Error::new(Kind::Conflict, message).with_temporary(true)
}

fn too_many(name: &str, most: usize) -> Error {
    let message = format!(
        "{name} has more than {most} rows, which this would read; keep the table in SQLite or PostgreSQL"
    );
    Error::new(Kind::TooLarge, message)
}

impl TableBackend for DocumentRows {
    const LABEL: &'static str = "documents";

    fn rows(&self, query: Option<&str>, context: &Context) -> Answer<Option<Content>> {
        let kind = |name: &str| Ok(self.0.store.engine.info().column(name)?.kind);
        match parameters::parse(query.unwrap_or_default(), kind) {
            Ok(query) => self.query(&query, context).map(Some),
            Err(fault) => Error::from(fault).into(),
        }
    }

    fn row(&self, key: &str, context: &Context) -> Answer<Option<Content>> {
        let Some(key) = self.0.store.engine.key_path(key) else { return Answer::ok(None) };
        let context = context.clone();
        self.later(|table| async move {
            let Some(found) = table.store.folder.read(&key, &context).await? else {
                return Ok(None);
            };
            let body = match context.known.is_some() && context.known == found.tag {
                true => Body::Empty,
                false => Body::Value(table.store.row(&found.row)?),
            };
            Ok(Some(Content { body, entity_tag: found.tag, ..Content::default() }))
        })
    }

    fn lock(&self, _: Option<&str>, _: &Context) -> Answer<()> {
        let message = "rows that are documents are in no transaction, so that none locks them";
        Error::new(Kind::NotAllowed, message).into()
    }

    fn query(&self, query: &Query, context: &Context) -> Answer<Content> {
        let (query, context) = (query.clone(), context.clone());
        self.later(|table| async move {
            let found = table.select(&query, &context).await?;
            Ok(match found {
                Value::List(_) => Content::lazy(Rc::new(FoundRows(found))),
                count => Content::value(count),
            })
        })
    }

    fn keys(&self, context: &Context) -> Answer<Option<Vec<String>>> {
        if self.0.store.engine.key_length() > 1 {
            return Error::from(self.0.store.engine.info().no_list()).into();
        }
        let context = context.clone();
        self.later(|table| async move {
            let keys = table.all_keys(LIST_LIMIT, &context).await?;
            let text = |key: String| runnel_store::decode_segment(&key).into_owned();
            Ok(Some(keys.into_iter().map(text).filter(|key| !key.contains('/')).collect()))
        })
    }

    fn columns(&self, _: &Context) -> Answer<Vec<(String, FieldType)>> {
        let columns = self.0.store.engine.info().columns.iter();
        Answer::ok(columns.map(|column| (column.name.clone(), column.kind)).collect())
    }

    fn insert(&self, record: Value, context: &Context) -> Answer<InsertedRow> {
        let (mut row, is_numbered) = match self.0.new_row(record, context) {
            Ok(new) => new,
            Err(error) => return error.into(),
        };
        let context = context.clone();
        self.later(|table| async move {
            let key = table.create(&mut row, is_numbered, &context).await?;
            Ok(InsertedRow { key: Some(key), row })
        })
    }

    fn insert_list(&self, records: Vec<Value>, context: &Context) -> Answer<()> {
        let mut rows = Vec::with_capacity(records.len());
        for (number, record) in (1..).zip(records) {
            match self.0.new_row(record, context) {
                Ok(row) => rows.push(row),
                Err(error) => {
                    let message = format!("record {number}: {}", error.message);
                    return Error { message, ..error }.into();
                }
            }
        }
        let context = context.clone();
        self.later(|table| async move {
            let mut written = Vec::new();
            let done = table.create_all(rows, &mut written, &context).await;
            if done.is_err() {
                table.undo(written, &context).await;
            }
            done
        })
    }

    fn insert_records(&self, records: Box<dyn Records>, context: &Context) -> Answer<u64> {
        let context = context.clone();
        self.later(|table| async move {
            let mut written = Vec::new();
            match insert_batches(&table, records, &mut written, &context).await {
                Ok(()) => Ok(written.len() as u64),
                Err(error) => {
                    table.undo(written, &context).await;
                    Err(error)
                }
            }
        })
    }

    fn put(&self, key: String, record: Value, context: &Context) -> Answer<bool> {
        let key = match self.0.target(&key) {
            Ok(key) => key,
            Err(error) => return error.into(),
        };
        let context = context.clone();
        self.later(|table| async move {
            let existed = table.change(&key, RowChange::Put(record), &context).await?;
            Ok(existed != Some(true))
        })
    }

    fn merge(&self, key: String, record: Value, context: &Context) -> Answer<bool> {
        let key = match self.0.target(&key) {
            Ok(key) => key,
            Err(error) => return error.into(),
        };
        let context = context.clone();
        self.later(|table| async move {
            let changed = table.change(&key, RowChange::Merge(record), &context).await?;
            Ok(changed.is_some())
        })
    }

    fn merge_list(&self, _: Vec<Value>, _: &Context) -> Answer<()> {
        one_by_one()
    }

    fn change_all(&self, _: &Query, _: &BulkChange, _: &Context) -> Answer<Value> {
        one_by_one()
    }

    fn explain(&self, _: &Query, _: bool, _: &Context) -> Answer<Value> {
        let message = "rows that are documents are read without a statement";
        Error::new(Kind::NotAllowed, message).into()
    }

    fn delete(&self, key: String, context: &Context) -> Answer<bool> {
        let Some(key) = self.0.store.engine.key_path(&key) else {
            let checked = context.only_if.as_ref().map_or(Ok(()), |only_if| only_if.check(None));
            return Answer::Ready(checked.map(|()| false));
        };
        let context = context.clone();
        self.later(|table| async move { table.store.delete(&key, &context).await })
    }

    fn watch(&self, reference: &Reference, _: bool, context: &Context) -> Answer<Changes> {
        let (table, root) = (self.0.clone(), reference.clone());
        let watched = self.0.store.folder.source().watch(self.0.store.folder.place(), context);
        watched.map(move |changes| {
            let above = move |change: Result<Change>| {
                std::future::ready(match change {
                    Ok(change) => table.change_of(change, &root).map(Ok),
                    Err(error) => Some(Err(error)),
                })
            };
            Box::pin(changes.filter_map(above)) as Changes
        })
    }

    fn begin(&self, _: Option<Isolation>, _: &Context) -> Answer<Rc<dyn Transaction>> {
        let message =
            "rows that are documents have no transactions: keep the table in SQLite or PostgreSQL";
        Error::new(Kind::NotAllowed, message).into()
    }
}

fn one_by_one<T>() -> Answer<T> {
    let message = "rows that are documents change one by one: send update: or removeAt: for each, or keep the \
                   table in SQLite or PostgreSQL";
    Error::new(Kind::NotAllowed, message).into()
}

/// Writes the records of all batches, each batch once all of it was checked.
async fn insert_batches(
    table: &DocumentState,
    mut records: Box<dyn Records>,
    written: &mut Vec<String>,
    context: &Context,
) -> Result<()> {
    let fields = records.fields();
    if fields.is_empty() {
        return Err(Error::new(Kind::Invalid, "records without fields cannot be inserted"));
    }
    while let Some(batch) = records.next().await? {
        let mut rows = Vec::with_capacity(batch.len() / fields.len());
        let mut values = batch.into_iter();
        while values.len() > 0 {
            let named = fields.iter().cloned().zip(values.by_ref());
            let record = Value::Record(named.take(fields.len()).collect());
            let number = written.len() + rows.len() + 1;
            rows.push(table.new_row(record, context).map_err(|error| Error {
                message: format!("record {number}: {}", error.message),
                ..error
            })?);
        }
        table.create_all(rows, written, context).await?;
    }
    Ok(())
}
