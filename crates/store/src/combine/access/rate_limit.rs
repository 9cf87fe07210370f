//! Rate limits of clients.

use super::gate::next_gate;
use super::rate_table::{RateQuota, RateTable, RateVerdict, shared_table};
use crate::combine::definition::{Combinator, CombinatorParts};
use crate::combine::layer::{Below, Layer};
use crate::{
    Answer, Body, ClientNetwork, Content, Context, Error, ErrorResponse, Exchange, Kind, Reference,
    Result, Setting, SettingKind, SettingTable, Store, Value, Verb, setting_choices,
};
use std::fmt::Write;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The longest name of a header that a limit reads.
const LONGEST_NAME: usize = 64;

/// What requests have in common that are counted together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LimitKey {
    /// The address of the client (IPv6: its /64 network), also behind trusted proxies.
    Client,
    /// The value of a header; requests without it count by client.
    Header(String),
    /// Nothing: all requests of the route count together.
    Route,
}

/// Which fields tell a client what it has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateLimitFields {
    /// `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10).
    Standard,
    /// `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset`, as drafts up to the sixth had
    /// them, which many clients know.
    Legacy,
    /// None; 429 has `Retry-After`.
    Hidden,
}

setting_choices!(RateLimitFields {
    "standard" => RateLimitFields::Standard,
    "legacy" => RateLimitFields::Legacy,
    "none" => RateLimitFields::Hidden,
});

/// The limits of a [`RateLimit`].
#[derive(Clone, Debug, PartialEq)]
pub struct RateLimitOptions {
    /// Requests in each period, in the long run.
    pub requests: Option<u32>,
    /// The period.
    pub per: Duration,
    /// Requests that may come at once after a quiet time; as many as `requests` when absent.
    pub burst: Option<u32>,
    /// What is counted together.
    pub by: LimitKey,
    /// The message for clients.
    pub headers: RateLimitFields,
}

impl Default for RateLimitOptions {
    /// For each client, by the minute.
    fn default() -> Self {
        RateLimitOptions {
            requests: None,
            per: Duration::from_secs(60),
            burst: None,
            by: LimitKey::Client,
            headers: RateLimitFields::Standard,
        }
    }
}

const SETTINGS: SettingTable<RateLimitOptions> = SettingTable(&[
    Setting::new(
        "requests",
        "requests in each period, in the long run",
        |options: &mut RateLimitOptions| &mut options.requests,
    )
    .range(1.0, 1e6),
    Setting::new("per", "the period", |options: &mut RateLimitOptions| &mut options.per)
        .range(0.001, 2_592_000.0),
    Setting::new(
        "burst",
        "requests that may come at once after a quiet time",
        |options: &mut RateLimitOptions| &mut options.burst,
    )
    .range(1.0, 1e6),
    Setting::custom(
        "by",
        "what is counted together",
        SettingKind::Text,
        |options: &mut RateLimitOptions, value| {
            let key = value.as_str().and_then(key_named);
            options.by = key.ok_or("'client', 'route', 'header:' and a name, or a block")?;
            Ok(())
        },
    ),
    Setting::new(
        "headers",
        "the headers that tell a client what it has left",
        |options: &mut RateLimitOptions| &mut options.headers,
    ),
]);

fn key_named(text: &str) -> Option<LimitKey> {
    match text.split_once(':') {
        None if text == "client" => Some(LimitKey::Client),
        None if text == "route" => Some(LimitKey::Route),
        Some(("header", name)) => {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            let good = (1..=LONGEST_NAME).contains(&name.len()) && name.bytes().all(allowed);
            good.then(|| LimitKey::Header(name.to_ascii_lowercase()))
        }
        _ => None,
    }
}

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "RateLimit",
    aliases: &[],
    help: "refuses requests of a client above a rate, with 429",
    settings: &SETTINGS,
    make: |parts| {
        let options = parts.read("a RateLimit", &SETTINGS)?;
        let mut limit = RateLimit::numbered(parts.source()?, options, number(parts))?;
        limit.block = parts.named("by");
        Ok(limit.into())
    },
};

/// The number that the engine of the program gave the limit: the same in each worker.
fn number(parts: &CombinatorParts) -> Option<u64> {
    match parts.options.get("number") {
        Some(Value::Int(number)) => u64::try_from(*number).ok(),
        Some(Value::Float(number)) => Some(*number as u64),
        _ => None,
    }
}

/// Refuses requests above a rate with [`Kind::TooMany`], at once: nothing waits. Verbs of a program
/// that answers no request are not limited, and the verbs of one request count once.
pub struct RateLimit {
    source: Rc<dyn Store>,
    limit: Rc<ClientLimit>,
    /// Answers the key of a request.
    block: Option<Rc<dyn Store>>,
}

struct ClientLimit {
    table: Arc<RateTable>,
    by: LimitKey,
    headers: RateLimitFields,
    quota: RateQuota,
    /// `RateLimit-Policy`.
    policy: String,
    gate: u64,
}

impl RateLimit {
    /// Limits the requests to `source`, in a table of its own.
    ///
    /// # Errors
    /// [`Kind::Invalid`]: `requests` is missing, or the bucket would take years to fill.
    pub fn new(source: Rc<dyn Store>, options: RateLimitOptions) -> Result<Self> {
        RateLimit::numbered(source, options, None)
    }

    fn numbered(
        source: Rc<dyn Store>,
        options: RateLimitOptions,
        number: Option<u64>,
    ) -> Result<Self> {
        let invalid = |message: &str| Error::new(Kind::Invalid, message);
        let requests = options.requests;
        let requests = requests.ok_or_else(|| invalid("`requests` of a RateLimit is missing"))?;
        let burst = options.burst.unwrap_or(requests).max(1);
        let quota = RateQuota { requests: requests.max(1), per: options.per, burst };
        if !quota.is_countable() {
            return Err(invalid("`burst` of a RateLimit must be used up within ten years"));
        }
        let table = match number {
            Some(number) => shared_table(number, quota, format!("{:?}", options.by)),
            None => Arc::new(RateTable::new(quota)),
        };
        let window = options.per.as_secs_f64().ceil();
        let limit = ClientLimit {
            table,
            by: options.by,
            headers: options.headers,
            quota,
            policy: format!("\"default\";q={requests};w={window}"),
            gate: next_gate(),
        };
        Ok(RateLimit { source, limit: Rc::new(limit), block: None })
    }

    /// The key of a request.
    fn key(&self, exchange: &Rc<dyn Exchange>, on: &Reference, context: &Context) -> Answer<u64> {
        let Some(block) = &self.block else {
            return Answer::ok(self.limit.key(&**exchange));
        };
        let asked = Context { known: None, only_if: None, ..context.clone() };
        let (limit, exchange) = (self.limit.clone(), exchange.clone());
        block.get(on, &asked).map(move |found| match found.as_ref().and_then(text_of) {
            Some(text) => limit.table.key((1_u8, text.as_bytes())),
            None => limit.key(&*exchange),
        })
    }
}

/// The text that a block answers.
fn text_of(content: &Content) -> Option<&str> {
    let text = match &content.body {
        Body::Text(text) => text.as_str(),
        Body::Value(Value::Text(text)) => text.as_str(),
        _ => return None,
    };
    (!text.is_empty()).then_some(text)
}

impl ClientLimit {
    fn key(&self, exchange: &dyn Exchange) -> u64 {
        match &self.by {
            LimitKey::Route => 0,
            LimitKey::Client => self.client(exchange),
            LimitKey::Header(name) => match exchange.header(name) {
                Some(value) if !value.is_empty() => self.table.key((1_u8, value.as_bytes())),
                _ => self.client(exchange),
            },
        }
    }

    fn client(&self, exchange: &dyn Exchange) -> u64 {
        self.table.key((0_u8, ClientNetwork::of(exchange.client())))
    }

    /// Counts a request, unless it was counted before.
    fn admit(&self, key: u64, exchange: &dyn Exchange) -> Result<()> {
        let now = self.table.now();
        let verdict = match exchange.has_passed(self.gate) {
            true => self.table.look(key, now),
            false => self.table.take(key, now),
        };
        self.tell(&verdict, exchange)?;
        if verdict.allowed {
            exchange.pass(self.gate);
            return Ok(());
        }
        Err(too_many("requests", verdict.wait))
    }

    /// Tells the client what it has left.
    fn tell(&self, verdict: &RateVerdict, exchange: &dyn Exchange) -> Result<()> {
        let RateVerdict { remaining, reset, .. } = verdict;
        let reset = whole_seconds(*reset);
        match self.headers {
            RateLimitFields::Hidden => Ok(()),
            RateLimitFields::Standard => {
                exchange.set_header("ratelimit-policy", &self.policy)?;
                let mut left = String::with_capacity(32);
                // Writing to memory never fails.
                let _ = write!(left, "\"default\";r={remaining};t={reset}");
                exchange.set_header("ratelimit", &left)
            }
            RateLimitFields::Legacy => {
                exchange.set_header("ratelimit-limit", &self.quota.burst.to_string())?;
                exchange.set_header("ratelimit-remaining", &remaining.to_string())?;
                exchange.set_header("ratelimit-reset", &reset.to_string())
            }
        }
    }
}

/// The refusal of what a limit counts, until it is allowed again.
pub(super) fn too_many(what: &str, wait: Duration) -> Error {
    let seconds = whole_seconds(wait).max(1);
    let headers = vec![("retry-after".to_string(), seconds.to_string())];
    let response = ErrorResponse { status: None, headers };
    let error = Error::new(Kind::TooMany, format!("too many {what}; try again in {seconds} s"));
    Error { response: Some(Box::new(response)), ..error }
}

/// Seconds, rounded up: nobody comes back too early.
fn whole_seconds(time: Duration) -> u64 {
    time.as_secs() + u64::from(time.subsec_nanos() > 0)
}

impl Layer for RateLimit {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.source, reference))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        let (limit, block) = (self.limit.clone(), self.block.clone());
        Some(Rc::new(RateLimit { source: inner, limit, block }))
    }

    fn relays(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        let RateQuota { requests, per, .. } = self.limit.quota;
        format!("rate limit {requests} per {per:?}")
    }

    fn around<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        context: &Context,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        let Some(exchange) = &context.exchange else {
            return act(&*self.source, reference, context);
        };
        match self.key(exchange, reference, context) {
            Answer::Ready(key) => match key.and_then(|key| self.limit.admit(key, &**exchange)) {
                Ok(()) => act(&*self.source, reference, context),
                Err(error) => error.on(verb, reference).into(),
            },
            Answer::Later(key) => {
                let (source, limit, exchange) =
                    (self.source.clone(), self.limit.clone(), exchange.clone());
                let (on, context) = (reference.clone(), context.clone());
                Answer::later(async move {
                    let admitted = key.await.and_then(|key| limit.admit(key, &*exchange));
                    admitted.map_err(|error| error.on(verb, &on))?;
                    act(&*source, &on, &context).await
                })
            }
        }
    }
}
