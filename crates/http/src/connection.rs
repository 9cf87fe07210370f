//! One connection from accept to close: TLS, the protocol, its time limits, and the parting.

use crate::meter::{Meter, Overdue, Refused};
use crate::options::Limits;
use crate::protocols::{Local, Protocols};
use crate::service::Requests;
use crate::socket::Socket;
use crate::tls::Agreement;
use crate::upgrade::Session;
use crate::wire::Wire;
use hyper::rt::Write;
use hyper::server::conn::{http1, http2};
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
/// How long nothing has to be asked for until a connection gives back the memory of its parser, most
/// of what it has: thousands may only wait. The next request gets a new one.
const REST: Duration = Duration::from_secs(3);

const TIMED_OUT: &[u8] =
    b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/// How connections of HTTP/2 begin (RFC 9113 section 3.4). No method of HTTP/1.1 is called so.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// So much of it tells the two apart.
const TELLING: usize = 4;

/// The conversation with one client. Ends when the connection is closed.
pub(crate) struct Conversation {
    stage: Stage,
    meter: Rc<Meter>,
    limits: Rc<Limits>,
    protocols: Rc<Protocols>,
    /// The one timer of the connection. While it runs it is only moved closer: when it fires too
    /// early it is set anew. So a request on a busy connection costs no timer at all.
    alarm: Pin<Box<Sleep>>,
    /// When the alarm fires, once it was set.
    alarm_at: Option<Instant>,
    told_to_stop: bool,
}

enum Stage {
    /// The client and the server agree on TLS.
    Agreeing(Agreement, Requests),
    /// Nothing was read yet, or nothing for a while.
    Silent(Socket, Requests),
    Talking(Box<http1::Connection<Socket, Requests>>),
    Multiplexed(Box<http2::Connection<Socket, Requests, Local>>),
    /// Another protocol goes on.
    Upgraded(Session),
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
        protocols: Rc<Protocols>,
        requests: Requests,
    ) -> Conversation {
        let (meter, limits) = (requests.meter.clone(), requests.limits.clone());
        let stage = match &protocols.tls {
            Some(tls) => Stage::Agreeing(tls.agree(stream), requests),
            None => {
                let (wire, scratch) = (Wire::Plain(stream), protocols.scratch.clone());
                Stage::Silent(Socket::new(wire, meter.clone(), scratch), requests)
            }
        };
        Conversation {
            stage,
            meter,
            limits,
            protocols,
            alarm: Box::pin(tokio::time::sleep(Duration::ZERO)),
            alarm_at: None,
            told_to_stop: false,
        }
    }

    /// Goes on as far as the client and the stores let it. Ready when the connection is over.
    fn advance(&mut self, context: &mut Context<'_>) -> Poll<()> {
        loop {
            match &mut self.stage {
                Stage::Agreeing(agreement, _) => {
                    let agreed = ready!(agreement.as_mut().poll(context));
                    self.agreed(agreed);
                }
                Stage::Silent(socket, _) => match socket.poll_early(context) {
                    Poll::Ready(Ok(true)) => self.begin(),
                    Poll::Ready(_) => return Poll::Ready(()),
                    Poll::Pending if self.meter.stopping.get() => return Poll::Ready(()),
                    Poll::Pending => return Poll::Pending,
                },
                Stage::Talking(_) => ready!(self.talk(context)),
                Stage::Multiplexed(_) => return self.multiplex(context),
                Stage::Upgraded(session) => return session.as_mut().poll(context),
                Stage::Parting(_) | Stage::Over => return self.throw_away(context),
            }
        }
    }

    /// TLS stands, or does not.
    fn agreed(&mut self, agreed: io::Result<Wire>) {
        let Stage::Agreeing(_, requests) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return;
        };
        match agreed {
            Err(error) => tracing::debug!(%error, "a client did not agree on TLS"),
            Ok(wire) => {
                let is_http2 = wire.chose_http2();
                let scratch = self.protocols.scratch.clone();
                let socket = Socket::new(wire, self.meter.clone(), scratch);
                self.stage = Stage::Silent(socket, requests);
                if is_http2 {
                    self.begin();
                }
            }
        }
    }

    /// It is known which protocol it is: what was agreed on, or what the first bytes look like.
    fn begin(&mut self) {
        let Stage::Silent(mut socket, mut requests) =
            std::mem::replace(&mut self.stage, Stage::Over)
        else {
            return;
        };
        let rested = socket.is_looked_at();
        let early = socket.early();
        let looks_so = !rested
            && early.len() >= TELLING
            && PREFACE.starts_with(&early[..early.len().min(PREFACE.len())]);
        match &self.protocols.http2 {
            Some(http2) if looks_so || socket.wire().chose_http2() => {
                self.meter.multiplex();
                requests.multiplexed = true;
                let connection = http2.serve_connection(socket, requests);
                self.stage = Stage::Multiplexed(Box::new(connection));
            }
            _ => {
                if !rested {
                    socket.look_at_requests(self.limits.target);
                    if matches!(socket.wire(), Wire::Plain(_)) {
                        self.meter.outbound.allow();
                    }
                }
                let connection = self.protocols.http1.serve_connection(socket, requests);
                self.stage = Stage::Talking(Box::new(connection));
            }
        }
    }

    /// When a connection of HTTP/1.1 has been idle for long enough to rest.
    fn rests_at(&self) -> Option<Instant> {
        let Stage::Talking(_) = &self.stage else { return None };
        self.meter.idle_since()?.checked_add(REST)
    }

    /// Lets the parser go, and waits for the first bytes of the next request.
    fn rest(&mut self) {
        let Stage::Talking(connection) = std::mem::replace(&mut self.stage, Stage::Over) else {
            return;
        };
        let parts = connection.into_parts();
        // Between two requests only empty lines may wait to be parsed. Something else is content that
        // nobody read, and the next request could not be told from it.
        let nothing_waits = parts.read_buf.iter().all(|byte| matches!(byte, b'\r' | b'\n'));
        if nothing_waits {
            self.stage = Stage::Silent(parts.io, parts.service);
        }
    }

    /// HTTP/1.1. Ready when another stage was entered.
    fn talk(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Stage::Talking(connection) = &mut self.stage else { return Poll::Ready(()) };
        let mut polled = connection.poll_without_shutdown(context);
        let ends = self.meter.stopping.get() || self.meter.leaving.get() && self.meter.is_busy();
        if polled.is_pending() && ends && !self.told_to_stop {
            // What had arrived has been read above: an idle connection is closed, a request
            // that was sent before is still answered.
            self.told_to_stop = true;
            Pin::new(&mut **connection).graceful_shutdown();
            polled = connection.poll_without_shutdown(context);
        }
        if polled.is_pending()
            && let Some(refused) = self.meter.refused.get()
            && self.meter.is_at_rest(refused.heads)
        {
            self.refuse(refused, context);
            return Poll::Ready(());
        }
        let result = ready!(polled);
        if let Err(error) = &result {
            tracing::debug!(%error, "a connection ended early");
        }
        if let Some(upgrade) = self.meter.upgrade.take()
            && result.is_ok()
        {
            if let Stage::Talking(connection) = std::mem::replace(&mut self.stage, Stage::Over) {
                let mut parts = connection.into_parts();
                parts.io.look_no_more();
                self.meter.upgraded();
                self.stage = Stage::Upgraded(upgrade(parts.io, parts.read_buf));
            }
            return Poll::Ready(());
        }
        self.part(result.is_err() || self.meter.linger.get(), context);
        Poll::Ready(())
    }

    /// HTTP/2. Ready when the connection is over.
    fn multiplex(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let Stage::Multiplexed(connection) = &mut self.stage else { return Poll::Ready(()) };
        if (self.meter.stopping.get() || self.meter.leaving.get()) && !self.told_to_stop {
            self.told_to_stop = true;
            // What was asked for is still answered (RFC 9113 section 6.8).
            Pin::new(&mut **connection).graceful_shutdown();
        }
        let result = ready!(Pin::new(&mut **connection).poll(context));
        if let Err(error) = &result {
            tracing::debug!(%error, "a connection of HTTP/2 ended early");
        }
        Poll::Ready(())
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

    /// The head of a request has a fault that the parser would have overlooked, and everything
    /// before it is answered.
    fn refuse(&mut self, refused: Refused, context: &mut Context<'_>) {
        let (status, reason) = refused.fault.said();
        tracing::debug!(status, reason, "a request was refused");
        let body = format!("{status}: {reason}");
        let date = httpdate::fmt_http_date(std::time::SystemTime::now());
        let mut answer = format!(
            "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: {}\r\n\
             connection: close\r\ndate: {date}\r\n\r\n",
            body.len()
        );
        if !refused.is_head {
            answer.push_str(&body);
        }
        self.say_and_part(answer.as_bytes(), context);
    }

    /// Half a request came and then too long nothing: says so and closes. Nothing else is being
    /// written at this time, and a client that has no room for these bytes gets none.
    fn tell_timeout(&mut self, context: &mut Context<'_>) {
        self.say_and_part(TIMED_OUT, context);
    }

    fn say_and_part(&mut self, bytes: &[u8], context: &mut Context<'_>) {
        let mut socket = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Talking(connection) => connection.into_parts().io,
            _ => return,
        };
        if socket.say(bytes, context) {
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
                Stage::Parting(parting) => Some((parting.until, Overdue::Close)),
                Stage::Over => return Poll::Ready(()),
                _ => self.meter.due(&self.limits),
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
                Some((at, Overdue::Look)) if at <= now => {
                    // Whoever still waits says so again.
                    self.meter.wake_at(None);
                    ready!(self.advance(context));
                    continue;
                }
                _ => {}
            }
            let rests_at = self.rests_at();
            if rests_at.is_some_and(|at| at <= now) {
                self.rest();
                ready!(self.advance(context));
                continue;
            }
            // While a request is answered nothing is due: look again some time later.
            let next = due.map_or_else(|| now + self.limits.keep_alive, |(at, _)| at);
            let next = rests_at.map_or(next, |at| at.min(next));
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
        this.meter.outbound.begin_turn();
        this.meter.keep_waker(context.waker());
        if this.meter.cut.get() || this.advance(context).is_ready() {
            return Poll::Ready(());
        }
        this.watch(context)
    }
}
