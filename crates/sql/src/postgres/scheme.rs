//! The scheme `postgres:`: databases by their URLs.

use crate::postgres::connection::address::{Address, PARAMETERS};
use crate::postgres::database::PostgresDatabase;
use crate::postgres::fault::{SqlFault, SqlResult};
use crate::postgres::options::PostgresOptions;
use runnel_store::{
    Answer, Below, Context, Error, Kind, Layer, PathUp, Reference, Result, Store, Verb,
};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// The databases that the scheme keeps open; more are refused.
pub const POSTGRES_DATABASES: usize = 64;

/// A store of all PostgreSQL databases. A reference is
/// `postgres://user:password@host:port/database/table/key?query`, or `postgresql:` for `postgres:`;
/// what the URL does not say comes from the environment, as [`PostgresDatabase::open`] says. Of the query,
/// `sslmode`, `sslrootcert` and `application_name` are about the connection, the rest about the
/// rows.
///
/// A database is opened once for each different URL and then kept. References that are answered
/// (in errors, for a new row, for changes) have no password in them.
#[derive(Default)]
pub struct PostgresScheme {
    /// By everything that is said about their connection.
    databases: RefCell<HashMap<String, Rc<PostgresDatabase>>>,
}

/// A reference taken apart.
struct PostgresReference {
    database: Rc<PostgresDatabase>,
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

    /// The database of a reference.
    ///
    /// # Errors
    /// Those of [`PostgresDatabase::open`].
    pub fn database(&self, reference: &Reference) -> Result<Rc<PostgresDatabase>> {
        Ok(self.target(reference)?.database)
    }

    /// Says how a database is used, before its first use.
    ///
    /// # Errors
    /// [`Kind::Conflict`] when it is open with other options, and those of [`PostgresDatabase::open`].
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

    fn target(&self, reference: &Reference) -> Result<PostgresReference> {
        self.target_with(reference, &PostgresOptions::default())
    }

    /// The options count where the database is not open yet.
    fn target_with(
        &self,
        reference: &Reference,
        options: &PostgresOptions,
    ) -> Result<PostgresReference> {
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
            Ok(database) => {
                Ok(PostgresReference { database, inner: inner_reference, shown, masked })
            }
            Err(fault) => {
                let mut error = Error::from(fault);
                error.reference = Some(masked.to_string());
                Err(error)
            }
        }
    }

    fn open(&self, url: String, options: &PostgresOptions) -> SqlResult<Rc<PostgresDatabase>> {
        if let Some(known) = self.databases.borrow().get(&url) {
            return Ok(known.clone());
        }
        if self.databases.borrow().len() >= POSTGRES_DATABASES {
            let message = format!("more than {POSTGRES_DATABASES} databases are open");
            return Err(SqlFault::new(Kind::Unavailable, message));
        }
        let address = Address::parse(&url, &|name| std::env::var(name).ok())?;
        let database = PostgresDatabase::at(address, options.clone())?;
        self.databases.borrow_mut().insert(url, database.clone());
        Ok(database)
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

impl Layer for PostgresScheme {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        let target = self.target(reference)?;
        Ok(Below::found(target.database, target.inner))
    }

    fn up(&self, reference: &Reference) -> Option<PathUp> {
        let shown = self.target(reference).ok()?.shown;
        Some(Box::new(move |inner| Some(Reference::from_path(format!("{shown}/{}", inner.path())))))
    }

    fn over(&self, _: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        None
    }

    fn name(&self) -> String {
        "postgres databases".to_string()
    }

    /// Errors name the whole reference, without a password.
    fn around<T: 'static>(
        &self,
        verb: Verb,
        reference: &Reference,
        context: &Context,
        act: impl FnOnce(&dyn Store, &Reference, &Context) -> Answer<T> + 'static,
    ) -> Answer<T> {
        let target = match self.target(reference) {
            Ok(target) => target,
            Err(mut error) => {
                error.verb = Some(verb);
                return error.into();
            }
        };
        let masked = target.masked;
        match act(&*target.database, &target.inner, context) {
            Answer::Ready(done) => Answer::Ready(done.map_err(|error| shown(error, verb, &masked))),
            Answer::Later(later) => {
                Answer::later(
                    async move { later.await.map_err(|error| shown(error, verb, &masked)) },
                )
            }
        }
    }

    fn layer_sources(&self) -> Vec<(String, Rc<dyn Store>)> {
        let databases = self.databases.borrow();
        let one = |database: &Rc<PostgresDatabase>| {
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
