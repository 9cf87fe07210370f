//! The language server as an editor sees it: messages in, messages out.

#![allow(clippy::unwrap_used)]

mod client;
mod features;
mod properties;
mod protocol;
