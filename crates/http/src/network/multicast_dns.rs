//! Multicast DNS (RFC 6762): servers announce a name, and clients find hosts whose names end in
//! `.local`. One thread of the process speaks it, from the first use on.

pub(crate) mod announce;
pub(crate) mod resolve;

use mdns_sd::ServiceDaemon;
use runnel_store::{Error, Kind, Result};
use std::sync::{Mutex, PoisonError};

/// The domain of names that are only known on the local network.
const DOMAIN: &str = ".local";

/// The thread of this process.
static DAEMON: Mutex<Option<ServiceDaemon>> = Mutex::new(None);

/// The thread, which is started where there is none.
fn daemon() -> Result<ServiceDaemon> {
    let mut daemon = DAEMON.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(daemon) = &*daemon {
        return Ok(daemon.clone());
    }
    let started = ServiceDaemon::new().map_err(|error| {
        Error::new(Kind::Unavailable, "multicast DNS cannot be spoken on this machine")
            .with_detail(error.to_string())
    })?;
    Ok(daemon.insert(started).clone())
}
