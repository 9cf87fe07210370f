//! Combinators for stores on the other side of a network: retry, timeout, limit, write back.

use futures_util::future::join_all;
use runnel_store::{
    Answer, CircuitBreaker, CircuitBreakerOptions, Condition, Content, Context, Error, Fallback,
    Kind, Limit, LimitOptions, Memory, Outcome, Reference, Retry, RetryOptions, Store, Timeout,
    Value, WriteBack, WriteBackOptions, flush_all,
};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::task::LocalSet;
use tokio::time::Instant;

/// A memory store behind a line that fails and is slow as it is told.
struct Far {
    memory: Memory,
    fails: Cell<u32>,
    kind: Kind,
    takes: Duration,
    calls: Cell<u32>,
    under_way: Cell<u32>,
    most: Cell<u32>,
    log: RefCell<Vec<String>>,
}

impl Far {
    fn new(fails: u32, kind: Kind, takes: Duration) -> Rc<Self> {
        Rc::new(Far {
            memory: Memory::site(),
            fails: Cell::new(fails),
            kind,
            takes,
            calls: Cell::new(0),
            under_way: Cell::new(0),
            most: Cell::new(0),
            log: RefCell::default(),
        })
    }

    fn good() -> Rc<Self> {
        Far::new(0, Kind::Failed, Duration::ZERO)
    }
}

/// So that the answers can outlive the borrow.
struct Line(Rc<Far>);

impl Line {
    fn call<T: 'static>(
        &self,
        what: String,
        act: impl FnOnce(&Memory) -> Answer<T> + 'static,
    ) -> Answer<T> {
        let far = self.0.clone();
        far.calls.set(far.calls.get() + 1);
        let breaks = what.contains("poison");
        far.log.borrow_mut().push(what);
        Answer::later(async move {
            far.under_way.set(far.under_way.get() + 1);
            far.most.set(far.most.get().max(far.under_way.get()));
            tokio::time::sleep(far.takes).await;
            assert!(!breaks, "the line broke");
            far.under_way.set(far.under_way.get() - 1);
            if far.fails.get() > 0 {
                far.fails.set(far.fails.get() - 1);
                return Err(Error::new(far.kind, "the line is down"));
            }
            act(&far.memory).await
        })
    }
}

impl Store for Line {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let (on, context) = (reference.clone(), context.clone());
        self.call(format!("get {on}"), move |memory| memory.get(&on, &context))
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let (on, context) = (reference.clone(), context.clone());
        self.call(format!("put {on}"), move |memory| memory.put(&on, content, &context))
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let (on, context) = (reference.clone(), context.clone());
        self.call(format!("post {on}"), move |memory| memory.post(&on, content, &context))
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<Outcome> {
        let (on, context) = (reference.clone(), context.clone());
        self.call(format!("delete {on}"), move |memory| memory.delete(&on, &context))
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        "far".to_string()
    }
}

fn at(path: &str) -> Reference {
    Reference::from_path(path)
}

fn retries(retries: u32) -> RetryOptions {
    RetryOptions { retries, max_delay: Duration::from_secs(1), ..RetryOptions::default() }
}

fn retrying(far: &Rc<Far>, times: u32) -> Retry {
    Retry::new(Rc::new(Line(far.clone())), retries(times))
}

async fn get(store: &dyn Store, path: &str) -> Option<Value> {
    let found = store.get(&at(path), &Context::default()).await.unwrap()?;
    Some(found.into_value(1 << 20).await.unwrap())
}

fn put(store: &dyn Store, path: &str, text: &str) -> Answer<bool> {
    store
        .put(&at(path), Content::value(text.into()), &Context::default())
        .map(|put| put.is_created())
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn temporary_errors_are_tried_again() {
    let context = Context::default();
    let far = Far::new(3, Kind::Unavailable, Duration::ZERO);
    assert!(put(&retrying(&far, 3), "a", "1").await.unwrap());
    assert_eq!((far.calls.get(), get(&far.memory, "a").await), (4, Some("1".into())));
    let far = Far::new(9, Kind::Unavailable, Duration::ZERO);
    let error = retrying(&far, 3).get(&at("a"), &context).await.map(|_| ()).unwrap_err();
    assert_eq!((error.kind, far.calls.get()), (Kind::Unavailable, 4));
    // What is not temporary stays as it is.
    let far = Far::new(1, Kind::Denied, Duration::ZERO);
    assert!(retrying(&far, 3).get(&at("a"), &context).await.is_err());
    assert_eq!(far.calls.get(), 1);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn posts_and_streams_are_not_sent_twice() {
    let context = Context::default();
    let far = Far::new(1, Kind::Unavailable, Duration::ZERO);
    assert!(retrying(&far, 3).post(&at("a"), Content::text("x"), &context).await.is_err());
    assert_eq!(far.calls.get(), 1);
    let far = Far::new(1, Kind::Unavailable, Duration::ZERO);
    let options = RetryOptions { retry_posts: true, ..retries(3) };
    let store = Retry::new(Rc::new(Line(far.clone())), options);
    store.post(&at("a"), Content::text("x"), &context).await.map(|_| ()).unwrap();
    assert_eq!(far.calls.get(), 2);
    let far = Far::new(1, Kind::Unavailable, Duration::ZERO);
    let chunks = futures_util::stream::iter([Ok("abc".into())]);
    let body = runnel_store::Body::Stream(Box::pin(chunks), None);
    let content = Content { body, ..Content::default() };
    assert!(retrying(&far, 3).put(&at("a"), content, &context).await.is_err());
    assert_eq!(far.calls.get(), 1);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn no_try_begins_after_the_deadline() {
    let far = Far::new(9, Kind::Unavailable, Duration::from_millis(10));
    let (first, longest) = (Duration::from_secs(3600), Duration::from_secs(3600));
    let store = Retry::new(
        Rc::new(Line(far.clone())),
        RetryOptions { retries: 9, initial_delay: first, max_delay: longest, ..retries(9) },
    );
    let deadline = Some(Instant::now().into_std());
    let context = Context { deadline, ..Context::default() };
    assert!(store.get(&at("a"), &context).await.is_err());
    assert_eq!(far.calls.get(), 1);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_timeout_names_what_took_too_long() {
    let far = Far::new(0, Kind::Failed, Duration::from_secs(10));
    let line: Rc<dyn Store> = Rc::new(Line(far.clone()));
    let store = Timeout::new(line.clone(), Duration::from_secs(2));
    let error = store.get(&at("a/b"), &Context::default()).await.map(|_| ()).unwrap_err();
    assert_eq!(error.to_string(), "get a/b: there was no answer within 2s");
    assert!(error.kind == Kind::Timeout && error.temporary);
    let deadline = Some((Instant::now() + Duration::from_secs(1)).into_std());
    let context = Context { deadline, ..Context::default() };
    let began = Instant::now();
    let error = store.get(&at("a"), &context).await.map(|_| ()).unwrap_err();
    assert!(error.message.contains("deadline"), "{error}");
    assert!(began.elapsed() < Duration::from_secs(2));
    let patient = Timeout::new(line, Duration::MAX);
    assert!(put(&patient, "a", "1").await.unwrap());
}

/// Whether a post that took too long was done is not known: a retry would do it twice.
#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_post_that_times_out_is_in_doubt_and_not_repeated() {
    let far = Far::new(0, Kind::Failed, Duration::from_secs(10));
    let slow = Timeout::new(Rc::new(Line(far.clone())), Duration::from_secs(2));
    let store = Retry::new(Rc::new(slow), RetryOptions { retry_posts: true, ..retries(3) });
    let (plain, x) = (Context::default(), || Content::text("x"));
    let posted = store.post(&at("a"), x(), &plain).await.map(|_| ()).unwrap_err();
    assert_eq!((posted.kind, posted.temporary), (Kind::InDoubt, false), "{posted}");
    let only_if = Some(Condition::Absent);
    let conditional = Context { only_if, ..Context::default() };
    let put = store.put(&at("a"), x(), &conditional).await.map(|_| ()).unwrap_err();
    assert_eq!(put.kind, Kind::InDoubt, "{put}");
    assert_eq!(far.calls.get(), 2);
    let put = store.put(&at("a"), x(), &plain).await.map(|_| ()).unwrap_err();
    assert_eq!((put.kind, far.calls.get()), (Kind::Timeout, 6), "{put}");
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn so_many_at_once_and_the_others_in_turn() {
    let far = Far::new(0, Kind::Failed, Duration::from_secs(1));
    let options =
        LimitOptions { max_concurrent: Some(2), max_waiting: 3, ..LimitOptions::default() };
    let store = Limit::new(Rc::new(Line(far.clone())), options);
    let puts: Vec<_> = (0..7).map(|number| put(&store, &format!("{number}"), "x")).collect();
    let failed: Vec<bool> = join_all(puts).await.iter().map(|result| result.is_err()).collect();
    assert_eq!(failed, [false, false, false, false, false, true, true]);
    assert_eq!(far.most.get(), 2);
    assert_eq!(*far.log.borrow(), ["put 0", "put 1", "put 2", "put 3", "put 4"]);
    // Those who go away make room, while they wait and while they are under way.
    let mut puts: Vec<_> = (0..5).map(|_| put(&store, "a", "x")).collect();
    puts.truncate(3);
    puts.remove(0);
    let mut more = vec![put(&store, "b", "y"), put(&store, "b", "y")];
    puts.append(&mut more);
    assert!(join_all(puts).await.iter().all(Result::is_ok));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn so_many_a_second() {
    let far = Far::good();
    let options =
        LimitOptions { rate: Some(10.0), burst: 3, max_concurrent: None, max_waiting: 100 };
    let store = Limit::new(Rc::new(Line(far.clone())), options);
    let began = Instant::now();
    join_all((0..13).map(|_| put(&store, "a", "x"))).await;
    let took = began.elapsed();
    assert!((Duration::from_secs(1)..Duration::from_millis(1100)).contains(&took), "{took:?}");
    let deadline = Some((Instant::now() + Duration::from_millis(50)).into_std());
    let context = Context { deadline, ..Context::default() };
    let error = store.get(&at("a"), &context).await.map(|_| ()).unwrap_err();
    assert_eq!((error.kind, far.calls.get()), (Kind::Timeout, 13));
}

fn breaking(far: &Rc<Far>) -> CircuitBreaker {
    let options = CircuitBreakerOptions { max_failures: 3, reset_timeout: Duration::from_secs(5) };
    CircuitBreaker::new(Rc::new(Line(far.clone())), options)
}

/// What a get says: `None` where it succeeds.
async fn refusal(store: &dyn Store) -> Option<Kind> {
    store.get(&at("a"), &Context::default()).await.err().map(|error| error.kind)
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_source_that_keeps_failing_is_left_alone() {
    let far = Far::new(4, Kind::Failed, Duration::from_millis(10));
    let store = breaking(&far);
    for _ in 0..3 {
        assert_eq!(refusal(&store).await, Some(Kind::Failed));
    }
    for _ in 0..3 {
        assert_eq!(refusal(&store).await, Some(Kind::Unavailable));
    }
    assert_eq!(far.calls.get(), 3);
    tokio::time::sleep(Duration::from_secs(6)).await;
    // The trial fails, and others are refused meanwhile and afterwards.
    assert_eq!(
        join_all([refusal(&store), refusal(&store)]).await,
        [Some(Kind::Failed), Some(Kind::Unavailable)]
    );
    assert_eq!(refusal(&store).await, Some(Kind::Unavailable));
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(refusal(&store).await, None);
    assert_eq!(refusal(&store).await, None);
    assert_eq!(far.calls.get(), 6);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_slow_call_beside_others_opens_no_circuit() {
    let far = Far::new(0, Kind::Timeout, Duration::from_millis(10));
    let store = breaking(&far);
    let late = |delay| async move { tokio::time::sleep(Duration::from_millis(delay)).await };
    let answered = async {
        assert_eq!(refusal(&store).await, None);
        // The calls that began before this answer, and end after it.
        far.fails.set(3);
    };
    let slow = async || {
        late(5).await;
        refusal(&store).await
    };
    let (_, one, two, three) = tokio::join!(answered, slow(), slow(), slow());
    assert_eq!([one, two, three], [Some(Kind::Timeout); 3]);
    assert_eq!(refusal(&store).await, None);
    // A source that answers nothing else is closed.
    far.fails.set(3);
    for _ in 0..3 {
        assert_eq!(refusal(&store).await, Some(Kind::Timeout));
    }
    assert_eq!(refusal(&store).await, Some(Kind::Unavailable));
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn only_failures_in_a_row_of_the_source_open_a_circuit() {
    // What a caller did wrong shows that the source is there.
    let far = Far::new(10, Kind::Invalid, Duration::ZERO);
    let store = breaking(&far);
    for _ in 0..10 {
        assert_eq!(refusal(&store).await, Some(Kind::Invalid));
    }
    // A success begins a new row.
    let far = Far::new(0, Kind::Failed, Duration::ZERO);
    let store = breaking(&far);
    for _ in 0..3 {
        assert_eq!(refusal(&store).await, None);
        far.fails.set(2);
        assert_eq!(refusal(&store).await, Some(Kind::Failed));
        assert_eq!(refusal(&store).await, Some(Kind::Failed));
    }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_cancelled_trial_leaves_the_trial_to_the_next_call() {
    let far = Far::new(3, Kind::Unavailable, Duration::from_millis(10));
    let store = breaking(&far);
    join_all([refusal(&store), refusal(&store), refusal(&store)]).await;
    tokio::time::sleep(Duration::from_secs(6)).await;
    drop(store.get(&at("a"), &Context::default()));
    assert_eq!(refusal(&store).await, None);
}

fn write_back(far: &Rc<Far>, options: WriteBackOptions) -> WriteBack {
    WriteBack::new(Rc::new(Line(far.clone())), options)
}

fn after(seconds: u64) -> WriteBackOptions {
    WriteBackOptions { delay: Duration::from_secs(seconds), ..WriteBackOptions::default() }
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn pending_writes_are_seen_joined_and_done_in_order() {
    let work = async {
        let far = Far::good();
        let store = write_back(&far, after(5));
        for (path, text) in [("a", "1"), ("b", "1"), ("a", "2"), ("c", "1"), ("a", "3")] {
            assert!(matches!(put(&store, path, text), Answer::Ready(Ok(_))));
        }
        assert!(store.delete(&at("b"), &Context::default()).await.unwrap().is_something());
        assert_eq!(get(&store, "a").await, Some("3".into()));
        assert_eq!(get(&store, "b").await, None);
        assert!(far.log.borrow().is_empty());
        tokio::time::sleep(Duration::from_secs(6)).await;
        assert_eq!(*far.log.borrow(), ["put a", "delete b", "put c"]);
        assert_eq!(get(&far.memory, "a").await, Some("3".into()));
        assert_eq!(get(&store, "a").await, Some("3".into()));
        put(&store, "d", "1").await.unwrap();
        store.flush().await.unwrap();
        assert_eq!(get(&far.memory, "d").await, Some("1".into()));
        // Another spelling is the same place.
        put(&store, "e/f", "1").await.unwrap();
        assert_eq!(get(&store, "/e//f/").await, Some("1".into()));
    };
    LocalSet::new().run_until(work).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_lost_write_is_told_by_the_flush() {
    let work = async {
        let far = Far::new(2, Kind::Unavailable, Duration::ZERO);
        let store = write_back(&far, after(1));
        put(&store, "a", "1").await.unwrap();
        store.flush().await.unwrap();
        assert_eq!((far.calls.get(), get(&far.memory, "a").await), (3, Some("1".into())));
        let far = Far::new(1, Kind::Denied, Duration::ZERO);
        let store = write_back(&far, after(1));
        put(&store, "a/b", "1").await.unwrap();
        put(&store, "c", "1").await.unwrap();
        let error = store.flush().await.unwrap_err();
        assert_eq!(error.to_string(), "put a/b: the line is down");
        assert_eq!(get(&far.memory, "c").await, Some("1".into()));
        store.flush().await.unwrap();
    };
    LocalSet::new().run_until(work).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn a_write_that_panics_is_lost_alone() {
    let work = async {
        let far = Far::good();
        let store = write_back(&far, after(1));
        for path in ["a", "poison", "c"] {
            put(&store, path, "1").await.unwrap();
        }
        let error = store.flush().await.unwrap_err();
        assert_eq!(error.to_string(), "put poison: the source failed by an internal error");
        for path in ["a", "c"] {
            assert_eq!(get(&far.memory, path).await, Some("1".into()));
        }
        store.flush().await.unwrap();
    };
    LocalSet::new().run_until(work).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn writers_wait_for_room() {
    let work = async {
        let far = Far::new(0, Kind::Failed, Duration::from_secs(1));
        let store = write_back(&far, WriteBackOptions { max_pending: 2, ..after(3600) });
        for path in ["a", "b"] {
            put(&store, path, "1").await.unwrap();
        }
        let began = Instant::now();
        put(&store, "c", "1").await.unwrap();
        assert!((1..3).contains(&began.elapsed().as_secs()));
        let deadline = Some(Instant::now().into_std());
        let context = Context { deadline, ..Context::default() };
        let error = store.put(&at("d"), Content::text("x"), &context).await.unwrap_err();
        assert_eq!((error.kind, error.reference.as_deref()), (Kind::Timeout, Some("d")));
        let far = Far::good();
        let store = write_back(&far, WriteBackOptions { max_size: 1000, ..after(3600) });
        put(&store, "large", &"x".repeat(2000)).await.unwrap();
        assert_eq!(far.calls.get(), 1);
    };
    LocalSet::new().run_until(work).await;
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn everything_can_be_flushed_at_the_end() {
    let work = async {
        let (one, other) = (Far::good(), Far::new(1, Kind::Denied, Duration::ZERO));
        let first = write_back(&one, after(3600));
        put(&first, "a", "1").await.unwrap();
        put(&write_back(&other, after(3600)), "b", "1").await.unwrap();
        // Also of a store that nobody has any more.
        drop(first);
        assert_eq!(flush_all().await.unwrap_err().kind, Kind::Denied);
        assert_eq!(get(&one.memory, "a").await, Some("1".into()));
        flush_all().await.unwrap();
    };
    LocalSet::new().run_until(work).await;
}

async fn copy_of(text: &str) -> Rc<dyn Store> {
    let copy = Memory::site();
    copy.put(&at("a"), Content::text(text.to_string()), &Context::default()).await.unwrap();
    Rc::new(copy)
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn the_next_store_answers_where_one_fails() {
    for kind in [Kind::Unavailable, Kind::Timeout, Kind::Failed, Kind::TooMany] {
        let far = Far::new(1, kind, Duration::from_millis(10));
        let first = Rc::new(Line(far.clone()));
        let store = Fallback::new(vec![first, copy_of("copy").await]);
        let read = store.get(&at("a"), &Context::default()).await.unwrap().unwrap();
        assert_eq!(read.read(99).await.unwrap(), "copy", "{kind:?}");
        // It answers again, and there is nothing.
        assert!(store.get(&at("a"), &Context::default()).await.unwrap().is_none());
    }
    for kind in [Kind::Denied, Kind::Invalid, Kind::NotFound] {
        let first = Rc::new(Line(Far::new(1, kind, Duration::ZERO)));
        let store = Fallback::new(vec![first, copy_of("copy").await]);
        let refused = store.get(&at("a"), &Context::default()).await.err().unwrap();
        assert_eq!(refused.kind, kind);
    }
    let both = [(); 2].map(|()| Far::new(9, Kind::Unavailable, Duration::ZERO));
    let both = both.map(|far| Rc::new(Line(far)) as Rc<dyn Store>);
    let store = Fallback::new(both.to_vec());
    assert!(store.get(&at("a"), &Context::default()).await.is_err());
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn what_is_written_is_the_first_store_s_alone() {
    let far = Far::new(1, Kind::Unavailable, Duration::ZERO);
    let copy = copy_of("copy").await;
    let store = Fallback::new(vec![Rc::new(Line(far.clone())), copy.clone()]);
    let put = |text: &'static str| store.put(&at("a"), Content::text(text), &Context::default());
    assert_eq!(put("new").await.err().unwrap().kind, Kind::Unavailable);
    put("new").await.unwrap();
    let held = copy.get(&at("a"), &Context::default()).await.unwrap().unwrap();
    assert_eq!(held.read(99).await.unwrap(), "copy");
}
