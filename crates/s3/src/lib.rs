//! Object storage with the S3 protocol as a store.
