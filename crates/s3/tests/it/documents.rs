//! The server keeps the documents of buckets and objects, and does what they say.

use crate::support::run;
use runnel_http::{Handler, HttpServer, ServerOptions, serve};
use runnel_s3::{S3Service, S3ServiceOptions};
use runnel_store::Memory;
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

/// An open server with a bucket that keeps versions with object lock.
struct OpenServer {
    server: HttpServer,
}

impl OpenServer {
    async fn start() -> OpenServer {
        let service: Rc<dyn Handler> =
            S3Service::new(Rc::new(Memory::dictionary()), S3ServiceOptions::default()).unwrap();
        let mut options = ServerOptions::default();
        options.address.set_port(0);
        let server = OpenServer { server: serve(service, options).await.unwrap() };
        let lock = [("x-amz-bucket-object-lock-enabled", "true")];
        assert_eq!(server.ask("PUT", "/bucket", &lock, "").await.0, 200);
        server
    }

    /// The status and the answer with its head.
    async fn ask(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> (u16, String) {
        let mut stream = TcpStream::connect(self.server.address()).await.unwrap();
        let headers: String =
            headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
        let request = format!(
            "{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: {}\r\n\
             {headers}\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        (answer[9..12].parse().unwrap(), answer)
    }

    async fn status(&self, method: &str, target: &str, body: &str) -> u16 {
        self.ask(method, target, &[], body).await.0
    }
}

#[test]
fn documents_of_buckets_are_kept() {
    run(async {
        let server = OpenServer::start().await;
        for (name, document, kept, missing) in [
            (
                "cors",
                "<CORSConfiguration><CORSRule><AllowedMethod>GET</AllowedMethod>\
                 <AllowedOrigin>http://a.org</AllowedOrigin></CORSRule></CORSConfiguration>",
                "<AllowedOrigin>http://a.org</AllowedOrigin>",
                "NoSuchCORSConfiguration",
            ),
            (
                "lifecycle",
                "<LifecycleConfiguration><Rule><ID>a</ID><Status>Enabled</Status><Filter/>\
                 <Expiration><Days>9</Days></Expiration></Rule></LifecycleConfiguration>",
                "<Days>9</Days>",
                "NoSuchLifecycleConfiguration",
            ),
            (
                "ownershipControls",
                "<OwnershipControls><Rule><ObjectOwnership>ObjectWriter</ObjectOwnership></Rule>\
                 </OwnershipControls>",
                "ObjectWriter",
                "OwnershipControlsNotFoundError",
            ),
            (
                "policy",
                r#"{"Statement":[{"Effect":"Allow","Principal":"*","Action":"s3:GetObject",
                "Resource":"arn:aws:s3:::bucket/*"}]}"#,
                r#""Action":"s3:GetObject""#,
                "NoSuchBucketPolicy",
            ),
            (
                "publicAccessBlock",
                "<PublicAccessBlockConfiguration><BlockPublicAcls>true</BlockPublicAcls>\
                 </PublicAccessBlockConfiguration>",
                "<BlockPublicAcls>true</BlockPublicAcls>",
                "NoSuchPublicAccessBlockConfiguration",
            ),
            (
                "tagging",
                "<Tagging><TagSet><Tag><Key>a</Key><Value>b</Value></Tag></TagSet></Tagging>",
                "<Key>a</Key><Value>b</Value>",
                "NoSuchTagSet",
            ),
        ] {
            let target = format!("/bucket?{name}");
            assert!(server.status("PUT", &target, document).await < 300, "{name}");
            let (status, answer) = server.ask("GET", &target, &[], "").await;
            assert!(status == 200 && answer.contains(kept), "{answer}");
            assert_eq!(server.status("PUT", &target, "<").await, 400, "{name}");
            assert_eq!(server.status("DELETE", &target, "").await, 204, "{name}");
            let (status, answer) = server.ask("GET", &target, &[], "").await;
            assert!(status == 404 && answer.contains(missing), "{answer}");
        }
    });
}

#[test]
fn browsers_of_allowed_origins_are_answered() {
    run(async {
        let server = OpenServer::start().await;
        let rules = "<CORSConfiguration><CORSRule><AllowedMethod>PUT</AllowedMethod>\
            <AllowedOrigin>http://a.org</AllowedOrigin></CORSRule></CORSConfiguration>";
        assert_eq!(server.status("PUT", "/bucket?cors", rules).await, 200);
        let asks = [("Origin", "http://a.org"), ("Access-Control-Request-Method", "PUT")];
        let (status, answer) = server.ask("OPTIONS", "/bucket/key", &asks, "").await;
        assert!(status == 200 && answer.contains("allow-origin: http://a.org"), "{answer}");
        let other = [("Origin", "http://b.org"), ("Access-Control-Request-Method", "PUT")];
        assert_eq!(server.ask("OPTIONS", "/bucket/key", &other, "").await.0, 403);
        let (_, answer) = server.ask("PUT", "/bucket/key", &asks[..1], "x").await;
        assert!(answer.contains("allow-origin: http://a.org"), "{answer}");
    });
}

#[test]
fn tags_of_objects_are_kept() {
    run(async {
        let server = OpenServer::start().await;
        assert_eq!(server.status("PUT", "/bucket/key", "x").await, 200);
        let tags = "<Tagging><TagSet><Tag><Key>a</Key><Value>b c</Value></Tag></TagSet></Tagging>";
        assert_eq!(server.status("PUT", "/bucket/key?tagging", tags).await, 200);
        let (_, answer) = server.ask("GET", "/bucket/key?tagging", &[], "").await;
        assert!(answer.contains("<Key>a</Key><Value>b c</Value>"), "{answer}");
        let (_, answer) = server.ask("GET", "/bucket/key", &[], "").await;
        assert!(answer.contains("x-amz-tagging-count: 1") && answer.ends_with('x'), "{answer}");
        assert_eq!(server.status("DELETE", "/bucket/key?tagging", "").await, 204);
        let (_, answer) = server.ask("GET", "/bucket/key?tagging", &[], "").await;
        assert!(answer.contains("<TagSet></TagSet>"), "{answer}");
    });
}

#[test]
fn protected_versions_are_not_deleted() {
    run(async {
        let server = OpenServer::start().await;
        let (_, answer) = server.ask("PUT", "/bucket/key", &[], "x").await;
        let version = answer.split("x-amz-version-id: ").nth(1).unwrap();
        let version = version.split("\r\n").next().unwrap();
        let at = format!("/bucket/key?versionId={version}");
        let hold = |status| format!("<LegalHold><Status>{status}</Status></LegalHold>");
        let held = format!("/bucket/key?legal-hold&versionId={version}");
        assert_eq!(server.status("PUT", &held, &hold("ON")).await, 200);
        assert_eq!(server.status("DELETE", &at, "").await, 403);
        assert_eq!(server.status("PUT", &held, &hold("OFF")).await, 200);
        let retention = "<Retention><Mode>GOVERNANCE</Mode>\
            <RetainUntilDate>2999-01-01T00:00:00Z</RetainUntilDate></Retention>";
        assert_eq!(server.status("PUT", "/bucket/key?retention", retention).await, 200);
        assert_eq!(server.status("DELETE", &at, "").await, 403);
        // A delete marker hides the version and takes nothing away.
        assert_eq!(server.status("DELETE", "/bucket/key", "").await, 204);
        assert_eq!(server.status("GET", &at, "").await, 200);
        let bypass = [("x-amz-bypass-governance-retention", "true")];
        assert_eq!(server.ask("DELETE", &at, &bypass, "").await.0, 204);
        assert_eq!(server.status("GET", &at, "").await, 404);
    });
}
