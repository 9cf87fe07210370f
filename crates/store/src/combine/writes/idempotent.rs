//! Posts and merges that a client may repeat: the answer is kept with the rows it is about.

mod kept;

use crate::combine::definition::{Combinator, CombinatorParts, CombinedStore};
use crate::combine::layer::{Below, Layer};
use crate::{
    Answer, COLLECT_LIMIT, Content, Context, Error, Form, Kind, Outcome, RecordingExchange,
    Reference, Result, Setting, SettingKind, SettingTable, Store, Tables, Transaction, Value, Verb,
    fill_random,
};
use kept::{KeptAnswer, digest, forward, is_again};
use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The header of a request that may be repeated (draft-ietf-httpapi-idempotency-key-header).
const HEADER: &str = "idempotency-key";

/// The table of the keys and answers.
const TABLE: &str = "runnel_idempotency";

/// Characters of a key.
const KEY_LENGTH: usize = 255;

/// How long an answer is kept.
const KEPT: Duration = Duration::from_secs(24 * 3600);

/// How often a request is tried that met others.
const ATTEMPTS: u32 = 20;

/// The longest pause between two of them.
const PAUSE: Duration = Duration::from_millis(50);

const SETTINGS: SettingTable<()> = SettingTable(&[Setting::apart(
    "database",
    "the database of the rows, which keeps keys and answers",
    SettingKind::Store,
)]);

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "Idempotent",
    aliases: &[],
    help: "does a request with an `Idempotency-Key` once, and repeats its answer",
    settings: &SETTINGS,
    make,
};

fn make(parts: &CombinatorParts) -> Result<CombinedStore> {
    let Some(database) = parts.named("database") else {
        return Err(Error::new(Kind::Invalid, "an Idempotent needs the `database` of its rows"));
    };
    Ok(Idempotent::new(parts.source()?, database).into())
}

/// Does a post or merge with an `Idempotency-Key` once. It runs in a transaction of the database, which also
/// keeps the answer: both happen, or neither. The same request again gets the same answer, for a day;
/// another request with the key of an earlier one is [`Kind::Unprocessable`]. Errors are not kept, so that
/// a request that failed can be repeated. Other verbs can be repeated as they are.
///
/// The key belongs to the credentials of the request: its `Authorization`, its cookies and its `X-API-Key`. A kept
/// answer also names the other headers that its handler has read: a request with other values of them is another one,
/// for they may be what a guard knows a client by. Before an answer is repeated the guards of its handler are asked
/// again, and its session has to be open ([`Store::readmit`]). What the source does outside of the database happens
/// once for each attempt.
pub struct Idempotent {
    inner: Rc<Inner>,
}

struct Inner {
    source: Rc<dyn Store>,
    database: Rc<dyn Store>,
    /// Whether the table is there.
    is_ready: Cell<bool>,
}

/// A request with its key.
struct KeyedRequest {
    verb: Verb,
    reference: Reference,
    content: Content,
    context: Context,
    /// The key with the credentials it belongs to.
    id: String,
    /// What the request is.
    fingerprint: String,
}

impl Idempotent {
    /// Keeps the answers of `source` in a table of `database`.
    pub fn new(source: Rc<dyn Store>, database: Rc<dyn Store>) -> Self {
        Idempotent { inner: Rc::new(Inner { source, database, is_ready: Cell::new(false) }) }
    }

    fn write(
        &self,
        verb: Verb,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        let key = context.exchange.as_ref().and_then(|exchange| exchange.header(HEADER));
        let Some(key) = key else {
            return forward(&*self.inner.source, verb, reference, content, context);
        };
        let (inner, reference, context) = (self.inner.clone(), reference.clone(), context.clone());
        Answer::later(async move {
            let request = KeyedRequest::read(verb, reference, content, context, &key).await?;
            inner.once(&request).await
        })
    }
}

impl KeyedRequest {
    async fn read(
        verb: Verb,
        reference: Reference,
        content: Content,
        context: Context,
        key: &str,
    ) -> Result<KeyedRequest> {
        let is_plain = key.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
        if key.is_empty() || key.len() > KEY_LENGTH || !is_plain {
            let message = format!("an Idempotency-Key has 1 to {KEY_LENGTH} printable characters");
            return Err(Error::new(Kind::Invalid, message));
        }
        if context.from_client.as_ref().is_some_and(|client| client.stream.is_some()) {
            let message = "a streamed request cannot be repeated; leave out its Idempotency-Key";
            return Err(Error::new(Kind::NotAllowed, message));
        }
        let content = content.collected(COLLECT_LIMIT).await?;
        let copy = content.share().unwrap_or_default();
        let kind = copy.media_type.clone().unwrap_or_default().into_owned();
        let bytes = copy.encode(Form::Json).await?;
        let header = |name: &str| {
            context.exchange.as_ref().and_then(|exchange| exchange.header(name)).unwrap_or_default()
        };
        let query = reference.query().unwrap_or_default();
        let what = [verb.name(), reference.path(), query, &kind];
        let fingerprint = digest(what.map(str::as_bytes).into_iter().chain([&*bytes]));
        let who = [key, &header("authorization"), &header("cookie"), &header("x-api-key")];
        let id = digest(who.map(str::as_bytes).into_iter());
        Ok(KeyedRequest { verb, reference, content, context, id, fingerprint })
    }
}

impl Inner {
    fn tables(&self) -> Result<&dyn Tables> {
        let refusal = "the `database` of an Idempotent has to be a database with transactions";
        self.database.tables().ok_or_else(|| Error::new(Kind::Invalid, refusal))
    }

    async fn run(&self, sql: &str, values: Vec<Value>, context: &Context) -> Result<Value> {
        let rows = self.tables()?.run(&Reference::default(), sql, values, context).await?;
        rows.into_value(COLLECT_LIMIT).await
    }

    /// Makes the table where it is missing.
    async fn prepare(&self) -> Result<()> {
        if !self.is_ready.get() {
            let sql = format!(
                "create table if not exists {TABLE} (id text primary key, fingerprint text not null, \
                 answer text not null, kept bigint not null)"
            );
            self.run(&sql, Vec::new(), &Context::default()).await?;
            self.is_ready.set(true);
        }
        Ok(())
    }

    async fn once(&self, request: &KeyedRequest) -> Result<Outcome> {
        self.prepare().await?;
        let mut attempt = 1;
        loop {
            let transaction =
                self.tables()?.begin(&Reference::default(), None, &request.context).await?;
            let done = self.within(request, &transaction).await;
            match done {
                Ok(outcome) => return Ok(outcome),
                Err((error, again)) if !again || attempt >= ATTEMPTS => return Err(error),
                Err(_) => {}
            }
            attempt += 1;
            tokio::time::sleep(pause()).await;
        }
    }

    /// One attempt; an error with whether another one is worth while.
    async fn within(
        &self,
        request: &KeyedRequest,
        transaction: &Rc<dyn Transaction>,
    ) -> std::result::Result<Outcome, (Error, bool)> {
        let joined = Some(transaction.clone());
        let deadline = request.context.deadline;
        let own = Context { transaction: joined.clone(), deadline, ..Context::default() };
        let mut found = self.find(request, &own).await;
        if let Ok(Some(kept)) = &found
            && let Err(error) = self.readmit(request, kept, transaction).await
        {
            found = Err(error);
        }
        if !matches!(found, Ok(None)) {
            let _ = transaction.roll_back().await;
            let found = found.map_err(|error| (error.clone(), is_again(&error)))?;
            let kept =
                found.ok_or_else(|| (Error::new(Kind::Failed, "no answer is kept"), false))?;
            return kept.outcome(&request.context).map_err(|error| (error, false));
        }
        let (recorded, recording) = request.context.recorded(&request.reference);
        let context = Context { transaction: joined, ..recorded };
        let content = request.content.share().unwrap_or_default();
        let verb = request.verb;
        let done = forward(&*self.source, verb, &request.reference, content, &context).await;
        let kept = match done {
            Ok(outcome) => self.keep(request, outcome, recording.as_deref(), &own).await,
            Err(error) => Err((error.clone(), is_again(&error))),
        };
        match kept {
            Ok(kept) => match transaction.commit().await {
                Ok(()) => kept.outcome(&Context::default()).map_err(|error| (error, false)),
                Err(error) => Err((error.clone(), is_again(&error))),
            },
            Err(failed) => {
                let _ = transaction.roll_back().await;
                Err(failed)
            }
        }
    }

    /// Asks once more who may get a kept answer: its session may have ended, or its user have lost a right.
    async fn readmit(
        &self,
        request: &KeyedRequest,
        kept: &KeptAnswer,
        transaction: &Rc<dyn Transaction>,
    ) -> Result<()> {
        let (recorded, recording) = request.context.recorded(&request.reference);
        let context = Context { transaction: Some(transaction.clone()), ..recorded };
        let (verb, on) = (request.verb, &request.reference);
        let content = request.content.share().unwrap_or_default();
        self.source.readmit(verb, on, content, kept.guards(), &context).await?;
        match kept.is_of_users(&recording.map(|it| it.users()).unwrap_or_default()) {
            true => Ok(()),
            false => Err(Error::new(Kind::Unauthorized, "the session of this request has ended")),
        }
    }

    /// The answer that is kept.
    async fn find(&self, request: &KeyedRequest, own: &Context) -> Result<Option<KeptAnswer>> {
        let sql = format!("select fingerprint, answer from {TABLE} where id = $1 and kept > $2");
        let values = vec![request.id.as_str().into(), Value::Int(seconds() - kept_seconds())];
        let rows = self.run(&sql, values, own).await?;
        let Some(row) = rows.as_list().and_then(<[Value]>::first) else { return Ok(None) };
        let kept = KeptAnswer::read(row.get("answer").and_then(Value::as_str).unwrap_or_default())?;
        let is_same = row.get("fingerprint").and_then(Value::as_str) == Some(&request.fingerprint);
        if !is_same || !kept.is_for(&request.context) {
            let message = "this Idempotency-Key belongs to another request; take a new one";
            return Err(Error::new(Kind::Unprocessable, message));
        }
        Ok(Some(kept))
    }

    /// Keeps the answer, and forgets old ones.
    async fn keep(
        &self,
        request: &KeyedRequest,
        outcome: Outcome,
        recording: Option<&RecordingExchange>,
        own: &Context,
    ) -> std::result::Result<KeptAnswer, (Error, bool)> {
        let plain = |error: Error| (error, false);
        let kept = KeptAnswer::of(outcome, recording, &request.context).await.map_err(plain)?;
        let answer = kept.write().map_err(plain)?;
        let now = seconds();
        let old = format!("delete from {TABLE} where kept <= $1");
        let insert = format!("insert into {TABLE} values ($1, $2, $3, $4)");
        let (id, fingerprint) = (request.id.as_str().into(), request.fingerprint.as_str().into());
        let stored = async {
            self.run(&old, vec![Value::Int(now - kept_seconds())], own).await?;
            self.run(&insert, vec![id, fingerprint, answer.into(), Value::Int(now)], own).await
        };
        // The same request came at the same time: the next attempt finds its answer.
        let again = |error: Error| {
            let again = is_again(&error) || error.kind == Kind::Conflict;
            (error, again)
        };
        stored.await.map_err(again)?;
        Ok(kept)
    }
}

fn seconds() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
}

fn kept_seconds() -> i64 {
    i64::try_from(KEPT.as_secs()).unwrap_or(i64::MAX)
}

/// A random pause, so that two requests do not meet again; a short one where nothing is random.
fn pause() -> Duration {
    let mut byte = [0];
    let _ = fill_random(&mut byte);
    PAUSE * u32::from(byte[0]) / 255
}

impl Layer for Idempotent {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.inner.source, reference))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(Rc::new(Idempotent::new(inner, self.inner.database.clone())))
    }

    fn name(&self) -> String {
        "idempotent".to_string()
    }

    fn layer_post(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        self.write(Verb::Post, reference, content, context)
    }

    fn layer_merge(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        self.write(Verb::Merge, reference, content, context)
    }
}
