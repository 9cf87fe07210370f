//! One connection from accept to close: TLS, protocol detection, timeouts, and lingering close.

use crate::network::certificates::client;
use crate::network::proxy_header::{ProxiedPeer, ProxyHeaderReader};
use crate::network::server_tls::{ServerTls, TlsHandshake};
use crate::network::wire::{NetworkStream, chose_http2, peer_certificate};
use crate::server::connection_state::{ConnectionState, TimeoutAction, UpgradedSession};
use crate::server::http1::connection::{self as http1, ConnectionEnd};
use crate::server::options::Limits;
use crate::server::protocols::{Local, Protocols};
use crate::server::service::RequestService;
use crate::server::socket::Socket;
use bytes::{Bytes, BytesMut};
use hyper::server::conn::http2;
use hyper_util::rt::TokioIo;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::io::AsyncWrite;
use tokio::net::TcpStream;
use tokio::time::Sleep;

/// How long a half-closed connection is still read, so that the client sees the last response:
/// closing a socket with unread input resets it, and the response may be lost (RFC 9112 section
/// 9.6).
const LINGER_TIME: Duration = Duration::from_secs(2);
/// Bounds of the bytes that are read and discarded in that time: as many as a body may have, since
/// most clients send all of it before they read the response.
const LINGER_BYTES: (u64, u64) = (4 << 20, 64 << 20);
/// The HTTP/2 connection preface (RFC 9113 section 3.4). No HTTP/1.1 method starts with it.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Bytes that tell the two protocols apart.
const PREFACE_PREFIX: usize = 4;

/// A connection as a future. Ready when the connection is closed.
pub(crate) struct ServerConnection {
    stage: Stage,
    state: Rc<ConnectionState>,
    limits: Rc<Limits>,
    protocols: Rc<Protocols>,
    /// The only timer of the connection. While it runs it is only moved closer; when it fires too
    /// early it is set again. A request on a busy connection costs no timer.
    timer: Pin<Box<Sleep>>,
    /// When the timer fires, once it was set.
    timer_at: Option<Instant>,
    told_to_stop: bool,
}

enum Stage {
    /// The header of the PROXY protocol.
    ProxyHeader(ProxyHeaderReader, RequestService),
    /// TLS handshake.
    Handshake(TlsHandshake, RequestService),
    /// Nothing was read yet.
    Silent(Socket, RequestService),
    Http1(Box<http1::Http1Connection>),
    Http2(Box<http2::Connection<TokioIo<Socket>, RequestService, Local>>),
    /// An upgraded protocol.
    Upgraded(UpgradedSession),
    /// Lingering close: input is discarded.
    Lingering(LingeringClose),
    Over,
}

impl Stage {
    /// The first stage of a connection with its client.
    fn begin(stream: TcpStream, requests: RequestService, protocols: &Protocols) -> Stage {
        match &protocols.tls {
            Some(tls) => Stage::Handshake(tls.accept(stream), requests),
            None => {
                let socket = Socket::new(NetworkStream::Left(stream), requests.state.clone());
                Stage::Silent(socket, requests)
            }
        }
    }
}

struct LingeringClose {
    socket: Socket,
    until: Instant,
    /// Bytes that may still be discarded.
    left: usize,
}

impl ServerConnection {
    pub(crate) fn new(
        stream: TcpStream,
        protocols: Rc<Protocols>,
        requests: RequestService,
    ) -> ServerConnection {
        let (state, limits) = (requests.state.clone(), requests.limits.clone());
        let stage = match limits.access.proxy_protocol {
            true => Stage::ProxyHeader(ProxyHeaderReader::new(stream), requests),
            false => Stage::begin(stream, requests, &protocols),
        };
        ServerConnection {
            stage,
            state,
            limits,
            protocols,
            timer: Box::pin(tokio::time::sleep(Duration::ZERO)),
            timer_at: None,
            told_to_stop: false,
        }
    }

    /// Makes progress until the client or a store blocks. Ready when the connection is over.
    fn make_progress(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            match &mut self.stage {
                Stage::ProxyHeader(header, _) => {
                    let peer = ready!(header.poll(context));
                    self.proxy_header_done(peer);
                }
                Stage::Handshake(agreement, _) => {
                    let agreed = ready!(agreement.as_mut().poll(context));
                    self.handshake_done(agreed);
                }
                Stage::Silent(..) => ready!(self.poll_first_bytes(context)),
                Stage::Http1(_) => ready!(self.http1(context)),
                Stage::Http2(_) => return self.http2(context),
                Stage::Upgraded(session) => return session.as_mut().poll(context),
                Stage::Lingering(_) | Stage::Over => return self.poll_discard(context),
            }
        }
    }

    /// The load balancer has named its client.
    fn proxy_header_done(&mut self, peer: io::Result<ProxiedPeer>) {
        let Stage::ProxyHeader(header, mut requests) =
            std::mem::replace(&mut self.stage, Stage::Over)
        else {
            return;
        };
        match peer {
            Err(error) => return tracing::debug!(%error, "a proxied connection was closed"),
            Ok(ProxiedPeer::Itself) => {}
            Ok(ProxiedPeer::Unknown) => requests.is_anonymous = true,
            Ok(ProxiedPeer::Client(client)) => {
                requests.peer = client;
                if let Some(membership) = &requests.membership {
                    membership.belongs_to(client);
                    if membership.is_refused() {
                        return;
                    }
                }
            }
        }
        self.stage = Stage::begin(header.into_stream(), requests, &self.protocols);
    }

    /// The TLS handshake ended.
    fn handshake_done(&mut self, agreed: io::Result<NetworkStream>) {
        let Stage::Handshake(_, mut requests) = std::mem::replace(&mut self.stage, Stage::Over)
        else {
            return;
        };
        match agreed {
            Err(error) => tracing::debug!(%error, "a TLS handshake failed"),
            Ok(wire) => {
                let is_http2 = chose_http2(&wire);
                if self.protocols.tls.as_ref().is_some_and(ServerTls::asks_clients) {
                    requests.client_certificate =
                        peer_certificate(&wire).and_then(client::describe).map(Rc::new);
                }
                let socket = Socket::new(wire, self.state.clone());
                self.stage = Stage::Silent(socket, requests);
                if is_http2 {
                    self.start_protocol(&[]);
                }
            }
        }
    }

    /// Waits for the first bytes. Ready on a change of stage.
    fn poll_first_bytes(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Stage::Silent(socket, _) = &mut self.stage else { return Poll::Ready(()) };
        let protocols = self.protocols.clone();
        let mut space = protocols.scratch.space();
        match socket.poll_take(&mut space, context) {
            Poll::Ready(Ok(early)) if !early.is_empty() => self.start_protocol(early),
            Poll::Pending if !self.state.stopping.get() => return Poll::Pending,
            _ => self.stage = Stage::Over,
        }
        Poll::Ready(())
    }

    /// Starts the protocol that ALPN or the first bytes select.
    fn start_protocol(&mut self, early: &[u8]) {
        let Stage::Silent(socket, mut requests) = std::mem::replace(&mut self.stage, Stage::Over)
        else {
            return;
        };
        let looks_so = early.len() >= PREFACE_PREFIX
            && PREFACE.starts_with(&early[..early.len().min(PREFACE.len())]);
        match &self.protocols.http2 {
            Some(http2) if looks_so || chose_http2(socket.wire()) => {
                self.state.multiplex();
                requests.multiplexed = true;
                let socket = TokioIo::new(socket.after(Bytes::copy_from_slice(early)));
                self.stage = Stage::Http2(Box::new(http2.serve_connection(socket, requests)));
            }
            _ => {
                self.state.sends_files.set(matches!(socket.wire(), NetworkStream::Left(_)));
                let (scratch, early) = (self.protocols.scratch.clone(), BytesMut::from(early));
                let connection = http1::Http1Connection::new(socket, requests, scratch, early);
                self.stage = Stage::Http1(Box::new(connection));
            }
        }
    }

    /// Polls HTTP/1.1. Ready on a change of stage.
    fn http1(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Stage::Http1(connection) = &mut self.stage else { return Poll::Ready(()) };
        let mut polled = connection.poll(context);
        if polled.is_pending() && self.state.stopping.get() && !self.told_to_stop {
            // All input was read above: an idle connection closes, a request sent before is still
            // answered.
            self.told_to_stop = true;
            connection.end_soon();
            polled = connection.poll(context);
        }
        let result = ready!(polled);
        let Stage::Http1(connection) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return Poll::Ready(());
        };
        let (socket, rest) = connection.into_parts();
        match result {
            Ok(ConnectionEnd::Upgraded) => {
                if let Some(upgrade) = self.state.upgrade.take() {
                    self.state.upgraded();
                    self.stage = Stage::Upgraded(upgrade(socket.into_wire(), rest));
                }
            }
            Ok(ConnectionEnd::Parting { sends }) => {
                let unread = || matches!(socket.stream().try_read(&mut [0]), Ok(1..));
                let has_more = sends || self.state.linger.get() || !rest.is_empty() || unread();
                // TLS must send close_notify, or the end could be a truncation attack.
                if has_more || matches!(socket.wire(), NetworkStream::Right(_)) {
                    self.linger(socket, context);
                }
            }
            Err(error) => {
                tracing::debug!(%error, "a connection ended early");
                self.linger(socket, context);
            }
        }
        Poll::Ready(())
    }

    /// Polls HTTP/2. Ready when the connection is over.
    fn http2(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Stage::Http2(connection) = &mut self.stage else { return Poll::Ready(()) };
        if (self.state.stopping.get() || self.state.leaving.get()) && !self.told_to_stop {
            self.told_to_stop = true;
            // Active streams still complete (RFC 9113 section 6.8).
            Pin::new(&mut **connection).graceful_shutdown();
        }
        let result = ready!(Pin::new(&mut **connection).poll(context));
        if let Err(error) = &result {
            tracing::debug!(%error, "a connection of HTTP/2 ended early");
        }
        Poll::Ready(())
    }

    /// Shuts down writing and starts the lingering close.
    fn linger(&mut self, mut socket: Socket, context: &mut Context<'_>) {
        if let Poll::Ready(Ok(())) = Pin::new(&mut socket).poll_shutdown(context) {
            let until = self.state.now() + LINGER_TIME;
            let left = self.limits.body.clamp(LINGER_BYTES.0, LINGER_BYTES.1) as usize;
            self.stage = Stage::Lingering(LingeringClose { socket, until, left });
        }
    }

    /// Discards input until the client closes or a limit is reached.
    fn poll_discard(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Stage::Lingering(parting) = &mut self.stage else { return Poll::Ready(()) };
        let stream = parting.socket.stream();
        let mut buffer = [0; 8 * 1024];
        while parting.left > 0 {
            match stream.try_read(&mut buffer) {
                Ok(0) => break,
                Ok(count) => parting.left = parting.left.saturating_sub(count),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if ready!(stream.poll_read_ready(context)).is_err() {
                        break;
                    }
                }
                Err(_) => break,
            }
        }
        Poll::Ready(())
    }

    /// The next timeout, and its action.
    fn next_timeout(&self) -> Option<(Instant, TimeoutAction)> {
        let due = self.state.next_timeout(&self.limits);
        // A client in the TLS handshake is about to send its request.
        let drained = match &self.stage {
            Stage::ProxyHeader(..) | Stage::Handshake(..) => None,
            _ => self.state.drained_at(),
        };
        match (drained, due) {
            (Some(drained), Some((at, _))) if at <= drained => due,
            (Some(drained), _) => Some((drained, TimeoutAction::Drained)),
            (None, _) => due,
        }
    }

    /// Enforces timeouts. Pending with the timer set.
    fn enforce_timeouts(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let due = match &self.stage {
                Stage::Lingering(parting) => Some((parting.until, TimeoutAction::Close)),
                Stage::Over => return Poll::Ready(()),
                _ => self.next_timeout(),
            };
            let now = self.state.now();
            match due {
                Some((at, TimeoutAction::Drained)) if at <= now => {
                    self.state.stopping.set(true);
                    if self.make_progress(context).is_ready() {
                        return Poll::Ready(());
                    }
                    continue;
                }
                Some((at, TimeoutAction::Close)) if at <= now => return Poll::Ready(()),
                Some((at, TimeoutAction::Tell)) if at <= now => {
                    let Stage::Http1(connection) = &mut self.stage else {
                        return Poll::Ready(());
                    };
                    connection.time_out();
                    if self.make_progress(context).is_ready() {
                        return Poll::Ready(());
                    }
                    // A client without room for these few bytes gets none.
                    if matches!(self.stage, Stage::Http1(_)) {
                        return Poll::Ready(());
                    }
                    continue;
                }
                Some((at, TimeoutAction::Look)) if at <= now => {
                    // A request that still waits sets its timeout again.
                    self.state.clear_timeouts();
                    if self.make_progress(context).is_ready() {
                        return Poll::Ready(());
                    }
                    continue;
                }
                _ => {}
            }
            // An active request has no timeout here: check again later.
            let next = due.map_or_else(|| now + self.limits.keep_alive, |(at, _)| at);
            if self.timer_at.is_some_and(|at| at > now && (at <= next || due.is_none())) {
                return Poll::Pending;
            }
            self.timer_at = Some(next);
            self.timer.as_mut().reset(next.into());
            ready!(self.timer.as_mut().poll(context));
            self.state.tick();
        }
    }
}

impl Future for ServerConnection {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.state.tick();
        this.state.keep_waker(context.waker());
        if this.state.cut.get() || this.make_progress(context).is_ready() {
            return Poll::Ready(());
        }
        this.enforce_timeouts(context)
    }
}
