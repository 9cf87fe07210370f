//! Who asks, and what they may do.

pub(crate) mod authorize;
pub(crate) mod users;
