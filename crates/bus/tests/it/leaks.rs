//! Failing ten thousand times costs no memory and no descriptor. Alone in its process, whose
//! descriptors and memory it measures.
#![allow(clippy::unwrap_used)]

mod support;
#[path = "support/wrong.rs"]
mod wrong;

use runnel_bus::Options;
use runnel_store::Reference;
use std::time::Duration;
use support::*;
use wrong::*;

/// How many descriptors this process has, and how much memory in KiB.
fn used() -> (usize, usize) {
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().count();
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    (descriptors, memory.trim().trim_end_matches(" kB").parse().unwrap())
}

#[test]
fn thousands_of_failures_leave_nothing_behind() {
    const ROUNDS: usize = 40;
    const AT_ONCE: usize = 64;
    run(async {
        let time = Duration::from_millis(20);
        let options = Options { operation_time: time, connect_time: time, ..options() };
        let mut before = None;
        let ports = [
            listener(Manner::Silent).await,
            listener(Manner::Garbage).await,
            listener(Manner::Closing).await,
        ];
        for round in 0..ROUNDS {
            for port in ports {
                for (store, scheme, path) in schemes(options.clone()) {
                    let path = format!("//127.0.0.1:{port}/{path}");
                    let reference = Reference::from_path(path).with_scheme(scheme);
                    let attempts = (0..AT_ONCE).map(|number| attempt(&store, &reference, number));
                    for error in futures_util::future::join_all(attempts).await {
                        check(&error, &reference, port, scheme);
                    }
                }
            }
            if round == ROUNDS / 4 {
                before = Some(settled().await);
            }
        }
        let (descriptors, memory) = before.unwrap();
        let (descriptors_now, memory_now) = settled().await;
        assert!(descriptors_now <= descriptors, "{descriptors} became {descriptors_now}");
        assert!(memory_now <= memory + (8 << 10), "{memory} KiB became {memory_now} KiB");
    });
}

/// What is used once everything that was given up is closed: when it does not get less any more.
async fn settled() -> (usize, usize) {
    let mut least = used();
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        least = least.min(used());
    }
    least
}
