//! The metrics page for Prometheus.

use crate::metrics::backends;
use crate::metrics::program_metrics;
use crate::metrics::registry::CLASSES;
use crate::metrics::snapshot::{MetricsSnapshot, RouteTotals};
use crate::metrics::text_format::{MetricsText, escape_label, seconds};

/// Its media type.
pub(crate) const MEDIA_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

/// All metrics.
pub(crate) fn text(snapshot: &MetricsSnapshot) -> String {
    let mut page = MetricsText(String::with_capacity(16 * 1024));
    requests(&mut page, &snapshot.routes);
    server(&mut page, snapshot);
    program(&mut page, snapshot);
    backends::write(&mut page, &snapshot.backends);
    backups(&mut page, snapshot);
    process(&mut page, snapshot);
    program_metrics::write(&mut page);
    page.0
}

fn requests(page: &mut MetricsText, routes: &[RouteTotals]) {
    page.family("runnel_http_requests_total", "counter", "Requests that were answered.");
    for route in routes {
        for (class, count) in CLASSES.iter().zip(route.classes).filter(|(_, count)| *count > 0) {
            let labels = format!("{},status=\"{class}\"", labels(route));
            page.sample("runnel_http_requests_total", &labels, count as f64);
        }
    }
    let name = "runnel_http_request_duration_seconds";
    page.family(name, "histogram", "From the head of a request to the end of its answer.");
    for route in routes {
        page.histogram(name, &labels(route), &route.duration);
    }
    let mut each = |name, help, number: fn(&RouteTotals) -> f64| {
        page.family(name, "counter", help);
        for route in routes {
            page.sample(name, &labels(route), number(route));
        }
    };
    each("runnel_http_received_bytes_total", "Bodies of requests, as announced.", |route| {
        route.received as f64
    });
    each("runnel_http_sent_bytes_total", "Bodies of answers.", |route| route.sent as f64);
    each("runnel_http_busy_seconds_total", "Time that a worker's thread worked.", |route| {
        seconds(route.busy)
    });
    let name = "runnel_http_held_seconds_max";
    page.family(name, "gauge", "The longest time that a request kept the loop from all others.");
    for route in routes {
        page.sample(name, &labels(route), seconds(route.held));
    }
}

fn server(page: &mut MetricsText, snapshot: &MetricsSnapshot) {
    page.counter("runnel_http_connections_total", "Connections accepted.", snapshot.accepted);
    page.gauge("runnel_http_connections", "Connections that are open.", snapshot.open as f64);
    page.gauge("runnel_http_requests_active", "Requests under way.", snapshot.active as f64);
    let help = "Requests whose client went away before the answer.";
    page.counter("runnel_http_abandoned_total", help, snapshot.gone);
    page.counter("runnel_http_broken_total", "Answers that broke off.", snapshot.broken);
    let name = "runnel_http_refused_total";
    page.family(name, "counter", "Heads of requests that were refused unread.");
    for ((status, reason), count) in &snapshot.refused {
        let labels = format!("status=\"{status}\",reason=\"{}\"", escape_label(reason));
        page.sample(name, &labels, *count as f64);
    }
    let name = "runnel_loop_lag_seconds";
    page.family(name, "histogram", "How late the event loop was, ten times a second when busy.");
    page.histogram(name, "", &snapshot.lag);
    let help = "How often the event loop was late by 100 ms or more.";
    page.counter("runnel_loop_lags_total", help, snapshot.lags);
    let help = "The longest that the event loop was late.";
    page.gauge("runnel_loop_lag_seconds_max", help, seconds(snapshot.lag_most));
    let name = "runnel_client_duration_seconds";
    page.family(name, "histogram", "Calls to other servers, to the head of the answer.");
    page.histogram(name, "", &snapshot.calls);
    let help = "Calls to other servers that failed, or answered 500 or more.";
    page.counter("runnel_client_failed_total", help, snapshot.calls_failed);
}

fn program(page: &mut MetricsText, snapshot: &MetricsSnapshot) {
    page.gauge("runnel_workers", "Workers of the program.", snapshot.workers as f64);
    page.gauge("runnel_uptime_seconds", "Since the first server started.", snapshot.uptime);
    let draining = f64::from(u8::from(snapshot.is_draining));
    page.gauge("runnel_draining", "1 while the server stops.", draining);
    let name = "runnel_fibers";
    page.family(name, "gauge", "Fibers of the program.");
    page.sample(name, "state=\"running\"", snapshot.fibers_running as f64);
    page.sample(name, "state=\"waiting\"", snapshot.fibers_waiting as f64);
    let help = "Bytes that the program's objects take.";
    page.gauge("runnel_heap_bytes", help, snapshot.heap as f64);
    page.counter("runnel_log_lines_lost_total", "No room in the queue.", snapshot.lines_lost);
    page.counter("runnel_spans_sent_total", "Spans that a collector took.", snapshot.spans_sent);
    page.counter("runnel_spans_lost_total", "Spans that no collector took.", snapshot.spans_lost);
}

fn backups(page: &mut MetricsText, snapshot: &MetricsSnapshot) {
    let name = "runnel_backup_lag_seconds";
    page.family(name, "gauge", "Age of the newest state in the target of a continuous backup.");
    for (database, target, seconds) in &snapshot.backups {
        let (database, target) = (escape_label(database), escape_label(target));
        let labels = format!("database=\"{database}\",target=\"{target}\"");
        page.sample(name, &labels, *seconds);
    }
}

fn process(page: &mut MetricsText, snapshot: &MetricsSnapshot) {
    let Some(process) = &snapshot.process else { return };
    page.family("process_cpu_seconds_total", "counter", "Processor time.");
    page.sample("process_cpu_seconds_total", "", process.cpu);
    page.gauge("process_resident_memory_bytes", "Memory in use.", process.resident as f64);
    page.gauge("process_threads", "Threads.", process.threads as f64);
    page.gauge("process_open_fds", "Open descriptors.", process.descriptors as f64);
    if let Some(most) = process.most_descriptors {
        page.gauge("process_max_fds", "The most descriptors.", most as f64);
    }
}

fn labels(route: &RouteTotals) -> String {
    format!("method=\"{}\",route=\"{}\"", route.method, escape_label(&route.route))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_did_nothing_has_metrics() {
        let text = text(&MetricsSnapshot::default());
        assert!(text.contains("\nrunnel_http_connections 0\n"));
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let value = line.rsplit(' ').next().unwrap_or_default();
            assert!(value.parse::<f64>().is_ok(), "{line}");
        }
    }
}
