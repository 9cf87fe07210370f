//! References with a URL in them.

use crate::common::*;
use crate::postgres::support::{open, tasks, with_database};
use futures_util::StreamExt;
use runnel_sql::{PostgresOptions, PostgresScheme};
use runnel_store::{Kind, Reference, Store, Tables};
use std::rc::Rc;

/// `postgres://…` as a program's reference.
fn at(url: &str, rest: &str) -> Reference {
    let (scheme, path) = url.split_once(':').unwrap();
    Reference::parse(&format!("{path}{rest}")).with_scheme(scheme)
}

#[test]
fn databases_by_their_urls() {
    with_database(|url| async move {
        tasks(&open(&url)).await;
        // The server trusts everybody, whatever the password.
        let url = url.replace("runnel@", "runnel:sec%72et@");
        let scheme: Rc<dyn Store> = PostgresScheme::new();
        let posted = scheme.post(&at(&url, "/tasks"), content(r#"{"title":"a"}"#), &now()).await;
        let place = posted.unwrap().reference.unwrap().to_string();
        assert!(place.ends_with("/tasks/1") && place.starts_with("//runnel@"), "{place}");
        let found = scheme.get(&at(&url, "/tasks/1?sslmode=disable"), &now()).await.unwrap();
        assert!(found.is_some());
        let found = scheme.get(&at(&url, "/tasks?done=0&fields=id"), &now()).await.unwrap();
        assert_eq!(text(found.unwrap(), runnel_store::Form::Json).await, "[]");
        let error = scheme.get(&at(&url, "/tasks?nope=1"), &now()).await.err().unwrap();
        assert!(error.kind == Kind::Invalid && error.to_string().contains("/tasks?nope=1"));
        assert!(!format!("{error:?}").contains("sec"), "{error:?}");
        let mut changes = scheme.watch(&at(&url, "/tasks"), &now()).await.unwrap();
        scheme.delete(&at(&url, "/tasks/1"), &now()).await.unwrap();
        let change = changes.next().await.unwrap().unwrap();
        assert_eq!(change.reference.to_string(), place);
        let graph = runnel_store::draw_graph(&*scheme);
        assert!(graph.contains("127.0.0.1") && !graph.contains("sec"), "{graph}");
        let wrong = scheme.get(&at("postgres://me:secret@127.0.0.1:0", "/x/y"), &now()).await;
        let error = wrong.err().unwrap();
        assert!(error.kind == Kind::Invalid && !format!("{error:?}").contains("secret"));
    });
}

#[test]
fn how_a_database_is_used_is_said_before_its_first_use() {
    with_database(|url| async move {
        let scheme = PostgresScheme::new();
        let few = PostgresOptions { max_connections: 2, ..PostgresOptions::default() };
        scheme.configure(&at(&url, ""), &few).unwrap();
        // Saying the same again changes nothing; something else comes too late.
        scheme.configure(&at(&url, ""), &few).unwrap();
        let late = scheme.configure(&at(&url, ""), &PostgresOptions::default()).unwrap_err();
        assert_eq!(late.kind, Kind::Conflict, "{late}");
        let sql = "select pg_backend_pid() as pid, pg_sleep(0.02)";
        let runs = (0..6).map(|_| scheme.run(&at(&url, ""), sql, vec![], &now()));
        let mut backends = std::collections::HashSet::new();
        for one in futures_util::future::join_all(runs).await {
            let rows = one.unwrap().into_value(1 << 20).await.unwrap();
            backends.insert(format!("{rows:?}"));
        }
        assert_eq!(backends.len(), 2);
    });
}
