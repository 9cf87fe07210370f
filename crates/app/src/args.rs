//! The command line.

use clap::{Parser, Subcommand, ValueHint};
use std::path::PathBuf;

/// A small dynamic language in which every resource is a variable, and the server that runs it.
#[derive(Debug, Parser)]
#[command(
    name = "runnel",
    version,
    args_conflicts_with_subcommands = true,
    after_help = "Examples:\n  runnel hello.st              run a program\n  \
        runnel -e '3 + 4'            evaluate and print\n  \
        runnel tasks.st sqlite:t.db  run a program with an argument\n  \
        runnel                       open the prompt"
)]
pub(crate) struct Args {
    /// Evaluate this source and print the last value.
    #[arg(short = 'e', value_name = "SOURCE", allow_hyphen_values = true)]
    pub(crate) evaluate: Option<String>,

    /// Show errors, and what `bench` measured, as JSON, one object a line.
    #[arg(long, global = true)]
    pub(crate) json: bool,

    /// The port of a program whose result is served.
    #[arg(long, value_name = "PORT")]
    pub(crate) port: Option<u16>,

    #[command(flatten)]
    pub(crate) running: Running,

    #[command(subcommand)]
    pub(crate) command: Option<Command>,

    /// The program to run.
    pub(crate) file: Option<PathBuf>,

    /// The program's own arguments.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_hint = ValueHint::AnyPath)]
    pub(crate) args: Vec<String>,
}

/// How a program is run.
#[derive(Debug, clap::Args)]
pub(crate) struct Running {
    /// Number of worker threads that share the ports of the program; `auto`: one for each core.
    #[arg(long, value_name = "N|auto", default_value = "1", value_parser = crate::process::workers::count)]
    pub(crate) workers: usize,
    /// Start the program again when it dies, and exchange it on SIGHUP, SIGUSR2 or `upgrade`.
    #[arg(long)]
    pub(crate) supervise: bool,
    /// Exchange the program whenever its file changes; for development.
    #[arg(long)]
    pub(crate) watch: bool,
    /// Set variables of the environment from lines `NAME=value` of a file; those that are set stay.
    #[arg(long, value_name = "FILE")]
    pub(crate) env_file: Option<PathBuf>,
    /// Let this user open a prompt in the serving program, with `runnel attach`.
    #[arg(long)]
    pub(crate) attach: bool,
    #[command(flatten)]
    pub(crate) memory: crate::memory::MemoryOptions,
}

/// What else the command does.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Run a program.
    Run {
        /// The program to run.
        file: PathBuf,
        /// The port of a program whose result is served.
        #[arg(long, value_name = "PORT")]
        port: Option<u16>,
        #[command(flatten)]
        running: Running,
        /// The program's own arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_hint = ValueHint::AnyPath)]
        args: Vec<String>,
    },
    /// Open the prompt.
    Repl,
    /// Open a prompt in a program that serves, which was started with `--attach`.
    Attach {
        /// Its process, that of its supervisor, or its socket.
        program: String,
    },
    /// Make a project: an API, a site, a live page or a command, with tests.
    #[command(after_help = "Example:\n  runnel new api shop    an API in the new folder `shop`")]
    New {
        /// What the project is.
        kind: crate::commands::new::ProjectKind,
        /// Its folder, which does not exist or is empty.
        folder: PathBuf,
    },
    /// Format programs in place; without files, standard input to standard output.
    Fmt {
        /// The programs, or folders with them.
        files: Vec<PathBuf>,
        /// Change nothing; fail when a file is not formatted.
        #[arg(long)]
        check: bool,
    },
    /// Look for errors and warnings without running.
    Check {
        /// The programs.
        #[arg(required = true)]
        files: Vec<PathBuf>,
        /// Fail on warnings, too.
        #[arg(long)]
        deny_warnings: bool,
        /// Apply the corrections that are safe.
        #[arg(long)]
        fix: bool,
        /// Also print the Lua that they become, on the same lines.
        #[arg(long)]
        lua: bool,
    },
    /// Explain a class, a message, an option, a scheme, a kind of error, a name, a word, a command or a finding;
    /// without a name, list the classes.
    #[command(after_help = "Examples:\n  runnel doc String                 a class\n  \
        runnel doc replace:with:          a message\n  \
        runnel doc String replace:with:   a message of a class\n  \
        runnel doc requestTimeout         an option\n  \
        runnel doc file:                  a scheme")]
    Doc {
        /// `String`, `replace:with:`, `String replace:with:`, `requestTimeout`, `file:`; or a part, or words.
        names: Vec<String>,
        /// Write a page for each class, and an index, into this folder.
        #[arg(long, value_name = "FOLDER", conflicts_with = "names")]
        markdown: Option<PathBuf>,
    },
    /// Serve an editor: the Language Server Protocol over standard input and output.
    Lsp {
        /// Standard input and output, which is the only way; editors add this.
        #[arg(long, hide = true)]
        stdio: bool,
    },
    /// Run a program and show where its running time goes, by lines.
    Profile(crate::commands::profile::Profiled),
    /// Convert a page of HTML to element literals, from a file or standard input.
    Html {
        /// The page.
        file: Option<PathBuf>,
    },
    /// Draw what the stores of a program are made of.
    Graph {
        /// Write a picture into this file instead of text to standard output.
        #[arg(long, value_name = "PICTURE")]
        svg: Option<PathBuf>,
        /// The program.
        file: PathBuf,
        /// The program's own arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_hint = ValueHint::AnyPath)]
        args: Vec<String>,
    },
    /// Apply, list or undo the migrations of a database.
    Migrate {
        #[command(subcommand)]
        act: crate::commands::databases::migrate::Migrate,
    },
    /// List the property paths of what a program serves.
    Routes {
        /// The program.
        file: PathBuf,
        /// The program's own arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_hint = ValueHint::AnyPath)]
        args: Vec<String>,
    },
    /// Print the OpenAPI document of what a program serves.
    Openapi {
        /// The program.
        file: PathBuf,
        /// The program's own arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_hint = ValueHint::AnyPath)]
        args: Vec<String>,
    },
    /// Print a client of what a program serves, in TypeScript.
    Client {
        /// The program.
        file: PathBuf,
        /// The program's own arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_hint = ValueHint::AnyPath)]
        args: Vec<String>,
    },
    /// Serve a folder as a web site or as S3, or the tables of a SQLite database.
    Serve(Box<crate::commands::serve::Serve>),
    /// Write a copy of a SQLite database, also one in use, to a file or any other store.
    Backup(Box<crate::commands::databases::backup::Backup>),
    /// Make a SQLite database of a backup.
    Restore {
        /// The backup: a file, or a reference such as `s3:backups/tasks.db`; of `backup --follow` a
        /// folder such as `s3:backups/tasks/`.
        source: String,
        /// The database, such as `sqlite:tasks.db`.
        database: String,
        /// Replace the database that is there; no program may have it open.
        #[arg(long)]
        replace: bool,
        /// The last state that is not younger than this moment, of a backup that was made with
        /// `--follow`; the newest one without it.
        #[arg(long, value_name = "TIME", value_parser = crate::commands::databases::shipping::moment)]
        at: Option<i64>,
    },
    /// Print the rows of a database as text with their types, one JSON value a line.
    Dump {
        /// The database, such as `sqlite:tasks.db` or `postgres://host/base`.
        database: String,
        /// The tables; all when none is named.
        tables: Vec<String>,
        /// Print one table as comma-separated values.
        #[arg(long)]
        csv: bool,
    },
    /// Insert the rows of a dump into a database; tables that do not exist are made.
    Load {
        /// The dump: a file, or a reference such as `s3:backups/tasks.ndjson`.
        source: String,
        /// The database, such as `sqlite:tasks.db` or `postgres://host/base`.
        database: String,
        /// Read comma-separated values, with names in the first line, into this table.
        #[arg(long, value_name = "TABLE")]
        csv: Option<String>,
    },
    /// Give unused space of a database back to the system, and gather statistics for its queries.
    Vacuum {
        /// The database, such as `sqlite:tasks.db` or `postgres://host/base`.
        database: String,
    },
    /// Ask a supervisor to exchange its program for the version that is there now.
    Upgrade {
        /// The process of the supervisor.
        process: i32,
    },
    /// Make one executable of a program, its files and this command.
    Build(crate::commands::build::Build),
    /// Print the script by which a shell completes the words of this command.
    #[command(after_help = "Examples:\n  \
        eval \"$(runnel completions bash)\"      in ~/.bashrc\n  \
        eval \"$(runnel completions zsh)\"       in ~/.zshrc, after `compinit`\n  \
        runnel completions fish | source       in ~/.config/fish/config.fish")]
    Completions {
        /// The shell.
        shell: crate::commands::shell_files::Shell,
    },
    /// Print the man page, or write one for each command into a folder.
    Man {
        /// The folder, such as `~/.local/share/man/man1`.
        folder: Option<PathBuf>,
    },
    /// Measure how fast a server answers, and check every answer.
    Bench(Box<crate::commands::bench::Bench>),
    /// Run `test` blocks of programs, and the examples in Markdown pages.
    Test {
        /// Programs, pages, or folders with them; the folder `spec` when none is named.
        paths: Vec<PathBuf>,
        /// Rewrite what is expected to what comes (also with `BLESS=1`).
        #[arg(long)]
        bless: bool,
        /// Run the tests and sections whose names contain this text.
        #[arg(long, value_name = "NAME")]
        filter: Option<String>,
        /// Show how long each test took.
        #[arg(long)]
        times: bool,
    },
    /// Runs one part of what `test` runs, in a process of its own.
    #[command(hide = true)]
    TestPart {
        /// The page or program.
        path: PathBuf,
        /// The section of a page, counted from 0.
        section: Option<usize>,
        /// Run only the tests of a program whose names contain this text.
        #[arg(long)]
        filter: Option<String>,
    },
}
