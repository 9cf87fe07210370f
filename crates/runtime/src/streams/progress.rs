//! Progress lines of long operations, for terminals.

use crate::isolate::Isolate;
use bytes::Bytes;
use futures_util::Stream;
use runnel_store::{ByteStream, Result};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// The time between two updates.
const PAUSE: Duration = Duration::from_millis(200);

/// The progress line of an insertion or a copy. Dropping it removes the line.
pub(crate) struct ProgressLine {
    isolate: Isolate,
    done: u64,
    expected: Option<u64>,
    told: Instant,
    shown: bool,
}

impl ProgressLine {
    pub(crate) fn new(isolate: &Isolate, expected: Option<u64>) -> Self {
        ProgressLine {
            isolate: isolate.clone(),
            done: 0,
            expected,
            told: Instant::now(),
            shown: false,
        }
    }

    /// Counts records.
    pub(crate) fn add(&mut self, records: u64) {
        self.done += records;
        let (done, expected) = (self.done, self.expected);
        self.show(|| match expected {
            Some(all) if all > 0 => {
                let percent = done.saturating_mul(100) / all;
                format!("{done} of {all} records, {percent} %")
            }
            _ => format!("{done} records"),
        });
    }

    /// Shows the progress, at most once in [`PAUSE`].
    pub(crate) fn show(&mut self, text: impl FnOnce() -> String) {
        if self.told.elapsed() >= PAUSE {
            self.told = Instant::now();
            self.shown = true;
            self.isolate.host().progress(&text());
        }
    }

    pub(crate) fn end(&mut self) {
        if self.shown {
            self.isolate.host().progress("");
            self.shown = false;
        }
    }
}

impl Drop for ProgressLine {
    fn drop(&mut self) {
        self.end();
    }
}

/// A stream that shows how much of it was read.
pub(crate) struct MeteredStream {
    stream: ByteStream,
    length: Option<u64>,
    read: u64,
    progress: ProgressLine,
}

impl MeteredStream {
    pub(crate) fn new(stream: ByteStream, length: Option<u64>, progress: ProgressLine) -> Self {
        MeteredStream { stream, length, read: 0, progress }
    }
}

impl Stream for MeteredStream {
    type Item = Result<Bytes>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let next = self.stream.as_mut().poll_next(context);
        if let Poll::Ready(Some(Ok(bytes))) = &next {
            self.read += bytes.len() as u64;
            let (read, length) = (self.read, self.length);
            self.progress.show(|| match length {
                Some(all) if all > 0 => {
                    let percent = read.saturating_mul(100) / all;
                    format!("{} of {} kB, {percent} %", read / 1000, all / 1000)
                }
                _ => format!("{} kB", read / 1000),
            });
        }
        next
    }
}
