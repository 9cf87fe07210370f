//! Our own server over stores that refuse, wait or are changed by others.

use crate::s3_client::{BucketServer, Reply, over_stores};
use crate::support::{options, run};
use runnel_s3::{S3, S3Options, S3Service, S3ServiceOptions, s3_scheme};
use runnel_store::{
    Answer, Attributes, Below, Content, Context, DISK_FULL, Disk, Error, Kind, Layer, Memory,
    Outcome, Reference, Result, Store, Verb,
};
use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use tempfile::TempDir;
use tokio::sync::Semaphore;

/// Large enough to be put beside its place first.
const LARGE: usize = 100_000;

/// What a store does in its own way.
#[derive(Default)]
struct Odd {
    /// Where nothing can be moved to.
    far: Option<&'static str>,
    /// The moves that were made.
    moved: RefCell<Vec<String>>,
    /// Where puts fail, and how.
    fails: RefCell<Option<(&'static str, Error)>>,
    /// Where puts wait for a permit.
    waits: Option<(&'static str, Rc<Semaphore>)>,
    /// Whether it keeps no attributes.
    is_bare: Cell<bool>,
}

impl Odd {
    fn failure(&self, reference: &Reference) -> Option<Error> {
        let fails = self.fails.borrow();
        let (place, error) = fails.as_ref()?;
        reference.path().contains(place).then(|| error.clone())
    }
}

/// A store around another one.
struct OddStore {
    source: Rc<dyn Store>,
    odd: Rc<Odd>,
}

impl Layer for OddStore {
    fn below<'a>(&'a self, _: Verb, reference: &'a Reference) -> Result<Below<'a>> {
        Ok(Below::same(&self.source, reference))
    }

    fn over(&self, source: Rc<dyn Store>) -> Option<Rc<dyn Store>> {
        Some(Rc::new(OddStore { source, odd: self.odd.clone() }))
    }

    fn name(&self) -> String {
        "odd".to_string()
    }

    fn layer_keeps_metadata(&self, reference: &Reference) -> bool {
        !self.odd.is_bare.get() && self.source.keeps_metadata(reference)
    }

    fn layer_put(
        &self,
        reference: &Reference,
        content: Content,
        context: &Context,
    ) -> Answer<Outcome> {
        // Bare content keeps none.
        let content = match self.odd.is_bare.get() {
            true => content.with_attributes(Attributes::default()),
            false => content,
        };
        match &self.odd.waits {
            Some((place, permits)) if reference.path().contains(place) => {
                let (source, odd, permits) =
                    (self.source.clone(), self.odd.clone(), permits.clone());
                let (reference, context) = (reference.clone(), context.clone());
                Answer::later(async move {
                    permits.acquire().await.unwrap().forget();
                    odd.failure(&reference).map_or(Ok(()), Err)?;
                    source.put(&reference, content, &context).await
                })
            }
            _ => match self.odd.failure(reference) {
                Some(error) => error.into(),
                None => self.source.put(reference, content, context),
            },
        }
    }

    fn layer_relocate(&self, from: &Reference, to: &Reference, context: &Context) -> Answer<bool> {
        if self.odd.far.is_some_and(|far| to.path().starts_with(far)) {
            return Error::new(Kind::NotAllowed, "another file system").into();
        }
        self.odd.moved.borrow_mut().push(to.path().to_string());
        self.source.relocate(from, to, context)
    }
}

fn over_memory(odd: &Rc<Odd>) -> Rc<dyn Store> {
    Rc::new(OddStore { source: Rc::new(Memory::dictionary()), odd: odd.clone() })
}

/// A server of a folder.
async fn serve_folder(folder: &Path) -> BucketServer {
    BucketServer::start(Rc::new(Disk::new(folder).unwrap())).await
}

/// Begins an upload with one part. Answers its address and the document that completes it.
async fn begin_upload(server: &BucketServer, target: &str) -> (String, String) {
    let begun = server.ask("POST", &format!("{target}?uploads"), &[]).await;
    let id = begun.elements("UploadId").pop().unwrap();
    let upload = format!("{target}?uploadId={id}");
    let part = server.send("PUT", &format!("{upload}&partNumber=1"), &[], &[b'p'; LARGE]).await;
    let etag = part.field("etag").unwrap();
    let document = format!(
        "<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{etag}</ETag></Part>\
         </CompleteMultipartUpload>"
    );
    (upload, document)
}

#[test]
fn a_refused_move_says_nothing_of_other_places() {
    let odd = Rc::new(Odd { far: Some("far/"), ..Odd::default() });
    run(async {
        let server = BucketServer::start(over_memory(&odd)).await;
        for bucket in ["/far", "/near"] {
            server.put(bucket, "").await;
            let key = format!("{bucket}/key");
            server.put(&key, &"x".repeat(LARGE)).await;
            assert_eq!(server.ask("GET", &key, &[]).await.body.len(), LARGE);
        }
        assert_eq!(*odd.moved.borrow(), ["near/key"]);
    });
}

#[test]
fn the_root_of_another_server_is_refused_at_the_start() {
    let serve = |store: Rc<dyn Store>| S3Service::new(store, S3ServiceOptions::default());
    let root = serve(s3_scheme(options("http://127.0.0.1:1"))).err().unwrap();
    assert!(root.message.contains("serve one bucket, as `ref:s3:BUCKET asScheme`"), "{root}");
    let bucket = Some("backing".to_string());
    let bucket = S3::new(S3Options { bucket, ..options("http://127.0.0.1:1") }).unwrap();
    assert!(serve(Rc::new(bucket)).is_ok());
}

#[test]
fn a_long_completion_keeps_its_connection() {
    let permits = Rc::new(Semaphore::new(0));
    let waits = Some((".runnel-s3/staging/", permits.clone()));
    let odd = Rc::new(Odd { waits, ..Odd::default() });
    run(async {
        let server = BucketServer::start(over_memory(&odd)).await;
        server.put("/bucket", "").await;
        // The content of a part is put elsewhere.
        let (upload, document) = begin_upload(&server, "/bucket/key").await;
        let (broken, list) = begin_upload(&server, "/bucket/broken").await;
        let late = async |target: &str, document: &str| -> Reply {
            let mut socket = server.begin("POST", target, document).await;
            let mut begun = Vec::new();
            // Nothing else has come yet, as the content waits.
            while !begun.ends_with(b" ") {
                begun.push(BucketServer::read_byte(&mut socket).await);
            }
            permits.add_permits(1);
            BucketServer::finish(socket, begun).await
        };
        let done = late(&upload, &document).await;
        assert_eq!(done.status, 200);
        assert!(done.body.starts_with(b"<?xml"), "{}", done.text());
        assert_eq!(done.elements("Key"), ["key"]);
        assert_eq!(server.ask("GET", "/bucket/key", &[]).await.body.len(), LARGE);
        let full = Error::new(Kind::Unavailable, DISK_FULL);
        *odd.fails.borrow_mut() = Some(("staging", full));
        let refused = late(&broken, &list).await;
        assert_eq!((refused.status, refused.code().as_str()), (200, "InsufficientStorage"));
        assert_eq!(server.get("/bucket/broken").await, Err(404));
    });
}

#[test]
fn parts_of_uploads_that_ended_are_removed() {
    let folder = tempfile::tempdir().unwrap();
    let room = folder.path().join(".runnel-s3");
    run(async {
        let server = serve_folder(folder.path()).await;
        server.put("/bucket", "").await;
        let (_, _) = begin_upload(&server, "/bucket/ended").await;
        let (living, document) = begin_upload(&server, "/bucket/living").await;
        // As after a kill between the record of the upload and its parts.
        std::fs::remove_dir_all(room.join("uploads/bucket").join(hex("ended"))).unwrap();
        let uploads = |kind: &str| {
            let there = std::fs::read_dir(room.join(kind).join("bucket")).unwrap();
            there.count()
        };
        assert_eq!((uploads("parts"), uploads("data")), (2, 2));
        let server = serve_folder(folder.path()).await;
        server.put("/bucket/other", "").await;
        while (uploads("parts"), uploads("data")) != (1, 1) {
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        }
        let done = server.send("POST", &living, &[], document.as_bytes()).await;
        assert_eq!(done.status, 200, "{}", done.text());
    });
}

/// A key as the server writes it in names of its own.
fn hex(key: &str) -> String {
    key.bytes().map(|byte| format!("{byte:02x}")).collect::<String>() + "."
}

#[test]
fn a_bucket_is_deleted_with_its_uploads() {
    let folder = tempfile::tempdir().unwrap();
    let check = async |store: Rc<dyn Store>| {
        let server = BucketServer::start(store.clone()).await;
        server.put("/bucket", "").await;
        let (upload, document) = begin_upload(&server, "/bucket/key").await;
        assert_eq!(server.ask("DELETE", "/bucket", &[]).await.status, 204);
        let done = server.send("POST", &upload, &[], document.as_bytes()).await;
        assert_eq!(done.code(), "NoSuchBucket");
        let range = runnel_store::KeyRange::default();
        let root = Reference::from_path(".runnel-s3");
        let page = runnel_store::list_keys(&store, &root, &range, &Context::default()).await;
        let names: Vec<_> = page.unwrap().keys.into_iter().map(|key| key.name).collect();
        assert!(names.is_empty(), "{names:?}");
    };
    run(check(Rc::new(Disk::new(folder.path()).unwrap())));
    run(check(Rc::new(Memory::dictionary())));
    let odd = Rc::new(Odd::default());
    odd.is_bare.set(true);
    run(check(over_memory(&odd)));
}

#[test]
fn a_full_disk_leaves_the_old_object() {
    let odd = Rc::new(Odd::default());
    run(async {
        let server = BucketServer::start(over_memory(&odd)).await;
        server.put("/bucket", "").await;
        server.put("/bucket/key", "old").await;
        let full = Error::new(Kind::Unavailable, DISK_FULL);
        *odd.fails.borrow_mut() = Some(("", full));
        for length in [3, LARGE] {
            let reply = server.send("PUT", "/bucket/key", &[], &vec![b'x'; length]).await;
            assert_eq!((reply.status, reply.code().as_str()), (507, "InsufficientStorage"));
        }
        assert_eq!(server.get("/bucket/key").await.as_deref(), Ok("old"));
        *odd.fails.borrow_mut() = None;
        server.put("/bucket/key", "new").await;
        assert_eq!(server.get("/bucket/key").await.as_deref(), Ok("new"));
    });
}

/// A folder with the bucket `bucket` and the objects `a` and `b/c`.
async fn folder_of_two() -> (TempDir, BucketServer) {
    let folder = tempfile::tempdir().unwrap();
    let server = serve_folder(folder.path()).await;
    server.put("/bucket", "").await;
    server.put("/bucket/a", "one").await;
    server.put("/bucket/b/c", "two").await;
    (folder, server)
}

#[test]
fn a_file_that_became_a_folder_is_no_object() {
    run(async {
        let (folder, server) = folder_of_two().await;
        let path = folder.path().join("bucket/a");
        std::fs::remove_file(&path).unwrap();
        std::fs::create_dir(&path).unwrap();
        assert_eq!(server.ask("GET", "/bucket/a", &[]).await.code(), "NoSuchKey");
        assert_eq!(server.list("/bucket", "Key").await, ["b/c"]);
        server.put("/bucket/a", "again").await;
        assert_eq!(server.get("/bucket/a").await.as_deref(), Ok("again"));
        assert_eq!(server.list("/bucket", "Key").await, ["a", "b/c"]);
        let source = [("x-amz-copy-source", "/bucket/a")];
        assert_eq!(server.ask("PUT", "/bucket/copy", &source).await.status, 200);
        assert_eq!(server.ask("DELETE", "/bucket/a", &[]).await.status, 204);
        assert_eq!(server.get("/bucket/a").await, Err(404));
    });
}

#[test]
fn a_folder_that_became_a_file_holds_no_objects() {
    run(async {
        let (folder, server) = folder_of_two().await;
        std::fs::remove_dir_all(folder.path().join("bucket/b")).unwrap();
        std::fs::write(folder.path().join("bucket/b"), "file").unwrap();
        assert_eq!(server.ask("GET", "/bucket/b/c", &[]).await.code(), "NoSuchKey");
        assert_eq!(server.list("/bucket", "Key").await, ["a", "b"]);
        server.put("/bucket/b/c", "again").await;
        assert_eq!(server.get("/bucket/b/c").await.as_deref(), Ok("again"));
        assert_eq!(server.get("/bucket/b").await.as_deref(), Ok("file"));
        assert_eq!(server.list("/bucket", "Key").await, ["a", "b", "b/c"]);
    });
}

#[test]
fn a_bucket_whose_folder_is_gone_is_empty() {
    run(async {
        let (folder, server) = folder_of_two().await;
        std::fs::remove_dir_all(folder.path().join("bucket")).unwrap();
        assert_eq!(server.ask("GET", "/bucket/a", &[]).await.code(), "NoSuchKey");
        assert!(server.list("/bucket", "Key").await.is_empty());
        server.put("/bucket/a", "again").await;
        assert_eq!(server.get("/bucket/a").await.as_deref(), Ok("again"));
        // A file in its place is no bucket, and what is put is kept apart.
        std::fs::remove_dir_all(folder.path().join("bucket")).unwrap();
        std::fs::write(folder.path().join("bucket"), "file").unwrap();
        assert!(server.list("/bucket", "Key").await.is_empty());
        server.put("/bucket/a", "apart").await;
        assert_eq!(server.get("/bucket/a").await.as_deref(), Ok("apart"));
        assert_eq!(std::fs::read(folder.path().join("bucket")).unwrap(), b"file");
    });
}

#[test]
fn a_link_that_leads_outside_is_denied() {
    run(async {
        let (folder, server) = folder_of_two().await;
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("secret"), "secret").unwrap();
        let path = folder.path().join("bucket/a");
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink(outside.path().join("secret"), &path).unwrap();
        for method in ["GET", "PUT"] {
            let reply = server.ask(method, "/bucket/a", &[]).await;
            assert_eq!((reply.status, reply.code().as_str()), (403, "AccessDenied"), "{method}");
        }
        let source = [("x-amz-copy-source", "/bucket/a")];
        assert_eq!(server.ask("PUT", "/bucket/copy", &source).await.code(), "AccessDenied");
        assert_eq!(server.get("/bucket/b/c").await.as_deref(), Ok("two"));
        assert_eq!(std::fs::read(outside.path().join("secret")).unwrap(), b"secret");
    });
}

#[test]
fn a_part_that_was_changed_makes_no_object() {
    run(async {
        let (folder, server) = folder_of_two().await;
        let (upload, document) = begin_upload(&server, "/bucket/a").await;
        let data = folder.path().join(".runnel-s3/data/bucket");
        let id = std::fs::read_dir(data).unwrap().next().unwrap().unwrap().path();
        let part = std::fs::read_dir(id).unwrap().next().unwrap().unwrap().path();
        std::fs::write(part, "short").unwrap();
        let done = server.send("POST", &upload, &[], document.as_bytes()).await;
        assert_eq!((done.status, done.code().as_str()), (500, "InternalError"));
        assert!(!done.text().contains(".runnel-s3"), "{}", done.text());
        assert_eq!(server.get("/bucket/a").await.as_deref(), Ok("one"));
    });
}

#[test]
fn records_that_are_gone_or_damaged_hide_no_other_bucket() {
    run(async {
        let (folder, server) = folder_of_two().await;
        server.put("/other", "").await;
        server.put("/other/key", "kept").await;
        std::fs::write(folder.path().join(".runnel-s3/buckets/bucket"), "damaged").unwrap();
        // What other programs change is seen after a moment.
        let reply = loop {
            let reply = server.ask("GET", "/bucket/a", &[]).await;
            if reply.status != 200 {
                break reply;
            }
        };
        assert_eq!((reply.status, reply.code().as_str()), (500, "InternalError"));
        assert_eq!(server.get("/other/key").await.as_deref(), Ok("kept"));
        std::fs::remove_dir_all(folder.path().join(".runnel-s3")).unwrap();
        // A folder is a bucket without a record.
        assert_eq!(server.get("/bucket/a").await.as_deref(), Ok("one"));
        assert_eq!(server.list("/", "Name").await, ["bucket", "other"]);
        server.put("/bucket/a", &"x".repeat(LARGE)).await;
    });
}

#[test]
fn a_copy_onto_itself_copies_no_content() {
    use std::os::unix::fs::MetadataExt;
    run(async {
        let (folder, server) = folder_of_two().await;
        let file = folder.path().join("bucket/a");
        let before = std::fs::metadata(&file).unwrap().ino();
        let head = server.ask("HEAD", "/bucket/a", &[]).await;
        let etag = head.field("etag").unwrap().to_string();
        let fields = [
            ("x-amz-copy-source", "/bucket/a"),
            ("x-amz-metadata-directive", "REPLACE"),
            ("x-amz-meta-color", "blue"),
            ("Content-Type", "text/x"),
        ];
        let copied = server.ask("PUT", "/bucket/a", &fields).await;
        assert_eq!(copied.status, 200, "{}", copied.text());
        assert_eq!(copied.elements("ETag"), [etag.replace('"', "&quot;")]);
        assert_eq!(std::fs::metadata(&file).unwrap().ino(), before, "it is another file");
        let head = server.ask("HEAD", "/bucket/a", &[]).await;
        assert_eq!(head.field("x-amz-meta-color"), Some("blue"));
        assert_eq!(head.field("content-type"), Some("text/x"));
        assert_eq!(head.field("etag"), Some(etag.as_str()));
        assert_eq!(server.get("/bucket/a").await.as_deref(), Ok("one"));
        // One of a program gets its MD5 by a copy.
        std::fs::write(&file, "other").unwrap();
        assert_eq!(server.ask("PUT", "/bucket/a", &fields).await.status, 200);
        let head = server.ask("HEAD", "/bucket/a", &[]).await;
        assert_eq!(head.field("etag"), Some("\"795f3202b17cb6bc3d4b771d8c6c9eaf\""));
    });
}

#[test]
fn a_key_may_be_longer_than_the_name_of_a_file() {
    over_stores(|store| async move {
        let server = BucketServer::start(store).await;
        server.put("/bucket", "").await;
        server.put("/bucket/short", "short").await;
        let key = format!("/bucket/{}", "k".repeat(300));
        assert_eq!(server.ask("GET", &key, &[]).await.code(), "NoSuchKey");
        server.put(&key, "long").await;
        assert_eq!(server.get(&key).await.as_deref(), Ok("long"));
        assert_eq!(server.ask("DELETE", &key, &[]).await.status, 204);
        assert_eq!(server.get(&key).await, Err(404));
    });
}

#[test]
fn what_was_put_is_served_with_its_media_type() {
    over_stores(|store| async move {
        let server = BucketServer::start(store.clone()).await;
        server.put("/bucket", "").await;
        let fields = [("Content-Type", "image/png"), ("x-amz-meta-secret", "s")];
        let put = server.send("PUT", "/bucket/avatar", &fields, b"png").await;
        assert_eq!(put.status, 200, "{}", put.text());
        let plain = BucketServer::start_plain(store).await;
        let got = plain.ask("GET", "/bucket/avatar", &[]).await;
        assert_eq!((got.text().as_str(), got.field("content-type")), ("png", Some("image/png")));
        assert_eq!(got.field("x-amz-meta-secret"), None);
    });
}
