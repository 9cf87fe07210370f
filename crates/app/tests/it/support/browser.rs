//! A real browser without a window, driven over WebDriver.

use super::http::send;
use super::{Folder, Process, eventually_or, free_port};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The key of an element's identifier in WebDriver's answers (W3C WebDriver, section 12.1).
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// A program of the search path.
fn found(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// A browser without a window.
pub(crate) struct Browser {
    port: u16,
    session: String,
    // The driver ends the browser when it is killed; its folder goes after it.
    _driver: Process,
    _profile: Folder,
}

impl Browser {
    /// Starts the browser; says why there is none.
    pub(crate) fn start() -> Result<Browser, String> {
        Browser::with(true)
    }

    /// Starts a browser that runs no script of a page.
    pub(crate) fn without_javascript() -> Result<Browser, String> {
        Browser::with(false)
    }

    fn with(javascript: bool) -> Result<Browser, String> {
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
        let mut options = json!({ "binary": browser, "args": arguments });
        if !javascript {
            options["prefs"] = json!({ "profile.managed_default_content_settings.javascript": 2 });
        }
        let wanted = json!({ "capabilities": { "alwaysMatch": {
            "browserName": "chrome",
            "goog:chromeOptions": options,
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        let answer = call(port, "POST", "/session", &wanted);
        let session = answer["sessionId"].as_str().unwrap_or_else(|| panic!("{answer}"));
        let session = format!("/session/{session}");
        Ok(Browser { port, session, _driver: driver, _profile: profile })
    }

    pub(crate) fn post(&self, command: &str, body: &Value) -> Value {
        call(self.port, "POST", &format!("{}{command}", self.session), body)
    }

    /// What a command answers that changes nothing, such as `/url`.
    pub(crate) fn get(&self, command: &str) -> Value {
        let target = format!("{}{command}", self.session);
        let reply = send(self.port, "GET", &target, &[], b"").unwrap();
        let value = reply.json()["value"].clone();
        assert_eq!(reply.status, 200, "{command}: {value}");
        value
    }

    /// What elements of a CSS selector are called by those who cannot see them (W3C WebDriver,
    /// section 12.4.8).
    pub(crate) fn labels(&self, selector: &str) -> Vec<String> {
        let label = |element: String| self.get(&format!("/element/{element}/computedlabel"));
        let text = |label: Value| label.as_str().unwrap_or_default().to_string();
        self.all(selector).into_iter().map(label).map(text).collect()
    }

    /// The visible texts of the elements of a CSS selector; none for those of a page that is being left.
    pub(crate) fn texts(&self, selector: &str) -> Vec<String> {
        let text = |element: String| {
            let target = format!("{}/element/{element}/text", self.session);
            let reply = send(self.port, "GET", &target, &[], b"").ok()?;
            let text = (reply.status == 200).then(|| reply.json()["value"].clone())?;
            Some(text.as_str()?.to_string())
        };
        self.all(selector).into_iter().filter_map(text).collect()
    }

    /// A command of the browser's own protocol.
    pub(crate) fn tell(&self, command: &str, parameters: Value) {
        self.post("/goog/cdp/execute", &json!({ "cmd": command, "params": parameters }));
    }

    /// The visible text of the one element of a selector.
    pub(crate) fn text(&self, selector: &str) -> String {
        let text = self.on_one(selector, "GET", "/text");
        text.as_str().unwrap_or_default().to_string()
    }

    pub(crate) fn open(&self, address: &str) {
        self.post("/url", &json!({ "url": address }));
    }

    /// The elements that a CSS selector finds.
    pub(crate) fn all(&self, selector: &str) -> Vec<String> {
        let found = self.post("/elements", &json!({ "using": "css selector", "value": selector }));
        let list = found.as_array().unwrap_or_else(|| panic!("{found}"));
        list.iter().map(|element| element[ELEMENT].as_str().unwrap().to_string()).collect()
    }

    /// The element that a CSS selector finds; a page that is still being loaded may take a while.
    pub(crate) fn one(&self, selector: &str) -> String {
        let mut all = Vec::new();
        eventually_or(
            || {
                all = self.all(selector);
                all.len() == 1
            },
            || format!("there is not one element {selector}"),
        );
        all.remove(0)
    }

    pub(crate) fn click(&self, selector: &str) {
        self.on_one(selector, "POST", "/click");
    }

    /// A command on the one element of a selector. One of a page that is just being left is looked
    /// for again on the next.
    fn on_one(&self, selector: &str, method: &str, command: &str) -> Value {
        let mut value = Value::Null;
        eventually_or(
            || {
                let target = format!("{}/element/{}{command}", self.session, self.one(selector));
                let body: &[u8] = if method == "GET" { b"" } else { b"{}" };
                let headers = [("Content-Type", "application/json")];
                let reply = send(self.port, method, &target, &headers, body).unwrap();
                value = reply.json()["value"].clone();
                let is_stale = value["error"] == "stale element reference";
                assert!(reply.status == 200 || is_stale, "{command} of {selector}: {value}");
                !is_stale
            },
            || format!("{command} of {selector} finds no page at rest"),
        );
        value
    }

    pub(crate) fn type_into(&self, selector: &str, text: &str) {
        let element = self.one(selector);
        self.post(&format!("/element/{element}/value"), &json!({ "text": text }));
    }

    /// What a piece of JavaScript answers.
    pub(crate) fn script(&self, source: &str) -> Value {
        self.post("/execute/sync", &json!({ "script": source, "args": [] }))
    }

    /// The serious problems that axe-core finds on the page; none where it is not installed.
    pub(crate) fn problems(&self) -> Option<Value> {
        self.violations("serious|critical")
    }

    /// The problems of some impacts (a regular expression) that axe-core finds on the page.
    pub(crate) fn violations(&self, impacts: &str) -> Option<Value> {
        let home = std::env::var_os("HOME")?;
        let file = Path::new(&home).join(".cache/runnel/node/node_modules/axe-core/axe.min.js");
        let axe = std::fs::read_to_string(file).ok()?;
        self.script(&axe);
        let found = self.post(
            "/execute/async",
            &json!({ "args": [impacts], "script":
                "const [impacts, done] = arguments;
                 axe.run().then(({ violations }) => done(violations
                   .filter(({ impact }) => new RegExp(impacts).test(impact))
                   .map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)])));" }),
        );
        Some(found)
    }

    /// What the page complained about, without what has one of these words.
    pub(crate) fn complaints_but(&self, words: &[&str]) -> Vec<String> {
        let mut all = self.complaints();
        all.retain(|one| !words.iter().any(|word| one.contains(word)));
        all
    }

    /// What the page complained about.
    pub(crate) fn complaints(&self) -> Vec<String> {
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
