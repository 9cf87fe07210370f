//! Bounded resources that stores share: the memory budget and what it takes back, pools of threads, slots of
//! connections, password hashes, random bytes, and the counters that show them; the lag of backups. No store belongs
//! here.

pub(crate) mod backup_lag;
pub(crate) mod budget;
pub(crate) mod client_network;
pub(crate) mod counters;
pub(crate) mod fair_pool;
pub(crate) mod passwords;
pub(crate) mod pool;
pub(crate) mod random;
pub(crate) mod slots;
pub(crate) mod unread;
pub(crate) mod unread_content;
