//! Native windows and their browser fallback: programs of `examples/`, used as a user does.

use crate::support::browser::Browser;
use crate::support::display::Display;
use crate::support::{
    self, Folder, Process, eventually, eventually_or, examples, free_port, http, runnel,
};
use runnel_scratch::{Server, Service};
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a program may take to end after its last window was closed.
const ENDING: Duration = Duration::from_secs(1);

/// The tasks of the benchmark 7GUIs.
const SEVEN: [&str; 7] = ["counter", "temperature", "flight", "timer", "crud", "circle", "cells"];

/// What lets everybody read and write the objects of a bucket.
const PUBLIC: &str = r#"{"Version": "2012-10-17", "Statement": [
    {"Effect": "Allow", "Principal": "*", "Action": "s3:*", "Resource": "arn:aws:s3:::bucket1/*"}]}"#;

/// A program of `examples/`.
fn example(name: &str) -> Command {
    let mut command = runnel();
    command.arg(examples().join(name));
    command
}

/// The program of seed 000 with the address of another server.
fn tweet(folder: &Folder, port: u16) -> Command {
    let text = std::fs::read_to_string(examples().join("tweet.st")).unwrap();
    assert_eq!(text.lines().count(), 5);
    let text = text.replace("defiant.local:2345", &format!("127.0.0.1:{port}"));
    let mut command = runnel();
    command.arg(folder.write("tweet.st", text));
    command
}

#[test]
fn the_tweet_writes_what_is_typed_into_the_bucket() {
    let display = match Display::start() {
        Ok(display) => display,
        Err(reason) => return support::skip(&reason),
    };
    let Some(s3) = Server::for_test(Service::S3) else { return };
    let port = s3.port();
    assert_eq!(http::send(port, "PUT", "/bucket1", &[], b"").unwrap().status, 200);
    let allowed = http::send(port, "PUT", "/bucket1?policy", &[], PUBLIC.as_bytes());
    assert!(allowed.unwrap().status < 300);
    the_tweet_is_typed(&display, port);
}

#[test]
fn the_tweet_writes_into_our_own_server() {
    let display = match Display::start() {
        Ok(display) => display,
        Err(reason) => return support::skip(&reason),
    };
    let (folder, port) = (Folder::new(), support::free_port());
    let text = format!("#S3Server{{ port: {port} }} → #MemoryStore{{}} asScheme.");
    let mut process = Process::start(runnel().arg(folder.write("s3.st", text)));
    process.listens(port);
    assert_eq!(http::send(port, "PUT", "/bucket1", &[], b"").unwrap().status, 200);
    the_tweet_is_typed(&display, port);
}

/// Types twice into the window of the tweet, looks into the bucket, and closes the window.
fn the_tweet_is_typed(display: &Display, port: u16) {
    let folder = Folder::new();
    let mut command = tweet(&folder, port);
    display.of(&mut command);
    let mut program = Process::start(&mut command);
    let window = display.window("S3");
    let size = display.tool(&["getwindowgeometry", &window]);
    assert!(size.contains("200x105"), "{size}");

    for text in ["hello wörld", "again"] {
        display.enter(text);
        let stored = || http::get(port, "/bucket1/msg.txt").text();
        eventually_or(|| stored() == text, || format!("{} is not {text}", stored()));
    }

    let start = Instant::now();
    display.close(&window);
    assert_eq!(program.end(), 0, "{}", program.err());
    assert!(start.elapsed() < ENDING, "it took {:?}", start.elapsed());
}

#[test]
fn a_press_of_a_button_changes_the_window() {
    let display = match Display::start() {
        Ok(display) => display,
        Err(reason) => return support::skip(&reason),
    };
    let folder = Folder::new();
    let text = "count ← 0.\n\
        more ← #Button{ title: 'More', frame: (10 @ 10 extent: 100 @ 30), \
            click: { count ← count + 1. stdout println: count } }.\n\
        slow ← #Button{ title: 'Slow', frame: (10 @ 60 extent: 100 @ 30), \
            click: { end ← 3 seconds fromNow. { Date now < end } whileTrue: { }. stdout println: 'computed' } }.\n\
        #Window{ title: 'Buttons', frame: (0 @ 0 extent: 120 @ 100), views: [ more, slow ] }";
    let mut command = runnel();
    command.arg(folder.write("buttons.st", text));
    display.of(&mut command);
    let mut program = Process::start(&mut command);
    let window = display.window("Buttons");
    display.click(&window, 60, 75);
    program.out_shows("1\n");
    display.click(&window, 60, 25);
    std::thread::sleep(Duration::from_millis(100));
    // A handler that computes holds up no other control.
    display.click(&window, 60, 75);
    program.out_shows("2\n");
    assert!(!program.out().contains("computed"));
    program.out_shows("computed");
    display.close(&window);
    assert_eq!(program.end(), 0, "{}", program.err());
}

#[test]
fn without_a_display_a_browser_shows_the_window() {
    let mut command = example("7guis-counter.st");
    command.env_remove("DISPLAY").env_remove("WAYLAND_DISPLAY").env_remove("GDK_BACKEND");
    let program = Process::start(&mut command);
    program.err_shows("no native window: there is no display");
    program.err_shows("serving on http://127.0.0.1:");
}

#[test]
fn the_7guis_do_what_their_tasks_say() {
    for name in SEVEN {
        let file = examples().join(format!("7guis-{name}.st"));
        let lines = std::fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines <= 60, "{name} has {lines} lines");
        let outcome = support::run(runnel().arg("test").arg(file));
        assert_eq!(outcome.status, 0, "{name}: {}", outcome.out);
    }
}

#[test]
fn a_port_shows_the_window_in_a_browser() {
    for name in SEVEN {
        let port = free_port();
        let mut command = runnel();
        command
            .args(["--port", &port.to_string()])
            .arg(examples().join(format!("7guis-{name}.st")));
        let mut program = Process::start(&mut command);
        program.listens(port);
        let page = http::get(port, "/");
        assert_eq!(page.status, 200, "{name}");
        assert!(page.text().contains("<main><div class=\"window\""), "{name}");
        eventually("it runs", || program.is_running());
        assert!(!program.err().contains("native"), "{}", program.err());
    }
}

/// A program of `examples/` in a browser.
fn in_browser(name: &str) -> Result<(Browser, Process, u16), String> {
    let browser = Browser::start()?;
    let port = free_port();
    let mut command = runnel();
    command.args(["--port", &port.to_string()]).arg(examples().join(format!("7guis-{name}.st")));
    let mut program = Process::start(&mut command);
    program.listens(port);
    browser.open(&format!("http://127.0.0.1:{port}/"));
    Ok((browser, program, port))
}

/// Waits until an expression of JavaScript has a value.
fn shows(browser: &Browser, expression: &str, value: &str) {
    let found = || browser.script(&format!("return String({expression})"));
    eventually_or(|| found() == value, || format!("{expression} is {}, not {value}", found()));
}

#[test]
fn fields_of_a_window_follow_each_other_in_a_browser() {
    let (browser, _program, port) = match in_browser("temperature") {
        Ok(started) => started,
        Err(reason) => return support::skip(&reason),
    };
    let field = |name: &str| format!("document.querySelector('[aria-label={name}]').value");
    browser.type_into("[aria-label=Celsius]", "100");
    shows(&browser, &field("Fahrenheit"), "212");
    assert_eq!(browser.script(&format!("return {}", field("Celsius"))), "100");
    // The window is one object: another browser sees the same.
    let other = Browser::start().unwrap();
    other.open(&format!("http://127.0.0.1:{port}/"));
    shows(&other, &field("Fahrenheit"), "212");
    other.type_into("[aria-label=Fahrenheit]", "\u{8}\u{8}\u{8}41");
    shows(&browser, &field("Celsius"), "5");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_list_is_edited_in_a_browser() {
    let (browser, _program, _) = match in_browser("crud") {
        Ok(started) => started,
        Err(reason) => return support::skip(&reason),
    };
    let rows =
        "[...document.querySelectorAll('tbody tr')].map((row) => row.innerText.trim()).join(';')";
    shows(&browser, rows, "Emil, Hans;Mustermann, Max;Tisch, Roman");
    browser.type_into("[aria-label=Name]", "Grace");
    browser.type_into("[aria-label=Surname]", "Hopper\n");
    browser.click("button:nth-of-type(1)");
    shows(&browser, rows, "Emil, Hans;Mustermann, Max;Tisch, Roman;Hopper, Grace");
    shows(&browser, "document.querySelectorAll('button:disabled').length", "2");
    browser.click("tbody tr:nth-child(2) input");
    shows(&browser, "document.querySelector('[aria-label=Name]').value", "Max");
    shows(&browser, "document.querySelectorAll('button:disabled').length", "0");
    browser.click("button:nth-of-type(3)");
    shows(&browser, rows, "Emil, Hans;Tisch, Roman;Hopper, Grace");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_drawing_is_pointed_at_in_a_browser() {
    let (browser, _program, _) = match in_browser("circle") {
        Ok(started) => started,
        Err(reason) => return support::skip(&reason),
    };
    let circles = "atob(document.querySelector('input[type=image]').src.split(',')[1]).split('<circle').length - 1";
    shows(&browser, circles, "0");
    browser.click("input[type=image]");
    shows(&browser, circles, "1");
    browser.click(".stack > .row > button:nth-of-type(3)");
    shows(&browser, "document.querySelectorAll('.window .window input[type=range]').length", "1");
    browser.click("[aria-label=Close]");
    shows(&browser, "document.querySelectorAll('.window .window').length", "0");
    browser.click(".stack > .row > button:nth-of-type(1)");
    browser.click(".stack > .row > button:nth-of-type(1)");
    shows(&browser, circles, "0");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}
