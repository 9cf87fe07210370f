//! Keys and channels of a real server.

use crate::support::*;
use runnel_bus::{Redis, redis_scheme};
use runnel_scratch::Service;
use runnel_store::conformance::{Abilities, Keeps, Posting, check};
use runnel_store::{Content, Context, Kind, Reference, Store, Value, Verb};
use std::rc::Rc;

/// What Redis keeps: text, without media types.
const REDIS: Abilities = Abilities {
    conditions: runnel_store::Conditions::Tags,
    keeps: Keeps::Text,
    posting: Posting::Other,
    attributes: false,
    relocation: false,
    merge: false,
    query: false,
    media_types: false,
    cancels_at_once: false,
    ..Abilities::ALL
};

/// One database for each test, and a way to speak to it as another program does.
fn with_database<F: Future<Output = ()>>(
    number: u8,
    test: impl FnOnce(Rc<Redis>, ::redis::aio::MultiplexedConnection) -> F,
) {
    let Some(url) = url(Service::Redis) else { return };
    let url = format!("{url}/{number}");
    run(async {
        let client = ::redis::Client::open(url.as_str()).unwrap();
        let other = client.get_multiplexed_async_connection().await.unwrap();
        test(Redis::open(&url, &options()).unwrap(), other).await;
    });
}

async fn raw(other: &mut ::redis::aio::MultiplexedConnection, command: &str) {
    let mut words = command.split(' ');
    let mut command = ::redis::cmd(words.next().unwrap());
    words.for_each(|word| {
        command.arg(word);
    });
    command.query_async::<::redis::Value>(other).await.unwrap();
}

#[test]
fn conformance() {
    with_database(1, |redis, _| check(redis, REDIS));
}

#[test]
fn conformance_of_the_scheme() {
    let Some(url) = url(Service::Redis) else { return };
    let scheme = redis_scheme(with_variable("REDIS_URL", format!("{url}/2")));
    run(check(scheme, REDIS));
    REDIS.check_manual("`redis:`");
}

#[test]
fn what_other_programs_keep_is_readable() {
    with_database(3, |redis, mut other| async move {
        raw(&mut other, "HSET hash a 1 b two").await;
        raw(&mut other, "RPUSH list x y x").await;
        raw(&mut other, "SADD set c a b").await;
        raw(&mut other, "ZADD scores 2 late 1.5 early").await;
        raw(&mut other, "XADD stream 5-0 name ann").await;
        raw(&mut other, "SET empty ").await;
        let texts = |texts: &[&str]| Value::List(texts.iter().map(|text| (*text).into()).collect());
        let hash =
            Value::record([("a", "1"), ("b", "two")].map(|(name, text)| (name, text.into())));
        assert_eq!(get(&*redis, "hash").await, Some(hash));
        assert_eq!(get(&*redis, "list").await, Some(texts(&["x", "y", "x"])));
        assert_eq!(get(&*redis, "set").await, Some(texts(&["a", "b", "c"])));
        let scores = Value::record([("early", 1.5.into()), ("late", Value::Float(2.0))]);
        assert_eq!(get(&*redis, "scores").await, Some(scores));
        let entry = Value::record([("id", Value::from("5-0")), ("name", "ann".into())]);
        assert_eq!(get(&*redis, "stream").await, Some(Value::List(vec![entry])));
        assert_eq!(get(&*redis, "empty").await, Some("".into()));
        assert_eq!(
            names(&*redis, "").await.unwrap(),
            ["empty", "hash", "list", "scores", "set", "stream"]
        );
        // A put replaces whatever is there.
        assert!(!put(&*redis, "hash", "text").await);
        assert_eq!(get(&*redis, "hash").await, Some("text".into()));
    });
}

#[test]
fn posts_add_to_what_is_there() {
    with_database(4, |redis, mut other| async move {
        post(&*redis, "queue", "first").await;
        post(&*redis, "queue", Value::record([("id", Value::Int(2))])).await;
        let expected = Value::List(vec!["first".into(), r#"{"id":2}"#.into()]);
        assert_eq!(get(&*redis, "queue").await, Some(expected));
        put(&*redis, "log", "a").await;
        post(&*redis, "log", "b").await;
        assert_eq!(get(&*redis, "log").await, Some("ab".into()));
        raw(&mut other, "SADD set a").await;
        post(&*redis, "set", "b").await;
        assert_eq!(get(&*redis, "set").await, Some(Value::List(vec!["a".into(), "b".into()])));
        raw(&mut other, "XADD stream 1-0 n 1").await;
        post(&*redis, "stream", Value::record([("n", Value::Int(2))])).await;
        let Some(Value::List(entries)) = get(&*redis, "stream").await else { panic!("a stream") };
        assert_eq!(entries[1].get("n"), Some(&"2".into()));
        raw(&mut other, "HSET hash a 1").await;
        let refused = redis.post(&at("hash"), Content::text("x"), &Context::default()).await;
        assert_eq!(refused.err().unwrap().kind, Kind::Conflict);
    });
}

#[test]
fn merges_set_fields() {
    with_database(5, |redis, mut other| async move {
        put(&*redis, "record", Value::record([("a", Value::Int(1)), ("b", Value::Int(2))])).await;
        raw(&mut other, "EXPIRE record 1000").await;
        merge(&*redis, "record", Value::record([("b", Value::Int(3)), ("c", Value::Int(4))])).await;
        assert_eq!(get(&*redis, "record").await, Some(r#"{"a":1,"b":3,"c":4}"#.into()));
        let left: i64 = ::redis::cmd("TTL").arg("record").query_async(&mut other).await.unwrap();
        assert!(left > 0, "the time at which it vanishes is gone");
        // JSON text from elsewhere is as good as a record.
        let json = Content::text(r#"{"a":null}"#);
        redis.merge(&at("record"), json, &Context::default()).await.unwrap();
        assert_eq!(get(&*redis, "record").await, Some(r#"{"a":null,"b":3,"c":4}"#.into()));
        raw(&mut other, "HSET hash a 1 b 2").await;
        merge(&*redis, "hash", Value::record([("a", Value::Nil), ("c", "3".into())])).await;
        let expected = Value::record([("b", Value::from("2")), ("c", "3".into())]);
        assert_eq!(get(&*redis, "hash").await, Some(expected));
        let fields = Content::value(Value::record([("a", Value::Int(1))]));
        let missing = redis.merge(&at("missing"), fields, &Context::default()).await;
        assert_eq!(missing.unwrap_err().kind, Kind::NotFound);
        assert_eq!(get(&*redis, "missing").await, None);
    });
}

#[test]
fn merges_at_the_same_time_are_all_kept() {
    with_database(6, |redis, _| async move {
        put(&*redis, "counts", Value::Record(Vec::new())).await;
        let merges = (0..16).map(|number| {
            let fields = Value::record([(format!("n{number}"), Value::Int(number))]);
            let redis = redis.clone();
            async move { merge(&*redis, "counts", fields).await }
        });
        futures_util::future::join_all(merges).await;
        let Some(Value::Text(text)) = get(&*redis, "counts").await else { panic!("a text") };
        let record = runnel_store::json::parse(text.as_bytes()).unwrap();
        assert_eq!(record.as_record().unwrap().len(), 16);
    });
}

#[test]
fn keys_can_expire() {
    with_database(7, |redis, mut other| async move {
        let soon = at("soon").with_query("expires=0.05");
        redis.put(&soon, Content::text("x"), &Context::default()).await.unwrap();
        while get(&*redis, "soon").await.is_some() {
            tokio::task::yield_now().await;
        }
        let later = at("later").with_query("a=b&expires=1000");
        redis.put(&later, Content::text("x"), &Context::default()).await.unwrap();
        let left: i64 = ::redis::cmd("TTL").arg("later").query_async(&mut other).await.unwrap();
        assert!((900..=1000).contains(&left));
        for wrong in ["expires=0", "expires=-1", "expires=x", "expires=NaN", "expires=1e99"] {
            let put =
                redis.put(&at("k").with_query(wrong), Content::text("x"), &Context::default());
            assert_eq!(put.await.unwrap_err().kind, Kind::Invalid, "{wrong}");
        }
    });
}

#[test]
fn nil_deletes_and_the_root_has_no_content() {
    with_database(8, |redis, _| async move {
        put(&*redis, "a", "x").await;
        assert!(!put(&*redis, "a", Value::Nil).await);
        assert_eq!(get(&*redis, "a").await, None);
        assert_eq!(get(&*redis, "").await, None);
        let put = redis.put(&at(""), Content::text("x"), &Context::default()).await;
        assert_eq!(put.unwrap_err().kind, Kind::Invalid);
        let long = redis.get(&at(&"k".repeat(100_000)), &Context::default()).await;
        assert_eq!(long.err().unwrap().kind, Kind::TooLarge);
        assert!(!redis.verbs(&at("")).has(Verb::Put) && redis.verbs(&at("a")).has(Verb::Put));
    });
}

#[test]
fn keys_are_watched_by_another_client() {
    with_database(9, |redis, mut other| async move {
        let mut all = watch(&*redis, "").await;
        let mut some = watch(&*redis, "tasks").await;
        raw(&mut other, "SET tasks/1 x").await;
        raw(&mut other, "SET tasksnot x").await;
        raw(&mut other, "SET tasks y").await;
        raw(&mut other, "EXPIRE tasks/1 1000").await;
        raw(&mut other, "DEL tasks/1").await;
        raw(&mut other, "RPUSH tasks/list z").await;
        for expected in
            ["changed tasks/1", "changed tasks", "deleted tasks/1", "changed tasks/list"]
        {
            assert_eq!(next(&mut some).await, expected);
        }
        assert_eq!(next(&mut all).await, "changed tasks/1");
        assert_eq!(next(&mut all).await, "changed tasksnot");
        drop(some);
        // A later watcher, on the connection that is there.
        let mut odd = watch(&*redis, "a*[b]?").await;
        raw(&mut other, "SET axxb1/c x").await;
        raw(&mut other, "SET a*[b]?/c x").await;
        assert_eq!(next(&mut odd).await, "changed a*[b]?/c");
    });
}

#[test]
fn channels_carry_messages() {
    let Some(url) = url(Service::Redis) else { return };
    run(async {
        let host = url.strip_prefix("redis:").unwrap();
        let scheme = redis_scheme(with_variable("REDIS_URL", url.to_string()));
        let name = format!("{host}/pubsub/news");
        let mut here = watch(&*scheme, &name).await;
        let mut usual = watch(&*scheme, "///pubsub/news/today").await;
        let mut pattern = watch(&*scheme, "///pubsub/n*s.x").await;
        post(&*scheme, &name, "one").await;
        post(&*scheme, "///pubsub/news/today", Value::record([("a", Value::Int(1))])).await;
        post(&*scheme, "///pubsub/news.x", "three").await;
        assert_eq!(next(&mut here).await, format!("changed {name} one"));
        assert_eq!(next(&mut here).await, format!(r#"changed {name}/today {{"a":1}}"#));
        assert_eq!(next(&mut usual).await, r#"changed ///pubsub/news/today {"a":1}"#);
        assert_eq!(next(&mut pattern).await, "changed ///pubsub/news.x three");
        let get = scheme.get(&at("///pubsub/news"), &Context::default()).await;
        assert_eq!(get.err().unwrap().kind, Kind::NotAllowed);
    });
}

#[test]
fn the_forms_of_a_reference() {
    let Some(url) = url(Service::Redis) else { return };
    run(async {
        let host = url.strip_prefix("redis:").unwrap();
        let scheme = redis_scheme(with_variable("REDIS_URL", format!("{url}/10")));
        put(&*scheme, "form/a", "x").await;
        for same in ["/form/a", "///10/form/a", "///form/a", &format!("{host}/10/form/a")] {
            let expected = (same != "///form/a").then(|| Value::from("x"));
            let found = scheme.get(&at(same), &Context::default()).await;
            match expected {
                None => assert_eq!(found.err().unwrap().kind, Kind::Invalid),
                Some(_) => assert_eq!(get(&*scheme, same).await, expected, "{same}"),
            }
        }
        assert_eq!(get(&*scheme, &format!("{host}/0/form/a")).await, None);
        assert_eq!(names(&*scheme, &format!("{host}/10")).await.unwrap(), ["form/"]);
        let secret = format!("//me:secret@{}/0/a", host.trim_start_matches('/'));
        let denied = scheme.get(&at(&secret), &Context::default()).await.err().unwrap();
        assert_eq!(denied.kind, Kind::Denied);
        assert!(!format!("{denied} {denied:?}").contains("secret"), "{denied:?}");
        let mut changes = watch(&*scheme, &format!("{host}/10/form")).await;
        delete(&*scheme, "form/a").await;
        assert_eq!(next(&mut changes).await, format!("deleted {host}/10/form/a"));
        let numbers = scheme.get(&at(&format!("{host}/99/a")), &Context::default()).await;
        assert_eq!(numbers.err().unwrap().kind, Kind::NotFound);
        let reference = Reference::from_path("//127.0.0.1:1/0/k").with_scheme("redis");
        let down = scheme.get(&reference, &Context::default()).await.err().unwrap();
        let message = "get redis://127.0.0.1:1/0/k: 127.0.0.1:1 refused the connection";
        assert_eq!((down.to_string().as_str(), down.kind), (message, Kind::Unavailable));
    });
}
