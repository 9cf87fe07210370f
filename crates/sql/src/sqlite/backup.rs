//! Backups of a whole database: a copy at one moment, and the way back; states one after the other, and
//! the way back to a moment; the rows of its tables as text.

pub(crate) mod catalog;
pub(crate) mod companion;
pub(crate) mod dump;
pub(crate) mod options;
pub(crate) mod page_file;
pub(crate) mod rebuild;
pub(crate) mod restore;
pub(crate) mod segment;
pub(crate) mod shipper;
pub(crate) mod shipping_lock;
pub(crate) mod snapshot;
pub(crate) mod tail_thread;
pub(crate) mod unpacked_file;
pub(crate) mod wal_log;
pub(crate) mod wal_tail;
