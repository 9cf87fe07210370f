//! Work on the pool of blocking threads.

use crate::{Error, Kind, Result};

/// Runs on the blocking pool, or at once without a runtime.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T> {
    let Ok(runtime) = tokio::runtime::Handle::try_current() else { return Ok(work()) };
    runtime.spawn_blocking(work).await.map_err(|error| {
        Error::new(Kind::Failed, "the work on the disk was given up").with_detail(error.to_string())
    })
}
