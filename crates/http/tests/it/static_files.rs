//! A folder as a web server shows it: index files, hidden names, links, packed forms, rules for
//! caches, pages of their own for what is missing, and files that change while they are kept.

use crate::helper::{Response, ask, run, site, soon, start};
use runnel_http::HttpServer;
use runnel_store::{
    Context, Disk, Links, Reference, Relative, Sequence, StaticFiles, StaticOptions, Store,
};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

async fn page(server: &HttpServer, path: &str, fields: &str) -> Response {
    ask(server, &format!("GET {path} HTTP/1.1\r\nHost: t\r\n{fields}\r\n\r\n")).await
}

async fn status(server: &HttpServer, path: &str) -> u16 {
    page(server, path, "X: y").await.status
}

/// A folder that is gone after the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let name = format!("runnel-static-{name}-{}", std::process::id());
        let root = std::env::temp_dir().canonicalize().unwrap().join(name);
        for folder in ["dir", "noindex", ".git", ".well-known", "assets"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        for (name, text) in [
            ("a.txt", "a"),
            ("empty.txt", ""),
            ("blob.zzz", "\0\u{1}"),
            ("index.html", "<p>start"),
            ("404.html", "<p>lost"),
            ("dir/index.html", "<p>index of dir"),
            ("noindex/a.txt", "a"),
            (".hidden", "secret"),
            (".git/config", "secret"),
            (".well-known/x", "public"),
            ("assets/app.1a2b3c4d.js", "1"),
            ("naïve.txt", "naive"),
        ] {
            std::fs::write(root.join(name), text).unwrap();
        }
        Folder(root)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.join(name), text).unwrap();
    }

    /// As `ref:file:… asScheme` is: the disk of the whole machine, seen from the folder.
    fn store(&self) -> Rc<dyn Store> {
        let base = Reference::from_path(self.0.to_str().unwrap().to_string());
        Rc::new(Relative::new(Rc::new(Disk::unconfined()), base))
    }

    async fn serve(&self, options: StaticOptions) -> HttpServer {
        start(Rc::new(StaticFiles::new(self.store(), options).unwrap())).await
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_and_directories() {
    run(async {
        let folder = Folder::new("plain");
        let server = folder.serve(StaticOptions::default()).await;
        let file = page(&server, "/a.txt", "X: y").await;
        assert_eq!((file.status, file.text()), (200, "a"));
        assert_eq!(file.header("content-type"), Some("text/plain; charset=utf-8"));
        assert_eq!(file.header("accept-ranges"), Some("bytes"));
        assert!(
            file.header("etag").unwrap().starts_with('"') && file.header("last-modified").is_some()
        );
        let empty = page(&server, "/empty.txt", "X: y").await;
        assert_eq!((empty.status, empty.header("content-length")), (200, Some("0")));
        let blob = page(&server, "/blob.zzz", "X: y").await;
        assert_eq!(blob.header("content-type"), Some("application/octet-stream"));
        assert_eq!(page(&server, "/na%C3%AFve.txt", "X: y").await.text(), "naive");
        assert_eq!(page(&server, "/", "X: y").await.text(), "<p>start");
        assert_eq!(page(&server, "/dir/", "X: y").await.text(), "<p>index of dir");
        for (path, place) in [("/dir", "dir/"), ("//dir", "dir/"), ("/dir?a=b", "dir/?a=b")] {
            let away = page(&server, path, "X: y").await;
            assert_eq!((away.status, away.header("location")), (308, Some(place)), "{path}");
            assert!(away.body.is_empty());
        }
        for path in [
            "/noindex/",
            "/noindex",
            "/missing",
            "/a.txt/",
            "/a.txt/x",
            "/.hidden",
            "/.git/config",
            "/.git/",
            "/..%5c..%5cetc%5cpasswd",
            "/dir/..;/a.txt",
            "/%252e%252e/a.txt",
        ] {
            assert_eq!(status(&server, path).await, 404, "{path}");
        }
        let long = format!("/{}", "x".repeat(3000));
        assert_eq!(status(&server, &long).await, 404);
        assert_eq!(page(&server, "/.well-known/x", "X: y").await.text(), "public");
        let write =
            ask(&server, "PUT /a.txt HTTP/1.1\r\nHost: t\r\nContent-Length: 1\r\n\r\nx").await;
        assert_eq!((write.status, write.header("allow")), (405, Some("OPTIONS, GET, HEAD")));
    });
}

#[test]
fn what_leads_out_and_what_is_no_file_is_missing() {
    run(async {
        let folder = Folder::new("links");
        symlink("/etc/passwd", folder.0.join("escape.txt")).unwrap();
        symlink("/etc", folder.0.join("etc")).unwrap();
        symlink("a.txt", folder.0.join("inside.txt")).unwrap();
        symlink(folder.0.join("dir"), folder.0.join("absolute")).unwrap();
        symlink("nowhere", folder.0.join("broken")).unwrap();
        symlink("ring", folder.0.join("ring")).unwrap();
        let made = std::process::Command::new("mkfifo").arg(folder.0.join("fifo")).status();
        assert!(made.unwrap().success());
        let at = |links| StaticOptions { links, ..StaticOptions::default() };
        for (links, expected) in [
            (Links::Inside, [404, 404, 200, 200, 404, 404, 404]),
            (Links::Refused, [404, 404, 404, 404, 404, 404, 404]),
            (Links::All, [200, 200, 200, 200, 404, 404, 404]),
        ] {
            let server = folder.serve(at(links)).await;
            let paths = [
                "/escape.txt",
                "/etc/passwd",
                "/inside.txt",
                "/absolute/",
                "/broken",
                "/ring",
                "/fifo",
            ];
            for (path, expected) in paths.iter().zip(expected) {
                let seen = soon("a file that is no file", status(&server, path)).await;
                assert_eq!(seen, expected, "{links:?} {path}");
            }
        }
    });
}

#[test]
fn listings_show_no_hidden_names() {
    run(async {
        let folder = Folder::new("listing");
        let options = StaticOptions { listing: true, ..StaticOptions::default() };
        let server = folder.serve(options).await;
        let listing = page(&server, "/noindex/", "X: y").await;
        assert!(listing.status == 200 && listing.text().contains("noindex/a.txt"));
        assert_eq!(page(&server, "/noindex", "X: y").await.header("location"), Some("noindex/"));
        assert_eq!(page(&server, "/dir/", "X: y").await.text(), "<p>index of dir");
        assert_eq!(status(&server, "/.git/").await, 404);
        let options =
            StaticOptions { listing: true, index: String::new(), ..StaticOptions::default() };
        let server = folder.serve(options).await;
        let root = page(&server, "/", "X: y").await;
        assert!(root.text().contains("a.txt") && !root.text().contains(".hidden"));
        let options = StaticOptions { listing: true, dot_files: true, ..StaticOptions::default() };
        let server = folder.serve(options).await;
        assert!(page(&server, "/.git/", "X: y").await.text().contains("config"));
        assert_eq!(page(&server, "/.hidden", "X: y").await.text(), "secret");
    });
}

#[test]
fn packed_forms_lie_beside_their_files() {
    run(async {
        let folder = Folder::new("packed");
        for (name, text) in [
            ("p.txt", "plain"),
            ("p.txt.gz", "G"),
            ("p.txt.br", "B"),
            ("p.txt.zst", "Z"),
            ("i.png", "p"),
            ("i.png.gz", "G"),
        ] {
            folder.write(name, text);
        }
        let server = folder.serve(StaticOptions::default()).await;
        for (accepted, coding, text) in [
            ("gzip", Some("gzip"), "G"),
            ("gzip, deflate, br, zstd", Some("br"), "B"),
            ("gzip;q=1, br;q=0.5", Some("gzip"), "G"),
            ("zstd, gzip;q=0.9", Some("zstd"), "Z"),
            ("*", Some("br"), "B"),
            ("gzip;q=0", None, "plain"),
            ("identity, gzip;q=0.5", None, "plain"),
            ("deflate", None, "plain"),
        ] {
            let response = page(&server, "/p.txt", &format!("Accept-Encoding: {accepted}")).await;
            assert_eq!(
                (response.header("content-encoding"), response.text()),
                (coding, text),
                "{accepted}"
            );
            assert_eq!(response.header("vary"), Some("accept-encoding"));
            assert_eq!(response.header("content-type"), Some("text/plain; charset=utf-8"));
            let tag = response.header("etag").unwrap();
            let again = format!("Accept-Encoding: {accepted}\r\nIf-None-Match: {tag}");
            let again = page(&server, "/p.txt", &again).await;
            assert_eq!((again.status, again.header("etag")), (304, Some(tag)), "{accepted}");
        }
        assert_eq!(page(&server, "/i.png", "Accept-Encoding: gzip").await.text(), "p");
        // One that is older than its file belongs to another content.
        let old = std::time::SystemTime::now() - Duration::from_secs(60);
        let file = std::fs::File::options().write(true).open(folder.0.join("p.txt.gz")).unwrap();
        file.set_modified(old).unwrap();
        assert_eq!(page(&server, "/p.txt", "Accept-Encoding: gzip").await.text(), "plain");
        let options = StaticOptions { precompressed: false, ..StaticOptions::default() };
        let server = folder.serve(options).await;
        assert_eq!(page(&server, "/p.txt", "Accept-Encoding: br").await.text(), "plain");
    });
}

#[test]
fn rules_for_caches() {
    run(async {
        let folder = Folder::new("caches");
        let options = StaticOptions {
            cache_control: Some("no-cache".to_string()),
            immutable: vec!["assets/*.????????.js".to_string()],
            ..StaticOptions::default()
        };
        let server = folder.serve(options).await;
        for (path, control) in [
            ("/a.txt", "no-cache"),
            ("/dir/", "no-cache"),
            ("/assets/app.1a2b3c4d.js", "public, max-age=31536000, immutable"),
        ] {
            let response = page(&server, path, "X: y").await;
            assert_eq!(response.header("cache-control"), Some(control), "{path}");
        }
        assert_eq!(page(&server, "/missing", "X: y").await.header("cache-control"), None);
        let bad = StaticOptions { cache_control: Some("a\nb".into()), ..StaticOptions::default() };
        assert!(StaticFiles::new(folder.store(), bad).is_err());
    });
}

#[test]
fn what_is_missing_may_have_a_page() {
    run(async {
        let folder = Folder::new("missing");
        let options = StaticOptions {
            fallback: Some("index.html".to_string()),
            not_found: Some("404.html".to_string()),
            ..StaticOptions::default()
        };
        let server = folder.serve(options).await;
        let route = page(&server, "/users/7", "X: y").await;
        assert_eq!((route.status, route.text()), (200, "<p>start"));
        assert_eq!(route.header("cache-control"), Some("no-cache"));
        for path in ["/missing.js", "/.git/config", "/.hidden"] {
            let lost = page(&server, path, "If-None-Match: *\r\nRange: bytes=0-1").await;
            assert_eq!((lost.status, lost.text()), (404, "<p>lost"), "{path}");
            assert_eq!((lost.header("etag"), lost.header("last-modified")), (None, None));
            assert_eq!(lost.header("content-type"), Some("text/html; charset=utf-8"));
        }
    });
}

/// Asks until an answer is as expected: a system tells of changes in its own time.
async fn until(server: &HttpServer, path: &str, expected: (u16, &str)) {
    soon("a change that is told", async {
        loop {
            let seen = page(server, path, "X: y").await;
            if (seen.status, seen.text()) == expected {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

#[test]
fn kept_files_are_forgotten_when_they_change() {
    run(async {
        let folder = Folder::new("kept");
        let options = StaticOptions { cached: true, ..StaticOptions::default() };
        let server = folder.serve(options).await;
        let gzip = "Accept-Encoding: gzip";
        for _ in 0..5 {
            assert_eq!(page(&server, "/a.txt", "X: y").await.text(), "a");
            assert_eq!(page(&server, "/a.txt", gzip).await.text(), "a");
        }
        let tag = page(&server, "/a.txt", "X: y").await.header("etag").unwrap().to_string();
        let known = page(&server, "/a.txt", &format!("If-None-Match: {tag}")).await;
        assert_eq!(known.status, 304);
        folder.write("a.txt", "b");
        until(&server, "/a.txt", (200, "b")).await;
        folder.write("new.txt", "new");
        until(&server, "/new.txt", (200, "new")).await;
        std::fs::remove_file(folder.0.join("new.txt")).unwrap();
        until(&server, "/new.txt", (404, "404 Not Found")).await;
        folder.write("a.txt.gz", "packed");
        soon("the packed form", async {
            while page(&server, "/a.txt", gzip).await.text() != "packed" {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
    });
}

#[test]
fn any_store_may_be_below_and_others_beside() {
    run(async {
        let memory =
            site(&[("/a.txt", "memory"), ("/dir/index.html", "index"), ("/.x", "x")]).await;
        let files = StaticFiles::new(memory, StaticOptions::default()).unwrap();
        let others = site(&[("/hello", "hello")]).await;
        let server = start(Rc::new(Sequence::new(vec![others, Rc::new(files)]))).await;
        assert_eq!(page(&server, "/hello", "X: y").await.text(), "hello");
        assert_eq!(page(&server, "/a.txt", "X: y").await.text(), "memory");
        assert_eq!(page(&server, "/dir", "X: y").await.header("location"), Some("dir/"));
        assert_eq!(page(&server, "/dir/", "X: y").await.text(), "index");
        assert_eq!(status(&server, "/.x").await, 404);
    });
}

#[test]
fn without_a_request_files_are_plain() {
    run(async {
        let folder = Folder::new("read");
        folder.write("a.txt.gz", "packed");
        let files = StaticFiles::new(folder.store(), StaticOptions::default()).unwrap();
        let read = async |path: &str| {
            let content = files.get(&Reference::from_path(path.to_string()), &Context::default());
            let bytes = content.await.unwrap()?.read(1000).await.unwrap();
            Some(String::from_utf8(bytes.to_vec()).unwrap())
        };
        assert_eq!(read("a.txt").await.as_deref(), Some("a"));
        assert_eq!(read("dir").await.as_deref(), Some("<p>index of dir"));
        assert_eq!(read("missing").await, None);
        assert!(Path::new(&folder.0).is_dir());
    });
}
