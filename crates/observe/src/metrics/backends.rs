//! Metrics of backends: the databases and servers that a program uses, as counted by their stores.

use crate::metrics::text_format::{MetricsText, escape_label};
use runnel_store::{Count, Counters, Level, Value, WAIT_BOUNDS};

/// The counters of one backend at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct BackendCounters {
    kind: &'static str,
    place: String,
    counts: [u64; Count::ALL.len()],
    levels: [u64; Level::ALL.len()],
    waits: [u64; WAIT_BOUNDS.len() + 1],
    waited: u64,
}

/// All backends.
pub(crate) fn sample() -> Vec<BackendCounters> {
    let place = |counters: &Counters| BackendCounters {
        kind: counters.kind,
        place: counters.place.clone(),
        counts: Count::ALL.map(|count| counters.count(count)),
        levels: Level::ALL.map(|level| counters.level(level)),
        waits: counters.waits.counts(),
        waited: counters.waits.micros(),
    };
    Counters::all().iter().map(|counters| place(counters)).collect()
}

impl BackendCounters {
    fn count(&self, count: Count) -> u64 {
        self.counts[count as usize]
    }

    fn level(&self, level: Level) -> u64 {
        self.levels[level as usize]
    }

    fn family(&self) -> Family {
        match self.kind {
            "http" => Family::Servers,
            "search" => Family::Indexes,
            "follower" => Family::Followers,
            _ => Family::Databases,
        }
    }

    fn labels(&self) -> String {
        let place = escape_label(&self.place);
        match self.family() {
            Family::Databases => format!("kind=\"{}\",place=\"{place}\"", self.kind),
            Family::Servers => format!("host=\"{place}\""),
            Family::Indexes => format!("index=\"{place}\""),
            Family::Followers => format!("follower=\"{place}\""),
        }
    }

    fn failures(&self) -> u64 {
        self.count(Count::Failures) + self.count(Count::Late) + self.count(Count::SetAside)
    }

    /// The data of the dashboard.
    pub(crate) fn json(&self) -> Value {
        Value::record([
            ("kind", Value::Text(self.kind.to_string())),
            ("place", Value::Text(self.place.clone())),
            ("done", Value::from(self.count(Count::Statements) + self.count(Count::Requests))),
            ("rows", Value::from(self.count(Count::Rows))),
            ("kept", Value::from(self.count(Count::Kept))),
            ("writes", Value::from(self.count(Count::Writes))),
            ("commits", Value::from(self.count(Count::Commits))),
            ("failures", Value::from(self.failures())),
            ("slots", Value::from(self.level(Level::Slots))),
            ("used", Value::from(self.level(Level::Used))),
            ("waiting", Value::from(self.level(Level::Waiting))),
            ("open", Value::from(self.level(Level::Open))),
        ])
    }
}

/// What a backend is, which decides on its metrics and their labels.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Family {
    Databases,
    Servers,
    Indexes,
    Followers,
}

/// The backends with pools of connections.
const POOLED: &[Family] = &[Family::Databases, Family::Servers];

type Number = fn(&BackendCounters) -> u64;

/// Counters of databases.
const DATABASES: [(&str, &str, Number); 5] = [
    ("runnel_database_statements_total", "Statements that were run.", |it| {
        it.count(Count::Statements)
    }),
    ("runnel_database_rows_total", "Rows that statements answered.", |it| it.count(Count::Rows)),
    ("runnel_database_kept_total", "Reads answered with what was kept.", |it| {
        it.count(Count::Kept)
    }),
    ("runnel_database_commits_total", "Transactions that were committed.", |it| {
        it.count(Count::Commits)
    }),
    ("runnel_database_writes_total", "Writes in them: many share a commit.", |it| {
        it.count(Count::Writes)
    }),
];

/// Counters of HTTP servers.
const SERVERS: [(&str, &str, Number); 3] = [
    ("runnel_client_requests_total", "Requests to a host.", |it| it.count(Count::Requests)),
    ("runnel_client_failures_total", "Not answered, or with 500 or more.", |it| {
        it.count(Count::Failures)
    }),
    ("runnel_client_retries_total", "Sent once more: the connection was closed.", |it| {
        it.count(Count::Retries)
    }),
];

/// Counters of search indexes.
const INDEXES: [(&str, &str, Number); 1] =
    [("runnel_search_set_aside_total", "Documents that could not be indexed.", |it| {
        it.count(Count::SetAside)
    })];

/// Counters of what follows logs and changes.
const FOLLOWERS: [(&str, &str, Number); 1] =
    [("runnel_follower_set_aside_total", "Records that it could not take.", |it| {
        it.count(Count::SetAside)
    })];

/// Counters of databases and servers: connections, and requests that wait for one.
const COUNTERS: [(&str, &str, Number); 3] = [
    ("runnel_pool_opened_total", "Connections that were made.", |it| it.count(Count::Opened)),
    ("runnel_pool_refused_total", "Too many waited already.", |it| it.count(Count::Refused)),
    ("runnel_pool_late_total", "Waited in vain.", |it| it.count(Count::Late)),
];

const GAUGES: [(&str, &str, Number); 4] = [
    ("runnel_pool_size", "Connections that may be in use.", |it| it.level(Level::Slots)),
    ("runnel_pool_in_use", "Connections in use.", |it| it.level(Level::Used)),
    ("runnel_pool_waiting", "How many wait for a connection.", |it| it.level(Level::Waiting)),
    ("runnel_pool_open", "Open connections, in use or idle.", |it| it.level(Level::Open)),
];

/// Writes them in the format of Prometheus.
pub(crate) fn write(page: &mut MetricsText, backends: &[BackendCounters]) {
    let mut each = |kind: &str, (name, help, number): (&str, &str, Number), families: &[Family]| {
        page.family(name, kind, help);
        for place in backends.iter().filter(|place| families.contains(&place.family())) {
            page.sample(name, &place.labels(), number(place) as f64);
        }
    };
    DATABASES.into_iter().for_each(|one| each("counter", one, &[Family::Databases]));
    SERVERS.into_iter().for_each(|one| each("counter", one, &[Family::Servers]));
    INDEXES.into_iter().for_each(|one| each("counter", one, &[Family::Indexes]));
    FOLLOWERS.into_iter().for_each(|one| each("counter", one, &[Family::Followers]));
    COUNTERS.into_iter().for_each(|one| each("counter", one, POOLED));
    GAUGES.into_iter().for_each(|one| each("gauge", one, POOLED));
    let name = "runnel_pool_wait_seconds";
    page.family(name, "histogram", "How long those waited who got no connection at once.");
    for place in backends.iter().filter(|place| POOLED.contains(&place.family())) {
        page.buckets(name, &place.labels(), (&place.waits, &WAIT_BOUNDS), place.waited);
    }
}
