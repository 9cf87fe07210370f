//! A page of 1,000 keys of a million: in memory, in folders of 1,000 files, and in one folder. Run
//! with `cargo bench -p runnel-store --bench keys`; `KEYS=100000` makes it smaller.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use runnel_store::{Content, Context, Disk, KeyRange, Memory, Reference, Store};
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Pages of each listing, spread over it.
const PAGES: usize = 20;

async fn page(store: &dyn Store, after: Option<String>) -> (Duration, usize) {
    let range = KeyRange { after, ..KeyRange::default() };
    let began = Instant::now();
    let page = store.keys(&Reference::default(), &range, &Context::default()).await;
    let page = page.unwrap().unwrap();
    (began.elapsed(), page.keys.len())
}

async fn measure(what: &str, store: &dyn Store, keys: usize, name: fn(usize) -> String) {
    let began = cpu_time();
    let (first, length) = page(store, None).await;
    assert_eq!(length, 1_000.min(keys));
    let (first_cpu, began) = (cpu_time() - began, cpu_time());
    let mut later = Vec::new();
    for number in 0..PAGES {
        later.push(page(store, Some(name(number * keys / PAGES))).await.0);
    }
    later.sort();
    let (middle, later_cpu) = (later[PAGES / 2], (cpu_time() - began) / PAGES as u32);
    println!(
        "{what:<24} first {first:>9.2?} (CPU {first_cpu:>9.2?})   \
         later {middle:>9.2?} (CPU {later_cpu:>9.2?})"
    );
}

/// CPU time of the process, which other programs do not change.
fn cpu_time() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn flat(number: usize) -> String {
    format!("object-{number:07}.bin")
}

fn nested(number: usize) -> String {
    format!("folder-{:04}/object-{number:07}.bin", number / 1_000)
}

fn make_files(root: &Path, keys: usize, name: fn(usize) -> String) {
    for number in 0..keys {
        let path = root.join(name(number));
        if number % 1_000 == 0 {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
        }
        fs::File::create(path).unwrap();
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let keys = std::env::var("KEYS").ok().and_then(|keys| keys.parse().ok()).unwrap_or(1_000_000);
    let memory = Memory::site();
    for number in 0..keys {
        let on = Reference::from_path(nested(number));
        memory.put(&on, Content::text("x"), &Context::default()).await.unwrap();
    }
    measure("memory", &memory, keys, nested).await;
    drop(memory);
    for (what, name) in
        [("disk, 1,000 a folder", nested as fn(usize) -> String), ("disk, flat", flat)]
    {
        let folder = tempfile::tempdir().unwrap();
        make_files(folder.path(), keys, name);
        tokio::time::sleep(Duration::from_secs(1)).await;
        let disk = Disk::new(folder.path()).unwrap();
        measure(what, &disk, keys, name).await;
    }
}
