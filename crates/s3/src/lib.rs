//! Object storage with the S3 protocol as a store: Amazon's own and every server that is compatible.
//!
//! - [`S3`] is one bucket.
//! - [`s3_scheme`] is the scheme `s3:`, whose references begin with the name of a bucket.
//! - [`S3Options`] say where the server is and who asks; what they leave out comes from the usual
//!   environment variables and files of Amazon's tools.
//!
//! Requests travel over `runnel_http::Transport`. Signatures and credentials that expire (web
//! identity, containers, instances) are the crate `object_store`'s. The requests themselves are
//! made here, because a store's names, listings and errors are not that crate's: it reads no empty
//! segments or control characters, lists no buckets, and tells a status only for some errors.
//!
//! Reading order: `store` (verb to request), `server` (one request), `upload` and `list`; then
//! `settings`, `profile` and `credentials`.

mod body;
mod condition;
mod credentials;
mod fault;
mod list;
mod object_path;
mod options;
mod profile;
mod server;
mod settings;
mod store;
mod upload;
mod xml;

pub use list::LISTED;
pub use options::{ANSWER_TIME, CONNECT_TIME, S3Options, Variable};
pub use store::{S3, s3_scheme};
pub use upload::{PART, PARTS};
