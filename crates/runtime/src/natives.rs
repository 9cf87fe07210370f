//! The natives, by the name under which the kernel calls them.

mod combinators;
mod combine;
mod copy;
mod define;
mod insert;
mod json;
mod live;
mod numbers;
mod observe;
mod query;
mod secrets;
mod serve;
mod stores;
mod system;
mod tasks;
mod text;
mod transaction;
mod watch;

pub(crate) use secrets::seed;
pub(crate) use tasks::Task;

use crate::native::Native;

/// All natives. Their order is their number.
pub(crate) fn all() -> Vec<(&'static str, Native)> {
    let mut all = Vec::new();
    all.extend(stores::NATIVES);
    all.extend(combine::NATIVES);
    all.extend(query::NATIVES);
    all.extend(define::NATIVES);
    all.extend(insert::NATIVES);
    all.extend(transaction::NATIVES);
    all.extend(serve::NATIVES);
    all.extend(observe::NATIVES);
    all.extend(system::NATIVES);
    all.extend(json::NATIVES);
    all.extend(tasks::NATIVES);
    all.extend(numbers::NATIVES);
    all.extend(secrets::NATIVES);
    all.extend(text::NATIVES);
    all.extend(watch::NATIVES);
    all.extend(live::NATIVES);
    all.extend(copy::NATIVES);
    all
}
