//! The server, databases on it, and what tests ask again and again.

use crate::common::{now, shape, task_shape};
use runnel_scratch::{Server, Service};
use runnel_sql::{PostgresDatabase, PostgresOptions, PostgresTable};
use runnel_store::{FieldType, Reference, Shape, Store, Value};
use std::rc::Rc;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The server of all tests; `None` where none is installed.
fn server() -> Option<&'static Server> {
    static SERVER: OnceLock<Option<Server>> = OnceLock::new();
    SERVER.get_or_init(|| Server::for_test(Service::Postgres)).as_ref()
}

/// Runs a test with the URL of a database of its own.
pub(crate) fn with_database<F: Future<Output = ()>>(test: impl FnOnce(String) -> F) {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let Some(server) = server() else { return };
    let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    local(async {
        let main = PostgresDatabase::open(&server.url(), PostgresOptions::default()).unwrap();
        main.run(&format!("create database {name}"), vec![], &now()).await.unwrap();
        drop(main);
        let url = server.url();
        let (host, _) = url.rsplit_once('/').unwrap();
        test(format!("{host}/{name}")).await;
    });
}

/// Runs something on an event loop as a worker has it.
pub(crate) fn local<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    tokio::task::LocalSet::new().block_on(&runtime, future)
}

pub(crate) fn open(url: &str) -> Rc<PostgresDatabase> {
    PostgresDatabase::open(url, PostgresOptions::default()).unwrap()
}

pub(crate) async fn tasks(database: &PostgresDatabase) -> PostgresTable {
    database.define_table(&Reference::parse(""), &task_shape()).await.unwrap()
}

pub(crate) async fn define(
    database: &PostgresDatabase,
    name: &str,
    fields: &[(&str, FieldType)],
) -> PostgresTable {
    database.define_table(&Reference::parse(""), &shape(name, fields)).await.unwrap()
}

pub(crate) async fn try_define(
    database: &PostgresDatabase,
    shape: &Shape,
) -> runnel_store::Result<PostgresTable> {
    database.define_table(&Reference::parse(""), shape).await
}

/// Runs a statement and answers what it comes to.
pub(crate) async fn sql(database: &PostgresDatabase, statement: &str) -> Value {
    let content = database.run(statement, vec![], &now()).await.unwrap();
    content.into_value(usize::MAX).await.unwrap()
}

/// The one value that a statement answers.
pub(crate) async fn one(database: &PostgresDatabase, statement: &str) -> Value {
    match sql(database, statement).await {
        Value::List(rows) => match rows.into_iter().next() {
            Some(Value::Record(fields)) => fields.into_iter().next().unwrap().1,
            other => panic!("{other:?}"),
        },
        other => other,
    }
}

/// How many rows a table has.
pub(crate) async fn count(database: &PostgresDatabase, table: &str) -> Value {
    let query = runnel_store::Query { count: true, ..Default::default() };
    let answer = database.query(&Reference::parse(table), &query, &now()).await.unwrap();
    answer.into_value(usize::MAX).await.unwrap()
}
