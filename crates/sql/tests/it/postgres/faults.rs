//! Other sides that are no database: down, silent, or talking nonsense. Each verb ends within its
//! limit with an error that names the other side, and nothing is left behind.

use crate::common::*;
use crate::postgres::support::local;
use runnel_scratch::{alone, usage};
use runnel_sql::{PostgresDatabase, PostgresOptions};
use runnel_store::{Kind, Store};
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Listens, and answers each connection by writing something after reading a little.
async fn listener(answer: &'static [u8], end: bool) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::task::spawn_local(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            tokio::task::spawn_local(async move {
                let mut buffer = [0; 1024];
                let _ = stream.read(&mut buffer).await;
                let _ = stream.write_all(answer).await;
                // Until the other side gives up.
                while !end && stream.read(&mut buffer).await.is_ok_and(|count| count > 0) {}
            });
        }
    });
    address
}

fn open(address: SocketAddr, mode: &str, patience: u64) -> Rc<PostgresDatabase> {
    let options = PostgresOptions {
        connect_time: Duration::from_millis(patience),
        ..PostgresOptions::default()
    };
    let url = format!("postgres://me:secret@{address}/x?sslmode={mode}");
    PostgresDatabase::open(&url, options).unwrap()
}

async fn fails(database: &PostgresDatabase, address: SocketAddr, kinds: &[Kind]) {
    let error = database.get(&reference("tasks/7"), &now()).await.err().unwrap();
    let shown = format!("{error} {error:?}");
    assert!(kinds.contains(&error.kind) && error.temporary, "{shown}");
    assert!(error.to_string().starts_with("get tasks/7: "), "{shown}");
    assert!(error.message.contains(&address.to_string()), "{shown}");
    assert!(!shown.contains("secret"), "{shown}");
}

const JUNK: &[u8] = b"\x16\x03HTTP/1.1 400 Bad Request\r\n\r\n\x00\x00\x00\x00\x00\x00";

#[test]
fn others_that_are_no_database() {
    local(async {
        let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let nobody = closed.local_addr().unwrap();
        drop(closed);
        fails(&open(nobody, "disable", 5000), nobody, &[Kind::Unavailable]).await;
        let silent = listener(b"", false).await;
        fails(&open(silent, "disable", 100), silent, &[Kind::Timeout]).await;
        fails(&open(silent, "require", 100), silent, &[Kind::Timeout]).await;
        for (answer, end) in [(JUNK, true), (JUNK, false), (b"", true), (b"R\0\0\0\x04", true)] {
            let other = listener(answer, end).await;
            let kinds = [Kind::Unavailable, Kind::Timeout];
            fails(&open(other, "disable", 500), other, &kinds).await;
            fails(&open(other, "require", 500), other, &kinds).await;
        }
        // A server without encryption, where encryption is asked for.
        let plain = listener(b"N", false).await;
        let error = open(plain, "verify-full", 5000).get(&reference("t"), &now()).await.err();
        let error = error.unwrap();
        assert!(error.message.contains("sslmode=disable"), "{error}");
        // One that begins to encrypt and does not go on.
        let half = listener(b"S", false).await;
        fails(&open(half, "require", 100), half, &[Kind::Timeout]).await;
    });
}

#[test]
fn nothing_is_left_behind() {
    alone("postgres::faults::nothing_is_left_behind", many_failures);
}

fn many_failures() {
    local(async {
        let silent = listener(b"", false).await;
        let junk = listener(JUNK, true).await;
        let closed = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let nobody = closed.local_addr().unwrap();
        drop(closed);
        let databases = [
            (open(silent, "disable", 2), silent),
            (open(junk, "disable", 1000), junk),
            (open(junk, "require", 1000), junk),
            (open(nobody, "disable", 1000), nobody),
        ];
        let round = async |rounds: usize| {
            for _ in 0..rounds {
                for (database, address) in &databases {
                    fails(database, *address, &[Kind::Unavailable, Kind::Timeout]).await;
                }
            }
        };
        round(200).await;
        let before = usage();
        round(1000).await;
        // The other side of the last connections closes when it is its turn.
        tokio::time::sleep(Duration::from_millis(50)).await;
        let after = usage();
        assert!(after.0 <= before.0 + 4, "files: {before:?} {after:?}");
        assert!(after.1 <= before.1 + 4096, "memory: {before:?} {after:?}");
    });
}
