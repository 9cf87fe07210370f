//! Servers that are away, slow, or say no.

use crate::support::*;
use crate::wrong::*;
use runnel_s3::{S3, S3Options};
use runnel_store::{Condition, Content, Context, Error, Kind, Result, Store};
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

fn answer(status: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\ncontent-length: {length}\r\n{headers}\r\n{body}")
}

fn refusal(code: &str) -> String {
    format!("<?xml version=\"1.0\"?><Error><Code>{code}</Code><Message>words</Message></Error>")
}

fn store(endpoint: &str) -> S3 {
    S3::new(S3Options {
        bucket: Some("cats".into()),
        connect_time: Duration::from_millis(300),
        answer_time: Duration::from_millis(300),
        ..options(endpoint)
    })
    .unwrap()
}

/// Reads, looks, writes and removes; each has to fail.
async fn all_fail(store: &S3) -> Vec<Error> {
    let context = Context::default();
    let read = match store.get(&at("a/b"), &context).await {
        Ok(Some(content)) => content.read(usize::MAX).await.map(|_| ()),
        Ok(None) => Ok(()),
        Err(error) => Err(error),
    };
    let results: [Result<()>; 4] = [
        read,
        store.list(&at("a/b"), &context).await.map(|_| ()),
        store.put(&at("a/b"), Content::text("x"), &context).await.map(|_| ()),
        store.delete(&at("a/b"), &context).await.map(|_| ()),
    ];
    results.into_iter().map(|result| result.unwrap_err()).collect()
}

#[test]
fn a_server_that_is_away_is_told_by_name() {
    run(async {
        // Bound and not listening: connections are refused, and no other test gets the port.
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let free = socket.local_addr().unwrap();
        let store = store(&format!("http://{free}"));
        for error in all_fail(&store).await {
            assert_eq!((error.kind, error.temporary), (Kind::Unavailable, true));
            assert_eq!(error.message, format!("{free} refused the connection"));
            assert_eq!(error.reference.as_deref(), Some("a/b"));
        }
    });
}

#[test]
fn a_server_that_says_nothing_is_given_up() {
    run(async {
        let (endpoint, _) = server(Says { answers: vec![String::new()], closes: false }).await;
        for error in all_fail(&store(&endpoint)).await {
            assert_eq!((error.kind, error.temporary), (Kind::Timeout, true));
            assert!(error.message.contains("took too long to answer"), "{error}");
        }
        let patient = S3::new(S3Options { bucket: Some("cats".into()), ..options(&endpoint) });
        let soon = Instant::now() + Duration::from_millis(50);
        let context = Context { deadline: Some(soon), ..Context::default() };
        let error = patient.unwrap().get(&at("x"), &context).await.err().unwrap();
        assert_eq!(error.kind, Kind::Timeout);
    });
}

/// A conditional write that was sent and got no usable answer may have been done: it is not sent
/// again, because its own effect would make the condition untrue.
#[test]
fn a_conditional_write_whose_answer_is_lost_is_in_doubt() {
    run(async {
        let missing = || "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_string();
        let absent = Context { only_if: Some(Condition::Absent), ..Context::default() };
        let broken = |status: &str, code: &str| answer(status, "", &refusal(code));
        for (says, closes) in [
            (String::new(), false),
            (broken("500 Internal Server Error", "InternalError"), false),
            (broken("502 Bad Gateway", "Gateway"), false),
        ] {
            let (endpoint, count) = server(Says { answers: vec![missing(), says], closes }).await;
            let put = store(&endpoint).put(&at("a"), Content::text("x"), &absent).await;
            let error = put.unwrap_err();
            assert_eq!((error.kind, error.temporary), (Kind::InDoubt, false), "{error}");
            // A look, and one attempt.
            assert_eq!(count.get(), 2);
        }
        // Without a condition, it does the same when it is done twice.
        let (endpoint, _) =
            server(Says { answers: vec![missing(), String::new()], closes: false }).await;
        let put = store(&endpoint).put(&at("a"), Content::text("x"), &Context::default()).await;
        let error = put.unwrap_err();
        assert_eq!((error.kind, error.temporary), (Kind::Timeout, true), "{error}");
    });
}

#[test]
fn a_server_that_stops_in_the_middle_is_given_up() {
    run(async {
        let half = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n<ListBucketResult>";
        let (endpoint, _) = server(Says { answers: vec![half.into()], closes: false }).await;
        let (context, store) = (Context::default(), store(&endpoint));
        let error = store.get(&at("a"), &context).await.err().unwrap();
        assert_eq!(error.kind, Kind::Timeout);
        let error = store.list(&at("a"), &context).await.err().unwrap();
        assert_eq!(error.kind, Kind::Timeout);
        // A large object, of which the rest never comes.
        let half = "HTTP/1.1 200 OK\r\ncontent-length: 100000000\r\n\r\nabc";
        for (closes, kind) in [(false, Kind::Timeout), (true, Kind::Unavailable)] {
            let (endpoint, _) = server(Says { answers: vec![half.into()], closes }).await;
            let store = self::store(&endpoint);
            let content = store.get(&at("a"), &context).await.unwrap().unwrap();
            let error = content.read(usize::MAX).await.unwrap_err();
            assert_eq!((error.kind, error.reference.as_deref()), (kind, Some("a")));
        }
    });
}

/// Answers the requests of an upload; making the object of the parts takes longer than the client
/// waits for an answer, with white space meanwhile.
async fn slow_completion() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    tokio::task::spawn_local(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::task::spawn_local(async move {
                let mut stream = BufReader::new(stream);
                while let Some((head, length)) = head_of(&mut stream).await {
                    let mut body = vec![0; length];
                    stream.read_exact(&mut body).await.unwrap();
                    let whole = match head.as_str() {
                        head if head.contains("?uploads") => {
                            answer("200 OK", "", "<R><UploadId>u</UploadId></R>")
                        }
                        head if head.starts_with("HEAD") => answer("404 Not Found", "", ""),
                        head if head.starts_with("PUT") => answer("200 OK", "etag: \"a\"\r\n", ""),
                        _ => {
                            let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
                            stream.write_all(head.as_bytes()).await.unwrap();
                            for _ in 0..6 {
                                tokio::time::sleep(Duration::from_millis(150)).await;
                                stream.write_all(b"1\r\n \r\n").await.unwrap();
                                stream.flush().await.unwrap();
                            }
                            let done = "<R><ETag>a</ETag></R>";
                            format!("{:x}\r\n{done}\r\n0\r\n\r\n", done.len())
                        }
                    };
                    stream.write_all(whole.as_bytes()).await.unwrap();
                    stream.flush().await.unwrap();
                }
            });
        }
    });
    endpoint
}

/// The line of a request, and the length of its body.
async fn head_of(stream: &mut BufReader<TcpStream>) -> Option<(String, usize)> {
    let (mut first, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.ok()? == 0 {
            return None;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        match line.trim_end() {
            "" => return Some((first, length)),
            _ if first.is_empty() => first = line,
            _ => {}
        }
    }
}

#[test]
fn an_upload_may_be_completed_for_longer_than_an_answer_takes() {
    run(async {
        let endpoint = slow_completion().await;
        let large = Content::bytes(vec![0; runnel_s3::PART + 1]);
        let began = Instant::now();
        let stored = store(&endpoint).put(&at("a"), large, &none()).await;
        assert!(stored.is_ok(), "{stored:?}");
        assert!(began.elapsed() > Duration::from_millis(850));
    });
}

#[test]
fn what_is_no_s3_is_an_error() {
    run(async {
        let noise = "SSH-2.0-OpenSSH\r\n".to_string();
        let (endpoint, _) = server(Says { answers: vec![noise], closes: true }).await;
        for error in all_fail(&store(&endpoint)).await {
            assert_eq!((error.kind, error.temporary), (Kind::Failed, false));
            assert!(error.message.contains("does not speak HTTP"), "{error}");
        }
        let page = answer("200 OK", "", "<html><body>Welcome</body></html>");
        let (endpoint, _) = server(Says { answers: vec![page], closes: false }).await;
        let error = store(&endpoint).list(&at("a"), &none()).await.unwrap_err();
        assert_eq!(error.message, "the server answered something else than a list of objects");
        let large = Content::bytes(vec![0; runnel_s3::PART]);
        let error = store(&endpoint).put(&at("a"), large, &none()).await.unwrap_err();
        assert_eq!(error.message, "the server answered something else than the name of an upload");
    });
}

#[test]
fn refusals_say_what_to_look_at() {
    run(async {
        for (status, code, kind, words) in [
            ("403 Forbidden", "InvalidAccessKeyId", Kind::Denied, "AWS_ACCESS_KEY_ID"),
            ("403 Forbidden", "SignatureDoesNotMatch", Kind::Denied, "AWS_SECRET_ACCESS_KEY"),
            ("403 Forbidden", "AccessDenied", Kind::Denied, "rights of the access key"),
            ("400 Bad Request", "ExpiredToken", Kind::Denied, "new credentials"),
        ] {
            let says = answer(status, "", &refusal(code));
            // A look (HEAD) has no body, so it is answered without one.
            let look = format!("HTTP/1.1 403 Forbidden\r\ncontent-length: {}\r\n\r\n", 10);
            let (endpoint, _) = server(Says { answers: vec![says.clone()], closes: true }).await;
            let error = store(&endpoint).get(&at("a"), &none()).await.err().unwrap();
            assert_eq!(error.kind, kind, "{error}");
            assert!(error.message.contains(words), "{error}");
            assert!(!error.to_string().contains("words"), "{error}");
            let answers = vec![look, says];
            let (endpoint, _) = server(Says { answers, closes: true }).await;
            let error = store(&endpoint).put(&at("a"), Content::text("x"), &none()).await;
            assert!(error.unwrap_err().message.contains(words));
        }
        let moved = answer(
            "301 Moved Permanently",
            "x-amz-bucket-region: eu-west-1\r\n",
            &refusal("PermanentRedirect"),
        );
        let (endpoint, _) = server(Says { answers: vec![moved], closes: true }).await;
        let error = store(&endpoint).get(&at("a"), &none()).await.err().unwrap();
        let expected = "get a: the bucket cats is in the region eu-west-1; set AWS_REGION to it";
        assert_eq!(error.to_string(), expected);
    });
}

#[test]
fn a_server_that_asks_to_come_back_is_asked_again() {
    run(async {
        let busy = || answer("503 Slow Down", "", &refusal("SlowDown"));
        let good = answer("200 OK", "content-type: text/plain\r\n", "here");
        let (endpoint, count) =
            server(Says { answers: vec![busy(), busy(), good], closes: false }).await;
        assert_eq!(get(&store(&endpoint), "a").await, Some("here".into()));
        assert_eq!(count.get(), 3);
        let (endpoint, count) = server(Says { answers: vec![busy()], closes: true }).await;
        let patient = S3::new(S3Options { bucket: Some("cats".into()), ..options(&endpoint) });
        let error = patient.unwrap().get(&at("a"), &none()).await.err().unwrap();
        assert_eq!((error.kind, error.temporary), (Kind::Unavailable, true));
        assert_eq!(count.get(), 3);
    });
}

#[test]
fn credentials_have_to_be_somewhere() {
    run(async {
        let nowhere = |name: &str| (name == "AWS_EC2_METADATA_DISABLED").then(|| "true".into());
        let store = S3::new(S3Options {
            key: None,
            secret: None,
            variable: Rc::new(nowhere),
            bucket: Some("cats".into()),
            ..options("http://127.0.0.1:1")
        });
        let error = store.unwrap().get(&at("a"), &none()).await.err().unwrap();
        assert_eq!(error.kind, Kind::Denied);
        assert!(error.message.contains("AWS_ACCESS_KEY_ID"), "{error}");
        let half = S3Options {
            secret: None,
            bucket: Some("cats".into()),
            ..options("http://127.0.0.1:1")
        };
        let error = S3::new(half).unwrap().get(&at("a"), &none()).await.err().unwrap();
        assert_eq!(error.kind, Kind::Invalid);
    });
}
