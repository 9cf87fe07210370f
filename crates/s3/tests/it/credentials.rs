//! Signatures that a real server checks, and credentials from elsewhere.

use crate::support::*;
use runnel_http::ClientOptions;
use runnel_s3::{S3, S3Options};
use runnel_scratch::{Server, Service};
use runnel_store::{Content, Kind, Store};
use std::rc::Rc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Asks the server for something of its own; answers what it says.
async fn tell(endpoint: &str, form: &str) -> String {
    let service = "AWS4-HMAC-SHA256 Credential=any/20250101/us-east-1/iam/aws4_request, \
                   SignedHeaders=host, Signature=any";
    let headers = vec![("Authorization".to_string(), service.to_string())];
    let client = runnel_http::client(ClientOptions { headers, ..ClientOptions::default() });
    let content =
        Content::text(form.to_string()).with_media_type("application/x-www-form-urlencoded");
    let posted = client.post(&web(&format!("{endpoint}/")), content, &none()).await.unwrap();
    let bytes = posted.content.unwrap().read(1 << 20).await.unwrap();
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// Makes a user who may do everything; from then on the server checks each signature.
async fn user(endpoint: &str) -> (String, String) {
    tell(endpoint, "Action=CreateUser&UserName=u&Version=2010-05-08").await;
    let policy = "%7B%22Version%22:%222012-10-17%22,%22Statement%22:%5B%7B%22Effect%22:\
                  %22Allow%22,%22Action%22:%22s3:*%22,%22Resource%22:%22*%22%7D%5D%7D";
    let form = "Action=PutUserPolicy&UserName=u&PolicyName=p&Version=2010-05-08&PolicyDocument=";
    tell(endpoint, &format!("{form}{policy}")).await;
    let made = tell(endpoint, "Action=CreateAccessKey&UserName=u&Version=2010-05-08").await;
    let part = |name: &str| {
        let (_, rest) = made.split_once(&format!("<{name}>")).unwrap();
        rest.split_once('<').unwrap().0.to_string()
    };
    let client = runnel_http::client(ClientOptions::default());
    let on = web(&format!("{endpoint}/moto-api/reset-auth"));
    client.post(&on, Content::text("0"), &none()).await.unwrap();
    (part("AccessKeyId"), part("SecretAccessKey"))
}

#[test]
fn a_server_that_checks_signatures_takes_ours() {
    let Some(server) = Server::for_test(Service::S3) else { return };
    run(async {
        let (key, secret) = user(&server.url()).await;
        let open = |secret: &str| {
            let (key, secret) = (Some(key.clone()), Some(secret.to_string()));
            let bucket = Some("signed-here".to_string());
            S3::new(S3Options { bucket, key, secret, ..options(&server.url()) }).unwrap()
        };
        let store = open(&secret);
        store.put(&at(""), Content::default(), &none()).await.unwrap();
        // Without listings and characters that are escaped, which this server unescapes before it
        // checks the signature.
        for name in ["plain", "a/b-c_d.txt", "a~b"] {
            assert!(put(&store, name, name).await, "{name}");
            assert_eq!(get(&store, name).await, Some(name.into()));
        }
        let large = Content::bytes(vec![7; runnel_s3::PART + 1]);
        assert!(store.put(&at("large"), large, &none()).await.unwrap().is_created());
        assert!(store.delete(&at("large"), &none()).await.unwrap().is_something());
        let wrong = open("wrong");
        for error in [
            wrong.get(&at("plain"), &none()).await.err().unwrap(),
            wrong.put(&at("plain"), Content::text("x"), &none()).await.err().unwrap(),
        ] {
            assert_eq!(error.kind, Kind::Denied, "{error}");
            assert!(error.message.contains("AWS_SECRET_ACCESS_KEY"), "{error}");
        }
    });
}

/// A container's or an instance's service that hands out keys.
async fn hands_out() -> String {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let keys = r#"{"AccessKeyId":"handed","SecretAccessKey":"out","Token":"for-a-while",
        "Expiration":"2999-01-01T00:00:00Z","Code":"Success"}"#;
    tokio::task::spawn_local(async move {
        loop {
            let (mut connection, _) = listener.accept().await.unwrap();
            let mut received = [0; 4096];
            let length = connection.read(&mut received).await.unwrap_or(0);
            let asked = String::from_utf8_lossy(&received[..length]);
            // An instance first gives a token, then the name of its role.
            let says = match asked.split(' ').nth(1) {
                Some("/latest/api/token") => "token",
                Some("/latest/meta-data/iam/security-credentials/") => "role",
                _ => keys,
            };
            let answer = format!(
                "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{says}",
                says.len()
            );
            let _ = connection.write_all(answer.as_bytes()).await;
        }
    });
    address
}

/// What a server gets, which then answers that nothing is there.
async fn records() -> (String, tokio::sync::oneshot::Receiver<String>) {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let (sender, receiver) = tokio::sync::oneshot::channel();
    tokio::task::spawn_local(async move {
        let (mut connection, _) = listener.accept().await.unwrap();
        let mut received = vec![0; 8192];
        let length = connection.read(&mut received).await.unwrap();
        let head = String::from_utf8_lossy(&received[..length]).to_ascii_lowercase();
        connection.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        let _ = sender.send(head);
    });
    (address, receiver)
}

async fn head_with(variables: Vec<(&'static str, String)>) -> String {
    let (endpoint, head) = records().await;
    let variable = move |name: &str| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.clone())
    };
    let store = S3::new(S3Options {
        key: None,
        secret: None,
        variable: Rc::new(variable),
        bucket: Some("cats".into()),
        ..options(&endpoint)
    });
    assert_eq!(get(&store.unwrap(), "x").await, None);
    head.await.unwrap()
}

#[test]
fn credentials_come_from_the_usual_places() {
    run(async {
        let service = hands_out().await;
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.to_str().unwrap().to_string()
        };
        let text = "[work]\naws_access_key_id = filed\naws_secret_access_key = s\n";
        let credentials = file("credentials", text);
        let config = file("config", "[profile work]\nregion = eu-north-1\n");
        let head = head_with(vec![
            ("AWS_SHARED_CREDENTIALS_FILE", credentials),
            ("AWS_CONFIG_FILE", config),
            ("AWS_PROFILE", "work".into()),
        ])
        .await;
        assert!(head.contains("credential=filed/") && head.contains("/eu-north-1/s3/"), "{head}");
        let head = head_with(vec![
            ("AWS_ACCESS_KEY_ID", "named".into()),
            ("AWS_SECRET_ACCESS_KEY", "s".into()),
            ("AWS_SESSION_TOKEN", "session".into()),
        ])
        .await;
        assert!(head.contains("credential=named/"), "{head}");
        assert!(head.contains("x-amz-security-token: session"), "{head}");
        let token = file("token", "authorized");
        let head = head_with(vec![
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", service.clone()),
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token),
        ])
        .await;
        assert!(head.contains("credential=handed/"), "{head}");
        assert!(head.contains("x-amz-security-token: for-a-while"), "{head}");
        let head = head_with(vec![("AWS_METADATA_ENDPOINT", service)]).await;
        assert!(head.contains("credential=handed/"), "{head}");
        let head = head_with(vec![("AWS_SKIP_SIGNATURE", "true".into())]).await;
        assert!(!head.contains("authorization"), "{head}");
    });
}

#[test]
fn a_token_that_is_no_token_is_an_error() {
    run(async {
        let service = hands_out().await;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        std::fs::write(&path, "two\nlines\n").unwrap();
        let path = path.to_str().unwrap().to_string();
        let variable = move |name: &str| match name {
            "AWS_CONTAINER_CREDENTIALS_FULL_URI" => Some(service.clone()),
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE" => Some(path.clone()),
            _ => None,
        };
        let store = S3::new(S3Options {
            key: None,
            secret: None,
            variable: Rc::new(variable),
            bucket: Some("cats".into()),
            ..options("http://127.0.0.1:1")
        });
        let error = store.unwrap().get(&at("a"), &none()).await.err().unwrap();
        assert_eq!(error.kind, Kind::Invalid, "{error}");
        assert!(error.message.contains("token file"), "{error}");
    });
}
