//! What ends the conversation on a WebSocket.

/// Why a connection cannot go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WebSocketFault {
    /// The frames break the protocol.
    Protocol,
    /// A text is not UTF-8.
    NotUtf8,
    /// A compressed message is malformed.
    Data,
    /// A message is larger than it may be.
    TooLarge,
    /// The budget of the process has no memory for a message.
    NoMemory,
    /// The client is gone.
    Gone,
}
