//! Multipart uploads and versions on our own server, over memory and files.

use crate::s3_client::{BucketServer, over_stores};

const PART: usize = 5 << 20;

/// The document that completes an upload.
fn completion(etags: &[(u32, &str)]) -> String {
    let part = |(number, etag): &(u32, &str)| {
        format!("<Part><PartNumber>{number}</PartNumber><ETag>{etag}</ETag></Part>")
    };
    let parts: String = etags.iter().map(part).collect();
    format!("<CompleteMultipartUpload>{parts}</CompleteMultipartUpload>")
}

#[test]
fn parts_become_an_object_after_a_restart() {
    over_stores(|store| async move {
        let server = BucketServer::start(store.clone()).await;
        server.put("/bucket", "").await;
        let begun = server.ask("POST", "/bucket/a/key?uploads", &[("x-amz-meta-a", "b")]).await;
        let id = begun.elements("UploadId").pop().unwrap();
        let target = |number: u32| format!("/bucket/a/key?partNumber={number}&uploadId={id}");
        let mut etags = Vec::new();
        for (number, length) in [(1, PART), (3, 7)] {
            let body = vec![b'0' + number as u8; length];
            let put = server.send("PUT", &target(number), &[], &body).await;
            assert_eq!(put.status, 200, "{}", put.text());
            etags.push((number, put.field("etag").unwrap().to_string()));
        }
        let server = BucketServer::start(store).await;
        assert_eq!(server.list("/bucket?uploads", "Key").await, ["a/key"]);
        let listed = format!("/bucket/a/key?uploadId={id}");
        assert_eq!(server.list(&listed, "PartNumber").await, ["1", "3"]);
        assert_eq!(server.get("/bucket/a/key").await, Err(404));
        let (one, three) = (etags[0].1.as_str(), etags[1].1.as_str());
        let complete = |parts: Vec<(u32, &str)>| {
            let (server, listed) = (&server, listed.clone());
            let document = completion(&parts);
            async move { server.send("POST", &listed, &[], document.as_bytes()).await }
        };
        assert_eq!(complete(vec![(3, three), (1, one)]).await.code(), "InvalidPartOrder");
        assert_eq!(complete(vec![(1, three)]).await.code(), "InvalidPart");
        assert_eq!(complete(vec![]).await.code(), "MalformedXML");
        let done = complete(vec![(1, one), (3, three)]).await;
        assert_eq!(done.status, 200, "{}", done.text());
        assert!(done.elements("ETag")[0].ends_with("-2&quot;"));
        let got = server.ask("GET", "/bucket/a/key?partNumber=2", &[]).await;
        assert_eq!((got.status, got.text().as_str()), (206, "3333333"));
        assert_eq!(got.field("x-amz-mp-parts-count"), Some("2"));
        assert_eq!(got.field("x-amz-meta-a"), Some("b"));
        assert!(server.list("/bucket?uploads", "Key").await.is_empty());
        let again = complete(vec![(1, one), (3, three)]).await;
        assert_eq!(again.status, 200, "the same again");
    });
}

#[test]
fn small_parts_are_refused_and_uploads_can_be_aborted() {
    over_stores(|store| async move {
        let server = BucketServer::start(store).await;
        server.put("/bucket", "").await;
        let begun = server.ask("POST", "/bucket/key?uploads", &[]).await;
        let id = begun.elements("UploadId").pop().unwrap();
        let upload = format!("/bucket/key?uploadId={id}");
        let mut etags = Vec::new();
        for number in [1, 2] {
            let part = format!("{upload}&partNumber={number}");
            etags.push(server.put(&part, "small").await.field("etag").unwrap().to_string());
        }
        let document = completion(&[(1, &etags[0]), (2, &etags[1])]);
        let done = server.send("POST", &upload, &[], document.as_bytes()).await;
        assert_eq!(done.code(), "EntityTooSmall");
        assert_eq!(server.ask("DELETE", &upload, &[]).await.status, 204);
        assert_eq!(server.ask("DELETE", &upload, &[]).await.code(), "NoSuchUpload");
        assert_eq!(server.ask("DELETE", "/bucket", &[]).await.status, 204);
    });
}

#[test]
fn versions_are_kept_and_come_back() {
    over_stores(|store| async move {
        let server = BucketServer::start(store).await;
        server.put("/bucket", "").await;
        server.put("/bucket/key", "zero").await;
        let enable = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>";
        let put = server.send("PUT", "/bucket?versioning", &[], enable.as_bytes()).await;
        assert_eq!(put.status, 200, "{}", put.text());
        let version =
            |reply: &crate::s3_client::Reply| reply.field("x-amz-version-id").unwrap().to_string();
        let one = version(&server.put("/bucket/key", "one").await);
        let two = version(&server.put("/bucket/key", "two").await);
        let marker = server.ask("DELETE", "/bucket/key", &[]).await;
        assert_eq!(marker.field("x-amz-delete-marker"), Some("true"));
        let marker = version(&marker);
        assert_eq!(server.get("/bucket/key").await, Err(404));
        assert!(server.list("/bucket", "Key").await.is_empty());
        let versions = server.list("/bucket?versions", "VersionId").await;
        assert_eq!(versions, [&marker, &two, &one, "null"]);
        let at = |version: &str| format!("/bucket/key?versionId={version}");
        assert_eq!(server.get(&at(&one)).await.as_deref(), Ok("one"));
        assert_eq!(server.get(&at("null")).await.as_deref(), Ok("zero"));
        assert_eq!(server.get(&at(&marker)).await, Err(405));
        assert_eq!(server.ask("DELETE", "/bucket", &[]).await.code(), "BucketNotEmpty");
        // Without the marker the version before it is current again, and so on.
        for (removed, current) in [(&marker, "two"), (&two, "one"), (&one, "zero")] {
            assert_eq!(server.ask("DELETE", &at(removed), &[]).await.status, 204);
            assert_eq!(server.get("/bucket/key").await.as_deref(), Ok(current));
            assert_eq!(server.list("/bucket", "Key").await, ["key"]);
        }
        assert_eq!(server.ask("DELETE", &at("null"), &[]).await.status, 204);
        assert!(server.list("/bucket?versions", "VersionId").await.is_empty());
        assert_eq!(server.ask("DELETE", "/bucket", &[]).await.status, 204);
    });
}
