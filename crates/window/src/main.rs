//! `runnel-window`: shows the native windows of a Runnel program with GTK 4.
//!
//! It reads frames from a socket that the program passes, and writes what the user does. It knows
//! widgets only: no program, no stores. The protocol is in docs/design/windows.md.
//!
//! Reading order: `frames` (what the program asks), `session` (widgets), `widgets` (one file for each
//! group of kinds), `outbox` (events), `gtk` (the library, opened at run time).

mod channel;
mod frames;
mod gtk;
mod json;
mod notice;
mod outbox;
mod session;
mod svg;
mod widgets;

use channel::Channel;
use gtk::Missing;
use notice::complain;
use serde_json::json;
use std::os::unix::fs::FileTypeExt;
use std::process::ExitCode;

/// The argument is no descriptor.
const USAGE: u8 = 64;
/// No display answers.
const NO_DISPLAY: u8 = 68;
/// GTK 4 is not installed, or too old.
const NO_LIBRARY: u8 = 69;

/// The descriptor of the frames where no argument names another.
const DEFAULT_CHANNEL: u8 = 3;

fn main() -> ExitCode {
    let argument = std::env::args().nth(1);
    let fd = argument.map_or(Ok(DEFAULT_CHANNEL), |text| text.parse::<u8>());
    let Ok(fd) = fd else {
        complain("usage: runnel-window [DESCRIPTOR OF THE FRAMES, 3 BY DEFAULT]");
        return ExitCode::from(USAGE);
    };
    if !is_socket(fd) {
        complain(&format!("descriptor {fd} is not a socket with frames"));
        return ExitCode::from(USAGE);
    }
    let mut channel = match Channel::new(gtk::take_channel(fd.into())) {
        Ok(channel) => channel,
        Err(error) => {
            complain(&format!("descriptor {fd} is not a socket with frames: {error}"));
            return ExitCode::from(USAGE);
        }
    };
    let (status, reason) = match gtk::start("runnel-window") {
        Ok(()) => {
            frames::start(channel);
            gtk::main_loop::run();
            return ExitCode::SUCCESS;
        }
        Err(Missing::Library(reason)) => (NO_LIBRARY, reason),
        Err(Missing::Display(reason)) => (NO_DISPLAY, reason),
    };
    complain(&reason);
    channel.send(None, &json!(["failed", reason]));
    ExitCode::from(status)
}

/// Whether an open descriptor is a socket.
fn is_socket(fd: u8) -> bool {
    std::fs::metadata(format!("/dev/fd/{fd}")).is_ok_and(|file| file.file_type().is_socket())
}
