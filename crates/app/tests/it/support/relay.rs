//! A relay of TCP connections that a test cuts, as a network does.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

struct Shared {
    is_open: bool,
    pairs: Vec<Pair>,
}

struct Pair {
    client: TcpStream,
    server: TcpStream,
    /// Nothing of the client reaches the server any more.
    is_stranded: Arc<AtomicBool>,
}

/// Relays connections to a port.
pub(crate) struct Relay {
    shared: Arc<Mutex<Shared>>,
    pub(crate) port: u16,
}

impl Relay {
    pub(crate) fn start(target: u16) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Mutex::new(Shared { is_open: true, pairs: Vec::new() }));
        let own = shared.clone();
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                let mut shared = own.lock().unwrap();
                if !shared.is_open {
                    continue;
                }
                let Ok(server) = TcpStream::connect(("127.0.0.1", target)) else { continue };
                for stream in [&client, &server] {
                    stream.set_nodelay(true).unwrap();
                }
                let is_stranded = Arc::new(AtomicBool::new(false));
                let pair = Pair {
                    client: client.try_clone().unwrap(),
                    server: server.try_clone().unwrap(),
                    is_stranded: is_stranded.clone(),
                };
                shared.pairs.push(pair);
                let (from, to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
                copy(from, to, is_stranded);
                copy(server, client, Arc::default());
            }
        });
        Relay { shared, port }
    }

    pub(crate) fn address(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Ends all connections, and takes none until [`Relay::mend`].
    pub(crate) fn cut(&self) {
        let mut shared = self.shared.lock().unwrap();
        shared.is_open = false;
        for pair in shared.pairs.drain(..) {
            let _ = pair.client.shutdown(Shutdown::Both);
            let _ = pair.server.shutdown(Shutdown::Both);
        }
    }

    /// From now on nothing that clients send on their connections arrives, nor that these end.
    pub(crate) fn strand(&self) {
        for pair in &self.shared.lock().unwrap().pairs {
            pair.is_stranded.store(true, Ordering::SeqCst);
        }
    }

    /// Ends the connections for the clients, as when these change their network.
    pub(crate) fn leave(&self) {
        for pair in &self.shared.lock().unwrap().pairs {
            let _ = pair.client.shutdown(Shutdown::Both);
        }
    }

    pub(crate) fn mend(&self) {
        self.shared.lock().unwrap().is_open = true;
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream, is_stranded: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        let mut piece = [0; 16 * 1024];
        let is_stranded = || is_stranded.load(Ordering::SeqCst);
        while let Ok(count @ 1..) = from.read(&mut piece) {
            if !is_stranded() && to.write_all(&piece[..count]).is_err() {
                break;
            }
        }
        if !is_stranded() {
            let _ = to.shutdown(Shutdown::Both);
        }
    });
}
