//! A connection to a server that loses the reply of one command.

use std::cell::RefCell;
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};

/// Forwards to a server. Once a client has sent the marker, the client gets no more replies.
pub(crate) struct LossyProxy {
    pub(crate) port: u16,
    state: Rc<RefCell<ProxyState>>,
}

#[derive(Default)]
struct ProxyState {
    marker: Option<Vec<u8>>,
    is_lossy: bool,
}

impl LossyProxy {
    /// In front of the server with this URL.
    pub(crate) async fn new(url: &str) -> LossyProxy {
        let place = url.rsplit('/').next().unwrap().to_string();
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Rc::new(RefCell::new(ProxyState::default()));
        let shared = state.clone();
        tokio::task::spawn_local(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&place).await.unwrap();
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                tokio::task::spawn_local(requests(from_client, to_server, shared.clone()));
                tokio::task::spawn_local(replies(from_server, to_client, shared.clone()));
            }
        });
        LossyProxy { port, state }
    }

    /// Loses the replies after the next command that contains the marker.
    pub(crate) fn lose_after(&self, marker: &str) {
        *self.state.borrow_mut() =
            ProxyState { marker: Some(marker.as_bytes().to_vec()), is_lossy: false };
    }

    /// Whether a reply was lost since [`LossyProxy::lose_after`].
    pub(crate) fn has_lost(&self) -> bool {
        self.state.borrow().is_lossy
    }
}

async fn requests(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, state: Rc<RefCell<ProxyState>>) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        {
            let mut state = state.borrow_mut();
            let marker = state.marker.clone();
            let is_in = |marker: &[u8]| bytes[..count].windows(marker.len()).any(|at| at == marker);
            if marker.is_some_and(|marker| is_in(&marker)) {
                *state = ProxyState { marker: None, is_lossy: true };
            }
        }
        if to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}

async fn replies(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, state: Rc<RefCell<ProxyState>>) {
    let mut bytes = vec![0; 64 << 10];
    while let Ok(count @ 1..) = from.read(&mut bytes).await {
        if !state.borrow().is_lossy && to.write_all(&bytes[..count]).await.is_err() {
            return;
        }
    }
}
