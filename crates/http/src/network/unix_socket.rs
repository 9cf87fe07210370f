//! Listening on a Unix socket: a file that a proxy on the same machine connects to (unix(7)).

use runnel_store::{Error, Kind, Result};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The address of every client that comes through a Unix socket: they have none.
pub const UNIX_PEER: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0));

/// The longest path of a socket, in bytes: that of `sockaddr_un`, less what its name needs while it
/// is made.
const LONGEST: usize = 90;

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnixAddress {
    /// The file.
    pub path: PathBuf,
    /// Who may connect: the file's permissions, as chmod(1) has them.
    pub mode: u32,
}

/// The file of a socket that listens. It is removed with this, unless somebody has put another one
/// in its place.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// Its device and its number there.
    identity: (u64, u64),
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity(&self.path).is_ok_and(|found| found == self.identity) {
            // Whoever removed it meanwhile wanted the same.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> io::Result<(u64, u64)> {
    std::fs::symlink_metadata(path).map(|facts| (facts.dev(), facts.ino()))
}

/// Opens a socket. It appears at its path with its permissions set, at once; one that a program has
/// left behind at its end is replaced.
///
/// # Errors
/// [`Kind::Conflict`] when somebody listens there, or something else is there; [`Kind::Invalid`]
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
    // What a program with our number left behind while it made its own.
    let _ = std::fs::remove_file(&making);
    let listener = UnixListener::bind(&making).map_err(failed)?;
    let made = std::fs::set_permissions(&making, PermissionsExt::from_mode(address.mode))
        .and_then(|()| identity(&making))
        .and_then(|identity| std::fs::rename(&making, path).map(|()| identity));
    let identity = made.inspect_err(|_| drop(std::fs::remove_file(&making))).map_err(failed)?;
    Ok((listener, SocketFile { path: path.clone(), identity }))
}

/// Whether there is nothing, or a socket on which nobody listens.
fn is_free(path: &Path) -> Result<()> {
    let shown = path.display();
    match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(explain(&error, path)),
        Ok(facts) if !facts.file_type().is_socket() => {
            let message = format!("{shown} is there already and is no socket: choose another path");
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
            (Kind::NotFound, format!("the folder of {shown} is not there: make it first"))
        }
        io::ErrorKind::PermissionDenied => (
            Kind::Denied,
            format!("{shown} needs rights that this program lacks: choose another folder"),
        ),
        _ => (Kind::Failed, format!("listening on {shown} failed")),
    };
    Error::new(kind, message).with_detail(error.to_string())
}

/// A connection to a Unix socket as the server has them all. What it does with one, receiving,
/// sending and shutting down, are the same calls of the system for both kinds; only addresses and
/// the options of TCP are not there.
pub(crate) fn connection(stream: UnixStream) -> TcpStream {
    TcpStream::from(OwnedFd::from(stream))
}

/// The next connection of a listener, as [`crate::Handed`].
///
/// # Errors
/// Those of accept(2).
pub async fn accept_unix(
    listener: &tokio::net::UnixListener,
) -> io::Result<(TcpStream, SocketAddr)> {
    let (stream, _) = listener.accept().await?;
    Ok((connection(stream.into_std()?), UNIX_PEER))
}
