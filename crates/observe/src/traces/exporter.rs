//! The exporter of spans: a bounded queue, posted to a collector in batches. No request waits for
//! it.

use crate::metrics::histogram::bump;
use crate::metrics::registry::WorkerNumbers;
use crate::settings::TraceSettings;
use crate::traces::span::{self, TraceSpan};
use runnel_store::{Content, Context, Reference, Store};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

/// The longest queue; spans beyond are dropped and counted.
const MOST: usize = 2_048;
/// Spans in one batch.
const BATCH: usize = 512;
/// Timeout of a post.
const POST: Duration = Duration::from_secs(10);
/// Attempts for a batch, and the delay before the second one; it doubles each time.
const ATTEMPTS: u32 = 4;
const PAUSE: Duration = Duration::from_secs(1);
/// How long stopping waits for the queue.
const END: Duration = Duration::from_secs(3);

/// The exporter of one worker.
#[derive(Debug)]
pub(crate) struct Exporter {
    queue: Rc<SpanQueue>,
    settings: TraceSettings,
    task: RefCell<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct SpanQueue {
    spans: RefCell<VecDeque<TraceSpan>>,
    wake: Notify,
    /// Stopping: the queue is exported at once.
    over: Cell<bool>,
    numbers: Arc<WorkerNumbers>,
}

impl Exporter {
    /// Starts the exporting task.
    pub(crate) fn start(settings: TraceSettings, numbers: Arc<WorkerNumbers>) -> Self {
        let queue = Rc::new(SpanQueue {
            spans: RefCell::default(),
            wake: Notify::new(),
            over: Cell::new(false),
            numbers,
        });
        let task = tokio::task::spawn_local(export(queue.clone(), settings.clone()));
        Exporter { queue, settings, task: RefCell::new(Some(task)) }
    }

    /// Whether a trace that starts here is sampled: its last digits decide, so that all servers
    /// agree.
    pub(crate) fn samples(&self, trace: u128) -> bool {
        let part = (trace as u64 >> 11) as f64 / (1_u64 << 53) as f64;
        part < self.settings.ratio
    }

    pub(crate) fn add(&self, span: TraceSpan) {
        let mut spans = self.queue.spans.borrow_mut();
        if spans.len() >= MOST {
            bump(&self.queue.numbers.spans_lost, 1);
            return;
        }
        spans.push_back(span);
        if spans.len() == 1 || spans.len() == BATCH {
            self.queue.wake.notify_one();
        }
    }

    /// Exports the queue, and ends.
    pub(crate) async fn end(&self) {
        self.queue.over.set(true);
        self.queue.wake.notify_one();
        let task = self.task.take();
        if let Some(mut task) = task
            && tokio::time::timeout(END, &mut task).await.is_err()
        {
            task.abort();
            tracing::warn!("the collector did not accept the last spans in time");
        }
    }
}

impl Drop for Exporter {
    fn drop(&mut self) {
        if let Some(task) = self.task.take() {
            task.abort();
        }
    }
}

async fn export(queue: Rc<SpanQueue>, settings: TraceSettings) {
    let client = runnel_http::client(runnel_http::ClientOptions {
        answer_time: POST,
        headers: settings.headers.clone(),
        ..runnel_http::ClientOptions::default()
    });
    let (scheme, rest) = settings.endpoint.split_once(':').unwrap_or(("http", &settings.endpoint));
    let place = Reference::parse(rest).with_scheme(scheme);
    loop {
        while queue.spans.borrow().is_empty() && !queue.over.get() {
            queue.wake.notified().await;
        }
        // Waits for a full batch, or for the longest delay.
        let until = Instant::now() + settings.delay;
        while queue.spans.borrow().len() < BATCH && !queue.over.get() {
            if tokio::time::timeout_at(until.into(), queue.wake.notified()).await.is_err() {
                break;
            }
        }
        let batch: Vec<TraceSpan> = {
            let mut spans = queue.spans.borrow_mut();
            let count = spans.len().min(BATCH);
            spans.drain(..count).collect()
        };
        if batch.is_empty() {
            return;
        }
        let count = batch.len() as u64;
        match post(&*client, &place, &settings.service, &batch, &queue.over).await {
            Ok(()) => bump(&queue.numbers.spans_sent, count),
            Err(error) => {
                bump(&queue.numbers.spans_lost, count);
                tracing::warn!(%error, spans = count, "the trace collector accepted no spans");
            }
        }
    }
}

/// Posts a batch, with retries for temporary errors.
async fn post(
    client: &dyn Store,
    place: &Reference,
    service: &str,
    batch: &[TraceSpan],
    over: &Cell<bool>,
) -> runnel_store::Result<()> {
    let body: Vec<u8> = span::batch(service, batch);
    let mut pause = PAUSE;
    let mut attempt = 1;
    loop {
        let content = Content::bytes(body.clone()).with_media_type("application/json");
        let context = Context { deadline: Instant::now().checked_add(POST), ..Context::default() };
        match client.post(place, content, &context).await {
            Ok(_) => return Ok(()),
            Err(error) if !error.temporary || attempt >= ATTEMPTS || over.get() => {
                return Err(error);
            }
            Err(_) => {}
        }
        tokio::time::sleep(pause).await;
        pause *= 2;
        attempt += 1;
    }
}
