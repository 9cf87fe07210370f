//! What PostgreSQL and the network say, said calmly.
//!
//! The codes are those of the manual, appendix A ("PostgreSQL Error Codes").

pub(crate) use crate::fault::{Cause, Fault};
use runnel_store::Kind;
use std::error::Error as _;
use std::io;
use std::time::Duration;
use tokio_postgres::error::{DbError, SqlState};

/// A failure of a statement or a connection; `place` says which server, without any secret.
pub(crate) fn of(error: &tokio_postgres::Error, place: &str) -> Fault {
    if let Some(said) = error.as_db_error() {
        return of_server(said, place);
    }
    let detail = match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    };
    if let Some(cause) = error.source().and_then(|cause| cause.downcast_ref::<io::Error>()) {
        let message = match tls_words(cause) {
            Some(words) => format!("no secure connection to PostgreSQL at {place}: {words}"),
            None => format!("no connection to PostgreSQL at {place}: {}", io_words(cause)),
        };
        return Fault::new(Kind::Unavailable, message).with(detail, Cause::Closed);
    }
    let text = error.to_string();
    let (kind, message) = if error.is_closed() {
        (Kind::Unavailable, format!("the connection to PostgreSQL at {place} was closed"))
    } else if text.contains("authentication") || text.contains("password") {
        (
            Kind::Denied,
            format!(
                "PostgreSQL at {place} and this program do not agree on how to log in; check user and password"
            ),
        )
    } else if text.contains("TLS") {
        let message = format!(
            "PostgreSQL at {place} does not offer a secure connection; use one that does, or say \
             sslmode=disable"
        );
        (Kind::Unavailable, message)
    } else if text.contains("serializ") {
        (Kind::Invalid, "a parameter of the statement cannot be sent".to_string())
    } else {
        (Kind::Unavailable, format!("what answers at {place} does not speak PostgreSQL's protocol"))
    };
    let cause = if kind == Kind::Unavailable { Cause::Closed } else { Cause::Other };
    Fault::new(kind, message).with(detail, cause)
}

/// Nothing was heard in time.
pub(crate) fn late(place: &str, limit: Duration) -> Fault {
    let seconds = limit.as_secs_f64();
    Fault::new(Kind::Timeout, format!("PostgreSQL at {place} did not answer within {seconds:.1} s"))
}

fn io_words(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "the connection was refused".into(),
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => "it was broken off".into(),
        io::ErrorKind::UnexpectedEof => "it ended too early".into(),
        io::ErrorKind::TimedOut => "it took too long".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::NotFound => "there is no such socket".into(),
        io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => {
            "what answers does not speak PostgreSQL's protocol".into()
        }
        _ if error.to_string().contains("lookup") => "there is no host of that name".into(),
        _ => "the network does not reach it".into(),
    }
}

fn tls_words(error: &io::Error) -> Option<String> {
    let inner = error.get_ref()?.downcast_ref::<tokio_rustls::rustls::Error>()?;
    Some(match inner {
        tokio_rustls::rustls::Error::InvalidCertificate(cause) => format!(
            "its certificate is not trusted ({cause}); name the authority with sslrootcert=FILE, \
             or give verification up with sslmode=require"
        ),
        _ => "the two sides do not agree on TLS".to_string(),
    })
}

fn of_server(said: &DbError, place: &str) -> Fault {
    let code = said.code();
    let detail = format!("{} {}: {}", said.severity(), code.code(), said.message());
    let fault =
        |kind, message: String, cause| Fault::new(kind, message).with(detail.clone(), cause);
    let message = || sentence(said.message());
    match code.code() {
        "23505" => fault(Kind::Conflict, duplicate(said), Cause::Constraint),
        "23502" => {
            let column = said.column().unwrap_or("a column");
            fault(Kind::Invalid, format!("{column} must have a value"), Cause::Constraint)
        }
        "23503" => fault(
            Kind::Conflict,
            "the row refers to one that is not there, or others still refer to it".to_string(),
            Cause::Constraint,
        ),
        "23514" => {
            let rule = said.constraint().unwrap_or_default();
            let message = format!("the table does not accept this: {rule} does not hold");
            fault(Kind::Invalid, message, Cause::Constraint)
        }
        "57014" => {
            let message = format!("PostgreSQL at {place} stopped the statement: it took too long");
            fault(Kind::Timeout, message, Cause::Other)
        }
        "40001" | "40P01" => fault(
            Kind::Conflict,
            "another transaction got in the way; try again".to_string(),
            Cause::Again,
        ),
        "55P03" => fault(
            Kind::Unavailable,
            "another transaction holds what this one needs".to_string(),
            Cause::Other,
        ),
        "25P02" => fault(
            Kind::Conflict,
            "the transaction has failed before; roll it back".to_string(),
            Cause::Other,
        ),
        "25006" => fault(Kind::Denied, "the database can only be read".to_string(), Cause::Other),
        "0A000" if said.message().contains("cached plan") => {
            fault(Kind::Unavailable, "the tables are being changed".to_string(), Cause::Stale)
        }
        "26000" => {
            fault(Kind::Unavailable, "the connection lost its statements".into(), Cause::Stale)
        }
        "42P01" | "42703" => fault(Kind::Invalid, message(), Cause::Stale),
        "42601" if said.message().contains("multiple commands") => fault(
            Kind::Invalid,
            "this is more than one statement; run them one by one".to_string(),
            Cause::Other,
        ),
        "42501" => {
            let message = format!("the user may not do this: {}", message());
            fault(Kind::Denied, message, Cause::Other)
        }
        "28000" | "28P01" => fault(
            Kind::Denied,
            format!("PostgreSQL at {place} refuses the user or the password"),
            Cause::Other,
        ),
        "3D000" => fault(Kind::NotFound, message(), Cause::Other),
        "53300" => fault(
            Kind::Unavailable,
            format!("PostgreSQL at {place} has no connection left"),
            Cause::Other,
        ),
        "57P01" | "57P02" | "57P03" | "25P03" | "57P05" => fault(
            Kind::Unavailable,
            format!("PostgreSQL at {place} ended the connection: {}", message()),
            Cause::Closed,
        ),
        _ => of_class(said, place, &fault),
    }
}

fn of_class(said: &DbError, place: &str, fault: &dyn Fn(Kind, String, Cause) -> Fault) -> Fault {
    let message = sentence(said.message());
    match said.code().code().get(..2).unwrap_or_default() {
        "08" => fault(
            Kind::Unavailable,
            format!("the connection to PostgreSQL at {place} failed"),
            Cause::Closed,
        ),
        "53" | "58" => fault(
            Kind::Unavailable,
            format!("PostgreSQL at {place} has run out of something: {message}"),
            Cause::Other,
        ),
        "54" => fault(Kind::TooLarge, message, Cause::Other),
        "0A" | "22" | "42" | "P0" => fault(Kind::Invalid, message, Cause::Other),
        "23" | "2B" | "55" => fault(Kind::Conflict, message, Cause::Constraint),
        _ if *said.code() == SqlState::INTERNAL_ERROR => {
            fault(Kind::Failed, "PostgreSQL could not do this".to_string(), Cause::Other)
        }
        _ => fault(Kind::Failed, message, Cause::Other),
    }
}

/// The detail names the columns: `Key (title, owner)=(a, b) already exists.` The values stay out
/// of the message: they may be nobody's business.
fn duplicate(said: &DbError) -> String {
    let detail = said.detail().unwrap_or_default();
    let columns = detail.split_once('(').and_then(|(_, rest)| rest.split_once(")=("));
    match columns {
        Some((columns, _)) => {
            format!("another row has the same {}", columns.replace('"', "").replace(", ", " and "))
        }
        None => "another row has the same values".to_string(),
    }
}

fn sentence(text: &str) -> String {
    let text = text.trim().trim_end_matches('.');
    if text.is_empty() { "the statement failed".into() } else { text.to_string() }
}
