//! The natives, by the name under which the kernel calls them.

pub(crate) mod call;
mod combinators;
mod combine;
mod copy;
mod serving;
mod stores;
mod system;
mod tables;
mod tasks;
mod values;
mod watch;

pub(crate) use tasks::Task;
pub(crate) use values::secrets::seed;

use crate::natives::call::Native;

/// All natives. Their order is their number.
pub(crate) fn all() -> Vec<(&'static str, Native)> {
    let mut all = Vec::new();
    all.extend(stores::NATIVES);
    all.extend(combine::NATIVES);
    all.extend(tables::query::NATIVES);
    all.extend(tables::define::NATIVES);
    all.extend(tables::insert::NATIVES);
    all.extend(tables::transaction::NATIVES);
    all.extend(serving::servers::NATIVES);
    all.extend(serving::observe::NATIVES);
    all.extend(system::NATIVES);
    all.extend(values::json::NATIVES);
    all.extend(tasks::NATIVES);
    all.extend(values::numbers::NATIVES);
    all.extend(values::secrets::NATIVES);
    all.extend(values::text::NATIVES);
    all.extend(watch::NATIVES);
    all.extend(serving::live::NATIVES);
    all.extend(copy::NATIVES);
    all
}
