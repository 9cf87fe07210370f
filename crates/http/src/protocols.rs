//! The settings of the protocols, the same for every connection of a server.

use crate::options::{DEFAULT_HEADER_FIELDS, Limits, Options};
use crate::tls::Tls;
use hyper::rt::Executor;
use hyper::server::conn::{http1, http2};
use hyper_util::rt::TokioTimer;
use runnel_store::Result;
use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;

/// The smallest buffer that hyper accepts.
const LEAST_BUFFER: usize = 64 * 1024;
/// Bytes of one upload that may be on their way before the store has read any (HTTP/2).
const STREAM_WINDOW: u32 = 256 * 1024;
/// The same for all uploads of a connection.
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// Bytes of one answer that are kept until the client has room for them (HTTP/2).
const KEPT_ANSWER: usize = 64 * 1024;
/// Streams that a client has opened and reset before they were looked at: more is a flood, and ends
/// the connection (CVE-2023-44487).
const RESET_EARLY: usize = 20;
/// Streams that the server itself had to reset, before the connection ends.
const RESET_BY_US: usize = 100;
/// The longest piece that is read from a client at a time.
const SCRATCH: usize = 64 * 1024;

/// Bytes are read here before they are looked at: one place for all connections of a worker.
pub(crate) type Scratch = Rc<RefCell<Box<[u8]>>>;

/// How connections of a server speak.
pub(crate) struct Protocols {
    pub(crate) http1: http1::Builder,
    /// Absent where HTTP/2 is not spoken.
    pub(crate) http2: Option<http2::Builder<Local>>,
    /// Absent where there is no TLS.
    pub(crate) tls: Option<Tls>,
    pub(crate) scratch: Scratch,
}

impl Protocols {
    /// # Errors
    /// The certificate cannot be used.
    pub(crate) fn new(options: &Options) -> Result<Self> {
        let tls = match &options.certificate {
            Some(certificate) => Some(Tls::new(certificate, options.http2, options.address)?),
            None => None,
        };
        Ok(Protocols {
            http1: http1(&options.limits),
            http2: options.http2.then(|| http2(&options.limits)),
            tls,
            scratch: Rc::new(RefCell::new(vec![0; SCRATCH].into())),
        })
    }
}

fn http1(limits: &Limits) -> http1::Builder {
    let mut protocol = http1::Builder::new();
    let head = limits.header_section + limits.target;
    // The meter times the head: hyper's own timer costs an allocation for each request.
    protocol.header_read_timeout(None);
    protocol.half_close(false);
    protocol.max_header_size(head);
    protocol.max_buf_size(head.max(LEAST_BUFFER));
    if limits.header_fields != DEFAULT_HEADER_FIELDS {
        protocol.max_headers(limits.header_fields);
    }
    protocol
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
        // A client that is gone without a word is noticed while an answer is waited for.
        .keep_alive_interval(limits.keep_alive)
        .keep_alive_timeout(limits.header_time);
    protocol
}

/// Runs the requests of one connection beside one another, on the worker's thread.
#[derive(Clone, Copy)]
pub(crate) struct Local;

impl<F: Future + 'static> Executor<F> for Local {
    fn execute(&self, future: F) {
        tokio::task::spawn_local(async move {
            future.await;
        });
    }
}
