//! The continuous kind of `runnel backup`: following a database, listing the times that can be restored,
//! restoring one of them.

use crate::commands::resources::{resource, run, sqlite_path, store};
use crate::console::Console;
use crate::process::signals::told_to_stop;
use runnel_sql::{ShippingOptions, restorable_spans, restore_sqlite_at, ship_sqlite};
use runnel_store::{Reference, Result, Store, Verb};
use runnel_text::moment::{parse_rfc3339, rfc3339};
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::watch;

/// The options of `--follow`.
#[derive(Debug, clap::Args)]
pub(crate) struct Shipping {
    /// How often changes are shipped, such as 500ms; 1s without it.
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "follow")]
    interval: Option<Duration>,
    /// How long states can be restored, such as 7d; 24h without it.
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "follow")]
    keep: Option<Duration>,
    /// How often the whole database is copied where it has changed; 1h without it.
    #[arg(long, value_name = "DURATION", value_parser = duration, requires = "follow")]
    snapshot_interval: Option<Duration>,
    /// The longest write-ahead log while the store does not answer, such as 512M; 1G without it.
    #[arg(long, value_name = "SIZE", value_parser = crate::memory::size, requires = "follow")]
    max_log: Option<u64>,
}

/// `runnel backup --follow DATABASE TARGET`
pub(crate) async fn follow(
    from: &Reference,
    target: Rc<dyn Store>,
    to: &Reference,
    order: &Shipping,
) -> Result<()> {
    let usual = ShippingOptions::default();
    let options = ShippingOptions {
        interval: order.interval.unwrap_or(usual.interval),
        keep: order.keep.unwrap_or(usual.keep),
        snapshot_interval: order.snapshot_interval.unwrap_or(usual.snapshot_interval),
        max_log: order.max_log.unwrap_or(usual.max_log),
    };
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

/// A duration such as `500ms`, `1s`, `30m`, `24h` or `7d`.
fn duration(text: &str) -> std::result::Result<Duration, String> {
    let digits = text.trim_end_matches(|letter: char| !letter.is_ascii_digit());
    let unit = match &text[digits.len()..] {
        "ms" => Some(1),
        "s" => Some(1000),
        "m" => Some(60 * 1000),
        "h" => Some(60 * 60 * 1000),
        "d" => Some(24 * 60 * 60 * 1000),
        _ => None,
    };
    let millis = digits.parse::<u64>().ok().zip(unit).and_then(|(n, unit)| n.checked_mul(unit));
    let (least, most) = (LEAST_DURATION.as_millis(), MOST_DURATION.as_millis());
    let millis = millis.filter(|millis| (least..=most).contains(&u128::from(*millis)));
    let told = "it must be a duration from 10ms to 3650d, such as 500ms, 1s, 30m, 24h or 7d";
    millis.map(Duration::from_millis).ok_or_else(|| told.to_string())
}

/// The shortest and the longest duration of an option.
const LEAST_DURATION: Duration = Duration::from_millis(10);
const MOST_DURATION: Duration = Duration::from_secs(3650 * 24 * 60 * 60);

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units_and_limits() {
        for (text, millis) in [("10ms", 10), ("1s", 1000), ("2m", 120_000), ("24h", 86_400_000)] {
            assert_eq!(duration(text).unwrap(), Duration::from_millis(millis), "{text}");
        }
        assert_eq!(duration("3650d").unwrap(), MOST_DURATION);
        for wrong in ["", "1", "s", "9ms", "3651d", "1.5s", "-1s", "1 s", "99999999999999999999h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
