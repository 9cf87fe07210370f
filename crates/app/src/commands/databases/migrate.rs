//! `runnel migrate`: the migrations of a database, from a folder of `.sql` files. Most acts are a small
//! program, so that they do what `migrate:` does in a program of one's own.

use crate::commands::graph;
use crate::console::Console;
use crate::event_loop::{block_on, started};
use crate::exit_status;
use crate::report::Report;
use crate::run::{self, RunningProgram};
use crate::world::World;
use clap::Subcommand;
use std::path::{Path, PathBuf};

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
    /// Write a migration with what the tables of a program lack.
    Generate {
        /// The program.
        file: PathBuf,
        /// The name of the migration, behind its number: `required-titles`.
        name: String,
        /// The folder of the migrations.
        #[arg(long, default_value = FOLDER)]
        folder: PathBuf,
        /// The program's own arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
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
        Migrate::Generate { file, name, folder, args } => {
            return generate(file, name, folder, args, report);
        }
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

/// `runnel migrate generate PROGRAM NAME`
fn generate(file: &Path, name: &str, folder: &Path, args: &[String], report: &Report) -> u8 {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    if name.is_empty() || !name.bytes().all(plain) {
        Console::error(&format!(
            "error: `{name}` cannot be the name of a migration; write letters, digits, `-` and `_`"
        ));
        return exit_status::USAGE;
    }
    let source = match run::read(file) {
        Ok(source) => source,
        Err((message, status)) => {
            Console::error(&message);
            return status;
        }
    };
    let compared = started(block_on(async {
        let program = RunningProgram::within(World::silent())?;
        let name = file.display().to_string();
        let told = async |source: &str| program.isolate.run(source, "migrate").await;
        let began = told("DatabaseTable compares").await.is_ok();
        // A contradiction ends the program, and is what the migration has to mend.
        let ran = graph::installs(&program.isolate, &source, &name, args, report).await;
        let found = told("DatabaseTable differences").await.ok().and_then(|outcome| outcome.text);
        std::mem::forget(program);
        Ok::<_, String>((found.filter(|text| began && !text.is_empty()), ran))
    }));
    match compared {
        Ok(Ok((Some(steps), _))) => write(&steps, name, folder),
        Ok(Ok((None, Err(status)))) => status,
        Ok(Ok((None, Ok(())))) => {
            Console::error(
                "note: the tables are what their classes say; there is nothing to write",
            );
            0
        }
        Ok(Err(message)) => started::<u8>(Err(message)).unwrap_or_else(|status| status),
        Err(status) => status,
    }
}

/// Writes the migration behind those in the folder, and says where.
fn write(steps: &str, name: &str, folder: &Path) -> u8 {
    let number = |name: &str| -> Option<u64> {
        let digits = name.split(|one: char| !one.is_ascii_digit()).next()?;
        digits.parse().ok()
    };
    let known = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let last = known.filter_map(|entry| number(&entry.file_name().to_string_lossy())).max();
    let path = folder.join(format!("{:04}-{name}.sql", last.unwrap_or(0) + 1));
    let written = std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::File::create_new(&path))
        .and_then(|mut file| std::io::Write::write_all(&mut file, format!("{steps}\n").as_bytes()));
    match written {
        Ok(()) => {
            Console::line(&path.display().to_string());
            0
        }
        Err(error) => {
            Console::error(&format!("error: {} cannot be written: {error}", path.display()));
            exit_status::CANNOT_CREATE
        }
    }
}
