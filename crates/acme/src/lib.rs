//! Certificates from an authority (ACME, RFC 8555), kept in a store and renewed.
//!
//! - [`keep_certificate`] starts the task that orders and renews the certificate of a server.
//! - [`Challenges`] answers the authority on port 80.
//!
//! Everything lies in one store, so that several machines behind one name share it: the account, the
//! certificate, the tokens of challenges, and a lock so that a single machine orders. Reading
//! order: `renewal`, `order`, `storage`, `lock`.

mod authority;
mod challenges;
mod lock;
mod order;
mod renewal;
mod settings;
mod storage;

pub use challenges::Challenges;
pub use renewal::{CertificateTask, keep_certificate};
pub use settings::{AcmeSettings, LETS_ENCRYPT, MAX_HOSTS};
