//! Mixed load over nine stores at once: no request fails, and the server's memory and descriptors stay
//! flat. `RUNNEL_STORE_LOAD=3600` loads for an hour: `.ci/soak stores`.

use crate::support::http::{Connection, Reply};
use crate::support::{Folder, Process, eventually_or, free_port, http, note, runnel};
use runnel_scratch::{Server, Service};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// Connections that stay open, and the pause of each between two requests: they bound the rate.
const CLIENTS: usize = 8;
const PAUSE: Duration = Duration::from_millis(15);
/// Keys that each client uses again and again in every store, so that no store grows.
const KEYS: usize = 16;
/// Descriptors by which the median may grow from the second quarter to the last one: connection pools
/// open and close a few with the load of the moment.
const MOST_DESCRIPTORS: f64 = 8.0;
/// MiB by which the median of the memory may grow from the second quarter to the last one. The
/// collector of the engine lets garbage become as large as the data, and the allocator keeps pages of
/// the busiest moment. In an hour of 300 requests a second, 16 MiB are 31 bytes a request.
const MOST_GROWTH: f64 = 16.0;
/// The same of a run below five minutes: the heap of the engine, the caches and the pools grow to their
/// size in the first minute, by about 35 MiB.
const MOST_WARM_UP: f64 = 48.0;
const WARM_UP: Duration = Duration::from_secs(300);
const MEBIBYTE: f64 = (1 << 20) as f64;

/// An HTTP server and an S3 server over memory: `http:` and `s3:` of the program under load.
const OTHER: &str = "#-<void>serve:<int>port s3:<int>objects\n\
    (#HTTPServer{ port: port, listing: true } → DictStore store) start.\n\
    (#S3Server{ port: objects, users: #{ testing: 'testing' } } → #MemoryStore{}) start.\n";

/// How long to load: a few seconds, or what `RUNNEL_STORE_LOAD` says.
fn duration() -> Duration {
    let seconds = std::env::var("RUNNEL_STORE_LOAD").ok();
    Duration::from_secs_f64(seconds.and_then(|text| text.parse().ok()).unwrap_or(12.0))
}

/// The program under load, and the servers behind its stores.
struct Site {
    process: Process,
    port: u16,
    /// The stores that it uses, and how often each was used.
    stores: Vec<(&'static str, AtomicUsize)>,
    _behind: (Process, Vec<Server>),
    _folder: Folder,
}

impl Site {
    fn start() -> Site {
        let (folder, port) = (Folder::new(), free_port());
        let (other, s3) = (free_port(), free_port());
        let program = folder.write("other.st", OTHER);
        let ports = [other.to_string(), s3.to_string()];
        let mut process = Process::start(runnel().arg(program).args(&ports));
        process.listens(other);
        process.listens(s3);
        let mut command = runnel();
        command.env("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{s3}"));
        command.env("AWS_REGION", "us-east-1");
        for name in ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
            command.env(name, "testing");
        }
        let mut stores = vec!["memory", "file", "s3", "http", "sqlite"];
        let (mut servers, mut database) = (Vec::new(), "memory:none".to_string());
        for service in [Service::Redis, Service::Nats, Service::Postgres] {
            let Some(server) = Server::for_test(service) else { continue };
            match service {
                Service::Nats => stores.extend(["nats", "objects"]),
                _ => stores.push(service.name()),
            }
            command.env(service.variable(), server.url());
            if service == Service::Postgres {
                database = server.url();
            }
            servers.push(server);
        }
        let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
        command.arg(programs.canonicalize().unwrap().join("load.st")).arg(port.to_string());
        command.arg(stores.join(",")).arg(&ports[0]).arg(database).current_dir(folder.path(""));
        let behind = (process, servers);
        let mut process = Process::start(&mut command);
        process.listens(port);
        let stores = stores.into_iter().map(|name| (name, AtomicUsize::new(0))).collect();
        Site { process, port, stores, _behind: behind, _folder: folder }
    }

    /// One client, until `over` is set. Every answer is checked; none may be a fault of the server.
    fn load(&self, client: usize, over: &AtomicBool) {
        let mut connection = Connection::open(self.port).unwrap();
        let mut ask = |method: &str, target: &str, body: &str| -> Reply {
            std::thread::sleep(PAUSE);
            let headers = [("Content-Type", "text/plain")];
            connection.ask(method, target, &headers, body.as_bytes()).unwrap();
            let reply = connection.answer(method).unwrap();
            assert!(reply.status < 500, "{method} {target}: {} {}", reply.status, reply.text());
            if reply.header("connection") == Some("close") {
                connection = Connection::open(self.port).unwrap();
            }
            reply
        };
        for round in 0_usize.. {
            let key = format!("{client}-{}", round % KEYS);
            // From 8 bytes to 64 KiB.
            let body = format!("{round:>7} ").repeat(1 << (round * 5 % 14));
            for (store, count) in &self.stores {
                if over.load(Ordering::Relaxed) {
                    return;
                }
                let mut expect = |method: &str, path: &str, body: &str, expected: &str| {
                    let reply = ask(method, &format!("/{store}/{path}"), body);
                    count.fetch_add(1, Ordering::Relaxed);
                    let (status, text) = (reply.status, reply.text());
                    assert!(
                        expected.is_empty() || text == expected,
                        "{store}: {method} {path}: {status} {text}"
                    );
                    text
                };
                expect("PUT", &format!("notes/{key}"), &body, "stored");
                expect("GET", &format!("notes/{key}"), "", &body);
                // At least the own key: no other client deletes it.
                let listed: usize = expect("GET", "notes", "", "").parse().unwrap();
                assert!(listed > 0, "{store}: {key} is not listed");
                expect("GET", &format!("cached/{}-0", (client + round) % CLIENTS), "", "");
                if *store != "objects" {
                    let lock = expect("POST", &format!("locks/lock-{}", round % KEYS), "", "");
                    assert!(lock == "held" || lock == "taken", "{store}: {lock}");
                    expect("POST", "visits", "", "counted");
                    expect("POST", &format!("tasks/{key}"), "", "reap");
                }
                if round % 3 == 2 {
                    expect("DELETE", &format!("notes/{key}"), "", "deleted");
                    let gone = ask("GET", &format!("/{store}/notes/{key}"), "");
                    assert_eq!(gone.status, 404, "{store}: {}", gone.text());
                }
            }
            let all = ask("POST", &format!("/all/all-{client}"), "");
            assert_eq!(all.text(), self.stores.len().to_string());
            if round % 4 == 0 {
                assert_eq!(ask("POST", "/jobs/", "").text(), "posted");
            }
        }
    }
}

#[test]
fn memory_and_descriptors_stay_flat_over_nine_stores() {
    let (site, over) = (Site::start(), AtomicBool::new(false));
    let (start, duration) = (Instant::now(), duration());
    // Many samples of a short run, one a second of a long one.
    let pause = (duration / 100).min(Duration::from_secs(1));
    let mut samples = Vec::new();
    std::thread::scope(|scope| {
        let load = |client| {
            scope.spawn({
                let (site, over) = (&site, &over);
                move || site.load(client, over)
            })
        };
        let clients: Vec<_> = (0..CLIENTS).map(load).collect();
        while start.elapsed() < duration && !clients.iter().any(|client| client.is_finished()) {
            samples.push(Sample {
                hours: start.elapsed().as_secs_f64() / 3600.0,
                memory: site.process.memory().unwrap() as f64 / MEBIBYTE,
                descriptors: site.process.open_files().unwrap() as f64,
            });
            std::thread::sleep(pause);
        }
        over.store(true, Ordering::Relaxed);
    });
    let jobs = || http::get(site.port, "/jobs/").text();
    eventually_or(|| jobs() != "0", || "no job was done".to_string());
    for (store, count) in &site.stores {
        note(&format!("| {store} | {} operations |", count.load(Ordering::Relaxed)));
    }
    let memory = Trend::of(&samples, |sample| sample.memory);
    let descriptors = Trend::of(&samples, |sample| sample.descriptors);
    memory.show("memory, MiB");
    descriptors.show("descriptors");
    let log = site.process.err();
    let faults: Vec<_> = log.lines().filter(|line| line.contains(" ERROR ")).collect();
    assert!(faults.is_empty(), "{faults:?}");
    let most = if duration < WARM_UP { MOST_WARM_UP } else { MOST_GROWTH };
    assert!(memory.growth() <= most, "the memory grows by {} MiB", memory.growth());
    assert!(descriptors.growth() <= MOST_DESCRIPTORS, "{} more descriptors", descriptors.growth());
}

/// What the process used at a moment.
struct Sample {
    hours: f64,
    memory: f64,
    descriptors: f64,
}

/// How a figure developed.
struct Trend {
    /// The medians of the four quarters.
    quarters: [f64; 4],
    /// The line of least squares through the second half: its rise in an hour, and the standard error
    /// of that.
    slope: f64,
    error: f64,
}

impl Trend {
    fn of(samples: &[Sample], figure: impl Fn(&Sample) -> f64) -> Trend {
        let quarters = [0, 1, 2, 3].map(|quarter| {
            let part = &samples[samples.len() * quarter / 4..samples.len() * (quarter + 1) / 4];
            let mut part: Vec<f64> = part.iter().map(&figure).collect();
            part.sort_by(f64::total_cmp);
            part[part.len() / 2]
        });
        let half = &samples[samples.len() / 2..];
        let count = half.len() as f64;
        let mean = |value: &dyn Fn(&Sample) -> f64| half.iter().map(value).sum::<f64>() / count;
        let (time, level) = (mean(&|sample| sample.hours), mean(&figure));
        let spread: f64 = half.iter().map(|sample| (sample.hours - time).powi(2)).sum();
        let together = |sample: &Sample| (sample.hours - time) * (figure(sample) - level);
        let slope = half.iter().map(together).sum::<f64>() / spread;
        let apart = |sample: &Sample| figure(sample) - level - slope * (sample.hours - time);
        let left: f64 = half.iter().map(|sample| apart(sample).powi(2)).sum();
        Trend { quarters, slope, error: (left / (count - 2.0) / spread).sqrt() }
    }

    /// From the second quarter, when caches and pools are full, to the last one.
    fn growth(&self) -> f64 {
        self.quarters[3] - self.quarters[1]
    }

    fn show(&self, what: &str) {
        let [first, second, third, last] = self.quarters;
        note(&format!(
            "| {what} | quarters {first:.1}, {second:.1}, {third:.1}, {last:.1} | {:+.1} ± {:.1} an hour |",
            self.slope, self.error
        ));
    }
}

#[test]
fn a_leak_is_found() {
    let samples = |rise: f64| -> Vec<Sample> {
        let sample = |second: u32| Sample {
            hours: f64::from(second) / 3600.0,
            memory: 50.0 + rise * f64::from(second) / 3600.0 + f64::from(second % 7),
            descriptors: 40.0,
        };
        (0..3600).map(sample).collect()
    };
    let (flat, leak) = (samples(0.0), samples(100.0));
    let (flat, leak) = (Trend::of(&flat, |one| one.memory), Trend::of(&leak, |one| one.memory));
    assert!(flat.slope.abs() < 3.0 * flat.error && flat.growth() < 1.0, "{}", flat.slope);
    assert!((leak.slope - 100.0).abs() < 3.0 * leak.error, "{}", leak.slope);
    assert!(leak.growth() > MOST_GROWTH, "{}", leak.growth());
    assert_eq!(Trend::of(&samples(100.0), |one| one.descriptors).growth(), 0.0);
}
