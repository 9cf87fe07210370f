//! The continuous kind of `runnel backup`: following a database, listing the times that can be restored,
//! restoring one of them.

use crate::commands::databases::resources::{resource, run, sqlite_path, store};
use crate::console::Console;
use crate::process::signals::told_to_stop;
use runnel_sql::{SHIPPING, ShippingOptions, restorable_spans, restore_sqlite_at, ship_sqlite};
use runnel_store::{Reference, Result, SettingList, Store, Value, Verb};
use runnel_text::moment::{parse_rfc3339, rfc3339};
use std::path::Path;
use std::rc::Rc;
use tokio::sync::watch;

/// The options of `--follow`: those of [`SHIPPING`] as a command line writes them.
#[derive(Debug, clap::Args)]
pub(crate) struct Shipping {
    /// How often changes are shipped, such as 500ms; 1s without it.
    #[arg(long, value_name = "DURATION", requires = "follow")]
    #[arg(value_parser = parser("interval", seconds_value, seconds))]
    interval: Option<f64>,
    /// How long states can be restored, such as 7d; 24h without it.
    #[arg(long, value_name = "DURATION", requires = "follow")]
    #[arg(value_parser = parser("keep", seconds_value, seconds))]
    keep: Option<f64>,
    /// How often the whole database is copied where it has changed; 1h without it.
    #[arg(long, value_name = "DURATION", requires = "follow")]
    #[arg(value_parser = parser("snapshotInterval", seconds_value, seconds))]
    snapshot_interval: Option<f64>,
    /// The longest write-ahead log while the store does not answer, such as 512M; 1G without it.
    #[arg(long, value_name = "SIZE", value_parser = parser("maxLog", size_value, bytes), requires = "follow")]
    max_log: Option<f64>,
}

impl Shipping {
    fn options(&self) -> Result<ShippingOptions> {
        let named = [
            ("interval", self.interval.map(seconds_value)),
            ("keep", self.keep.map(seconds_value)),
            ("snapshotInterval", self.snapshot_interval.map(seconds_value)),
            ("maxLog", self.max_log.map(size_value)),
        ];
        let given = named.into_iter().filter_map(|(name, value)| Some((name, value?)));
        SHIPPING.read("a continuous backup", &Value::record(given))
    }
}

/// A duration as options take it.
fn seconds_value(seconds: f64) -> Value {
    Value::Text(format!("{seconds} s"))
}

/// A size as options take it.
fn size_value(bytes: f64) -> Value {
    Value::Text(format!("{bytes} B"))
}

/// Reads an option, whose limits [`SHIPPING`] has.
fn parser(
    name: &'static str,
    value: fn(f64) -> Value,
    read: fn(&str) -> std::result::Result<f64, String>,
) -> impl Fn(&str) -> std::result::Result<f64, String> + Clone {
    move |text| {
        let number = read(text)?;
        match SHIPPING.check(name, &value(number)) {
            Ok(()) => Ok(number),
            Err(wanted) => Err(format!("it must be {wanted}")),
        }
    }
}

/// `runnel backup --follow DATABASE TARGET`
pub(crate) async fn follow(
    from: &Reference,
    target: Rc<dyn Store>,
    to: &Reference,
    order: &Shipping,
) -> Result<()> {
    let options = order.options()?;
    let (sender, stop) = watch::channel(false);
    let told = async {
        told_to_stop().await;
        sender.send_replace(true);
        std::future::pending::<()>().await;
    };
    tokio::select! {
        done = ship_sqlite(Path::new(sqlite_path(from)?), target, to, options, stop) => done,
        () = told => Ok(()),
    }
}

/// `runnel backup --list BACKUP`
pub(crate) fn list(backup: &str) -> u8 {
    run(async |schemes| {
        let from = resource(backup, "file");
        for span in restorable_spans(store(schemes, &from)?, &from).await? {
            let (first, last, count) = (rfc3339(span.from), rfc3339(span.to), span.states);
            Console::line(&format!("{first} to {last}: {count} states"));
        }
        Ok(())
    })
}

/// `runnel restore --at TIME BACKUP DATABASE`
pub(crate) async fn restore(
    store: Rc<dyn Store>,
    from: &Reference,
    path: &Path,
    replace: bool,
    at: Option<i64>,
) -> Result<()> {
    let restored = restore_sqlite_at(store, from, at, path, replace).await;
    let to = Reference::from_path(path.display().to_string()).with_scheme("sqlite");
    let state = restored.map_err(|error| error.on(Verb::Put, &to))?;
    Console::line(&format!("the state of {}", rfc3339(state)));
    Ok(())
}

/// A moment of RFC 3339, in microseconds since 1970.
pub(crate) fn moment(text: &str) -> std::result::Result<i64, String> {
    parse_rfc3339(text).ok_or_else(|| "write a moment such as 2026-11-23T10:00:00Z".to_string())
}

/// A duration such as `500ms`, `1s`, `30m`, `24h` or `7d`, in seconds.
fn seconds(text: &str) -> std::result::Result<f64, String> {
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0)];
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let unit = units.iter().find(|(unit, _)| *unit == &text[digits.len()..]);
    let number = digits.parse::<u64>().ok().zip(unit).map(|(n, (_, factor))| n as f64 * factor);
    number.ok_or_else(|| "write a duration such as 500ms, 1s, 30m, 24h or 7d".into())
}

/// A size such as `512M`.
fn bytes(text: &str) -> std::result::Result<f64, String> {
    let bytes = runnel_text::size::parse(text).map(|bytes| bytes as f64);
    bytes.ok_or_else(|| "write a size such as 512M or 1G".into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_and_limits() {
        let duration = parser("keep", seconds_value, seconds);
        for (text, expected) in [("10ms", 0.01), ("1s", 1.0), ("2m", 120.0), ("24h", 86_400.0)] {
            assert_eq!(duration(text), Ok(expected), "{text}");
        }
        assert_eq!(duration("3650d"), Ok(3650.0 * 86_400.0));
        for wrong in ["", "1", "s", "9ms", "3651d", "1.5s", "-1s", "1 s", "99999999999999999999h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert_eq!(duration("3651d").unwrap_err(), "it must be a duration from 10 ms to 3650 d");
    }

    #[test]
    fn sizes_have_units_and_limits() {
        let size = parser("maxLog", size_value, bytes);
        assert_eq!(size("16M"), Ok(16.0 * 1024.0 * 1024.0));
        assert_eq!(size("16777216B"), size("16MiB"));
        assert!(size("1024G").is_ok());
        for wrong in ["", "M", "16777216", "15M", "1025G", "1.5G", "-1", "5X"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
