//! The tables of a key-value store, made where they do not exist.

use crate::key_value::layout::{self, TableRole};
use crate::postgres::connection::client::PostgresConnection;
use crate::postgres::connection::session::{PostgresSession, Repeat};
use crate::postgres::fault::{SqlFault, SqlResult};
use crate::postgres::schema::catalog::{SCHEMA_LOCK, TableInfo, quoted};
use crate::postgres::worker_database::WorkerDatabase;
use runnel_store::Kind;

/// Makes the tables, unless they are there. Another table of that name is a conflict.
pub(super) async fn make(core: &WorkerDatabase, name: &str) -> SqlResult<()> {
    layout::check_name(name)?;
    let session = PostgresSession::own(&core.pool);
    let looking = async |connection: &PostgresConnection| exists(connection, name).await;
    if session.run(Repeat::Yes, looking).await? {
        return Ok(());
    }
    let making = async |connection: &PostgresConnection| {
        connection.set_entered(true);
        connection.batch(&format!("BEGIN; SELECT pg_advisory_xact_lock({SCHEMA_LOCK})")).await?;
        // Another process may have done it meanwhile.
        let done = match looking(connection).await {
            Ok(true) => Ok(()),
            Ok(false) => connection.batch(&statements(name)).await,
            Err(fault) => Err(fault),
        };
        connection.batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
        connection.set_entered(false);
        done
    };
    let done = session.run(Repeat::No, making).await;
    core.forget();
    done
}

async fn exists(connection: &PostgresConnection, name: &str) -> SqlResult<bool> {
    let found = TableInfo::read(connection, name).await?;
    let mut others = 0;
    for end in ["_chunks", "_unused"] {
        let other = format!("{name}{end}");
        if let Some(info) = TableInfo::read(connection, &other).await? {
            if info.key_value_role() != Some(TableRole::Inner) {
                return Err(layout::taken(&other));
            }
            others += 1;
        }
    }
    match found {
        Some(info) if info.key_value_role() != Some(TableRole::Keys) || info.view => {
            Err(layout::taken(name))
        }
        Some(_) if others < 2 => {
            let message = format!("a table beside {name} of the key-value store is missing");
            Err(SqlFault::new(Kind::Conflict, message))
        }
        None if others > 0 => Err(layout::taken(&format!("{name}_chunks"))),
        found => Ok(found.is_some()),
    }
}

fn statements(name: &str) -> String {
    let [keys, chunks, unused, objects] =
        ["", "_chunks", "_unused", "_objects"].map(|end| quoted(&format!("{name}{end}")));
    // Content is mostly compressed already, or its reader wants a part of it.
    format!(
        "CREATE TABLE {keys} (key text COLLATE \"C\" PRIMARY KEY, length bigint NOT NULL, \
         entity_tag text NOT NULL, modified bigint NOT NULL, media_type text, metadata text, \
         object bigint NOT NULL); \
         CREATE TABLE {chunks} (object bigint, part bigint, bytes bytea NOT NULL, \
         PRIMARY KEY (object, part)); \
         ALTER TABLE {chunks} ALTER COLUMN bytes SET STORAGE EXTERNAL; \
         CREATE TABLE {unused} (object bigint PRIMARY KEY, free_after bigint NOT NULL); \
         CREATE SEQUENCE {objects}"
    )
}
