//! A load generator for HTTP servers that checks every answer.
//!
//! - [`LoadTarget`], [`Request`] and [`Expected`]: what is asked for, and what has to come back.
//! - [`Load`]: how often and for how long.
//! - [`run`] measures one server, [`sweep`] one server at rising rates, [`compare`] several in turn.
//! - [`Figures`], [`Swept`] and [`Compared`] are what comes of it, as text, JSON and pictures.
//!
//! Every thread has one `mio` poll, its own connections and its own counters: between threads there
//! is nothing to wait for, and a request allocates nothing.
//!
//! Reading order: `plan` (what can be asked for), `response` (where an answer ends), `worker` (one
//! thread), `run` (all of them).

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
