//! Fibers of a running program: errors that cross them, waits, ends, and what runs at the end.

use crate::support;

use crate::support::http::Connection;
use crate::support::{Server, eventually};
use std::thread;
use std::time::Duration;

#[test]
fn a_verb_that_takes_more_than_its_time_keeps_what_it_waits_for() {
    // Copying this much ends the time slice before the fiber can begin to wait.
    let outcome = support::program(
        "text ← 'x'. 24 repeat: { text ← text , text }.\n\
         scheme:here ← ref:file:{argv0 deletingLastPathComponent} asScheme.\n\
         3 repeat: {\n\
         \x20   stdout println: ([\n\
         \x20       { here:a.txt ← text. 'a' }, { runLoop runFor: 0.001. 'b' },\n\
         \x20       { here:c.txt ← text. 'c' }, { here:a.txt , ''. 'd' }\n\
         \x20   ] concurrently join: ' ').\n\
         }.\n\
         stdout println: here:a.txt count + here:c.txt count.\n",
    );
    assert_eq!((outcome.status, outcome.err.as_str()), (0, ""), "{outcome:?}");
    assert_eq!(outcome.out, "a b c d\na b c d\na b c d\n33554432\n");
}

#[test]
fn an_error_crosses_fibers_as_it_is() {
    let outcome = support::program(
        "class Refused : Error { var code. }\n\
         code ← { :block | { block value } onError: { :error | error code } }.\n\
         refuse ← { #Refused{ code: 7 } signal }.\n\
         stdout println: (code value: { refuse fork value }).\n\
         stdout println: (code value: { refuse timeout: 5 seconds }).\n\
         stdout println: (code value: { [ { 1 }, refuse ] concurrently }).\n\
         stdout println: ({ { 3 frob } fork value } on: 'doesNotUnderstand' do: { :e | 'that' }).\n\
         refuse fork value.\n",
    );
    assert_eq!((outcome.status, outcome.out.as_str()), (70, "7\n7\n7\nthat\n"), "{outcome:?}");
    assert!(outcome.err.contains("program.st:3"), "{}", outcome.err);
}

#[test]
fn an_error_in_a_fork_that_nothing_joins_is_reported_with_its_line() {
    let outcome = support::program(
        "{\n    3 frobnicate.\n} fork.\nrunLoop runFor: 0.1.\nstdout println: 'end'.\n",
    );
    assert_eq!((outcome.status, outcome.out.as_str()), (70, "end\n"), "{outcome:?}");
    assert!(outcome.err.contains("does not understand frobnicate"), "{}", outcome.err);
    assert!(outcome.err.contains("program.st:2"), "{}", outcome.err);
}

#[test]
fn an_error_in_a_fork_that_is_joined_or_cancelled_is_not_reported() {
    let outcome = support::program(
        "fiber ← { 3 frobnicate } fork.\n\
         runLoop runFor: 0.05.\n\
         stdout println: ({ fiber join } onError: { 'handled' }).\n\
         other ← { { 1 } ensure: { 2 }. runLoop runFor: 5 } fork.\n\
         other cancel.\n\
         { 3 frobnicate } fork join.\n",
    );
    assert_eq!(outcome.out, "handled\n", "{outcome:?}");
    assert_eq!(outcome.err.matches("frobnicate").count(), 2, "message and line: {}", outcome.err);
    assert!(!outcome.err.contains("nothing joins"), "{}", outcome.err);
}

#[test]
fn a_server_reports_the_error_of_a_fork_of_a_request() {
    let server = Server::of_scheme(
        "scheme Site { /fork { get { { 3 frobnicate } fork. 'answered' } } }",
        0.5,
    );
    assert_eq!(server.get("/fork").text(), "answered");
    server.process.err_shows("error in a fiber that nothing joins: ");
    server.process.err_shows("program.st:2");
}

#[test]
fn an_error_of_a_timer_is_said_and_the_timer_goes_on() {
    let outcome = support::program(
        "count ← 0.\n\
         ticker ← every: 5 milliseconds do: {\n\
         \x20   count ← count + 1.\n\
         \x20   count = 2 ifTrue: { count frobnicate }.\n\
         }.\n\
         { count < 4 } whileTrue: { runLoop runFor: 0.005 }.\n\
         ticker cancel.\n\
         stdout println: 'four'.\n",
    );
    assert_eq!((outcome.status, outcome.out.as_str()), (0, "four\n"), "{outcome:?}");
    assert!(outcome.err.contains("does not understand frobnicate"), "{}", outcome.err);
    assert!(outcome.err.contains("program.st:4"), "{}", outcome.err);
}

#[test]
fn a_caller_who_goes_away_cancels_its_fiber() {
    let server = Server::of_scheme(
        "scheme:seen ← DictStore store.\n\
         scheme Site {\n\
         \x20   /wait { get {\n\
         \x20       seen:started ← 'yes'.\n\
         \x20       { runLoop runFor: 60. seen:finished ← 'yes'. }\n\
         \x20           ensure: { seen:ended ← 'yes'. }.\n\
         \x20   } }\n\
         \x20   /compute { get {\n\
         \x20       seen:computes ← 'yes'.\n\
         \x20       { { true } whileTrue: { }. } ensure: { seen:computed ← 'yes'. }.\n\
         \x20   } }\n\
         \x20   /seen/:name { get { seen:/{name} } }\n\
         }",
        300.0,
    );
    let seen = |name: &str| server.get(&format!("/seen/{name}")).text() == "yes";

    let mut connection = Connection::open(server.port).unwrap();
    connection.ask("GET", "/wait", &[], b"").unwrap();
    eventually("the handler runs", || seen("started"));
    assert!(!seen("ended"));
    drop(connection);
    eventually("ensure: has run", || seen("ended"));
    assert!(!seen("finished"));

    // One that computes ends too: the process comes to rest.
    let mut connection = Connection::open(server.port).unwrap();
    connection.ask("GET", "/compute", &[], b"").unwrap();
    eventually("the handler computes", || seen("computes"));
    drop(connection);
    eventually("ensure: has run", || seen("computed"));
    if let Some(mut before) = server.process.processor_time() {
        eventually("nothing computes any more", || {
            thread::sleep(Duration::from_millis(200));
            let now = server.process.processor_time().unwrap();
            let rests = now - before <= 2;
            before = now;
            rests
        });
    }
}

#[test]
fn what_an_ended_fiber_cleans_up_may_wait() {
    let server = Server::of_scheme(
        "scheme Site {\n\
         \x20   /left { get {\n\
         \x20       { file:started.txt ← 'yes'. runLoop runFor: 60. } ensure: { file:left.txt ← 'x'. }.\n\
         \x20   } }\n\
         \x20   /late { get {\n\
         \x20       { runLoop runFor: 60. } ensure: { runLoop runFor: 0.05. file:late.txt ← 'x'. }.\n\
         \x20   } }\n\
         \x20   /busy { get { { { true } whileTrue: { }. } ensure: { file:busy.txt ← 'x'. }. } }\n\
         }",
        1.0,
    );
    let exists = |name: &str| server.folder.path(name).exists();
    let mut connection = Connection::open(server.port).unwrap();
    connection.ask("GET", "/left", &[], b"").unwrap();
    eventually("the handler runs", || exists("started.txt"));
    drop(connection);
    eventually("a file is written after the caller left", || exists("left.txt"));
    assert_eq!(server.get("/late").status, 504);
    eventually("a file is written after the deadline", || exists("late.txt"));
    assert_eq!(server.get("/busy").status, 504);
    eventually("a file is written after computing was ended", || exists("busy.txt"));
}

#[test]
fn an_ended_fiber_takes_its_children_with_it() {
    let server = Server::of_scheme(
        "scheme:seen ← DictStore store.\n\
         scheme Site {\n\
         \x20   /both { get { [ { self child: 'a' }, { self child: 'b' } ] concurrently. } }\n\
         \x20   /limited { get { { self child: 'c' } timeout: 100 seconds. } }\n\
         \x20   /seen/:name { get { seen:/{name} } }\n\
         \x20   -child: name {\n\
         \x20       seen:/{name} ← 'runs'.\n\
         \x20       { runLoop runFor: 100. } ensure: { seen:/{name} ← 'ended'. }.\n\
         \x20   }\n\
         }",
        300.0,
    );
    let seen = |name: &str, text: &str| server.get(&format!("/seen/{name}")).text() == text;
    for (path, children) in [("/both", &["a", "b"][..]), ("/limited", &["c"])] {
        let mut connection = Connection::open(server.port).unwrap();
        connection.ask("GET", path, &[], b"").unwrap();
        for child in children {
            eventually("the child runs", || seen(child, "runs"));
        }
        drop(connection);
        for child in children {
            eventually("the child has ended", || seen(child, "ended"));
        }
    }
}

#[test]
fn a_scheme_behind_a_native_store_is_interrupted_like_others() {
    let server = Server::of_scheme(
        "scheme Inner {\n\
         \x20   /loop { get { { true } whileTrue: { }. } }\n\
         \x20   /wait { get { runLoop runFor: 0.05. 'waited' } }\n\
         }\n\
         scheme:inner ← #Inner{}.\n\
         scheme:cached ← CachingStore storeWithSource: scheme:inner.\n\
         scheme:json ← #JSONConverter{} → scheme:inner.\n\
         scheme Site {\n\
         \x20   /cached { get { cached:loop } }\n\
         \x20   /json { get { json:loop } }\n\
         \x20   /after { get { cached:wait. { true } whileTrue: { }. } }\n\
         \x20   /wait { get { cached:wait } }\n\
         }",
        1.0,
    );
    for path in ["/cached", "/json", "/after"] {
        let mut endless = Connection::open(server.port).unwrap();
        endless.ask("GET", path, &[], b"").unwrap();
        assert_eq!(server.get("/wait").text(), "waited", "beside {path}");
        assert_eq!(endless.answer("GET").unwrap().status, 504, "{path}");
    }
}

/// Starting a server looks whether loops can be interrupted, by a deadline that has passed. It is
/// not the deadline of the program: that one may wait longer than any grace.
#[test]
fn a_program_that_serves_has_no_deadline() {
    let source = "#HTTPServer{ port: 0, scheme: #SiteMap{ a: 'b' } } start. \
                  runLoop runFor: 5.5. 'still here'";
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_runnel"))
        .args(["-e", source])
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "still here\n");
}

#[test]
fn what_a_request_started_ends_when_its_caller_goes_away() {
    let server = Server::of_scheme(
        "scheme:seen ← DictStore store.\n\
         scheme Site {\n\
         \x20   /start { get {\n\
         \x20       { { seen:begun ← 'yes'. runLoop runFor: 60 } ensure: { seen:child ← 'ended' } } fork.\n\
         \x20       seen:started ← 'yes'.\n\
         \x20       runLoop runFor: 60.\n\
         \x20   } }\n\
         \x20   /leave { get {\n\
         \x20       { runLoop runFor: 0.05. seen:left ← 'went on' } fork.\n\
         \x20       'answered'\n\
         \x20   } }\n\
         \x20   /seen/:name { get { seen:/{name} } }\n\
         }",
        300.0,
    );
    let seen = |name: &str| server.get(&format!("/seen/{name}")).text();
    let mut connection = Connection::open(server.port).unwrap();
    connection.ask("GET", "/start", &[], b"").unwrap();
    eventually("the handler runs", || seen("started") == "yes");
    eventually("its child runs", || seen("begun") == "yes");
    drop(connection);
    eventually("what it started has ended", || seen("child") == "ended");

    // What a handler that came to its end has started goes on.
    assert_eq!(server.get("/leave").text(), "answered");
    eventually("it goes on", || seen("left") == "went on");
}
