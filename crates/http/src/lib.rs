//! HTTP: any store served, and a client that is a store.
//!
//! - [`serve`] answers requests from a store; a [`Server`] can be given another store while it
//!   runs, and stops gracefully.
//! - [`Options`] and [`Limits`] say where it listens and what a client may do.
//! - [`client`] is the web as a store: the schemes `http:` and `https:`.
//! - [`Transport`] sends requests as they are, for stores whose protocol travels over HTTP.
//!
//! Reading order: `service` (request to verb), `turn` and `write` (verb to answer), `connection`
//! (the protocols and their time limits), `http1`, `server`; then `client`.

mod body;
mod client;
mod compress;
mod conditions;
mod connection;
mod events;
mod exchange;
mod fields;
mod file_body;
mod form;
mod forwarded;
mod framing;
mod guard;
mod head;
mod http1;
mod incoming;
mod listen;
mod listing;
mod local_certificate;
mod media;
mod meter;
mod multipart;
mod negotiate;
mod observe;
mod options;
mod origin;
mod partial;
mod problem;
mod problem_form;
mod protocols;
mod range;
mod reply;
mod request_body;
mod request_id;
mod server;
mod service;
mod socket;
mod spin;
mod target;
mod tls;
mod trace_context;
mod transport;
mod turn;
mod unix;
mod upgrade;
mod upload;
mod websocket;
mod wire;
mod write;

pub use client::{ClientOptions, client};
pub use forwarded::TrustedProxy;
pub use incoming::Share;
pub use listen::{AcceptQueue, Handed, bind, close_queue};
pub use observe::{CLIENT_GONE, Called, Observed, Observer, RefusedHead};
pub use options::{DEFAULT_PORT, Limits, Options};
pub use server::{
    Reserve, Server, is_out_of_descriptors, serve, serve_handed, serve_on, serve_on_unix,
};
pub use tls::Certificate;
pub use trace_context::TraceContext;
pub use transport::{Received, Transport, TransportError, TransportFault, TransportOptions};
pub use unix::{SocketFile, UNIX_PEER, UnixAddress, accept_unix, bind_unix};
