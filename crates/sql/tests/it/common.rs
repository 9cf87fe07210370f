//! What the tests share: a database in a folder that vanishes, and a class of tasks.
#![allow(dead_code)]

pub(crate) mod conditions;
pub(crate) mod key_values;

use runnel_sql::{SqliteDatabase, SqliteOptions, SqliteTable};
use runnel_store::{
    Answer, Body, Content, Context, Error, Field, FieldType, Form, Kind, Reference, Shape, Store,
    Value, json,
};
use std::path::PathBuf;
use std::rc::Rc;
use tempfile::TempDir;

/// A database file of its own.
pub(crate) struct Place {
    folder: TempDir,
}

impl Place {
    pub(crate) fn new() -> Self {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("test.db")
    }

    pub(crate) fn open(&self) -> Rc<SqliteDatabase> {
        SqliteDatabase::open(self.file(), SqliteOptions::default()).unwrap()
    }

    /// Another program's connection to the same file.
    pub(crate) fn other_program(&self) -> rusqlite::Connection {
        rusqlite::Connection::open(self.file()).unwrap()
    }
}

/// Runs something on an event loop as a worker has it.
pub(crate) fn run<T>(future: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let runtime = builder.enable_all().build_local(tokio::runtime::LocalOptions::default());
    runtime.unwrap().block_on(future)
}

pub(crate) fn shape(name: &str, fields: &[(&str, FieldType)]) -> Shape {
    let field = |(name, kind): &(&str, FieldType)| Field::new(*name, *kind);
    Shape::new(name, fields.iter().map(field).collect())
}

pub(crate) fn task_shape() -> Shape {
    shape("Task", &[("id", FieldType::Int), ("done", FieldType::Bool), ("title", FieldType::Text)])
}

pub(crate) async fn tasks(database: &SqliteDatabase) -> SqliteTable {
    database.define_table(&reference(""), &task_shape()).await.unwrap()
}

pub(crate) fn reference(text: &str) -> Reference {
    Reference::parse(text)
}

pub(crate) fn now() -> Context {
    Context::default()
}

/// A record from JSON, which is how a client would send it.
pub(crate) fn value(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap()
}

pub(crate) fn content(text: &str) -> Content {
    Content::value(value(text))
}

/// What a get answers, in JSON; `None` where nothing is.
pub(crate) async fn get(store: &dyn Store, path: &str) -> Option<String> {
    let content = store.get(&reference(path), &now()).await.unwrap()?;
    Some(text(content, Form::Json).await)
}

pub(crate) async fn text(content: Content, form: Form) -> String {
    String::from_utf8(content.encode(form).await.unwrap().to_vec()).unwrap()
}

/// The kind of an error, with its message for the assertion.
pub(crate) fn refused<T>(result: Result<T, Error>) -> (Kind, String) {
    match result {
        Ok(_) => panic!("this should have been refused"),
        Err(error) => (error.kind, error.message),
    }
}

pub(crate) fn is_ready<T>(answer: &Answer<T>) -> bool {
    matches!(answer, Answer::Ready(_))
}

pub(crate) fn is_empty(content: &Content) -> bool {
    matches!(content.body, Body::Empty)
}
