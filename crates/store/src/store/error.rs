//! What can go wrong with a verb: one shape for every store.

use crate::Verb;
use std::fmt;
use std::rc::Rc;

/// The result of a verb.
pub type Result<T> = std::result::Result<T, Error>;

/// Defines each kind once: its name in programs, its HTTP status, and when it is raised, which is
/// also the text of the reference.
macro_rules! kinds {
    ($($kind:ident $name:literal $status:literal $meaning:literal)*) => {
        /// The kinds of failure. The list is closed: a program matches on [`Kind::name`], a server
        /// answers [`Kind::status`], and a client reads it back with [`Kind::of_status`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Kind {
            $(#[doc = $meaning] $kind,)*
        }

        /// Every kind with its name in programs, its HTTP status (RFC 9110, RFC 6585, RFC 7725) and
        /// its meaning. A client maps a status to the first kind with it.
        const KINDS: &[(Kind, &str, u16, &str)] = &[$((Kind::$kind, $name, $status, $meaning),)*];
    };
}

kinds! {
    Invalid "invalid" 400 "The content or the reference is malformed."
    Unauthorized "unauthorized" 401 "Authentication is missing or failed."
    PaymentRequired "paymentRequired" 402 "The request is refused until a payment is made."
    Denied "denied" 403
        "The reference leads outside what the store may touch, or rights are missing."
    NotFound "notFound" 404
        "The resource does not exist, and the verb needs it. A read of a missing reference is nil."
    NotAllowed "notAllowed" 405 "The store does not do this verb on this reference."
    Conflict "conflict" 409
        "The state of the store forbids it now: a unique key, or a folder in the place of a file."
    Gone "gone" 410 "The resource existed and was removed for good."
    Precondition "precondition" 412 "A condition of the caller, such as an entity tag, does not hold."
    TooLarge "tooLarge" 413 "The content, the path or the answer is larger than a limit."
    Unsupported "unsupported" 415 "The content is of a kind that the store does not take."
    Unprocessable "unprocessable" 422
        "The content is well formed, and its values are not what the resource takes."
    TooMany "tooMany" 429 "The caller sends more requests than a limit allows."
    Legal "legal" 451 "Refused for legal reasons."
    Failed "failed" 500 "Anything else: a fault of the program or the system."
    Unavailable "unavailable" 503 "The other side is down, full or unreachable."
    Cancelled "cancelled" 503 "The caller closed the connection or gave up."
    Timeout "timeout" 504 "It took longer than the deadline."
    InDoubt "inDoubt" 504
        "A write was sent and its reply was lost: it may have been done, so a second try may do it twice."
}

impl Kind {
    fn row(self) -> (&'static str, u16) {
        let row = KINDS.iter().find(|(kind, ..)| *kind == self);
        row.map_or(("failed", 500), |(_, name, status, _)| (name, *status))
    }

    /// Every kind, in the order of statuses.
    pub fn all() -> impl Iterator<Item = Kind> {
        KINDS.iter().map(|(kind, ..)| *kind)
    }

    /// The name that programs and logs use, such as `notFound`.
    pub fn name(self) -> &'static str {
        self.row().0
    }

    /// When it is raised, in one sentence.
    pub fn meaning(self) -> &'static str {
        let row = KINDS.iter().find(|(kind, ..)| *kind == self);
        row.map_or("", |(.., meaning)| meaning)
    }

    /// The kind of a name.
    pub fn of_name(name: &str) -> Option<Kind> {
        KINDS.iter().find(|(_, other, ..)| *other == name).map(|(kind, ..)| *kind)
    }

    /// The status with which a server answers it.
    pub fn status(self) -> u16 {
        self.row().1
    }

    /// The kind of a status that means no success, as a client reads it.
    pub fn of_status(status: u16) -> Kind {
        let same = KINDS.iter().find(|(_, _, other, _)| *other == status);
        match (same, status) {
            (Some((kind, ..)), _) => *kind,
            (None, 407) => Kind::Unauthorized,
            (None, 501) => Kind::NotAllowed,
            (None, 406) => Kind::Unsupported,
            (None, 408) => Kind::Timeout,
            (None, 423) => Kind::Conflict,
            (None, 428) => Kind::Precondition,
            (None, 414 | 431) => Kind::TooLarge,
            (None, 425 | 502) => Kind::Unavailable,
            (None, 400..=499) => Kind::Invalid,
            (None, _) => Kind::Failed,
        }
    }
}

/// A field of the content that is not as the resource wants it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldProblem {
    /// Where it is in the content: a JSON pointer (RFC 6901) such as `/address/street`.
    pub pointer: String,
    /// One sentence for people.
    pub message: String,
}

/// The HTTP response that a program chose for its own error.
#[derive(Clone, Debug, Default)]
pub struct ErrorResponse {
    /// The status instead of that of the kind: between 400 and 599, or 303 with a `Location`.
    pub status: Option<u16>,
    /// Headers, such as `WWW-Authenticate`.
    pub headers: Vec<(String, String)>,
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
    /// Whether the same call may succeed a little later; `retry` repeats such calls.
    pub temporary: bool,
    /// Raised inside a program by its own resource: a server logs the message and does not send it.
    pub internal: bool,
    /// A value in the reference is malformed, not a statement or content of the caller. If the
    /// reference came from a client, the request is malformed.
    pub of_reference: bool,
    /// The fields of the content that are wrong, where they are known.
    pub fields: Vec<FieldProblem>,
    /// Status and headers of the response, where a program chose them.
    pub response: Option<Box<ErrorResponse>>,
    /// Detail for the log only (a trace, a driver's message): never sent to a client.
    pub detail: Option<String>,
    /// The cause, where there is one.
    pub source: Option<Rc<dyn std::error::Error>>,
}

impl Error {
    /// A failure of a kind. Timeouts, unavailability and rate limits count as temporary.
    pub fn new(kind: Kind, message: impl Into<String>) -> Self {
        Error {
            kind,
            message: message.into(),
            verb: None,
            reference: None,
            temporary: matches!(kind, Kind::Timeout | Kind::Unavailable | Kind::TooMany),
            internal: false,
            of_reference: false,
            fields: Vec::new(),
            response: None,
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

    /// The error of a write that was sent and whose reply was lost: it is not known whether it was
    /// done, and doing it again may do it twice. Other errors than a lost reply stay as they are.
    pub fn in_doubt(mut self) -> Self {
        let is_failure = self.kind == Kind::Failed && self.temporary;
        if is_failure || matches!(self.kind, Kind::Timeout | Kind::Unavailable) {
            self.kind = Kind::InDoubt;
            self.temporary = false;
            self.message.push_str("; whether the write was done is not known");
        }
        self
    }

    /// A reference that cannot be: [`Kind::Invalid`], by a value in it.
    pub fn malformed_reference(message: impl Into<String>) -> Self {
        Error { of_reference: true, ..Error::new(Kind::Invalid, message) }
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

    /// Adds a field that is wrong, at a JSON pointer.
    pub fn with_field(mut self, pointer: impl Into<String>, message: impl Into<String>) -> Self {
        self.fields.push(FieldProblem { pointer: pointer.into(), message: message.into() });
        self
    }

    /// Says whether trying again may help.
    pub fn with_temporary(mut self, temporary: bool) -> Self {
        self.temporary = temporary;
        self
    }

    /// Refuses to put what is wanted for a time only (`?expires=60`), in a store that keeps it for
    /// ever.
    ///
    /// # Errors
    /// [`Kind::Invalid`].
    pub fn refuse_expiry(reference: &crate::Reference) -> Result<()> {
        let mut parts = reference.query().unwrap_or_default().split('&');
        match parts.any(|part| part.starts_with("expires=")) {
            true => {
                let message =
                    "this store keeps content for ever: leave `?expires=` out, or use Redis";
                Err(Error::new(Kind::Invalid, message))
            }
            false => Ok(()),
        }
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
            _ if is_out_of_descriptors(&error) => (Kind::Unavailable, "no file descriptor is left"),
            Io::NotFound => (Kind::NotFound, "there is no such file or directory"),
            Io::PermissionDenied => (Kind::Denied, "permission denied"),
            Io::ReadOnlyFilesystem => (Kind::Denied, "the file system can only be read"),
            Io::AlreadyExists => (Kind::Conflict, "something is there already"),
            Io::IsADirectory => (Kind::Conflict, "this is a directory"),
            Io::NotADirectory => (Kind::Conflict, "a part of the path is not a directory"),
            Io::DirectoryNotEmpty => (Kind::Conflict, "the directory is not empty"),
            Io::InvalidFilename | Io::InvalidInput => (Kind::Invalid, "the name is not valid"),
            Io::StorageFull | Io::QuotaExceeded => (Kind::Unavailable, DISK_FULL),
            Io::FileTooLarge => (Kind::TooLarge, "the file would be larger than the system allows"),
            Io::TimedOut => (Kind::Timeout, "it took too long"),
            Io::ConnectionRefused => (Kind::Unavailable, "the connection was refused"),
            _ => (Kind::Failed, "reading or writing failed"),
        };
        // Longer than the file system takes, say.
        let of_reference = kind == Kind::Invalid;
        let error = Error::new(kind, message).on(verb, reference).with_detail(error.to_string());
        Error { of_reference, ..error }
    }

    /// Whether the store has no space left.
    pub fn is_disk_full(&self) -> bool {
        self.kind == Kind::Unavailable && self.message == DISK_FULL
    }
}

/// The message of [`Kind::Unavailable`] where a disk is full.
pub const DISK_FULL: &str = "the disk is full";

/// EMFILE or ENFILE, which have no kind of their own.
fn is_out_of_descriptors(error: &std::io::Error) -> bool {
    use rustix::io::Errno;
    matches!(Errno::from_io_error(error), Some(Errno::MFILE | Errno::NFILE))
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.verb, &self.reference) {
            // The root of a store has no name.
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
