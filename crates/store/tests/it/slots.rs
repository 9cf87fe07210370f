//! Slots for connections: the order of those who wait, and the bounds of the line.

use futures_util::FutureExt;
use runnel_store::{Count, Counters, Kind, Level, NoSlot, SlotLimits, Slots};
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

const LIMITS: SlotLimits = SlotLimits { slots: 2, waiting: 3, wait: Duration::from_secs(5) };

/// Slots with counters of their own.
fn slots(place: &str, limits: SlotLimits) -> (Arc<Slots>, Arc<Counters>) {
    let counters = Counters::of("test", place);
    (Slots::new(limits, counters.clone()), counters)
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn who_comes_first_is_served_first() {
    let (slots, counters) = slots("order", LIMITS);
    let (first, second) = (slots.take(None).await.unwrap(), slots.take(None).await.unwrap());
    let served = Rc::new(RefCell::new(Vec::new()));
    let wait = |name: u32| {
        let (slots, served) = (slots.clone(), served.clone());
        async move {
            let slot = slots.take(None).await.unwrap();
            served.borrow_mut().push(name);
            slot
        }
    };
    let (mut three, mut four, mut five) =
        (wait(3).boxed_local(), Box::pin(wait(4)), wait(5).boxed_local());
    assert!(three.as_mut().now_or_never().is_none());
    assert!(four.as_mut().now_or_never().is_none());
    assert!(five.as_mut().now_or_never().is_none());
    assert_eq!((counters.level(Level::Used), counters.level(Level::Waiting)), (2, 3));
    // The line is full.
    assert_eq!(slots.take(None).await.unwrap_err(), NoSlot::Crowded(3));
    assert_eq!(counters.count(Count::Refused), 1);
    // Who gives up leaves the line.
    drop(four);
    assert_eq!(counters.level(Level::Waiting), 2);
    drop(first);
    // The free slot is promised to the one that waits: nobody passes.
    assert!(slots.take(None).now_or_never().is_none());
    let third = three.await;
    assert_eq!(*served.borrow(), [3]);
    assert!(five.as_mut().now_or_never().is_none());
    drop(second);
    let fifth = five.await;
    assert_eq!(*served.borrow(), [3, 5]);
    assert!(slots.is_full() && !slots.is_idle());
    drop((third, fifth));
    assert!(slots.is_idle());
    assert_eq!((counters.level(Level::Used), counters.level(Level::Waiting)), (0, 0));
    assert_eq!(counters.waits.counts().iter().sum::<u64>(), 2);
    drop(slots);
    assert_eq!(counters.level(Level::Slots), 0);
}

#[tokio::test(flavor = "current_thread", start_paused = true)]
async fn waiting_ends_at_the_limit_or_at_the_deadline() {
    let (slots, counters) = slots("late", LIMITS);
    let _held = (slots.take(None).await.unwrap(), slots.take(None).await.unwrap());
    let late = slots.take(None).await.unwrap_err();
    assert_eq!(late, NoSlot::Late(2, Duration::from_secs(5)));
    let error = late.error("connections to db");
    assert!(error.kind == Kind::Unavailable && error.temporary);
    assert!(error.message.starts_with("all 2 connections to db are in use"), "{error}");
    let soon = Instant::now() + Duration::from_secs(1);
    let deadline = slots.take(Some(soon)).await.unwrap_err();
    assert_eq!(deadline, NoSlot::Deadline(2));
    assert_eq!(deadline.error("connections").kind, Kind::Timeout);
    assert_eq!(counters.count(Count::Late), 2);
    assert_eq!(counters.level(Level::Waiting), 0);
}

#[test]
fn threads_share_them() {
    let (slots, counters) = slots("threads", SlotLimits { waiting: 1000, ..LIMITS });
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
                runtime.unwrap().block_on(async {
                    let works = (0..50).map(|_| async {
                        let _slot = slots.take(None).await.unwrap();
                        assert!(counters.level(Level::Used) <= 2);
                        tokio::task::yield_now().await;
                    });
                    futures_util::future::join_all(works).await;
                });
            });
        }
    });
    assert!(slots.is_idle());
}
