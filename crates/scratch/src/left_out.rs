//! Checks that cannot run on this machine: said loudly, listed at the end of `make test`, and a
//! failure in continuous integration.

use std::fs::OpenOptions;
use std::io::Write;

/// Reports that a test is left out and why, as in `h2spec is not installed`.
///
/// The line goes to standard error and to the file that `RUNNEL_LEFT_OUT` names, from which `make
/// test` prints a summary.
///
/// # Panics
/// In continuous integration (the variable `CI` is set), where nothing may be left out.
pub fn leave_out(reason: &str) {
    assert!(std::env::var_os("CI").is_none(), "may not be left out in CI: {reason}");
    list_as_left_out(reason);
}

/// The same for material that lies beside the project only where it is developed: no failure.
pub fn list_as_left_out(reason: &str) {
    // The tests go on where neither can be written.
    let _ = writeln!(std::io::stderr(), "left out: {reason}");
    if let Some(list) = std::env::var_os("RUNNEL_LEFT_OUT")
        && let Ok(mut file) = OpenOptions::new().create(true).append(true).open(list)
    {
        let _ = writeln!(file, "{reason}");
    }
}
