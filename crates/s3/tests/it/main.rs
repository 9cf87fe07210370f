//! The integration tests of the crate.
#![allow(clippy::unwrap_used)]

mod broken;
mod conformance;
mod credentials;
mod documents;
mod inspection;
mod leaks;
mod objects;
mod s3_client;
mod server_listings;
mod server_objects;
mod server_stores;
mod server_uploads;
mod server_users;
mod support;
mod wrong;
