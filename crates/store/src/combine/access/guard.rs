//! Access control in front of a store: credentials, or a block of the program.

use super::credentials::{
    KnownCredentials, OfferedCredentials, SHORTEST_TOKEN, check_hash, check_user, is_realm,
    is_token,
};
use super::gate::{gate_of, next_gate};
use crate::combine::definition::Combinator;
use crate::combine::layer::{Below, Layer, relocate_below};
use crate::combine::paths::encoded_slashes::{encoded_slash, has_encoded_slash, lenient_path};
use crate::{
    AccessCheck, Answer, Body, ClientNetwork, Content, Context, Error, ErrorResponse, Exchange,
    Kind, Reference, Result, Setting, SettingKind, SettingTable, SettingValue, Store, Value, Verb,
    Verbs, VisitorQuestion, Wanted,
};
use std::borrow::Cow;
use std::rc::Rc;
use std::time::Duration;

/// Stores that are searched for a guard below another one.
const SEARCHED: usize = 1000;

/// Who may pass a [`Guard`]. Without `Debug`: it holds secrets.
#[derive(Clone)]
pub struct GuardOptions {
    /// The name of a single user.
    pub user: Option<String>,
    /// The hash of the password of the single user.
    pub password_hash: Option<String>,
    /// Users by name, with the hashes of their passwords.
    pub users: Vec<(String, String)>,
    /// Bearer tokens.
    pub bearer: Vec<String>,
    /// What browsers show when they ask for a password.
    pub realm: String,
    /// How long a right password is not verified again.
    pub remember: Duration,
    /// Whether an escaped slash in the path is a part of a name, also for the block.
    pub encoded_slashes: bool,
}

impl Default for GuardOptions {
    /// All requests are refused.
    fn default() -> Self {
        GuardOptions {
            user: None,
            password_hash: None,
            users: Vec::new(),
            bearer: Vec::new(),
            realm: "this site".to_string(),
            remember: Duration::from_secs(300),
            encoded_slashes: false,
        }
    }
}

const SETTINGS: SettingTable<GuardOptions> = SettingTable(&[
    Setting::custom(
        "user",
        "the name of a user, for Basic authentication",
        SettingKind::Text,
        |options: &mut GuardOptions, value| {
            let name = value.as_str().ok_or("a text")?;
            check_user(name)?;
            options.user = Some(name.to_string());
            Ok(())
        },
    ),
    Setting::custom(
        "passwordHash",
        "the hash of the user's password",
        SettingKind::Text,
        |options: &mut GuardOptions, value| {
            options.password_hash = Some(hash_in(value)?);
            Ok(())
        },
    )
    .secret(),
    Setting::custom(
        "users",
        "names of users and the hashes of their passwords",
        SettingKind::Record,
        |options: &mut GuardOptions, value| {
            let fields = value.as_record().ok_or("a dictionary of names and password hashes")?;
            options.users.clear();
            for (name, hash) in fields {
                check_user(name)?;
                options.users.push((name.clone(), hash_in(hash)?));
            }
            Ok(())
        },
    )
    .secret(),
    Setting::custom(
        "bearer",
        "a token, or an array of tokens",
        SettingKind::Texts,
        |options: &mut GuardOptions, value| {
            options.bearer.assign(value, None)?;
            match options.bearer.iter().all(|token| is_token(token)) {
                true => Ok(()),
                false => Err(format!(
                    "tokens of at least {SHORTEST_TOKEN} letters and digits, such as `SecureRandom \
                     token` gives"
                )
                .into()),
            }
        },
    )
    .secret(),
    Setting::apart("block", "answers the user: nil is 401, false is 403", SettingKind::Store),
    Setting::custom(
        "realm",
        "what browsers show when they ask for a password",
        SettingKind::Text,
        |options: &mut GuardOptions, value| {
            let realm = value.as_str().filter(|realm| is_realm(realm));
            options.realm = realm.ok_or("a text of ASCII without quotes")?.to_string();
            Ok(())
        },
    ),
    Setting::new(
        "remember",
        "how long a right password is not verified again",
        |options: &mut GuardOptions| &mut options.remember,
    )
    .range(0.0, 3600.0),
    Setting::new(
        "encodedSlashes",
        "takes `%2F` and `\\` in a path as parts of names",
        |options: &mut GuardOptions| &mut options.encoded_slashes,
    ),
]);

/// The hash of a password in an option. No message shows it.
fn hash_in(value: &Value) -> std::result::Result<String, Wanted> {
    let hash = value.as_str().ok_or("the text that `passwordHash` answers")?;
    match check_hash(hash) {
        Ok(()) => Ok(hash.to_string()),
        Err(_) => Err("the text that `passwordHash` answers".into()),
    }
}

pub(super) const COMBINATOR: Combinator = Combinator {
    class: "Guard",
    aliases: &[],
    help: "lets in whoever has credentials, or whom a block knows",
    settings: &SETTINGS,
    make: |parts| {
        let mut options = parts.read("a Guard", &SETTINGS)?;
        // A block without a parameter compares no path.
        options.encoded_slashes |= parts.has("pathless");
        Ok(Guard::new(parts.source()?, options, parts.named("block"))?.into())
    },
};

/// Lets requests through that have credentials, or whose user a block knows; 401 and 403 for others.
/// Any one of them is enough; two guards in a row both have to let a request in.
///
/// A block gets the path as the most lenient server would read it, with slashes decoded. Where it has
/// an escaped one, a request that is let in is [`Kind::Invalid`]: the source would get another path than the block.
///
/// It fails closed: an error of the block is no permission, and without a request there are no
/// credentials, so that a verb of the program itself is refused unless the block lets it in.
#[derive(Clone)]
pub struct Guard {
    source: Rc<dyn Store>,
    checks: Rc<AccessChecks>,
}

struct AccessChecks {
    known: Rc<KnownCredentials>,
    /// Answers the user of a request.
    block: Option<Rc<dyn Store>>,
    encoded_slashes: bool,
    gate: u64,
}

impl Guard {
    /// A guard in front of `source`.
    ///
    /// # Errors
    /// [`Kind::Invalid`]: no request could pass, or a user has no password hash.
    pub fn new(
        source: Rc<dyn Store>,
        options: GuardOptions,
        block: Option<Rc<dyn Store>>,
    ) -> Result<Self> {
        let GuardOptions { user, password_hash, mut users, bearer, realm, remember, .. } = options;
        let encoded_slashes = options.encoded_slashes;
        let invalid = |message: &str| Error::new(Kind::Invalid, message);
        match (user, password_hash) {
            (Some(user), Some(hash)) => users.push((user, hash)),
            (None, None) => {}
            (Some(_), None) => return Err(invalid("a Guard with `user` needs `passwordHash`")),
            (None, Some(_)) => return Err(invalid("a Guard with `passwordHash` needs `user`")),
        }
        let known = Rc::new(KnownCredentials::new(users, bearer, realm, remember)?);
        if known.are_none() && block.is_none() {
            let message = "nobody can pass a Guard without `user`, `users`, `bearer` or `block`";
            return Err(invalid(message));
        }
        let checks = AccessChecks { known, block, encoded_slashes, gate: next_gate() };
        Ok(Guard { source, checks: Rc::new(checks) })
    }
}

impl AccessChecks {
    /// Lets a request in, or says why not. Whether its path is one comes last, so that a request
    /// without credentials learns nothing else.
    fn admit(self: &Rc<Self>, reference: &Reference, context: &Context) -> Answer<()> {
        let judged = self.judge(reference, context);
        match context.exchange.is_some() && self.misreads(reference) {
            true => judged.and_then(|()| encoded_slash("Guard").into()),
            false => judged,
        }
    }

    /// Whether the source could get another path than the block, or than the route in front, which
    /// leaves an escaped slash at the beginning.
    fn misreads(&self, reference: &Reference) -> bool {
        let path = reference.relative_path();
        if self.block.is_some() && !self.encoded_slashes {
            return has_encoded_slash(path);
        }
        path.starts_with(['\\', '%']) && path.get(..3).is_none_or(has_encoded_slash)
    }

    fn judge(self: &Rc<Self>, reference: &Reference, context: &Context) -> Answer<()> {
        let Some(exchange) = &context.exchange else { return self.ask(reference, context, false) };
        exchange.asks_visitor(VisitorQuestion::Other);
        let gate = gate_of(self.gate, reference.path());
        if exchange.has_passed(gate) {
            return Answer::ok(());
        }
        exchange.keep_check(&|| {
            Rc::new(PassedGuard { checks: self.clone(), reference: reference.clone() })
        });
        match self.check(reference, context, &**exchange) {
            Answer::Ready(checked) => {
                if checked.is_ok() {
                    exchange.pass(gate);
                }
                checked.into()
            }
            later => {
                let exchange = exchange.clone();
                Answer::later(async move {
                    later.await?;
                    exchange.pass(gate);
                    Ok(())
                })
            }
        }
    }

    /// Compares the credentials, and asks the block where they are not enough.
    fn check(
        self: &Rc<Self>,
        reference: &Reference,
        context: &Context,
        exchange: &dyn Exchange,
    ) -> Answer<()> {
        if self.known.are_none() {
            return self.ask(reference, context, false);
        }
        let offered = OfferedCredentials::read(exchange.header("authorization").as_deref());
        let offers = !matches!(offered, OfferedCredentials::Nothing);
        match self.known.know(offered, ClientNetwork::of(exchange.client())) {
            Answer::Ready(Ok(true)) => Answer::ok(()),
            Answer::Ready(Ok(false)) => self.ask(reference, context, offers),
            Answer::Ready(Err(error)) => error.into(),
            later => {
                let (checks, on, context) = (self.clone(), reference.clone(), context.clone());
                Answer::later(async move {
                    match later.await? {
                        true => Ok(()),
                        false => checks.ask(&on, &context, offers).await,
                    }
                })
            }
        }
    }

    /// Asks the block.
    fn ask(self: &Rc<Self>, reference: &Reference, context: &Context, offers: bool) -> Answer<()> {
        let Some(block) = &self.block else { return self.unauthorized(offers).into() };
        let asked = Context { known: None, only_if: None, ..context.clone() };
        let lenient = match context.exchange.is_some() && !self.encoded_slashes {
            true => lenient_path(reference.path()),
            false => Cow::Borrowed(reference.path()),
        };
        let found = match lenient {
            Cow::Borrowed(_) => block.get(reference, &asked),
            Cow::Owned(path) => block.get(&reference.with_path(path), &asked),
        };
        let checks = self.clone();
        found.and_then(move |found| match found.map_or(BlockVerdict::Unknown, verdict_of) {
            BlockVerdict::Unknown => checks.unauthorized(offers).into(),
            BlockVerdict::LogsIn(page) => elsewhere(page).into(),
            BlockVerdict::Refused => Error::new(Kind::Denied, "you may not do this").into(),
            BlockVerdict::Admitted => Answer::ok(()),
        })
    }

    /// 401, with the schemes that would be right (RFC 9110 section 11.6.1).
    fn unauthorized(&self, offers: bool) -> Error {
        let message = if offers { "these credentials are not known" } else { "log in first" };
        let headers = self.known.challenges(offers);
        let response = ErrorResponse { status: None, headers };
        Error { response: Some(Box::new(response)), ..Error::new(Kind::Unauthorized, message) }
    }
}

/// A guard in front of what outlives its request, which asks it again.
struct PassedGuard {
    checks: Rc<AccessChecks>,
    reference: Reference,
}

impl AccessCheck for PassedGuard {
    fn ask_again(&self, context: &Context) -> Answer<()> {
        match &context.exchange {
            Some(exchange) => self.checks.check(&self.reference, context, &**exchange),
            None => self.checks.ask(&self.reference, context, false),
        }
    }
}

/// What a block says of a request.
enum BlockVerdict {
    Unknown,
    /// Unknown, and a browser that may log in at this page.
    LogsIn(String),
    Refused,
    Admitted,
}

/// Only `true` lets in: the kernel answers that for a user (`kernel/net/guards.lua`).
fn verdict_of(content: Content) -> BlockVerdict {
    match content.body {
        Body::Value(Value::Bool(true)) => BlockVerdict::Admitted,
        Body::Value(Value::Nil) => BlockVerdict::Unknown,
        Body::Text(page) => BlockVerdict::LogsIn(page.to_string()),
        _ => BlockVerdict::Refused,
    }
}

/// 303 to the page where a browser logs in (RFC 9110 section 15.4.4).
fn elsewhere(page: String) -> Error {
    let headers = vec![("location".to_string(), page)];
    let response = ErrorResponse { status: Some(303), headers };
    let error = Error::new(Kind::Unauthorized, "log in first");
    Error { response: Some(Box::new(response)), ..error }
}

/// Refuses a layer that keeps or delays above a guard: it would give everybody what one visitor may get, or take
/// what he may not write.
///
/// # Errors
/// [`Kind::Denied`].
pub(crate) fn refuse_guarded(source: &Rc<dyn Store>, layer: &str) -> Result<()> {
    match is_guarded(source) {
        false => Ok(()),
        true => {
            let message = format!(
                "{layer} keeps answers of a handler that asks who may read them, and would answer everybody; \
                 put the guard in front of it"
            );
            Err(Error::new(Kind::Denied, message))
        }
    }
}

/// Whether a guard is a store or lies below it.
pub(crate) fn is_guarded(store: &Rc<dyn Store>) -> bool {
    any_below(store, Verbs::is_guarded)
}

/// Whether a store, or one below it, may ask who asks.
pub(crate) fn asks_visitor(store: &Rc<dyn Store>) -> bool {
    any_below(store, Verbs::asks_visitor)
}

fn any_below(store: &Rc<dyn Store>, is_one: impl Fn(Verbs) -> bool) -> bool {
    let mut pending = vec![store.clone()];
    for _ in 0..SEARCHED {
        let Some(store) = pending.pop() else { return false };
        if is_one(store.verbs(&Reference::default())) {
            return true;
        }
        pending.extend(store.sources().into_iter().map(|(_, source)| source));
    }
    // Too many to be sure.
    true
}

impl Layer for Guard {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.source, reference))
    }

    fn over(&self, inner: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(Rc::new(Guard { source: inner, checks: self.checks.clone() }))
    }

    fn relays(&self) -> bool {
        true
    }

    fn name(&self) -> String {
        "guard".to_string()
    }

    fn layer_verbs(&self, reference: &Reference) -> Verbs {
        self.source.verbs(reference).with_guard()
    }

    fn around<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        context: &Context,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        match self.checks.admit(reference, context) {
            Answer::Ready(Ok(())) => act(&*self.source, reference, context),
            Answer::Ready(Err(error)) => error.on(verb, reference).into(),
            Answer::Later(admitted) => {
                let (source, on, context) =
                    (self.source.clone(), reference.clone(), context.clone());
                Answer::later(async move {
                    admitted.await.map_err(|error| error.on(verb, &on))?;
                    act(&*source, &on, &context).await
                })
            }
        }
    }

    /// Both references have to be allowed.
    fn layer_relocate(&self, from: &Reference, to: &Reference, context: &Context) -> Answer<bool> {
        let (guard, on, to_admit) = (self.clone(), from.clone(), to.clone());
        let (to, context) = (to.clone(), context.clone());
        let admitted = self.checks.admit(&to_admit, &context).on(Verb::Put, &to_admit);
        admitted.and_then(move |()| relocate_below(&guard, &on, &to, &context))
    }
}
