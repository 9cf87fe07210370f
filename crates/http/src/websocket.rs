//! WebSocket (RFC 6455): the handshake, frames, compression, and the session between a client and
//! a port of the program.

mod assembly;
pub(crate) mod deflate;
mod fault;
mod frame;
pub(crate) mod frames;
pub(crate) mod handshake;
mod queue;
pub(crate) mod session;
