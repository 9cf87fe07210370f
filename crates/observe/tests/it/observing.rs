//! A watched server, asked by clients over real sockets.

use crate::support::{ask, body, header, on_loop, status, watched};
use runnel_observe::{LogFormat, LogTarget, ObserveSettings};
use runnel_store::{
    Answer, Content, Context, Count, Counters, Error, Kind, Level, Reference, Store, Value, json,
};
use std::rc::Rc;
use std::time::Duration;

fn admin() -> ObserveSettings {
    ObserveSettings { admin: Some(([127, 0, 0, 1], 0).into()), ..ObserveSettings::default() }
}

fn metric(text: &str, name: &str) -> f64 {
    let line = text.lines().find(|line| line.rsplit_once(' ').is_some_and(|(key, _)| key == name));
    line.unwrap_or_else(|| panic!("{name} is missing in\n{text}"))
        .rsplit_once(' ')
        .unwrap()
        .1
        .parse()
        .unwrap()
}

#[test]
fn requests_are_counted_by_route_and_class() {
    on_loop(async {
        let server = watched(&admin(), Rc::new(crate::support::Site)).await;
        for path in ["/item/1", "/item/2", "/plain", "/nowhere", "/fail"] {
            ask(server.port, path, &[]).await;
        }
        let text = body(&ask(server.admin(), "/metrics", &[]).await);
        let requests =
            |labels: &str| metric(&text, &format!("runnel_http_requests_total{{{labels}}}"));
        assert_eq!(requests("method=\"GET\",route=\"/item/:id\",status=\"2xx\""), 2.0);
        assert_eq!(requests("method=\"GET\",route=\"/plain\",status=\"2xx\""), 1.0);
        assert_eq!(requests("method=\"GET\",route=\"(none)\",status=\"4xx\""), 1.0);
        assert_eq!(requests("method=\"GET\",route=\"(none)\",status=\"5xx\""), 1.0);
        let sent = "runnel_http_sent_bytes_total{method=\"GET\",route=\"/item/:id\"}";
        assert_eq!(metric(&text, sent), 2.0 * "an item".len() as f64);
        assert_eq!(metric(&text, "runnel_http_connections_total"), 5.0);
        assert_eq!(metric(&text, "runnel_http_requests_active"), 0.0);
        let count = "runnel_http_request_duration_seconds_count{method=\"GET\",route=\"/plain\"}";
        assert_eq!(metric(&text, count), 1.0);
        if cfg!(target_os = "linux") {
            assert!(metric(&text, "process_resident_memory_bytes") > 0.0);
        }
        server.stop().await;
    });
}

#[test]
fn the_number_of_routes_is_bounded() {
    on_loop(async {
        let server = watched(&admin(), Rc::new(crate::support::Anything)).await;
        for number in 0..400 {
            ask(server.port, &format!("/{number}"), &[]).await;
        }
        let text = body(&ask(server.admin(), "/metrics", &[]).await);
        let routes = text.lines().filter(|line| line.starts_with("runnel_http_requests_total{"));
        assert_eq!(routes.count(), 257);
        let other = "runnel_http_requests_total{method=\"GET\",route=\"(other)\",status=\"2xx\"}";
        assert_eq!(metric(&text, other), 144.0);
        server.stop().await;
    });
}

#[test]
fn databases_and_other_servers_are_shown() {
    on_loop(async {
        let database = Counters::of("sqlite", "/srv/a \"b\".db");
        database.add(Count::Statements, 3);
        database.add(Count::Writes, 8);
        database.add(Count::Commits, 2);
        let host = Counters::of("http", "h.example:81");
        host.add(Count::Requests, 5);
        host.rise(Level::Slots, 4);
        host.rise(Level::Used, 1);
        host.waits.record(Duration::from_millis(3));
        host.waits.record(Duration::from_secs(60));
        let server = watched(&admin(), Rc::new(crate::support::Site)).await;
        let text = body(&ask(server.admin(), "/metrics", &[]).await);
        let of_database = |name: &str| {
            metric(&text, &format!(r#"{name}{{kind="sqlite",place="/srv/a \"b\".db"}}"#))
        };
        assert_eq!(of_database("runnel_database_statements_total"), 3.0);
        assert_eq!(of_database("runnel_database_writes_total"), 8.0);
        assert_eq!(of_database("runnel_database_commits_total"), 2.0);
        assert_eq!(of_database("runnel_pool_waiting"), 0.0);
        let of_host = |name: &str| metric(&text, &format!(r#"{name}{{host="h.example:81"}}"#));
        assert_eq!(of_host("runnel_client_requests_total"), 5.0);
        assert_eq!((of_host("runnel_pool_size"), of_host("runnel_pool_in_use")), (4.0, 1.0));
        assert_eq!(of_host("runnel_pool_wait_seconds_count"), 2.0);
        assert_eq!(of_host("runnel_pool_wait_seconds_sum"), 60.003);
        let below = |bound: &str| {
            let labels = format!(r#"host="h.example:81",le="{bound}""#);
            metric(&text, &format!("runnel_pool_wait_seconds_bucket{{{labels}}}"))
        };
        assert_eq!((below("0.001"), below("0.005"), below("+Inf")), (0.0, 1.0, 2.0));
        assert!(!text.contains(r#"runnel_client_requests_total{kind="sqlite""#));
        server.stop().await;
    });
}

#[test]
fn what_holds_the_loop_is_named() {
    on_loop(async {
        let server = watched(&admin(), Rc::new(crate::support::Site)).await;
        ask(server.port, "/holds", &[]).await;
        let late = "runnel_loop_lags_total";
        let mut text = String::new();
        for _ in 0..100 {
            tokio::time::sleep(Duration::from_millis(50)).await;
            text = body(&ask(server.admin(), "/metrics", &[]).await);
            if metric(&text, late) > 0.0 {
                break;
            }
        }
        assert_eq!(metric(&text, late), 1.0);
        assert!(metric(&text, "runnel_loop_lag_seconds_max") >= 0.1);
        let held = "runnel_http_held_seconds_max{method=\"GET\",route=\"/holds\"}";
        assert!(metric(&text, held) >= 0.25);
        server.stop().await;
    });
}

#[test]
fn a_refused_head_is_counted_and_logged() {
    on_loop(async {
        let folder = tempfile::tempdir().unwrap();
        for (format, target) in [(LogFormat::Json, "json"), (LogFormat::Combined, "combined")] {
            let file = folder.path().join(target);
            let settings = ObserveSettings {
                access_log: Some(format),
                log_target: LogTarget::File(file.clone()),
                ..admin()
            };
            let server = watched(&settings, Rc::new(crate::support::Site)).await;
            for head in ["rubbish\r\n\r\n", "rubbish\r\n\r\n", "GET /#x HTTP/1.1\r\n\r\n"] {
                assert_eq!(status(&crate::support::send(server.port, head).await), 400);
            }
            let text = body(&ask(server.admin(), "/metrics", &[]).await);
            let refused = |reason: &str| {
                metric(
                    &text,
                    &format!("runnel_http_refused_total{{status=\"400\",reason=\"{reason}\"}}"),
                )
            };
            assert_eq!(refused("the request line is malformed"), 2.0);
            assert_eq!(refused("the target has a fragment, which is never sent"), 1.0);
            server.stop().await;
            let log = std::fs::read_to_string(&file).unwrap();
            let lines: Vec<&str> = log.lines().collect();
            assert_eq!(lines.len(), 3, "{log}");
            if format == LogFormat::Json {
                let line = json::parse(lines[2].as_bytes()).unwrap();
                let text = |name| line.get(name).and_then(Value::as_str);
                assert_eq!((text("method"), text("target")), (Some("-"), Some("-")));
                assert_eq!(text("reason"), Some("the target has a fragment, which is never sent"));
                assert_eq!(line.get("status"), Some(&Value::Int(400)));
                assert!(text("peer").is_some_and(|peer| peer.starts_with("127.")), "{log}");
            } else {
                assert!(lines[0].starts_with("127.0.0.1 - - ["), "{log}");
                assert!(lines[0].contains("] \"- - -\" 400 "), "{log}");
                assert!(
                    lines[0].ends_with(" \"-\" \"-\" \"the request line is malformed\""),
                    "{log}"
                );
            }
        }
    });
}

#[test]
fn the_admin_port_answers_only_its_own_hosts() {
    on_loop(async {
        let settings =
            ObserveSettings { admin_hosts: vec!["metrics.example".to_string()], ..admin() };
        let server = watched(&settings, Rc::new(crate::support::Site)).await;
        for (host, expected) in [
            ("localhost:9090", 200),
            ("[::1]", 200),
            ("metrics.example", 200),
            ("evil.example", 421),
            ("10.0.0.5", 421),
        ] {
            let request =
                format!("GET /metrics HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n");
            assert_eq!(
                status(&crate::support::send(server.admin(), &request).await),
                expected,
                "{host}"
            );
        }
        server.stop().await;
        let server = watched(&admin(), Rc::new(crate::support::Site)).await;
        for (port, path) in [(server.admin(), "/metrics"), (server.port, "/")] {
            let evil =
                format!("GET {path} HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
            let answer = crate::support::send(port, &evil).await;
            assert_eq!(status(&answer), 421, "{path}");
            assert!(body(&answer).contains("allowedHosts: [ 'evil.example' ]"), "{answer}");
        }
        server.stop().await;
    });
}

#[test]
fn a_token_protects_the_admin_port() {
    on_loop(async {
        let token = runnel_observe::AdminToken::new("sixteen-letters!");
        let server = watched(
            &ObserveSettings { admin_token: token, ..admin() },
            Rc::new(crate::support::Site),
        )
        .await;
        server.observing.check("secret check", Rc::new(Check("no connection"))).unwrap();
        for (path, without) in
            [("/healthz", 200), ("/", 401), ("/metrics", 401), ("/metrics.json", 401), ("/x", 401)]
        {
            let answer = ask(server.admin(), path, &[]).await;
            assert_eq!(status(&answer), without, "{path}");
            assert_eq!(header(&answer, "www-authenticate").is_some(), without == 401, "{path}");
            let wrong =
                ask(server.admin(), path, &["Authorization: Bearer sixteen-letters?"]).await;
            assert_eq!(status(&wrong), without, "{path}");
        }
        for right in [
            "Authorization: Bearer sixteen-letters!",
            "Authorization: Basic YWRtaW46c2l4dGVlbi1sZXR0ZXJzIQ==",
        ] {
            let fields = [right];
            assert_eq!(status(&ask(server.admin(), "/metrics", &fields).await), 200);
            assert!(body(&ask(server.admin(), "/readyz", &fields).await).contains("secret check"));
        }
        let ready = body(&ask(server.admin(), "/readyz", &[]).await);
        assert!(ready.contains("\"ready\":") && !ready.contains("secret check"), "{ready}");
        server.stop().await;
    });
}

#[test]
fn an_address_that_others_reach_needs_a_token() {
    on_loop(async {
        for address in ["0.0.0.0:0", "[::]:0", "192.0.2.1:0"] {
            let settings = ObserveSettings {
                admin: Some(address.parse().unwrap()),
                ..ObserveSettings::default()
            };
            let error = crate::support::refused(&settings).await;
            assert_eq!(error.kind, Kind::Invalid);
            assert!(error.message.contains("adminToken"), "{}", error.message);
        }
        let token = runnel_observe::AdminToken::new("sixteen-letters!");
        let admin = Some("0.0.0.0:0".parse().unwrap());
        let settings = ObserveSettings { admin, admin_token: token, ..ObserveSettings::default() };
        let server = crate::support::serve(settings, Rc::new(crate::support::Site)).await;
        let request = "GET /metrics HTTP/1.1\r\nHost: any.example\r\nConnection: close\r\n\r\n";
        assert_eq!(status(&crate::support::send(server.admin(), request).await), 401);
        server.stop().await;
    });
}

#[test]
fn the_admin_port_is_apart_from_the_public_one() {
    on_loop(async {
        let server = watched(&admin(), Rc::new(crate::support::Site)).await;
        for path in ["/metrics", "/healthz", "/readyz", "/metrics.json"] {
            assert_eq!(status(&ask(server.port, path, &[]).await), 404, "{path}");
            assert_eq!(status(&ask(server.admin(), path, &[]).await), 200, "{path}");
        }
        let page = ask(server.admin(), "/", &[]).await;
        assert!(body(&page).contains("<title>Runnel server</title>"));
        assert!(header(&page, "content-security-policy").unwrap().contains("default-src 'none'"));
        assert_eq!(status(&ask(server.admin(), "/item/1", &[]).await), 404);
        let numbers =
            json::parse(body(&ask(server.admin(), "/metrics.json", &[]).await).as_bytes());
        assert!(matches!(numbers.unwrap().get("routes"), Some(Value::List(_))));
        server.stop().await;
    });
}

/// Ready when it says so.
struct Check(&'static str);

impl Store for Check {
    fn get(&self, _: &Reference, _: &Context) -> Answer<Option<Content>> {
        match self.0 {
            "" => Answer::ok(Some(Content::text("ready"))),
            "never" => Answer::later(std::future::pending()),
            why => Error::new(Kind::Unavailable, why).into(),
        }
    }

    runnel_store::without!(links);

    fn describe(&self) -> String {
        "check".into()
    }
}

#[test]
fn readiness_is_what_the_program_says() {
    on_loop(async {
        let server = watched(&admin(), Rc::new(crate::support::Site)).await;
        assert_eq!(status(&ask(server.admin(), "/readyz", &[]).await), 200);
        server.observing.check("fine", Rc::new(Check(""))).unwrap();
        assert_eq!(status(&ask(server.admin(), "/readyz", &[]).await), 200);
        server.observing.check("database", Rc::new(Check("no connection"))).unwrap();
        let answer = ask(server.admin(), "/readyz", &[]).await;
        assert_eq!(status(&answer), 503);
        assert!(body(&answer).contains("\"database\":\"no connection\""), "{answer}");
        server.observing.check("database", Rc::new(Check("never"))).unwrap();
        let answer = ask(server.admin(), "/readyz", &[]).await;
        assert_eq!(status(&answer), 503);
        assert!(body(&answer).contains("\"fine\":\"ready\""), "{answer}");
        server.observing.check("database", Rc::new(Check(""))).unwrap();
        server.observing.drain();
        let answer = ask(server.admin(), "/readyz", &[]).await;
        assert_eq!((status(&answer), body(&answer).contains("\"draining\":true")), (503, true));
        assert_eq!(status(&ask(server.admin(), "/healthz", &[]).await), 200);
        server.stop().await;
    });
}

#[test]
fn requests_have_names() {
    on_loop(async {
        let settings = ObserveSettings { request_ids: true, ..ObserveSettings::default() };
        let server = watched(&settings, Rc::new(crate::support::Site)).await;
        let own = ask(server.port, "/id", &["X-Request-Id: abc-1"]).await;
        assert_eq!((header(&own, "x-request-id"), body(&own)), (Some("abc-1"), "abc-1".into()));
        let made = ask(server.port, "/id", &["X-Request-Id: <script>"]).await;
        assert_eq!(header(&made, "x-request-id").unwrap().len(), 32);
        assert_eq!(header(&made, "x-request-id").unwrap(), body(&made));
        let refused = ask(server.port, "/fail", &["X-Request-Id: abc-2"]).await;
        assert_eq!(header(&refused, "x-request-id"), Some("abc-2"));
        server.stop().await;
        let bare = watched(&admin(), Rc::new(crate::support::Site)).await;
        assert_eq!(
            header(&ask(bare.port, "/id", &["X-Request-Id: a"]).await, "x-request-id"),
            None
        );
        bare.stop().await;
    });
}

fn logged(format: LogFormat, requests: &[(&str, &[&str])]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("access.log");
    on_loop(async {
        let settings = ObserveSettings {
            access_log: Some(format),
            log_target: LogTarget::File(path.clone()),
            ..ObserveSettings::default()
        };
        let server = watched(&settings, Rc::new(crate::support::Site)).await;
        for (target, headers) in requests {
            ask(server.port, target, headers).await;
        }
        server.stop().await;
    });
    std::fs::read_to_string(&path).unwrap().lines().map(str::to_string).collect()
}

#[test]
fn a_line_of_json_says_everything_but_secrets() {
    let lines = logged(
        LogFormat::Json,
        &[
            (
                "/item/7?password=hunter2&page=3",
                &[
                    "Authorization: Bearer hunter3",
                    "Cookie: session=hunter4",
                    "User-Agent: test \"1\"",
                    "Referer: http://me:hunter5@h/x?token=hunter6",
                    "X-Request-Id: one",
                ],
            ),
            ("/healthz", &[]),
            ("/fail", &[]),
        ],
    );
    assert!(!lines.join("").contains("hunter"), "{lines:?}");
    assert_eq!(lines.len(), 3, "a check of health that fails is shown: {lines:?}");
    let line = json::parse(lines[0].as_bytes()).unwrap();
    let text = |name: &str| line.get(name).and_then(Value::as_str).unwrap_or_default().to_string();
    assert_eq!(text("target"), "/item/7?password=[hidden]&page=3");
    assert_eq!((&*text("method"), &*text("route")), ("GET", "/item/:id"));
    assert_eq!((&*text("id"), &*text("agent")), ("one", "test \"1\""));
    assert_eq!(text("referrer"), "http://h/x?token=[hidden]");
    assert_eq!((&*text("peer"), &*text("protocol")), ("127.0.0.1", "HTTP/1.1"));
    assert_eq!(text("time").len(), "2026-03-01T12:00:00.123Z".len());
    assert_eq!(line.get("status"), Some(&Value::Int(200)));
    assert_eq!(line.get("sent"), Some(&Value::Int(7)));
    assert_eq!(line.get("whole"), Some(&Value::Bool(true)));
    assert!(line.get("duration").and_then(Value::as_f64).is_some());
}

#[test]
fn the_combined_form_is_that_of_other_servers() {
    let lines = logged(
        LogFormat::Combined,
        &[("/item/7?key=1", &["User-Agent: a\"b", "X-Request-Id: one"]), ("/alive", &[])],
    );
    assert!(lines[0].starts_with("127.0.0.1 - - ["), "{}", lines[0]);
    let rest = &lines[0][lines[0].find(']').unwrap()..];
    assert_eq!(rest, "] \"GET /item/7?key=[hidden] HTTP/1.1\" 200 7 \"-\" \"a\\\"b\" one");
}

#[test]
fn a_client_that_goes_away_is_counted() {
    on_loop(async {
        let server = watched(&admin(), Rc::new(crate::support::Site)).await;
        crate::support::leave(server.port, "/waits").await;
        let mut gone = 0.0;
        for _ in 0..200 {
            let text = body(&ask(server.admin(), "/metrics", &[]).await);
            gone = metric(&text, "runnel_http_abandoned_total");
            if gone > 0.0 {
                assert_eq!(metric(&text, "runnel_http_requests_active"), 0.0);
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(gone, 1.0);
        server.stop().await;
    });
}

#[test]
fn workers_add_up_and_a_server_that_starts_again_goes_on() {
    on_loop(async {
        let first = watched(&admin(), Rc::new(crate::support::Site)).await;
        ask(first.port, "/plain", &[]).await;
        let second = crate::support::beside(&first, Rc::new(crate::support::Site)).await;
        assert_eq!(second.observing.admin_port(), None, "one serves the admin port");
        ask(second.port, "/plain", &[]).await;
        ask(second.port, "/item/1", &[]).await;
        let plain = "runnel_http_requests_total{method=\"GET\",route=\"/plain\",status=\"2xx\"}";
        let text = body(&ask(first.admin(), "/metrics", &[]).await);
        assert_eq!((metric(&text, plain), metric(&text, "runnel_workers")), (2.0, 2.0));
        second.stop().await;
        let third = crate::support::beside(&first, Rc::new(crate::support::Site)).await;
        ask(third.port, "/plain", &[]).await;
        let text = body(&ask(first.admin(), "/metrics", &[]).await);
        assert_eq!((metric(&text, plain), metric(&text, "runnel_workers")), (3.0, 2.0));
        third.stop().await;
        first.stop().await;
    });
}
