//! A panic in a store ends one request and not the server.

use futures_util::FutureExt;
use runnel_store::{Answer, Error, Kind, Result};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Calls a verb. A panic, now or while it is waited for, becomes an error that the log explains.
pub(crate) fn guard<T: 'static>(verb: impl FnOnce() -> Answer<T>) -> Answer<T> {
    match catch_unwind(AssertUnwindSafe(verb)) {
        Ok(Answer::Ready(result)) => Answer::Ready(result),
        Ok(Answer::Later(future)) => Answer::Later(Box::pin(async move {
            match AssertUnwindSafe(future).catch_unwind().await {
                Ok(result) => result,
                Err(panic) => broken(&*panic),
            }
        })),
        Err(panic) => Answer::Ready(broken(&*panic)),
    }
}

/// Calls what answers at once.
pub(crate) fn guard_now<T>(call: impl FnOnce() -> T) -> Result<T> {
    catch_unwind(AssertUnwindSafe(call)).or_else(|panic| broken(&*panic))
}

fn broken<T>(panic: &(dyn Any + Send)) -> Result<T> {
    Err(Error::new(Kind::Failed, "a store broke down").with_detail(reason(panic)))
}

/// What a panic said.
pub(crate) fn reason(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    format!("panic: {}", text.unwrap_or("(no message)"))
}
