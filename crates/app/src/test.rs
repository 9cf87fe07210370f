//! `runnel test`

use crate::report::Report;
use std::path::PathBuf;

/// Runs tests.
pub(crate) fn run(_paths: &[PathBuf], _report: &Report) -> u8 {
    0
}
