//! Frames of clients of WebSockets: however they are cut, the server echoes the messages and closes with the
//! code that a second reader of RFC 6455 finds. The first byte says how long the pieces are.
#![no_main]

#[path = "../../crates/http/tests/it/websocket_model.rs"]
mod websocket_model;

use libfuzzer_sys::fuzz_target;
use runnel_http::HttpServer;
use tokio::runtime::LocalRuntime;

/// Bytes of an input; what is longer meets the same limits.
const LONGEST: usize = 8_000;

fn world() -> (LocalRuntime, HttpServer) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .expect("an event loop");
    let server = runtime.block_on(websocket_model::echo_server());
    (runtime, server)
}

thread_local! {
    static WORLD: (LocalRuntime, HttpServer) = world();
}

fuzz_target!(|data: &[u8]| {
    if data.len() <= LONGEST {
        WORLD.with(|(runtime, server)| runtime.block_on(websocket_model::check(server, data)));
    }
});
