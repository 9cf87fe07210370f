//! Short requests pass long ones.

use crate::support;

use crate::support::Server;
use crate::support::http::Connection;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Clients whose requests compute.
const BUSY: usize = 10;
/// Short requests that are sent beside them.
const SHORT: u64 = 60;

#[test]
fn a_short_request_passes_those_that_compute() {
    let server = Server::of_scheme(
        "extension Number {\n\
         \x20   -sum { total ← 0. i ← 0. { i < self } whileTrue: { i ← i + 1. total ← total + i }. total }\n\
         }\n\
         scheme:seen ← DictStore store.\n\
         seen:ended ← 0.\n\
         scheme Site {\n\
         \x20   /compute { get { 1000000 sum. seen:ended ← seen:ended + 1. 'done' } }\n\
         \x20   /ended { get { seen:ended asString } }\n\
         }",
        60.0,
    );
    let stop = AtomicBool::new(false);
    let passed = thread::scope(|scope| {
        for _ in 0..BUSY {
            scope.spawn(|| {
                let mut connection = Connection::open(server.port).unwrap();
                while !stop.load(Ordering::Relaxed) {
                    assert_eq!(connection.send("GET", "/compute", b"").unwrap().text(), "done");
                }
            });
        }
        let mut connection = Connection::open(server.port).unwrap();
        let mut ended =
            || -> u64 { connection.send("GET", "/ended", b"").unwrap().text().parse().unwrap() };
        support::eventually("they compute", || ended() > 30);
        let (mut before, mut passed) = (ended(), 0);
        for _ in 0..SHORT {
            let now = ended();
            // One that is interrupted while it counts may set the count back a little.
            passed += now.saturating_sub(before);
            before = now;
        }
        stop.store(true, Ordering::Relaxed);
        passed
    });
    // In the order of their arrival each would have waited for most of the ten. One or two end
    // while a short request comes and goes: the one that runs, and what the sockets take.
    assert!(passed <= SHORT * 4, "{passed} long requests ended before {SHORT} short ones");
}
