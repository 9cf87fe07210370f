//! The search page for people, its query log and its statistics.
//!
//! Reading order: [`SearchPage`] (what is where), `front` (the page), `result` (a document on it),
//! `choice` (an interpretation to choose); then `journal`, which counts and writes down searches.

mod durations;
mod event;
mod frequent;
mod journal;
mod kept;
mod moment;
mod rotating;
mod statistics;

pub use event::QueryLogFormat;
pub use journal::{Journal, JournalSettings, QUERY_LOG_BYTES, WAITING_SEARCHES};
pub use rotating::QUERY_LOG_FILES;
