//! `runnel backup`, `runnel restore` and `runnel vacuum`: databases as a whole.

use crate::commands::shipping;
use crate::console::Console;
use crate::event_loop::{block_on, started};
use crate::exit_status;
use crate::world::schemes::Schemes;
use runnel_sql::{SqliteDatabase, is_continuous_backup, restore_sqlite, ship_sqlite_once};
use runnel_store::{Context, Environment, Error, Kind, Reference, Result, Store, Verb};
use std::path::Path;
use std::rc::Rc;

/// `runnel backup`: what is copied, and where.
#[derive(Debug, clap::Args)]
pub(crate) struct Backup {
    /// The database, such as `sqlite:tasks.db`; with --list, the backup.
    pub(crate) database: String,
    /// Where the copy belongs: a file, or a reference such as `s3:backups/tasks.db`; with --follow a
    /// folder such as `s3:backups/tasks/`.
    #[arg(required_unless_present = "list", conflicts_with = "list")]
    pub(crate) target: Option<String>,
    /// Ship each change until the command is told to stop.
    #[arg(long)]
    pub(crate) follow: bool,
    #[command(flatten)]
    pub(crate) shipping: shipping::Shipping,
    /// Print the times that a backup of --follow can restore.
    #[arg(long, conflicts_with = "follow")]
    pub(crate) list: bool,
}

/// `runnel backup DATABASE TARGET`, `runnel backup --list BACKUP`
pub(crate) fn backup(order: &Backup) -> u8 {
    let Some(target) = &order.target else { return shipping::list(&order.database) };
    run(async |schemes| {
        let (from, to) = (resource(&order.database, "sqlite"), resource(target, "file"));
        existing(&from)?;
        refuse_itself(&from, &to)?;
        let target = store(schemes, &to)?;
        if order.follow {
            return shipping::follow(&from, target, &to, &order.shipping).await;
        }
        if to.path().ends_with('/') {
            return ship_sqlite_once(Path::new(sqlite_path(&from)?), target, &to).await;
        }
        let (source, context) = (store(schemes, &from)?, Context::default());
        let tables = source.tables_for(Verb::Get, &from)?;
        let copy = tables.snapshot(&from, &context).await?;
        target.put(&to, copy, &context).await.map(drop)
    })
}

/// `runnel restore SOURCE DATABASE`
pub(crate) fn restore(source: &str, database: &str, replace: bool, at: Option<i64>) -> u8 {
    run(async |schemes| {
        let (from, to) = (resource(source, "file"), resource(database, "sqlite"));
        let path = Path::new(sqlite_path(&to)?);
        let store = store(schemes, &from)?;
        let is_folder = at.is_some() || from.path().ends_with('/');
        if is_folder || is_continuous_backup(store.clone(), &from).await {
            return shipping::restore(store, &from, path, replace, at).await;
        }
        let found = store.get(&from, &Context::default()).await?;
        let Some(content) = found else {
            let error = Error::new(Kind::NotFound, "there is no such backup");
            return Err(error.on(Verb::Get, &from));
        };
        let restored = restore_sqlite(path, content, replace).await;
        restored.map_err(|error| error.on(Verb::Put, &to))
    })
}

/// `runnel vacuum DATABASE`
pub(crate) fn vacuum(database: &str) -> u8 {
    run(async |schemes| {
        let on = resource(database, "sqlite");
        existing(&on)?;
        let store = store(schemes, &on)?;
        store.tables_for(Verb::Define, &on)?.vacuum(&on, &Context::default()).await
    })
}

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

/// Refuses a backup of a database onto its own file.
fn refuse_itself(from: &Reference, to: &Reference) -> Result<()> {
    let real = |one: &Reference| std::fs::canonicalize(one.path()).ok();
    let schemes = (from.scheme(), to.scheme());
    let itself = schemes == (Some("sqlite"), Some("file")) && real(from) == real(to);
    if itself && real(from).is_some() {
        let message = "the backup would replace the database itself; name another file";
        return Err(Error::new(Kind::Conflict, message).on(Verb::Put, to));
    }
    match to.scheme() {
        Some("sqlite" | "postgres" | "postgresql") => {
            let message = "a backup is a file: name one, such as `copy.db` or `s3:backups/copy.db`";
            Err(Error::new(Kind::Invalid, message).on(Verb::Put, to))
        }
        _ => Ok(()),
    }
}
