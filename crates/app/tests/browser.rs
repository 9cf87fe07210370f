//! The page of the tasks backend in a real browser, driven over WebDriver.
#![allow(clippy::unwrap_used)]

mod support;

use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;
use support::http::send;
use support::{Folder, Process, eventually, eventually_or, examples, free_port, runnel};

/// The key of an element's identifier in WebDriver's answers (W3C WebDriver, section 12.1).
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A program of the search path.
fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// A browser without a window.
struct Browser {
    port: u16,
    session: String,
    // The driver ends the browser when it is killed; its folder goes after it.
    _driver: Process,
    _profile: Folder,
}

impl Browser {
    /// Starts the browser; says why there is none.
    fn start() -> Result<Browser, String> {
        let browser = ["chromium", "chromium-browser", "google-chrome"]
            .into_iter()
            .find_map(found)
            .ok_or("no chromium is installed")?;
        let driver = found("chromedriver").ok_or("no chromedriver is installed")?;
        let port = free_port();
        let profile = Folder::new();
        let mut command = Command::new(driver);
        command.arg(format!("--port={port}")).env("TMPDIR", profile.path(""));
        let mut driver = Process::start(&mut command);
        driver.listens(port);
        let arguments = [
            "--headless".to_string(),
            "--no-sandbox".into(),
            "--disable-gpu".into(),
            "--disable-quic".into(),
            "--disable-dev-shm-usage".into(),
            "--no-first-run".into(),
            "--disable-background-networking".into(),
            "--disable-component-update".into(),
            "--disable-sync".into(),
            format!("--user-data-dir={}", profile.path("profile").display()),
        ];
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": { "binary": browser, "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let answer = call(port, "POST", "/session", &wanted);
        let session = answer["sessionId"].as_str().unwrap_or_else(|| panic!("{answer}"));
        let session = format!("/session/{session}");
        Ok(Browser { port, session, _driver: driver, _profile: profile })
    }

    fn post(&self, command: &str, body: &Value) -> Value {
        call(self.port, "POST", &format!("{}{command}", self.session), body)
    }

    fn open(&self, address: &str) {
        self.post("/url", &json!({ "url": address }));
    }

    /// The elements that a CSS selector finds.
    fn all(&self, selector: &str) -> Vec<String> {
        let found = self.post("/elements", &json!({ "using": "css selector", "value": selector }));
        let list = found.as_array().unwrap_or_else(|| panic!("{found}"));
        list.iter().map(|element| element[ELEMENT].as_str().unwrap().to_string()).collect()
    }

    fn one(&self, selector: &str) -> String {
        let mut all = self.all(selector);
        assert_eq!(all.len(), 1, "{selector}");
        all.remove(0)
    }

    fn click(&self, selector: &str) {
        let element = self.one(selector);
        self.post(&format!("/element/{element}/click"), &json!({}));
    }

    fn type_into(&self, selector: &str, text: &str) {
        let element = self.one(selector);
        self.post(&format!("/element/{element}/value"), &json!({ "text": text }));
    }

    /// What a piece of JavaScript answers.
    fn script(&self, source: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": source, "args": [] }))
    }

    /// The titles in the list, in order, with `x` before those that are ticked.
    fn list(&self) -> Value {
        self.script(
            "return [...document.querySelectorAll('#tasks li')].map((item) =>
                (item.querySelector('input').checked ? 'x ' : '') +
                item.childNodes[2].textContent);",
        )
    }

    /// Waits until the list shows these titles.
    fn shows(&self, titles: Value) {
        eventually_or(|| self.list() == titles, || format!("{} is not {titles}", self.list()));
    }

    /// What the page complained about.
    fn complaints(&self) -> Vec<String> {
        let log = self.post("/se/log", &json!({ "type": "browser" }));
        let entries = log.as_array().unwrap_or_else(|| panic!("{log}"));
        entries
            .iter()
            .filter(|entry| entry["level"] == "SEVERE")
            .map(|entry| entry["message"].as_str().unwrap_or("").to_string())
            // The backend has no picture for the tab.
            .filter(|message| !message.contains("favicon.ico"))
            .collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Ends the browser; when that fails it ends with the driver.
        let _ = send(self.port, "DELETE", &self.session, &[], b"");
    }
}

/// A WebDriver command; its value.
fn call(port: u16, method: &str, target: &str, body: &Value) -> Value {
    let headers = [("Content-Type", "application/json")];
    let reply = send(port, method, target, &headers, body.to_string().as_bytes()).unwrap();
    let value = reply.json()["value"].clone();
    assert_eq!(reply.status, 200, "{target}: {value}");
    value
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
    browser.shows(json!([]));
    eventually("nothing is open", || browser.script(OPEN) == "0");

    browser.type_into("#new input", "Clean Room\n");
    browser.shows(json!(["Clean Room"]));
    browser.type_into("#new input", "<b>Check</b> & 'Twitter'\n");
    browser.shows(json!(["Clean Room", "<b>Check</b> & 'Twitter'"]));
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
    browser.shows(json!(["Clean Room", "x <b>Check</b> & 'Twitter'"]));
    eventually("one is open", || browser.script(OPEN) == "1");
    eventually("it is kept", || stored()[1]["done"] == true);

    browser.click("#tasks li:nth-child(1) button");
    browser.shows(json!(["x <b>Check</b> & 'Twitter'"]));
    assert_eq!(stored(), json!([{ "id": 2, "done": true, "title": "<b>Check</b> & 'Twitter'" }]));

    browser.click("#tasks li:nth-child(1) input");
    browser.shows(json!(["<b>Check</b> & 'Twitter'"]));
    eventually("it is kept", || stored()[0]["done"] == false);

    // Another visit shows the same.
    browser.open(&format!("http://127.0.0.1:{port}/"));
    browser.shows(json!(["<b>Check</b> & 'Twitter'"]));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// How many tasks the page says are open.
const OPEN: &str = "return document.getElementById('open').textContent";
