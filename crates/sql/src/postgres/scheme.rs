//! The scheme `postgres:`: databases by their URLs.

use crate::postgres::address::{Address, PARAMETERS};
use crate::postgres::database::Postgres;
use crate::postgres::fault::Fault;
use crate::postgres::options::PostgresOptions;
use runnel_store::{
    Answer, Changes, Conditions, Content, Context, Entry, Error, Kind, Posted, Query, Records,
    Reference, Result, Shape, Store, Transaction, Value, Verb, Verbs,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The databases that the scheme keeps open; more are refused.
pub const POSTGRES_DATABASES: usize = 64;

/// A store of all PostgreSQL databases. A reference is
/// `postgres://user:password@host:port/database/table/key?query`, or `postgresql:` for `postgres:`;
/// what the URL does not say comes from the environment, as [`Postgres::open`] says. Of the query,
/// `sslmode`, `sslrootcert` and `application_name` are about the connection, the rest about the
/// rows.
///
/// A database is opened once for each different URL and then kept. References that are answered
/// (in errors, for a new row, for changes) have no password in them.
#[derive(Default)]
pub struct PostgresScheme {
    /// By everything that is said about their connection.
    databases: RefCell<HashMap<String, Rc<Postgres>>>,
}

/// A reference taken apart.
struct Target {
    database: Rc<Postgres>,
    /// Within the database.
    inner: Reference,
    /// The part before it, without a password.
    shown: String,
    /// The whole reference, without a password.
    masked: Reference,
}

impl PostgresScheme {
    /// Without a database yet.
    pub fn new() -> Rc<Self> {
        Rc::default()
    }

    /// Says how a database is used, before its first use.
    ///
    /// # Errors
    /// [`Kind::Conflict`] when it is open with other options, and those of [`Postgres::open`].
    pub fn configure(&self, reference: &Reference, options: &PostgresOptions) -> Result<()> {
        let target = self.target_with(reference, options)?;
        if target.database.options() == options {
            return Ok(());
        }
        let message = "the database is open with other options; give them before its first use";
        let mut error = Error::new(Kind::Conflict, message);
        error.reference = Some(target.masked.to_string());
        Err(error)
    }

    fn target(&self, reference: &Reference) -> Result<Target> {
        self.target_with(reference, &PostgresOptions::default())
    }

    /// The options count where the database is not open yet.
    fn target_with(&self, reference: &Reference, options: &PostgresOptions) -> Result<Target> {
        let path = reference.path();
        let rest = path.strip_prefix("//").unwrap_or(path);
        let (authority, rest) = rest.split_once('/').unwrap_or((rest, ""));
        let (database, inner) = rest.split_once('/').unwrap_or((rest, ""));
        let (mut about, mut query) = (Vec::new(), Vec::new());
        for pair in reference.query().unwrap_or_default().split('&').filter(|it| !it.is_empty()) {
            let name = pair.split('=').next().unwrap_or_default();
            let list = if PARAMETERS.contains(&name) { &mut about } else { &mut query };
            list.push(pair);
        }
        let shown = format!("//{}/{database}", without_password(authority));
        let mut inner_reference = Reference::from_path(inner);
        let mut masked = reference.with_path(format!("{shown}/{inner}"));
        if !query.is_empty() {
            inner_reference = inner_reference.with_query(query.join("&"));
            masked = masked.with_query(query.join("&"));
        }
        let url = format!("//{authority}/{database}?{}", about.join("&"));
        match self.open(url, options) {
            Ok(database) => Ok(Target { database, inner: inner_reference, shown, masked }),
            Err(fault) => {
                let mut error = Error::from(fault);
                error.reference = Some(masked.to_string());
                Err(error)
            }
        }
    }

    fn open(
        &self,
        url: String,
        options: &PostgresOptions,
    ) -> std::result::Result<Rc<Postgres>, Fault> {
        if let Some(known) = self.databases.borrow().get(&url) {
            return Ok(known.clone());
        }
        if self.databases.borrow().len() >= POSTGRES_DATABASES {
            let message = format!("more than {POSTGRES_DATABASES} databases are open");
            return Err(Fault::new(Kind::Unavailable, message));
        }
        let address = Address::parse(&url, &|name| std::env::var(name).ok())?;
        let database = Postgres::at(address, options.clone())?;
        self.databases.borrow_mut().insert(url, database.clone());
        Ok(database)
    }

    fn with<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        act: impl FnOnce(&Target) -> Answer<T>,
    ) -> Answer<T> {
        match self.target(reference) {
            Ok(target) => {
                let masked = target.masked.clone();
                match act(&target) {
                    Answer::Ready(done) => {
                        Answer::Ready(done.map_err(|error| shown(error, verb, &masked)))
                    }
                    Answer::Later(later) => Answer::later(async move {
                        later.await.map_err(|error| shown(error, verb, &masked))
                    }),
                }
            }
            Err(mut error) => {
                error.verb = Some(verb);
                error.into()
            }
        }
    }
}

/// The error on the whole reference, instead of the part that the database knows.
fn shown(error: Error, verb: Verb, masked: &Reference) -> Error {
    Error { reference: None, ..error }.on(verb, masked)
}

/// `user:password@host` without the password.
fn without_password(authority: &str) -> String {
    match authority.rsplit_once('@') {
        Some((login, place)) => {
            let user = login.split(':').next().unwrap_or_default();
            format!("{user}@{place}")
        }
        None => authority.to_string(),
    }
}

impl Store for PostgresScheme {
    fn get(&self, reference: &Reference, context: &Context) -> Answer<Option<Content>> {
        self.with(Verb::Get, reference, |at| at.database.get(&at.inner, context))
    }

    fn put(&self, reference: &Reference, content: Content, context: &Context) -> Answer<bool> {
        self.with(Verb::Put, reference, |at| at.database.put(&at.inner, content, context))
    }

    fn post(&self, reference: &Reference, content: Content, context: &Context) -> Answer<Posted> {
        self.with(Verb::Post, reference, |at| {
            let shown = at.shown.clone();
            at.database.post(&at.inner, content, context).map(move |posted| Posted {
                reference: posted
                    .reference
                    .map(|inner| Reference::from_path(format!("{shown}/{}", inner.path()))),
                ..posted
            })
        })
    }

    fn merge(&self, reference: &Reference, content: Content, context: &Context) -> Answer<()> {
        self.with(Verb::Merge, reference, |at| at.database.merge(&at.inner, content, context))
    }

    fn delete(&self, reference: &Reference, context: &Context) -> Answer<bool> {
        self.with(Verb::Delete, reference, |at| at.database.delete(&at.inner, context))
    }

    fn list(&self, reference: &Reference, context: &Context) -> Answer<Option<Vec<Entry>>> {
        self.with(Verb::List, reference, |at| at.database.list(&at.inner, context))
    }

    fn query(&self, reference: &Reference, query: &Query, context: &Context) -> Answer<Content> {
        self.with(Verb::Query, reference, |at| at.database.query(&at.inner, query, context))
    }

    fn insert(
        &self,
        reference: &Reference,
        records: Box<dyn Records>,
        context: &Context,
    ) -> Answer<u64> {
        self.with(Verb::Post, reference, |at| at.database.insert(&at.inner, records, context))
    }

    fn run(
        &self,
        reference: &Reference,
        statement: &str,
        parameters: Vec<Value>,
        context: &Context,
    ) -> Answer<Content> {
        self.with(Verb::Query, reference, |at| at.database.run(statement, parameters, context))
    }

    fn migrate(
        &self,
        reference: &Reference,
        steps: Vec<(String, String)>,
        context: &Context,
    ) -> Answer<Vec<String>> {
        self.with(Verb::Define, reference, |at| at.database.migrate(&at.inner, steps, context))
    }

    fn define(&self, reference: &Reference, shape: &Shape) -> Answer<Rc<dyn Store>> {
        self.with(Verb::Define, reference, |at| at.database.define(&at.inner, shape))
    }

    fn watch(&self, reference: &Reference, context: &Context) -> Answer<Changes> {
        use futures_util::StreamExt;
        self.with(Verb::Watch, reference, |at| {
            let shown = at.shown.clone();
            at.database.watch(&at.inner, context).map(move |changes| {
                let renamed = changes.map(move |change| {
                    change.map(|mut change| {
                        let path = format!("{shown}/{}", change.reference.path());
                        change.reference = Reference::from_path(path);
                        change
                    })
                });
                Box::pin(renamed) as Changes
            })
        })
    }

    fn begin(&self, reference: &Reference, context: &Context) -> Answer<Rc<dyn Transaction>> {
        self.with(Verb::Begin, reference, |at| at.database.begin(&at.inner, context))
    }

    fn verbs(&self, reference: &Reference) -> Verbs {
        match self.target(reference) {
            Ok(target) => target.database.verbs(&target.inner),
            Err(_) => Verbs::NONE,
        }
    }

    fn conditions(&self, reference: &Reference) -> Conditions {
        let target = self.target(reference);
        target.map_or(Conditions::None, |target| target.database.conditions(&target.inner))
    }

    fn describe(&self) -> String {
        "postgres databases".to_string()
    }

    fn sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        let databases = self.databases.borrow();
        let one = |database: &Rc<Postgres>| {
            (database.place().to_string(), database.clone() as Rc<dyn Store>)
        };
        databases.values().map(one).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_are_not_shown() {
        assert_eq!(without_password("me:a:b@c@host:5"), "me@host:5");
        assert_eq!(without_password("me@host"), "me@host");
        assert_eq!(without_password("host"), "host");
        let scheme = PostgresScheme::default();
        let reference = |text: &str| Reference::parse(text).with_scheme("postgres");
        let target =
            scheme.target(&reference("//me:secret@localhost/shop/tasks/7?done=0&sslmode=disable"));
        assert!(target.is_ok());
        if let Ok(target) = target {
            assert_eq!(target.inner.to_string(), "tasks/7?done=0");
            assert!(!target.masked.to_string().contains("secret"));
            assert!(!target.database.describe().contains("secret"));
        }
        let wrong = scheme.target(&reference("//me:secret@localhost:x/shop/tasks"));
        assert!(wrong.is_err_and(|error| !format!("{error:?}").contains("secret")));
    }
}
