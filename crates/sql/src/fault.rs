//! Failures inside this crate: plain data, so that they can cross threads.

use runnel_store::{Error, FieldProblem, Kind};

/// A failure on its way to the caller. [`Error`] may hold a cause that belongs to one thread;
/// this one is plain data, because the writer and the pool answer from theirs.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SqlFault {
    pub(crate) kind: Kind,
    pub(crate) message: String,
    /// What the database said, for the log.
    pub(crate) detail: Option<String>,
    pub(crate) cause: SqlFaultCause,
    /// The fields of the content that are wrong, where they are known.
    pub(crate) fields: Vec<FieldProblem>,
}

/// A result within this crate.
pub(crate) type SqlResult<T> = Result<T, SqlFault>;

/// What is wrong with a field that the table has no column for.
pub(crate) const UNKNOWN_FIELD: &str = "is no field here";
/// What is wrong with a field that the database computes.
pub(crate) const COMPUTED_FIELD: &str = "is computed and cannot be set";

/// What the crate itself reacts to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SqlFaultCause {
    /// Another connection holds a lock; the same call works once it lets go.
    Busy,
    /// The progress handler stopped the statement: over budget, past its deadline, cancelled.
    Interrupted,
    /// A constraint of the schema.
    Constraint,
    /// The connection to the server is gone.
    Closed,
    /// A page of the file does not hold what it should.
    Damaged,
    /// The tables are not what was known of them: look again.
    Stale,
    /// The same call may well succeed: two transactions got in each other's way.
    Again,
    /// Anything else.
    Other,
}

impl SqlFault {
    pub(crate) fn new(kind: Kind, message: impl Into<String>) -> Self {
        SqlFault {
            kind,
            message: message.into(),
            detail: None,
            cause: SqlFaultCause::Other,
            fields: Vec::new(),
        }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        SqlFault::new(Kind::Invalid, message)
    }

    pub(crate) fn timeout() -> Self {
        SqlFault::new(Kind::Timeout, "the database did not answer before the deadline")
    }

    /// What the progress handler makes of a statement, for limits that it does not see.
    pub(crate) fn interrupted() -> Self {
        SqlFault { cause: SqlFaultCause::Interrupted, ..SqlFault::timeout() }
    }

    /// The refusal of what cannot happen within a transaction.
    pub(crate) fn alone(name: &str) -> Self {
        let message = format!("{name} cannot be part of a transaction; send it outside of one");
        SqlFault::new(Kind::NotAllowed, message)
    }

    pub(crate) fn stopped() -> Self {
        SqlFault::new(Kind::Unavailable, "the database has been closed")
    }

    pub(crate) fn with(mut self, detail: impl Into<String>, cause: SqlFaultCause) -> Self {
        self.detail = Some(detail.into());
        self.cause = cause;
        self
    }

    /// Names the field of the record that is wrong, and how.
    pub(crate) fn of_field(mut self, name: &str, message: impl Into<String>) -> Self {
        let pointer = if name.is_empty() { String::new() } else { runnel_store::pointer_of(name) };
        self.fields.push(FieldProblem { pointer, message: message.into() });
        self
    }

    /// The fault of a write that was sent and whose connection ended before the reply: the outcome
    /// is unknown.
    pub(crate) fn in_doubt(mut self) -> Self {
        if self.cause == SqlFaultCause::Closed {
            self.kind = Kind::InDoubt;
            self.message.push_str("; whether the write was done is not known");
        }
        self
    }

    /// What is wrong with a record is the client's fault where the client sent it.
    pub(crate) fn of_content(mut self, client: bool) -> Self {
        if client && matches!(self.kind, Kind::Invalid | Kind::Unsupported) {
            self.kind = Kind::Unprocessable;
        }
        self
    }

    pub(crate) fn is_busy(&self) -> bool {
        self.cause == SqlFaultCause::Busy
    }

    pub(crate) fn is_interrupted(&self) -> bool {
        self.cause == SqlFaultCause::Interrupted
    }
}

impl From<SqlFault> for Error {
    fn from(fault: SqlFault) -> Self {
        let mut error = Error::new(fault.kind, fault.message);
        error.detail = fault.detail;
        error.fields = fault.fields;
        error.temporary |= fault.cause == SqlFaultCause::Again;
        error
    }
}
