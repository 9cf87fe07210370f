//! Listening on a Unix socket: a file for a proxy on the same machine (unix(7)).

use runnel_store::{Error, Kind, Result};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The address of every client of a Unix socket: they have none.
pub const UNIX_PEER: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));

/// The longest path of a socket, in bytes: that of `sockaddr_un`, less the suffix of its temporary
/// name.
const LONGEST: usize = 90;

/// The address of a Unix socket.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnixAddress {
    /// The file.
    pub path: PathBuf,
    /// The permissions of the file, as in chmod(1).
    pub mode: u32,
}

/// The file of a listening socket. Dropping this removes the file, unless another one has replaced
/// it.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// Its device and inode.
    identity: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|found| found == self.identity) {
            // A missing file is fine, too.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    std::fs::symlink_metadata(path).map(|facts| (facts.dev(), facts.ino()))
}

/// Opens a socket. It appears at its path atomically, with its permissions set; a stale one of an
/// ended program is replaced.
///
/// # Errors
/// [`Kind::Conflict`] when another program listens there, or the path is no socket; [`Kind::Invalid`]
/// for a path that is too long; [`Kind::Denied`] without the rights.
pub fn bind_unix(address: &UnixAddress) -> Result<(UnixListener, SocketFile)> {
    let path = &address.path;
    if path.as_os_str().len() > LONGEST {
        let message = format!("the path of a socket has at most {LONGEST} bytes: choose another");
        return Err(Error::new(Kind::Invalid, message));
    }
    is_free(path)?;
    let failed = |error: io::Error| explain(&error, path);
    let mut making = path.clone().into_os_string();
    making.push(format!(".{}", std::process::id()));
    let making = PathBuf::from(making);
    // A leftover of an ended program with our process id.
    let _ = std::fs::remove_file(&making);
    let listener = UnixListener::bind(&making).map_err(failed)?;
    let made = std::fs::set_permissions(&making, PermissionsExt::from_mode(address.mode))
        .and_then(|()| identity(&making))
        .and_then(|identity| std::fs::rename(&making, path).map(|()| identity));
    let identity = made.inspect_err(|_| drop(std::fs::remove_file(&making))).map_err(failed)?;
    Ok((listener, SocketFile { path: path.clone(), identity }))
}

/// Whether the path is free, or holds a stale socket.
fn is_free(path: &Path) -> Result<()> {
    let shown = path.display();
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(explain(&error, path)),
        Ok(facts) if !facts.file_type().is_socket() => {
            let message = format!("{shown} exists and is no socket: choose another path");
            return Err(Error::new(Kind::Conflict, message));
        }
        Ok(_) => {}
    }
    match UnixStream::connect(path) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        _ => {
            let message =
                format!("another program listens on {shown}: stop it or choose another path");
            Err(Error::new(Kind::Conflict, message))
        }
    }
}

fn explain(error: &io::Error, path: &Path) -> Error {
    let shown = path.display();
    let (kind, message) = match error.kind() {
        io::ErrorKind::NotFound => {
            (Kind::NotFound, format!("the folder of {shown} does not exist: create it first"))
        }
        io::ErrorKind::PermissionDenied => (
            Kind::Denied,
            format!("{shown} needs rights that this program lacks: choose another folder"),
        ),
        _ => (Kind::Failed, format!("listening on {shown} failed")),
    };
    Error::new(kind, message).with_detail(error.to_string())
}

/// A connection to a Unix socket in the type that the server uses for all connections. Receiving,
/// sending and shutting down are the same system calls for both kinds; only addresses and TCP
/// options are missing.
pub(crate) fn connection(stream: UnixStream) -> TcpStream {
    TcpStream::from(OwnedFd::from(stream))
}

/// Accepts the next connection of a listener, as [`crate::Handed`].
///
/// # Errors
/// Those of accept(2).
pub async fn accept_unix(
    listener: &tokio::net::UnixListener,
) -> io::Result<(TcpStream, SocketAddr)> {
    let (stream, _) = listener.accept().await?;
    Ok((connection(stream.into_std()?), UNIX_PEER))
}
