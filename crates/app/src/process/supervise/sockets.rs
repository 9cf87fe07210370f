//! The supervisor's side of the handover: the sockets that it holds, and the connections of its
//! programs. What is said is described in [`crate::process::handover`].

use crate::process::handover::{self, LINE};
use crate::process::supervise::event::SupervisorEvent;
use runnel_http::{SocketFile, UnixAddress};
use runnel_store::{Error, Kind};
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io::IoSlice;
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::mpsc;

/// The pause after an error of `accept`.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The most sockets that programs may ask for.
const MOST: usize = 64;

/// The sockets of the programs, and the one where they ask for them.
pub(super) struct Sockets {
    folder: PathBuf,
    path: PathBuf,
    asked: UnixListener,
    /// Each with whether it is ours, and not that of systemd.
    held: RefCell<BTreeMap<(SocketAddr, usize), (TcpListener, bool)>>,
    held_unix: RefCell<BTreeMap<PathBuf, (StdUnixListener, Option<SocketFile>)>>,
    /// The supervisor stops, and has closed all of them.
    is_closed: Cell<bool>,
}

impl Sockets {
    /// Opens the place where programs ask, in a folder that only this user can enter.
    pub(super) fn open() -> Result<Sockets, String> {
        let base = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let base = base.filter(|base| base.is_dir()).unwrap_or_else(std::env::temp_dir);
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let number = now.map_or(0, |now| now.as_nanos());
        let folder = base.join(format!("runnel-{}-{number:x}", std::process::id()));
        let path = folder.join("programs");
        let failed = |error: std::io::Error| format!("{} cannot be made: {error}", path.display());
        std::fs::DirBuilder::new().mode(0o700).create(&folder).map_err(failed)?;
        let asked = UnixListener::bind(&path).map_err(failed)?;
        Ok(Sockets {
            folder,
            path: path.clone(),
            asked,
            held: RefCell::default(),
            held_unix: RefCell::default(),
            is_closed: Cell::new(false),
        })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Answers programs, for ever.
    pub(super) async fn answer(self: Rc<Self>, events: mpsc::Sender<SupervisorEvent>) {
        loop {
            match self.asked.accept().await {
                Ok((stream, _)) => {
                    let (sockets, events) = (self.clone(), events.clone());
                    tokio::task::spawn_local(async move {
                        if let Err(error) = sockets.talk(stream, events).await {
                            tracing::debug!(%error, "a program went away");
                        }
                    });
                }
                Err(error) => {
                    tracing::error!(%error, "a program cannot be heard");
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }

    async fn talk(
        &self,
        stream: UnixStream,
        events: mpsc::Sender<SupervisorEvent>,
    ) -> std::io::Result<()> {
        let mut stream = BufReader::new(stream);
        let first = line(&mut stream).await?;
        let words: Vec<&str> = first.split(' ').collect();
        match words[..] {
            ["listen", address, number] => {
                let (Ok(address), Ok(number)) = (address.parse(), number.parse()) else {
                    return Ok(());
                };
                give(stream.into_inner(), self.socket(address, number).map(OwnedFd::from)).await
            }
            ["socket", mode, ..] => {
                // The path may have spaces in it.
                let path =
                    first.splitn(3, ' ').nth(2).and_then(|text| serde_json::from_str(text).ok());
                let (Ok(mode), Some(path)) = (mode.parse(), path) else { return Ok(()) };
                let path: String = path;
                let address = UnixAddress { path: path.into(), mode };
                give(stream.into_inner(), self.unix_socket(&address).map(OwnedFd::from)).await
            }
            ["program", process] => {
                let Ok(process) = process.parse() else { return Ok(()) };
                self.follow(process, stream, events).await
            }
            _ => Ok(()),
        }
    }

    /// A connection that a program keeps.
    async fn follow(
        &self,
        process: u32,
        mut stream: BufReader<UnixStream>,
        events: mpsc::Sender<SupervisorEvent>,
    ) -> std::io::Result<()> {
        let (says, mut said) = mpsc::unbounded_channel();
        let _ = events.send(SupervisorEvent::Reports(process, says)).await;
        loop {
            tokio::select! {
                word = line(&mut stream) => match word?.as_str() {
                    "ready" => {
                        let _ = events.send(SupervisorEvent::Ready(process)).await;
                    }
                    "" => return Ok(()),
                    other => {
                        if let Some(event) = about_a_file(process, other) {
                            let _ = events.send(event).await;
                        }
                    }
                },
                Some(text) = said.recv() => {
                    stream.get_mut().write_all(format!("{text}\n").as_bytes()).await?;
                }
            }
        }
    }

    /// Closes the sockets, so that new connections are refused as soon as the program has closed its
    /// copies. Sockets of systemd stay open there, and connections wait for the next start.
    pub(super) fn close(&self) {
        self.is_closed.set(true);
        for (socket, is_ours) in self.held.take().into_values() {
            if is_ours {
                runnel_http::close_queue(&socket);
            }
        }
        self.held_unix.take();
    }

    fn check_open(&self) -> runnel_store::Result<()> {
        match self.is_closed.get() {
            true => Err(Error::new(Kind::Unavailable, "the supervisor stops")),
            false => Ok(()),
        }
    }

    /// The socket for an address: held already, given by systemd, or opened.
    fn socket(&self, address: SocketAddr, number: usize) -> runnel_store::Result<TcpListener> {
        let mut held = self.held.borrow_mut();
        let failed = |error: std::io::Error| {
            Error::new(Kind::Failed, format!("the socket for {address} cannot be used: {error}"))
        };
        if let Some((socket, _)) = held.get(&(address, number)) {
            return socket.try_clone().map_err(failed);
        }
        if held.len() >= MOST {
            let message = format!("a supervisor holds at most {MOST} sockets");
            return Err(Error::new(Kind::TooLarge, message));
        }
        self.check_open()?;
        let (socket, is_ours) = match handover::given(address) {
            Some(socket) => (socket, false),
            None => (runnel_http::bind(address)?, true),
        };
        let copy = socket.try_clone().map_err(failed)?;
        held.insert((address, number), (socket, is_ours));
        Ok(copy)
    }

    /// The same for a Unix socket, whose file goes with us.
    fn unix_socket(&self, address: &UnixAddress) -> runnel_store::Result<StdUnixListener> {
        let mut held = self.held_unix.borrow_mut();
        let shown = address.path.display();
        let failed = |error: std::io::Error| {
            Error::new(Kind::Failed, format!("the socket {shown} cannot be used: {error}"))
        };
        if let Some((socket, _)) = held.get(&address.path) {
            return socket.try_clone().map_err(failed);
        }
        if held.len() >= MOST {
            let message = format!("a supervisor holds at most {MOST} sockets");
            return Err(Error::new(Kind::TooLarge, message));
        }
        self.check_open()?;
        let (socket, file) = match handover::given_unix(&address.path) {
            Some(socket) => (socket, None),
            None => runnel_http::bind_unix(address).map(|(socket, file)| (socket, Some(file)))?,
        };
        let copy = socket.try_clone().map_err(failed)?;
        held.insert(address.path.clone(), (socket, file));
        Ok(copy)
    }
}

impl Drop for Sockets {
    fn drop(&mut self) {
        // What is left over does no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// `reads "/srv/site/shapes.st"`
fn about_a_file(process: u32, said: &str) -> Option<SupervisorEvent> {
    let (what, file) = said.split_once(' ')?;
    let file: String = serde_json::from_str(file).ok()?;
    match what {
        "reads" => Some(SupervisorEvent::Reads(process, file.into())),
        "writes" => Some(SupervisorEvent::Writes(file.into())),
        _ => None,
    }
}

/// The next line without its end; empty at the end.
async fn line(stream: &mut BufReader<UnixStream>) -> std::io::Result<String> {
    let mut line = String::new();
    stream.take(LINE).read_line(&mut line).await?;
    Ok(line.trim_end().to_string())
}

/// Gives a socket away, or says why not.
async fn give(stream: UnixStream, socket: runnel_store::Result<OwnedFd>) -> std::io::Result<()> {
    match socket {
        Ok(socket) => {
            stream.writable().await?;
            pass(&stream, &socket)
        }
        Err(error) => say(stream, &format!("{}\n", error.message)).await,
    }
}

async fn say(mut stream: UnixStream, text: &str) -> std::io::Result<()> {
    stream.write_all(text.as_bytes()).await
}

/// Gives a socket away, with one byte, because it cannot travel alone.
fn pass(stream: &UnixStream, socket: &OwnedFd) -> std::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut passed = SendAncillaryBuffer::new(&mut space);
    let sockets = [socket.as_fd()];
    passed.push(SendAncillaryMessage::ScmRights(&sockets));
    sendmsg(stream, &[IoSlice::new(b"\n")], &mut passed, SendFlags::empty())?;
    Ok(())
}
