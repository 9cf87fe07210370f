//! A connection to the server under test, without any protocol.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::time::{Duration, Instant};

/// A connection with everything that it has received.
pub(super) struct RawConnection {
    stream: TcpStream,
    pub(super) received: Vec<u8>,
    pub(super) closed: bool,
}

impl RawConnection {
    pub(super) fn open(address: SocketAddr) -> Result<RawConnection, String> {
        let stream = TcpStream::connect_timeout(&address, Duration::from_secs(5))
            .map_err(|error| format!("connect: {error}"))?;
        Ok(RawConnection { stream, received: Vec::new(), closed: false })
    }

    /// Sends a text as ISO 8859-1. A server may refuse and close before it has read everything.
    pub(super) fn send(&mut self, text: &str) {
        let bytes: Vec<u8> =
            text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect();
        let _ = self.stream.write_all(&bytes);
    }

    /// Ends the sending direction.
    pub(super) fn shutdown_write(&self) {
        // The server may have closed already.
        let _ = self.stream.shutdown(Shutdown::Write);
    }

    /// Waits for the next bytes or the end; whether either came in time.
    pub(super) fn pump(&mut self, patience: Duration) -> bool {
        if self.closed {
            return false;
        }
        let patience = patience.max(Duration::from_millis(10));
        let mut space = [0; 64 * 1024];
        // The timeout is never zero, which is all that is refused.
        let _ = self.stream.set_read_timeout(Some(patience));
        match self.stream.read(&mut space) {
            Ok(0) => self.closed = true,
            Ok(count) => self.received.extend_from_slice(&space[..count]),
            Err(error) => match error.kind() {
                std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut => return false,
                _ => self.closed = true,
            },
        }
        true
    }

    /// Receives until a condition holds; whether it does.
    pub(super) fn pump_until(&mut self, within: Duration, holds: impl Fn(&[u8]) -> bool) -> bool {
        let end = Instant::now() + within;
        while !holds(&self.received) && !self.closed && Instant::now() < end {
            self.pump(end.saturating_duration_since(Instant::now()));
        }
        holds(&self.received)
    }
}
