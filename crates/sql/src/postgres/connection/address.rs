//! Where a database is and who asks: from a URL, the environment and the password file.

use crate::postgres::fault::{SqlFault, SqlResult};
use percent_encoding::percent_decode_str;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio_postgres::Config;
use tokio_postgres::config::SslMode;

/// The parameters of a URL that are about the connection.
pub(crate) const PARAMETERS: [&str; 3] = ["sslmode", "sslrootcert", "application_name"];

/// What is needed for making connections. It holds the password; its [`Address::place`] does not.
#[derive(Clone)]
pub(crate) struct Address {
    pub(crate) config: Config,
    /// Whether certificates are verified.
    pub(crate) verify: bool,
    /// The authorities by which they are.
    pub(crate) roots: Option<PathBuf>,
    /// `host:port/database`, for messages.
    pub(crate) place: String,
}

/// What a URL says itself, before the environment fills the gaps.
#[derive(Default)]
struct Said {
    user: Option<String>,
    password: Option<String>,
    host: Option<String>,
    port: Option<String>,
    database: Option<String>,
    parameters: Vec<(String, String)>,
}

impl Address {
    /// Reads `postgres://user:password@host:port/database?sslmode=…` (also `postgresql://`).
    /// What it does not say is taken from `PGHOST`, `PGPORT`, `PGUSER`, `PGPASSWORD`, `PGDATABASE`,
    /// `PGSSLMODE`, `PGSSLROOTCERT` and the password file (`PGPASSFILE`, `~/.pgpass`).
    pub(crate) fn parse(
        url: &str,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> SqlResult<Self> {
        let said = Said::read(url)?;
        let environment = |name: &str| environment(name).filter(|value| !value.is_empty());
        let host = said.host.or_else(|| environment("PGHOST")).unwrap_or("localhost".into());
        let port = said.port.or_else(|| environment("PGPORT")).unwrap_or("5432".into());
        let port: u16 = match port.parse() {
            Ok(port) if port > 0 => port,
            _ => return Err(SqlFault::invalid(format!("'{port}' is no port of a database"))),
        };
        let user = said.user.or_else(|| environment("PGUSER")).or_else(|| environment("USER"));
        let user = user.unwrap_or("postgres".into());
        let database = said.database.or_else(|| environment("PGDATABASE")).unwrap_or(user.clone());
        let place = format!("{host}:{port}/{database}");
        let password = said.password.or_else(|| environment("PGPASSWORD")).or_else(|| {
            let file = environment("PGPASSFILE")
                .map(PathBuf::from)
                .or_else(|| Some(PathBuf::from(environment("HOME")?).join(".pgpass")))?;
            from_file(&file, [&host, &port.to_string(), &database, &user])
        });
        let parameter = |name: &str| {
            let found = said.parameters.iter().rev().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone())
        };
        if let Some((name, _)) =
            said.parameters.iter().find(|(name, _)| !PARAMETERS.contains(&name.as_str()))
        {
            return Err(SqlFault::invalid(format!(
                "the URL of a database has no parameter '{name}'; it has {}",
                PARAMETERS.join(", ")
            )));
        }
        let mode = parameter("sslmode").or_else(|| environment("PGSSLMODE"));
        let (mode, verify) = security(mode.as_deref(), is_near(&host))?;
        let roots = parameter("sslrootcert").or_else(|| environment("PGSSLROOTCERT"));
        let mut config = Config::new();
        config.host(&host).port(port).user(&user).dbname(&database).ssl_mode(mode);
        config.application_name(parameter("application_name").unwrap_or("runnel".into()));
        config.keepalives(true).keepalives_idle(Duration::from_secs(30));
        if let Some(password) = password {
            config.password(password);
        }
        let roots = roots.filter(|file| file != "system").map(PathBuf::from);
        Ok(Address { config, verify, roots, place })
    }
}

impl Said {
    fn read(url: &str) -> SqlResult<Self> {
        // The URL itself stays out of the message: it may hold a password.
        let wrong = || {
            SqlFault::invalid(
                "the URL of a database reads postgres://user:password@host:port/database",
            )
        };
        let rest = match url.split_once("://") {
            Some(("postgres" | "postgresql", rest)) => rest,
            Some(_) => return Err(wrong()),
            None => url.strip_prefix("//").ok_or_else(wrong)?,
        };
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        let database = path.trim_end_matches('/');
        if database.contains('/') {
            return Err(wrong());
        }
        let mut said = Said { database: unescape(database)?, ..Said::default() };
        let (login, place) = match authority.rsplit_once('@') {
            Some((login, place)) => (login, place),
            None => ("", authority),
        };
        let (user, password) = login.split_once(':').unwrap_or((login, ""));
        (said.user, said.password) = (unescape(user)?, unescape(password)?);
        let (host, port) = match place.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((host, port)) => (host, port.strip_prefix(':').unwrap_or(port)),
            None => place.rsplit_once(':').unwrap_or((place, "")),
        };
        (said.host, said.port) = (unescape(host)?, unescape(port)?);
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            if let (Some(name), Some(value)) = (unescape(name)?, unescape(value)?) {
                said.parameters.push((name, value));
            }
        }
        Ok(said)
    }
}

/// Text without its escapes; nothing where it is empty.
fn unescape(text: &str) -> SqlResult<Option<String>> {
    match percent_decode_str(text).decode_utf8() {
        Ok(text) if text.contains('\0') => Err(SqlFault::invalid("the URL holds a NUL character")),
        Ok(text) => Ok(Some(text.into_owned()).filter(|text| !text.is_empty())),
        Err(_) => Err(SqlFault::invalid("the URL of the database is not UTF-8")),
    }
}

/// Whether the way to a host stays within this machine: a socket in the file system (a path) or an
/// address of the loopback.
fn is_near(host: &str) -> bool {
    host.starts_with('/')
        || host.eq_ignore_ascii_case("localhost")
        || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Secure by default: what leaves the machine is encrypted and the other side verified.
fn security(mode: Option<&str>, near: bool) -> SqlResult<(SslMode, bool)> {
    match (mode, near) {
        (None, true) | (Some("prefer" | "allow"), _) => Ok((SslMode::Prefer, false)),
        (None, false) | (Some("verify-full" | "verify-ca"), _) => Ok((SslMode::Require, true)),
        (Some("disable"), _) => Ok((SslMode::Disable, false)),
        (Some("require"), _) => Ok((SslMode::Require, false)),
        (Some(other), _) => Err(SqlFault::invalid(format!(
            "sslmode is disable, prefer, require or verify-full, not '{other}'"
        ))),
    }
}

/// The password from a file of lines `host:port:database:user:password`, where `*` fits anything
/// (the manual's "The Password File"). A file that others can read is passed over, as libpq does.
fn from_file(file: &Path, wanted: [&str; 4]) -> Option<String> {
    use std::os::unix::fs::MetadataExt;
    let about = std::fs::metadata(file).ok()?;
    if !about.is_file() {
        return None;
    }
    if about.mode() & 0o077 != 0 {
        tracing::warn!(file = %file.display(), "passed over: others can read the password file");
        return None;
    }
    let text = std::fs::read_to_string(file).ok()?;
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = fields(line);
        let [host, port, database, user, password] = fields.as_slice() else { return None };
        let fits = [host, port, database, user]
            .into_iter()
            .zip(wanted)
            .all(|(known, wanted)| known == "*" || known == wanted);
        fits.then(|| password.clone())
    })
}

/// The parts between colons; a backslash takes the next character as it is.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        let last = fields.len() - 1;
        match character {
            ':' if last < 4 => fields.push(String::new()),
            '\\' => fields[last].extend(characters.next()),
            _ => fields[last].push(character),
        }
    }
    fields
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parse(url: &str) -> SqlResult<Address> {
        Address::parse(url, &|_| None)
    }

    #[test]
    fn a_url_says_it_all() {
        let address = parse("postgres://me:p%40ss@db.example:6543/shop?sslmode=require").unwrap();
        assert_eq!(address.place, "db.example:6543/shop");
        assert_eq!(address.config.get_user(), Some("me"));
        assert_eq!(address.config.get_password(), Some(&b"p@ss"[..]));
        assert!(!address.verify && address.config.get_ssl_mode() == SslMode::Require);
        assert_eq!(parse("postgresql://[::1]:7/x").unwrap().place, "::1:7/x");
        assert_eq!(parse("postgres://%2Frun%2Fpg/x").unwrap().place, "/run/pg:5432/x");
    }

    #[test]
    fn what_leaves_the_machine_is_verified() {
        assert!(parse("postgres://db.example/x").unwrap().verify);
        assert!(parse("postgres://10.0.0.7/x?sslmode=verify-full").unwrap().verify);
        for near in ["localhost", "127.0.0.1", "[::1]", "%2Frun"] {
            let address = parse(&format!("postgres://{near}/x")).unwrap();
            assert!(!address.verify && address.config.get_ssl_mode() == SslMode::Prefer, "{near}");
        }
    }

    #[test]
    fn the_environment_fills_the_gaps() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pass");
        std::fs::write(&file, "#x\nother:*:*:*:no\n*:*:shop:m\\:e:s\\\\e:cret\n").unwrap();
        use std::os::unix::fs::PermissionsExt as _;
        let rights = |mode| std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode));
        let environment = |name: &str| {
            Some(match name {
                "PGHOST" => "127.0.0.1".to_string(),
                "PGUSER" => "m:e".to_string(),
                "PGDATABASE" => "shop".to_string(),
                "PGSSLMODE" => "disable".to_string(),
                "PGPASSFILE" => file.display().to_string(),
                _ => return None,
            })
        };
        rights(0o600).unwrap();
        let address = Address::parse("postgres://", &environment).unwrap();
        assert_eq!(address.place, "127.0.0.1:5432/shop");
        assert_eq!(address.config.get_ssl_mode(), SslMode::Disable);
        assert_eq!(address.config.get_password(), Some(&b"s\\e:cret"[..]));
        rights(0o644).unwrap();
        let address = Address::parse("postgres://", &environment).unwrap();
        assert_eq!(address.config.get_password(), None);
    }

    #[test]
    fn wrong_urls_keep_their_secrets() {
        for wrong in [
            "mysql://me:secret@x/y",
            "postgres://me:secret@x:many/y",
            "postgres://me:secret@x/y/z",
            "postgres://me:secret@x/y?sslmode=maybe",
            "postgres://me:secret@x/y?color=red",
            "postgres://me:secret%00@x/y",
            "me:secret@x",
        ] {
            let fault = parse(wrong).err().unwrap();
            assert!(!fault.message.contains("secret"), "{}", fault.message);
        }
    }
}
