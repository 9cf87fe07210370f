//! The process around a program: signals, systemd, workers, the supervisor, `--watch`.
//!
//! A file belongs here when it concerns how a program is started, stopped, exchanged or multiplied.
//! What a program can reach while it runs belongs to `world`.

pub(crate) mod bundle;
pub(crate) mod handover;
pub(crate) mod notify;
pub(crate) mod reload;
pub(crate) mod signals;
pub(crate) mod supervise;
pub(crate) mod workers;
