//! What a server may be told about being watched, and where its log and its traces go.

use crate::process::workers::{ListenAddressGuard, WorkerIndex};
use crate::world::certificates::{CertificateSide, RunningSide};
use runnel_http::AnnouncedName;
use runnel_observe::{
    AdminPage, AdminToken, LOG_LEVELS, LogFormat, LogTarget, ObserveSettings, Observing, Sample,
    Surroundings, TraceSettings,
};
use runnel_store::{
    Environment, Error, Kind, Setting, SettingKind, SettingTable, Store, Value, Wanted,
};
use std::cell::RefCell;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr};
use std::rc::Rc;
use std::sync::LazyLock;
use std::time::Duration;

/// The options of a server that concern logs and metrics.
pub(crate) const OPTIONS: SettingTable<ObserveSettings> = SettingTable(&[
    Setting::custom("admin", "the admin port", SettingKind::Any, |settings, value| {
        settings.admin = admin(value)?;
        Ok(())
    }),
    Setting::custom(
        "adminToken",
        "the admin secret",
        SettingKind::Text,
        |settings: &mut ObserveSettings, value| {
            let token = value.as_str().and_then(AdminToken::new);
            let token = token.ok_or("a secret of 16 to 256 visible ASCII characters")?;
            settings.admin_token = Some(token);
            Ok(())
        },
    )
    .secret(),
    Setting::new("adminHosts", "the hosts of the admin port", |settings| &mut settings.admin_hosts),
    Setting::custom("accessLog", "the format of the log", SettingKind::Any, |settings, value| {
        settings.access_log = match value {
            Value::Bool(false) | Value::Nil => None,
            Value::Bool(true) => Some(LogFormat::Json),
            Value::Text(text) if text == "json" => Some(LogFormat::Json),
            Value::Text(text) if text == "combined" => Some(LogFormat::Combined),
            _ => return Err("'json' or 'combined'".into()),
        };
        Ok(())
    }),
    Setting::custom("accessLogTo", "where the log goes", SettingKind::Text, |settings, value| {
        settings.log_target = match value.as_str() {
            Some("stdout") => LogTarget::Output,
            Some("stderr") => LogTarget::Error,
            Some(path) if !path.is_empty() => LogTarget::File(path.into()),
            _ => return Err("'stdout', 'stderr' or the path of a file".into()),
        };
        Ok(())
    }),
    Setting::new("requestIds", "whether responses carry X-Request-Id", |settings| {
        &mut settings.request_ids
    }),
]);

/// A port on this machine, or an address with a port.
fn admin(value: &Value) -> Result<Option<SocketAddr>, Wanted> {
    const WRONG: &str = "a port from 0 to 65535, or an address and a port such as '10.0.0.5:9090'";
    if matches!(value, Value::Nil | Value::Bool(false)) {
        return Ok(None);
    }
    let address = match value.as_f64().filter(|port| port.fract() == 0.0) {
        Some(port) if (0.0..=65535.0).contains(&port) => {
            Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port as u16)))
        }
        _ => value.as_str().and_then(|text| text.parse().ok()),
    };
    address.map(Some).ok_or(WRONG.into())
}

/// Begins to watch a server, where that is wanted: by its options, or by the variables of
/// OpenTelemetry in the environment.
pub(crate) async fn begin(
    mut settings: ObserveSettings,
    environment: &Environment,
    options: &mut runnel_http::ServerOptions,
) -> Result<Option<Observing>, Error> {
    settings.traces = traces(&|name| environment.text(name))?;
    if !settings.is_wanted() {
        return Ok(None);
    }
    let surroundings = Surroundings {
        writer,
        sampler: Some(Rc::new(sample)),
        listener: crate::process::handover::side_listener,
    };
    let observing = runnel_observe::observe(&settings, surroundings).await?;
    options.observer = Some(observing.observer());
    if let Some(port) = observing.admin_port() {
        tracing::info!(port, "the admin port is open");
    }
    Ok(Some(observing))
}

/// What the program's engine says of itself.
fn sample() -> Sample {
    let load = runnel_runtime::load();
    Sample {
        fibers_running: load.in_line as u64,
        fibers_waiting: load.fibers.saturating_sub(load.in_line) as u64,
        heap: load.memory as u64,
    }
}

/// The least important level of the program's log that is shown: the first level without a target in `RUNNEL_LOG`.
static LEAST: LazyLock<usize> = LazyLock::new(|| {
    let wanted = std::env::var("RUNNEL_LOG").unwrap_or_default().to_lowercase();
    let mut levels = wanted.split(',').map(str::trim).filter(|part| !part.contains('='));
    let position = |level| match level {
        "trace" => Some(0),
        "off" => Some(LOG_LEVELS.len()),
        level => LOG_LEVELS.iter().position(|known| *known == level),
    };
    levels.find_map(position).unwrap_or(1)
});

/// Whether lines of the program's log are JSON objects.
static IS_JSON: LazyLock<bool> =
    LazyLock::new(|| std::env::var("RUNNEL_LOG_FORMAT").is_ok_and(|format| format == "json"));

/// A line of the program's log; `None` for a level that is not shown.
pub(crate) fn log_line(level: &str, message: &str, fields: &Value) -> Option<Vec<u8>> {
    let place = LOG_LEVELS.iter().position(|known| *known == level)?;
    let is_shown = place >= *LEAST;
    is_shown.then(|| runnel_observe::program_line(*IS_JSON, level, message, fields))
}

/// Records a value of a metric of the program.
pub(crate) fn metric(kind: &str, name: &str, labels: &Value, value: f64) -> Result<(), Error> {
    let mut list = Vec::new();
    if let Value::Record(labels) = labels {
        for (name, value) in labels.iter() {
            let text = match value {
                Value::Text(text) => text.to_string(),
                other => String::from_utf8_lossy(&runnel_store::json::text(other)).into_owned(),
            };
            list.push((name.to_string(), text));
        }
    }
    runnel_observe::record_metric(kind, name, &list, value)
}

/// Where lines go that go to no file.
fn writer(target: &LogTarget) -> Box<dyn Write + Send> {
    match target {
        LogTarget::Error => Box::new(std::io::stderr()),
        _ => Box::new(std::io::stdout()),
    }
}

/// The variables of OpenTelemetry's specification that are followed. The protocol is always JSON
/// over HTTP, which every collector takes on its HTTP port.
fn traces(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<TraceSettings>, Error> {
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    let says = |name: &str, what: &str| variable(name).is_some_and(|value| value == what);
    if says("OTEL_SDK_DISABLED", "true") || says("OTEL_TRACES_EXPORTER", "none") {
        return Ok(None);
    }
    let own = variable("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT");
    let all = variable("OTEL_EXPORTER_OTLP_ENDPOINT");
    let all = all.map(|all| format!("{}/v1/traces", all.trim_end_matches('/')));
    let Some(endpoint) = own.or(all) else { return Ok(None) };
    if !endpoint.starts_with("http://") && !endpoint.starts_with("https://") {
        let message = "OTEL_EXPORTER_OTLP_ENDPOINT must begin with http:// or https://";
        return Err(Error::new(Kind::Invalid, message));
    }
    let number = |name: &str, default: f64| match variable(name) {
        None => Ok(default),
        Some(text) => text.parse().map_err(|_| {
            Error::new(Kind::Invalid, format!("the variable {name} must be a number"))
        }),
    };
    let delay = number("OTEL_BSP_SCHEDULE_DELAY", 5_000.0)?.clamp(1.0, 3_600_000.0);
    let ratio = match variable("OTEL_TRACES_SAMPLER").as_deref() {
        Some("always_off" | "parentbased_always_off") => 0.0,
        Some("traceidratio" | "parentbased_traceidratio") => {
            number("OTEL_TRACES_SAMPLER_ARG", 1.0)?.clamp(0.0, 1.0)
        }
        _ => 1.0,
    };
    Ok(Some(TraceSettings {
        endpoint,
        headers: headers(&variable("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default()),
        service: variable("OTEL_SERVICE_NAME").unwrap_or_else(|| "runnel".to_string()),
        ratio,
        delay: Duration::from_secs_f64(delay / 1_000.0),
    }))
}

/// `name=value,name=value`, the values escaped as in URLs.
fn headers(text: &str) -> Vec<(String, String)> {
    text.split(',')
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| {
            let value = percent_encoding::percent_decode_str(value.trim()).decode_utf8_lossy();
            (name.trim().to_string(), value.into_owned())
        })
        .collect()
}

/// A running HTTP server, and what watches it.
pub(crate) struct WatchedServer {
    server: runnel_http::HttpServer,
    /// Its place, until it has stopped.
    held: RefCell<Option<ListenAddressGuard>>,
    observing: Option<Observing>,
    /// Its name on the local network.
    announced: RefCell<Option<AnnouncedName>>,
    /// The redirect and the orders of certificates beside it.
    side: RefCell<Option<RunningSide>>,
}

impl WatchedServer {
    pub(crate) fn new(
        server: runnel_http::HttpServer,
        held: ListenAddressGuard,
        observing: Option<Observing>,
    ) -> Self {
        let (held, announced) = (RefCell::new(Some(held)), RefCell::default());
        WatchedServer { server, held, observing, announced, side: RefCell::default() }
    }

    pub(crate) fn server(&self) -> &runnel_http::HttpServer {
        &self.server
    }

    /// Starts the redirect and the orders of certificates beside the server.
    pub(crate) async fn start_side(
        &self,
        side: CertificateSide,
        place: &WorkerIndex,
    ) -> Result<(), Error> {
        let running = side.start(&self.server, place).await?;
        self.side.replace(Some(running));
        Ok(())
    }

    pub(crate) fn is_observed(&self) -> bool {
        self.observing.is_some()
    }

    pub(crate) fn admin_port(&self) -> Option<u16> {
        self.observing.as_ref().and_then(Observing::admin_port)
    }

    pub(crate) fn check(&self, name: &str, check: Rc<dyn Store>) -> Result<(), Error> {
        match &self.observing {
            Some(observing) => observing.check(name, check),
            None => Ok(()),
        }
    }

    /// Announces the server by a name on the local network.
    pub(crate) async fn announce(&self, name: &str, is_secure: bool) -> Result<(), Error> {
        let announced = runnel_http::announce(name, self.server.address(), is_secure).await?;
        self.announced.replace(Some(announced));
        Ok(())
    }

    /// The name by which others find the server, such as `defiant.local`.
    pub(crate) fn announced_host(&self) -> Option<String> {
        self.announced.borrow().as_ref().map(|announced| announced.host().to_string())
    }

    /// Adds a page to the admin port, where there is one.
    pub(crate) fn add_page(&self, page: AdminPage) -> Result<(), Error> {
        match &self.observing {
            Some(observing) => observing.add_page(page),
            None => Ok(()),
        }
    }

    /// Stops, and is not ready meanwhile. Answers whether all requests were answered in time.
    /// With a grace, another process takes over the port, and no client is to lose a request.
    pub(crate) async fn stop(&self, grace: Option<Duration>) -> bool {
        // Only the first time.
        let Some(held) = self.held.take() else { return true };
        let announced = self.announced.take();
        if let Some(announced) = announced {
            announced.withdraw().await;
        }
        if let Some(observing) = &self.observing {
            observing.drain();
        }
        let (side, patience) = (self.side.take(), self.server.stop_time());
        let stop_side = async {
            if let Some(side) = side {
                side.stop(grace).await;
            }
        };
        let stop = async {
            match grace {
                Some(grace) => self.server.leave(grace.min(patience), patience).await,
                None => self.server.stop(patience).await,
            }
        };
        let ((), in_time) = tokio::join!(stop_side, stop);
        drop(held);
        if let Some(observing) = &self.observing {
            observing.end().await;
        }
        in_time
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(pairs: &'static [(&str, &str)]) -> Option<TraceSettings> {
        let variable = |name: &str| {
            pairs.iter().find(|(known, _)| *known == name).map(|(_, value)| value.to_string())
        };
        traces(&variable).unwrap()
    }

    #[test]
    fn traces_go_where_the_environment_says() {
        assert!(read(&[]).is_none());
        let one = read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/")]).unwrap();
        assert_eq!(one.endpoint, "http://c:4318/v1/traces");
        assert_eq!((one.ratio, one.delay), (1.0, Duration::from_secs(5)));
        let two = read(&[
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://c/x"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "api-key=a%20b, x = 1"),
            ("OTEL_TRACES_SAMPLER", "parentbased_traceidratio"),
            ("OTEL_TRACES_SAMPLER_ARG", "0.25"),
        ])
        .unwrap();
        assert_eq!((&*two.endpoint, two.ratio), ("https://c/x", 0.25));
        assert_eq!(two.headers[0], ("api-key".to_string(), "a b".to_string()));
        assert_eq!(two.headers[1], ("x".to_string(), "1".to_string()));
        assert!(!format!("{two:?}").contains("a b"));
    }

    #[test]
    fn the_environment_can_switch_them_off() {
        const ON: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c");
        assert!(read(&[ON, ("OTEL_SDK_DISABLED", "true")]).is_none());
        assert!(read(&[ON, ("OTEL_TRACES_EXPORTER", "none")]).is_none());
        let wrong = |name: &str| (name == ON.0).then(|| "c:4317".to_string());
        assert!(traces(&wrong).is_err());
    }

    #[test]
    fn the_admin_port_is_on_this_machine_unless_told_otherwise() {
        let at = |value| admin(&value).map(|address| address.map(|one| one.to_string()));
        assert_eq!(at(Value::Int(9090)), Ok(Some("127.0.0.1:9090".to_string())));
        assert_eq!(at(Value::Text("[::1]:9".into())), Ok(Some("[::1]:9".to_string())));
        assert_eq!(at(Value::Bool(false)), Ok(None));
        assert!(at(Value::Int(70_000)).is_err() && at(Value::Text("x".into())).is_err());
    }
}
