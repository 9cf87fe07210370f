//! Faults that end a WebSocket connection.

/// Why a connection cannot continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WebSocketFault {
    /// A protocol violation.
    Protocol,
    /// A text that is not UTF-8.
    NotUtf8,
    /// A malformed compressed message.
    Data,
    /// A message beyond the size limit.
    TooLarge,
    /// The memory budget of the process is exhausted.
    NoMemory,
    /// The client disconnected.
    Gone,
}
