//! `runnel migrate`: the migrations of a database, from a folder of `.sql` files. Each act is a small
//! program, so that it does what `migrate:` does in a program of one's own.

use crate::report::Report;
use crate::run;
use clap::Subcommand;

/// The folder where none is named.
const FOLDER: &str = "migrations";

/// What is done with the migrations.
#[derive(Debug, Subcommand)]
pub(crate) enum Migrate {
    /// Apply the migrations that were not applied before.
    Run {
        #[command(flatten)]
        place: MigrationPlace,
        /// Apply them in one transaction that is rolled back.
        #[arg(long)]
        dry_run: bool,
    },
    /// List the migrations, and which of them were applied.
    List {
        #[command(flatten)]
        place: MigrationPlace,
    },
    /// Undo the last migration, by its statements below `-- down`.
    Down {
        #[command(flatten)]
        place: MigrationPlace,
    },
}

/// A database and its migrations.
#[derive(Debug, clap::Args)]
pub(crate) struct MigrationPlace {
    /// The database: `tasks.db`, or a reference such as `postgres://localhost/tasks`.
    database: String,
    /// The folder with the `.sql` files.
    #[arg(default_value = FOLDER)]
    folder: String,
}

/// Runs the program of the act.
pub(crate) fn run(act: &Migrate, report: &Report) -> u8 {
    let told = |message: &str, word: &str| {
        format!(
            "names ← database {message}: folder.\n\
             names isEmpty ifTrue: {{ stdout println: 'nothing to {word}' }}.\n\
             names do: {{ :name | stdout println: '{word} ' , name }}."
        )
    };
    let (place, body) = match act {
        Migrate::Run { place, dry_run: false } => (place, told("migrate", "apply")),
        Migrate::Run { place, dry_run: true } => (place, told("dryRunMigrate", "would apply")),
        Migrate::Down { place } => (place, told("migrateDown", "undo")),
        Migrate::List { place } => {
            let body = "(database migrations: folder) do: { :step |\n\
                        state ← (step at: 'applied') ifTrue: { 'applied' } ifFalse: { 'pending' }.\n\
                        stdout println: state , '  ' , (step at: 'name') }.";
            (place, body.to_string())
        }
    };
    let source = format!("#-<void>migrate:<ref>database steps:<ref>folder\n{body}");
    let database = match place.database.contains(':') {
        true => place.database.clone(),
        false => format!("sqlite:{}", place.database),
    };
    let folder = format!("file:{}/", place.folder.trim_end_matches('/'));
    run::own(&source, "migrate", &[database, folder], report)
}
