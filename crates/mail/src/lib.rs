//! A mail server as a store: what is written to an address is a message sent to it (SMTP, RFC 5321).
//!
//! [`MailServer`] is the store, [`MailOptions`] say where the server is and who sends. A message is a record
//! with `subject` and `text` or `html`; [`message`](self) builds it with every field encoded, so that no value
//! adds a header.

mod message;
mod options;
mod server;

pub use message::{MAX_MESSAGE, MAX_RECIPIENTS};
pub use options::{MAX_CONNECTIONS, MailOptions, TIMEOUT};
pub use server::MailServer;
