//! One measurement: the first request, the threads, and the sum of their counters.

use crate::client::tls::{TlsClient, Trust};
use crate::load::counts::LoadCounts;
use crate::load::cpu;
use crate::load::files;
use crate::load::first_response;
use crate::load::plan::{Expected, ExpectedBody, ExpectedLength, Load, LoadSpan, Request};
use crate::load::schedule::{Schedule, nanoseconds};
use crate::load::target::LoadTarget;
use crate::load::worker::{RunState, Worker, WorkerResult};
use crate::report::figures::Figures;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Interval of checks for finished threads.
const LOOK: Duration = Duration::from_millis(10);
/// Checks between two lines of progress.
const LOOKS: u32 = 20;

/// A measurement.
#[derive(Debug, Clone)]
pub struct Measurement {
    /// The resource.
    pub target: LoadTarget,
    /// The request.
    pub request: Request,
    /// The expected response.
    pub expected: Expected,
    /// The load.
    pub load: Load,
    /// The accepted certificates of an `https` server.
    pub trust: Trust,
    /// The process of the server on this machine, if its CPU time is measured, with that of its
    /// descendants.
    pub process: Option<u32>,
}

/// Why a measurement could not start. Its text says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MeasureError {
    /// The server is unreachable.
    Unreachable(String),
    /// The first response is not the expected one: neither would the others be.
    FirstAnswer(String),
    /// A limit of this machine, or no such process.
    Here(String),
}

impl fmt::Display for MeasureError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (MeasureError::Unreachable(text)
        | MeasureError::FirstAnswer(text)
        | MeasureError::Here(text)) = self;
        out.write_str(text)
    }
}

impl std::error::Error for MeasureError {}

/// Stops measurements, and receives their progress.
pub struct Control {
    stop: Arc<AtomicBool>,
    progress: Box<dyn Fn(&str)>,
}

impl Control {
    /// `stop` ends a measurement when it becomes true: the counters so far are its result.
    /// `progress` is called a few times a second with a line for people.
    pub fn new(stop: Arc<AtomicBool>, progress: impl Fn(&str) + 'static) -> Control {
        Control { stop, progress: Box::new(progress) }
    }

    /// Whether the measurement is to end.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

impl fmt::Debug for Control {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Control").field("stop", &self.stop).finish_non_exhaustive()
    }
}

/// Measures. The first request is not counted; its response defines the expected length. `label`
/// prefixes lines of progress.
///
/// # Errors
/// [`MeasureError`], before anything was measured.
pub fn run(job: &Measurement, label: &str, control: &Control) -> Result<Figures, MeasureError> {
    let load = job.load.clone().checked().map_err(MeasureError::Here)?;
    files::allow(load.connections).map_err(MeasureError::Here)?;
    let tls = match job.target.is_secure() {
        true => Some(TlsClient::new(job.target.host(), &job.trust).map_err(MeasureError::Here)?),
        false => None,
    };
    let (address, stream) = job.target.reach(load.timeout).map_err(MeasureError::Unreachable)?;
    let last_request = job.request.bytes(&job.target, true);
    let bodiless = job.request.bodiless();
    let keep = job.expected.body == ExpectedBody::Same;
    let first =
        first_response::ask(stream, tls.as_ref(), &last_request, bodiless, keep, load.timeout)
            .map_err(|why| MeasureError::FirstAnswer(format!("{}: {why}", job.target.url())))?;
    check_first(job, &first)?;
    if let Some(process) = job.process.filter(|process| cpu::of_tree(*process).is_none()) {
        return Err(MeasureError::Here(format!("the time of process {process} is not to be had")));
    }
    let shared = Arc::new(RunState {
        address,
        tls,
        request: job.request.bytes(&job.target, false),
        last_request,
        bodiless,
        status: job.expected.status,
        length: match job.expected.length {
            ExpectedLength::Same => Some(first.length),
            ExpectedLength::Exactly(length) => Some(length),
            ExpectedLength::Any => None,
        },
        body: match &job.expected.body {
            ExpectedBody::Any => None,
            ExpectedBody::Same => Some(first.body),
            ExpectedBody::Exactly(body) => Some(body.clone()),
        },
        load,
        epoch: Instant::now(),
        stop: Arc::clone(&control.stop),
        replies: AtomicU64::new(0),
        failed: AtomicU64::new(0),
    });
    let (worked, clock) = with_threads(&shared, job.process, label, control)?;
    Ok(figures(job, &shared, &worked, clock, control.stopped()))
}

/// Checks the first response.
fn check_first(
    job: &Measurement,
    first: &first_response::FirstResponse,
) -> Result<(), MeasureError> {
    let expected = &job.expected;
    let wrong = |why: String| {
        Err(MeasureError::FirstAnswer(format!("the first answer of {} {why}", job.target.url())))
    };
    let status = first.status;
    match expected.status {
        None if !(200..300).contains(&status) => {
            return wrong(format!("has the status {status}; if it should, say --status {status}"));
        }
        Some(wanted) if wanted != status => {
            return wrong(format!("has the status {status} and not {wanted}"));
        }
        _ => {}
    }
    match (&expected.length, &expected.body) {
        (ExpectedLength::Exactly(wanted), _) if *wanted != first.length => {
            wrong(format!("has {} bytes and not {wanted}", first.length))
        }
        (_, ExpectedBody::Exactly(body)) if body.len() as u64 != first.length => {
            wrong(format!("has {} bytes, and the expected body {}", first.length, body.len()))
        }
        _ => Ok(()),
    }
}

/// CPU times of generator and server.
#[derive(Debug, Clone, Copy)]
struct CpuTimes {
    own: Duration,
    server: Option<Duration>,
}

impl CpuTimes {
    fn now(process: Option<u32>) -> CpuTimes {
        CpuTimes { own: cpu::own(), server: process.and_then(cpu::of_tree) }
    }

    fn since(self, before: CpuTimes) -> CpuTimes {
        let server = self.server.zip(before.server);
        CpuTimes {
            own: self.own.saturating_sub(before.own),
            server: server.map(|(now, before)| now.saturating_sub(before)),
        }
    }
}

/// Runs the threads to their end.
fn with_threads(
    shared: &Arc<RunState>,
    process: Option<u32>,
    label: &str,
    control: &Control,
) -> Result<(Vec<WorkerResult>, CpuTimes), MeasureError> {
    let here = |error: std::io::Error| {
        MeasureError::Here(format!("the system does not let it: {error}; try fewer connections"))
    };
    let mut threads = Vec::with_capacity(shared.load.threads);
    for number in 0..shared.load.threads {
        let worker = Worker::new(Arc::clone(shared), number).map_err(here)?;
        let name = format!("bench {number}");
        let thread = std::thread::Builder::new().name(name).spawn(|| worker.work());
        threads.push(thread.map_err(here)?);
    }
    let from = nanoseconds(shared.load.warm_up);
    let until = match (Schedule::new(&shared.load, 0), shared.load.span) {
        (Some(schedule), _) => schedule.end(),
        (None, LoadSpan::Time(time)) => from.saturating_add(nanoseconds(time)),
        (None, LoadSpan::Requests(_)) => u64::MAX,
    };
    let mut begun = CpuTimes::now(process);
    let mut ended = None;
    let (mut warm, mut looks) = (from > 0, 0_u32);
    while !threads.iter().all(std::thread::JoinHandle::is_finished) {
        let now = shared.now();
        if warm && now >= from {
            begun = CpuTimes::now(process);
            warm = false;
        }
        if ended.is_none() && now >= until {
            ended = Some(CpuTimes::now(process));
        }
        if looks.is_multiple_of(LOOKS) {
            (control.progress)(&progress(shared, label, now, until));
        }
        looks = looks.wrapping_add(1);
        let next = [from, until].into_iter().find(|time| *time > now).unwrap_or(u64::MAX);
        std::thread::sleep(LOOK.min(Duration::from_nanos(next - now)));
    }
    let ended = ended.unwrap_or_else(|| CpuTimes::now(process));
    (control.progress)("");
    let mut worked = Vec::with_capacity(threads.len());
    for thread in threads {
        let lost = || MeasureError::Here("a thread of the generator was lost".to_owned());
        worked.push(thread.join().map_err(|_| lost())?.map_err(here)?);
    }
    Ok((worked, ended.since(begun)))
}

/// A line of progress.
fn progress(shared: &RunState, label: &str, now: u64, until: u64) -> String {
    let replies = shared.replies.load(Ordering::Relaxed);
    let failed = shared.failed.load(Ordering::Relaxed);
    let from = nanoseconds(shared.load.warm_up);
    let seconds = |time: u64| time as f64 / 1e9;
    if now < from {
        return format!("{label}warming up, {:.0} s left", seconds(from - now));
    }
    let elapsed = seconds(now.min(until) - from);
    let rate = if elapsed > 0.0 { replies as f64 / elapsed } else { 0.0 };
    let left = match (shared.load.span, until) {
        (LoadSpan::Requests(all), u64::MAX) => {
            format!("{} of {all} requests left", all.saturating_sub(replies + failed))
        }
        _ => format!("{:.0} s left", seconds(until.saturating_sub(now))),
    };
    format!("{label}{rate:.0} requests/s, {failed} failed, {left}")
}

fn figures(
    job: &Measurement,
    shared: &RunState,
    worked: &[WorkerResult],
    clock: CpuTimes,
    interrupted: bool,
) -> Figures {
    let mut counts = LoadCounts::new();
    for one in worked {
        counts.add(&one.counts);
    }
    let from = nanoseconds(shared.load.warm_up);
    let end = worked.iter().map(|one| one.end).max().unwrap_or(from);
    Figures {
        url: job.target.url().to_owned(),
        load: shared.load.clone(),
        elapsed: Duration::from_nanos(end.saturating_sub(from)),
        counts,
        generator: clock.own,
        server: clock.server,
        interrupted,
        gave_up: worked.iter().any(|one| one.gave_up),
    }
}
