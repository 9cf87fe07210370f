//! The search page for people, its query log and its statistics.
//!
//! Reading order: [`SearchPage`] (what is where), `found` (what one page holds), `front` (the page),
//! `result` (a document on it), `choice` (an interpretation to choose); then `journal`, which counts
//! searches and writes them down.

mod assets;
mod choice;
mod counts;
mod durations;
mod event;
mod form;
mod found;
mod frequent;
mod front;
mod headers;
mod journal;
mod kept;
mod link;
mod markup;
mod moment;
mod options;
mod pictures;
mod result;
mod rotating;
mod search_page;
mod source;
mod statistics;
mod statistics_page;
mod statistics_store;
mod texts;

pub use event::QueryLogFormat;
pub use found::MAX_PAGE;
pub use journal::{Journal, JournalSettings, QUERY_LOG_BYTES, WAITING_SEARCHES};
pub use options::{MAX_PAGE_DOCUMENTS, PAGE_OPTIONS, PageOptions};
pub use rotating::QUERY_LOG_FILES;
pub use search_page::SearchPage;
pub use source::{PageSource, PageTemplate};
pub use statistics_store::SearchStatistics;
