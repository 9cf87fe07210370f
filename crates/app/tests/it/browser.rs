//! The page of the tasks backend in a real browser, driven over WebDriver.

use crate::support;

use crate::support::browser::Browser;
use crate::support::{Folder, Process, eventually, eventually_or, examples, free_port, runnel};
use serde_json::{Value, json};

/// The titles in the list, in order, with `x` before those that are ticked.
fn list(browser: &Browser) -> Value {
    browser.script(
        "return [...document.querySelectorAll('#tasks li')].map((item) =>
            (item.querySelector('input').checked ? 'x ' : '') +
            item.querySelector('label').textContent);",
    )
}

/// Waits until the list shows these titles.
fn shows(browser: &Browser, titles: Value) {
    eventually_or(|| list(browser) == titles, || format!("{} is not {titles}", list(browser)));
}

#[test]
fn tasks_are_added_ticked_off_and_removed() {
    let browser = match Browser::start() {
        Ok(browser) => browser,
        Err(reason) => return support::skip(&reason),
    };
    let folder = Folder::new();
    let port = free_port();
    let mut command = runnel();
    command
        .args(["--port", &port.to_string()])
        .arg(examples().join("tasks.st"))
        .arg(format!("sqlite:{}", folder.path("tasks.db").display()));
    let mut backend = Process::start(&mut command);
    backend.listens(port);
    let stored = || support::http::get(port, "/tasks").json();

    browser.open(&format!("http://127.0.0.1:{port}/"));
    assert_eq!(browser.script("return document.title"), "Tasks");
    shows(&browser, json!([]));
    eventually("nothing is open", || browser.script(OPEN) == "0");

    browser.type_into("#new [name=title]", "Clean Room\n");
    shows(&browser, json!(["Clean Room"]));
    browser.type_into("#new [name=title]", "<b>Check</b> & 'Twitter'\n");
    shows(&browser, json!(["Clean Room", "<b>Check</b> & 'Twitter'"]));
    eventually("two are open", || browser.script(OPEN) == "2");
    assert_eq!(
        stored(),
        json!([
            { "id": 1, "done": false, "title": "Clean Room" },
            { "id": 2, "done": false, "title": "<b>Check</b> & 'Twitter'" },
        ])
    );
    assert_eq!(browser.all("#tasks b").len(), 0, "a title is text, never markup");

    browser.click("#tasks li:nth-child(2) input");
    shows(&browser, json!(["Clean Room", "x <b>Check</b> & 'Twitter'"]));
    eventually("one is open", || browser.script(OPEN) == "1");
    eventually("it is kept", || stored()[1]["done"] == true);

    browser.click("#tasks li:nth-child(1) button");
    shows(&browser, json!(["x <b>Check</b> & 'Twitter'"]));
    assert_eq!(stored(), json!([{ "id": 2, "done": true, "title": "<b>Check</b> & 'Twitter'" }]));

    browser.click("#tasks li:nth-child(1) input");
    shows(&browser, json!(["<b>Check</b> & 'Twitter'"]));
    eventually("it is kept", || stored()[0]["done"] == false);

    // Another visit shows the same.
    browser.open(&format!("http://127.0.0.1:{port}/"));
    shows(&browser, json!(["<b>Check</b> & 'Twitter'"]));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// How many tasks the page says are open.
const OPEN: &str = "return document.getElementById('open').textContent";
