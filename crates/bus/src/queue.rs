//! What streams of Redis and NATS have in common.

use runnel_store::{Error, Kind, Reference, Result};
use std::time::Duration;

/// Messages that a stream keeps, unless a post says otherwise.
pub const MAX_LENGTH: u64 = 1_000_000;

/// The largest length of a stream that a post may ask for.
pub const LONGEST_STREAM: u64 = 1_000_000_000;

/// Dead letters that are kept of a stream; older ones are removed.
pub const DEAD_LETTERS: u64 = 100_000;

/// Messages that are asked for at once.
pub const MOST_DELIVERED: usize = 256;

/// The longest name of a group of followers, in bytes.
pub const GROUP_NAME_LIMIT: usize = 100;

/// How long a follower waits for messages before it looks for those of followers that ended.
pub(crate) const ROUND: Duration = Duration::from_secs(1);

/// The length in `?maxLength=1000`.
pub(crate) fn max_length(reference: &Reference) -> Result<Option<u64>> {
    let query = reference.query().unwrap_or_default();
    let Some(text) = query.split('&').find_map(|part| part.strip_prefix("maxLength=")) else {
        return Ok(None);
    };
    match text.parse::<u64>() {
        Ok(length) if (1..=LONGEST_STREAM).contains(&length) => Ok(Some(length)),
        _ => {
            let message = format!(
                "maxLength is a number of messages from 1 to {LONGEST_STREAM}, as in ?maxLength=1000"
            );
            Err(Error::new(Kind::Invalid, message))
        }
    }
}

/// Checks the name of a group of followers.
pub(crate) fn check_group(name: &str) -> Result<()> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    if name.is_empty() || name.len() > GROUP_NAME_LIMIT || !name.bytes().all(is_valid) {
        let message =
            format!("the name of a follower has 1 to {GROUP_NAME_LIMIT} letters, digits, - and _");
        return Err(Error::new(Kind::Invalid, message));
    }
    Ok(())
}
