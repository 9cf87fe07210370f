//! Ten thousand failures cost no memory and no file descriptor.

use crate::support::*;
use crate::wrong::*;
use runnel_bus::BusOptions;
use runnel_scratch::{alone, usage};
use runnel_store::Reference;
use std::time::Duration;

#[test]
fn thousands_of_failures_leave_nothing_behind() {
    alone("leaks::thousands_of_failures_leave_nothing_behind", thousands_of_failures);
}

fn thousands_of_failures() {
    const ROUNDS: usize = 40;
    const AT_ONCE: usize = 64;
    run(async {
        let time = Duration::from_millis(20);
        let options = BusOptions { operation_time: time, connect_time: time, ..options() };
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
        let (mut descriptors_now, mut memory_now) = settled().await;
        for _ in 0..10 {
            if descriptors_now > descriptors {
                (descriptors_now, memory_now) = settled().await;
            }
        }
        assert!(descriptors_now <= descriptors, "{descriptors} became {descriptors_now}");
        assert!(memory_now <= memory + (8 << 10), "{memory} KiB became {memory_now} KiB");
    });
}

/// What is used once everything that was given up is closed: when it does not get less any more.
async fn settled() -> (usize, usize) {
    let mut least = usage();
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(20)).await;
        least = least.min(usage());
    }
    least
}
