//! Writes whose reply is lost: the server did them once, and the client does not know.

use crate::proxy::LossyProxy;
use crate::support::*;
use runnel_bus::{BusOptions, Nats, Redis};
use runnel_scratch::Service;
use runnel_store::{
    Condition, Content, Context, Error, Kind, Outcome, Reference, Result, Store, Value,
};
use std::time::Duration;

/// Options of a client that gives up in the middle of a test, and not before.
fn impatient() -> BusOptions {
    BusOptions { operation_time: Duration::from_millis(1500), ..options() }
}

/// The errors of a write that happened, though nothing said so.
fn in_doubt(result: Result<Outcome>) {
    let Err(error) = result else { panic!("a write whose reply was lost succeeded") };
    assert_eq!((error.kind, error.temporary), (Kind::InDoubt, false), "{error}");
    assert!(error.message.contains("whether the write was done is not known"), "{error}");
}

fn late(error: Error) {
    assert_eq!((error.kind, error.temporary), (Kind::Timeout, true), "{error}");
}

fn under(only_if: Condition) -> Context {
    Context { only_if: Some(only_if), ..Context::default() }
}

#[test]
fn a_write_to_redis_whose_reply_is_lost_is_in_doubt() {
    let Some(url) = url(Service::Redis) else { return };
    run(async {
        let (proxy, plain) = (LossyProxy::new(url).await, Context::default());
        let direct = Redis::open(url, &options()).unwrap();
        let far = Redis::open(&format!("redis://127.0.0.1:{}", proxy.port), &impatient()).unwrap();
        // Each with a connection that is there already.
        assert!(get(&*far, "doubt/none").await.is_none());
        proxy.lose_after("RPUSH");
        in_doubt(far.post(&at("doubt/list"), Content::text("a"), &plain).await);
        let list: Value = vec![Value::from("a")].into();
        assert_eq!(get(&*direct, "doubt/list").await, Some(list));
        proxy.lose_after("PUBLISH");
        in_doubt(far.channels().post(&at("doubt"), Content::text("a"), &plain).await);
        proxy.lose_after("SET");
        let created = far.put(&at("doubt/new"), Content::text("b"), &under(Condition::Absent));
        in_doubt(created.await);
        assert_eq!(get(&*direct, "doubt/new").await, Some("b".into()));
        let tag = direct.get(&at("doubt/new"), &plain).await.unwrap().unwrap().entity_tag.unwrap();
        proxy.lose_after("EVAL");
        let knowing = under(Condition::Tag(tag));
        in_doubt(far.put(&at("doubt/new"), Content::text("c"), &knowing).await);
        assert_eq!(get(&*direct, "doubt/new").await, Some("c".into()));
        proxy.lose_after("UNLINK");
        in_doubt(far.delete(&at("doubt/new"), &under(Condition::Present)).await);
        assert_eq!(get(&*direct, "doubt/new").await, None);
    });
}

#[test]
fn a_write_to_redis_that_may_be_repeated_is_late() {
    let Some(url) = url(Service::Redis) else { return };
    run(async {
        let (proxy, plain) = (LossyProxy::new(url).await, Context::default());
        let far = Redis::open(&format!("redis://127.0.0.1:{}", proxy.port), &impatient()).unwrap();
        assert!(get(&*far, "late/none").await.is_none());
        proxy.lose_after("SET");
        late(far.put(&at("late/a"), Content::text("b"), &plain).await.unwrap_err());
        proxy.lose_after("UNLINK");
        late(far.delete(&at("late/a"), &plain).await.unwrap_err());
        // What was never sent is not in doubt.
        let away = Redis::open("redis://127.0.0.1:1", &impatient()).unwrap();
        let error = away.post(&at("late/b"), Content::text("b"), &plain).await.unwrap_err();
        assert_eq!((error.kind, error.temporary), (Kind::Unavailable, true), "{error}");
    });
}

#[test]
fn a_write_to_nats_whose_reply_is_lost_is_in_doubt() {
    let Some(url) = url(Service::Nats) else { return };
    run(async {
        let (proxy, plain) = (LossyProxy::new(url).await, Context::default());
        let direct = Nats::open(url, &options()).unwrap();
        let far = Nats::open(&format!("nats://127.0.0.1:{}", proxy.port), &impatient()).unwrap();
        put(&*direct, "kv/doubt/log", "a").await;
        assert_eq!(get(&*far, "kv/doubt/log").await, Some("a".into()));
        proxy.lose_after("PUB $KV.doubt.log");
        in_doubt(far.post(&at("kv/doubt/log"), Content::text("b"), &plain).await);
        assert_eq!(get(&*direct, "kv/doubt/log").await, Some("ab".into()));
        proxy.lose_after("PUB $KV.doubt.new");
        let created = far.put(&at("kv/doubt/new"), Content::text("c"), &under(Condition::Absent));
        in_doubt(created.await);
        assert_eq!(get(&*direct, "kv/doubt/new").await, Some("c".into()));
        proxy.lose_after("PUB $KV.doubt.new");
        in_doubt(far.merge(&at("kv/doubt/new"), Content::text("d"), &plain).await);
        assert_eq!(get(&*direct, "kv/doubt/new").await, Some("d".into()));
        let mut heard = watch(&*direct, "subjects/doubt").await;
        proxy.lose_after("PUB doubt");
        let asked = Reference::parse("subjects/doubt?reply");
        in_doubt(far.post(&asked, Content::text("e"), &plain).await);
        assert_eq!(next(&mut heard).await, "changed subjects/doubt e");
        assert!(proxy.has_lost());
    });
}

#[test]
fn a_write_to_nats_that_may_be_repeated_is_late() {
    let Some(url) = url(Service::Nats) else { return };
    run(async {
        let (proxy, plain) = (LossyProxy::new(url).await, Context::default());
        let far = Nats::open(&format!("nats://127.0.0.1:{}", proxy.port), &impatient()).unwrap();
        put(&*far, "kv/late/a", "a").await;
        proxy.lose_after("PUB $KV.late.a");
        late(far.put(&at("kv/late/a"), Content::text("b"), &plain).await.unwrap_err());
        proxy.lose_after("PUB $KV.late.a");
        late(far.delete(&at("kv/late/a"), &plain).await.unwrap_err());
        let away = Nats::open("nats://127.0.0.1:1", &impatient()).unwrap();
        let error = away.post(&at("subjects/b"), Content::text("b"), &plain).await.unwrap_err();
        assert_eq!((error.kind, error.temporary), (Kind::Unavailable, true), "{error}");
    });
}
