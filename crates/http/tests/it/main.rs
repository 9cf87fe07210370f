//! Tests of the crate through its public face: a server on a free port, a client that writes bytes.

#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod bodies;
mod cases;
mod client;
mod client_answers;
mod client_connections;
mod compression;
mod conditions;
mod conformance;
mod connections;
mod crowded;
mod events;
mod faults;
mod files;
mod h2;
mod handlers;
mod handlers_h2;
mod helper;
mod messages;
mod origins;
mod ranges;
mod refused;
mod static_confined;
mod static_files;
mod tls;
mod tls_server;
mod unix_sockets;
mod upstream;
mod verbs;
mod websocket;
