//! The check that every wrapper has to pass: no verb is forgotten, and none goes around a
//! confined source.

use super::spy::{Answers, METHODS, Spy, call};
use crate::{Confinement, Error, Kind, Reference, Result, Store, draw_graph};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::Duration;

/// How often and how long a call is waited for that a wrapper makes after it has answered.
const LOOKS: u32 = 200;
const PAUSE: Duration = Duration::from_millis(5);

/// Checks a wrapper, which `make` puts around a store.
///
/// - Each method of [`Store`] and [`crate::Tables`] that is called on the wrapper reaches the store
///   below, or is refused ([`Kind::NotAllowed`], [`Kind::Denied`]).
/// - [`Store::confined`] asks the store below, for links only where it was asked for them, and the
///   store that it answers reaches the confined source alone, by whatever method. A wrapper around a
///   source that cannot be confined, or is missing, is not confined either.
/// - The wrapper names its source ([`Store::sources`]), and does not pass for it
///   ([`Store::as_any`]).
///
/// `exceptions` are the methods that the wrapper answers by itself, each with the reason. A method
/// that reaches the store below or is refused is no exception.
///
/// # Panics
/// With the method and what is wrong.
pub async fn check_layer(
    make: impl Fn(Rc<dyn Store>) -> Result<Rc<dyn Store>>,
    exceptions: &[(&str, &str)],
) {
    for (name, _) in exceptions {
        assert!(METHODS.contains(name) || *name == "confined", "there is no method {name}");
    }
    let exceptions: BTreeMap<&str, &str> = exceptions.iter().copied().collect();
    for method in METHODS {
        check_method(&make, method, exceptions.get(method).copied()).await;
    }
    check_identity(&make);
    let is_confined = check_confined(&make).await;
    let reason = exceptions.get("confined");
    assert_eq!(is_confined, reason.is_none(), "confined: the exception says {reason:?}");
    for answers in [Answers::Impossible, Answers::Missing] {
        check_unconfined(&make, answers).await;
    }
}

/// Puts the wrapper around a spy.
fn wrap(make: impl Fn(Rc<dyn Store>) -> Result<Rc<dyn Store>>, spy: &Rc<Spy>) -> Rc<dyn Store> {
    match make(spy.clone()) {
        Ok(store) => store,
        Err(error) => panic!("the wrapper cannot be made: {error}"),
    }
}

async fn check_method(
    make: &impl Fn(Rc<dyn Store>) -> Result<Rc<dyn Store>>,
    method: &str,
    exception: Option<&str>,
) {
    let spy = Spy::new(Answers::Confined);
    let store = wrap(make, &spy);
    let what = format!("{method} through {}", store.describe());
    spy.forget();
    let result = call(&*store, method, "a/b").await;
    let mut looks = if exception.is_none() && result.is_ok() { LOOKS } else { 0 };
    while looks > 0 && !spy.has_seen(method) {
        tokio::time::sleep(PAUSE).await;
        looks -= 1;
    }
    let refused = result.as_ref().is_err_and(is_refusal);
    match exception {
        Some(reason) => {
            assert!(!spy.has_seen(method), "{what}: reaches the source, so `{reason}` is wrong");
            assert!(!refused, "{what}: is refused, so `{reason}` is wrong");
        }
        None if refused => {}
        None => {
            let seen = spy.seen();
            assert!(spy.has_seen(method), "{what}: is forgotten; the source has seen {seen:?}");
        }
    }
}

fn is_refusal(error: &Error) -> bool {
    matches!(error.kind, Kind::NotAllowed | Kind::Denied)
}

/// A wrapper is not what it wraps, and shows it.
fn check_identity(make: &impl Fn(Rc<dyn Store>) -> Result<Rc<dyn Store>>) {
    let spy = Spy::new(Answers::Confined);
    let store = wrap(make, &spy);
    let is_spy = store.as_any().is_some_and(|any| any.is::<Spy>());
    assert!(!is_spy, "{} passes for its source", store.describe());
    let graph = draw_graph(&*store);
    assert!(graph.contains(&spy.describe()), "the source is not in the graph:\n{graph}");
}

/// Answers whether the wrapper can be confined.
async fn check_confined(make: &impl Fn(Rc<dyn Store>) -> Result<Rc<dyn Store>>) -> bool {
    let mut is_confined = true;
    for (path, links) in [("", true), ("", false), ("a/b", true), ("a/b", false)] {
        for method in METHODS {
            let spy = Spy::new(Answers::Confined);
            let store = wrap(make, &spy);
            spy.forget();
            let on = Reference::from_path(path);
            let what = format!("{method} of {} confined to `{path}`", store.describe());
            let confined = match store.confined(&on, links) {
                Confinement::By(confined) => confined,
                // As it is, with the names that it has.
                Confinement::Inherent => store,
                Confinement::Missing => panic!("{what}: the source is not missing"),
                Confinement::Impossible => {
                    is_confined &= !path.is_empty();
                    continue;
                }
            };
            // Whether it goes well is checked elsewhere; here it is where it goes.
            let _ = call(&*confined, method, "a/b").await;
            let _ = call(&*confined, method, "").await;
            tokio::task::yield_now().await;
            let (open, seen) = (spy.seen_open(), spy.seen());
            assert_eq!(open, [""; 0], "{what}: reaches the open source; it has seen {seen:?}");
            let asked = spy.confinements();
            assert!(
                (links || !asked.contains(&true)) && !asked.is_empty(),
                "{what}: links are {links}, the source was asked for {asked:?}"
            );
            if method == "get" {
                assert!(spy.has_seen_confined(method), "{what}: reads nothing of the source");
            }
        }
    }
    is_confined
}

/// A source that cannot be confined, or does not exist, is never open through the wrapper.
async fn check_unconfined(
    make: &impl Fn(Rc<dyn Store>) -> Result<Rc<dyn Store>>,
    answers: Answers,
) {
    let spy = Spy::new(answers);
    let store = match make(spy.clone()) {
        Ok(store) => store,
        Err(error) => {
            let is_refusal = is_refusal(&error) && matches!(answers, Answers::Impossible);
            assert!(is_refusal, "the wrapper is not made: {error}");
            return;
        }
    };
    for (path, links) in [("", true), ("", false), ("a/b", true)] {
        let open = match store.confined(&Reference::from_path(path), links) {
            Confinement::Impossible | Confinement::Missing => continue,
            Confinement::Inherent => store.clone(),
            Confinement::By(confined) => confined,
        };
        spy.forget();
        let _ = call(&*open, "get", "a/b").await;
        let what = format!("{} confined to `{path}`", store.describe());
        assert_eq!(spy.seen_open(), [""; 0], "{what}: reaches a source that is not confined");
    }
}
