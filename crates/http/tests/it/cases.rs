//! The raw HTTP cases of `tests/cases/http.jsonl` against a server with the routes that they need.

use crate::helper::{of_any_host, run};
use bytes::Bytes;
use futures_util::{StreamExt, stream};
use runnel_http::{HttpServer, Limits, ProxyOptions, ServerOptions, proxy, serve};
use runnel_scratch::run_http_cases;
use runnel_store::{
    Answer, Body, Content, Context, EntityTag, Error, Exchange, Kind, Outcome, Reference, Result,
    Store, Value, Verb, Verbs,
};
use std::cell::Cell;
use std::net::SocketAddr;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;

/// Cases that are known to fail, with the reason.
const KNOWN: &[(&str, &str)] = &[("DY-09", "request ids belong to a layer above this one")];

/// Cases that differ through a reverse proxy, with the reason.
const BEHIND: &[(&str, &str)] = &[KNOWN[0]];

/// The routes of the cases that need a program.
#[derive(Default)]
struct Fixture {
    limited: Cell<u32>,
}

impl Fixture {
    fn page(&self, reference: &Reference, exchange: &dyn Exchange) -> Result<Option<Content>> {
        let text = match reference.path() {
            "/hello" => "hello\n".to_string(),
            "/healthz" | "/readyz" => "ok".to_string(),
            "/utf8" => "ééé".to_string(),
            "/echo" => return Ok(Some(echo(reference, exchange))),
            "/nocontent" => return Ok(Some(Content::default())),
            "/json-only" => return Ok(Some(Content::value(Value::Record(Vec::new())))),
            "/boom" => panic!("boom"),
            "/html" => {
                let name = exchange.query("name").unwrap_or_default();
                let page = format!(
                    "<p>{}</p>",
                    name.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
                );
                return Ok(Some(Content::text(page).with_media_type("text/html")));
            }
            "/set-header" => {
                exchange.set_header("X-V", &exchange.query("v").unwrap_or_default())?;
                String::new()
            }
            "/cookies" => {
                exchange.set_header("Set-Cookie", "a=1")?;
                exchange.set_header("Set-Cookie", "b=2")?;
                String::new()
            }
            "/limited" => {
                self.limited.set(self.limited.get() + 1);
                if self.limited.get() > 5 {
                    exchange.set_status(429);
                    exchange.set_header("Retry-After", "60")?;
                }
                String::new()
            }
            "/doc/1" => {
                let entity_tag = Some(EntityTag::strong("v1"));
                return Ok(Some(Content { entity_tag, ..Content::text("v1") }));
            }
            "/stream" => return Ok(Some(streamed(&["0\n", "1\n", "2\n"], None))),
            "/stream-fail" => {
                return Ok(Some(streamed(&["part\n"], Some(Error::new(Kind::Failed, "stopped")))));
            }
            "/sse" => {
                exchange.set_header("Cache-Control", "no-cache")?;
                return Ok(Some(ticks()));
            }
            _ => return Ok(None),
        };
        Ok(Some(Content::text(text)))
    }
}

/// What came, as JSON.
fn echo(reference: &Reference, exchange: &dyn Exchange) -> Content {
    let names = ["host", "x-a", "cookie", "x-trail", "authorization", "content-type"];
    let headers = names
        .iter()
        .filter_map(|name| Some((name.to_string(), Value::Text(exchange.header(name)?))))
        .collect();
    let text = |text: &str| Value::Text(text.to_string());
    let body = exchange.body().map(|body| body.to_string()).unwrap_or_default();
    Content::value(Value::Record(vec![
        ("method".into(), text(exchange.method())),
        ("path".into(), text(reference.path())),
        ("query".into(), text(reference.query().unwrap_or_default())),
        ("host".into(), text(&exchange.header("host").unwrap_or_default())),
        ("headers".into(), Value::Record(headers)),
        ("body".into(), Value::Text(body)),
    ]))
}

fn streamed(pieces: &'static [&'static str], end: Option<Error>) -> Content {
    let pieces = stream::iter(pieces).map(|piece| Ok(Bytes::from_static(piece.as_bytes())));
    let pieces = pieces.chain(stream::iter(end.map(Err)));
    Content { body: Body::Stream(Box::pin(pieces), None), ..Content::default() }
}

/// Three events, 300 ms apart.
fn ticks() -> Content {
    let pieces = stream::iter(0..3).then(|number| async move {
        if number > 0 {
            tokio::time::sleep(Duration::from_millis(300)).await;
        }
        Ok(Bytes::from(format!("id: {number}\ndata: tick\n\n")))
    });
    Content { body: Body::Stream(Box::pin(pieces), None), ..Content::default() }
        .with_media_type("text/event-stream")
}

impl Store for Fixture {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        let exchange = context.exchange.clone();
        if reference.path() == "/slow" {
            let wait = exchange.and_then(|exchange| exchange.query("ms")?.parse().ok());
            return Answer::later(async move {
                tokio::time::sleep(Duration::from_millis(wait.unwrap_or(0))).await;
                Ok(Some(Content::text("slow\n")))
            });
        }
        match exchange {
            Some(exchange) => self.page(reference, &*exchange).into(),
            None => Answer::ok(None),
        }
    }

    fn put(&self, _: &Reference, _: Content, _: &Context) -> Answer<Outcome> {
        Answer::ok(Outcome::changed())
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        let Some(exchange) = context.exchange.clone() else {
            return Answer::ok(Outcome::changed());
        };
        if reference.path() == "/json" {
            let json = content.media_type.as_deref() == Some("application/json");
            return match json {
                false => Error::new(Kind::Unsupported, "JSON is expected").into(),
                true => Error::new(Kind::Invalid, "name and score are wrong").into(),
            };
        }
        let reference = reference.clone();
        Answer::later(async move {
            // A body that was too large to be collected is read here.
            content.read(usize::MAX).await?;
            Ok(Outcome::changed().with_content(echo(&reference, &*exchange)))
        })
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        let reading = Verbs::NONE.with(Verb::Get);
        match reference.path() {
            "/echo" | "/json" => reading.with(Verb::Post),
            "/doc/1" => reading.with(Verb::Put),
            _ => reading,
        }
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        "routes of the cases".to_string()
    }
}

fn limits() -> Limits {
    let seconds = Duration::from_secs;
    Limits {
        header_time: seconds(3),
        body_idle: seconds(3),
        keep_alive: seconds(3),
        request_time: seconds(5),
        body: 1024 * 1024,
        ..Limits::default()
    }
}

async fn server_of(root: Rc<dyn Store>) -> HttpServer {
    let address = ([127, 0, 0, 1], 0).into();
    let options = ServerOptions {
        address,
        limits: of_any_host(limits()),
        http2: false,
        ..ServerOptions::default()
    };
    serve(root, options).await.unwrap()
}

/// Runs the cases against a server. The runner blocks its thread; the server works meanwhile.
async fn failures(address: SocketAddr, known: &[(&str, &str)]) -> Vec<String> {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/cases/http.jsonl");
    let cases = std::fs::read_to_string(file).unwrap();
    let run = move || run_http_cases(address, &cases, &["any", "dynamic"], false);
    let (count, mut failed) = tokio::task::spawn_blocking(run).await.unwrap();
    assert!(count > 100, "{count} cases ran");
    failed.retain(|line| !known.iter().any(|(known, _)| line.starts_with(known)));
    failed
}

#[test]
fn the_raw_cases_pass() {
    let failed = run(async {
        let server = server_of(Rc::new(Fixture::default())).await;
        failures(server.address(), KNOWN).await
    });
    assert!(failed.is_empty(), "{failed:#?}");
}

#[test]
fn the_raw_cases_pass_through_a_reverse_proxy() {
    let failed = run(async {
        let upstream = server_of(Rc::new(Fixture::default())).await;
        let to = vec![format!("http://{}", upstream.address())];
        let server =
            server_of(proxy(ProxyOptions { to, ..ProxyOptions::default() }).unwrap()).await;
        failures(server.address(), BEHIND).await
    });
    assert!(failed.is_empty(), "{failed:#?}");
}
