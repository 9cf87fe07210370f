//! A relay of TCP connections that a test cuts, as a network does.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

struct Shared {
    is_open: bool,
    streams: Vec<TcpStream>,
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
        let shared = Arc::new(Mutex::new(Shared { is_open: true, streams: Vec::new() }));
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
                    shared.streams.push(stream.try_clone().unwrap());
                }
                copy(client.try_clone().unwrap(), server.try_clone().unwrap());
                copy(server, client);
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
        for stream in shared.streams.drain(..) {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub(crate) fn mend(&self) {
        self.shared.lock().unwrap().is_open = true;
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream) {
    std::thread::spawn(move || {
        let mut piece = [0; 16 * 1024];
        while let Ok(count @ 1..) = from.read(&mut piece) {
            if to.write_all(&piece[..count]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}
