//! A load generator for HTTP servers that validates every response.
//!
//! - [`LoadTarget`], [`Request`] and [`Expected`]: the request, and the expected response.
//! - [`Load`]: rate, connections and duration.
//! - [`run`] measures one server, [`sweep`] one server at rising rates, [`compare`] several in turn.
//! - [`Figures`], [`Swept`] and [`Compared`] are the results, as text, JSON and pictures.
//!
//! Every thread has one `mio` poll, its own connections and its own counters: threads share no
//! locks, and a request allocates nothing.
//!
//! Reading order: `load::plan` (the settings), `client::response` (parsing), `load::worker` (one
//! thread), `load::run` (all threads).

mod client;
mod load;
mod report;

pub use client::tls::Trust;
pub use load::counts::RequestFailure;
pub use load::plan::{
    Expected, ExpectedBody, ExpectedLength, HIGHEST_RATE, LARGEST_BODY, LONGEST_TIME, Load,
    LoadSpan, MOST_CONNECTIONS, MOST_THREADS, Pace, Request,
};
pub use load::run::{Control, MeasureError, Measurement, run};
pub use load::target::LoadTarget;
pub use report::compare::{Compared, MOST_ROUNDS, compare};
pub use report::curve::latency_svg;
pub use report::figures::Figures;
pub use report::sweep::{MOST_RATES, Rates, Swept, sweep};
