//! A port shared by the workers of a process: one thread accepts and hands the connections out in
//! turn.
//!
//! With `SO_REUSEPORT` the system would choose by a hash of the client's address, which is uneven
//! as long as connections are few: with 64 of them over four threads one thread is off its
//! share by more than a fifth about half of the time. In turn, no two differ by more than one.

use crate::process::handover;
use futures_util::future::join_all;
use runnel_http::{
    AcceptQueue, Handed, Reserve, Share, SocketFile, UNIX_PEER, is_out_of_descriptors,
};
use runnel_store::{Error, Kind, Result};
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, mpsc, oneshot};

/// Connections that wait for one worker. Beyond that the next worker gets them, and beyond all of
/// them they wait in the system's queue.
const WAITING: usize = 64;

/// How long to wait after the system refused to accept a connection (too many open files).
const PAUSE: Duration = Duration::from_millis(10);

/// How long workers may take to give up idle connections for their descriptors.
const GIVING_UP: Duration = Duration::from_secs(1);

/// Which port: the address as the program gives it, and the how many-th of port 0 it is.
pub(crate) type Name = (String, usize);

/// A socket that listens.
pub(crate) enum Entrance {
    /// With whether it is ours, and not that of a supervisor or of systemd.
    Port(TcpListener, bool),
    /// With its file, where it is ours.
    Unix(UnixListener, Option<SocketFile>),
}

impl Entrance {
    fn address(&self) -> std::io::Result<SocketAddr> {
        match self {
            Entrance::Port(listener, _) => listener.local_addr(),
            Entrance::Unix(..) => Ok(UNIX_PEER),
        }
    }
}

/// The same within an event loop.
enum Accepting {
    Port(tokio::net::TcpListener, bool),
    Unix(tokio::net::UnixListener),
}

impl Accepting {
    fn of(entrance: Entrance) -> std::io::Result<Accepting> {
        Ok(match entrance {
            Entrance::Port(listener, is_ours) => {
                listener.set_nonblocking(true)?;
                Accepting::Port(tokio::net::TcpListener::from_std(listener)?, is_ours)
            }
            Entrance::Unix(listener, _) => {
                listener.set_nonblocking(true)?;
                Accepting::Unix(tokio::net::UnixListener::from_std(listener)?)
            }
        })
    }

    async fn next(&self) -> std::io::Result<Handed> {
        match self {
            Accepting::Port(listener, _) => {
                let (stream, peer) = listener.accept().await?;
                Ok((stream.into_std()?, peer))
            }
            Accepting::Unix(listener) => runnel_http::accept_unix(listener).await,
        }
    }
}

/// The ports of this process that have a door.
static DOORS: Mutex<BTreeMap<Name, Arc<Door>>> = Mutex::new(BTreeMap::new());

struct Door {
    name: Name,
    address: SocketAddr,
    workers: Mutex<BTreeMap<usize, Member>>,
    /// A worker has come, or leaves.
    changed: Notify,
    /// Of a Unix socket that is ours.
    file: Mutex<Option<SocketFile>>,
}

/// A worker behind the door.
struct Member {
    connections: mpsc::Sender<Handed>,
    leaves: Arc<AtomicBool>,
    scarce: mpsc::Sender<oneshot::Sender<bool>>,
}

impl Member {
    fn is_gone(&self) -> bool {
        self.connections.is_closed() || self.leaves.load(Ordering::Acquire)
    }
}

/// A worker's share of a port, and the address where the port is. The first one opens it.
///
/// # Errors
/// [`Kind::Conflict`]: this worker listens there already; and what opening says.
pub(crate) fn join(
    name: Name,
    worker: usize,
    open: impl FnOnce() -> Result<Entrance>,
) -> Result<(Share, SocketAddr)> {
    let (sender, receiver) = mpsc::channel(WAITING);
    let leaves = Arc::new(AtomicBool::new(false));
    let (asking, scarce) = mpsc::channel(1);
    let member = Member { connections: sender, leaves: leaves.clone(), scarce: asking };
    let share = |door: Arc<Door>| Share {
        connections: receiver,
        scarce,
        leave: Box::new(move || {
            leaves.store(true, Ordering::Release);
            door.changed.notify_one();
        }),
    };
    let mut doors = DOORS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(door) = doors.get(&name) {
        let mut workers = door.workers.lock().unwrap_or_else(PoisonError::into_inner);
        if workers.get(&worker).is_some_and(|other| !other.is_gone()) {
            return Err(taken(&name.0));
        }
        workers.insert(worker, member);
        door.changed.notify_one();
        return Ok((share(door.clone()), door.address));
    }
    let mut listener = open()?;
    let file = match &mut listener {
        Entrance::Port(..) => None,
        Entrance::Unix(_, file) => file.take(),
    };
    let address = listener.address().map_err(|error| unusable(&error))?;
    let workers = Mutex::new(BTreeMap::from([(worker, member)]));
    let door = Arc::new(Door {
        name: name.clone(),
        address,
        workers,
        changed: Notify::new(),
        file: Mutex::new(file),
    });
    let kept = door.clone();
    std::thread::Builder::new()
        .name("port".to_string())
        .spawn(move || match crate::event_loop::block_on(door.keep(listener)) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::error!(%error, "no connection can be accepted"),
            Err(error) => tracing::error!(error, "no connection can be accepted"),
        })
        .map_err(|error| unusable(&error))?;
    doors.insert(name, kept.clone());
    Ok((share(kept), address))
}

/// At the end of the process: nothing of the doors that are left stays behind.
pub(crate) fn close_all() {
    let doors = DOORS.lock().unwrap_or_else(PoisonError::into_inner);
    doors.values().for_each(|door| door.remove_file());
}

/// The error of a program that listens twice at one place.
pub(crate) fn taken(place: &str) -> Error {
    let message = format!("{place} is taken by this program itself: choose another place");
    Error::new(Kind::Conflict, message)
}

fn unusable(error: &std::io::Error) -> Error {
    Error::new(Kind::Failed, "the listening socket cannot be used").with_detail(error.to_string())
}

impl Door {
    /// Accepts until no worker is left.
    async fn keep(&self, entrance: Entrance) -> std::io::Result<()> {
        let entrance = Accepting::of(entrance)?;
        let (mut turn, mut reserve) = (0, Reserve::default());
        loop {
            let workers: Vec<_> = {
                let mut workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
                if workers.values().any(|worker| !worker.is_gone()) {
                    // A worker that leaves has got all that was accepted for it, as the end of
                    // its channel shows.
                    workers.retain(|_, worker| !worker.is_gone());
                }
                let staying = workers.values().filter(|worker| !worker.is_gone());
                staying.map(|worker| worker.connections.clone()).collect()
            };
            if workers.is_empty() && self.is_left() {
                return self.empty_queue(entrance).await;
            }
            tokio::select! {
                accepted = entrance.next(), if !workers.is_empty() => match accepted {
                    Ok(handed) => self.hand_over(&workers, &mut turn, handed).await,
                    Err(error) if is_out_of_descriptors(&error) => {
                        self.find_descriptor(&entrance, &mut reserve).await;
                    }
                    Err(error) => {
                        tracing::debug!(%error, "a connection could not be accepted");
                        tokio::time::sleep(PAUSE).await;
                    }
                },
                () = self.changed.notified() => {}
                _ = join_all(workers.iter().map(mpsc::Sender::closed)), if !workers.is_empty() => {}
            }
        }
    }

    /// Every worker gives up an idle connection for its descriptor, or a connection that waits is
    /// refused.
    async fn find_descriptor(&self, entrance: &Accepting, reserve: &mut Reserve) {
        let answers: Vec<_> = {
            let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
            let asked = workers.values().filter_map(|worker| {
                let (asks, answer) = oneshot::channel();
                worker.scarce.try_send(asks).ok().map(|()| answer)
            });
            asked.collect()
        };
        let answers = tokio::time::timeout(GIVING_UP, join_all(answers)).await;
        if answers.is_ok_and(|answers| answers.contains(&Ok(true))) {
            return;
        }
        let accept = async { tokio::net::TcpStream::from_std(entrance.next().await?.0) };
        if !reserve.refuse(accept).await {
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The last workers leave: they still get the connections in the queue of the socket, which
    /// closing it would reset. In an upgrade these are the next process's.
    async fn empty_queue(&self, entrance: Accepting) -> std::io::Result<()> {
        let last =
            std::mem::take(&mut *self.workers.lock().unwrap_or_else(PoisonError::into_inner));
        let senders: Vec<_> = last.into_values().map(|worker| worker.connections).collect();
        if handover::is_leaving() || senders.is_empty() {
            return Ok(());
        }
        let mut queue = match entrance {
            Accepting::Port(listener, is_ours) => {
                if is_ours {
                    runnel_http::close_queue(&listener);
                }
                AcceptQueue::of_port(listener)?
            }
            Accepting::Unix(listener) => AcceptQueue::of_unix(listener)?,
        };
        let mut turn = 0;
        while let Some(handed) = queue.next().await {
            self.hand_over(&senders, &mut turn, handed).await;
        }
        Ok(())
    }

    /// Gives a connection to the worker whose turn it is, or to the next one with room.
    async fn hand_over(&self, workers: &[mpsc::Sender<Handed>], turn: &mut usize, one: Handed) {
        let mut handed = one;
        for _ in workers {
            *turn = turn.wrapping_add(1);
            match workers[*turn % workers.len()].try_send(handed) {
                Ok(()) => return,
                Err(error) => handed = error.into_inner(),
            }
        }
        // All are full: the one whose turn it is. Should it end meanwhile, so does the connection.
        let _ = workers[*turn % workers.len()].send(handed).await;
    }

    fn remove_file(&self) {
        self.file.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Whether no worker is left, which closes the door.
    fn is_left(&self) -> bool {
        let mut doors = DOORS.lock().unwrap_or_else(PoisonError::into_inner);
        let workers = self.workers.lock().unwrap_or_else(PoisonError::into_inner);
        let left = workers.values().all(Member::is_gone);
        if left {
            doors.remove(&self.name);
            self.remove_file();
        }
        left
    }
}
