//! Forms of strangers: whatever the content type, the headers of the parts and the parts are, a
//! program gets fields or an error that says what is malformed. The first byte says what the rest is:
//! the body of a form, the headers of one part, or a content type and a body.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_http::{ServerOptions, HttpServer, serve};
use runnel_store::{Answer, Content, Context, Outcome, Reference, Store, json};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::LocalRuntime;

/// Bytes of an input; what is longer meets the same limits.
const LONGEST: usize = 20_000;

/// Answers the fields of a form.
struct Fields;

impl Store for Fields {
    fn get(&self, _: &Reference, _: &Context) -> Answer<Option<Content>> {
        Answer::ok(None)
    }

    fn put(&self, reference: &Reference, _: Content, _: &Context) -> Answer<Outcome> {
        runnel_store::Error::not_allowed(runnel_store::Verb::Put, reference).into()
    }

    fn post(&self, _: &Reference, _: Content, context: &Context) -> Answer<Outcome> {
        let Some(exchange) = &context.exchange else { return Answer::ok(Outcome::changed()) };
        // Each field by its name is what the record says.
        let all = match exchange.form("") {
            Ok(all) => all.unwrap_or_default(),
            Err(error) => return error.into(),
        };
        if let runnel_store::Value::Record(fields) = &all {
            for (name, value) in fields.iter().filter(|(name, _)| !name.is_empty()) {
                let first = match value {
                    runnel_store::Value::List(values) => values.first().cloned(),
                    one => Some(one.clone()),
                };
                assert_eq!(exchange.form(name).ok().flatten(), first, "the field {name:?}");
            }
        }
        Answer::ok(Outcome::changed().with_content(Content::bytes(json::text(&all))))
    }

    fn describe(&self) -> String {
        "the fields of a form".to_string()
    }

    runnel_store::without!(links);
}

struct World {
    runtime: LocalRuntime,
    server: HttpServer,
}

fn world() -> World {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .expect("an event loop");
    let server = runtime.block_on(async {
        let mut options = ServerOptions::default();
        options.address.set_port(0);
        serve(Rc::new(Fields), options).await.expect("a server")
    });
    World { runtime, server }
}

thread_local! {
    static WORLD: World = world();
}

/// The value of a header: what HTTP allows in one.
fn header(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().copied().filter(|byte| (b' '..=b'~').contains(byte)).collect()
}

/// A content type and a body.
fn form(data: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    let (kind, rest) = data.split_first()?;
    let multipart = b"multipart/form-data; boundary=b".to_vec();
    Some(match kind % 4 {
        0 => (multipart, rest.to_vec()),
        1 => (multipart, [b"--b\r\n", rest, b"\r\n\r\nvalue\r\n--b--\r\n"].concat()),
        2 => (b"application/x-www-form-urlencoded".to_vec(), rest.to_vec()),
        _ => {
            let cut = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            let (start, body) = rest.split_at(cut);
            (header(start), body.get(1..).unwrap_or_default().to_vec())
        }
    })
}

fuzz_target!(|data: &[u8]| {
    if data.len() > LONGEST {
        return;
    }
    let Some((content_type, body)) = form(data) else { return };
    let start = format!(
        "POST / HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\nContent-Type: ",
        body.len()
    );
    let request = [start.as_bytes(), &content_type, b"\r\n\r\n", &body].concat();
    WORLD.with(|world| {
        let answer = world.runtime.block_on(async {
            let talk = async {
                let mut stream =
                    TcpStream::connect(world.server.address()).await.expect("it listens");
                // The server may have closed before all is sent.
                let _ = stream.write_all(&request).await;
                let mut answer = Vec::new();
                let _ = stream.read_to_end(&mut answer).await;
                answer
            };
            tokio::time::timeout(Duration::from_secs(5), talk).await
        });
        let answer = answer.expect("the server keeps a client waiting");
        let status = answer.get(9..12).unwrap_or_default();
        let known: [&[u8]; 5] = [b"200", b"204", b"400", b"413", b"431"];
        let text = String::from_utf8_lossy(&answer);
        assert!(known.contains(&status), "this is no answer to a form: {text}");
        if status == b"200" {
            let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
            assert!(json::parse(body.as_bytes()).is_ok(), "this is no JSON: {body}");
        }
    });
});
