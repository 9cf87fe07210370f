//! WebSocket (RFC 6455): the handshake, frames, compression, and the session between a client and
//! a port of the program.

mod assembly;
mod deflate;
mod fault;
mod frame;
mod frames;
mod handshake;
mod queue;
mod session;
