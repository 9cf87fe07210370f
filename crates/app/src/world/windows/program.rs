//! The executable that shows native windows: named, embedded, or beside the command.

use runnel_store::{Error, Kind};
use std::fmt;
use std::path::{Path, PathBuf};
#[cfg(target_os = "linux")]
use {
    flate2::read::GzDecoder,
    rustix::fs::{MemfdFlags, memfd_create},
    std::fs::File,
    std::os::fd::AsRawFd,
};

/// The variable that names the executable.
pub(super) const VARIABLE: &str = "RUNNEL_WINDOW";

const NAME: &str = "runnel-window";

/// The executable, compressed, where `build.rs` was given one; else nothing.
#[cfg(target_os = "linux")]
const EMBEDDED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/window-host.gz"));

/// An executable that can be started.
pub(super) enum HostProgram {
    Named(PathBuf),
    /// A file in memory.
    #[cfg(target_os = "linux")]
    Embedded(File),
}

impl HostProgram {
    /// Its path in a process that inherits the open files of this one.
    pub(super) fn path(&self) -> PathBuf {
        match self {
            HostProgram::Named(path) => path.clone(),
            #[cfg(target_os = "linux")]
            HostProgram::Embedded(file) => format!("/proc/self/fd/{}", file.as_raw_fd()).into(),
        }
    }
}

impl fmt::Display for HostProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            HostProgram::Named(path) => write!(f, "{}", path.display()),
            #[cfg(target_os = "linux")]
            HostProgram::Embedded(_) => write!(f, "{NAME} (embedded)"),
        }
    }
}

/// Finds the executable: what `RUNNEL_WINDOW` names, the embedded one, or the one beside the command.
///
/// # Errors
/// [`Kind::Unsupported`] with the places that were tried.
pub(super) fn find(named: Option<String>) -> Result<HostProgram, Error> {
    let missing = |message: String| Err(Error::new(Kind::Unsupported, message));
    if let Some(path) = named.filter(|path| !path.is_empty()).map(PathBuf::from) {
        if path.is_file() {
            return Ok(HostProgram::Named(path));
        }
        let path = path.display();
        return missing(format!("{VARIABLE} names `{path}`, and there is no such file"));
    }
    #[cfg(target_os = "linux")]
    if !EMBEDDED.is_empty() {
        return embedded().map_err(|error| {
            Error::new(Kind::Failed, format!("the embedded `{NAME}` cannot be unpacked: {error}"))
        });
    }
    let command = std::env::current_exe().unwrap_or_default();
    let beside = command.with_file_name(NAME);
    if beside.is_file() {
        return Ok(HostProgram::Named(beside));
    }
    let folder = command.parent().unwrap_or(Path::new(".")).display();
    missing(format!(
        "native windows need the program `{NAME}`, which is not in {folder}: build it with \
         `cargo build -p runnel-window`, or name it in {VARIABLE}"
    ))
}

/// The embedded executable as a file in memory.
#[cfg(target_os = "linux")]
fn embedded() -> std::io::Result<HostProgram> {
    let mut file = File::from(memfd_create(NAME, MemfdFlags::CLOEXEC)?);
    std::io::copy(&mut GzDecoder::new(EMBEDDED), &mut file)?;
    Ok(HostProgram::Embedded(file))
}
