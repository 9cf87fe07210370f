//! `runnel build`: one executable of this command, a program and its files.

use crate::commands::check;
use crate::console::Console;
use crate::exit_status::{CANNOT_CREATE, DATA, NO_INPUT, USAGE};
use crate::process::bundle::files::relative;
use crate::process::bundle::format::{self, Bundle, MOST_BYTES};
use crate::process::workers;
use crate::report::Report;
use runnel_runtime::compile::{SourceLoad, all_loads_of, static_files_of};
use std::collections::BTreeSet;
use std::fs::{File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// The most files of an executable.
const MOST_FILES: usize = 10_000;
/// The permissions of an executable.
const MODE: u32 = 0o755;

/// What `runnel build` was asked.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  runnel build main.st -o shop && ./shop sqlite:shop.db")]
pub(crate) struct Build {
    /// The program.
    file: PathBuf,
    /// The executable; the name of the program without its ending otherwise.
    #[arg(short, long, value_name = "OUT")]
    output: Option<PathBuf>,
    /// A file or folder that the program reads by `file:`, in the folder of the program or below.
    #[arg(long, value_name = "PATH")]
    include: Vec<PathBuf>,
    /// The port of a program whose result is served.
    #[arg(long, value_name = "PORT")]
    port: Option<u16>,
    /// Number of worker threads; `auto`: one for each core of the machine where it runs.
    #[arg(long, value_name = "N|auto", default_value = "1", value_parser = checked_count)]
    workers: String,
}

/// Why nothing was built: the message and the exit status.
type Refusal = (String, u8);

fn checked_count(text: &str) -> Result<String, String> {
    workers::count(text).map(|_| text.to_string())
}

/// Builds an executable; answers the exit status.
pub(crate) fn run(order: &Build, json: bool) -> u8 {
    match build(order, json) {
        Ok(message) => {
            Console::line(&message);
            0
        }
        Err((message, status)) => {
            if !message.is_empty() {
                Console::error(&message);
            }
            status
        }
    }
}

fn build(order: &Build, json: bool) -> Result<String, Refusal> {
    let is_built = File::open(&order.file).is_ok_and(|file| format::read(&file) != Ok(None));
    if is_built {
        let message = format!(
            "error: {} is an executable that `runnel build` has made\n  help: name the program itself",
            order.file.display()
        );
        return Err((message, DATA));
    }
    let mut content = BundleContent::of(&order.file)?;
    content.add_program(&order.file)?;
    let options = check::Options { lua: false, deny_warnings: false, fix: false };
    let status = check::run(&content.sources, &options, &Report::new(json));
    if status != 0 {
        return Err((String::new(), status));
    }
    content.add_static_files()?;
    for path in &order.include {
        content.include(path)?;
    }
    content.bundle.port = order.port;
    content.bundle.workers = order.workers.clone();
    let output = output(order)?;
    let size = write(&output, &content.bundle.to_bytes())
        .map_err(|why| (format!("error: {}: {why}", output.display()), CANNOT_CREATE))?;
    let (count, megabytes) = (content.bundle.files.len(), size as f64 / 1e6);
    let files = if count == 1 { "1 file" } else { &format!("{count} files") };
    Ok(format!("{}: {files}, {megabytes:.1} MB", output.display()))
}

/// The path of the executable, which is none of a folder or of the program.
fn output(order: &Build) -> Result<PathBuf, Refusal> {
    let path = match (&order.output, order.file.file_stem()) {
        (Some(path), _) => path.clone(),
        (None, Some(stem)) if order.file.extension().is_some() => PathBuf::from(stem),
        (None, _) => {
            let message = "error: name the executable: `runnel build FILE -o OUT`".to_string();
            return Err((message, USAGE));
        }
    };
    let is_program =
        path.canonicalize().is_ok_and(|one| Ok(one) == order.file.canonicalize().map_err(drop));
    if path.is_dir() || is_program {
        let what = if is_program { "the program itself" } else { "a folder" };
        let message = format!(
            "error: {} is {what}\n  help: name the executable: `runnel build FILE -o OUT`",
            path.display()
        );
        return Err((message, CANNOT_CREATE));
    }
    Ok(path)
}

/// What will be inside.
struct BundleContent {
    /// The folder of the program.
    folder: PathBuf,
    bundle: Bundle,
    /// The sources, where they are now.
    sources: Vec<PathBuf>,
    /// Files and folders that the program serves.
    served: BTreeSet<String>,
    size: u64,
}

impl BundleContent {
    fn of(program: &Path) -> Result<BundleContent, Refusal> {
        let Some(name) = program.file_name().and_then(|name| name.to_str()) else {
            let message = format!("error: {} is no program", program.display());
            return Err((message, NO_INPUT));
        };
        let folder = match program.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let bundle = Bundle { program: name.into(), ..Bundle::default() };
        Ok(BundleContent { folder, bundle, sources: Vec::new(), served: BTreeSet::new(), size: 0 })
    }

    /// The program and the files that it loads by name.
    fn add_program(&mut self, program: &Path) -> Result<(), Refusal> {
        let mut open = vec![(self.bundle.program.clone(), program.to_path_buf())];
        while let Some((name, path)) = open.pop() {
            if self.bundle.files.contains_key(&name) {
                continue;
            }
            let source = crate::run::read(&path)?;
            self.add(name.clone(), source.clone().into_bytes())?;
            let parsed = runnel_syntax::parse(&source).program;
            self.served.extend(static_files_of(&parsed));
            for load in all_loads_of(&parsed) {
                let SourceLoad::File(loaded) = load else {
                    Console::error(&format!(
                        "note: {}: what `load` names only while the program runs is read from the disk",
                        path.display()
                    ));
                    continue;
                };
                let parent = name.rfind('/').map_or("", |end| &name[..=end]);
                // An absolute path names a file of the machine.
                if let Some(inside) = relative(&format!("{parent}{loaded}"))
                    && !loaded.starts_with('/')
                {
                    let place = runnel_runtime::beside(&path.display().to_string(), &loaded);
                    open.push((inside, place.into()));
                }
            }
            self.sources.push(path);
        }
        Ok(())
    }

    /// What the program serves by `#StaticFiles{ } → ref:file:PATH`.
    fn add_static_files(&mut self) -> Result<(), Refusal> {
        for path in std::mem::take(&mut self.served) {
            let Some(name) = relative(&path) else { continue };
            let place = self.folder.join(&name);
            match place.exists() && !name.is_empty() {
                true => self.add_place(name, &place)?,
                false => Console::error(&format!(
                    "note: {} is not there, so the executable reads it where it runs",
                    place.display()
                )),
            }
        }
        Ok(())
    }

    /// What `--include` names.
    fn include(&mut self, path: &Path) -> Result<(), Refusal> {
        let missing = |error: std::io::Error| {
            (format!("error: {} cannot be read: {error}", path.display()), NO_INPUT)
        };
        let place = path.canonicalize().map_err(missing)?;
        let folder = self.folder.canonicalize().map_err(missing)?;
        let name = place.strip_prefix(&folder).ok().and_then(Path::to_str).unwrap_or_default();
        if name.is_empty() {
            let message = format!(
                "error: {} is not below the folder of the program\n  \
                 help: include files and folders beside the program, which it names by `file:`",
                path.display()
            );
            return Err((message, USAGE));
        }
        self.add_place(name.to_string(), &place)
    }

    /// A file, or all of a folder but hidden files.
    fn add_place(&mut self, name: String, place: &Path) -> Result<(), Refusal> {
        if place.is_dir() {
            self.bundle.folders.push(name.clone());
            self.bundle.folders.sort();
            self.bundle.folders.dedup();
        }
        let mut open = vec![(name, place.to_path_buf())];
        while let Some((name, place)) = open.pop() {
            let failed = |why: String| (format!("error: {}: {why}", place.display()), NO_INPUT);
            let facts = place.symlink_metadata().map_err(|error| failed(error.to_string()))?;
            if facts.is_dir() {
                for entry in std::fs::read_dir(&place).map_err(|error| failed(error.to_string()))? {
                    let entry = entry.map_err(|error| failed(error.to_string()))?.file_name();
                    let Some(entry) = entry.to_str() else {
                        return Err(failed(format!("{entry:?} is no UTF-8 text")));
                    };
                    if !entry.starts_with('.') {
                        open.push((format!("{name}/{entry}"), place.join(entry)));
                    }
                }
            } else if facts.is_file() {
                let bytes = std::fs::read(&place).map_err(|error| failed(error.to_string()))?;
                self.add(name, bytes)?;
            } else {
                return Err(failed(
                    "this is a link or a special file; copy the file itself".into(),
                ));
            }
        }
        Ok(())
    }

    fn add(&mut self, name: String, bytes: Vec<u8>) -> Result<(), Refusal> {
        self.size += bytes.len() as u64;
        self.bundle.files.insert(name, bytes.into());
        match self.bundle.files.len() > MOST_FILES || self.size > MOST_BYTES {
            true => {
                let message =
                    format!("error: an executable has at most {MOST_FILES} files and 1 GiB");
                Err((message, DATA))
            }
            false => Ok(()),
        }
    }
}

/// Writes this executable with bytes behind it, under its name at once; answers the size.
fn write(output: &Path, bytes: &[u8]) -> Result<u64, String> {
    let name =
        output.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let making = output.with_file_name(format!(".{name}.{}", std::process::id()));
    let mut own = format::open_executable().ok_or("this executable cannot be read")?;
    let written = (|| {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(MODE).open(&making)?;
        let size = std::io::copy(&mut own, &mut file)?;
        file.write_all(bytes)?;
        // Whatever the mask of the user is.
        file.set_permissions(Permissions::from_mode(MODE))?;
        file.sync_all()?;
        std::fs::rename(&making, output)?;
        Ok(size + bytes.len() as u64)
    })();
    written.map_err(|error: std::io::Error| {
        // It may not have been made.
        let _ = std::fs::remove_file(&making);
        error.to_string()
    })
}
