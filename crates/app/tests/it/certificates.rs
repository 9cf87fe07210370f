//! Certificates from an authority: Pebble, the test server of Let's Encrypt, with faults, restarts,
//! kills, and renewals under load.

use crate::support::http::read_reply;
use crate::support::{Folder, PATIENCE, Process, eventually, free_port, run, runnel, skip};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Longer than a lock is kept after its owner was killed.
const TAKEN_OVER: Duration = Duration::from_secs(60);

/// A name server that answers `127.0.0.1` for every name.
struct NameServer {
    port: u16,
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl NameServer {
    fn start() -> NameServer {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.set_nonblocking(true).unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_over = Arc::new(AtomicBool::new(false));
        let ends = is_over.clone();
        let thread = std::thread::spawn(move || {
            while !ends.load(Ordering::Relaxed) {
                match listener.accept() {
                    // A client that went away asks again.
                    Ok((stream, _)) => drop(answer_over(stream)),
                    Err(_) => std::thread::sleep(Duration::from_millis(2)),
                }
            }
        });
        NameServer { port, is_over, thread: Some(thread) }
    }
}

impl Drop for NameServer {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Answers one question over TCP, where a message follows its length.
fn answer_over(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut question = vec![0; u16::from_be_bytes(length).into()];
    stream.read_exact(&mut question)?;
    let answer = answer(&question).unwrap_or_default();
    stream.write_all(&[&(answer.len() as u16).to_be_bytes(), &answer[..]].concat())
}

/// The answer to a question (RFC 1035 section 4): an address for questions of type A, nothing for others.
fn answer(question: &[u8]) -> Option<Vec<u8>> {
    let name_end = 12 + question.get(12..)?.iter().position(|byte| *byte == 0)? + 1;
    let kind = question.get(name_end..name_end + 2)?;
    let is_address = kind == [0, 1];
    let mut answer = question[..2].to_vec();
    answer.extend([0x81, 0x80, 0, 1, 0, u8::from(is_address), 0, 0, 0, 0]);
    answer.extend(&question[12..name_end + 4]);
    if is_address {
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, 127, 0, 0, 1]);
    }
    Some(answer)
}

/// A folder, the ports of an authority and of a server, and the programs of the test.
struct World {
    pebble: PathBuf,
    folder: Folder,
    names: NameServer,
    directory: u16,
    management: u16,
    /// Where the authority asks.
    asks: u16,
}

impl World {
    /// `None` where Pebble is not installed.
    fn new() -> Option<World> {
        let home = std::env::var_os("HOME").unwrap_or_default();
        let pebble = Path::new(&home).join("go/bin/pebble");
        if !pebble.exists() {
            skip("Pebble is not installed; .ci/run installs it");
            return None;
        }
        let folder = Folder::new();
        // The authority's own certificate, for localhost.
        let made = "(#HTTPServer{ port: 0, certificate: 'local' } → #SiteMap{ }) start stop";
        let made = run(runnel().args(["-e", made]).env("XDG_CONFIG_HOME", folder.path("local")));
        assert_eq!(made.status, 0, "{}", made.err);
        let (directory, management, asks) = (free_port(), free_port(), free_port());
        Some(World { pebble, folder, names: NameServer::start(), directory, management, asks })
    }

    /// Starts the authority, whose certificates live for some seconds.
    fn authority(&self, lifetime: u32, faults: &[(&str, &str)]) -> Process {
        let local = |name: &str| self.folder.path(&format!("local/runnel/local-{name}.pem"));
        let config = serde_json::json!({ "pebble": {
            "listenAddress": format!("127.0.0.1:{}", self.directory),
            "managementListenAddress": format!("127.0.0.1:{}", self.management),
            "certificate": local("certificate"), "privateKey": local("key"),
            "httpPort": self.asks, "tlsPort": self.asks, "ocspResponderURL": "",
            "keyAlgorithm": "ecdsa", "retryAfter": { "authz": 1, "order": 1 },
            "profiles": { "default": { "description": "", "validityPeriod": lifetime } },
        }});
        let config = self.folder.write("pebble.json", config.to_string());
        let resolver = format!("127.0.0.1:{}", self.names.port);
        let mut command = Command::new(&self.pebble);
        command.arg("-config").arg(config).args(["-dnsserver", &resolver]);
        command.env("PEBBLE_VA_NOSLEEP", "1").env("PEBBLE_WFE_NONCEREJECT", "10");
        command.envs(faults.iter().copied());
        let mut process = Process::start(&mut command);
        process.listens(self.directory);
        process
    }

    /// The file with the authority that signs the ordered certificates.
    fn root(&self) -> PathBuf {
        let url = format!("https://127.0.0.1:{}/roots/0", self.management);
        let found = run(Command::new("curl").args(["-sSk", &url]));
        assert!(found.out.contains("BEGIN CERTIFICATE"), "{}", found.err);
        self.folder.write("root.pem", found.out)
    }

    /// A program with a certificate of the authority.
    fn program(&self, redirect: u16) -> Site {
        let port = free_port();
        let text = format!(
            "scheme Site {{ /hi {{ get {{ 'Hello!' }} }} }}\n\
             (#HTTPServer{{ port: {port}, address: '127.0.0.1', redirectPort: {redirect},\n\
             \x20   certificate: 'auto', hosts: [ 'one.example', 'two.example' ], contact: 'ann@example.org',\n\
             \x20   certificates: ref:file:certificates, acmeAuthority: 'local/runnel/local-certificate.pem',\n\
             \x20   acmeDirectory: 'https://localhost:{}/dir' }} → #Site{{ }}) start.\n",
            self.directory
        );
        std::fs::create_dir_all(self.folder.path("certificates")).unwrap();
        let file = self.folder.write(&format!("site-{port}.st"), text);
        Site { file, port, folder: self.folder.path("."), root: self.folder.path("root.pem") }
    }

    fn stored(&self, name: &str) -> PathBuf {
        self.folder.path(&format!("certificates/{name}"))
    }
}

/// A program that serves.
struct Site {
    file: PathBuf,
    port: u16,
    folder: PathBuf,
    root: PathBuf,
}

impl Site {
    fn start(&self, options: &[&str]) -> Process {
        let mut process = Process::start(
            runnel()
                .args(options)
                .arg(&self.file)
                .current_dir(&self.folder)
                .env("RUNNEL_LOG", "info"),
        );
        process.listens(self.port);
        process
    }

    /// What curl gets from a host, verified with the root of the authority.
    fn get(&self, host: &str) -> Result<String, String> {
        let resolve = format!("{host}:{}:127.0.0.1", self.port);
        let url = format!("https://{host}:{}/hi", self.port);
        let mut command = Command::new("curl");
        command.args(["-sS", "--max-time", "10", "--resolve", &resolve, "--cacert"]);
        let got = run(command.arg(&self.root).arg(&url));
        if got.status == 0 { Ok(got.out) } else { Err(got.err) }
    }

    fn serves(&self) -> bool {
        ["one.example", "two.example"]
            .iter()
            .all(|host| self.get(host).is_ok_and(|it| it == "Hello!"))
    }
}

fn orders(process: &Process) -> usize {
    process.err().matches("ordering the certificate").count()
}

fn redirected(port: u16, host: &str) -> (u16, Option<String>) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    stream.write_all(format!("GET /a?b=1 HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes()).unwrap();
    let reply = read_reply(stream).unwrap();
    (reply.status, reply.header("location").map(str::to_string))
}

#[test]
fn a_certificate_is_ordered_kept_and_used_again() {
    let Some(world) = World::new() else { return };
    let site = world.program(world.asks);
    let before = {
        let _authority = world.authority(3_600, &[]);
        world.root();
        let process = site.start(&[]);
        eventually("both hosts are served", || site.serves());
        let target = format!("https://one.example:{}/a?b=1", site.port);
        assert_eq!(redirected(world.asks, "One.example"), (308, Some(target)));
        assert_eq!(redirected(world.asks, "evil.example").0, 400);
        assert_eq!(orders(&process), 1);
        process.err_shows("the certificate was ordered");
        eventually("the lock is free", || !world.stored("order.lock").exists());
        let challenges = world.stored("challenges");
        let left = std::fs::read_dir(challenges).map_or(0, Iterator::count);
        assert_eq!(left, 0, "responses to challenges are left");
        let secrets = std::fs::read_to_string(world.stored("one.example.pem")).unwrap();
        let secret = secrets.lines().nth(1).unwrap();
        assert!(!process.err().contains(secret) && !process.out().contains(secret));
        secrets
    };
    // Without the authority, as after any restart.
    let process = site.start(&[]);
    assert!(site.serves(), "{}", process.err());
    assert_eq!(orders(&process), 0, "{}", process.err());
    assert_eq!(std::fs::read_to_string(world.stored("one.example.pem")).unwrap(), before);
}

#[test]
fn an_authority_that_is_away_at_start_is_asked_again() {
    let Some(world) = World::new() else { return };
    let site = world.program(world.asks);
    let process = site.start(&[]);
    process.err_shows("the certificate cannot be ordered yet");
    process.err_shows("next_try_in=5 s");
    let refused =
        run(Command::new("curl").args(["-sSk", &format!("https://127.0.0.1:{}/hi", site.port)]));
    assert_eq!(refused.status, 35, "a handshake without a certificate: {refused:?}");
    assert_eq!(redirected(world.asks, "one.example").0, 503);
    assert_eq!(redirected(world.asks, "evil.example").0, 400);
    let _authority = world.authority(3_600, &[]);
    world.root();
    eventually("both hosts are served", || site.serves());
}

#[test]
fn a_failed_order_waits_for_minutes() {
    let Some(world) = World::new() else { return };
    // The authority asks at a port where nothing listens.
    let site = world.program(free_port());
    let _authority = world.authority(3_600, &[]);
    let process = site.start(&[]);
    process.err_shows("the order of the certificate for one.example, two.example failed");
    process.err_shows("next_try_in=2 min");
    assert!(process.err().contains("one.example: "), "{}", process.err());
    eventually("the lock is free", || !world.stored("order.lock").exists());
    drop(process);
    // A restart does not ask again before that, and neither does another machine.
    let again = site.start(&[]);
    std::thread::sleep(Duration::from_secs(3));
    assert_eq!(orders(&again), 0, "{}", again.err());
    let state = std::fs::read_to_string(world.stored("one.example.json")).unwrap();
    assert!(state.contains("\"failures\":1"), "{state}");
}

#[test]
fn an_order_whose_process_was_killed_is_made_again() {
    let Some(world) = World::new() else { return };
    let site = world.program(world.asks);
    // The authority takes its time to check.
    let slow = [("PEBBLE_VA_NOSLEEP", "0"), ("PEBBLE_VA_SLEEPTIME", "15")];
    let authority = world.authority(3_600, &slow);
    let process = site.start(&[]);
    eventually("an order is in progress", || {
        std::fs::read_dir(world.stored("challenges")).is_ok_and(|mut all| all.next().is_some())
    });
    process.signal("KILL");
    drop((process, authority));
    assert!(world.stored("order.lock").exists(), "the lock is left");
    let _authority = world.authority(3_600, &[]);
    world.root();
    let process = site.start(&[]);
    let start = Instant::now();
    while !site.serves() {
        assert!(start.elapsed() < TAKEN_OVER + PATIENCE, "{}", process.err());
        std::thread::sleep(Duration::from_millis(100));
    }
    process.err_shows("was abandoned");
    assert_eq!(orders(&process), 1);
}

#[test]
fn two_machines_that_share_a_store_order_once() {
    let Some(world) = World::new() else { return };
    let _authority = world.authority(3_600, &[]);
    world.root();
    // The authority asks the first, whichever orders.
    let sites = [world.program(world.asks), world.program(free_port())];
    let processes: Vec<Process> = sites.iter().map(|site| site.start(&[])).collect();
    eventually("both machines serve both hosts", || sites.iter().all(Site::serves));
    assert_eq!(processes.iter().map(orders).sum::<usize>(), 1);
}

/// `RUNNEL_RENEWALS` says otherwise.
fn renewals() -> usize {
    std::env::var("RUNNEL_RENEWALS").ok().and_then(|count| count.parse().ok()).unwrap_or(2)
}

#[test]
fn renewals_under_load_lose_no_request() {
    let Some(world) = World::new() else { return };
    let site = world.program(world.asks);
    let _authority = world.authority(15, &[]);
    world.root();
    let process = site.start(&["--workers", "2"]);
    eventually("both hosts are served", || site.serves());
    let first = orders(&process);
    let load = |per_connection: &str| {
        let mut command = runnel();
        command.args(["bench", "-c", "8", "-r", "100", "-s", "10", "--json", "--insecure"]);
        command.args(["--per-connection", per_connection]);
        Process::start(command.arg(format!("https://localhost:{}/hi", site.port)))
    };
    let start = Instant::now();
    while orders(&process) < first + renewals() {
        assert!(start.elapsed() < PATIENCE * (renewals() as u32 + 2), "{}", process.err());
        for load in [load("1"), load("0")] {
            let outcome = load.outcome();
            assert_eq!(outcome.status, 0, "{}\n{}", outcome.out, outcome.err);
            let report = outcome.out.lines().last().unwrap_or_default();
            let report: serde_json::Value = serde_json::from_str(report).unwrap();
            crate::support::note(&format!("renewals under load: {report}"));
            assert_eq!(report["failed"], 0, "{report}");
        }
    }
    assert!(site.serves(), "the certificate of now is valid: {:?}", site.get("one.example"));
}

#[test]
fn an_upgrade_keeps_the_certificate_and_the_redirect() {
    let Some(world) = World::new() else { return };
    let site = world.program(world.asks);
    let _authority = world.authority(3_600, &[]);
    world.root();
    let process = site.start(&["--supervise", "--workers", "2"]);
    eventually("both hosts are served", || site.serves());
    let (ordered, text) = (orders(&process), std::fs::read_to_string(&site.file).unwrap());
    std::fs::write(&site.file, text.replace("Hello!", "Hello again!")).unwrap();
    process.signal("HUP");
    eventually("the new version answers", || {
        assert_eq!(redirected(world.asks, "one.example").0, 308);
        site.get("one.example").unwrap() == "Hello again!"
    });
    assert_eq!(orders(&process), ordered);
}
