//! Encryption, certificates and passwords, against a server that has them.

use crate::common::*;
use crate::postgres::support::{local, one};
use runnel_scratch::{Server, Service};
use runnel_sql::{PostgresDatabase, PostgresOptions};
use runnel_store::{Kind, Value};

/// An authority, and a certificate of it for `localhost`, made by the server in its own folder.
const CERTIFICATES: &str = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
    -keyout ca.key -out ca.crt -days 2 -subj /CN=authority && \
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
    -keyout server.key -out server.csr -subj /CN=localhost && \
    echo subjectAltName=DNS:localhost > ext && \
    openssl x509 -req -in server.csr -CA ca.crt -CAkey ca.key -CAcreateserial \
    -out server.crt -days 2 -extfile ext && chmod 600 server.key";

/// Only those with a password, except for the superuser.
const RULES: &str = "printf 'host all runnel all trust\\nhost all all all scram-sha-256\\n' \
    > pg_hba.conf";

/// Runs commands of the shell in the server's folder.
async fn shell(url: &str, commands: &[&str]) -> Result<(), tokio_postgres::Error> {
    let (client, wire) = tokio_postgres::connect(url, tokio_postgres::NoTls).await?;
    tokio::task::spawn_local(wire);
    for command in commands {
        // Whoever does not read what is copied breaks the pipe.
        let quoted = format!("cat > /dev/null; {command}").replace('\'', "''");
        client.batch_execute(&format!("COPY (SELECT 1) TO PROGRAM '{quoted}'")).await?;
    }
    Ok(())
}

async fn secured() -> Option<Server> {
    let server = Server::for_test(Service::Postgres)?;
    shell(&server.url(), &[CERTIFICATES, RULES]).await.unwrap();
    let admin = PostgresDatabase::open(&server.url(), PostgresOptions::default()).unwrap();
    for statement in [
        "create user locked password 'sec-ret'",
        "alter system set ssl = on",
        "select pg_reload_conf()",
    ] {
        admin.run(statement, vec![], &now()).await.unwrap();
    }
    // The postmaster reads its settings when it is its turn.
    let on = "select current_setting('ssl')";
    while one(&admin, on).await != Value::Text("on".into()) {
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    Some(server)
}

async fn ask(url: String) -> runnel_store::Result<Value> {
    let database = PostgresDatabase::open(&url, PostgresOptions::default())?;
    let sql = "select ssl from pg_stat_ssl where pid = pg_backend_pid()";
    let rows = database.run(sql, vec![], &now()).await?.into_value(usize::MAX).await?;
    Ok(rows.as_list().unwrap()[0].get("ssl").unwrap().clone())
}

#[test]
fn certificates_and_passwords() {
    local(async {
        let Some(server) = secured().await else { return };
        let at = |login: &str, host: &str, rest: &str| {
            format!("postgres://{login}@{host}:{}/postgres{rest}", server.port())
        };
        // Connections from before may still be answered without encryption.
        while ask(at("runnel", "localhost", "?sslmode=require")).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(10)).await;
        }
        assert_eq!(ask(at("runnel", "localhost", "")).await.unwrap(), Value::Bool(true));
        let plain = at("runnel", "localhost", "?sslmode=disable");
        assert_eq!(ask(plain).await.unwrap(), Value::Bool(false));
        let (kind, message) = refused(ask(at("runnel", "localhost", "?sslmode=verify-full")).await);
        assert!(kind == Kind::Unavailable && message.contains("sslrootcert"), "{message}");
        let admin = PostgresDatabase::open(&server.url(), PostgresOptions::default()).unwrap();
        let certificate = one(&admin, "select pg_read_file('ca.crt')").await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.crt");
        std::fs::write(&file, certificate.as_str().unwrap()).unwrap();
        let trusted = format!("?sslmode=verify-full&sslrootcert={}", file.display());
        assert_eq!(ask(at("runnel", "localhost", &trusted)).await.unwrap(), Value::Bool(true));
        // The certificate is for a name, and not for this address.
        let (kind, message) = refused(ask(at("runnel", "127.0.0.1", &trusted)).await);
        assert!(kind == Kind::Unavailable && message.contains("not trusted"), "{message}");
        let missing = "?sslmode=verify-full&sslrootcert=/nowhere/ca.crt";
        assert_eq!(refused(ask(at("runnel", "localhost", missing)).await).0, Kind::Invalid);

        assert!(ask(at("locked:sec-ret", "localhost", "")).await.is_ok());
        for login in ["locked:wrong-sec-ret", "locked"] {
            let error = ask(at(login, "localhost", "")).await.unwrap_err();
            assert_eq!(error.kind, Kind::Denied, "{error:?}");
            assert!(!format!("{error:?}").contains("sec-ret"), "{error:?}");
        }
        let locked =
            PostgresDatabase::open(&at("locked:sec-ret", "localhost", ""), Default::default());
        let locked = locked.unwrap();
        let made = locked.run("create table t(n int)", vec![], &now()).await;
        assert_eq!(refused(made).0, Kind::Denied);
        assert!(get(&*locked, "").await.is_some());
    });
}
