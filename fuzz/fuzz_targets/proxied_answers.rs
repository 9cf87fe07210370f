//! Answers of upstreams: whatever bytes an upstream sends, the client of a proxy reads an answer of its own or a
//! 502, and behind it its next one.
#![no_main]

#[path = "../../crates/http/tests/it/proxy_model.rs"]
#[allow(dead_code)]
mod proxy_model;

use libfuzzer_sys::fuzz_target;
use proxy_model::ProxyWorld;
use tokio::runtime::LocalRuntime;

/// Bytes of an input; what is longer meets the same limits.
const LONGEST: usize = 8_000;

fn world() -> (LocalRuntime, ProxyWorld) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .expect("an event loop");
    let world = runtime.block_on(ProxyWorld::start());
    (runtime, world)
}

thread_local! {
    static WORLD: (LocalRuntime, ProxyWorld) = world();
}

fuzz_target!(|data: &[u8]| {
    if data.len() <= LONGEST {
        WORLD.with(|(runtime, world)| runtime.block_on(world.check_answer(data)));
    }
});
