//! Conditional requests against a store with tags and one with dates.

use crate::helper::{Fake, Peer, Response, ask, get, run, send, site, start};
use runnel_http::HttpServer;
use runnel_store::{Answer, Body, Content, EntityTag};
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, SystemTime};

async fn get_if(server: &HttpServer, condition: &str) -> Response {
    ask(server, &format!("GET /hi HTTP/1.1\r\nHost: t\r\n{condition}\r\n\r\n")).await
}

#[test]
fn what_a_client_has_is_not_sent_again() {
    run(async {
        let server = start(site(&[("/hi", "Hello World!")]).await).await;
        let tag = get(&server, "/hi").await.header("etag").unwrap().to_string();
        for condition in [
            format!("If-None-Match: {tag}"),
            format!("If-None-Match: \"x\", W/{tag}"),
            "If-None-Match: *".to_string(),
        ] {
            let response = get_if(&server, &condition).await;
            assert_eq!((response.status, response.header("etag")), (304, Some(&*tag)));
            assert_eq!(response.header("content-type"), None);
            assert_eq!(response.header("content-length"), None);
        }
        assert_eq!(get_if(&server, "If-None-Match: \"x\"").await.text(), "Hello World!");
        assert_eq!(get_if(&server, "If-Match: \"x\"").await.status, 412);
        assert_eq!(get_if(&server, &format!("If-Match: {tag}")).await.status, 200);
        let mut peer = Peer::connect(&server).await;
        peer.send(format!("HEAD /hi HTTP/1.1\r\nHost: t\r\nIf-None-Match: {tag}\r\n\r\n")).await;
        assert_eq!(peer.receive_head().await.status, 304);
        peer.send("GET /hi HTTP/1.1\r\nHost: t\r\n\r\n").await;
        assert_eq!(peer.receive().await.text(), "Hello World!");
    });
}

#[test]
fn a_store_hears_of_the_known_tag() {
    run(async {
        let short_answers = Rc::new(Cell::new(0));
        let counter = short_answers.clone();
        let store = Fake::get(move |_, context| {
            let tag = EntityTag::strong("v1");
            let known = context.known.as_ref() == Some(&tag);
            counter.set(counter.get() + usize::from(known));
            let body = if known { Body::Empty } else { Body::Text("text".into()) };
            Answer::ok(Some(Content { body, entity_tag: Some(tag), ..Content::default() }))
        });
        let server = start(Rc::new(store)).await;
        assert_eq!(get_if(&server, "If-None-Match: \"v1\"").await.status, 304);
        assert_eq!(get_if(&server, "If-None-Match: \"v0\"").await.text(), "text");
        assert_eq!(short_answers.get(), 1);
    });
}

#[test]
fn dates_are_compared_by_the_second() {
    run(async {
        let store = Fake::get(|_, _| {
            let modified = SystemTime::UNIX_EPOCH + Duration::from_millis(100_500);
            Answer::ok(Some(Content { modified: Some(modified), ..Content::text("text") }))
        });
        let server = start(Rc::new(store)).await;
        let date = "Thu, 01 Jan 1970 00:01:40 GMT";
        assert_eq!(get(&server, "/hi").await.header("last-modified"), Some(date));
        assert_eq!(get_if(&server, &format!("If-Modified-Since: {date}")).await.status, 304);
        assert_eq!(get_if(&server, &format!("If-Unmodified-Since: {date}")).await.status, 200);
        let before = "Thu, 01 Jan 1970 00:01:39 GMT";
        assert_eq!(get_if(&server, &format!("If-Modified-Since: {before}")).await.status, 200);
        assert_eq!(get_if(&server, &format!("If-Unmodified-Since: {before}")).await.status, 412);
    });
}

#[test]
fn an_update_is_not_lost() {
    run(async {
        let server = start(site(&[("/hi", "one")]).await).await;
        let first = get(&server, "/hi").await.header("etag").unwrap().to_string();
        let matching = format!("If-Match: {first}\r\n");
        assert_eq!(send(&server, "PUT", "/hi", &matching, "two").await.status, 204);
        for method in ["PUT", "PATCH", "POST", "DELETE"] {
            assert_eq!(send(&server, method, "/hi", &matching, "three").await.status, 412);
        }
        assert_eq!(get(&server, "/hi").await.text(), "two");
        let new = "If-None-Match: *\r\n";
        assert_eq!(send(&server, "PUT", "/hi", new, "four").await.status, 412);
        assert_eq!(send(&server, "PUT", "/other", new, "four").await.status, 201);
        assert_eq!(send(&server, "PUT", "/nothing", "If-Match: *\r\n", "x").await.status, 412);
    });
}

#[test]
fn asking_what_is_there_says_nothing_about_the_answer() {
    run(async {
        let store = Fake::get(|_, context| {
            let exchange = context.exchange.as_ref().unwrap();
            exchange.set_status(202);
            exchange.set_header("X-From", "get").unwrap();
            let entity_tag = Some(EntityTag::strong("v1"));
            Answer::ok(Some(Content { entity_tag, ..Content::text("x") }))
        })
        .put(|_, _, _| Answer::ok(false));
        let server = start(Rc::new(store)).await;
        let response = send(&server, "PUT", "/", "If-Match: \"v1\"\r\n", "y").await;
        assert_eq!((response.status, response.header("x-from")), (204, None));
    });
}
