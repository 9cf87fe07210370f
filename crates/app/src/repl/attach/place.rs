//! Where the sockets of programs lie: in a folder that only their user can enter.

use runnel_http::{SocketFile, UnixAddress, bind_unix};
use rustix::process::{geteuid, getppid};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use tokio::net::UnixStream;

/// The permissions of a socket.
const MODE: u32 = 0o600;

/// `$XDG_RUNTIME_DIR/runnel`, or `/tmp/runnel-UID` where there is none.
fn folder() -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    match runtime.filter(|path| path.is_absolute() && path.is_dir()) {
        Some(runtime) => runtime.join("runnel"),
        None => std::env::temp_dir().join(format!("runnel-{}", geteuid().as_raw())),
    }
}

/// Whether the folder is a real one, of this user, and closed to others.
fn check_private(folder: &Path) -> Result<(), String> {
    let shown = folder.display();
    let facts = std::fs::symlink_metadata(folder).map_err(|error| format!("{shown}: {error}"))?;
    let is_private = facts.mode() & 0o077 == 0 && facts.uid() == geteuid().as_raw();
    match facts.is_dir() && is_private {
        true => Ok(()),
        false => Err(format!(
            "{shown} is not a folder that only you can enter\n  \
             help: set XDG_RUNTIME_DIR to a folder of your own, with the permissions 700"
        )),
    }
}

/// Opens the socket of this process; of a supervised one, with the process of its supervisor in the name.
pub(super) fn open(is_supervised: bool) -> Result<(UnixListener, SocketFile), String> {
    let folder = folder();
    match std::fs::DirBuilder::new().mode(0o700).create(&folder) {
        Ok(()) => {}
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
        Err(error) => return Err(format!("{} cannot be made: {error}", folder.display())),
    }
    check_private(&folder)?;
    remove_stale(&folder);
    let own = std::process::id();
    let name = match getppid().filter(|_| is_supervised) {
        Some(supervisor) => format!("{supervisor}-{own}"),
        None => own.to_string(),
    };
    let address = UnixAddress { path: folder.join(name), mode: MODE };
    bind_unix(&address).map_err(|error| error.to_string())
}

/// Removes the sockets of programs that were killed.
fn remove_stale(folder: &Path) {
    for path in entries(folder) {
        let connected = std::os::unix::net::UnixStream::connect(&path);
        if connected.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
            // Another program may have removed it.
            let _ = std::fs::remove_file(&path);
        }
    }
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).collect()
}

/// Connects to a program by its process, by that of its supervisor, or by its socket.
pub(super) async fn connect(program: &str) -> Result<UnixStream, String> {
    let help = "start it with `runnel --attach FILE`";
    let stream = if program.bytes().all(|byte| byte.is_ascii_digit()) && !program.is_empty() {
        let folder = folder();
        let name = |path: &Path| path.file_name().and_then(|name| name.to_str().map(String::from));
        let is_of = |path: &PathBuf| {
            name(path).is_some_and(|name| name.split('-').any(|process| process == program))
        };
        let mut found: Vec<PathBuf> = entries(&folder).into_iter().filter(is_of).collect();
        if !found.is_empty() {
            check_private(&folder)?;
        }
        // After an upgrade the newer program is the one that serves.
        found.sort_by_key(|path| path.metadata().and_then(|facts| facts.modified()).ok());
        let mut stream = None;
        for path in found.iter().rev() {
            stream = UnixStream::connect(path).await.ok();
            if stream.is_some() {
                break;
            }
        }
        stream.ok_or_else(|| {
            format!("there is no prompt in process {program}\n  help: {help}, as the same user")
        })?
    } else {
        UnixStream::connect(program)
            .await
            .map_err(|error| format!("{program} cannot be attached to: {error}\n  help: {help}"))?
    };
    match is_same_user(&stream) {
        true => Ok(stream),
        false => Err(format!("{program} belongs to another user")),
    }
}

/// Whether the process at the other end runs as this user.
pub(super) fn is_same_user(stream: &UnixStream) -> bool {
    stream.peer_cred().is_ok_and(|peer| peer.uid() == geteuid().as_raw())
}
