//! What a combinator costs: nanoseconds for a get that is answered at once, beside those of the
//! memory store alone. Run with `cargo bench -p runnel-store`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use runnel_store::{
    Answer, Cache, Content, Context, Limit, LimitOptions, Log, Memory, ReadOnly, Reference,
    Relative, Store, Timeout,
};
use std::hint::black_box;
use std::rc::Rc;
use std::time::{Duration, Instant};

const ROUNDS: usize = 9;
const GETS: u32 = 200_000;

/// The best of several rounds, in nanoseconds for each get.
fn measure(store: &dyn Store, reference: &Reference) -> f64 {
    let context = Context::default();
    let round = |_| {
        let began = Instant::now();
        for _ in 0..GETS {
            let Answer::Ready(Ok(Some(content))) = store.get(black_box(reference), &context) else {
                panic!("this is answered at once");
            };
            black_box(content);
        }
        began.elapsed().as_nanos() as f64 / f64::from(GETS)
    };
    (0..ROUNDS).map(round).fold(f64::INFINITY, f64::min)
}

fn chain(source: Rc<dyn Store>) -> Rc<dyn Store> {
    let relative = Rc::new(Relative::new(source, Reference::from_path("some")));
    let log = Rc::new(Log::new(relative, |_, _| {}));
    let timeout = Rc::new(Timeout::new(Rc::new(ReadOnly::new(log)), Duration::from_secs(5)));
    let options = LimitOptions { rate: Some(1e9), burst: 1_000_000, ..LimitOptions::default() };
    Rc::new(Limit::new(timeout, options))
}

async fn filled(store: &dyn Store) {
    for number in 0..1000 {
        let on = Reference::from_path(format!("some/path/{number}"));
        store.put(&on, Content::text("content"), &Context::default()).await.unwrap();
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let memory: Rc<dyn Store> = Rc::new(Memory::site());
    filled(&*memory).await;
    let whole = Reference::from_path("some/path/500");
    let below = Reference::from_path("path/500");
    let cache = Cache::in_memory(memory.clone());
    let following = Cache::in_memory(memory.clone()).watching();
    for store in [&cache, &following] {
        for number in 0..1000 {
            let on = Reference::from_path(format!("some/path/{number}"));
            store.get(&on, &Context::default()).await.unwrap();
        }
    }
    let alone = measure(&*memory, &whole);
    let source = memory.clone();
    let timeout = Timeout::new(memory.clone(), Duration::from_secs(5));
    let limit = Limit::new(memory.clone(), LimitOptions::default());
    for (name, nanoseconds) in [
        ("memory", alone),
        ("cache hit", measure(&cache, &whole)),
        ("cache hit, watching", measure(&following, &whole)),
        ("timeout", measure(&timeout, &whole)),
        ("limit", measure(&limit, &whole)),
        ("relative, log, read only, timeout, limit", measure(&*chain(source), &below)),
    ] {
        println!("{name:42} {nanoseconds:7.0} ns {:5.1}×", nanoseconds / alone);
    }
}
