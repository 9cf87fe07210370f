//! The protocol settings, shared by all connections of a server.

use crate::network::server_tls::ServerTls;
use crate::server::http1::shared_buffers::SharedBuffers;
use crate::server::options::{Limits, ServerOptions};
use hyper::rt::Executor;
use hyper::server::conn::http2;
use hyper_util::rt::TokioTimer;
use runnel_store::Result;
use std::future::Future;
use std::rc::Rc;

/// The receive window of one stream, in bytes: upload data in flight before the store reads
/// (HTTP/2).
const STREAM_WINDOW: u32 = 256 * 1024;
/// The receive window of a connection, in bytes.
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// The send buffer of one stream, in bytes (HTTP/2).
const KEPT_ANSWER: usize = 64 * 1024;
/// The most streams that a client has opened and reset before they were accepted: more is a rapid
/// reset attack, and closes the connection (CVE-2023-44487).
const RESET_EARLY: usize = 20;
/// The most streams that the server itself resets before the connection closes.
const RESET_BY_US: usize = 100;
/// The protocols of a server.
pub(crate) struct Protocols {
    /// `None` without HTTP/2.
    pub(crate) http2: Option<http2::Builder<Local>>,
    /// `None` without TLS.
    pub(crate) tls: Option<ServerTls>,
    /// The buffers of HTTP/1.1 connections.
    pub(crate) scratch: Rc<SharedBuffers>,
}

impl Protocols {
    /// # Errors
    /// The certificate cannot be used.
    pub(crate) async fn new(options: &ServerOptions) -> Result<Self> {
        let tls = match &options.certificate {
            Some(certificate) => {
                let (clients, http2) = (options.client_authority.as_ref(), options.http2);
                Some(ServerTls::new(certificate, clients, http2, options.address).await?)
            }
            None => None,
        };
        Ok(Protocols {
            http2: options.http2.then(|| http2(&options.limits)),
            tls,
            scratch: Rc::default(),
        })
    }
}

fn http2(limits: &Limits) -> http2::Builder<Local> {
    let mut protocol = http2::Builder::new(Local);
    let head = u32::try_from(limits.header_section + limits.target).unwrap_or(u32::MAX);
    protocol
        .timer(TokioTimer::new())
        .max_concurrent_streams(limits.streams)
        .max_header_list_size(head)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_send_buf_size(KEPT_ANSWER)
        .max_pending_accept_reset_streams(RESET_EARLY)
        .max_local_error_reset_streams(RESET_BY_US)
        // Pings detect a dead client while a response is pending.
        .keep_alive_interval(limits.keep_alive)
        .keep_alive_timeout(limits.header_time);
    protocol
}

/// Runs the concurrent streams of a connection on the worker's thread.
#[derive(Clone, Copy)]
pub(crate) struct Local;

impl<F: Future + 'static> Executor<F> for Local {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(async move {
            future.await;
        });
    }
}
