//! The options of databases: `ref:sqlite:tasks.db database: #{ maxConnections: 8 }`.

use runnel_sql::{PostgresOptions, SqliteOptions, Synchronous};
use runnel_store::{Error, Setting, SettingKind, SettingTable, Value};

/// The most connections that a program may open to a database.
const MOST_CONNECTIONS: f64 = 1000.0;

/// The longest timeout, in seconds.
const LONGEST: f64 = 3600.0;

/// The least time after which statements are logged as slow, in seconds: reads that end earlier run where no time is
/// measured.
const SLOWNESS: f64 = 0.01;

/// `#{ synchronous: 'normal', busyTimeout: 2 seconds, readOnly: true, maxConnections: 8 }`
pub(crate) const SQLITE: SettingTable<SqliteOptions> = SettingTable(&[
    Setting::custom(
        "synchronous",
        "when a commit is durable",
        SettingKind::Text,
        |file: &mut SqliteOptions, value| {
            file.synchronous = match value.as_str() {
                Some("full") => Synchronous::Full,
                Some("normal") => Synchronous::Normal,
                _ => return Err("'full' or 'normal'".into()),
            };
            Ok(())
        },
    ),
    Setting::new("busyTimeout", "wait for other processes", |file: &mut SqliteOptions| {
        &mut file.busy_timeout
    })
    .range(0.0, LONGEST),
    Setting::new("readOnly", "refuse writes", |file: &mut SqliteOptions| &mut file.read_only),
    Setting::new(
        "cacheAnswers",
        "keep answers until the next write",
        |file: &mut SqliteOptions| &mut file.cache_answers,
    )
    .was(&["keepAnswers"]),
    Setting::new("maxConnections", "reading connections", |file: &mut SqliteOptions| {
        &mut file.max_connections
    })
    .range(1.0, MOST_CONNECTIONS)
    .was(&["connections"]),
    Setting::new("poolTimeout", "wait for a connection", |file: &mut SqliteOptions| {
        &mut file.pool_timeout
    })
    .range(0.0, LONGEST)
    .was(&["wait"]),
    Setting::new("transactionTimeout", "for a transaction", |file: &mut SqliteOptions| {
        &mut file.transaction_time
    })
    .range(0.0, LONGEST),
    Setting::new("slowStatementTime", "log slower statements", |file: &mut SqliteOptions| {
        &mut file.slow_statement_time
    })
    .range(SLOWNESS, LONGEST),
]);

/// `#{ maxConnections: 16, poolTimeout: 1 second, timeout: 10 seconds }`
pub(crate) const POSTGRES: SettingTable<PostgresOptions> = SettingTable(&[
    Setting::new("maxConnections", "connections", |server: &mut PostgresOptions| {
        &mut server.max_connections
    })
    .range(1.0, MOST_CONNECTIONS)
    .was(&["connections"]),
    Setting::new("poolTimeout", "wait for a connection", |server: &mut PostgresOptions| {
        &mut server.pool_timeout
    })
    .range(0.0, LONGEST)
    .was(&["wait"]),
    Setting::new("timeout", "for a statement", |server: &mut PostgresOptions| {
        &mut server.time_limit
    })
    .range(0.0, LONGEST),
    Setting::new("connectTimeout", "for a new connection", |server: &mut PostgresOptions| {
        &mut server.connect_time
    })
    .range(0.0, LONGEST),
    Setting::new("transactionTimeout", "for a transaction", |server: &mut PostgresOptions| {
        &mut server.transaction_time
    })
    .range(0.0, LONGEST),
    Setting::new("slowStatementTime", "log slower statements", |server: &mut PostgresOptions| {
        &mut server.slow_statement_time
    })
    .range(SLOWNESS, LONGEST),
]);

/// How a file is used.
pub(crate) fn sqlite(value: &Value) -> Result<SqliteOptions, Error> {
    SQLITE.read("a database", value)
}

/// How a server is used.
pub(crate) fn postgres(value: &Value) -> Result<PostgresOptions, Error> {
    POSTGRES.read("a database", value)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn record(name: &str, value: Value) -> Value {
        Value::Record(vec![(name.to_string(), value)])
    }

    #[test]
    fn options_are_read_by_name() {
        let eight = record("maxConnections", Value::Int(8));
        assert_eq!(
            (sqlite(&eight).unwrap().max_connections, postgres(&eight).unwrap().max_connections),
            (8, 8)
        );
        let wait = record("poolTimeout", "0.25 s".into());
        assert_eq!(postgres(&wait).unwrap().pool_timeout, Duration::from_millis(250));
        assert_eq!(sqlite(&Value::Nil).unwrap(), SqliteOptions::default());
    }

    #[test]
    fn what_is_wrong_is_said() {
        let message = |name, value| sqlite(&record(name, value)).unwrap_err().message;
        assert!(message("maxConnections", Value::Int(0)).contains("from 1 to 1000"));
        assert!(message("poolTimeout", "-1 s".into()).contains("from 0 s"));
        assert!(message("slowStatementTime", Value::Int(0)).contains("from 10 ms to 1 h"));
        assert_eq!(message("wait", Value::Int(1)), "`wait` of a database is now `poolTimeout`");
        assert!(message("conections", Value::Int(1)).contains("it has synchronous"));
        let error = postgres(&record("synchronous", Value::Nil)).unwrap_err();
        assert!(error.message.contains("it has maxConnections"), "{error}");
    }
}
