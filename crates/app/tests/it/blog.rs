//! `examples/blog.st` in a real browser, with and without JavaScript, and what it refuses.

use crate::support::browser::Browser;
use crate::support::{Folder, Process, eventually_or, examples, free_port, runnel, skip};

struct Blog {
    port: u16,
    folder: Folder,
    process: Process,
}

impl Blog {
    fn start() -> Blog {
        let (folder, port) = (Folder::new(), free_port());
        let mut command = runnel();
        command.args(["--port", &port.to_string()]).arg(examples().join("blog.st"));
        command.arg(format!("sqlite:{}", folder.path("blog.db").display()));
        let mut process = Process::start(&mut command);
        process.listens(port);
        Blog { port, folder, process }
    }

    fn address(&self, path: &str) -> String {
        format!("http://localhost:{}{path}", self.port)
    }
}

/// Waits until an element contains a text: a form leads to another page.
fn shows(browser: &Browser, selector: &str, text: &str) {
    eventually_or(
        || browser.texts(selector).iter().any(|shown| shown.contains(text)),
        || format!("{selector} does not show {text}: {:?}", browser.texts("body")),
    );
}

/// A PNG of one pixel.
const PIXEL: &[u8] = &[
    0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, b'I', b'H', b'D', b'R', 0, 0, 0,
    1, 0, 0, 0, 1, 8, 6, 0, 0, 0, 0x1f, 0x15, 0xc4, 0x89, 0, 0, 0, 13, b'I', b'D', b'A', b'T',
    0x78, 0x9c, 0x63, 0xf8, 0xcf, 0xc0, 0xf0, 0x1f, 0, 5, 0, 1, 0xff, 0x56, 0xc7, 0x2f, 0x0d, 0, 0,
    0, 0, b'I', b'E', b'N', b'D', 0xae, 0x42, 0x60, 0x82,
];

/// A user signs up, posts, gets a refused form, comments, logs out and logs in again.
fn a_day(browser: &Browser) {
    let mut blog = Blog::start();
    browser.open(&blog.address("/new"));
    shows(browser, "h1", "Log in");
    browser.click("main a");
    shows(browser, "h1", "Sign up");
    browser.type_into("#name", "Ann <b>");
    browser.type_into("#email", "ann@example.org");
    browser.type_into("#password", "correct horse");
    browser.click("main button");
    shows(browser, "[role=status]", "Welcome, Ann <b>!");

    browser.open(&blog.address("/new"));
    browser.type_into("#title", "Hello <script>");
    browser.type_into("#text", "First line");
    let notes = blog.folder.write("notes.png", b"no picture at all");
    browser.type_into("#picture", &notes.display().to_string());
    browser.click("main button");
    shows(browser, "[role=alert]", "This is no picture.");
    assert_eq!(browser.all("#title").len(), 1);
    let picture = blog.folder.write("pixel.png", PIXEL);
    browser.type_into("#picture", &picture.display().to_string());
    browser.click("main button");
    shows(browser, "h1", "Hello <script>");
    assert_eq!(browser.all("main img").len(), 1);

    browser.type_into("#text", "Nice & short");
    browser.click("main .form:not(.inline) button");
    shows(browser, "main p", "Nice & short");
    browser.open(&blog.address("/admin"));
    shows(browser, "td", "ann@example.org");

    browser.click("header button");
    shows(browser, "header", "Log in");
    browser.open(&blog.address("/login"));
    browser.type_into("#email", "ann@example.org");
    browser.type_into("#password", "wrong horse");
    browser.click("main button");
    shows(browser, "[role=alert]", "The email or the password is wrong.");
    browser.type_into("#password", "correct horse");
    browser.click("main button");
    shows(browser, "h2", "Hello <script>");
    browser.click("h2 a");
    shows(browser, "h1", "Hello <script>");
    browser.click("main .inline button");
    shows(browser, "[role=status]", "The post is deleted.");
    shows(browser, ".empty", "Nothing is written yet.");
    assert!(blog.process.is_running(), "{}", blog.process.err());
}

#[test]
fn a_day_of_a_blog() {
    match Browser::start() {
        Ok(browser) => {
            a_day(&browser);
            if let Some(violations) = browser.violations("moderate|serious|critical") {
                assert_eq!(violations, serde_json::json!([]));
            }
        }
        Err(reason) => skip(&reason),
    }
}

#[test]
fn a_day_of_a_blog_without_javascript() {
    match Browser::without_javascript() {
        Ok(browser) => a_day(&browser),
        Err(reason) => skip(&reason),
    }
}
