//! What can go wrong with a verb: one shape for every store.

use crate::Verb;
use std::fmt;
use std::rc::Rc;

/// The result of a verb.
pub type Result<T> = std::result::Result<T, Error>;

/// The kinds of failure. The list is closed: a server maps each to a status, a program matches on
/// [`Kind::name`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Nothing is there and the verb needs something (a get of a missing reference is no error).
    NotFound,
    /// The store does not do this verb on this reference.
    NotAllowed,
    /// The reference leads outside what the store may touch, or rights are missing.
    Denied,
    /// The content or the reference is malformed.
    Invalid,
    /// The content is of a kind that the store does not take.
    Unsupported,
    /// The content, the path or the answer is larger than a limit.
    TooLarge,
    /// The state of the store forbids it now (a directory in the place of a file, a unique key).
    Conflict,
    /// A condition of the caller (an entity tag) does not hold.
    Precondition,
    /// It took longer than the deadline.
    Timeout,
    /// The other side is down, full or unreachable.
    Unavailable,
    /// The caller went away.
    Cancelled,
    /// Anything else: a fault of the program or the system.
    Failed,
}

impl Kind {
    /// The name that programs and logs use, such as `notFound`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::NotFound => "notFound",
            Kind::NotAllowed => "notAllowed",
            Kind::Denied => "denied",
            Kind::Invalid => "invalid",
            Kind::Unsupported => "unsupported",
            Kind::TooLarge => "tooLarge",
            Kind::Conflict => "conflict",
            Kind::Precondition => "precondition",
            Kind::Timeout => "timeout",
            Kind::Unavailable => "unavailable",
            Kind::Cancelled => "cancelled",
            Kind::Failed => "failed",
        }
    }
}

/// One failure of one verb.
#[derive(Clone, Debug)]
pub struct Error {
    /// What kind of failure.
    pub kind: Kind,
    /// One calm sentence for people, without the reference and the verb.
    pub message: String,
    /// The verb that failed, where known.
    pub verb: Option<Verb>,
    /// The reference it failed on, where known.
    pub reference: Option<String>,
    /// Whether the same call may well succeed a little later: what `retry` looks at.
    pub temporary: bool,
    /// Detail for the log only (a trace, a driver's message): never sent to a client.
    pub detail: Option<String>,
    /// The cause, where there is one.
    pub source: Option<Rc<dyn std::error::Error>>,
}

impl Error {
    /// A failure of a kind. Timeouts and unavailability count as temporary.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Error {
            kind,
            message: message.into(),
            verb: None,
            reference: None,
            temporary: matches!(kind, Kind::Timeout | Kind::Unavailable),
            detail: None,
            source: None,
        }
    }

    /// Adds the verb and the reference, unless a store further down has set them.
    pub fn on(mut self, verb: Verb, reference: &crate::Reference) -> Self {
        self.verb.get_or_insert(verb);
        self.reference.get_or_insert_with(|| reference.to_string());
        self
    }

    /// Adds detail for the log.
    pub fn with_detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds the cause.
    pub fn with_source(mut self, source: impl std::error::Error + 'static) -> Self {
        self.source = Some(Rc::new(source));
        self
    }

    /// Says whether trying again may help.
    pub fn with_temporary(mut self, temporary: bool) -> Self {
        self.temporary = temporary;
        self
    }

    /// A verb that the store does not do.
    pub fn not_allowed(verb: Verb, reference: &crate::Reference) -> Self {
        Error::new(Kind::NotAllowed, format!("this store does not {}", verb.name()))
            .on(verb, reference)
    }

    /// An error of the file system, with its usual meaning.
    pub fn from_io(error: std::io::Error, verb: Verb, reference: &crate::Reference) -> Self {
        use std::io::ErrorKind as Io;
        let (kind, message) = match error.kind() {
            Io::NotFound => (Kind::NotFound, "there is no such file or directory"),
            Io::PermissionDenied => (Kind::Denied, "permission denied"),
            Io::AlreadyExists => (Kind::Conflict, "something is there already"),
            Io::IsADirectory => (Kind::Conflict, "this is a directory"),
            Io::NotADirectory => (Kind::Conflict, "a part of the path is not a directory"),
            Io::DirectoryNotEmpty => (Kind::Conflict, "the directory is not empty"),
            Io::InvalidFilename | Io::InvalidInput => (Kind::Invalid, "the name is not valid"),
            Io::StorageFull | Io::QuotaExceeded => (Kind::Unavailable, "the disk is full"),
            Io::TimedOut => (Kind::Timeout, "it took too long"),
            Io::ConnectionRefused => (Kind::Unavailable, "the connection was refused"),
            _ => (Kind::Failed, "reading or writing failed"),
        };
        Error::new(kind, message).on(verb, reference).with_detail(error.to_string())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.verb, &self.reference) {
            // The root of a store has no name of its own.
            (Some(verb), Some(reference)) if reference.is_empty() => {
                write!(out, "{}: {}", verb.name(), self.message)
            }
            (Some(verb), Some(reference)) => {
                write!(out, "{} {}: {}", verb.name(), reference, self.message)
            }
            (None, Some(reference)) if !reference.is_empty() => {
                write!(out, "{}: {}", reference, self.message)
            }
            _ => out.write_str(&self.message),
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_deref()
    }
}
