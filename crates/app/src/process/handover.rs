//! Listening sockets passed by systemd or by a supervisor, and the control connection to the supervisor.
//!
//! A supervisor listens on a Unix socket in a folder of its own, which only its user can enter.
//! `RUNNEL_SUPERVISOR=pid:path` names it. A program opens one connection per socket
//! (`listen ADDRESS NUMBER` or `socket MODE PATH`) and receives the socket with the response
//! (`SCM_RIGHTS`, unix(7)). A control connection (`program PID`) stays open: the program sends `ready`
//! and, under `--watch`, `reads FILE` and `writes FILE`; the supervisor sends `leave` to drain, `cut` to stop
//! without draining, and `fault TEXT`. When the control connection closes, the program stops.

use crate::process::notify;
use crate::process::signals;
use runnel_http::UnixAddress;
use runnel_store::{Error, Kind, Result};
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, recvmsg};
use std::io::{BufRead, BufReader, IoSliceMut, Write};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// The environment variable with the process ID and the socket of the supervisor.
pub(crate) const VARIABLE: &str = "RUNNEL_SUPERVISOR";
/// The longest line of the protocol, in bytes.
pub(crate) const LINE: u64 = 64 * 1024;
/// The timeout of a response from the supervisor.
const ANSWER: Duration = Duration::from_secs(10);

/// The sockets that systemd gave.
static GIVEN: Mutex<Vec<TcpListener>> = Mutex::new(Vec::new());
/// Those of them that are Unix sockets.
static GIVEN_UNIX: Mutex<Vec<UnixListener>> = Mutex::new(Vec::new());
/// The connection to the supervisor that is kept.
static SUPERVISOR: Mutex<Option<UnixStream>> = Mutex::new(None);
/// The program serves: files that it reads from now on are no part of its start.
static STARTED: AtomicBool = AtomicBool::new(false);
/// Another process takes over the ports.
static LEAVING: AtomicBool = AtomicBool::new(false);

/// Takes what systemd gave, before anything else opens files or threads.
pub(crate) fn begin() {
    let mut given = listenfd::ListenFd::from_env();
    let mut sockets = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    for at in 0..given.len() {
        match given.take_tcp_listener(at) {
            Ok(Some(listener)) => sockets.push(listener),
            Ok(None) => {}
            Err(_) => match given.take_unix_listener(at) {
                Ok(Some(listener)) => {
                    GIVEN_UNIX.lock().unwrap_or_else(PoisonError::into_inner).push(listener);
                }
                Ok(None) => {}
                Err(error) => tracing::warn!(%error, "a socket from systemd is none that listens"),
            },
        }
    }
}

/// A socket that systemd gave for this address: one with its port, or else the only one there is.
pub(crate) fn given(address: SocketAddr) -> Option<TcpListener> {
    let sockets = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let fits =
        |socket: &&TcpListener| socket.local_addr().is_ok_and(|own| own.port() == address.port());
    let only = (sockets.len() == 1).then(|| sockets.first()).flatten();
    sockets.iter().find(fits).or(only)?.try_clone().ok()
}

/// The Unix socket that systemd gave for this path.
pub(crate) fn given_unix(path: &Path) -> Option<UnixListener> {
    let sockets = GIVEN_UNIX.lock().unwrap_or_else(PoisonError::into_inner);
    let fits = |socket: &&UnixListener| {
        socket.local_addr().is_ok_and(|own| own.as_pathname() == Some(path))
    };
    sockets.iter().find(fits)?.try_clone().ok()
}

/// The socket of a side port that others hold, an admin port or a redirect: one with this port and no
/// other, because each port serves what its own server serves.
///
/// # Errors
/// The supervisor could not open it.
pub(crate) fn side_listener(address: SocketAddr) -> Result<Option<TcpListener>> {
    if address.port() == 0 {
        return Ok(None);
    }
    if supervisor().is_some() {
        return listener(address, 0);
    }
    let sockets = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
    let own = sockets
        .iter()
        .find(|socket| socket.local_addr().is_ok_and(|own| own.port() == address.port()));
    Ok(own.and_then(|socket| socket.try_clone().ok()))
}

/// The path of the supervisor's socket, if the supervisor is our parent.
pub(crate) fn supervisor() -> Option<PathBuf> {
    let value = std::env::var(VARIABLE).ok()?;
    let (process, path) = value.split_once(':')?;
    (process.parse() == Ok(std::os::unix::process::parent_id())).then(|| path.into())
}

/// The socket for an address that others hold; `None`: this process opens its own.
///
/// # Errors
/// The supervisor could not open it.
pub(crate) fn listener(address: SocketAddr, number: usize) -> Result<Option<TcpListener>> {
    let Some(path) = supervisor() else { return Ok(given(address)) };
    let asked = ask(path, &format!("listen {address} {number}"), &address.to_string())?;
    Ok(Some(asked.into()))
}

/// The same for a Unix socket.
///
/// # Errors
/// The supervisor could not open it.
pub(crate) fn unix_listener(address: &UnixAddress) -> Result<Option<UnixListener>> {
    let Some(path) = supervisor() else { return Ok(given_unix(&address.path)) };
    let shown = address.path.display().to_string();
    let wanted = format!("socket {} {}", address.mode, serde_json::Value::from(shown.as_str()));
    Ok(Some(ask(path, &wanted, &shown)?.into()))
}

/// Asks the supervisor for a socket.
fn ask(path: PathBuf, wanted: &str, address: &str) -> Result<OwnedFd> {
    let broken = |error: std::io::Error| {
        Error::new(Kind::Failed, format!("the supervisor has no socket for {address}"))
            .with_detail(error.to_string())
    };
    let mut stream = UnixStream::connect(path).map_err(broken)?;
    stream.set_read_timeout(Some(ANSWER)).map_err(broken)?;
    writeln!(stream, "{wanted}").map_err(broken)?;
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut passed = RecvAncillaryBuffer::new(&mut space);
    let mut said = vec![0; 4096];
    let received =
        recvmsg(&stream, &mut [IoSliceMut::new(&mut said)], &mut passed, RecvFlags::CMSG_CLOEXEC)
            .map_err(|error| broken(error.into()))?;
    for message in passed.drain() {
        if let RecvAncillaryMessage::ScmRights(mut sockets) = message
            && let Some(socket) = sockets.next()
        {
            return Ok(socket);
        }
    }
    let said = String::from_utf8_lossy(&said[..received.bytes]).trim().to_string();
    let is_taken = said.contains("is taken") || said.contains("another program listens");
    let kind = if is_taken { Kind::Conflict } else { Kind::Failed };
    Err(match said.is_empty() {
        true => broken(std::io::ErrorKind::UnexpectedEof.into()),
        false => Error::new(kind, said),
    })
}

/// Reports to the supervisor, if there is one, and listens to it.
pub(crate) fn report() {
    let Some(path) = supervisor() else { return };
    let said = UnixStream::connect(path).and_then(|mut stream| {
        writeln!(stream, "program {}", std::process::id())?;
        let reader = BufReader::new(stream.try_clone()?);
        std::thread::Builder::new().name("supervisor".into()).spawn(|| listen_to(reader))?;
        Ok(stream)
    });
    match said {
        Ok(stream) => {
            *SUPERVISOR.lock().unwrap_or_else(PoisonError::into_inner) = Some(stream);
        }
        Err(error) => tracing::warn!(%error, "the supervisor does not listen"),
    }
}

/// Executes the commands of the supervisor until the connection closes.
fn listen_to(mut reader: BufReader<UnixStream>) {
    loop {
        let mut line = String::new();
        match std::io::Read::take(&mut reader, LINE).read_line(&mut line) {
            Ok(0) | Err(_) => break,
            Ok(_) => {}
        }
        match line.trim_end().split_once(' ').unwrap_or((line.trim_end(), "")) {
            ("leave", _) => {
                LEAVING.store(true, Ordering::Relaxed);
                signals::end_all(0);
            }
            ("cut", _) => signals::cut(),
            ("fault", text) => crate::process::reload::fault::set_fault(text),
            _ => {}
        }
    }
    signals::end_all(0);
}

/// Reports a file to the supervisor.
pub(crate) fn tell(what: &str, file: &Path) {
    let mut supervisor = SUPERVISOR.lock().unwrap_or_else(PoisonError::into_inner);
    // As JSON, so that it is one line whatever the file is called.
    let line = format!("{what} {}\n", serde_json::Value::from(file.to_string_lossy()));
    if let Some(stream) = &mut *supervisor
        && let Err(error) = stream.write_all(line.as_bytes())
    {
        tracing::warn!(%error, "the supervisor does not listen");
    }
}

/// Reports that the program serves.
pub(crate) fn ready() {
    STARTED.store(true, Ordering::Relaxed);
    match &mut *SUPERVISOR.lock().unwrap_or_else(PoisonError::into_inner) {
        Some(stream) => {
            if let Err(error) = stream.write_all(b"ready\n") {
                tracing::warn!(%error, "the supervisor does not listen");
            }
        }
        None => notify::notify("READY=1"),
    }
}

/// Whether the program has started, which means that it serves.
pub(crate) fn has_started() -> bool {
    STARTED.load(Ordering::Relaxed)
}

/// Whether another program takes over the ports of this one.
pub(crate) fn is_leaving() -> bool {
    LEAVING.load(Ordering::Relaxed)
}

/// Whether the process has a supervisor.
pub(crate) fn is_supervised() -> bool {
    SUPERVISOR.lock().unwrap_or_else(PoisonError::into_inner).is_some()
}
