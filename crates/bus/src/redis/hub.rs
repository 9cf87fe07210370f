//! The one connection that receives messages and notifications, for all watchers.
//!
//! A task keeps it while there are watchers. When it breaks, the task reconnects with exponential
//! backoff, and sends every watcher a `lost`.

use super::server::{RedisServer, RedisStream};
use super::{fault, notifications};
use crate::feed::WatchFeed;
use crate::wait;
use bytes::Bytes;
use futures_util::StreamExt;
use redis::aio::{PubSub, PubSubSink, PubSubStream};
use redis::{Msg, RedisResult, Value};
use runnel_store::{Change, Changes, Error, Kind, Result};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// Watchers of one server.
const WATCHERS: usize = 10_000;

/// How often the server is pinged.
const HEARTBEAT: Duration = Duration::from_secs(10);

/// The first and the longest pause before connecting again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// A subscription: the messages of one channel, or of all channels that match a pattern.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Topic {
    Channel(Vec<u8>),
    Pattern(Vec<u8>),
}

impl Topic {
    fn name(&self) -> &[u8] {
        let (Topic::Channel(name) | Topic::Pattern(name)) = self;
        name
    }
}

/// Makes a change of a message: the channel and what was said.
pub(super) type Translate = Box<dyn Fn(&[u8], Bytes) -> Option<Change>>;

/// One watcher of some topics.
struct TopicWatcher {
    feed: Rc<WatchFeed>,
    translate: Translate,
}

/// The watchers of one server.
pub(super) struct RedisListener {
    pub(super) server: Rc<RedisServer>,
    topics: RefCell<HashMap<Topic, Vec<Rc<TopicWatcher>>>>,
    /// To the task, while there is one.
    orders: RefCell<Option<mpsc::UnboundedSender<ListenOrder>>>,
}

enum ListenOrder {
    /// Subscribes to topics; a caller waits for the confirmation.
    Begin(Vec<Topic>, oneshot::Sender<Result<()>>),
    /// Unsubscribes from topics without watchers.
    End(Vec<Topic>),
}

/// Ends a watch when it is dropped.
struct TopicWatch {
    hub: Rc<RedisListener>,
    watcher: Rc<TopicWatcher>,
    topics: Vec<Topic>,
}

impl Drop for TopicWatch {
    fn drop(&mut self) {
        let mut all = self.hub.topics.borrow_mut();
        let mut over = Vec::new();
        for topic in &self.topics {
            let Some(watchers) = all.get_mut(topic) else { continue };
            watchers.retain(|watcher| !Rc::ptr_eq(watcher, &self.watcher));
            if watchers.is_empty() {
                all.remove(topic);
                over.push(topic.clone());
            }
        }
        drop(all);
        if let Some(orders) = &*self.hub.orders.borrow() {
            // A task that has ended needs no order.
            let _ = orders.send(ListenOrder::End(over));
        }
    }
}

impl RedisListener {
    pub(super) fn new(server: Rc<RedisServer>) -> Rc<RedisListener> {
        Rc::new(RedisListener { server, topics: RefCell::default(), orders: RefCell::default() })
    }

    /// Watches topics; answers when the server has confirmed the subscriptions.
    pub(super) async fn watch(
        self: &Rc<RedisListener>,
        feed: Rc<WatchFeed>,
        topics: Vec<Topic>,
        translate: Translate,
        deadline: Instant,
    ) -> Result<Changes> {
        let watcher = Rc::new(TopicWatcher { feed: feed.clone(), translate });
        let watchers: usize = self.topics.borrow().values().map(Vec::len).sum();
        if watchers >= WATCHERS {
            let message = format!("{} is watched {WATCHERS} times already", self.server.address);
            return Err(Error::new(Kind::Unavailable, message));
        }
        for topic in &topics {
            self.topics.borrow_mut().entry(topic.clone()).or_default().push(watcher.clone());
        }
        let watching = TopicWatch { hub: self.clone(), watcher, topics: topics.clone() };
        let (done, begun) = oneshot::channel();
        self.order(ListenOrder::Begin(topics, done));
        let ended = || Error::new(Kind::Unavailable, "the watch ended before it began");
        let begun = async { begun.await.unwrap_or_else(|_| Err(ended())) };
        wait::by(deadline, &self.server.address, begun).await?;
        Ok(feed.changes(watching))
    }

    fn order(self: &Rc<RedisListener>, order: ListenOrder) {
        let mut orders = self.orders.borrow_mut();
        let sender = orders.get_or_insert_with(|| {
            let (sender, receiver) = mpsc::unbounded_channel();
            tokio::task::spawn_local(run(self.clone(), receiver));
            sender
        });
        // The task ends by taking the sender away, so it is still there.
        let _ = sender.send(order);
    }

    /// Whether there are no watchers; the task then ends, and the next watcher starts another.
    fn is_over(&self) -> bool {
        let over = self.topics.borrow().is_empty();
        if over {
            self.orders.borrow_mut().take();
        }
        over
    }

    fn dispatch(&self, message: &Msg) {
        let channel = message.get_channel::<Vec<u8>>().unwrap_or_default();
        let topic = match message.get_pattern::<Option<Vec<u8>>>() {
            Ok(Some(pattern)) => Topic::Pattern(pattern),
            _ => Topic::Channel(channel.clone()),
        };
        let Some(watchers) = self.topics.borrow().get(&topic).cloned() else { return };
        let said = Bytes::copy_from_slice(message.get_payload_bytes());
        for watcher in watchers {
            if let Some(change) = (watcher.translate)(&channel, said.clone()) {
                watcher.feed.push(change);
            }
        }
    }

    fn each_feed(&self, act: impl Fn(&WatchFeed)) {
        let mut told: Vec<*const WatchFeed> = Vec::new();
        for watcher in self.topics.borrow().values().flatten() {
            let feed = Rc::as_ptr(&watcher.feed);
            if !told.contains(&feed) {
                told.push(feed);
                act(&watcher.feed);
            }
        }
    }
}

/// The task: connects, tells, and connects again.
async fn run(hub: Rc<RedisListener>, mut orders: mpsc::UnboundedReceiver<ListenOrder>) {
    let mut pause = PAUSES.0;
    let mut gap = false;
    while !hub.is_over() {
        match connect(&hub).await {
            Ok(session) => {
                pause = PAUSES.0;
                if gap {
                    hub.each_feed(WatchFeed::lose);
                }
                session.serve(&hub, &mut orders).await;
                // Watchers hear now that they are blind, and again when they see.
                hub.each_feed(WatchFeed::lose);
                gap = true;
            }
            Err(error) if !error.temporary && gap => {
                // The server is there and does not tell any more.
                hub.each_feed(|feed| feed.fail(error.clone()));
                fail_orders(&mut orders, &error);
                hub.topics.borrow_mut().clear();
            }
            Err(error) => {
                fail_orders(&mut orders, &error);
                // A new watcher does not wait for the end of the pause.
                let order = tokio::time::timeout(pause, orders.recv()).await;
                if let Ok(Some(ListenOrder::Begin(topics, done))) = order {
                    let again = ListenOrder::Begin(topics, done);
                    if let Some(orders) = &*hub.orders.borrow() {
                        let _ = orders.send(again);
                    }
                }
                pause = (pause * 2).min(PAUSES.1);
                gap = true;
            }
        }
    }
}

/// Answers those who wait for the beginning of their watch.
fn fail_orders(orders: &mut mpsc::UnboundedReceiver<ListenOrder>, error: &Error) {
    while let Ok(order) = orders.try_recv() {
        if let ListenOrder::Begin(_, done) = order {
            // The caller may have given up.
            let _ = done.send(Err(error.clone()));
        }
    }
}

/// A connection on which the server tells.
struct PubSubSession {
    sink: PubSubSink,
    messages: PubSubStream,
}

/// Connects and asks for everything that is watched.
async fn connect(hub: &Rc<RedisListener>) -> Result<PubSubSession> {
    let server = &hub.server;
    let deadline = Instant::now() + server.options.connect_time;
    if hub.topics.borrow().keys().any(|topic| notifications::is_of_keys(topic.name())) {
        notifications::enable(server, deadline).await?;
    }
    wait::by(deadline, &server.address, async {
        let stream: Box<dyn RedisStream> = server.stream().await?;
        let opened = PubSub::new(&server.login(), stream).await;
        let (mut sink, messages) =
            opened.map_err(|error| fault::from_library(&error, &server.address))?.split();
        let topics: Vec<Topic> = hub.topics.borrow().keys().cloned().collect();
        let begun = begin(&mut sink, &topics).await;
        begun.map_err(|error| fault::from_library(&error, &server.address))?;
        Ok(PubSubSession { sink, messages })
    })
    .await
}

async fn begin(sink: &mut PubSubSink, topics: &[Topic]) -> RedisResult<()> {
    for topic in topics {
        match topic {
            Topic::Channel(name) => sink.subscribe(name).await?,
            Topic::Pattern(pattern) => sink.psubscribe(pattern).await?,
        }
    }
    // Confirmations alone do not prove that messages arrive from now on; that is certain when a
    // later command was answered.
    sink.ping::<Value>().await.map(|_| ())
}

async fn end(sink: &mut PubSubSink, topics: &[Topic]) -> RedisResult<()> {
    for topic in topics {
        match topic {
            Topic::Channel(name) => sink.unsubscribe(name).await?,
            Topic::Pattern(pattern) => sink.punsubscribe(pattern).await?,
        }
    }
    Ok(())
}

impl PubSubSession {
    /// Dispatches messages until the connection breaks or there are no watchers.
    async fn serve(
        mut self,
        hub: &Rc<RedisListener>,
        orders: &mut mpsc::UnboundedReceiver<ListenOrder>,
    ) {
        let mut heartbeat = tokio::time::interval(HEARTBEAT);
        loop {
            let alive = tokio::select! {
                message = self.messages.next() => match message {
                    Some(message) => {
                        hub.dispatch(&message);
                        true
                    }
                    None => false,
                },
                order = orders.recv() => match order {
                    Some(order) => self.follow(hub, order).await,
                    None => false,
                },
                _ = heartbeat.tick() => {
                    let time = hub.server.options.connect_time;
                    let asked = tokio::time::timeout(time, self.sink.ping::<Value>()).await;
                    matches!(asked, Ok(Ok(_)))
                }
            };
            if !alive || hub.topics.borrow().is_empty() {
                return;
            }
        }
    }

    /// Follows an order. Answers whether the connection can still be used.
    async fn follow(&mut self, hub: &Rc<RedisListener>, order: ListenOrder) -> bool {
        let address = &hub.server.address;
        let time = hub.server.options.connect_time;
        let (topics, done) = match order {
            ListenOrder::Begin(topics, done) => (topics, Some(done)),
            ListenOrder::End(mut topics) => {
                topics.retain(|topic| !hub.topics.borrow().contains_key(topic));
                (topics, None)
            }
        };
        let followed = tokio::time::timeout(time, async {
            match done {
                Some(_) => begin(&mut self.sink, &topics).await,
                None => end(&mut self.sink, &topics).await,
            }
        });
        let (result, usable) = match followed.await {
            Ok(Ok(())) => (Ok(()), true),
            Ok(Err(error)) => {
                (Err(fault::from_library(&error, address)), !fault::is_broken(&error))
            }
            Err(_) => (Err(wait::too_late(address)), false),
        };
        if let Some(done) = done {
            // The caller may have given up.
            let _ = done.send(result);
        }
        usable
    }
}
