//! One connection from accept to close: hyper's conversation, its time limits, and the parting.

use crate::meter::{Meter, Overdue};
use crate::options::{DEFAULT_HEADER_FIELDS, Limits};
use crate::service::Requests;
use crate::socket::Socket;
use hyper::rt::Write;
use hyper::server::conn::http1;
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::time::Sleep;

/// How long a closed connection is still read, so that the client sees the last answer: closing
/// a socket with unread bytes in it resets it, and the answer may be lost (RFC 9112 section 9.6).
const PARTING: Duration = Duration::from_secs(2);
/// How many bytes are read, and thrown away, in that time.
const PARTING_BYTES: usize = 4 * 1024 * 1024;
/// The smallest buffer that hyper accepts.
const LEAST_BUFFER: usize = 64 * 1024;

const TIMED_OUT: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// hyper's settings, the same for every connection of a server.
pub(crate) fn protocol(limits: &Limits) -> http1::Builder {
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

/// The conversation with one client. Ends when the connection is closed.
pub(crate) struct Conversation {
    stage: Stage,
    meter: Rc<Meter>,
    limits: Rc<Limits>,
    /// The one timer of the connection. While it runs it is only moved closer: when it fires too
    /// early it is set anew. So a request on a busy connection costs no timer at all.
    alarm: Pin<Box<Sleep>>,
    /// When the alarm fires, once it was set.
    alarm_at: Option<Instant>,
    told_to_stop: bool,
}

enum Stage {
    Talking(Box<http1::Connection<Socket, Requests>>),
    /// Nothing more is answered; what the client still sends is thrown away.
    Parting(Parting),
    Over,
}

struct Parting {
    socket: Socket,
    until: Instant,
    /// How many bytes may still come.
    left: usize,
}

impl Conversation {
    pub(crate) fn new(
        stream: TcpStream,
        protocol: &http1::Builder,
        requests: Requests,
    ) -> Conversation {
        let (meter, limits) = (requests.meter.clone(), requests.limits.clone());
        let socket = Socket::new(stream, meter.clone());
        Conversation {
            stage: Stage::Talking(Box::new(protocol.serve_connection(socket, requests))),
            meter,
            limits,
            alarm: Box::pin(tokio::time::sleep(Duration::ZERO)),
            alarm_at: None,
            told_to_stop: false,
        }
    }

    /// Goes on as far as the client and the stores let it. Ready when the connection is over.
    fn advance(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if let Stage::Talking(connection) = &mut self.stage {
            let mut polled = connection.poll_without_shutdown(context);
            if polled.is_pending() && self.meter.stopping.get() && !self.told_to_stop {
                // What had arrived has been read above: an idle connection is closed, a request
                // that was sent before is still answered.
                self.told_to_stop = true;
                Pin::new(&mut **connection).graceful_shutdown();
                polled = connection.poll_without_shutdown(context);
            }
            let result = ready!(polled);
            if let Err(error) = &result {
                tracing::debug!(%error, "a connection ended early");
            }
            self.part(result.is_err() || self.meter.linger.get(), context);
        }
        self.throw_away(context)
    }

    /// Stops talking. `lingering` says that the client may still be sending.
    fn part(&mut self, lingering: bool, context: &mut Context<'_>) {
        let Stage::Talking(connection) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return;
        };
        let socket = connection.into_parts().io;
        let unread = || matches!(socket.stream().try_read(&mut [0]), Ok(1..));
        if lingering || unread() {
            self.linger(socket, context);
        }
    }

    /// Half a request came and then too long nothing: says so and closes. Nothing else is being
    /// written at this time, and a client that has no room for these bytes gets none.
    fn tell_timeout(&mut self, context: &mut Context<'_>) {
        let Stage::Talking(connection) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return;
        };
        let socket = connection.into_parts().io;
        if socket.stream().try_write(TIMED_OUT).is_ok() {
            self.linger(socket, context);
        }
    }

    /// Says that nothing more is written, and goes on reading for a while.
    fn linger(&mut self, mut socket: Socket, context: &mut Context<'_>) {
        if let Poll::Ready(Ok(())) = Pin::new(&mut socket).poll_shutdown(context) {
            let until = self.meter.now() + PARTING;
            self.stage = Stage::Parting(Parting { socket, until, left: PARTING_BYTES });
        }
    }

    /// Throws away what still comes, until the client closes, or long enough.
    fn throw_away(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Stage::Parting(parting) = &mut self.stage else { return Poll::Ready(()) };
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

    /// Ends what lasts too long. Pending with the alarm set for the next look.
    fn watch(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            let due = match &self.stage {
                Stage::Talking(_) => self.meter.due(&self.limits),
                Stage::Parting(parting) => Some((parting.until, Overdue::Close)),
                Stage::Over => return Poll::Ready(()),
            };
            let now = self.meter.now();
            match due {
                Some((at, Overdue::Close)) if at <= now => return Poll::Ready(()),
                Some((at, Overdue::Tell)) if at <= now => {
                    self.tell_timeout(context);
                    if self.throw_away(context).is_ready() {
                        return Poll::Ready(());
                    }
                    continue;
                }
                _ => {}
            }
            // While a request is answered nothing is due: look again some time later.
            let next = due.map_or_else(|| now + self.limits.keep_alive, |(at, _)| at);
            if self.alarm_at.is_some_and(|at| at > now && (at <= next || due.is_none())) {
                return Poll::Pending;
            }
            self.alarm_at = Some(next);
            self.alarm.as_mut().reset(next.into());
            ready!(self.alarm.as_mut().poll(context));
            self.meter.tick();
        }
    }
}

impl Future for Conversation {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = &mut *self;
        this.meter.tick();
        this.meter.keep_waker(context.waker());
        if this.meter.cut.get() || this.advance(context).is_ready() {
            return Poll::Ready(());
        }
        this.watch(context)
    }
}
