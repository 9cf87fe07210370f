//! What a database can be told: `ref:sqlite:tasks.db database: #{ connections: 8 }`.

use crate::option_value::{self, Wanted, flag, set};
use runnel_sql::{PostgresOptions, SqliteOptions, Synchronous};
use runnel_store::{Error, Kind, Value};
use std::time::Duration;

/// The most connections that can be asked for: a database has more to do than to hold them.
const MOST_CONNECTIONS: u32 = 1000;

/// The longest time that can be asked for, in seconds.
const LONGEST: f64 = 3600.0;

/// How a file is used:
/// `#{ synchronous: 'normal', busyTimeout: 2 seconds, readOnly: true, connections: 8 }`
pub(crate) fn sqlite(value: &Value) -> Result<SqliteOptions, Error> {
    let mut options = SqliteOptions::default();
    each(
        value,
        "synchronous, busyTimeout, readOnly, keepAnswers, connections and wait",
        |name, value| match name {
            "synchronous" => {
                options.synchronous = match value {
                    Value::Text(text) if text == "full" => Synchronous::Full,
                    Value::Text(text) if text == "normal" => Synchronous::Normal,
                    _ => return Some(Err("'full' or 'normal'".into())),
                };
                Some(Ok(()))
            }
            "readOnly" => Some(set(&mut options.read_only, flag(value))),
            "keepAnswers" => Some(set(&mut options.keep_answers, flag(value))),
            "busyTimeout" => Some(set(&mut options.busy_timeout, time(value))),
            "connections" => Some(set(&mut options.connections, count(value))),
            "wait" => Some(set(&mut options.wait, time(value))),
            _ => None,
        },
    )?;
    Ok(options)
}

/// How a server is used: `#{ connections: 16, wait: 1 second, timeout: 10 seconds }`
pub(crate) fn postgres(value: &Value) -> Result<PostgresOptions, Error> {
    let mut options = PostgresOptions::default();
    each(
        value,
        "connections, wait, timeout, connectTimeout and transactionTimeout",
        |name, value| match name {
            "connections" => Some(set(&mut options.connections, count(value))),
            "wait" => Some(set(&mut options.checkout_time, time(value))),
            "timeout" => Some(set(&mut options.time_limit, time(value))),
            "connectTimeout" => Some(set(&mut options.connect_time, time(value))),
            "transactionTimeout" => Some(set(&mut options.transaction_time, time(value))),
            _ => None,
        },
    )?;
    Ok(options)
}

/// Reads each field; `None` from the reader says that there is no such option.
fn each(
    value: &Value,
    known: &str,
    mut read: impl FnMut(&str, &Value) -> Option<Result<(), Wanted>>,
) -> Result<(), Error> {
    let Value::Record(fields) = value else { return Ok(()) };
    for (name, value) in fields {
        match read(name, value) {
            Some(Ok(())) => {}
            Some(Err(what)) => {
                let message = format!("the option {name} of a database is {what}");
                return Err(Error::new(Kind::Invalid, message));
            }
            None => {
                let message = format!("a database has no option {name}; it has {known}");
                return Err(Error::new(Kind::Invalid, message));
            }
        }
    }
    Ok(())
}

fn time(value: &Value) -> Result<Duration, Wanted> {
    option_value::time(value, 0.0..=LONGEST)
}

fn count(value: &Value) -> Result<usize, Wanted> {
    option_value::count(value, MOST_CONNECTIONS)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn record(name: &str, value: Value) -> Value {
        Value::Record(vec![(name.to_string(), value)])
    }

    #[test]
    fn options_are_read_by_name() {
        let eight = record("connections", Value::Int(8));
        assert_eq!(
            (sqlite(&eight).unwrap().connections, postgres(&eight).unwrap().connections),
            (8, 8)
        );
        let wait = record("wait", Value::Float(0.25));
        assert_eq!(postgres(&wait).unwrap().checkout_time, Duration::from_millis(250));
        assert_eq!(sqlite(&Value::Nil).unwrap(), SqliteOptions::default());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let message = |name, value| sqlite(&record(name, value)).unwrap_err().message;
        assert!(message("connections", Value::Int(0)).contains("from 1 to 1000"));
        assert!(message("wait", Value::Int(-1)).contains("seconds"));
        assert!(message("conections", Value::Int(1)).contains("it has synchronous"));
        let error = postgres(&record("synchronous", Value::Nil)).unwrap_err();
        assert!(error.message.contains("it has connections"), "{error}");
    }
}
