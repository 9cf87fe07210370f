//! Deadlines of verbs.

use runnel_store::{Context, Error, Kind, Result};
use std::future::Future;
use std::time::{Duration, Instant};

/// When a verb that begins now has to be done: at its caller's deadline, or after the usual time.
pub(crate) fn deadline(context: &Context, usual: Duration) -> Instant {
    context.deadline.unwrap_or_else(|| Instant::now() + usual)
}

/// What the future answers, or an error that names the server when it takes too long.
pub(crate) async fn by<T>(
    deadline: Instant,
    server: &dyn std::fmt::Display,
    future: impl Future<Output = Result<T>>,
) -> Result<T> {
    match tokio::time::timeout_at(deadline.into(), future).await {
        Ok(result) => result,
        Err(_) => Err(too_late(server)),
    }
}

/// The error of a server that did not answer in time.
pub(crate) fn too_late(server: &dyn std::fmt::Display) -> Error {
    Error::new(Kind::Timeout, format!("{server} did not answer in time"))
}
