//! Opening the listening socket, with an error that says what to do.

use runnel_store::{Error, Kind, Result};
use std::io;
use std::net::SocketAddr;
use tokio::net::{TcpListener, TcpSocket};

/// Connections that the system keeps waiting until they are accepted. Linux cuts it to
/// `net.core.somaxconn`.
const BACKLOG: u32 = 4096;

/// Listens on exactly this address, or says why not.
pub(crate) fn listen(address: SocketAddr) -> Result<TcpListener> {
    open(address).map_err(|error| explain(error, address))
}

/// Opens a listening socket for others to serve on, such as [`crate::serve_on`]. Must be called
/// within an event loop.
///
/// # Errors
/// Those of [`crate::serve`].
pub fn bind(address: SocketAddr) -> Result<std::net::TcpListener> {
    listen(address)?.into_std().map_err(|error| explain(error, address))
}

fn open(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // A restarted program must not wait for the old connections' TIME_WAIT to pass.
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

    #[tokio::test]
    async fn a_foreign_address_is_refused() {
        let error = listen(([192, 0, 2, 1], 0).into()).unwrap_err();
        assert_eq!(error.kind, Kind::Invalid);
    }
}
