//! The search page in a real browser, with JavaScript and without.

use crate::support;

use crate::support::browser::Browser;
use crate::support::{Folder, Process, eventually_or, examples, free_port, http, runnel};
use serde_json::{Value, json};
use std::path::Path;

/// 30 books with Alan in the title, and 20 by an Alan, 5 of which are both.
const PROGRAM: &str = r#"#-serve
books ← #SearchIndex{ name: 'books', title: #{}, author: #{} }.
1 to: 45 do: { :n |
    title ← n <= 30 ifTrue: { "Alan {n}" } ifFalse: { "Emma {n}" }.
    author ← n > 25 ifTrue: { 'Alan Poe' } ifFalse: { 'Jane' }.
    search:books/{n} ← #{ title: title, author: author }.
}.
page ← #SearchPage{
    index: books, title: 'Books', heading: 'title', subtitle: 'author', link: '/book/{id}', statistics: true
}.
page.
"#;

/// A served page.
struct Site {
    port: u16,
    process: Process,
    folder: Folder,
}

impl Site {
    fn start() -> Site {
        let folder = Folder::new();
        let program = folder.write("site.st", PROGRAM);
        Site::of(&program, folder)
    }

    fn of(program: &Path, folder: Folder) -> Site {
        let port = free_port();
        let mut command = runnel();
        command.args(["--port", &port.to_string()]).arg(program).current_dir(folder.path(""));
        let mut process = Process::start(&mut command);
        process.listens(port);
        Site { port, process, folder }
    }

    fn address(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }
}

/// Waits until a script answers this.
fn answers(browser: &Browser, script: &str, expected: Value) {
    eventually_or(
        || browser.script(script) == expected,
        || format!("{script} is {} and not {expected}", browser.script(script)),
    );
}

const COUNT: &str = "return document.getElementById('count').textContent";
const RESULTS: &str = "return document.querySelectorAll('#found section li').length";
const QUERY: &str = "return document.getElementById('q').value";
const PLACE: &str = "return location.pathname + location.search";

/// Elements whose text has less contrast than 4.5 to 1 (WCAG 2.2, success criterion 1.4.3).
const FAINT: &str = r"
    const numbers = (color) => color.match(/[\d.]+/g).map(Number);
    const light = (color) => {
        const [r, g, b] = numbers(color).map((part) => {
            const share = part / 255;
            return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const behind = (element) => {
        for (let one = element; one; one = one.parentElement) {
            const color = getComputedStyle(one).backgroundColor;
            if (numbers(color)[3] !== 0) return color;
        }
        return 'rgb(255, 255, 255)';
    };
    const shows = (element) => element.matches('input') ||
        [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    return [...document.querySelectorAll('body *')].filter(shows).filter((element) => {
        const svg = element.closest('svg');
        const style = getComputedStyle(element);
        const [a, b] = [light(svg ? style.fill : style.color), light(behind(element))];
        return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5;
    }).map((element) => element.outerHTML);
";

#[test]
fn people_search_choose_and_go_back() {
    let browser = match Browser::start() {
        Ok(browser) => browser,
        Err(reason) => return support::skip(&reason),
    };
    let site = Site::start();
    browser.open(&site.address());
    assert_eq!(browser.script("return document.title"), "Books");
    assert_eq!(browser.script("return document.activeElement.id"), "q");

    // Typing counts, and after a while shows, without a key that says so.
    browser.type_into("#q", "alan");
    answers(&browser, COUNT, json!("45 results"));
    answers(&browser, RESULTS, json!(20));
    answers(&browser, PLACE, json!("/?q=alan"));
    assert_eq!(browser.script("return document.title"), "alan \u{2013} Books");

    // Enter shows at once.
    browser.type_into("#q", " 4\n");
    answers(&browser, PLACE, json!("/?q=alan+4"));
    answers(&browser, COUNT, json!("7 results"));
    browser.post("/back", &json!({}));
    answers(&browser, QUERY, json!("alan"));
    answers(&browser, COUNT, json!("45 results"));

    let choices = browser.labels("#choices a");
    assert_eq!(choices, ["title alan 30", "author alan 20"]);
    browser.click("#choices li:nth-child(2) a");
    answers(&browser, QUERY, json!("author:alan"));
    answers(&browser, COUNT, json!("20 results"));
    answers(&browser, PLACE, json!("/?q=author%3Aalan"));
    answers(&browser, "return document.activeElement.id", json!("count"));
    browser.post("/back", &json!({}));
    answers(&browser, COUNT, json!("45 results"));
    answers(&browser, RESULTS, json!(20));
    browser.post("/forward", &json!({}));
    answers(&browser, COUNT, json!("20 results"));
    browser.post("/refresh", &json!({}));
    answers(&browser, QUERY, json!("author:alan"));
    answers(&browser, RESULTS, json!(20));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn more_results_follow_those_that_are_there() {
    let browser = match Browser::start() {
        Ok(browser) => browser,
        Err(reason) => return support::skip(&reason),
    };
    let site = Site::start();
    browser.open(&format!("{}?q=alan", site.address()));
    browser.click("#pages a[rel=next]");
    answers(&browser, RESULTS, json!(40));
    answers(&browser, COUNT, json!("45 results, 40 shown"));
    let focused = "const items = [...document.querySelectorAll('section li')];
        return items.indexOf(document.activeElement)";
    answers(&browser, focused, json!(20));
    browser.click("#pages a[rel=next]");
    answers(&browser, RESULTS, json!(45));
    assert_eq!(browser.all("#pages a").len(), 0);
    // Those of one interpretation stand together.
    let groups = "return [...document.querySelectorAll('section')].map(
        (section) => section.querySelectorAll('li').length)";
    assert_eq!(browser.script(groups), json!([30, 15]));
    let links = "return new Set([...document.querySelectorAll('h3 a')].map((a) => a.href)).size";
    assert_eq!(browser.script(links), json!(45));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn what_was_asked_last_counts() {
    let browser = match Browser::start() {
        Ok(browser) => browser,
        Err(reason) => return support::skip(&reason),
    };
    let site = Site::start();
    browser.open(&site.address());
    // The first question is never answered.
    browser.script(
        "const real = window.fetch;
         window.asked = [];
         window.fetch = (address, options) => {
             window.asked.push(String(address));
             if (window.asked.length > 1) return real(address, options);
             return new Promise((_, refuse) => options.signal.addEventListener('abort', () => {
                 window.aborted = true;
                 refuse(options.signal.reason);
             }));
         };",
    );
    browser.type_into("#q", "em");
    answers(&browser, "return window.asked.length > 0", json!(true));
    browser.type_into("#q", "ma");
    answers(&browser, COUNT, json!("15 results"));
    assert_eq!(browser.script("return window.aborted"), json!(true));
    answers(&browser, RESULTS, json!(15));
    // Typing on replaces what the pause has shown, so that one step leads back to the beginning.
    browser.type_into("#q", " 4");
    answers(&browser, PLACE, json!("/?q=emma+4"));
    answers(&browser, RESULTS, json!(6));
    browser.post("/back", &json!({}));
    answers(&browser, QUERY, json!(""));
    answers(&browser, RESULTS, json!(0));
    assert_eq!(browser.script(COUNT), "");

    browser.script("window.fetch = () => Promise.reject(new Error('no'));");
    browser.type_into("#q", "jane");
    answers(&browser, COUNT, json!("The search does not answer. Try again."));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn everybody_can_use_the_page() {
    let browser = match Browser::start() {
        Ok(browser) => browser,
        Err(reason) => return support::skip(&reason),
    };
    let site = Site::start();
    for path in ["?q=alan", "?q=alan&page=2", "?q=zzz", "", "statistics"] {
        browser.open(&format!("{}{path}", site.address()));
        for scheme in ["light", "dark"] {
            let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
            browser.tell("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
            assert_eq!(browser.script(FAINT), json!([]), "{path} {scheme}");
        }
        let controls = "a, button, input, summary, nav, svg";
        let names = browser.labels(controls);
        assert!(names.iter().all(|name| !name.is_empty()), "{path}: {names:?}");
        let narrow =
            json!({ "width": 320, "height": 640, "deviceScaleFactor": 1, "mobile": false });
        browser.tell("Emulation.setDeviceMetricsOverride", narrow);
        let width = "return document.documentElement.scrollWidth";
        assert!(browser.script(width).as_u64() <= Some(320), "{path}");
        browser.tell("Emulation.clearDeviceMetricsOverride", json!({}));
        assert_eq!(browser.script("return document.documentElement.lang"), "en");
    }
    // What has the focus is seen.
    browser.open(&format!("{}?q=alan", site.address()));
    browser.type_into("#q", "\u{e004}");
    let outline = "return getComputedStyle(document.activeElement).outlineStyle";
    assert_eq!(browser.script("return document.activeElement.tagName"), "BUTTON");
    assert_eq!(browser.script(outline), "solid");
    let role = browser.get(&format!("/element/{}/computedrole", browser.one("#count")));
    assert_eq!(role, "status");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn all_of_it_works_without_javascript() {
    let browser = match Browser::without_javascript() {
        Ok(browser) => browser,
        Err(reason) => return support::skip(&reason),
    };
    let site = Site::start();
    let loads = |query: &str| {
        let address = format!("{}{query}", site.address());
        let there = || browser.get("/url") == address && browser.all("#found").len() == 1;
        eventually_or(there, || format!("{} is not {address}", browser.get("/url")));
    };
    browser.open(&site.address());
    browser.type_into("#q", "alan");
    browser.click("form button");
    loads("?q=alan");
    assert_eq!(browser.text("#count"), "45 results");
    assert_eq!(browser.all("section li").len(), 20);
    browser.click("#pages a[rel=next]");
    loads("?q=alan&page=2");
    assert_eq!(browser.text("#pages span"), "Page 2 of 3");
    browser.post("/back", &json!({}));
    loads("?q=alan");
    browser.click("#choices li:nth-child(2) a");
    loads("?q=author%3Aalan&via=choice");
    assert_eq!(browser.text("#count"), "20 results");
    assert_eq!(browser.get("/title"), "author:alan \u{2013} Books");
}

/// Tags of a text, without those that are known.
fn other_tags<'a>(text: &'a str, known: &[&str]) -> Vec<&'a str> {
    let tags = text
        .split('<')
        .skip(1)
        .map(|after| after.trim_start_matches('/').split([' ', '>']).next().unwrap_or_default());
    tags.filter(|tag| !known.contains(tag)).collect()
}

#[test]
fn whatever_is_in_a_document_or_a_query_stays_text() {
    let folder = Folder::new();
    let program = folder.write(
        "site.st",
        "#-serve\n\
         books ← #SearchIndex{ name: 'books', title: #{}, author: #{} }.\n\
         text ← '<script>alert(1)</script>\"\\'&\\u{0}</h3></mark> alan'.\n\
         search:books/1 ← #{ title: text, author: text, url: 'javascript:alert(1)' }.\n\
         search:books/2 ← #{ title: 'alan', author: text, url: '/\"><b>' }.\n\
         #SearchPage{ index: books, heading: 'title', subtitle: 'author', text: 'title', link: 'url' }.\n",
    );
    let site = Site::of(&program, folder);
    let page = http::get(site.port, "/?q=alan").text();
    assert_eq!(page.matches("<script").count(), 1, "{page}");
    let escaped = "&lt;script&gt;alert(1)&lt;/script&gt;";
    assert!(page.contains(escaped) && page.contains('\u{fffd}'), "{page}");
    let found = page.split("id=\"found\"").nth(1).unwrap();
    let known =
        ["div", "section", "h2", "b", "ol", "li", "h3", "a", "p", "mark", "main", "body", "html"];
    assert_eq!(other_tags(found, &known), Vec::<&str>::new(), "{page}");
    assert!(!page.contains("javascript:") && !page.contains("<b>\""), "{page}");
    let page = http::get(site.port, "/?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E%00").text();
    assert_eq!(page.matches("<script").count(), 1, "{page}");
    assert!(page.contains("No results"), "{page}");
}

#[test]
fn a_page_speaks_its_language_and_unfolds_many_interpretations() {
    let folder = Folder::new();
    let program = folder.write(
        "site.st",
        "#-serve\n\
         books ← #SearchIndex{ name: 'books', title: #{}, author: #{} }.\n\
         1 to: 20 do: { :n | search:books/{n} ← #{ title: 'a b c', author: 'a b c' } }.\n\
         #SearchPage{ index: books, title: 'Texte', language: 'de', ids: 10 }.\n",
    );
    let site = Site::of(&program, folder);
    let page = http::get(site.port, "/?q=a+b+c").text();
    for part in [
        "<html lang=\"de\">",
        "20 Treffer",
        "Was ist gemeint?",
        "<span class=\"quiet\">Seite 1 von 2",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("results") && !page.contains(">Search<"), "{page}");
    let (visible, hidden) = page.split_once("<details>").unwrap();
    assert_eq!(visible.matches("via=choice").count(), 3);
    assert_eq!(hidden.matches("via=choice").count(), 5);
    assert!(hidden.contains("<summary>5 weitere</summary>"), "{hidden}");
}

#[test]
fn the_library_is_searched_by_its_readers() {
    let site = Site::of(&examples().join("library.st"), Folder::new());
    let page = http::get(site.port, "/?q=prejudise").text();
    assert!(page.contains("1 result</p>") && page.contains("Pride and <mark>Prejudice"), "{page}");
    let page = http::get(site.port, "/?q=title:jane").text();
    assert!(page.contains("<mark>Jane</mark> Eyre"), "{page}");
    let live = http::get(site.port, "/live?query=jane").json();
    assert_eq!(live["total"], 5);
    assert!(http::get(site.port, "/statistics").text().contains("prejudise"));
}

/// Statistics of an index in a folder lie in that folder; the log is where the program says.
#[test]
fn statistics_and_the_log_stay_when_a_site_starts_again() {
    let folder = Folder::new();
    let kept = folder.path("kept").join("statistics-Books.json");
    let program = PROGRAM
        .replace("name: 'books',", "name: 'books', path: 'kept',")
        .replace("statistics: true", "statistics: true, log: 'queries.log', logFormat: 'json'");
    let program = folder.write("site.st", program);
    let mut site = Site::of(&program, folder);
    http::get(site.port, "/?q=emma");
    site.process.signal("TERM");
    site.process.end();
    assert!(kept.is_file(), "{} is not there", kept.display());
    let Site { folder, .. } = site;
    let log = std::fs::read_to_string(folder.path("queries.log")).unwrap();
    let line: Value = serde_json::from_str(&log).unwrap();
    assert_eq!((&line["query"], &line["total"]), (&json!("emma"), &json!(15)));
    let site = Site::of(&program, folder);
    let counted = http::get(site.port, "/statistics.json").json();
    assert_eq!(counted["queries"][0][0], "emma");
}
