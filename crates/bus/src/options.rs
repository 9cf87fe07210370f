//! How long to wait, and where the environment is.

use std::rc::Rc;
use std::time::Duration;

/// How long a verb may take where its caller sets no deadline.
pub const OPERATION_TIME: Duration = Duration::from_secs(5);

/// How long it may take until a server has been reached and has greeted us.
pub const CONNECT_TIME: Duration = Duration::from_secs(5);

/// Looks a variable of the environment up.
pub type Variable = Rc<dyn Fn(&str) -> Option<String>>;

/// The options of a scheme.
#[derive(Clone)]
pub struct BusOptions {
    /// Looks a variable of the environment up: `REDIS_URL` and `NATS_URL` are the servers of
    /// references without a host, `NATS_CREDS` is a file of credentials for `NATS_URL`, and
    /// `SSL_CERT_FILE` holds more authorities that may vouch for a server.
    pub variable: Variable,
    /// How long a verb may take where its caller sets no deadline: [`OPERATION_TIME`].
    pub operation_time: Duration,
    /// How long it may take to reach a server: [`CONNECT_TIME`].
    pub connect_time: Duration,
}

impl Default for BusOptions {
    /// The usual times, and the environment of the process.
    fn default() -> Self {
        BusOptions {
            variable: Rc::new(|name| std::env::var(name).ok()),
            operation_time: OPERATION_TIME,
            connect_time: CONNECT_TIME,
        }
    }
}

impl BusOptions {
    /// A variable that is set and not empty.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }
}
