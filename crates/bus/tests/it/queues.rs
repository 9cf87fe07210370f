//! Elements that are taken, and followers that share the messages of a stream.

use crate::proxy::LossyProxy;
use crate::support::*;
use runnel_bus::{BusOptions, Nats, Redis};
use runnel_scratch::{Server, Service};
use runnel_store::{
    Content, Context, Delivery, GroupMember, GroupOptions, Kind, QueueEnd, Queues, Reference,
    Result, Store, Value,
};
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// A lease that no test waits for in vain.
const LONG: Duration = Duration::from_secs(600);

/// A lease that ends while a test waits.
const SHORT: Duration = Duration::from_secs(3);

async fn text(content: Option<Content>) -> Option<String> {
    let bytes = content?.read(usize::MAX).await.unwrap();
    Some(String::from_utf8(bytes.to_vec()).unwrap())
}

async fn take(store: &dyn Queues, path: &str, end: QueueEnd, wait: Duration) -> Option<String> {
    text(store.take(&at(path), end, wait, &Context::default()).await.unwrap()).await
}

#[test]
fn elements_are_taken_from_both_ends() {
    let Some(url) = url(Service::Redis) else { return };
    run(async {
        let redis = Redis::open(url, &options()).unwrap();
        for text in ["a", "b", "c"] {
            post(&*redis, "take/list", text).await;
        }
        let now = Duration::ZERO;
        assert_eq!(take(&*redis, "take/list", QueueEnd::First, now).await.unwrap(), "a");
        assert_eq!(take(&*redis, "take/list", QueueEnd::Last, now).await.unwrap(), "c");
        assert_eq!(take(&*redis, "take/list", QueueEnd::Last, now).await.unwrap(), "b");
        assert_eq!(take(&*redis, "take/list", QueueEnd::First, now).await, None);
        put(&*redis, "take/text", "x").await;
        let wrong = redis.take(&at("take/text"), QueueEnd::First, now, &Context::default()).await;
        let error = wrong.err().unwrap();
        assert_eq!(error.kind, Kind::Conflict);
        assert_eq!(error.message, "elements are taken from a list, and there is a string");
        let long =
            redis.take(&at("take/x"), QueueEnd::First, LONG * 100, &Context::default()).await;
        assert_eq!(long.err().unwrap().kind, Kind::Invalid);
    });
}

/// More waiters than elements: each element goes to one of them.
#[test]
fn an_element_is_waited_for() {
    let Some(url) = url(Service::Redis) else { return };
    run(async {
        let redis = Redis::open(url, &options()).unwrap();
        let short = Duration::from_millis(50);
        assert_eq!(take(&*redis, "wait/none", QueueEnd::First, short).await, None);
        let waiting = (0..4).map(|_| take(&*redis, "wait/list", QueueEnd::First, LONG));
        let posting = async {
            for number in 0..4 {
                post(&*redis, "wait/list", number.to_string()).await;
            }
        };
        let (taken, ()) =
            futures_util::future::join(futures_util::future::join_all(waiting), posting).await;
        let taken: BTreeSet<String> = taken.into_iter().flatten().collect();
        assert_eq!(taken.len(), 4);
    });
}

/// A waiter that is gone takes nothing with it, wherever it was.
#[test]
fn a_cancelled_take_loses_nothing() {
    let Some(url) = url(Service::Redis) else { return };
    run(async {
        let redis = Redis::open(url, &options()).unwrap();
        for round in 0..40_u64 {
            let waiting = take(&*redis, "cancel/list", QueueEnd::First, LONG);
            let posting = post(&*redis, "cancel/list", "x");
            // Given up at one of many moments, before and after the reply.
            let given_up = tokio::time::sleep(Duration::from_micros(round * 100));
            let mut waiting = Box::pin(waiting);
            let mut taken = false;
            let both = async {
                posting.await;
                given_up.await;
            };
            tokio::select! {
                _ = &mut waiting => taken = true,
                () = both => {}
            }
            if !taken {
                drop(waiting);
                let left = take(&*redis, "cancel/list", QueueEnd::First, LONG).await;
                assert_eq!(left.as_deref(), Some("x"), "round {round}");
            }
        }
    });
}

#[test]
fn a_taken_element_whose_reply_is_lost_is_in_doubt() {
    let Some(url) = url(Service::Redis) else { return };
    run(async {
        let proxy = LossyProxy::new(url).await;
        let direct = Redis::open(url, &options()).unwrap();
        let time = Duration::from_millis(1500);
        let impatient = BusOptions { operation_time: time, ..options() };
        let far = Redis::open(&format!("redis://127.0.0.1:{}", proxy.port), &impatient).unwrap();
        post(&*direct, "lost/list", "a").await;
        assert!(get(&*far, "lost/none").await.is_none());
        proxy.lose_after("LPOP");
        let lost =
            far.take(&at("lost/list"), QueueEnd::First, Duration::ZERO, &Context::default()).await;
        assert_eq!(lost.err().unwrap().kind, Kind::InDoubt);
        assert_eq!(get(&*direct, "lost/list").await, None);
    });
}

/// A store with streams, and the reference of one for posts.
struct Streams {
    store: Rc<dyn Store>,
    path: &'static str,
    post: Reference,
}

impl Streams {
    fn redis(url: &str) -> Streams {
        let store = Redis::open(url, &options()).unwrap();
        Streams { store, path: "orders", post: Reference::parse("orders?stream") }
    }

    fn nats(url: &str) -> Streams {
        let store = Nats::open(url, &options()).unwrap();
        Streams { store, path: "streams/orders", post: Reference::parse("streams/orders") }
    }

    async fn post(&self, number: usize) -> Result<()> {
        let record = Value::Record(vec![("n".into(), number.to_string().into())]);
        let posted = self.store.post(&self.post, Content::value(record), &Context::default());
        posted.await.map(|_| ())
    }

    async fn join(&self, lease: Duration) -> Rc<dyn GroupMember> {
        let group = GroupOptions { name: "billing".into(), lease };
        let queues = self.store.queues().unwrap();
        queues.join(&at(self.path), &group, &Context::default()).await.unwrap()
    }
}

/// The next messages; waits until there are some.
async fn some(member: &Rc<dyn GroupMember>, most: usize) -> Vec<Delivery> {
    loop {
        let delivered = member.next(most).await.unwrap();
        if !delivered.messages.is_empty() {
            return delivered.messages;
        }
    }
}

fn number(message: &Delivery) -> String {
    message.value.get("n").and_then(Value::as_str).unwrap().to_string()
}

/// Each with a server of its own, because a stream has one name.
fn each(test: impl AsyncFn(Streams, &Streams, &mut Server)) {
    for service in [Service::Redis, Service::Nats] {
        let Some(mut server) = Server::for_test(service) else { continue };
        let url = server.url();
        let open = match service {
            Service::Redis => Streams::redis,
            _ => Streams::nats,
        };
        run(async { test(open(&url), &open(&url), &mut server).await });
    }
}

#[test]
fn two_machines_share_the_messages_of_a_stream() {
    each(async |here, there, _| {
        // Before the first follower: not for it.
        here.post(100).await.unwrap();
        let (first, second) = (here.join(LONG).await, there.join(LONG).await);
        for number in 0..6 {
            here.post(number).await.unwrap();
        }
        let mut done = Vec::new();
        for member in [&first, &second, &first] {
            let mut got = Vec::new();
            while got.len() < 2 {
                got.extend(some(member, 2 - got.len()).await);
            }
            for message in got {
                assert_eq!(message.attempt, 1);
                done.push(number(&message));
                member.acknowledge(&message.id).await.unwrap();
            }
        }
        done.sort();
        assert_eq!(done, ["0", "1", "2", "3", "4", "5"]);
        assert!(first.next(10).await.unwrap().messages.is_empty());
    });
}

#[test]
fn messages_of_a_machine_that_ended_go_to_another_one() {
    each(async |here, there, _| {
        let (first, second) = (here.join(SHORT).await, there.join(SHORT).await);
        here.post(1).await.unwrap();
        here.post(2).await.unwrap();
        let mut held = some(&first, 1).await;
        let other = some(&second, 1).await;
        second.acknowledge(&other[0].id).await.unwrap();
        // No other follower gets a renewed message.
        let renewing = async {
            loop {
                first.renew().await.unwrap();
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        let watching = async {
            let began = Instant::now();
            while began.elapsed() < SHORT * 2 {
                assert!(second.next(1).await.unwrap().messages.is_empty());
            }
        };
        tokio::select! {
            () = renewing => {}
            () = watching => {}
        }
        drop(first);
        let again = some(&second, 1).await;
        let held = held.remove(0);
        assert_eq!((&again[0].id, again[0].attempt), (&held.id, 2));
        second.acknowledge(&again[0].id).await.unwrap();
    });
}

#[test]
fn a_message_that_is_given_back_comes_again_and_a_dead_one_does_not() {
    each(async |here, _, _| {
        let member = here.join(LONG).await;
        here.post(7).await.unwrap();
        let message = some(&member, 1).await.remove(0);
        member.give_back(&message.id, Duration::from_millis(300)).await.unwrap();
        let again = some(&member, 1).await.remove(0);
        assert_eq!((&again.id, again.attempt), (&message.id, 2));
        member.bury(&again.id, "failed: no\nstock").await.unwrap();
        assert!(member.next(1).await.unwrap().messages.is_empty());
        let is_redis = here.path == "orders";
        let dead = if is_redis { "orders/dead" } else { "streams/orders-dead" };
        let letters = get(&*here.store, dead).await.unwrap();
        let letters = format!("{letters:?}");
        assert!(letters.contains("failed: no") && letters.contains('7'), "{letters}");
    });
}

#[test]
fn a_restart_of_the_server_loses_no_message() {
    each(async |here, there, server| {
        let (first, second) = (here.join(SHORT).await, there.join(SHORT).await);
        here.post(1).await.unwrap();
        here.post(2).await.unwrap();
        some(&first, 1).await;
        if here.path == "orders" {
            // The server of the tests keeps nothing by itself.
            save(server.port()).await;
        }
        server.kill();
        // The client may notice it later.
        let _ = first.next(1).await;
        server.restart().unwrap();
        let mut done = BTreeSet::new();
        while done.len() < 2 {
            let Ok(delivered) = second.next(1).await else {
                tokio::time::sleep(Duration::from_millis(20)).await;
                continue;
            };
            for message in delivered.messages {
                second.acknowledge(&message.id).await.unwrap();
                done.insert(number(&message));
            }
        }
        assert_eq!(done.into_iter().collect::<String>(), "12");
    });
}

/// Writes the data of Redis to its disk.
async fn save(port: u16) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    stream.write_all(b"SAVE\r\n").await.unwrap();
    let mut answer = [0; 5];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"+OK\r\n");
}

#[test]
fn a_stream_that_is_full_refuses_what_it_cannot_keep() {
    each(async |mut here, _, _| {
        let query = if here.path == "orders" { "stream&maxLength=10" } else { "maxLength=10" };
        here.post = here.post.with_query(query);
        let member = here.join(LONG).await;
        // The first follower of NATS makes the stream.
        let is_nats = here.path != "orders";
        let length = if is_nats { 0 } else { 10 };
        for number in 0..length {
            here.post(number).await.unwrap();
        }
        if length > 0 {
            let error = here.post(11).await.unwrap_err();
            assert_eq!((error.kind, error.temporary), (Kind::Unavailable, true), "{error}");
            assert!(error.message.contains("the follower billing has not done"), "{error}");
            for message in some(&member, 10).await {
                member.acknowledge(&message.id).await.unwrap();
            }
            here.post(11).await.unwrap();
            assert_eq!(number(&some(&member, 1).await[0]), "11");
        }
        let queues = here.store.queues().unwrap();
        let (path, plain) = (at(here.path), Context::default());
        assert!(queues.disband(&path, "billing", &plain).await.unwrap());
        assert!(!queues.disband(&path, "billing", &plain).await.unwrap());
        for wrong in ["maxLength=0", "maxLength=x"] {
            here.post = here.post.with_query(wrong);
            assert_eq!(here.post(1).await.unwrap_err().kind, Kind::Invalid);
        }
    });
}

#[test]
fn a_full_stream_of_nats_refuses_more() {
    let Some(server) = Server::for_test(Service::Nats) else { return };
    run(async {
        let mut here = Streams::nats(&server.url());
        here.post = here.post.with_query("maxLength=2");
        here.post(0).await.unwrap();
        let member = here.join(LONG).await;
        here.post(1).await.unwrap();
        here.post(2).await.unwrap();
        let error = here.post(3).await.unwrap_err();
        assert_eq!((error.kind, error.temporary), (Kind::Unavailable, true), "{error}");
        let message = some(&member, 1).await.remove(0);
        member.acknowledge(&message.id).await.unwrap();
        while here.post(3).await.is_err() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    });
}

#[test]
fn a_stream_that_was_removed_is_reported_as_lost() {
    let Some(server) = Server::for_test(Service::Redis) else { return };
    run(async {
        let here = Streams::redis(&server.url());
        let member = here.join(LONG).await;
        here.post(1).await.unwrap();
        assert!(delete(&*here.store, "orders").await);
        here.post(2).await.unwrap();
        let mut lost = 0;
        loop {
            let delivered = member.next(1).await.unwrap();
            lost += delivered.lost;
            if let Some(message) = delivered.messages.first() {
                assert_eq!((number(message), lost), ("2".to_string(), 1));
                return;
            }
        }
    });
}

#[test]
fn what_has_no_followers_says_so() {
    each(async |here, _, _| {
        let group = GroupOptions { name: "b".into(), lease: LONG };
        let queues = here.store.queues().unwrap();
        let (wrong, kind) = match here.path {
            "orders" => {
                put(&*here.store, "text", "x").await;
                ("text", Kind::Conflict)
            }
            _ => ("kv/orders", Kind::NotAllowed),
        };
        let joined = queues.join(&at(wrong), &group, &Context::default()).await;
        assert_eq!(joined.err().unwrap().kind, kind);
        let named = GroupOptions { name: "a.b".into(), lease: LONG };
        let joined = queues.join(&at(here.path), &named, &Context::default()).await;
        assert_eq!(joined.err().unwrap().kind, Kind::Invalid);
    });
}
