//! Active health checks: a request to each upstream at an interval.

use super::forward::{ForwardedHead, ProxyCore};
use super::headers::RelayedHead;
use super::upload::ForwardedContent;
use super::upstream::ProxyUpstream;
use crate::protocol::fields::FieldLines;
use futures_util::future::join_all;
use hyper::Method;
use hyper::http::uri::PathAndQuery;
use std::future::poll_fn;
use std::rc::{Rc, Weak};
use std::time::Duration;

/// The longest time of one check, where the interval is not shorter.
const CHECK_TIME: Duration = Duration::from_secs(5);
const USER_AGENT: &str = concat!("runnel/", env!("CARGO_PKG_VERSION"), " (health check)");

/// Checks the upstreams as long as the proxy exists.
pub(super) fn start(core: &Rc<ProxyCore>) {
    let Some(path) = &core.options.health_check else { return };
    let Ok(target) = PathAndQuery::try_from(path.as_str()) else { return };
    let interval = core.options.interval;
    tokio::task::spawn_local(run(Rc::downgrade(core), target, interval));
}

async fn run(core: Weak<ProxyCore>, target: PathAndQuery, interval: Duration) {
    let mut ticks = tokio::time::interval(interval);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        let Some(core) = core.upgrade() else { return };
        let limit = interval.min(CHECK_TIME);
        join_all(core.balancer.upstreams.iter().map(async |upstream| {
            let check = tokio::time::timeout(limit, is_good(upstream, &target));
            let is_up = check.await.unwrap_or(false);
            if upstream.health.checked(is_up) {
                tracing::warn!(
                    upstream = upstream.place(),
                    is_up,
                    "a health check changed its result"
                );
            }
        }))
        .await;
    }
}

/// Whether an upstream answers with 2xx or 3xx, on a connection of its own.
async fn is_good(upstream: &Rc<ProxyUpstream>, target: &PathAndQuery) -> bool {
    let connecting = upstream.dial.connect(&upstream.uri, &upstream.host.counters);
    let Ok(line) = connecting.await else { return false };
    let mut lines = FieldLines::default();
    lines.push("user-agent", USER_AGENT.as_bytes());
    lines.push("connection", b"close");
    let head = ForwardedHead { upstream, method: &Method::GET, target, host: None, lines: &lines };
    let content = ForwardedContent::Nothing.body();
    let mut trip = upstream.host.round_trip::<_, RelayedHead>(line, &head, content);
    let answer = poll_fn(|context| trip.poll_head(context)).await;
    answer.is_ok_and(|head| head.status.is_success() || head.status.is_redirection())
}
