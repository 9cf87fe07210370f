//! What a database system does below [`SqlDatabase`](crate::SqlDatabase) and
//! [`SqlTable`](crate::SqlTable), which check what callers ask for and are the same for all systems.

use runnel_store::{
    Answer, BackupOrder, BulkChange, ByteStream, Changes, Content, Context, ContinuousBackup,
    FieldType, Isolation, Migration, Query, Records, Reference, Shape, Store, Transaction, Value,
    Verb,
};
use std::rc::Rc;

/// One database of a system: SQLite or PostgreSQL.
pub trait DatabaseBackend: Clone + 'static {
    /// One table of the database.
    type Rows: TableBackend;

    /// Whether statements are in the dialect of SQLite; otherwise in that of PostgreSQL.
    const IS_SQLITE: bool;

    /// The verbs of the root.
    const ROOT_VERBS: &'static [Verb];

    /// The system and the database, without secrets: `sqlite tasks.db`.
    fn describe(&self) -> String;

    /// A table, as it is or as a class sees it, whether it exists or not.
    fn rows(&self, name: &str, shape: Option<&Shape>) -> Self::Rows;

    /// Whether a table of exactly this name is known to exist, so that it may be kept.
    fn keeps(&self, name: &str) -> bool;

    /// The names of the tables and views.
    fn names(&self, context: &Context) -> Answer<Vec<String>>;

    /// Creates the table of a class, or adds the columns and indexes that it lacks. Answers its
    /// name in the database.
    fn define(&self, name: String, shape: &Shape) -> Answer<String>;

    /// The key-value store of a name: its tables are made when they do not exist.
    fn key_value_store(&self, name: String) -> Answer<Rc<dyn Store>>;

    /// Runs one statement.
    fn run(&self, sql: &str, parameters: Vec<Value>, context: &Context) -> Answer<Content>;

    /// Runs the steps of a migration. Answers their names.
    fn migrate(&self, migration: Migration, context: &Context) -> Answer<Vec<String>>;

    /// The database as one file, where the system has such.
    fn snapshot(&self, context: &Context) -> Answer<Content>;

    /// Ships the changes of the database from now on, where the system has a file to follow.
    fn back_up(&self, order: BackupOrder) -> Answer<Rc<dyn ContinuousBackup>>;

    /// The rows of these tables, or of all, as text with their types.
    fn dump(&self, tables: Vec<String>, context: &Context) -> ByteStream;

    /// Gives unused space back, and gathers statistics for the planner of queries.
    fn vacuum(&self, context: &Context) -> Answer<()>;

    /// Begins a transaction, or a savepoint of the caller's transaction.
    fn begin(&self, isolation: Option<Isolation>, context: &Context)
    -> Answer<Rc<dyn Transaction>>;

    /// The changes of all tables.
    fn watch(&self, context: &Context) -> Answer<Changes>;
}

/// One table. Keys are the paths of references; values have passed the rules of the class.
pub trait TableBackend: Clone + 'static {
    /// The name of the system in descriptions of the table.
    const LABEL: &'static str;

    /// All rows, or those of the query of a reference; `None` when there is no such table.
    fn rows(&self, query: Option<&str>, context: &Context) -> Answer<Option<Content>>;

    /// The row of a key.
    fn row(&self, key: &str, context: &Context) -> Answer<Option<Content>>;

    /// Locks the row of a key, if there is one, until the caller's transaction ends. Without a key only
    /// says whether the caller is in a transaction of this database.
    fn lock(&self, key: Option<&str>, context: &Context) -> Answer<()>;

    /// The rows of a query, or their number.
    fn query(&self, query: &Query, context: &Context) -> Answer<Content>;

    /// Whether it is known without asking the database that all rows fit a page of this size.
    fn fits(&self, _page: u64) -> bool {
        false
    }

    /// Remembers that all rows fitted a page of this size when they were last counted.
    fn note_fit(&self, _page: u64) {}

    /// The keys as text in bytewise order, at most one more than [`crate::LIST_LIMIT`]; `None` when
    /// there is no such table.
    fn keys(&self, context: &Context) -> Answer<Option<Vec<String>>>;

    /// The columns with what they hold.
    fn columns(&self, context: &Context) -> Answer<Vec<(String, FieldType)>>;

    /// Inserts a record.
    fn insert(&self, record: Value, context: &Context) -> Answer<InsertedRow>;

    /// Inserts a list of records, all or none.
    fn insert_list(&self, records: Vec<Value>, context: &Context) -> Answer<()>;

    /// Inserts records batch by batch, all or none. Answers their number.
    fn insert_records(&self, records: Box<dyn Records>, context: &Context) -> Answer<u64>;

    /// Replaces or inserts the row of a key. Answers whether it was inserted.
    fn put(&self, key: String, record: Value, context: &Context) -> Answer<bool>;

    /// Changes the columns that the record names. Answers whether the row exists.
    fn merge(&self, key: String, record: Value, context: &Context) -> Answer<bool>;

    /// Changes the columns that each record names, in the row of the key that it names; all or none.
    fn merge_list(&self, records: Vec<Value>, context: &Context) -> Answer<()>;

    /// Changes or deletes the rows that a query selects. Answers how many, or the fields that it names.
    fn change_all(&self, query: &Query, change: &BulkChange, context: &Context) -> Answer<Value>;

    /// The statement of a query with its parameters or, with `plan`, how the database would run it.
    fn explain(&self, query: &Query, plan: bool, context: &Context) -> Answer<Value>;

    /// Deletes the row of a key. Answers whether it existed.
    fn delete(&self, key: String, context: &Context) -> Answer<bool>;

    /// The changes of the table, or of one row where the key is not empty. References of changes
    /// begin with the name of the table where `named` is true.
    fn watch(&self, reference: &Reference, named: bool, context: &Context) -> Answer<Changes>;

    /// Begins a transaction of the database.
    fn begin(&self, isolation: Option<Isolation>, context: &Context)
    -> Answer<Rc<dyn Transaction>>;
}

/// A row that was inserted.
pub struct InsertedRow {
    /// Its key as text, where the table has a key that references can name.
    pub key: Option<String>,
    /// The record as the table holds it now.
    pub row: Value,
}
