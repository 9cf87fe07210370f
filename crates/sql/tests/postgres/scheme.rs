//! References with a URL in them.

use crate::common::*;
use crate::support::{open, tasks, with_database};
use futures_util::StreamExt;
use runnel_sql::postgres_scheme;
use runnel_store::{Kind, Reference};

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
        let scheme = postgres_scheme();
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
