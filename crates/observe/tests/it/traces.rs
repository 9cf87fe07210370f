//! Traces from the client's field to a collector.

use crate::support::{ask, body, on_loop, status, watched};
use runnel_http::{ClientOptions, ServerOptions};
use runnel_observe::{ObserveSettings, TraceSettings};
use runnel_store::{Answer, Content, Context, Error, Kind, Outcome, Reference, Store, Value, json};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const CALLER: &str = "00f067aa0ba902b7";

fn parent(flags: &str) -> String {
    format!("traceparent: 00-{TRACE}-{CALLER}-{flags}")
}

/// Keeps what is posted, after refusing so many posts.
#[derive(Default)]
struct Collector {
    posts: Rc<RefCell<Vec<Value>>>,
    refuses: Cell<u32>,
    key: RefCell<String>,
}

impl Store for Collector {
    fn get(&self, _: &Reference, _: &Context) -> Answer<Option<Content>> {
        Answer::ok(None)
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Outcome> {
        assert_eq!(reference.path(), "/v1/traces");
        if self.refuses.get() > 0 {
            self.refuses.set(self.refuses.get() - 1);
            return Error::new(Kind::Unavailable, "later").into();
        }
        *self.key.borrow_mut() = context.exchange.as_ref().unwrap().header("api-key").unwrap();
        let posts = self.posts.clone();
        Answer::later(async move {
            let bytes = content.read(16 << 20).await?;
            posts.borrow_mut().push(json::parse(&bytes)?);
            Ok(Outcome::changed().with_content(Content::text("{}")))
        })
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        "collector".into()
    }
}

impl Collector {
    fn spans(&self) -> Vec<Value> {
        let list = |value: &Value, name: &str| match value.get(name) {
            Some(Value::List(list)) => list.clone(),
            _ => panic!("{name} is missing in {value:?}"),
        };
        let posts = self.posts.borrow();
        let resources = posts.iter().flat_map(|post| list(post, "resourceSpans"));
        let scopes = resources.flat_map(|resource| list(&resource, "scopeSpans"));
        scopes.flat_map(|scope| list(&scope, "spans")).collect()
    }
}

/// Calls another server, or says what it was told.
struct Front {
    client: Rc<dyn Store>,
    upstream: Cell<u16>,
}

impl Store for Front {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        if let "/told" = reference.path() {
            let exchange = context.exchange.as_ref().unwrap();
            let told = exchange.header("traceparent").unwrap_or_default();
            let state = exchange.header("tracestate").unwrap_or_default();
            return Answer::ok(Some(Content::text(format!("{told} {state}"))));
        }
        let place = format!("//127.0.0.1:{}/told?token=hunter2", self.upstream.get());
        self.client.get(&Reference::parse(&place).with_scheme("http"), context)
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        "front".into()
    }
}

struct Both {
    collector: Rc<Collector>,
    collecting: runnel_http::HttpServer,
    settings: ObserveSettings,
}

async fn collecting(ratio: f64) -> Both {
    let collector = Rc::new(Collector::default());
    let options = ServerOptions { address: ([127, 0, 0, 1], 0).into(), ..ServerOptions::default() };
    let server = runnel_http::serve(collector.clone(), options).await.unwrap();
    let traces = TraceSettings {
        endpoint: format!("http://127.0.0.1:{}/v1/traces", server.port()),
        headers: vec![("api-key".into(), "k".into())],
        service: "shop".into(),
        ratio,
        delay: Duration::from_millis(50),
    };
    let settings = ObserveSettings { traces: Some(traces), ..ObserveSettings::default() };
    Both { collector, collecting: server, settings }
}

fn front() -> Rc<Front> {
    let client = runnel_http::client(ClientOptions::default());
    Rc::new(Front { client, upstream: Cell::new(0) })
}

fn text<'a>(span: &'a Value, name: &str) -> &'a str {
    span.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn attribute(span: &Value, name: &str) -> Option<String> {
    let Some(Value::List(list)) = span.get("attributes") else { return None };
    let one = list.iter().find(|one| text(one, "key") == name)?;
    let value = one.get("value")?;
    value.get("stringValue").or(value.get("intValue"))?.as_str().map(str::to_string)
}

#[test]
fn a_trace_goes_through_to_the_next_server() {
    on_loop(async {
        let both = collecting(1.0).await;
        let store = front();
        let server = watched(&both.settings, store.clone()).await;
        store.upstream.set(server.port);
        let answer = ask(server.port, "/x", &[&parent("01"), "tracestate: a=1"]).await;
        let told = body(&answer);
        let (told, state) = told.split_once(' ').unwrap();
        assert_eq!(state, "a=1");
        assert!(told.starts_with(&format!("00-{TRACE}-")) && told.ends_with("-01"), "{told}");
        assert!(!told.contains(CALLER));
        server.stop().await;

        // The caller, the call, and the request that the call made.
        let spans = both.collector.spans();
        assert_eq!(spans.len(), 3, "{spans:?}");
        assert!(spans.iter().all(|span| text(span, "traceId") == TRACE));
        let first = spans.iter().find(|span| text(span, "parentSpanId") == CALLER).unwrap();
        let below = |span: &Value| {
            let id = text(span, "spanId").to_string();
            spans.iter().find(|other| text(other, "parentSpanId") == id).unwrap().clone()
        };
        let call = below(first);
        let last = below(&call);
        assert_eq!(first.get("kind"), Some(&Value::Int(2)));
        assert_eq!(call.get("kind"), Some(&Value::Int(3)));
        assert_eq!(told[36..52], *text(&call, "spanId"));
        let told_at = format!("http://127.0.0.1:{}/told", store.upstream.get());
        assert_eq!(attribute(&call, "url.full"), Some(told_at));
        assert_eq!(attribute(&last, "url.query").as_deref(), Some("token=[hidden]"));
        assert_eq!(attribute(first, "http.response.status_code").as_deref(), Some("200"));
        let nanos = |name| text(first, name).parse::<u64>().unwrap();
        assert!(nanos("startTimeUnixNano") <= nanos("endTimeUnixNano"));
        assert!(nanos("startTimeUnixNano") > 1_700_000_000_000_000_000);
        assert_eq!(*both.collector.key.borrow(), "k");
        both.collecting.stop(Duration::from_secs(5)).await;
    });
}

#[test]
fn a_caller_that_writes_nothing_down_is_followed() {
    on_loop(async {
        let both = collecting(1.0).await;
        let store = front();
        let server = watched(&both.settings, store.clone()).await;
        store.upstream.set(server.port);
        let told = body(&ask(server.port, "/x", &[&parent("00")]).await);
        assert!(told.starts_with(&format!("00-{TRACE}-")) && told.contains("-00 "), "{told}");
        server.stop().await;
        assert!(both.collector.spans().is_empty());
    });
}

#[test]
fn a_part_of_the_traces_that_begin_here_is_written_down() {
    on_loop(async {
        for (ratio, least, most) in [(0.0, 0, 0), (0.5, 10, 90), (1.0, 100, 100)] {
            let both = collecting(ratio).await;
            let server = watched(&both.settings, front()).await;
            for _ in 0..100 {
                assert_eq!(status(&ask(server.port, "/told", &[]).await), 200);
            }
            server.stop().await;
            let count = both.collector.spans().len();
            assert!((least..=most).contains(&count), "{count} with {ratio}");
        }
    });
}

#[test]
fn a_collector_that_is_busy_is_asked_again() {
    on_loop(async {
        let both = collecting(1.0).await;
        both.collector.refuses.set(1);
        let server = watched(&both.settings, front()).await;
        ask(server.port, "/told", &[]).await;
        while both.collector.posts.borrow().is_empty() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(both.collector.spans().len(), 1);
        server.stop().await;
    });
}

#[test]
fn a_collector_that_is_gone_harms_no_request() {
    on_loop(async {
        let both = collecting(1.0).await;
        both.collecting.stop(Duration::from_secs(1)).await;
        let server = watched(&both.settings, front()).await;
        for _ in 0..10 {
            assert_eq!(status(&ask(server.port, "/told", &[]).await), 200);
        }
        server.stop().await;
    });
}
