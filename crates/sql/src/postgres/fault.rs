//! What PostgreSQL and the network say, said calmly.
//!
//! The codes are those of the manual, appendix A ("PostgreSQL Error Codes").

pub(crate) use crate::fault::{SqlFault, SqlFaultCause, SqlResult};
use runnel_store::Kind;
use std::error::Error as _;
use std::io;
use std::time::Duration;
use tokio_postgres::error::DbError;

/// A failure of a statement or a connection; `place` says which server, without any secret.
pub(crate) fn from_driver(error: &tokio_postgres::Error, place: &str) -> SqlFault {
    if let Some(said) = error.as_db_error() {
        return from_server(said, place);
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
        return SqlFault::new(Kind::Unavailable, message).with(detail, SqlFaultCause::Closed);
    }
    let is = |part: &str| detail.contains(part);
    let (kind, message) = if error.is_closed() {
        (Kind::Unavailable, format!("the connection to PostgreSQL at {place} was closed"))
    } else if is("authentication") || is("password") {
        let message = format!(
            "PostgreSQL at {place} and this program do not agree on how to log in; check the user \
             and the password"
        );
        (Kind::Denied, message)
    } else if is("TLS") {
        let message = format!(
            "PostgreSQL at {place} does not offer a secure connection; use one that does, or say \
             sslmode=disable"
        );
        (Kind::Unavailable, message)
    } else if is("serializ") {
        (Kind::Invalid, "a parameter of the statement cannot be sent".to_string())
    } else {
        (Kind::Unavailable, format!("what answers at {place} does not speak PostgreSQL's protocol"))
    };
    let cause =
        if kind == Kind::Unavailable { SqlFaultCause::Closed } else { SqlFaultCause::Other };
    SqlFault::new(kind, message).with(detail, cause)
}

/// Nothing was heard in time.
pub(crate) fn late(place: &str, limit: Duration) -> SqlFault {
    let seconds = limit.as_secs_f64();
    SqlFault::new(
        Kind::Timeout,
        format!("PostgreSQL at {place} did not answer within {seconds:.1} s"),
    )
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

fn from_server(said: &DbError, place: &str) -> SqlFault {
    let fault = |kind, message: &str, cause| {
        let detail = format!("{} {}: {}", said.severity(), said.code().code(), said.message());
        SqlFault::new(kind, message).with(detail, cause)
    };
    let message = sentence(said.message());
    let at = |what: &str| format!("PostgreSQL at {place} {what}");
    match said.code().code() {
        "23505" | "23502" | "23503" | "23514" => {
            let (kind, message) = of_constraint(said);
            let fault = fault(kind, &message, SqlFaultCause::Constraint);
            match said.code().code() {
                // It is missing: what is wrong is the record.
                "23502" => fault.of_field("", message),
                "23505" => duplicated(said)
                    .iter()
                    .fold(fault, |fault, name| fault.of_field(name, message.as_str())),
                _ => fault,
            }
        }
        "57014" => fault(
            Kind::Timeout,
            &at("stopped the statement: it took too long"),
            SqlFaultCause::Other,
        ),
        "40001" | "40P01" => fault(
            Kind::Conflict,
            "another transaction got in the way; try again",
            SqlFaultCause::Again,
        ),
        "55P03" => {
            let message = "another transaction holds what this one needs";
            fault(Kind::Unavailable, message, SqlFaultCause::Other)
        }
        "25P02" => fault(
            Kind::Conflict,
            "the transaction has failed before; roll it back",
            SqlFaultCause::Other,
        ),
        "25006" => fault(Kind::Denied, "the database can only be read", SqlFaultCause::Other),
        "0A000" if said.message().contains("cached plan") => {
            fault(Kind::Unavailable, "the tables are being changed", SqlFaultCause::Stale)
        }
        "26000" => {
            fault(Kind::Unavailable, "the connection lost its statements", SqlFaultCause::Stale)
        }
        "42P01" | "42703" => fault(Kind::Invalid, &message, SqlFaultCause::Stale),
        "42601" if said.message().contains("multiple commands") => {
            let message = "this is more than one statement; run them one by one";
            fault(Kind::Invalid, message, SqlFaultCause::Other)
        }
        "42501" => fault(
            Kind::Denied,
            &format!("the user may not do this: {message}"),
            SqlFaultCause::Other,
        ),
        "28000" | "28P01" => {
            fault(Kind::Denied, &at("refuses the user or the password"), SqlFaultCause::Other)
        }
        "3D000" => fault(Kind::NotFound, &message, SqlFaultCause::Other),
        "53300" => fault(Kind::Unavailable, &at("has no connection left"), SqlFaultCause::Other),
        "57P01" | "57P02" | "57P03" | "25P03" | "57P05" => {
            let message = at(&format!("ended the connection: {message}"));
            fault(Kind::Unavailable, &message, SqlFaultCause::Closed)
        }
        _ => of_class(said, place, &fault),
    }
}

fn of_constraint(said: &DbError) -> (Kind, String) {
    match said.code().code() {
        "23505" => (Kind::Conflict, duplicate(said)),
        "23502" => {
            (Kind::Invalid, format!("{} must have a value", said.column().unwrap_or("a column")))
        }
        "23503" => (Kind::Conflict, broken_reference(said)),
        _ => {
            let rule = said.constraint().unwrap_or_default();
            (Kind::Invalid, format!("the table does not accept this: {rule} does not hold"))
        }
    }
}

fn of_class(
    said: &DbError,
    place: &str,
    fault: &dyn Fn(Kind, &str, SqlFaultCause) -> SqlFault,
) -> SqlFault {
    let message = sentence(said.message());
    match said.code().code().get(..2).unwrap_or_default() {
        "08" => {
            let message = format!("the connection to PostgreSQL at {place} failed");
            fault(Kind::Unavailable, &message, SqlFaultCause::Closed)
        }
        "53" | "58" => {
            let message = format!("PostgreSQL at {place} has run out of something: {message}");
            fault(Kind::Unavailable, &message, SqlFaultCause::Other)
        }
        "54" => fault(Kind::TooLarge, &message, SqlFaultCause::Other),
        "0A" | "22" | "42" | "P0" => fault(Kind::Invalid, &message, SqlFaultCause::Other),
        "23" | "2B" | "55" => fault(Kind::Conflict, &message, SqlFaultCause::Constraint),
        "XX" => fault(Kind::Failed, "PostgreSQL could not do this", SqlFaultCause::Other),
        _ => fault(Kind::Failed, &message, SqlFaultCause::Other),
    }
}

/// The detail names the columns: `Key (title, owner)=(a, b) already exists.` The values stay out of
/// the message: they may be secret.
fn duplicate(said: &DbError) -> String {
    match duplicated(said).join(" and ").as_str() {
        "" => "another row has the same values".to_string(),
        columns => format!("another row has the same {columns}"),
    }
}

/// Which tables a reference is between, where the server says it in English: `update or delete on table
/// "authors" violates foreign key constraint "books_author_fkey" on table "books"`.
fn broken_reference(said: &DbError) -> String {
    let quoted = |text: &str| text.split('"').nth(1).map(String::from);
    let child = said.table();
    let still = said.message().strip_prefix("update or delete on table ").and_then(quoted);
    let parent = said.detail().and_then(|detail| detail.split_once("present in table "));
    match (child, still, parent.and_then(|(_, rest)| quoted(rest))) {
        (Some(child), Some(parent), _) => format!("{child} still refers to this row of {parent}"),
        (Some(child), None, Some(parent)) => {
            format!("{child} refers to {parent}, where there is no such row")
        }
        _ => "the row refers to one that is not there, or others still refer to it".to_string(),
    }
}

/// The columns of a unique violation, from `Key (email)=(a@example) already exists.`
fn duplicated(said: &DbError) -> Vec<String> {
    let detail = said.detail().unwrap_or_default();
    let columns = detail.split_once('(').and_then(|(_, rest)| rest.split_once(")=("));
    let columns = columns.map(|(columns, _)| columns.split(", "));
    columns.into_iter().flatten().map(|name| name.replace('"', "")).collect()
}

fn sentence(text: &str) -> String {
    let text = text.trim().trim_end_matches('.');
    if text.is_empty() { "the statement failed".into() } else { text.to_string() }
}
