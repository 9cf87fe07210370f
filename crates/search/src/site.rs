//! The search page for people, its query log and its statistics.
//!
//! Reading order: [`SearchPage`] (its addresses), `found` (the model of one page), `result` (a
//! document on it), `choice` (an interpretation to choose); then `journal`, which counts searches and
//! writes them down. HTML is made by [`PageViews`]: the program `std/search.st`.

mod assets;
mod choice;
mod counts;
mod durations;
mod event;
mod found;
mod frequent;
mod headers;
mod journal;
mod kept;
mod link;
mod options;
mod result;
mod rotating;
mod search_page;
mod source;
mod statistics;
mod statistics_store;

pub use assets::PageFile;
pub use event::QueryLogFormat;
pub use found::MAX_PAGE;
pub use journal::{Journal, JournalSettings, QUERY_LOG_BYTES, WAITING_SEARCHES};
pub use options::{MAX_PAGE_DOCUMENTS, PAGE_OPTIONS, PageOptions};
pub use rotating::QUERY_LOG_FILES;
pub use search_page::SearchPage;
pub use source::{PageRender, PageSource, PageTemplate, PageViews};
pub use statistics_store::SearchStatistics;
