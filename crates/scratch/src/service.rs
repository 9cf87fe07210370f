//! The servers that can be started, and how each is.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A server that tests can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Service {
    /// PostgreSQL: an empty database, for a superuser without a password.
    Postgres,
    /// Redis or Valkey, whichever is installed, without persistence.
    Redis,
    /// NATS with JetStream.
    Nats,
    /// A server for the S3 protocol: moto's, which takes any credentials.
    S3,
}

impl Service {
    /// All of them.
    pub const ALL: [Service; 4] = [Service::Postgres, Service::Redis, Service::Nats, Service::S3];

    /// Its name, as in `needs: postgres`.
    pub fn name(self) -> &'static str {
        match self {
            Service::Postgres => "postgres",
            Service::Redis => "redis",
            Service::Nats => "nats",
            Service::S3 => "s3",
        }
    }

    /// The service of a name.
    pub fn named(name: &str) -> Option<Service> {
        Service::ALL.into_iter().find(|service| service.name() == name)
    }

    /// The environment variable in which programs look for its address.
    pub fn variable(self) -> &'static str {
        match self {
            Service::Postgres => "DATABASE_URL",
            Service::Redis => "REDIS_URL",
            Service::Nats => "NATS_URL",
            Service::S3 => "AWS_ENDPOINT_URL",
        }
    }

    /// How to install its program on Debian.
    pub fn help(self) -> &'static str {
        match self {
            Service::Postgres => "apt install postgresql",
            Service::Redis => "apt install redis-server",
            Service::Nats => "apt install nats-server",
            Service::S3 => {
                "python3 -m venv ~/.cache/runnel/moto && \
                 ~/.cache/runnel/moto/bin/pip install 'moto[server,s3]'"
            }
        }
    }

    /// Whether its program is installed.
    pub fn is_installed(self) -> bool {
        self.program().is_some()
    }

    pub(crate) fn url(self, port: u16) -> String {
        match self {
            Service::Postgres => format!("postgres://runnel@127.0.0.1:{port}/postgres"),
            Service::Redis => format!("redis://127.0.0.1:{port}"),
            Service::Nats => format!("nats://127.0.0.1:{port}"),
            Service::S3 => format!("http://127.0.0.1:{port}"),
        }
    }

    /// The server's program; `None` when it is not installed.
    pub(crate) fn program(self) -> Option<PathBuf> {
        match self {
            Service::Postgres => postgres("postgres"),
            Service::Redis => in_path("valkey-server").or_else(|| in_path("redis-server")),
            Service::Nats => in_path("nats-server"),
            Service::S3 => in_path("moto_server").or_else(|| {
                let home = PathBuf::from(std::env::var_os("HOME")?);
                Some(home.join(".cache/runnel/moto/bin/moto_server")).filter(|path| path.is_file())
            }),
        }
    }

    /// What has to be run before it starts for the first time in a folder.
    pub(crate) fn preparation(self, folder: &Path) -> Option<Command> {
        if self != Service::Postgres {
            return None;
        }
        let mut command = as_server_user(&postgres("initdb")?);
        command
            .args(["--username=runnel", "--auth=trust", "--encoding=UTF8", "--no-sync"])
            .args(["--locale=C", "--pgdata"])
            .arg(folder.join("data"));
        Some(command)
    }

    pub(crate) fn command(self, program: &Path, folder: &Path, port: u16) -> Command {
        let port = port.to_string();
        let mut command = match self {
            Service::Postgres => as_server_user(program),
            _ => bound_to_us(program),
        };
        match self {
            Service::Postgres => command
                .arg("-D")
                .arg(folder.join("data"))
                .args(["-p", &port, "-c", "listen_addresses=127.0.0.1"])
                .args(["-c", "unix_socket_directories=", "-c", "fsync=off"])
                .args(["-c", "max_connections=200"]),
            Service::Redis => command
                .args(["--port", &port, "--bind", "127.0.0.1", "--save", ""])
                .args(["--appendonly", "no", "--dir"])
                .arg(folder),
            Service::Nats => {
                command.args(["-a", "127.0.0.1", "-p", &port, "-js", "-sd"]).arg(folder)
            }
            Service::S3 => command.args(["-H", "127.0.0.1", "-p", &port]),
        };
        command
    }

    /// What a connection is sent and how its answer begins, to see that it is ready. An empty
    /// question means that the server speaks first.
    pub(crate) fn greeting(self) -> (&'static [u8], &'static [u8]) {
        match self {
            // The start of a session (protocol 3.0, section 55.7): an error while it starts up,
            // and a request for, or the end of, authentication when it is ready.
            Service::Postgres => {
                (b"\0\0\0\x27\0\x03\0\0user\0runnel\0database\0postgres\0\0", b"R")
            }
            Service::Redis => (b"PING\r\n", b"+PONG"),
            Service::Nats => (b"", b"INFO"),
            Service::S3 => (b"GET /moto-api/ HTTP/1.0\r\n\r\n", b"HTTP/1."),
        }
    }
}

fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    // Servers are often in folders that only an administrator's path has.
    let more = ["/usr/sbin", "/usr/local/sbin"].map(PathBuf::from);
    std::env::split_paths(&path).chain(more).map(|dir| dir.join(name)).find(|file| file.is_file())
}

/// Debian keeps each version of PostgreSQL in a folder of its own, outside the path.
fn postgres(name: &str) -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok();
    let mut folders: Vec<PathBuf> =
        versions.into_iter().flatten().flatten().map(|entry| entry.path()).collect();
    folders.sort();
    let installed = folders.iter().rev().map(|folder| folder.join("bin").join(name));
    installed.into_iter().find(|file| file.is_file()).or_else(|| in_path(name))
}

/// A program that the kernel ends when the thread that started it ends.
fn bound_to_us(program: &Path) -> Command {
    match in_path("setpriv") {
        Some(setpriv) => {
            let mut command = Command::new(setpriv);
            command.args(["--pdeathsig", "KILL"]).arg(program);
            command
        }
        None => Command::new(program),
    }
}

/// PostgreSQL refuses to run as root; then it runs as the user that Debian made for it.
fn as_server_user(program: &Path) -> Command {
    match (is_root(), in_path("setpriv")) {
        (true, Some(setpriv)) => {
            let mut command = Command::new(setpriv);
            command.args(["--reuid=postgres", "--regid=postgres", "--clear-groups"]);
            command.args(["--pdeathsig", "KILL"]).arg(program);
            command
        }
        _ => bound_to_us(program),
    }
}

pub(crate) fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    std::fs::metadata("/proc/self").is_ok_and(|about| about.uid() == 0)
}
