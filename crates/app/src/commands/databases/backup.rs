//! `runnel backup`, `runnel restore` and `runnel vacuum`: databases as a whole.

use crate::commands::databases::resources::{existing, resource, run, sqlite_path, store};
use crate::commands::databases::shipping;
use runnel_sql::{is_continuous_backup, restore_sqlite, ship_sqlite_once};
use runnel_store::{Context, Error, Kind, Reference, Result, Verb, packed_for};
use std::path::Path;

/// `runnel backup`: what is copied, and where.
#[derive(Debug, clap::Args)]
pub(crate) struct Backup {
    /// The database, such as `sqlite:tasks.db`; with --list, the backup.
    pub(crate) database: String,
    /// Where the copy belongs: a file, or a reference such as `s3:backups/tasks.db`, compressed where it
    /// ends in `.zst`; with --follow a folder such as `s3:backups/tasks/`.
    #[arg(required_unless_present = "list", conflicts_with = "list")]
    pub(crate) target: Option<String>,
    /// Ship each change until SIGTERM or SIGINT.
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
        target.put(&to, packed_for(&to, copy)?, &context).await.map(drop)
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
