//! Servers that are found by their name, in two network namespaces joined by a virtual cable.

use crate::support::{Folder, Outcome, Process, run, runnel, skip};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Two machines on one network: `10.99.0.1` and `10.99.0.2`.
struct Network([String; 2]);

fn ip(arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("ip").args(arguments).output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_string()),
    }
}

impl Network {
    fn start() -> Result<Network, String> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = |side| format!("rn{}-{count}{side}", std::process::id());
        let network = Network([name('a'), name('b')]);
        let [one, two] = &network.0;
        ip(&["netns", "add", one])?;
        ip(&["netns", "add", two])?;
        let cable = ["type", "veth", "peer", "name", "cable", "netns"];
        ip(&[&["link", "add", "cable", "netns", one][..], &cable, &[two]].concat())?;
        for (machine, address) in [(one, "10.99.0.1/24"), (two, "10.99.0.2/24")] {
            ip(&["-n", machine, "addr", "add", address, "dev", "cable"])?;
            ip(&["-n", machine, "link", "set", "lo", "up"])?;
            ip(&["-n", machine, "link", "set", "cable", "up"])?;
        }
        Ok(network)
    }

    /// A network, or none where this user may not make one.
    fn of_test() -> Option<Network> {
        match Network::start() {
            Ok(network) => Some(network),
            Err(reason) => {
                skip(&format!("network namespaces cannot be made: {reason}"));
                None
            }
        }
    }

    /// A command on one of the machines.
    fn on(&self, machine: usize, command: &Command) -> Command {
        let mut inner = Command::new("ip");
        inner.args(["netns", "exec", &self.0[machine]]);
        inner.arg(command.get_program()).args(command.get_args());
        inner.env_remove("RUNNEL_LOG");
        inner
    }

    /// A server on a machine, once it has printed its address.
    fn serve(&self, machine: usize, folder: &Folder, program: &str, address: &str) -> Process {
        let mut command = runnel();
        command.arg(folder.write(&format!("serve{machine}.st"), program));
        let process = Process::start(&mut self.on(machine, &command));
        process.err_shows(&format!("serving on {address}"));
        process
    }

    /// A program on a machine, with variables of its environment.
    fn run(&self, machine: usize, program: &str, variables: &[(&str, &str)]) -> Outcome {
        let mut command = runnel();
        command.args(["-e", program]);
        run(self.on(machine, &command).envs(variables.iter().copied()))
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        for machine in &self.0 {
            let _ = ip(&["netns", "del", machine]);
        }
    }
}

const SERVER: &str = "#HTTPServer{ port: 2345, advertise: 'defiant' } → #MemoryStore{}.";
const ADDRESS: &str = "http://defiant.local:2345/";

/// What the tweet of the seed puts.
const TWEET: &str = "scheme:s3 ← ref:http://defiant.local:2345/ asScheme.
    s3:bucket1/msg.txt ← 'hi'.
    s3:bucket1/msg.txt";

#[test]
fn another_machine_finds_a_server_by_its_name() {
    let Some(network) = Network::of_test() else { return };
    let folder = Folder::new();
    let mut server = network.serve(0, &folder, SERVER, ADDRESS);
    let outcome = network.run(1, TWEET, &[]);
    assert_eq!((outcome.status, outcome.out.trim()), (0, "hi"), "{}", outcome.err);
    // The machine itself finds it, too.
    let outcome = network.run(0, "http://defiant.local:2345/bucket1/msg.txt", &[]);
    assert_eq!(outcome.out.trim(), "hi", "{}", outcome.err);
    // Several who ask for one name at once all get an answer.
    let many = "ask ← { http://DEFIANT.local:2345/bucket1/msg.txt stringValue }.
        [ ask, ask, ask, ask, ask, ask ] concurrently";
    let outcome = network.run(1, many, &[]);
    let answers = format!("[{}]", ["hi"; 6].join(","));
    assert_eq!(outcome.out.trim(), answers, "{}", outcome.err);
    server.signal("TERM");
    assert_eq!(server.end(), 0);
    let outcome = network.run(1, "http://defiant.local:2345/bucket1/msg.txt", &[]);
    assert!(outcome.err.contains("the host defiant.local:2345 cannot be found"), "{}", outcome.err);
}

#[test]
fn a_name_that_another_machine_has_gets_a_number() {
    let Some(network) = Network::of_test() else { return };
    let folder = Folder::new();
    let _first = network.serve(0, &folder, SERVER, ADDRESS);
    let second = network.serve(1, &folder, SERVER, "http://defiant-2.local:2345/");
    second.err_shows("another machine is defiant.local: this server is defiant-2.local");
    let program = "http://defiant-2.local:2345/a ← 'second'. http://defiant.local:2345/a ← 'first'.
        http://defiant-2.local:2345/a";
    let outcome = network.run(0, program, &[]);
    assert_eq!(outcome.out.trim(), "second", "{}", outcome.err);
}

#[test]
fn workers_of_an_s3_server_share_a_name() {
    let Some(network) = Network::of_test() else { return };
    let folder = Folder::new();
    let program = "#S3Server{ port: 2345, advertise: 'Defiant', users: #{ mainkey: 'mainsecret' } }
        → ref:memory:shared asScheme.";
    let mut command = runnel();
    command.args(["--workers", "2"]).arg(folder.write("s3.st", program));
    let process = Process::start(&mut network.on(0, &command));
    process.err_shows("serving on http://Defiant.local:2345/");
    let client = [
        ("AWS_ENDPOINT_URL", "http://defiant.local:2345"),
        ("AWS_ACCESS_KEY_ID", "mainkey"),
        ("AWS_SECRET_ACCESS_KEY", "mainsecret"),
    ];
    let program = "s3:bucket1 ← ''. s3:bucket1/msg.txt ← 'hi'. s3:bucket1/msg.txt";
    let outcome = network.run(1, program, &client);
    assert_eq!((outcome.status, outcome.out.trim()), (0, "hi"), "{}", outcome.err);
    assert!(!process.err().contains("WARN"), "{}", process.err());
}
