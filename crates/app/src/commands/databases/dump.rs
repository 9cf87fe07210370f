//! `runnel dump` and `runnel load`: the rows of databases as text.

use crate::commands::databases::resources::{existing, resource, run, store};
use crate::console::Console;
use crate::world::schemes::{Database, Schemes};
use futures_util::StreamExt;
use runnel_store::{
    Body, ByteStream, Content, Context, Error, Form, Kind, Reference, Result, Verb,
};

/// `runnel dump DATABASE TABLES`
pub(crate) fn dump(database: &str, tables: &[String], csv: bool) -> u8 {
    run(async |schemes| {
        let from = resource(database, "sqlite");
        existing(&from)?;
        let context = Context::default();
        let text = match (schemes.database_at(&from)?, csv) {
            (database, true) => table_as_csv(&database, tables, &context).await?,
            (Database::Sqlite(database), false) => database.dump(tables.to_vec(), &context),
            (Database::Postgres(database), false) => database.dump(tables.to_vec(), &context),
        };
        print(text).await.map_err(|error| error.on(Verb::Get, &from))
    })
}

/// `runnel load SOURCE DATABASE`
pub(crate) fn load(source: &str, database: &str, csv: Option<&str>) -> u8 {
    run(async |schemes| {
        let (from, to) = (resource(source, "file"), resource(database, "sqlite"));
        let content = content(schemes, &from).await?;
        let context = Context::default();
        let loaded = match (schemes.database_at(&to)?, csv) {
            (database, Some(table)) => insert_csv(&database, table, content, &context).await,
            (Database::Sqlite(database), None) => database.load(content, &context).await,
            (Database::Postgres(database), None) => database.load(content, &context).await,
        };
        for (table, rows) in loaded.map_err(|error| error.on(Verb::Put, &to))? {
            Console::line(&format!("{table}: {rows} rows"));
        }
        Ok(())
    })
}

async fn content(schemes: &Schemes, from: &Reference) -> Result<Content> {
    let found = store(schemes, from)?.get(from, &Context::default()).await?;
    let missing = || Error::new(Kind::NotFound, "there is no such dump").on(Verb::Get, from);
    found.ok_or_else(missing)
}

/// The rows of one table.
async fn table_as_csv(
    database: &Database,
    tables: &[String],
    context: &Context,
) -> Result<ByteStream> {
    let [table] = tables else {
        let message = "comma-separated values are those of one table: name it";
        return Err(Error::new(Kind::Invalid, message));
    };
    let on = Reference::from_path(table.clone());
    let missing = || Error::new(Kind::NotFound, format!("there is no table {table}"));
    let rows = database.as_store().get(&on, context).await?.ok_or_else(missing)?;
    if let Body::Lazy(lazy) = &rows.body
        && let Some(stream) = lazy.stream(Form::Csv)
    {
        return Ok(stream);
    }
    let text = rows.encode(Form::Csv).await?;
    Ok(Box::pin(futures_util::stream::iter([Ok(text)])))
}

async fn insert_csv(
    database: &Database,
    table: &str,
    content: Content,
    context: &Context,
) -> Result<Vec<(String, u64)>> {
    let on = Reference::from_path(table.to_string());
    let content = content.with_media_type("text/csv");
    let outcome = database.as_store().post(&on, content, context).await?;
    let rows = match outcome.content.map(|content| content.body) {
        Some(Body::Value(value)) => value.as_i64().and_then(|rows| u64::try_from(rows).ok()),
        _ => None,
    };
    Ok(vec![(table.to_string(), rows.unwrap_or_default())])
}

/// Writes to standard output; text that could not be written is an error, because what is left would
/// pass for the whole.
async fn print(mut text: ByteStream) -> Result<()> {
    while let Some(piece) = text.next().await {
        Console::bytes(&piece?).map_err(|error| {
            let message = format!("standard output cannot be written: {error}");
            Error::new(Kind::Failed, message)
        })?;
    }
    Ok(())
}
