//! Servers that do everything wrong.

use runnel_bus::{BusOptions, nats_scheme, redis_scheme};
use runnel_store::{Content, Context, Error, Kind, Reference, Store};
use std::rc::Rc;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;

/// What a listener does with those who connect.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Manner {
    /// Says nothing.
    Silent,
    /// Says something that is no protocol of ours.
    Garbage,
    /// Hangs up.
    Closing,
}

/// A listener of a manner, and the port it is at.
pub(crate) async fn listener(manner: Manner) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::task::spawn_local(async move {
        loop {
            let Ok((mut stream, _)) = listener.accept().await else { return };
            tokio::task::spawn_local(async move {
                match manner {
                    Manner::Silent => {
                        // Until the other side gives up.
                        let mut sink = tokio::io::sink();
                        let _ = tokio::io::copy(&mut stream, &mut sink).await;
                    }
                    Manner::Garbage => {
                        let _ =
                            stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\nnonsense\r\n").await;
                        let mut sink = tokio::io::sink();
                        let _ = tokio::io::copy(&mut stream, &mut sink).await;
                    }
                    Manner::Closing => {}
                }
            });
        }
    });
    port
}

pub(crate) fn schemes(options: BusOptions) -> [(Rc<dyn Store>, &'static str, &'static str); 2] {
    [(redis_scheme(options.clone()), "redis", "0/key"), (nats_scheme(options), "nats", "kv/b/key")]
}

/// A verb of each kind, and what became of it.
pub(crate) async fn attempt(store: &Rc<dyn Store>, reference: &Reference, number: usize) -> Error {
    let context = Context::default();
    match number % 4 {
        0 => store.get(reference, &context).await.map(|_| ()).unwrap_err(),
        1 => store.put(reference, Content::text("x"), &context).await.map(|_| ()).unwrap_err(),
        2 => store.list(reference, &context).await.map(|_| ()).unwrap_err(),
        _ => store.watch(reference, &context).await.map(|_| ()).unwrap_err(),
    }
}

pub(crate) fn check(error: &Error, reference: &Reference, port: u16, scheme: &str) {
    let message = error.to_string();
    assert!(message.contains(&reference.to_string()), "no reference: {message}");
    assert!(message.contains(&format!("127.0.0.1:{port}")), "no server: {message} in {scheme}");
    let kinds = [Kind::Unavailable, Kind::Timeout];
    assert!(kinds.contains(&error.kind), "{message}: {:?}", error.kind);
}
