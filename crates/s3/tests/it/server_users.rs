//! Who asks our own server: an owner, another user, a wrong secret, nobody.

use crate::s3_client::{BucketServer, over_stores};
use crate::support::{at, none, options};
use runnel_s3::{S3, S3Options, S3User};
use runnel_store::{Content, Kind, Store};
use std::rc::Rc;

const SECRET: &str = "a-secret-of-the-test";

/// The bucket of the owner as somebody sees it.
fn bucket_as(server: &BucketServer, key: &str, secret: &str) -> Rc<dyn Store> {
    let endpoint = server.endpoint();
    let named = S3Options {
        bucket: Some("bucket".into()),
        key: Some(key.into()),
        secret: Some(secret.into()),
        ..options(&endpoint)
    };
    Rc::new(S3::new(named).unwrap())
}

#[test]
fn who_has_no_right_reads_and_writes_nothing() {
    over_stores(|store| async move {
        let owner = S3User { admin: true, ..S3User::new("owner", SECRET) };
        let other = S3User { buckets: Some(vec!["own".into()]), ..S3User::new("other", SECRET) };
        let server = BucketServer::start_for(vec![owner, other], store).await;
        let endpoint = server.endpoint();
        let root = S3Options {
            key: Some("owner".into()),
            secret: Some(SECRET.into()),
            ..options(&endpoint)
        };
        let made = runnel_s3::s3_scheme(root).put(&at("bucket"), Content::default(), &none()).await;
        assert!(made.unwrap().is_created());
        let own = bucket_as(&server, "owner", SECRET);
        let put = own.put(&at("a"), Content::text("theirs"), &none());
        assert!(put.await.unwrap().is_created());

        for (key, secret) in [("other", SECRET), ("owner", "guessed"), ("nobody", SECRET)] {
            let store = bucket_as(&server, key, secret);
            let denied = |kind: Kind| matches!(kind, Kind::Denied | Kind::Unauthorized);
            let read = store.get(&at("a"), &none()).await.map(|_| ()).unwrap_err();
            assert!(denied(read.kind), "{key} reads: {read}");
            let put = store.put(&at("a"), Content::text("mine"), &none());
            assert!(denied(put.await.map(|_| ()).unwrap_err().kind), "{key} writes");
            let listed = store.list(&at(""), &none()).await.map(|_| ()).unwrap_err();
            assert!(denied(listed.kind), "{key} lists: {listed}");
            let deleted = store.delete(&at("a"), &none()).await.map(|_| ()).unwrap_err();
            assert!(denied(deleted.kind), "{key} deletes: {deleted}");
        }
        for (method, target) in [
            ("GET", "/"),
            ("GET", "/bucket?list-type=2"),
            ("GET", "/bucket/a"),
            ("HEAD", "/bucket/a"),
            ("PUT", "/bucket/a"),
            ("PUT", "/bucket/b"),
            ("DELETE", "/bucket/a"),
            ("POST", "/bucket?delete"),
            ("PUT", "/bucket?policy"),
            ("PUT", "/bucket?acl"),
            ("DELETE", "/bucket"),
            ("PUT", "/another"),
        ] {
            let reply = server.send(method, target, &[], b"mine").await;
            assert_eq!(reply.status, 403, "{method} {target}");
        }
        let kept = own.get(&at("a"), &none()).await.unwrap().unwrap();
        assert_eq!(kept.read(100).await.unwrap(), "theirs");
        assert_eq!(own.list(&at(""), &none()).await.unwrap().unwrap().len(), 1);
    });
}
