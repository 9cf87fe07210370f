//! What the pages of `benches/page.st` cost without HTTP: built by elements, and the same bytes as a
//! text. Prints microseconds for each request, the best of many rounds in turn. An argument says which
//! pages: `cargo bench -p runnel-runtime --bench page -- small`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

#[path = "../tests/it/support.rs"]
mod support;

use runnel_store::{Body, Context, Reference, Store};
use std::rc::Rc;
use std::time::Instant;
use support::{Lab, explained};

/// Requests of each round.
const REQUESTS: u32 = 5_000;
const ROUNDS: usize = 30;
const PAGES: [&str; 4] = ["/page", "/page-constant", "/small", "/small-constant"];

/// The length of what is answered.
async fn ask(store: &Rc<dyn Store>, reference: &Reference) -> usize {
    let content = store.get(reference, &Context::default()).await.unwrap().unwrap();
    match content.body {
        Body::Text(text) => text.len(),
        _ => content.read(1 << 20).await.unwrap().len(),
    }
}

fn main() {
    let lab = Lab::new();
    let program = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/page.st");
    let source = std::fs::read_to_string(program).unwrap();
    let outcome = lab.wait(lab.isolate.run(&source, "page.st"));
    let outcome = outcome.unwrap_or_else(|failure| panic!("{}", explained(&failure)));
    let store = lab.isolate.store(outcome.value);
    let wanted: Vec<String> = std::env::args().skip(1).filter(|word| word != "--bench").collect();
    let is_wanted =
        |page: &str| wanted.is_empty() || wanted.iter().any(|part| page.ends_with(part));
    let mut best = [f64::MAX; PAGES.len()];
    let mut bytes = [0; PAGES.len()];
    for _ in 0..ROUNDS {
        for (number, page) in PAGES.iter().enumerate().filter(|(_, page)| is_wanted(page)) {
            let reference = Reference::from_path(*page);
            let start = Instant::now();
            bytes[number] = lab.wait(async {
                let mut length = 0;
                for _ in 0..REQUESTS {
                    length = ask(&store, &reference).await;
                }
                length
            });
            let each = start.elapsed().as_secs_f64() * 1e6 / f64::from(REQUESTS);
            best[number] = best[number].min(each);
        }
    }
    for (page, (best, bytes)) in PAGES.iter().zip(best.iter().zip(bytes)) {
        if !is_wanted(page) {
            continue;
        }
        println!("{page:<16} {bytes:>6} bytes {best:>8.2} us");
    }
}
