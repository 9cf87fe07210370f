//! A shared connection: the first caller connects, and concurrent callers wait for that attempt
//! (single-flight).

use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, Shared, WeakShared};
use runnel_store::Result;
use std::cell::RefCell;
use std::future::Future;

type Attempt<T> = LocalBoxFuture<'static, Result<T>>;

/// The connection, if there is one.
pub(crate) struct SharedConnection<T>(RefCell<LinkState<T>>);

enum LinkState<T> {
    Down,
    /// Only waiting callers keep an attempt alive: without any, it is abandoned.
    Connecting(WeakShared<Attempt<T>>),
    Up(T),
}

impl<T: Clone + 'static> SharedConnection<T> {
    /// Without a connection.
    pub(crate) fn new() -> Self {
        SharedConnection(RefCell::new(LinkState::Down))
    }

    /// The connection if it is usable, and otherwise a new one.
    ///
    /// # Errors
    /// That of connecting, for all who waited for it; the next one tries again.
    pub(crate) async fn get<F: Future<Output = Result<T>> + 'static>(
        &self,
        usable: impl Fn(&T) -> bool,
        connect: impl FnOnce() -> F,
    ) -> Result<T> {
        let attempt = {
            let mut state = self.0.borrow_mut();
            let under_way = match &*state {
                LinkState::Up(connection) if usable(connection) => return Ok(connection.clone()),
                LinkState::Connecting(attempt) => attempt.upgrade(),
                _ => None,
            };
            under_way.unwrap_or_else(|| {
                let attempt: Shared<Attempt<T>> = connect().boxed_local().shared();
                *state = attempt.downgrade().map_or(LinkState::Down, LinkState::Connecting);
                attempt
            })
        };
        let waited_for = attempt.clone();
        let result = attempt.await;
        let mut state = self.0.borrow_mut();
        let current = match &*state {
            LinkState::Connecting(attempt) => {
                attempt.upgrade().is_some_and(|attempt| attempt.ptr_eq(&waited_for))
            }
            _ => false,
        };
        if current {
            *state = result
                .as_ref()
                .map_or(LinkState::Down, |connection| LinkState::Up(connection.clone()));
        }
        result
    }

    /// Gives a connection up, if it is still the current one: the next one who needs it connects.
    pub(crate) fn forget(&self, is_it: impl Fn(&T) -> bool) {
        let mut state = self.0.borrow_mut();
        if matches!(&*state, LinkState::Up(connection) if is_it(connection)) {
            *state = LinkState::Down;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use runnel_store::{Error, Kind};
    use std::cell::Cell;
    use std::rc::Rc;

    #[tokio::test(flavor = "current_thread")]
    async fn one_attempt_for_all_who_wait() {
        let link = SharedConnection::new();
        let made = Rc::new(Cell::new(0));
        let get = || {
            let made = made.clone();
            link.get(
                |_| true,
                move || async move {
                    tokio::task::yield_now().await;
                    made.set(made.get() + 1);
                    Ok(made.get())
                },
            )
        };
        let (first, second) = futures_util::future::join(get(), get()).await;
        assert_eq!((first.unwrap(), second.unwrap()), (1, 1));
        assert_eq!(get().await.unwrap(), 1);
        link.forget(|number| *number == 7);
        assert_eq!(get().await.unwrap(), 1);
        link.forget(|number| *number == 1);
        assert_eq!(get().await.unwrap(), 2);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn an_attempt_that_nobody_waits_for_is_given_up() {
        let link: SharedConnection<u8> = SharedConnection::new();
        let alive = Rc::new(());
        let held = alive.clone();
        let mut first = Box::pin(link.get(
            |_| true,
            move || async move {
                let _held = held;
                std::future::pending().await
            },
        ));
        assert!((&mut first).now_or_never().is_none());
        drop(first);
        assert_eq!(Rc::strong_count(&alive), 1);
        assert_eq!(link.get(|_| true, || async { Ok(3) }).await.unwrap(), 3);
    }

    #[tokio::test(flavor = "current_thread")]
    async fn a_failure_is_not_kept() {
        let link = SharedConnection::new();
        let failed = link.get(|_| true, || async { Err(Error::new(Kind::Unavailable, "down")) });
        assert_eq!(failed.await.unwrap_err().kind, Kind::Unavailable);
        assert_eq!(link.get(|_: &u8| true, || async { Ok(1) }).await.unwrap(), 1);
    }
}
