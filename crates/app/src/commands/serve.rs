//! `runnel serve`: servers of one line. Each is a small program, so that everything behaves as the
//! same server does in a program of one's own.

use crate::console::Console;
use crate::exit_status;
use crate::memory::MemoryOptions;
use crate::run::{self, Order};
use std::io::Read;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// The default port: that of servers in programs.
const PORT: u16 = runnel_http::DEFAULT_PORT;

/// The words before a folder.
const FILES: &str = "files";
const S3: &str = "s3";

/// Environment variables with the user of S3, which other users of the machine do not see in the
/// list of processes.
const KEY: &str = "RUNNEL_S3_KEY";
const SECRET: &str = "RUNNEL_S3_SECRET";

/// Said at the start of a server of S3 without users.
const OPEN: &str = "note: without --key and --secret everybody on this machine may read and write";

/// How a SQLite database begins.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// The arguments of `runnel serve`.
#[derive(Debug, clap::Args)]
pub(crate) struct Serve {
    /// `files` or `s3`, before a folder; or a SQLite database, whose tables are served as JSON.
    what: PathBuf,
    /// The folder; for S3 also a database, such as `sqlite:data.db`.
    folder: Option<PathBuf>,
    /// The port; 0 for a free one.
    #[arg(long, value_name = "PORT", default_value_t = PORT)]
    port: u16,
    /// The address to listen on.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    address: String,
    /// The access key of S3; also RUNNEL_S3_KEY. Without it everybody on this machine may do everything.
    #[arg(long, value_name = "KEY")]
    key: Option<String>,
    /// The secret of the access key; better in RUNNEL_S3_SECRET.
    #[arg(long, value_name = "SECRET")]
    secret: Option<String>,
    /// Number of worker threads that share the port; `auto`: one for each core.
    #[arg(long, value_name = "N|auto", default_value = "1", value_parser = crate::process::workers::count)]
    pub(crate) workers: usize,
    #[command(flatten)]
    pub(crate) memory: MemoryOptions,
}

/// Why nothing can be served: a message and the exit status.
type Refusal = (String, u8);

/// `runnel serve files|s3 FOLDER`, `runnel serve s3 sqlite:FILE`, `runnel serve DATABASE`
pub(crate) fn run(serve: &Serve, json: bool) -> u8 {
    let (source, args) = match serve.program() {
        Ok(program) => program,
        Err((message, status)) => {
            Console::error(&format!("error: {message}"));
            return status;
        }
    };
    let workers = serve.workers;
    let order = Order { path: "serve".into(), port: None, args, workers, json, attach: false };
    run::source(&order, source)
}

impl Serve {
    /// The program and its arguments.
    fn program(&self) -> Result<(String, Vec<String>), Refusal> {
        let user = self.user()?;
        let (name, folder) = (self.what.to_str().unwrap_or_default(), self.folder.as_deref());
        match (name, folder, user) {
            (S3, Some(folder), user) => {
                let (path, store) = objects(folder)?;
                let mut args = vec![path, self.address.clone()];
                let users = match user {
                    Some((key, secret)) => {
                        args.extend([key, secret]);
                        "users ← #{ }. users at: (args at: 2) put: (args at: 3)."
                    }
                    None => {
                        if self.address.parse().is_ok_and(|one: IpAddr| one.is_loopback()) {
                            Console::error(OPEN);
                        }
                        "users ← #{ }."
                    }
                };
                let server =
                    format!("S3Server{{ port: {}, address: address, users: users }}", self.port);
                Ok((program(users, &server, store), args))
            }
            (_, _, Some(_)) => Err((
                "a key and a secret are those of S3: `runnel serve s3 FOLDER`".to_string(),
                exit_status::USAGE,
            )),
            (FILES, Some(folder), _) => {
                let files = "#StaticFiles{ listing: true } → ref:file:{path} asScheme";
                let args = vec![the_folder(folder)?, self.address.clone()];
                Ok((program("", &self.http(), files), args))
            }
            (_, None, _) if self.what.is_file() => {
                let tables = "#JSONConverter{ } → ref:sqlite:{path} asScheme";
                let args = vec![the_database(&self.what)?, self.address.clone()];
                let server =
                    format!("HTTPServer{{ port: {}, address: address, listing: true }}", self.port);
                Ok((program("", &server, tables), args))
            }
            (_, None, _) if !matches!(name, FILES | S3) && !self.what.is_dir() => Err((
                format!("{} cannot be read: there is no such database", self.what.display()),
                exit_status::NO_INPUT,
            )),
            _ => Err((
                "say what is served: `runnel serve files FOLDER`, `runnel serve s3 FOLDER` or \
                 `runnel serve DATABASE`"
                    .to_string(),
                exit_status::USAGE,
            )),
        }
    }

    fn http(&self) -> String {
        format!("HTTPServer{{ port: {}, address: address }}", self.port)
    }

    /// The user of S3, from the options or the environment.
    fn user(&self) -> Result<Option<(String, String)>, Refusal> {
        let is_s3 = self.what.as_os_str() == S3;
        let variable = |name| std::env::var(name).ok().filter(|_| is_s3);
        let key = self.key.clone().or_else(|| variable(KEY)).filter(|key| !key.is_empty());
        let secret =
            self.secret.clone().or_else(|| variable(SECRET)).filter(|secret| !secret.is_empty());
        match (key, secret) {
            (Some(key), Some(secret)) => Ok(Some((key, secret))),
            (None, None) => Ok(None),
            _ => Err((
                format!("a key has a secret: --key and --secret, or {KEY} and {SECRET}"),
                exit_status::USAGE,
            )),
        }
    }
}

/// The text of a program: what it does first, its server, and what that serves.
fn program(first: &str, server: &str, store: &str) -> String {
    format!("path ← args at: 0.\naddress ← args at: 1.\n{first}\n#{server} → {store}.\n")
}

/// The place of the objects of S3 as an argument, and the store that a program makes of it: files in
/// a folder, or the key-value store `objects` of a database.
fn objects(place: &Path) -> Result<(String, &'static str), Refusal> {
    match place.to_str().and_then(|text| text.split_once(':')) {
        Some(("sqlite", file)) => {
            let file = Path::new(file);
            let path = if file.exists() { the_database(file)? } else { absolute(file)? };
            Ok((path, "(ref:sqlite:{path} keyValueStore: 'objects')"))
        }
        Some(("postgres" | "postgresql", address)) => {
            Ok((address.to_string(), "(ref:postgres:{path} keyValueStore: 'objects')"))
        }
        _ => Ok((the_folder(place)?, "ref:file:{path} asScheme")),
    }
}

/// The absolute path of a folder.
fn the_folder(folder: &Path) -> Result<String, Refusal> {
    let shown = folder.display();
    let facts = std::fs::metadata(folder)
        .map_err(|error| (format!("{shown} cannot be read: {error}"), exit_status::NO_INPUT))?;
    if !facts.is_dir() {
        return Err((format!("{shown} is no folder"), exit_status::NO_INPUT));
    }
    absolute(folder)
}

/// The absolute path of a database.
fn the_database(file: &Path) -> Result<String, Refusal> {
    let shown = file.display();
    let mut start = Vec::new();
    std::fs::File::open(file)
        .and_then(|file| file.take(SQLITE.len() as u64).read_to_end(&mut start))
        .map_err(|error| (format!("{shown} cannot be read: {error}"), exit_status::NO_INPUT))?;
    // An empty file is a database without tables.
    if !start.is_empty() && start != SQLITE {
        return Err((format!("{shown} is no SQLite database"), exit_status::DATA));
    }
    absolute(file)
}

fn absolute(path: &Path) -> Result<String, Refusal> {
    let shown = path.display();
    let whole = std::path::absolute(path)
        .map_err(|error| (format!("{shown} cannot be read: {error}"), exit_status::NO_INPUT))?;
    let text = whole.to_str().map(str::to_string);
    text.ok_or_else(|| (format!("the name {shown} is not UTF-8 text"), exit_status::NO_INPUT))
}
