//! The site that `site/build.st` makes: its links, weights, names and search, and what a browser thinks of it.

use crate::support::browser::Browser;
use crate::support::{self, Folder, Process, http, run, runnel};
use runnel_catalogue::TopicKind;
use runnel_catalogue::words::WORDS;
use runnel_store::Kind;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Bytes of a page, before it is compressed.
const HEAVIEST: usize = 100_000;

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

struct Site {
    folder: Folder,
    /// The pages by their path.
    pages: BTreeMap<String, String>,
}

impl Site {
    fn build() -> Site {
        let folder = Folder::new();
        let (reference, out) = (folder.path("reference"), folder.path("site"));
        let mut write = runnel();
        write.args(["doc", "--markdown"]).arg(&reference);
        let mut build = runnel();
        build.current_dir(project()).arg("site/build.st").args([&out, &reference]);
        for command in [&mut write, &mut build] {
            let done = command.output().unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        }
        let mut pages = BTreeMap::new();
        read_pages(&out, &out, &mut pages);
        Site { folder, pages }
    }

    fn serve(&self) -> (Process, u16) {
        let port = support::free_port();
        let mut command = runnel();
        command.current_dir(project()).arg("site/serve.st");
        command.arg(self.folder.path("site"));
        let mut process = Process::start(command.arg(port.to_string()));
        process.listens(port);
        (process, port)
    }
}

fn read_pages(root: &Path, folder: &Path, pages: &mut BTreeMap<String, String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read_pages(root, &path, pages);
        } else if path.extension().is_some_and(|end| end == "html") {
            let name = path.strip_prefix(root).unwrap().to_string_lossy().into_owned();
            pages.insert(name, std::fs::read_to_string(&path).unwrap());
        }
    }
}

/// The values of an attribute in the tags of a page.
fn attributes<'a>(page: &'a str, name: &str) -> Vec<&'a str> {
    let mark = format!(" {name}=\"");
    let tags = page.split('<').skip(1).filter_map(|rest| rest.split('>').next());
    tags.filter_map(|tag| tag.split_once(mark.as_str())?.1.split('"').next()).collect()
}

/// A relative address as a path of the site.
fn resolved(page: &str, address: &str) -> String {
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in address.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            part => parts.push(part),
        }
    }
    parts.join("/")
}

/// What of a page is wrong: links and anchors that lead nowhere.
fn dead_links(site: &Site, page: &str, text: &str) -> Vec<String> {
    let mut dead = Vec::new();
    for address in [attributes(text, "href"), attributes(text, "src")].concat() {
        let repository = address.strip_prefix("https://github.com/runnel-lang/runnel/blob/main/");
        let is_dead = match repository {
            Some(file) => !project().join(file.split('#').next().unwrap()).exists(),
            None if address.contains(':') => false,
            None => {
                let (path, anchor) = address.split_once('#').unwrap_or((address, ""));
                let path = if path.is_empty() { page.to_owned() } else { resolved(page, path) };
                let file = site.folder.path("site").join(&path);
                let target = site.pages.get(&path);
                let has_anchor = anchor.is_empty()
                    || target.is_some_and(|text| attributes(text, "id").contains(&anchor));
                !file.is_file() || !has_anchor
            }
        };
        if is_dead {
            dead.push(format!("{page}: {address}"));
        }
    }
    dead
}

/// The id of a message in the page of its class.
fn message_id(message: &Value) -> String {
    let sign = if message["ofClass"] == true { '+' } else { '-' };
    let letters = message["selector"].as_str().unwrap().chars().map(|one| match one {
        ':' => "-".to_owned(),
        one if one.is_ascii_alphanumeric() => one.to_string(),
        one => format!("x{:x}", u32::from(one)),
    });
    format!("{sign}{}", letters.collect::<String>())
}

/// The first id that stands twice in a page, or a heading that skips a level.
fn structure_fault(page: &str, text: &str) -> Option<String> {
    let mut seen = BTreeSet::new();
    if let Some(twice) = attributes(text, "id").into_iter().find(|id| !seen.insert(*id)) {
        return Some(format!("{page}: the id {twice} stands twice"));
    }
    let levels = text.match_indices("<h").filter_map(|(at, _)| {
        let level = text[at + 2..].chars().next()?.to_digit(10)?;
        text[at + 3..].starts_with([' ', '>']).then_some(level)
    });
    let levels: Vec<u32> = levels.collect();
    let skips = levels.windows(2).find(|pair| pair[1] > pair[0] + 1)?;
    Some(format!("{page}: h{} follows h{}", skips[1], skips[0]))
}

fn compressed(text: &str) -> usize {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap().len()
}

/// The public names without an anchor in the reference.
fn missing_names(site: &Site) -> Vec<String> {
    let mut missing = Vec::new();
    let classes = run(runnel().args(["doc", "--json"]));
    for line in classes.out.lines() {
        let class: Value = serde_json::from_str(line).unwrap();
        let name = class["name"].as_str().unwrap();
        let page = site.pages.get(&format!("reference/{name}.html"));
        let ids: BTreeSet<&str> =
            page.into_iter().flat_map(|text| attributes(text, "id")).collect();
        let asked = run(runnel().args(["doc", "--json", &format!("#{name}")]));
        let subject: Value = serde_json::from_str(asked.out.lines().next().unwrap()).unwrap();
        assert_eq!(subject["kind"], "class", "{name}");
        let options: BTreeSet<&str> = subject["options"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|one| one["name"].as_str())
            .collect();
        let anchors = options.iter().map(|option| format!("option-{option}"));
        let messages = subject["messages"].as_array().unwrap().iter();
        // An option stands for its accessors.
        let messages = messages.filter(|message| {
            let selector = message["selector"].as_str().unwrap();
            let is_setter = selector.starts_with("set") && !options.is_empty();
            !is_setter && !options.contains(selector)
        });
        let wanted = anchors.chain(messages.map(message_id));
        missing.extend(
            wanted.filter(|id| !ids.contains(id.as_str())).map(|id| format!("{name} {id}")),
        );
    }
    assert!(classes.out.lines().count() > 200, "{}", classes.out);
    missing.extend(missing_words(site));
    missing
}

/// The id of a word, or that of a mark.
fn word_id(name: &str) -> String {
    match name.starts_with(|first: char| first.is_ascii_alphabetic()) {
        true => name.to_owned(),
        false => name.chars().map(|one| format!("x{:x}", u32::from(one))).collect(),
    }
}

/// The commands, findings, schemes, kinds of errors, names and words without an anchor.
fn missing_words(site: &Site) -> Vec<String> {
    let help = run(runnel().arg("--help")).out;
    let commands = help.split("Commands:\n").nth(1).unwrap().split("\n\n").next().unwrap();
    let commands = commands
        .lines()
        .filter(|line| !line.starts_with("   "))
        .filter_map(|line| line.split_whitespace().next());
    let commands: Vec<&str> = commands.filter(|name| *name != "help").collect();
    let findings: Vec<&str> = runnel_check::codes::CODES.iter().map(|code| code.name).collect();
    let table = project().join("crates/app/src/world/schemes.rs");
    let table = std::fs::read_to_string(table).unwrap();
    let schemes = table.split("scheme(\"").skip(1).filter_map(|rest| rest.split('"').next());
    let schemes: Vec<&str> = schemes.collect();
    assert!(
        commands.len() > 15 && findings.len() > 10 && schemes.len() > 10,
        "{commands:?} {schemes:?}"
    );
    let catalogue = runnel_runtime::catalogue();
    let of_language = catalogue.topics(TopicKind::Scheme).map(|topic| topic.name.as_str());
    let schemes: Vec<&str> = schemes.into_iter().chain(of_language).collect();
    let kinds = catalogue.topics(TopicKind::Error).map(|topic| topic.name.as_str());
    let kinds: Vec<String> =
        Kind::all().map(Kind::name).chain(kinds).map(str::to_lowercase).collect();
    let kinds: Vec<&str> = kinds.iter().map(String::as_str).collect();
    let names: Vec<String> =
        catalogue.topics(TopicKind::Name).map(|topic| topic.name.to_lowercase()).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let words: Vec<String> = WORDS.iter().map(|word| word_id(word.name)).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert!(kinds.len() > 30 && names.len() > 20 && words.len() > 40, "{kinds:?} {names:?}");
    let mut missing = Vec::new();
    for (page, names) in [
        ("commands", commands),
        ("findings", findings),
        ("schemes", schemes),
        ("errors", kinds),
        ("names", names),
        ("words", words),
    ] {
        let ids = attributes(&site.pages[&format!("reference/{page}.html")], "id");
        let absent = names.into_iter().filter(|name| !ids.contains(name));
        missing.extend(absent.map(|name| format!("{page} {name}")));
    }
    missing
}

#[test]
fn the_site_has_no_dead_link_and_every_public_name() {
    let site = Site::build();
    assert!(site.pages.len() > 350, "{} pages", site.pages.len());
    let mut wrong = Vec::new();
    let mut weights = Vec::new();
    for (page, text) in &site.pages {
        wrong.extend(dead_links(&site, page, text));
        let count = |mark: &str| text.matches(mark).count();
        let has_frame =
            count("<h1") == 1 && count("<main") == 1 && count("<html lang=\"en\">") == 1;
        if !has_frame || count("<title>") != 1 || !text.contains("name=\"viewport\"") {
            wrong.push(format!("{page}: {} h1, {} main", count("<h1"), count("<main")));
        }
        wrong.extend(structure_fault(page, text));
        weights.push((text.len(), page));
    }
    weights.sort_unstable();
    let heaviest: Vec<String> =
        weights.iter().rev().take(5).map(|(size, page)| format!("{size} {page}")).collect();
    let whole: usize = site.pages.values().map(|text| compressed(text)).sum();
    support::note(&format!("{} pages, {whole} bytes compressed; {heaviest:?}", weights.len()));
    wrong.extend(
        weights.iter().filter(|(size, _)| *size > HEAVIEST).map(|(_, page)| page.to_string()),
    );
    wrong.extend(missing_names(&site));
    let home = &site.pages["index.html"];
    assert!(home.contains("href=\"changelog.html\"") && site.pages.contains_key("changelog.html"));
    let unique: BTreeSet<String> = wrong.into_iter().collect();
    assert!(unique.is_empty(), "{unique:#?}");
}

#[test]
fn the_site_is_searched_with_and_without_a_script() {
    let site = Site::build();
    let (_process, port) = site.serve();
    let found = http::send(port, "GET", "/search.json?query=rate+limt", &[], b"").unwrap();
    let answer: Value = serde_json::from_slice(&found.body).unwrap();
    assert!(answer["found"][0]["url"].as_str().unwrap().contains("limit"), "{answer}");
    let page = http::send(port, "GET", "/search.html?q=%3Cb%3Ecookies", &[], b"").unwrap();
    let text = String::from_utf8_lossy(&page.body).into_owned();
    assert!(text.contains("&lt;b&gt;cookies") && !text.contains("<b>cookies"), "{text}");
    let page = http::send(port, "GET", "/search.html?q=cookies", &[], b"").unwrap();
    assert!(String::from_utf8_lossy(&page.body).contains("<ul class=\"results\">"));
    let nothing = http::send(port, "GET", "/search.json", &[], b"").unwrap();
    assert_eq!(nothing.body, br#"{"found":[]}"#);
    let browser = match Browser::start() {
        Ok(browser) => browser,
        Err(why) => return support::skip(&why),
    };
    let address = |path: &str| format!("http://127.0.0.1:{port}/{path}");
    browser.tell(
        "Emulation.setDeviceMetricsOverride",
        json!({ "width": 390, "height": 844, "deviceScaleFactor": 1, "mobile": true }),
    );
    for path in
        ["index.html", "docs/guides/first-hour.html", "reference/String.html", "benches/index.html"]
    {
        for scheme in ["light", "dark"] {
            let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
            browser.tell("Emulation.setEmulatedMedia", json!({ "features": features }));
            browser.open(&address(path));
            match browser.problems() {
                Some(problems) => assert_eq!(problems, json!([]), "{path} {scheme}"),
                None => return support::skip("axe-core is not installed"),
            }
            let overflow = "const page = document.documentElement;
                return page.scrollWidth - page.clientWidth;";
            assert_eq!(browser.script(overflow), 0, "{path} is wider than a phone");
        }
    }
    browser.open(&address("index.html"));
    browser.type_into("input[type=search]", "transactions");
    support::eventually("results while typing", || {
        browser.script("return document.querySelectorAll('.found a').length > 0") == json!(true)
    });
}

/// Milliseconds: the goal is 50 with all optimisations on a quiet machine.
const SLOWEST_P99: u128 = 250;

#[test]
fn the_search_of_the_site_is_quick() {
    let site = Site::build();
    let (_process, port) = site.serve();
    let index = std::fs::read_to_string(site.folder.path("site/search.json")).unwrap();
    let index: Value = serde_json::from_str(&index).unwrap();
    let mut connection = http::Connection::open(port).unwrap();
    let mut times = Vec::new();
    for entry in index.as_array().unwrap().iter().step_by(7) {
        let title = entry[2].as_str().unwrap();
        let words = title.split(|one: char| !one.is_ascii_alphanumeric());
        let word = words.max_by_key(|word| word.len()).unwrap_or_default();
        if word.len() < 3 {
            continue;
        }
        // A whole word, what is typed of it so far, and one with a typo.
        for query in [word, &word[..3], &word[1..]] {
            let start = std::time::Instant::now();
            let target = format!("/search.json?query={query}");
            let reply = connection.send("GET", &target, b"").unwrap();
            times.push(start.elapsed());
            assert_eq!(reply.status, 200, "{query}");
        }
    }
    times.sort_unstable();
    let (p50, p99) = (times[times.len() / 2], times[times.len() * 99 / 100]);
    support::note(&format!(
        "search of the site, {} queries: p50 {p50:?}, p99 {p99:?}",
        times.len()
    ));
    assert!(times.len() > 500 && p99.as_millis() < SLOWEST_P99, "{} queries, {p99:?}", times.len());
}
