//! The beginning of the process: GTK itself, and the descriptor that the program gave.
#![allow(unsafe_code)]

use super::library::{library, open};
use super::property_value::c_text;
use std::os::fd::{FromRawFd, RawFd};
use std::os::unix::net::UnixStream;

/// Why there are no windows.
pub(crate) enum Missing {
    /// GTK 4 is not installed, or too old.
    Library(String),
    /// No display answers.
    Display(String),
}

/// Opens GTK and connects to the display. Uses the renderer for displays without a graphics
/// processor unless `GSK_RENDERER` names another: it takes half the memory.
pub(crate) fn start(name: &str) -> Result<(), Missing> {
    const RENDERER: &str = "GSK_RENDERER";
    if std::env::var_os(RENDERER).is_none() {
        // SAFETY: the process has a single thread until GTK is opened below.
        #[allow(clippy::disallowed_methods)] // GTK reads it in this process
        unsafe {
            std::env::set_var(RENDERER, "cairo");
        };
    }
    open().map_err(Missing::Library)?;
    let gtk = library();
    // SAFETY: GTK is open, and this is the only thread that uses it.
    let is_ready = unsafe {
        (gtk.g_set_prgname)(c_text(name).as_ptr());
        (gtk.gtk_init_check)() != 0
    };
    if is_ready { Ok(()) } else { Err(Missing::Display("GTK found no display".into())) }
}

/// The socket that the program passed under this number. The caller takes it once.
pub(crate) fn take_channel(fd: RawFd) -> UnixStream {
    // SAFETY: the program that starts the host passes the descriptor for its sole use; a number
    // that names no open socket fails with an error at the first use.
    unsafe { UnixStream::from_raw_fd(fd) }
}
