//! SQLite databases in temporary folders.

mod answer_cache;
mod bulk;
mod conditions;
mod conformance;
mod defining;
mod documents;
mod durability;
mod key_values;
mod queries;
mod reading;
mod transactions;
mod values;
mod verbs;
mod waiting;
mod watching;
mod writing;
