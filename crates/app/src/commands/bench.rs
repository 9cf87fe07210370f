//! `runnel bench`: how fast a server answers, and whether every answer is right.

use crate::console::Console;
use crate::exit_status;
use clap::Args;
use runnel_bench::{
    Control, Expected, ExpectedBody, ExpectedLength, Figures, LARGEST_BODY, Load, LoadSpan,
    LoadTarget, MOST_ROUNDS, MeasureError, Measurement, Pace, Rates, Request, Trust, compare,
    latency_svg, run as measure, sweep,
};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Something failed while it was measured.
const FAILED: u8 = 1;
/// Ended by an interrupt, as a shell tells it.
const INTERRUPTED: u8 = 130;
/// Seconds for each rate of a sweep, and connections at most, where nothing else is said.
const SWEEP_TIME: Duration = Duration::from_secs(5);
const SWEEP_CONNECTIONS: usize = 1000;

/// What the command line says.
#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// What is measured; several are measured in turn and compared.
    #[arg(required = true, value_name = "URL")]
    urls: Vec<String>,
    /// Concurrent connections; with --rate, the most of them [default: 64; with --sweep 1000].
    #[arg(short, long, value_name = "COUNT")]
    connections: Option<usize>,
    /// Threads that send.
    #[arg(short, long, value_name = "COUNT", default_value_t = 1)]
    threads: usize,
    /// How long it is measured [default: 10; with --sweep 5 for each rate].
    #[arg(short, long, value_parser = seconds)]
    seconds: Option<Duration>,
    /// How many requests are measured, instead of how long.
    #[arg(short = 'n', long, value_name = "COUNT", conflicts_with_all = ["seconds", "sweep"])]
    requests: Option<u64>,
    /// Requests a second, whatever the server does; times count from when each was to be sent.
    #[arg(short, long, value_name = "PER_SECOND", conflicts_with = "sweep")]
    rate: Option<f64>,
    /// Rising rates: 1000..80000, 1000..80000x2 or 1000..80000+500.
    #[arg(long, value_name = "RATES", value_parser = Rates::parse)]
    sweep: Option<Rates>,
    /// How long requests are sent before it is measured [default: 1; with --requests 0].
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    warm_up: Option<Duration>,
    /// Requests on each connection, 0 for any number [default: 0; with --sweep 1].
    #[arg(long, value_name = "COUNT")]
    per_connection: Option<u64>,
    /// How long a request may take, with its connection.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, default_value = "10")]
    timeout: Duration,
    /// How often each of several URLs is measured.
    #[arg(long, value_name = "COUNT", default_value_t = 3)]
    rounds: usize,
    /// The method of the requests.
    #[arg(short = 'X', long, default_value = "GET")]
    method: String,
    /// A header, as in 'Accept: text/html'; may be given several times.
    #[arg(short = 'H', long = "header", value_name = "HEADER")]
    headers: Vec<String>,
    /// The file with the body of the requests.
    #[arg(long, value_name = "FILE")]
    body: Option<PathBuf>,
    /// The status of every answer [default: any from 200 to 299].
    #[arg(long, value_parser = clap::value_parser!(u16).range(200..=999))]
    status: Option<u16>,
    /// The length of every body: a number of bytes, any, or same as the first.
    #[arg(long, value_parser = length, default_value = "same")]
    length: ExpectedLength,
    /// Compare every body with the first, or with a file.
    #[arg(long, value_name = "FILE", require_equals = true)]
    check_body: Option<Option<PathBuf>>,
    /// The file with the certificates of those who may sign that of an https server, in PEM.
    #[arg(long, value_name = "FILE", conflicts_with = "insecure")]
    cacert: Option<PathBuf>,
    /// Accept any certificate of an https server.
    #[arg(long)]
    insecure: bool,
    /// The process of the server, for its CPU time; once for each URL.
    #[arg(long, value_name = "PROCESS")]
    pid: Vec<u32>,
    /// Write a picture into this file.
    #[arg(long, value_name = "PICTURE")]
    svg: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse().map_err(|_| "write a number of seconds, such as 2.5")?;
    Duration::try_from_secs_f64(number).map_err(|_| "write a number from 0 up".to_owned())
}

fn length(text: &str) -> Result<ExpectedLength, String> {
    match text {
        "same" => Ok(ExpectedLength::Same),
        "any" => Ok(ExpectedLength::Any),
        _ => text
            .parse()
            .map(ExpectedLength::Exactly)
            .map_err(|_| "write a number, any or same".into()),
    }
}

/// What was measured, ready to be shown.
struct Shown {
    text: String,
    json: serde_json::Value,
    svg: String,
    good: bool,
}

/// Measures and prints; answers the exit status.
pub(crate) fn run(bench: &Bench, json: bool) -> u8 {
    let jobs = match jobs(bench) {
        Ok(jobs) => jobs,
        Err((message, status)) => {
            Console::error(&format!("error: {message}"));
            return status;
        }
    };
    let stop = Arc::new(AtomicBool::new(false));
    stop_when_interrupted(Arc::clone(&stop));
    let control = Control::new(stop, Console::progress);
    let shown = match shown(bench, &jobs, &control) {
        Ok(shown) => shown,
        Err(trouble) => {
            Console::error(&format!("error: {trouble}"));
            return match trouble {
                MeasureError::Unreachable(_) => exit_status::UNAVAILABLE,
                MeasureError::FirstAnswer(_) | MeasureError::Here(_) => FAILED,
            };
        }
    };
    match json {
        true => Console::line(&shown.json.to_string()),
        false => Console::part(&shown.text),
    }
    if let Some(file) = &bench.svg
        && let Err(error) = std::fs::write(file, &shown.svg)
    {
        Console::error(&format!("error: {} cannot be written: {error}", file.display()));
        return exit_status::CANNOT_CREATE;
    }
    match (control.stopped(), shown.good) {
        (true, _) => INTERRUPTED,
        (false, true) => 0,
        (false, false) => FAILED,
    }
}

/// The first interrupt ends the measurement, so that what it found is shown; the next one ends the
/// command.
fn stop_when_interrupted(stop: Arc<AtomicBool>) {
    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() else {
            return;
        };
        runtime.block_on(async {
            crate::process::signals::interrupted().await;
            stop.store(true, Ordering::Relaxed);
            crate::process::signals::interrupted().await;
            std::process::exit(INTERRUPTED.into());
        });
    });
}

fn shown(bench: &Bench, jobs: &[Measurement], control: &Control) -> Result<Shown, MeasureError> {
    match (&bench.sweep, jobs) {
        (Some(rates), [job, ..]) => {
            let swept = sweep(job, rates, control)?;
            Ok(Shown {
                text: swept.to_string(),
                json: swept.json(),
                svg: swept.svg(),
                good: swept.is_good(),
            })
        }
        (None, [job]) => {
            let figures = measure(job, "", control)?;
            Ok(Shown {
                text: figures.to_string(),
                json: figures.json(),
                svg: latency_svg(&[&figures]),
                good: figures.is_good(),
            })
        }
        _ => {
            let compared = compare(jobs, bench.rounds, control)?;
            // The last round of each: one line for each URL.
            let last: Vec<&Figures> =
                compared.runs().iter().filter_map(|runs| runs.last()).collect();
            Ok(Shown {
                text: compared.to_string(),
                json: compared.json(),
                svg: latency_svg(&last),
                good: compared.is_good(),
            })
        }
    }
}

/// A measurement for each URL, or what is wrong with the command line and the exit status for it.
fn jobs(bench: &Bench) -> Result<Vec<Measurement>, (String, u8)> {
    let wrong = |message: String| (message, exit_status::USAGE);
    if bench.sweep.is_some() && bench.urls.len() > 1 {
        return Err(wrong("--sweep measures one URL; run it once for each".to_owned()));
    }
    if bench.pid.len() > bench.urls.len() {
        return Err(wrong("--pid is given at most once for each URL, in their order".to_owned()));
    }
    if !(1..=MOST_ROUNDS).contains(&bench.rounds) {
        return Err(wrong(format!("--rounds is from 1 to {MOST_ROUNDS}")));
    }
    let body = bench.body.as_deref().map(contents).transpose()?.unwrap_or_default();
    let request = Request::new(&bench.method, &bench.headers, body).map_err(wrong)?;
    let body = match &bench.check_body {
        None => ExpectedBody::Any,
        Some(None) => ExpectedBody::Same,
        Some(Some(file)) => ExpectedBody::Exactly(contents(file)?),
    };
    let expected = Expected { status: bench.status, length: bench.length, body };
    let trust = match (&bench.cacert, bench.insecure) {
        (_, true) => Trust::Anything,
        (Some(file), false) => Trust::Authorities(contents(file)?),
        (None, false) => Trust::Usual,
    };
    let load = load(bench).checked().map_err(wrong)?;
    let mut jobs = Vec::with_capacity(bench.urls.len());
    for (number, url) in bench.urls.iter().enumerate() {
        jobs.push(Measurement {
            target: LoadTarget::parse(url).map_err(wrong)?,
            request: request.clone(),
            expected: expected.clone(),
            load: load.clone(),
            trust: trust.clone(),
            process: bench.pid.get(number).copied(),
        });
    }
    Ok(jobs)
}

fn load(bench: &Bench) -> Load {
    let usual = Load::default();
    let sweeps = bench.sweep.is_some();
    let span = match (bench.requests, bench.seconds) {
        (Some(count), _) => LoadSpan::Requests(count),
        (None, Some(time)) => LoadSpan::Time(time),
        (None, None) if sweeps => LoadSpan::Time(SWEEP_TIME),
        (None, None) => usual.span,
    };
    let warm_up = match bench.requests {
        Some(_) => Duration::ZERO,
        None => usual.warm_up,
    };
    let connections = if sweeps { SWEEP_CONNECTIONS } else { usual.connections };
    Load {
        pace: bench.rate.map_or(Pace::Closed, Pace::Rate),
        span,
        warm_up: bench.warm_up.unwrap_or(warm_up),
        connections: bench.connections.unwrap_or(connections),
        threads: bench.threads,
        per_connection: match bench.per_connection {
            None if sweeps => Some(1),
            None | Some(0) => None,
            count => count,
        },
        timeout: bench.timeout,
    }
}

/// A file that is sent or compared.
fn contents(file: &Path) -> Result<Vec<u8>, (String, u8)> {
    let mut bytes = Vec::new();
    let limit = LARGEST_BODY as u64;
    std::fs::File::open(file)
        .and_then(|open| open.take(limit + 1).read_to_end(&mut bytes))
        .map_err(|error| {
            (format!("{} cannot be read: {error}", file.display()), exit_status::NO_INPUT)
        })?;
    if bytes.len() as u64 > limit {
        let message = format!("{} has more than {LARGEST_BODY} bytes", file.display());
        return Err((message, exit_status::USAGE));
    }
    Ok(bytes)
}
