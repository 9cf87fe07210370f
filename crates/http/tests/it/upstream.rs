//! Servers that are away, slow, silent, dripping, or that talk nonsense: an error in time that names
//! them, and nothing left behind, ten thousand times.

use futures_util::StreamExt;
use runnel_http::{ClientOptions, client};
use runnel_store::{Content, Context, Kind, Reference, Store};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How often each kind of failure is met.
const TIMES: usize = 10_000;

/// How many verbs are under way at a time.
const TOGETHER: usize = 64;

/// What a bad server does with a connection.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Manner {
    /// Says nothing.
    Silent,
    /// Closes at once.
    Closing,
    /// Talks, but not HTTP.
    Garbage,
    /// Begins an answer and stops in the middle.
    Half,
    /// Breaks an answer off.
    Broken,
}

async fn misbehave(mut stream: TcpStream, manner: Manner) {
    let mut request = [0; 1024];
    // The other side gives up when it likes; so nothing here can go wrong.
    let _ = stream.read(&mut request).await;
    let head: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nsome";
    match manner {
        Manner::Closing => return,
        Manner::Garbage => {
            let _ = stream.write_all(b"\x00\xffnonsense\r\n\r\n").await;
        }
        Manner::Half => {
            let _ = stream.write_all(head).await;
        }
        Manner::Broken => {
            let _ = stream.write_all(head).await;
            return;
        }
        Manner::Silent => {}
    }
    // Until the other side has gone.
    while matches!(stream.read(&mut request).await, Ok(1..)) {}
}

async fn bad_server(manner: Manner) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::task::spawn_local(async move {
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            tokio::task::spawn_local(misbehave(stream, manner));
        }
    });
    port
}

fn quick() -> Rc<dyn Store> {
    let short = Duration::from_millis(20);
    client(ClientOptions { answer_time: short, body_idle: short, ..ClientOptions::default() })
}

/// Where nothing is waited for in vain, a busy machine is no reason to give up.
fn patient() -> Rc<dyn Store> {
    client(ClientOptions::default())
}

fn at(port: u16) -> Reference {
    Reference::from_path(format!("//127.0.0.1:{port}/x")).with_scheme("http")
}

fn run(work: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .unwrap();
    runtime.block_on(work);
}

/// Open descriptors and resident memory in bytes.
fn held() -> (usize, usize) {
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().count();
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages: usize = pages.split_whitespace().nth(1).unwrap().parse().unwrap();
    (descriptors, pages * 4096)
}

async fn fail(store: &Rc<dyn Store>, port: u16, times: usize, kinds: &[Kind]) {
    let verbs = (0..times).map(|_| async {
        let found = store.get(&at(port), &Context::default()).await;
        let error = found.err().expect("a broken answer is an error");
        assert!(kinds.contains(&error.kind), "{error} ({:?})", error.kind);
        // Who talks nonsense will hardly do better in a moment.
        assert_eq!(error.temporary, error.kind != Kind::Failed, "{error}");
        assert!(error.to_string().contains(&format!("127.0.0.1:{port}")), "{error}");
    });
    futures_util::stream::iter(verbs).buffer_unordered(TOGETHER).collect::<Vec<()>>().await;
}

async fn many_times(store: &Rc<dyn Store>, port: u16, kinds: &[Kind]) {
    fail(store, port, TIMES / 2, kinds).await;
    let before = held();
    fail(store, port, TIMES, kinds).await;
    // What the last ones left is closed by tasks of their own.
    for _ in 0..100 {
        if held().0 <= before.0 + TOGETHER {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let after = held();
    assert!(after.0 <= before.0 + TOGETHER, "descriptors: {} after {}", after.0, before.0);
    assert!(after.1 <= before.1 + (16 << 20), "memory: {} after {}", after.1, before.1);
}

/// In a process of its own, one kind after another: descriptors and memory are the whole process's.
#[test]
fn nothing_is_left_of_ten_thousand_failures_of_each_kind() {
    const NAME: &str = "upstream::nothing_is_left_of_ten_thousand_failures_of_each_kind";
    const CHILD: &str = "RUNNEL_TEST_CHILD";
    if std::env::var_os(CHILD).is_none() {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let status = child.args(["--exact", NAME, "--nocapture"]).env(CHILD, "1").status();
        assert!(status.unwrap().success(), "see the output above");
        return;
    }
    run(async {
        let store = quick();
        let free = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        many_times(&patient(), port, &[Kind::Unavailable]).await;
        for manner in
            [Manner::Silent, Manner::Closing, Manner::Garbage, Manner::Half, Manner::Broken]
        {
            let port = bad_server(manner).await;
            match manner {
                Manner::Garbage => many_times(&patient(), port, &[Kind::Failed]).await,
                _ => many_times(&store, port, &[Kind::Unavailable, Kind::Timeout]).await,
            }
        }
    });
}

/// A server that sends a byte now and then is never idle.
#[test]
fn a_deadline_ends_an_answer_that_drips() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::task::spawn_local(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 1024]).await;
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n").await.unwrap();
            while stream.write_all(b"x").await.is_ok() {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        });
        let deadline = Some(Instant::now() + Duration::from_millis(200));
        let context = Context { deadline, ..Context::default() };
        let found = client(ClientOptions::default()).get(&at(port), &context).await;
        assert_eq!(found.err().unwrap().kind, Kind::Timeout);
    });
}

#[test]
fn a_large_answer_that_stops_is_an_error_of_its_stream() {
    run(async {
        let port = bad_server(Manner::Half).await;
        let options = ClientOptions {
            collect: 10,
            body_idle: Duration::from_millis(50),
            ..ClientOptions::default()
        };
        let found = client(options).get(&at(port), &Context::default()).await.unwrap().unwrap();
        let error = found.read(1000).await.err().unwrap();
        assert_eq!(error.kind, Kind::Timeout);
    });
}

/// The second request meets a connection that the server has closed after the first.
#[test]
fn what_may_be_repeated_is_sent_again_on_a_connection_that_had_died() {
    run(async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::task::spawn_local(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = [0; 1024];
                let _ = stream.read(&mut request).await;
                let answer = b"HTTP/1.1 204 No Content\r\n\r\n";
                let _ = stream.write_all(answer).await;
                // Read, and not answered: as a server does that stops.
                let _ = stream.read(&mut request).await;
            }
        });
        let store = client(ClientOptions::default());
        for _ in 0..3 {
            let put = store.put(&at(port), Content::text("x"), &Context::default()).await;
            assert!(!put.unwrap().is_created());
        }
        let posted = store.post(&at(port), Content::text("x"), &Context::default()).await;
        assert_eq!(posted.err().unwrap().kind, Kind::InDoubt);
    });
}

/// Closes so many connections after it has read a request, then answers. Counts the requests.
async fn closing_at_first(times: usize) -> (u16, Rc<std::cell::Cell<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let requests = Rc::new(std::cell::Cell::new(0));
    let counted = requests.clone();
    tokio::task::spawn_local(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let _ = stream.read(&mut [0; 1024]).await;
            counted.set(counted.get() + 1);
            if counted.get() > times {
                let answer = b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n";
                let _ = stream.write_all(answer).await;
            }
        }
    });
    (port, requests)
}

/// What does the same when done twice is sent once more, also on a connection that was new; and no
/// more than once more.
#[test]
fn what_may_be_repeated_is_sent_once_more_on_a_new_connection() {
    run(async {
        let context = Context::default();
        let only_if = Some(runnel_store::Condition::Absent);
        let conditional = Context { only_if, ..Context::default() };
        for (context, closed, answered, sent) in [
            (&context, 1, true, 2),
            (&context, 2, false, 2),
            // The first attempt may have created it, and the second would then be refused.
            (&conditional, 1, false, 1),
        ] {
            let (port, requests) = closing_at_first(closed).await;
            let store = patient();
            let put = store.put(&at(port), Content::text("x"), context).await;
            assert_eq!(put.is_ok(), answered);
            assert_eq!(requests.get(), sent);
            if let Err(error) = put {
                let is_conditional = context.only_if.is_some();
                let kind = if is_conditional { Kind::InDoubt } else { Kind::Unavailable };
                assert_eq!((error.kind, error.temporary), (kind, !is_conditional));
            }
        }
        let (port, requests) = closing_at_first(1).await;
        let merged = patient().merge(&at(port), Content::text("x"), &context).await;
        assert_eq!(merged.err().unwrap().kind, Kind::InDoubt);
        assert_eq!(requests.get(), 1);
    });
}

/// A write that was sent and gets no answer in time was done once, and its client does not know.
#[test]
fn a_write_without_an_answer_in_time_is_in_doubt() {
    run(async {
        let conditional =
            Context { only_if: Some(runnel_store::Condition::Absent), ..Context::default() };
        let (plain, x) = (Context::default(), || Content::text("x"));
        let (port, requests) = answering("").await;
        for (number, (kind, context)) in [
            (Kind::Timeout, &plain),
            (Kind::InDoubt, &conditional),
            (Kind::InDoubt, &plain),
            (Kind::InDoubt, &plain),
        ]
        .into_iter()
        .enumerate()
        {
            let answer = match number {
                0 | 1 => sending().put(&at(port), x(), context).await,
                2 => sending().post(&at(port), x(), context).await,
                _ => sending().merge(&at(port), x(), context).await,
            };
            let error = answer.err().unwrap();
            assert_eq!((error.kind, error.temporary), (kind, kind == Kind::Timeout), "{error}");
            // Sent once, not again.
            assert_eq!(requests.get(), number + 1);
        }
        // The gateway has lost the answer of its server; a server that is overloaded has done nothing.
        for (status, kind) in [
            ("502 Bad Gateway", Kind::InDoubt),
            ("504 Gateway Timeout", Kind::InDoubt),
            ("503 Service Unavailable", Kind::Unavailable),
        ] {
            let answer = format!("HTTP/1.1 {status}\r\nContent-Length: 0\r\n\r\n");
            let (port, _) = answering(answer).await;
            let error = patient().post(&at(port), x(), &plain).await.err().unwrap();
            assert_eq!(error.kind, kind, "{error}");
        }
        let half = "HTTP/1.1 201 Created\r\nContent-Length: 9\r\n\r\nx";
        let (port, _) = answering(half).await;
        let error = sending().post(&at(port), x(), &plain).await.err().unwrap();
        assert_eq!((error.kind, error.temporary), (Kind::InDoubt, false), "{error}");
    });
}

/// Gives up only after there was time to send a request.
fn sending() -> Rc<dyn Store> {
    let time = Duration::from_secs(1);
    client(ClientOptions { answer_time: time, body_idle: time, ..ClientOptions::default() })
}

/// Gives the same answer to each request. Counts them.
async fn answering(answer: impl Into<String>) -> (u16, Rc<std::cell::Cell<usize>>) {
    let (listener, answer) = (TcpListener::bind("127.0.0.1:0").await.unwrap(), answer.into());
    let port = listener.local_addr().unwrap().port();
    let requests = Rc::new(std::cell::Cell::new(0));
    let counted = requests.clone();
    tokio::task::spawn_local(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let (counted, answer) = (counted.clone(), answer.clone());
            tokio::task::spawn_local(async move {
                let mut request = [0; 1024];
                while let Ok(1..) = stream.read(&mut request).await {
                    counted.set(counted.get() + 1);
                    let _ = stream.write_all(answer.as_bytes()).await;
                }
            });
        }
    });
    (port, requests)
}

#[test]
fn values_of_headers_are_not_shown() {
    let headers = vec![("Authorization".to_string(), "Bearer secret".to_string())];
    let options = ClientOptions { headers, ..ClientOptions::default() };
    let shown = format!("{options:?}");
    assert!(shown.contains("Authorization") && !shown.contains("secret"), "{shown}");
}
