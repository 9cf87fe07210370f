//! Followers of streams of Redis and NATS: processes share the messages, and none is lost when one is killed.

use crate::support::{Folder, Process, eventually, run, runnel};
use runnel_scratch::{Server, Service};
use std::process::Command;
use std::time::Duration;

/// Programs that use one server.
struct Programs {
    folder: Folder,
    server: Server,
    variable: &'static str,
    /// The stream to post to, and to follow.
    names: (&'static str, &'static str),
}

impl Programs {
    fn new(service: Service) -> Option<Programs> {
        let names = match service {
            Service::Redis => ("redis:orders?stream", "redis:orders"),
            _ => ("nats:streams/orders", "nats:streams/orders"),
        };
        let (folder, server) = (Folder::new(), Server::for_test(service)?);
        Some(Programs { folder, server, variable: service.variable(), names })
    }

    /// The command for a program, in which `POST` and `STREAM` stand for the stream.
    fn command(&self, name: &str, text: &str) -> Command {
        let text = text.replace("POST", self.names.0).replace("STREAM", self.names.1);
        self.folder.write(name, text);
        let mut command = runnel();
        command.arg(name).current_dir(self.folder.path("")).env(self.variable, self.server.url());
        command
    }

    fn out(&self, text: &str) -> String {
        let done = run(&mut self.command("once.st", text));
        assert_eq!((done.status, done.err.as_str()), (0, ""));
        done.out
    }
}

const FOLLOWER: &str = "
    ref:STREAM follow: 'billing' do: { :message |
        stdout println: (message value at: 'n'). stdout flush.
        runLoop runFor: 0.02.
        ref:file:NAME.log post: \"{message value at: 'n'} \"
    } with: #{ lease: 1 seconds, concurrency: 2 }.
    stdout println: 'ready'. stdout flush";

const WRITER: &str = "1 to: 60 do: { :i | ref:POST post: #{ n: i stringValue } }";

/// What the followers have done.
fn done(programs: &Programs) -> Vec<String> {
    let mut all = Vec::new();
    for name in ["a.log", "b.log"] {
        let text = std::fs::read_to_string(programs.folder.path(name)).unwrap_or_default();
        all.extend(text.split_whitespace().map(str::to_string));
    }
    all
}

/// Two processes share the messages, one of them is killed again and again.
fn kill(service: Service) {
    let Some(programs) = Programs::new(service) else { return };
    let begin = |name: &str| {
        let text = FOLLOWER.replace("NAME", name);
        let process = Process::start(&mut programs.command(&format!("{name}.st"), &text));
        process.out_shows("ready");
        process
    };
    let (mut first, second) = (begin("a"), begin("b"));
    programs.out(WRITER);
    for _ in 0..3 {
        // In the middle of messages, if there are some left.
        std::thread::sleep(Duration::from_millis(100));
        first.signal("KILL");
        assert_eq!(first.end(), -9, "{}", first.err());
        first = begin("a");
    }
    eventually("each message is done at least once", || {
        let mut all: Vec<u32> = done(&programs).iter().map(|n| n.parse().unwrap()).collect();
        all.sort_unstable();
        all.dedup();
        all == (1..=60).collect::<Vec<_>>()
    });
    assert!(second.out().lines().count() > 1, "the second process did nothing");
}

#[test]
fn a_follower_that_is_killed_loses_no_message() {
    kill(Service::Redis);
    kill(Service::Nats);
}

/// A message that fails comes again after a pause, and then goes to the dead letters; the value is not in the log.
fn fail(service: Service, letters: &str) {
    let Some(programs) = Programs::new(service) else { return };
    let text = "
        tries ← 0.
        ref:STREAM follow: 'billing' do: { :message |
            tries ← tries + 1.
            Error signal: 'no stock' } with: #{ attempts: 2 }.
        ref:POST post: #{ n: 'secret' }.
        { tries < 2 } whileTrue: { runLoop runFor: 0.05 }.
        { LETTERS isNil } whileTrue: { runLoop runFor: 0.05 }.
        stdout println: \"{tries} {(LETTERS at: 0) at: 'error'}\".
        stdout flush.
        shell exit";
    let done = run(&mut programs.command("fail.st", &text.replace("LETTERS", letters)));
    assert_eq!(done.out, "2 error: no stock\n", "{}", done.err);
    assert!(
        done.err.contains("failed at attempt 1 of 2 of billing and runs again in 1 s"),
        "{}",
        done.err
    );
    assert!(
        done.err.contains("failed at attempt 2 of 2 of billing and is a dead letter"),
        "{}",
        done.err
    );
    assert!(done.err.contains("fail.st:5"), "{}", done.err);
    assert!(!done.err.contains("secret"), "{}", done.err);
}

#[test]
fn a_message_that_fails_comes_again_and_then_is_a_dead_letter() {
    fail(Service::Redis, "redis:orders/dead");
    fail(Service::Nats, "nats:streams/orders-dead");
}

/// A regular stop finishes the block that runs and acknowledges its message.
fn stop(service: Service) {
    let Some(programs) = Programs::new(service) else { return };
    let text = "
        ref:STREAM follow: 'billing' do: { :message |
            stdout println: 'begun'. stdout flush.
            runLoop runFor: 0.5.
            stdout println: 'ended'. stdout flush }.
        (#HTTPServer{ port: 0 } → #DictStore{ }) start.
        stdout println: 'ready'. stdout flush";
    let begin = || Process::start(&mut programs.command("stop.st", text));
    let mut process = begin();
    process.out_shows("ready");
    programs.out("ref:POST post: #{ n: '1' }");
    process.out_shows("begun");
    process.signal("TERM");
    assert_eq!(process.end(), 0, "{}", process.err());
    assert!(process.out().ends_with("begun\nended\n"), "{}", process.out());
    let process = begin();
    process.out_shows("ready");
    programs.out("ref:POST post: #{ n: '2' }");
    process.out_shows("ended");
    assert_eq!(process.out().matches("begun").count(), 1, "{}", process.out());
}

#[test]
fn a_stop_finishes_the_block_that_runs() {
    stop(Service::Redis);
    stop(Service::Nats);
}
