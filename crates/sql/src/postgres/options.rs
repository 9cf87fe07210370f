//! How a PostgreSQL database is used.

use crate::database::slow::SLOW_STATEMENT;
use std::time::Duration;

/// How a PostgreSQL database is used by one worker. Nothing here is secret: user and password
/// belong to the URL or to the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostgresOptions {
    /// Pool size of a worker, without the `LISTEN` connection.
    pub max_connections: usize,
    /// How long making a connection may take.
    pub connect_time: Duration,
    /// How long a verb waits for one of the connections.
    pub pool_timeout: Duration,
    /// How long a verb may take whose caller sets no deadline.
    pub time_limit: Duration,
    /// How long a transaction may wait for its next statement; then the server ends it.
    pub idle_transaction: Duration,
    /// How long a transaction may last; statements after that are refused, and it is rolled back.
    pub transaction_time: Duration,
    /// The net below all other limits: the server itself stops a statement that runs longer. It
    /// bounds how long a result may be read.
    pub statement_time: Duration,
    /// Statements that take this long are logged.
    pub slow_statement_time: Duration,
}

impl Default for PostgresOptions {
    fn default() -> Self {
        PostgresOptions {
            max_connections: 8,
            connect_time: Duration::from_secs(5),
            pool_timeout: Duration::from_secs(5),
            time_limit: Duration::from_secs(30),
            idle_transaction: Duration::from_secs(30),
            transaction_time: Duration::from_secs(300),
            statement_time: Duration::from_secs(300),
            slow_statement_time: SLOW_STATEMENT,
        }
    }
}
