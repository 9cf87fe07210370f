//! Object storage with the S3 protocol, from both ends.
//!
//! As a store: Amazon's own and every server that is compatible.
//! - [`S3`] is one bucket.
//! - [`s3_scheme`] is the scheme `s3:`, whose references begin with the name of a bucket.
//! - [`S3Options`] say where the server is and who asks; what they leave out comes from the usual
//!   environment variables and files of Amazon's tools.
//!
//! As a server: any store, served to clients of S3.
//!
//! Requests travel over `runnel_http::Transport`. Credentials that expire (web identity, containers,
//! instances) are the crate `object_store`'s. Signatures have one canonical form, in `signature`, for
//! the client and for the server. The requests themselves are made here, because a store's names,
//! listings and errors are not that crate's: it reads no empty segments or control characters, lists
//! no buckets, and tells a status only for some errors.
//!
//! Reading order of the client: `client::store` (verb to request), `client::endpoint` (one request),
//! `client::upload` and `client::list`; then `settings`, `profile` and `credentials`. Of the server:
//! `server::service` (one request), `server::route` (what it asks for), `server::catalog` (what is
//! kept where), then the operations.

mod client;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod server;
mod signature;

pub use client::list::LISTED;
pub use client::options::{ANSWER_TIME, CONNECT_TIME, S3Options, Variable};
pub use client::store::{S3, s3_scheme};
pub use client::upload::{PART, PARTS};
pub use server::operations::inspection::{
    COUNTED, CountedKeys, INSPECTED, InspectedBucket, InspectedEntry, InspectedObject,
    InspectedPage, InspectedVersion, S3Inspector,
};
pub use server::options::{DEFAULT_REGION, S3ServiceOptions, S3User};
pub use server::service::S3Service;
