//! `runnel new`: each kind of project is made, checked, formatted, tested, run by its printed steps, and asked.

use crate::support::browser::Browser;
use crate::support::http::{Reply, get, send};
use crate::support::{Folder, Outcome, Process, eventually_or, free_port, run, runnel, skip};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The most files of a project.
const MOST_FILES: usize = 5;

/// A project in a folder that vanishes with the test.
struct Project {
    place: Folder,
    /// The commands that the command printed.
    steps: Vec<String>,
}

impl Project {
    fn new(kind: &str) -> Project {
        let place = Folder::new();
        let made = run(runnel().args(["new", kind, "my shop"]).current_dir(place.path("")));
        assert_eq!((made.status, made.err.as_str()), (0, ""), "{made:?}");
        let steps: Vec<String> =
            made.out.lines().filter_map(|line| line.strip_prefix("  ")).map(Into::into).collect();
        assert_eq!(steps.len(), 3, "{}", made.out);
        Project { place, steps }
    }

    fn folder(&self) -> PathBuf {
        self.place.path("my shop")
    }

    /// Runs the command in the folder of the project.
    fn run(&self, arguments: &[&str]) -> Outcome {
        run(runnel().args(arguments).current_dir(self.folder()))
    }

    /// A shell where the steps are typed, with the command under test as `runnel`.
    fn shell(&self, script: &str) -> Command {
        let program = PathBuf::from(runnel().get_program());
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(self.place.path(""));
        command.env("PATH", format!("{}:{path}", program.parent().unwrap().display()));
        command.env_remove("RUNNEL_LOG");
        command
    }

    /// Types all steps, with a free port instead of 8080; answers when the server serves.
    fn serve(&self) -> (Process, u16) {
        let port = free_port();
        let steps = self.steps.join(" && exec ").replace("&& exec runnel test", "&& runnel test");
        let mut command = self.shell(&steps.replace("8080", &port.to_string()));
        let mut process = Process::start(&mut command);
        process.err_shows("serving on");
        process.listens(port);
        assert!(process.out().contains(" passed, 0 failed"), "{}", process.out());
        (process, port)
    }

    /// What every project keeps: it is small, without findings, formatted and tested.
    fn is_sound(&self) {
        let files = files_below(&self.folder());
        assert!(files.len() <= MOST_FILES, "{files:?}");
        let checked = self.run(&["check", "--deny-warnings", "main.rnl"]);
        assert_eq!((checked.status, checked.err.as_str()), (0, ""), "{checked:?}");
        let formatted = self.run(&["fmt", "--check", "main.rnl"]);
        assert_eq!(formatted.status, 0, "{formatted:?}");
        let tested = self.run(&["test", "main.rnl"]);
        let is_tested = tested.out.trim_end().ends_with(" passed, 0 failed");
        assert!(tested.status == 0 && is_tested, "{tested:?}");
        assert!(!tested.out.starts_with("0 "), "{tested:?}");
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(files_below(&path)),
            false => files.push(path),
        }
    }
    files
}

/// A request with JSON, and the key of a user if there is one.
fn ask(port: u16, method: &str, path: &str, key: &str, content: &Value) -> Reply {
    let bearer = format!("Bearer {key}");
    let mut headers = vec![("Content-Type", "application/json")];
    if !key.is_empty() {
        headers.push(("Authorization", bearer.as_str()));
    }
    let body = if content.is_null() { String::new() } else { content.to_string() };
    send(port, method, path, &headers, body.as_bytes()).unwrap()
}

#[test]
fn an_api_checks_knows_its_users_and_is_documented() {
    let project = Project::new("api");
    project.is_sound();
    let (_server, port) = project.serve();
    let ann = json!({ "email": "ann@example.org", "password": "correct horse" });
    assert_eq!(ask(port, "POST", "/users", "", &ann).status, 201);
    assert_eq!(ask(port, "POST", "/users", "", &ann).status, 409);
    assert_eq!(ask(port, "POST", "/users", "", &json!({ "email": "ann" })).status, 422);
    let wrong = json!({ "email": "ann@example.org", "password": "wrong horse" });
    assert_eq!(ask(port, "POST", "/keys", "", &wrong).status, 401);
    let key = |person: &Value| {
        let reply = ask(port, "POST", "/keys", "", person);
        assert_eq!(reply.status, 201, "{}", reply.text());
        reply.json()["key"].as_str().unwrap().to_string()
    };
    let key_of_ann = key(&ann);
    assert_eq!(ask(port, "GET", "/tasks", "", &Value::Null).status, 401);
    let made = ask(port, "POST", "/tasks", &key_of_ann, &json!({ "title": "sow" }));
    assert_eq!((made.status, made.json()["id"].clone()), (201, json!(1)), "{}", made.text());
    let long = json!({ "title": "x".repeat(81) });
    assert_eq!(ask(port, "POST", "/tasks", &key_of_ann, &long).status, 422);
    let given = json!({ "title": "sow", "owner": 7 });
    assert_eq!(ask(port, "POST", "/tasks", &key_of_ann, &given).status, 422);
    let done = json!({ "done": true });
    assert_eq!(ask(port, "PATCH", "/tasks/1", &key_of_ann, &done).status, 204);
    assert_eq!(ask(port, "GET", "/tasks", &key_of_ann, &Value::Null).json()[0]["done"], true);

    let bob = json!({ "email": "bob@example.org", "password": "correct horse" });
    assert_eq!(ask(port, "POST", "/users", "", &bob).status, 201);
    let key_of_bob = key(&bob);
    assert_eq!(ask(port, "GET", "/tasks", &key_of_bob, &Value::Null).json(), json!([]));
    for method in ["GET", "DELETE"] {
        assert_eq!(ask(port, method, "/tasks/1", &key_of_bob, &Value::Null).status, 403);
    }
    assert_eq!(ask(port, "PATCH", "/tasks/1", &key_of_bob, &done).status, 403);
    assert_eq!(ask(port, "DELETE", "/tasks/1", &key_of_ann, &Value::Null).status, 204);

    let document = get(port, "/openapi.json").json();
    assert_eq!(document["info"]["title"], "Tasks");
    assert!(document["paths"]["/tasks/{id}"]["patch"].is_object(), "{document}");
    assert_eq!(get(port, "/docs").status, 200);
}

#[test]
fn the_commands_of_the_page_about_an_api_work() {
    let project = Project::new("api");
    let page = std::fs::read_to_string(project.folder().join("README.md")).unwrap();
    let block = page.split("```sh\n").nth(2).unwrap().split("```").next().unwrap();
    let (_server, port) = project.serve();
    let (first, others) = block.split_once('\n').unwrap();
    let mut key = "none".to_string();
    let mut answers = Vec::new();
    for line in others.lines() {
        let line = line.replace("8080", &port.to_string()).replace("KEY", &key);
        let answer = run(&mut project.shell(&format!("{first}; {line} -sS")));
        assert_eq!((answer.status, answer.err.as_str()), (0, ""), "{line}: {answer:?}");
        let answer: Value = serde_json::from_str(&answer.out).unwrap();
        if let Some(made) = answer["key"].as_str() {
            key = made.to_string();
        }
        answers.push(answer);
    }
    assert_eq!(answers[2]["title"], "sow", "{answers:?}");
    assert_eq!(answers[3][0]["title"], "sow", "{answers:?}");
}

/// The page at an address has no serious fault, and fits a phone: in light and in dark.
fn everybody_can_use(browser: &Browser, address: &str) {
    for scheme in ["light", "dark"] {
        let feature = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        browser.tell("Emulation.setEmulatedMedia", json!({ "features": feature }));
        browser.tell(
            "Emulation.setDeviceMetricsOverride",
            json!({ "width": 340, "height": 700, "deviceScaleFactor": 1, "mobile": true }),
        );
        browser.open(address);
        browser.one("h1");
        match browser.problems() {
            Some(problems) => assert_eq!(problems, json!([]), "{address}, {scheme}"),
            None => skip("axe-core is not installed"),
        }
        let overflow = "const page = document.documentElement;
            return page.scrollWidth - page.clientWidth;";
        assert_eq!(browser.script(overflow), 0, "{address} is wider than a phone");
    }
    let back = browser.script("return getComputedStyle(document.body).backgroundColor");
    assert_eq!(back, "rgb(20, 22, 26)", "{address} is dark where its reader wants it");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn a_site_has_pages_files_and_a_form() {
    let project = Project::new("site");
    project.is_sound();
    let (_server, port) = project.serve();
    let home = get(port, "/");
    assert!(home.status == 200 && home.text().contains("<h1>Welcome</h1>"), "{}", home.text());
    let style = get(port, "/static/site.css");
    assert_eq!(style.header("content-type"), Some("text/css; charset=utf-8"));
    assert_eq!(get(port, "/static/../main.rnl").status, 404);
    let form = [("Content-Type", "application/x-www-form-urlencoded")];
    let sign = |body: &str| send(port, "POST", "/guests", &form, body.as_bytes()).unwrap();
    assert_eq!(sign("name=Ann&text=").status, 422);
    assert_eq!(sign("name=Ann&text=%3Ci%3EHello").header("location"), Some("/guests"));
    let guests = get(port, "/guests").text();
    assert!(guests.contains("&lt;i&gt;Hello") && !guests.contains("<i>"), "{guests}");
    match Browser::start() {
        Ok(browser) => {
            everybody_can_use(&browser, &format!("http://127.0.0.1:{port}/"));
            everybody_can_use(&browser, &format!("http://127.0.0.1:{port}/guests"));
            browser.type_into("#name", "Bob");
            browser.type_into("#text", "From a browser");
            browser.click("form button");
            let shown = || browser.texts("article").concat();
            eventually_or(|| shown().contains("From a browser"), shown);
        }
        Err(reason) => skip(&reason),
    }
}

#[test]
fn a_live_page_shows_what_another_browser_adds() {
    let project = Project::new("live");
    project.is_sound();
    let (_server, port) = project.serve();
    let address = format!("http://127.0.0.1:{port}/");
    assert!(get(port, "/").text().contains("0 to buy"));
    let (one, other) = match (Browser::start(), Browser::start()) {
        (Ok(one), Ok(other)) => (one, other),
        (Err(reason), _) | (_, Err(reason)) => return skip(&reason),
    };
    everybody_can_use(&one, &address);
    one.open(&address);
    other.open(&address);
    one.type_into("[name=title]", "Bread & butter\n");
    let labels = || other.texts("li label").concat();
    eventually_or(|| labels() == "Bread & butter", labels);
    other.click("li input");
    eventually_or(|| one.text("header p") == "0 to buy", || one.text("header p"));
    everybody_can_use(&one, &address);
    one.click("li button");
    eventually_or(|| labels().is_empty(), labels);
}

#[test]
fn a_command_counts_words() {
    let project = Project::new("cli");
    project.is_sound();
    let shown = run(&mut project.shell(&project.steps.join(" && ")));
    assert_eq!((shown.status, shown.err.as_str()), (0, ""), "{shown:?}");
    let lines: Vec<&str> = shown.out.lines().collect();
    assert_eq!(lines.len(), 4, "the line of the tests, and three words: {shown:?}");
    let text = project.folder().join("text.txt");
    std::fs::write(&text, "Über uns, über alle: über").unwrap();
    let text = text.to_str().unwrap();
    let json = project.run(&["main.rnl", text, "--top", "1", "--json"]);
    assert_eq!(json.out, "[{\"word\":\"über\",\"count\":3}]\n");
    assert_eq!(project.run(&["main.rnl", text]).out, "     3  über\n     1  alle\n     1  uns\n");
    assert!(project.run(&["main.rnl", "--help"]).out.contains("usage: runnel main.rnl <file>"));
}

#[test]
fn nothing_is_overwritten() {
    let place = Folder::new();
    let new = |arguments: &[&str]| {
        let outcome = run(runnel().arg("new").args(arguments).current_dir(place.path("")));
        (outcome.status, outcome.err.lines().next().unwrap_or_default().to_string())
    };
    std::fs::create_dir(place.path("full")).unwrap();
    place.write("full/notes.txt", "mine");
    place.write("file", "mine");
    let failed = |message: &str| (73, format!("error: {message}"));
    assert_eq!(new(&["api", "full"]), failed("full is not empty: it has \"notes.txt\""));
    assert_eq!(new(&["api", "file"]), failed("file is a file"));
    assert_eq!(files_below(&place.path("full")), [place.path("full/notes.txt")]);
    // A repository without files is a folder for a project.
    std::fs::create_dir_all(place.path("repository/.git")).unwrap();
    assert_eq!(new(&["cli", "repository"]).0, 0);
    assert_eq!(new(&["cli", "repository"]).0, 73);
    let (status, message) = new(&["sit", "other"]);
    assert!(status == 64 && message.contains("invalid value 'sit'"), "{message}");
    for name in ["", "..", "/", "a\nb"] {
        assert_eq!(new(&["api", name]).0, 64, "{name:?}");
    }
    assert!(!place.path("other").exists());
}
