//! Buckets and objects on our own server, over memory and files.

use crate::s3_client::{BucketServer, over_stores};
use crate::support::run;
use runnel_store::{Disk, Memory, Store};
use std::rc::Rc;

/// Keys that file systems read in their own way, and keys that are in each other's way.
const KEYS: [&str; 12] = [
    "/bucket/a",
    "/bucket/a/",
    "/bucket/a/b",
    "/bucket/a/b/c",
    "/bucket/a//b",
    "/bucket/%2Flead",
    "/bucket/dot/../kept/./x",
    "/bucket/per%2525cent%252F",
    "/bucket/line%0Afeed",
    "/bucket/%F0%9F%90%88",
    "/bucket/.runnel-x.part",
    "/bucket/plus+blank%20",
];

#[test]
fn any_key_keeps_its_content() {
    over_stores(|store| async move {
        let server = BucketServer::start(store).await;
        server.put("/bucket", "").await;
        for key in KEYS {
            server.put(key, key).await;
        }
        for key in KEYS {
            assert_eq!(server.get(key).await.as_deref(), Ok(key), "{key}");
        }
        let mut keys = server.list("/bucket?list-type=2&encoding-type=url", "Key").await;
        assert_eq!(keys.len(), KEYS.len());
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), KEYS.len(), "each once");
        assert_eq!(server.ask("DELETE", "/bucket", &[]).await.code(), "BucketNotEmpty");
        for key in KEYS {
            assert_eq!(server.ask("DELETE", key, &[]).await.status, 204);
            assert_eq!(server.get(key).await, Err(404), "{key}");
        }
        assert_eq!(server.ask("DELETE", "/bucket", &[]).await.status, 204);
        assert_eq!(server.ask("HEAD", "/bucket", &[]).await.status, 404);
    });
}

#[test]
fn listings_are_in_byte_order_and_paged() {
    over_stores(|store| async move {
        let server = BucketServer::start(store).await;
        server.put("/bucket", "").await;
        let names = ["B", "a", "a-", "a.", "a/1", "a/2", "a0", "b/x/y", "b/z", "\u{e9}"];
        for name in names {
            server.put(&format!("/bucket/{}", name.replace('\u{e9}', "%C3%A9")), name).await;
        }
        let mut paged = Vec::new();
        let mut target = "/bucket?list-type=2&max-keys=3".to_string();
        loop {
            let reply = server.ask("GET", &target, &[]).await;
            paged.extend(reply.elements("Key"));
            let Some(token) = reply.elements("NextContinuationToken").pop() else { break };
            let token = token.replace('/', "%2F");
            target = format!("/bucket?list-type=2&max-keys=3&continuation-token={token}");
        }
        assert_eq!(paged, names);
        let target = "/bucket?delimiter=/&max-keys=4";
        let reply = server.ask("GET", target, &[]).await;
        assert_eq!(reply.elements("Key"), ["B", "a", "a-", "a."]);
        assert_eq!(reply.elements("NextMarker"), ["a."]);
        let reply = server.ask("GET", "/bucket?delimiter=/&max-keys=3&marker=a.", &[]).await;
        assert_eq!(reply.elements("Key"), ["a0"]);
        assert_eq!(reply.elements("Prefix"), ["a/", "b/"]);
        assert_eq!(server.list("/bucket?prefix=b/&delimiter=/", "Key").await, ["b/z"]);
    });
}

#[test]
fn conditions_and_ranges_hold() {
    over_stores(|store| async move {
        let server = BucketServer::start(store).await;
        server.put("/bucket", "").await;
        let put = server.put("/bucket/key", "0123456789").await;
        let etag = put.field("etag").unwrap().to_string();
        assert_eq!(etag, "\"781e5e245d69b566979b86e28d23f2c7\"");
        let range = server.ask("GET", "/bucket/key", &[("Range", "bytes=2-4")]).await;
        assert_eq!((range.status, range.text().as_str()), (206, "234"));
        assert_eq!(range.field("content-range"), Some("bytes 2-4/10"));
        let beyond = server.ask("GET", "/bucket/key", &[("Range", "bytes=10-")]).await;
        assert_eq!((beyond.status, beyond.code().as_str()), (416, "InvalidRange"));
        let known = server.ask("GET", "/bucket/key", &[("If-None-Match", &etag)]).await;
        assert_eq!((known.status, known.body.len()), (304, 0));
        let other = server.ask("GET", "/bucket/key", &[("If-Match", "\"x\"")]).await;
        assert_eq!(other.code(), "PreconditionFailed");
        let again = server.send("PUT", "/bucket/key", &[("If-None-Match", "*")], b"x").await;
        assert_eq!(again.status, 412);
        let matching = server.send("PUT", "/bucket/key", &[("If-Match", &etag)], b"new").await;
        assert_eq!(matching.status, 200);
        let stale = server.send("PUT", "/bucket/key", &[("If-Match", &etag)], b"x").await;
        assert_eq!(stale.status, 412);
        assert_eq!(server.get("/bucket/key").await.as_deref(), Ok("new"));
    });
}

#[test]
fn attributes_are_kept_and_copied() {
    over_stores(|store| async move {
        let server = BucketServer::start(store).await;
        server.put("/bucket", "").await;
        let fields = [
            ("Content-Type", "text/x"),
            ("Cache-Control", "no-store"),
            ("x-amz-meta-Color", "red"),
            ("x-amz-tagging", "a=b"),
        ];
        server.send("PUT", "/bucket/key", &fields, b"content").await;
        let source = [("x-amz-copy-source", "/bucket/key")];
        assert_eq!(server.ask("PUT", "/bucket/copy", &source).await.status, 200);
        for target in ["/bucket/key", "/bucket/copy"] {
            let head = server.ask("HEAD", target, &[]).await;
            assert_eq!(head.field("content-type"), Some("text/x"), "{target}");
            assert_eq!(head.field("cache-control"), Some("no-store"));
            assert_eq!(head.field("x-amz-meta-color"), Some("red"));
            assert_eq!(head.field("x-amz-tagging-count"), Some("1"));
            assert_eq!(head.field("content-length"), Some("7"));
        }
        assert_eq!(server.ask("PUT", "/bucket/key", &source).await.code(), "InvalidRequest");
    });
}

#[test]
fn a_folder_that_exists_is_served() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(folder.path().join("photos/2024")).unwrap();
    std::fs::write(folder.path().join("photos/2024/cat.txt"), "meow").unwrap();
    run(async {
        let server = BucketServer::start(Rc::new(Disk::new(folder.path()).unwrap())).await;
        assert_eq!(server.list("/", "Name").await, ["photos"]);
        assert_eq!(server.list("/photos", "Key").await, ["2024/cat.txt"]);
        let got = server.ask("GET", "/photos/2024/cat.txt", &[]).await;
        assert_eq!(got.text(), "meow");
        assert!(got.field("etag").unwrap().ends_with("-1\""), "no MD5");
        server.put("/photos/2024/dog.txt", "woof").await;
        let path = folder.path().join("photos/2024/dog.txt");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "woof");
        // What another program writes has other attributes.
        std::fs::write(&path, "WOOF").unwrap();
        let head = server.ask("HEAD", "/photos/2024/dog.txt", &[]).await;
        assert!(head.field("etag").unwrap().ends_with("-1\""));
    });
}

#[test]
fn one_of_many_creations_wins() {
    let folder = tempfile::tempdir().unwrap();
    run(async {
        // Two workers on the same files.
        let disk = || Rc::new(Disk::new(folder.path()).unwrap());
        let servers = [BucketServer::start(disk()).await, BucketServer::start(disk()).await];
        servers[0].put("/bucket", "").await;
        for round in 0..10 {
            let target = format!("/bucket/key-{round}");
            let body = |number: usize| vec![b'0' + number as u8; 100_000 * number + 1];
            let puts = (0..6).map(|number| {
                let (server, target) = (&servers[number % 2], target.clone());
                async move {
                    let fields = [("If-None-Match", "*")];
                    server.send("PUT", &target, &fields, &body(number)).await.status
                }
            });
            let statuses = futures_util::future::join_all(puts).await;
            let won: Vec<usize> = (0..6).filter(|&number| statuses[number] == 200).collect();
            assert_eq!(won.len(), 1, "{statuses:?}");
            let got = servers[0].ask("GET", &target, &[]).await;
            assert_eq!(got.body, body(won[0]));
        }
    });
}

#[test]
fn a_body_that_is_wrong_leaves_the_old_object() {
    over_stores(|store: Rc<dyn Store>| async move {
        let server = BucketServer::start(store).await;
        server.put("/bucket", "").await;
        server.put("/bucket/key", "old").await;
        for length in [10, 300_000] {
            let body = vec![b'x'; length];
            let fields = [("Content-MD5", "1B2M2Y8AsgTpgAmY7PhCfg==")];
            let reply = server.send("PUT", "/bucket/key", &fields, &body).await;
            assert_eq!(reply.code(), "BadDigest");
            assert_eq!(server.get("/bucket/key").await.as_deref(), Ok("old"));
        }
    });
}

#[test]
fn names_of_buckets_are_checked() {
    run(async {
        let server = BucketServer::start(Rc::new(Memory::dictionary())).await;
        for target in ["/ab", "/Bucket", "/192.168.0.1", "/.runnel-s3"] {
            assert_eq!(server.ask("PUT", target, &[]).await.code(), "InvalidBucketName");
        }
        server.put("/bucket", "").await;
        assert_eq!(server.ask("PUT", "/bucket", &[]).await.code(), "BucketAlreadyOwnedByYou");
        assert_eq!(server.ask("GET", "/other", &[]).await.code(), "NoSuchBucket");
        let long = format!("/bucket/{}", "k".repeat(1_025));
        assert_eq!(server.ask("GET", &long, &[]).await.code(), "KeyTooLongError");
    });
}

#[test]
fn what_a_killed_process_has_received_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let staging = folder.path().join(".runnel-s3/staging");
    std::fs::create_dir_all(&staging).unwrap();
    for name in ["old", "new"] {
        std::fs::write(staging.join(name), "content").unwrap();
    }
    let old = std::fs::File::options().write(true).open(staging.join("old")).unwrap();
    let days = std::time::Duration::from_secs(2 * 24 * 60 * 60);
    old.set_modified(std::time::SystemTime::now() - days).unwrap();
    run(async {
        let server = BucketServer::start(Rc::new(Disk::new(folder.path()).unwrap())).await;
        server.put("/bucket", "").await;
        while staging.join("old").exists() {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        assert!(staging.join("new").exists());
    });
}

#[test]
fn pages_of_other_origins_write_nothing() {
    over_stores(|store| async move {
        let server = BucketServer::start(store).await;
        server.put("/bucket", "").await;
        for field in [("Origin", "http://evil.example"), ("Sec-Fetch-Site", "cross-site")] {
            let refused = server.send("PUT", "/bucket/a", &[field], b"theirs").await;
            assert_eq!(
                (refused.status, refused.code().as_str()),
                (403, "AccessDenied"),
                "{field:?}"
            );
            let refused = server.send("POST", "/bucket", &[field], b"").await;
            assert_eq!(refused.status, 403, "{field:?}");
        }
        assert_eq!(server.get("/bucket/a").await, Err(404));
        let own = [("Origin", "http://s3"), ("Sec-Fetch-Site", "same-origin")];
        assert_eq!(server.send("PUT", "/bucket/a", &own, b"ours").await.status, 200);
    });
}

#[test]
fn objects_say_when_they_expire() {
    over_stores(|store| async move {
        let server = BucketServer::start(store).await;
        server.put("/bucket", "").await;
        let rules = "<LifecycleConfiguration><Rule><ID>old logs</ID><Status>Enabled</Status><Filter>\
            <Prefix>logs/</Prefix></Filter><Expiration><Days>1</Days></Expiration></Rule>\
            </LifecycleConfiguration>";
        let put = server.send("PUT", "/bucket?lifecycle", &[], rules.as_bytes()).await;
        assert_eq!(put.status, 200, "{}", put.text());
        server.put("/bucket/logs/a", "a").await;
        server.put("/bucket/kept", "b").await;
        let head = server.ask("HEAD", "/bucket/logs/a", &[]).await;
        let says = head.field("x-amz-expiration").unwrap();
        assert!(says.starts_with("expiry-date=\""), "{says}");
        assert!(says.ends_with("GMT\", rule-id=\"old+logs\""), "{says}");
        let head = server.ask("HEAD", "/bucket/kept", &[]).await;
        assert_eq!(head.field("x-amz-expiration"), None);
    });
}
