//! Copying trees between stores.

use super::stores::any_store;
use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::streams::progress::ProgressLine;
use runnel_store::{CopyOptions, CopyProgress, CopyReport, Error, Reference, Value};

pub(crate) const NATIVES: [(&str, Native); 1] = [("copy", copy)];

/// `(from, to, path in both, whether only what changed is written, whether what is extra is
/// deleted)`: how many contents were copied, unchanged, deleted.
fn copy(isolate: &Isolate, arguments: Arguments) -> Reply {
    let from = attempt!(any_store(isolate, arguments, 1));
    let to = attempt!(any_store(isolate, arguments, 2));
    let at = Reference::from_path(arguments.text(3));
    let (only_changed, delete_extra) = (arguments.boolean(4), arguments.boolean(5));
    let options = CopyOptions { only_changed, delete_extra, ..CopyOptions::default() };
    let mut shown = ProgressLine::new(isolate, None);
    let progress = move |far: &CopyProgress| shown.show(|| line(far));
    let copied = runnel_store::copy(from, &at, to, &at, options, progress);
    let report = copied.and_then(|report| counts(report).into());
    Reply::answer(report, Given::Value)
}

fn line(far: &CopyProgress) -> String {
    let latest = far.latest.as_ref().map(|at| format!(": {at}")).unwrap_or_default();
    let (copied, unchanged) = (far.copied, far.unchanged);
    match unchanged {
        0 => format!("{copied} copied{latest}"),
        _ => format!("{copied} copied, {unchanged} unchanged{latest}"),
    }
}

/// The counts; an error when something could not be copied.
fn counts(report: CopyReport) -> Result<Value, Error> {
    let total = report.total;
    if let Some((_, first)) = report.failures.into_iter().next() {
        let (failed, copied) = (total.failed, total.copied);
        let message =
            format!("{failed} could not be copied, {copied} were; the first: {}", first.message);
        return Err(Error { message, ..first });
    }
    let count = |number: u64| Value::Int(i64::try_from(number).unwrap_or(i64::MAX));
    Ok(Value::record([
        ("copied", count(total.copied)),
        ("unchanged", count(total.unchanged)),
        ("deleted", count(total.deleted)),
        ("bytes", count(total.bytes)),
    ]))
}
