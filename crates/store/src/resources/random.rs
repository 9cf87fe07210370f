//! Random bytes of the operating system, for secrets.

use crate::{Error, Kind, Result};

/// Fills a buffer with random bytes that no one can predict.
///
/// # Errors
/// [`Kind::Failed`] when the system gives none.
pub fn fill_random(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|error| {
        let failed = Error::new(Kind::Failed, "the system gives no random bytes");
        failed.with_detail(error.to_string())
    })
}
