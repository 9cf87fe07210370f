//! `runnel test`: the `test` blocks of programs, and the examples in Markdown pages.
//!
//! Each section of a page and each program runs in a process of its own, with a folder of its own:
//! none can disturb another, and a part that hangs or crashes is an ordinary failure.

mod client;
mod conversation;
#[cfg(test)]
mod defaults;
mod expect;
mod host;
mod needs;
mod outcome;
mod page;
mod part;
mod shell;
mod source;
mod statement;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod units;

use crate::console::Console;
use futures_util::StreamExt;
use needs::Needs;
use outcome::{Edit, Failure, Test};
use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::rc::Rc;
use std::time::Duration;

pub(crate) use part::run as run_part;

/// How long a block, a command or a test may take.
pub(crate) const TIME: Duration = Duration::from_secs(20);
/// Folders in folders that are looked through.
const DEEPEST: usize = 16;
/// Processes at once.
const MOST_PROCESSES: usize = 8;
/// Lines of an expected or actual text that are shown.
const LINES_SHOWN: usize = 60;

fn took_too_long() -> String {
    format!("it took longer than {} seconds", TIME.as_secs())
}

/// A section of a page, or a program.
struct Job {
    path: PathBuf,
    section: Option<usize>,
    name: String,
    line: usize,
    /// How long it may take as a whole.
    time: Duration,
    needs: Rc<Needs>,
    /// The tests of a program that run.
    filter: Option<String>,
}

/// What the command line asks of `runnel test`.
pub(crate) struct Wish {
    /// Rewrite expectations instead of failing.
    bless: bool,
    /// Run the tests whose names contain this.
    filter: Option<String>,
    /// Show how long each test took.
    times: bool,
}

impl Wish {
    pub(crate) fn new(bless: bool, filter: Option<String>, times: bool) -> Wish {
        let asked = std::env::var_os("BLESS").is_some_and(|value| value == "1");
        Wish { bless: bless || asked, filter, times }
    }
}

/// Runs the tests of files and folders.
pub(crate) fn run(paths: &[PathBuf], wish: Wish) -> u8 {
    let spec = [PathBuf::from("spec")];
    let mut files = Vec::new();
    for path in if paths.is_empty() { &spec } else { paths } {
        if let Err(error) = collect(path, DEEPEST, &mut files) {
            Console::error(&format!("error: {} cannot be read: {error}", path.display()));
            return crate::exit_status::NO_INPUT;
        }
    }
    let mut jobs = Vec::new();
    let mut results = Results::default();
    for path in files {
        if let Err(failure) = add_jobs(&path, wish.filter.as_deref(), &mut jobs) {
            let (line, failures) = (failure.line, vec![failure]);
            results.add(&path, Test { name: "page".into(), line, failures, millis: 0 }, &wish);
        }
    }
    if let Err(message) = crate::event_loop::block_on(run_all(jobs, &wish, &mut results)) {
        Console::error(&format!("error: {message}"));
        return crate::exit_status::SOFTWARE;
    }
    results.finish()
}

/// The pages and programs at a path, in order of their names.
fn collect(path: &Path, deep: usize, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if !path.is_dir() {
        std::fs::metadata(path)?;
        files.push(path.to_path_buf());
        return Ok(());
    }
    let mut entries: Vec<PathBuf> =
        std::fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    entries.sort();
    for entry in entries {
        let hidden = entry.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let page = entry.extension().is_some_and(|ending| ending == "md");
        let ours = page || runnel_syntax::is_program(&entry);
        if !hidden && (ours || entry.is_dir()) && deep > 0 {
            collect(&entry, deep - 1, files)?;
        }
    }
    Ok(())
}

fn add_jobs(path: &Path, filter: Option<&str>, jobs: &mut Vec<Job>) -> Result<(), Failure> {
    let unreadable = |error: std::io::Error| Failure::plain(1, "unreadable", error.to_string());
    let absolute = std::path::absolute(path).map_err(unreadable)?;
    let page = path.extension().is_some_and(|ending| ending == "md");
    // What is no text is a failure of the program, which says where.
    let bytes = std::fs::read(path).map_err(unreadable)?;
    let text = String::from_utf8_lossy(&bytes);
    let needs = Needs::read(&text, path)
        .map_err(|(line, fault)| Failure::plain(line, "what is needed", fault))?;
    let missing = needs.missing();
    if !missing.is_empty() {
        Console::line(&format!("left out {}: without {}", shown(path), missing.join(", ")));
        return Ok(());
    }
    let needs = Rc::new(needs);
    if !page {
        let (name, time) = ("program".to_string(), TIME * 20);
        let filter = filter.map(String::from);
        jobs.push(Job { path: absolute, section: None, name, line: 1, time, needs, filter });
        return Ok(());
    }
    let sections = page::read(&text)
        .map_err(|(line, fault)| Failure::plain(line, "the page cannot be read", fault))?;
    for (number, section) in sections.into_iter().enumerate() {
        let time = TIME * (section.fences.len() as u32 + 1);
        let (section, name, line) = (Some(number), section.name, section.line);
        if filter.is_some_and(|wanted| !name.contains(wanted)) {
            continue;
        }
        let (path, needs) = (absolute.clone(), needs.clone());
        jobs.push(Job { path, section, name, line, time, needs, filter: None });
    }
    Ok(())
}

async fn run_all(jobs: Vec<Job>, wish: &Wish, results: &mut Results) {
    let total = jobs.len();
    let processes = std::thread::available_parallelism().map_or(1, |count| count.get());
    let mut running = futures_util::stream::iter(jobs.into_iter().enumerate().map(run_job))
        .buffered(processes.min(MOST_PROCESSES));
    let mut done = 0;
    while let Some((path, tests)) = running.next().await {
        done += 1;
        results.progress(done, total, &path);
        for test in tests {
            results.add(&path, test, wish);
        }
    }
}

/// Runs one job in a process of its own. A section has a fresh folder, a program runs where it
/// lies.
async fn run_job((number, job): (usize, Job)) -> (PathBuf, Vec<Test>) {
    let failed = |what: String| {
        let failures = vec![Failure::plain(job.line, "no result", what)];
        vec![Test { name: job.name.clone(), line: job.line, failures, millis: 0 }]
    };
    let folder = job
        .section
        .map(|_| std::env::temp_dir().join(format!("runnel-test-{}-{number}", std::process::id())));
    if let Some(folder) = &folder
        && let Err(error) = std::fs::create_dir(folder)
    {
        return (job.path.clone(), failed(format!("{}: {error}", folder.display())));
    }
    let place = folder.as_deref().or(job.path.parent()).unwrap_or(Path::new("."));
    let tests = match start(&job, place).await {
        Ok(output) => {
            outcome::read(&String::from_utf8_lossy(&output.stdout)).unwrap_or_else(|| {
                let said = String::from_utf8_lossy(&output.stderr);
                failed(format!("the process ended with {}\n{said}", output.status))
            })
        }
        Err(message) => failed(message),
    };
    if let Some(folder) = &folder {
        // A process that a test left behind may still write here; the rest is not worth a failure.
        let _ = std::fs::remove_dir_all(folder);
    }
    (job.path, tests)
}

async fn start(job: &Job, folder: &Path) -> Result<std::process::Output, String> {
    let executable = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = tokio::process::Command::new(executable);
    command.arg("test-part").arg(&job.path).args(job.section.map(|number| number.to_string()));
    if let Some(filter) = &job.filter {
        command.arg("--filter").arg(filter);
    }
    // A page may run this command itself; what is asked of us is not asked of it.
    command.env_remove("BLESS").envs(job.needs.environment().await?);
    command.current_dir(folder).stdin(Stdio::null()).kill_on_drop(true);
    match tokio::time::timeout(job.time, command.output()).await {
        Ok(output) => output.map_err(|error| error.to_string()),
        Err(_) => Err(format!("it took longer than {} seconds", job.time.as_secs())),
    }
}

/// The results so far.
#[derive(Default)]
struct Results {
    passed: usize,
    failed: usize,
    edits: BTreeMap<PathBuf, Vec<Edit>>,
    progress_shown: bool,
}

impl Results {
    fn add(&mut self, path: &Path, test: Test, wish: &Wish) {
        let (mended, failures): (Vec<Failure>, Vec<Failure>) =
            test.failures.into_iter().partition(|one| wish.bless && one.edit.is_some());
        let edits = mended.into_iter().filter_map(|one| one.edit);
        self.edits.entry(path.to_path_buf()).or_default().extend(edits);
        let path = shown(path);
        if wish.times {
            self.clear_progress();
            Console::line(&format!("{:>6} ms  {path}:{}  {}", test.millis, test.line, test.name));
        }
        if failures.is_empty() {
            self.passed += 1;
            return;
        }
        self.failed += 1;
        self.clear_progress();
        for failure in failures {
            Console::line(&format!(
                "FAIL {path}:{}  {}: {}",
                failure.line, test.name, failure.what
            ));
            if !failure.expected.is_empty() {
                Console::line(&block("expected", &failure.expected));
            }
            if !failure.actual.is_empty() || !failure.expected.is_empty() {
                let title = if failure.expected.is_empty() { "" } else { "actual" };
                Console::line(&block(title, &failure.actual));
            }
        }
    }

    fn progress(&mut self, done: usize, total: usize, path: &Path) {
        if std::io::stdout().is_terminal() {
            self.clear_progress();
            Console::part(&format!("{done}/{total} {}", shown(path)));
            self.progress_shown = true;
        }
    }

    fn clear_progress(&mut self) {
        if std::mem::take(&mut self.progress_shown) {
            Console::part("\r\x1b[K");
        }
    }

    /// Writes blessed pages, and the closing line that programs read.
    fn finish(mut self) -> u8 {
        self.clear_progress();
        let mut status = u8::from(self.failed > 0);
        for (path, edits) in self.edits.iter().filter(|(_, edits)| !edits.is_empty()) {
            let written = std::fs::read_to_string(path)
                .and_then(|text| std::fs::write(path, outcome::apply(&text, edits)));
            match written {
                Ok(()) => Console::line(&format!("{} rewritten", shown(path))),
                Err(error) => {
                    Console::error(&format!("error: {} cannot be written: {error}", shown(path)));
                    status = 1;
                }
            }
        }
        if self.passed + self.failed == 0 {
            Console::error("error: there is nothing to test");
            status = 1;
        }
        Console::line(&format!("{} passed, {} failed", self.passed, self.failed));
        status
    }
}

/// A path as it is shown: from the current folder where it lies in it.
fn shown(path: &Path) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}

/// A text below a title, indented; beside it when it is one line.
fn block(title: &str, text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    if !title.is_empty() && lines.len() < 2 {
        return format!("  {title:>8}  {text}");
    }
    let mut out = if title.is_empty() { String::new() } else { format!("  {title:>8}\n") };
    for line in lines.iter().take(LINES_SHOWN) {
        out.push_str(&format!("    | {line}\n"));
    }
    if lines.len() > LINES_SHOWN {
        out.push_str(&format!("    | … and {} lines\n", lines.len() - LINES_SHOWN));
    }
    out.trim_end().to_string()
}
