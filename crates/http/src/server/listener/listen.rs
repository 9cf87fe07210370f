//! Opening listening sockets, with errors that name the fix.

use crate::network::unix_socket::UNIX_PEER;
use runnel_store::{Error, Kind, Result};
use socket2::Socket;
#[cfg(target_os = "linux")]
use socket2::{SockFilter, SockRef};
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;
use tokio::net::{TcpListener, TcpSocket, UnixListener};

/// A connection accepted by another thread, and the address of its client.
pub type Handed = (std::net::TcpStream, SocketAddr);

/// The accept backlog. Linux caps it at `net.core.somaxconn`.
const BACKLOG: u32 = 4096;

/// Listens on exactly this address, or explains why not.
pub(crate) fn listen(address: SocketAddr) -> Result<TcpListener> {
    open(address).map_err(|error| explain(error, address))
}

/// Opens a listening socket for [`crate::serve_on`]. Must be called within an event loop.
///
/// # Errors
/// Those of [`crate::serve`].
pub fn bind(address: SocketAddr) -> Result<std::net::TcpListener> {
    listen(address)?.into_std().map_err(|error| explain(error, address))
}

/// Stops new connections from entering the queue of a listening socket that is about to close.
///
/// The kernel completes handshakes by itself and resets the queue when the socket closes: a client
/// that connects between the last `accept` and `close` would lose its request. A packet filter
/// drops the first packet of each new handshake (SYN without ACK) instead; the client retransmits
/// it after a second and is refused. Without such filters the short gap remains.
pub fn close_queue(listener: &impl AsFd) {
    #[cfg(target_os = "linux")]
    if let Err(error) = SockRef::from(listener).attach_filter(&DROP_NEW) {
        tracing::debug!(%error, "a listening socket has no filter");
    }
    #[cfg(not(target_os = "linux"))]
    let _ = listener;
}

/// How long a handshake that started before [`close_queue`] may take to complete.
const HANDSHAKE: Duration = Duration::from_millis(5);

/// The queue of a listening socket that is about to close.
pub struct AcceptQueue {
    socket: Socket,
    has_waited: bool,
}

impl AcceptQueue {
    /// Of a port.
    ///
    /// # Errors
    /// The event loop does not give the socket back.
    pub fn of_port(listener: TcpListener) -> io::Result<AcceptQueue> {
        Ok(AcceptQueue { socket: listener.into_std()?.into(), has_waited: false })
    }

    /// Of a Unix socket.
    ///
    /// # Errors
    /// The event loop does not give the socket back.
    pub fn of_unix(listener: UnixListener) -> io::Result<AcceptQueue> {
        Ok(AcceptQueue { socket: OwnedFd::from(listener.into_std()?).into(), has_waited: false })
    }

    /// The next connection. Asks the kernel directly: the event loop may not have seen it yet.
    pub async fn next(&mut self) -> Option<Handed> {
        loop {
            match self.socket.accept() {
                Ok((stream, peer)) => {
                    return Some((stream.into(), peer.as_socket().unwrap_or(UNIX_PEER)));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock && !self.has_waited => {
                    self.has_waited = true;
                    tokio::time::sleep(HANDSHAKE).await;
                }
                Err(error) if is_of_the_client(&error) => {}
                Err(_) => return None,
            }
        }
    }
}

/// A client that disconnected before we accepted.
pub(crate) fn is_of_the_client(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset | Interrupted)
}

/// For a packet that starts with a TCP header (RFC 9293 section 3.1).
#[cfg(target_os = "linux")]
const DROP_NEW: [SockFilter; 5] = [
    // The flags, masked to SYN and ACK: a packet with SYN alone is dropped.
    SockFilter::new(0x30, 0, 0, 13),
    SockFilter::new(0x54, 0, 0, 0x12),
    SockFilter::new(0x15, 0, 1, 0x02),
    SockFilter::new(0x06, 0, 0, 0),
    SockFilter::new(0x06, 0, 0, u32::MAX),
];

fn open(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restarted program must not wait for TIME_WAIT of old connections.
    socket.set_reuseaddr(true)?;
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

/// One sentence with the cause and the next step.
fn explain(error: io::Error, address: SocketAddr) -> Error {
    let port = address.port();
    let (kind, message) = match error.kind() {
        io::ErrorKind::AddrInUse => (
            Kind::Conflict,
            format!("port {port} is taken by another program: stop it or choose another port"),
        ),
        io::ErrorKind::PermissionDenied => (
            Kind::Denied,
            format!("port {port} needs rights that this program lacks: choose one above 1023"),
        ),
        io::ErrorKind::AddrNotAvailable => (
            Kind::Invalid,
            format!("{} is not an address of this machine: choose another address", address.ip()),
        ),
        _ => (Kind::Failed, format!("listening on {address} failed")),
    };
    Error::new(kind, message).with_detail(error.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_taken_port_is_named() {
        let first = listen(([127, 0, 0, 1], 0).into()).unwrap();
        let address = first.local_addr().unwrap();
        let error = listen(address).unwrap_err();
        assert_eq!(error.kind, Kind::Conflict);
        assert!(error.message.contains(&format!("port {} is taken", address.port())));
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_closed_queue_takes_nobody_and_loses_nobody() {
        use std::io::{Read, Write};
        use std::net::TcpStream;
        use std::time::Duration;
        let listener = bind(([127, 0, 0, 1], 0).into()).unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        close_queue(&listener);
        let late = TcpStream::connect_timeout(&address, Duration::from_millis(100));
        assert_eq!(late.unwrap_err().kind(), io::ErrorKind::TimedOut);
        listener.set_nonblocking(true).unwrap();
        let mut accepted = listener.accept().unwrap().0;
        assert_eq!(listener.accept().unwrap_err().kind(), io::ErrorKind::WouldBlock);
        drop(listener);
        client.write_all(b"x").unwrap();
        accepted.set_nonblocking(false).unwrap();
        accepted.read_exact(&mut [0]).unwrap();
        assert_eq!(
            TcpStream::connect(address).unwrap_err().kind(),
            io::ErrorKind::ConnectionRefused
        );
    }

    #[tokio::test]
    async fn a_foreign_address_is_refused() {
        let error = listen(([192, 0, 2, 1], 0).into()).unwrap_err();
        assert_eq!(error.kind, Kind::Invalid);
    }
}
