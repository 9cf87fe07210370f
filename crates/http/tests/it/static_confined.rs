//! No wrapper between static files and a folder opens what lies outside of the folder.

use crate::helper::{get, run, start};
use runnel_store::{
    Answer, Cache, Compressed, Content, Context, Csv, Disk, Ensure, Extension, Json, Kind, Limit,
    LimitOptions, Links, Log, Map, Memory, Merge, Polling, ReadOnly, Reference, Relative, Rename,
    Retry, RetryOptions, Route, Sequence, StaticFiles, StaticOptions, Store, TextCodec, Timeout,
    WriteBack, WriteBackOptions,
};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::rc::Rc;
use std::time::Duration;

/// A site, and a private file beside it. Both are deleted after the test.
struct Folders(PathBuf);

impl Folders {
    fn new(name: &str) -> Folders {
        let name = format!("runnel-confined-{name}-{}", std::process::id());
        let all = std::env::temp_dir().canonicalize().unwrap().join(name);
        let (site, outside) = (all.join("site"), all.join("outside"));
        for folder in [site.join("docs"), outside.clone()] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(outside.join("secret.txt"), TEXT).unwrap();
        for folder in [site.clone(), site.join("docs")] {
            std::fs::write(folder.join("plain.txt"), TEXT).unwrap();
            symlink("plain.txt", folder.join("inside.txt")).unwrap();
            symlink(outside.join("secret.txt"), folder.join("file.txt")).unwrap();
            symlink(&outside, folder.join("folder")).unwrap();
            symlink("/", folder.join("root")).unwrap();
        }
        Folders(all)
    }

    /// As `ref:file:… asScheme` is: the disk of the whole machine, seen from the site.
    fn site(&self) -> Rc<dyn Store> {
        let base = Reference::from_path(self.0.join("site").to_str().unwrap().to_string());
        Rc::new(Relative::new(Rc::new(Disk::unconfined()), base))
    }

    /// Paths that lead out, by a link to a file, to a folder, and to everything.
    fn ways_out(&self) -> [String; 3] {
        let outside = self.0.join("outside").to_str().unwrap().to_string();
        ["file.txt".into(), "folder/secret.txt".into(), format!("root{outside}/secret.txt")]
    }
}

impl Drop for Folders {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// JSON, so that wrappers which read it have something to read.
const TEXT: &str = "[1]";

/// A wrapper, and the name of a path of its source in it.
struct Row {
    name: &'static str,
    make: fn(Rc<dyn Store>) -> Rc<dyn Store>,
    path: fn(&str) -> String,
}

fn row(name: &'static str, make: fn(Rc<dyn Store>) -> Rc<dyn Store>) -> Row {
    Row { name, make, path: str::to_string }
}

fn rows() -> Vec<Row> {
    vec![
        row("nothing", |source| source),
        row("ensure", |source| Rc::new(Ensure::new(source))),
        row("timeout", |source| Rc::new(Timeout::new(source, Duration::from_secs(60)))),
        row("limit", |source| Rc::new(Limit::new(source, LimitOptions::default()))),
        row("merge", |source| Rc::new(Merge::new(source))),
        Row {
            path: |path| path.trim_end_matches(".txt").to_string(),
            ..row("extension", |source| Rc::new(Extension::new(source, "txt")))
        },
        row("names", |source| Rc::new(Rename::prefixes(source, [("b", "c")]))),
        row("map", |source| {
            Rc::new(Map::new(source, "same").reading(|_, content| Answer::ok(content)))
        }),
        row("json", |source| Rc::new(Json::up(Rc::new(Json::down(source))))),
        row("csv", |source| Rc::new(Csv::up(source))),
        row("text", |source| Rc::new(Json::up(Rc::new(TextCodec::down(source))))),
        row("log", |source| Rc::new(Log::new(source, |_, _| {}))),
        row("retry", |source| Rc::new(Retry::new(source, RetryOptions::default()))),
        row("polling", |source| Rc::new(Polling::new(source, Duration::from_secs(60)))),
        row("read only", |source| Rc::new(ReadOnly::new(source))),
        row("relative", |source| Rc::new(Relative::new(source, Reference::from_path("docs")))),
        row("cache", |source| Rc::new(Cache::in_memory(source))),
        row("write back", |source| Rc::new(WriteBack::new(source, WriteBackOptions::default()))),
        row("sequence", |source| Rc::new(Sequence::new(vec![Rc::new(Memory::site()), source]))),
        Row {
            path: |path| format!("a/{path}"),
            ..row("route by path", |source| {
                let route = Route::by_segment();
                route.mount("a", source);
                Rc::new(route)
            })
        },
        row("route to the others", |source| {
            let route = Route::by_segment();
            route.otherwise(source);
            Rc::new(route)
        }),
        row("route by scheme", |source| {
            let route = Route::by_scheme();
            route.mount("a", source);
            let root = Reference::from_path("").with_scheme("a");
            Rc::new(Relative::new(Rc::new(route), root))
        }),
        row("static files", |source| {
            Rc::new(StaticFiles::new(source, StaticOptions::default()).unwrap())
        }),
        row("several", |source| {
            let log = Rc::new(Log::new(
                Rc::new(Timeout::new(source, Duration::from_secs(60))),
                |_, _| {},
            ));
            Rc::new(Cache::in_memory(Rc::new(Sequence::new(vec![log, Rc::new(Memory::site())]))))
        }),
    ]
}

#[test]
fn links_lead_out_through_no_wrapper() {
    run(async {
        let folders = Folders::new("wrappers");
        for links in [Links::Inside, Links::Refused, Links::All] {
            for row in rows() {
                let options = StaticOptions { links, ..StaticOptions::default() };
                let files = StaticFiles::new((row.make)(folders.site()), options).unwrap();
                let server = start(Rc::new(files)).await;
                let all = links == Links::All && row.name != "static files";
                let expected = |is_found: bool| if is_found { 200 } else { 404 };
                let paths = [
                    ("plain.txt".to_string(), 200),
                    ("inside.txt".into(), expected(links != Links::Refused)),
                ];
                let ways_out = folders.ways_out().map(|path| (path, expected(all)));
                for (path, status) in paths.into_iter().chain(ways_out) {
                    let found = get(&server, &format!("/{}", (row.path)(&path))).await;
                    assert_eq!(found.status, status, "{path} through {} with {links:?}", row.name);
                }
            }
        }
    });
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, bytes).unwrap();
    encoder.finish().unwrap()
}

/// A compressed site has compressed files.
#[test]
fn links_lead_out_of_no_compressed_site() {
    run(async {
        let folders = Folders::new("compressed");
        let packed = gzip(TEXT.as_bytes());
        for name in ["site/plain.txt", "outside/secret.txt"] {
            std::fs::write(folders.0.join(name), &packed).unwrap();
        }
        let site = Rc::new(Compressed::gzip(folders.site()));
        let files = StaticFiles::new(site, StaticOptions::default()).unwrap();
        let server = start(Rc::new(files)).await;
        assert_eq!(get(&server, "/plain.txt").await.text(), TEXT);
        for path in folders.ways_out() {
            assert_eq!(get(&server, &format!("/{path}")).await.status, 404, "{path}");
        }
    });
}

/// A store that cannot be confined.
struct Escaping;

impl Store for Escaping {
    fn get(&self, _: &Reference, _: &Context) -> Answer<Option<Content>> {
        Answer::ok(Some(Content::text("out")))
    }

    runnel_store::without!(escapes);

    fn describe(&self) -> String {
        "escaping".to_string()
    }
}

#[test]
fn a_store_that_cannot_be_confined_is_refused() {
    for links in [Links::Inside, Links::Refused] {
        for row in rows().into_iter().filter(|row| row.name != "static files") {
            let options = StaticOptions { links, ..StaticOptions::default() };
            let refused = StaticFiles::new((row.make)(Rc::new(Escaping)), options);
            let error = refused.map(drop).expect_err(row.name);
            assert_eq!(error.kind, Kind::Denied, "{}", row.name);
            assert!(error.message.contains("symlinks: 'all'"), "{error}");
        }
    }
    let options = StaticOptions { links: Links::All, ..StaticOptions::default() };
    assert!(StaticFiles::new(Rc::new(Escaping), options).is_ok());
}

/// A memory has no links and needs no confinement; the folder that is mounted in its place does.
#[test]
fn a_store_that_is_mounted_later_is_confined() {
    run(async {
        let folders = Folders::new("mounted");
        let route = Rc::new(Route::by_segment());
        route.mount("a", Rc::new(Memory::site()));
        let part = Rc::new(Relative::new(route.clone(), Reference::from_path("a")));
        let sites: [(&str, Rc<dyn Store>); 2] = [("", part), ("a/", route.clone())];
        let mut servers = Vec::new();
        for (path, site) in sites {
            let files = StaticFiles::new(site, StaticOptions::default()).unwrap();
            let server = start(Rc::new(files)).await;
            assert_eq!(get(&server, &format!("/{path}plain.txt")).await.status, 404);
            servers.push((path, server));
        }
        route.mount("a", folders.site());
        for (path, server) in servers {
            assert_eq!(get(&server, &format!("/{path}plain.txt")).await.status, 200);
            for way_out in folders.ways_out() {
                let found = get(&server, &format!("/{path}{way_out}")).await;
                assert_eq!(found.status, 404, "{path}{way_out}");
            }
        }
    });
}
