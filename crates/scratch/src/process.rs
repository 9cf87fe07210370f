//! Tests that need a process of their own, and what a process uses.

use std::process::Command;

/// Says to a child process that it runs one test alone.
const ALONE: &str = "RUNNEL_TEST_ALONE";

/// Runs a test in a child process, because other tests of the same process would disturb what it
/// measures or sets. `name` is the path of the test within its binary: `leaks::nothing_is_left`.
///
/// # Panics
/// When the test fails in the child; its output is in the message.
pub fn alone(name: &str, test: impl FnOnce()) {
    if std::env::var_os(ALONE).is_some() {
        return test();
    }
    let program = std::env::current_exe().expect("the test binary has no path");
    let mut command = Command::new(program);
    command.args([name, "--exact", "--nocapture"]).env(ALONE, "1");
    let output = command.output().expect("the test binary does not start again");
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    assert!(output.status.success() && printed.contains("1 passed"), "{name}: {printed}");
}

/// Open file descriptors of this process, and its resident memory in KiB.
///
/// # Panics
/// Where there is no `/proc`.
pub fn usage() -> (usize, usize) {
    let descriptors = std::fs::read_dir("/proc/self/fd").expect("no /proc/self/fd").count();
    let status = std::fs::read_to_string("/proc/self/status").expect("no /proc/self/status");
    let memory = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let memory = memory.and_then(|size| size.trim().trim_end_matches(" kB").parse().ok());
    (descriptors, memory.expect("no VmRSS in /proc/self/status"))
}
