//! The options of a continuous backup, for the command and for programs.

use runnel_store::{Setting, SettingTable};
use std::time::Duration;

/// The shortest and the longest duration of an option, in seconds: 10 ms and 10 years.
const DURATIONS: (f64, f64) = (0.01, 3650.0 * 24.0 * 60.0 * 60.0);

/// The limits of the longest write-ahead log, in bytes: 16 MiB and 1 TiB.
const LOGS: (f64, f64) = ((16_u64 << 20) as f64, (1_u64 << 40) as f64);

/// Options of a continuous backup.
#[derive(Clone, Debug, PartialEq)]
pub struct ShippingOptions {
    /// How often changes are shipped.
    pub interval: Duration,
    /// How long states can be restored.
    pub keep: Duration,
    /// How often the whole database is copied, where it has changed.
    pub snapshot_interval: Duration,
    /// The longest write-ahead log while the store does not answer, in bytes.
    pub max_log: u64,
}

/// `#{ interval: 5 seconds, keep: 7 days, snapshotInterval: 1 hours, maxLog: 1 gigabyte }`
pub const SHIPPING: SettingTable<ShippingOptions> = SettingTable(&[
    Setting::new("interval", "how often changes are shipped", |it: &mut ShippingOptions| {
        &mut it.interval
    })
    .range(DURATIONS.0, DURATIONS.1),
    Setting::new("keep", "how long states can be restored", |it: &mut ShippingOptions| {
        &mut it.keep
    })
    .range(DURATIONS.0, DURATIONS.1),
    Setting::new(
        "snapshotInterval",
        "how often the whole database is copied",
        |it: &mut ShippingOptions| &mut it.snapshot_interval,
    )
    .range(DURATIONS.0, DURATIONS.1),
    Setting::size("maxLog", "the longest write-ahead log", |it: &mut ShippingOptions| {
        &mut it.max_log
    })
    .range(LOGS.0, LOGS.1),
]);

impl Default for ShippingOptions {
    fn default() -> Self {
        ShippingOptions {
            interval: Duration::from_secs(1),
            keep: Duration::from_secs(24 * 60 * 60),
            snapshot_interval: Duration::from_secs(60 * 60),
            max_log: 1 << 30,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use runnel_store::Value;

    #[test]
    fn a_backup_has_these_defaults() {
        let usual = ShippingOptions::default();
        let seconds =
            [usual.interval, usual.keep, usual.snapshot_interval].map(|one| one.as_secs());
        assert_eq!((seconds, usual.max_log), ([1, 24 * 3600, 3600], 1 << 30));
    }

    #[test]
    fn options_have_limits() {
        let read_value = |name: &str, value| {
            SHIPPING.read("a continuous backup", &Value::record([(name, value)]))
        };
        let read = |name: &str, value: f64| read_value(name, Value::Float(value));
        let sized = |value: f64| read_value("maxLog", format!("{value} B").into());
        let lasting = |name: &str, value: f64| read_value(name, format!("{value} s").into());
        for name in ["interval", "keep", "snapshotInterval"] {
            assert!(lasting(name, 0.01).is_ok() && lasting(name, DURATIONS.1).is_ok());
            assert!(lasting(name, 0.009).is_err() && lasting(name, DURATIONS.1 + 1.0).is_err());
            assert!(read(name, 60.0).is_err());
        }
        assert_eq!(sized(LOGS.0).unwrap().max_log, 16 << 20);
        assert_eq!(sized(LOGS.1).unwrap().max_log, 1 << 40);
        assert!(sized(LOGS.0 - 1.0).is_err() && sized(LOGS.1 + 1.0).is_err());
        assert!(read("maxLog", LOGS.0).is_err());
        let error = read("intervall", 1.0).unwrap_err();
        assert!(error.message.contains("did you mean `interval`?"), "{error}");
        let error = read("keep", 0.0).unwrap_err();
        assert!(error.message.contains("from 10 ms to 3650 d"), "{error}");
    }
}
