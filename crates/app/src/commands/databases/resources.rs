//! Resources as the command line names them, for the commands of databases.

use crate::console::Console;
use crate::event_loop::{block_on, started};
use crate::exit_status;
use crate::world::schemes::Schemes;
use runnel_sql::SqliteDatabase;
use runnel_store::{Environment, Error, Kind, Reference, Result, Store, Verb};
use std::path::Path;
use std::rc::Rc;

/// Runs a command with the schemes of the system; an error is printed.
pub(crate) fn run(act: impl AsyncFnOnce(&Schemes) -> Result<()>) -> u8 {
    let done = started(block_on(async {
        let schemes = Schemes::new(Rc::new(Environment::new()));
        let done = act(&schemes).await;
        // The command ends here, and its connections with it.
        std::mem::forget(schemes);
        done.map_err(|error| (error.to_string(), status(error.kind)))
    }));
    SqliteDatabase::close_readers();
    match done {
        Ok(Ok(())) => 0,
        Ok(Err((message, status))) => {
            Console::error(&format!("error: {message}"));
            status
        }
        Err(status) => status,
    }
}

fn status(kind: Kind) -> u8 {
    match kind {
        Kind::NotFound => exit_status::NO_INPUT,
        Kind::Invalid | Kind::NotAllowed => exit_status::USAGE,
        Kind::Conflict | Kind::Denied => exit_status::CANNOT_CREATE,
        _ => exit_status::SOFTWARE,
    }
}

/// A resource as the command line names it: a path without a scheme is one of the usual scheme.
pub(crate) fn resource(text: &str, usual: &'static str) -> Reference {
    let named = text.split_once(':').filter(|(scheme, _)| {
        scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    match named {
        // Paths of files are taken as they are, with their question marks and spaces.
        Some((scheme @ ("file" | "sqlite"), path)) => {
            Reference::from_path(path.to_string()).with_scheme(scheme.to_string())
        }
        Some((scheme, path)) => Reference::parse(path).with_scheme(scheme.to_string()),
        None => Reference::from_path(text.to_string()).with_scheme(usual),
    }
}

/// The store of a resource.
pub(crate) fn store(schemes: &Schemes, resource: &Reference) -> Result<Rc<dyn Store>> {
    let scheme = resource.scheme().unwrap_or_default();
    schemes.store(scheme).ok_or_else(|| {
        let message =
            format!("there is no scheme `{scheme}:`; name a file, or a store such as s3:");
        Error::new(Kind::Invalid, message)
    })
}

/// The path of a SQLite database.
pub(crate) fn sqlite_path(resource: &Reference) -> Result<&str> {
    match resource.scheme() {
        Some("sqlite") if !resource.path().is_empty() => Ok(resource.path()),
        _ => {
            let message = "only a SQLite database can be copied and restored here: name it as \
                           `sqlite:tasks.db`";
            Err(Error::new(Kind::Invalid, message))
        }
    }
}

/// Refuses a file that is not there: opening it would make an empty database.
pub(crate) fn existing(resource: &Reference) -> Result<()> {
    let missing = resource.scheme() == Some("sqlite") && !Path::new(resource.path()).exists();
    match missing {
        false => Ok(()),
        true => {
            let error = Error::new(Kind::NotFound, "there is no such database");
            Err(error.on(Verb::Get, resource))
        }
    }
}
