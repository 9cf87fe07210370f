//! From the shape of a class to its table: made when it is missing, extended by what it lacks,
//! refused when the two contradict each other.

use crate::database::constraint::{self, Dialect, check_name};
use crate::database::description::TableDescription;
use crate::database::full_text;
use crate::database::schema::{self, is_numbered, is_whole_key, on_delete, referred_table};
use crate::postgres::connection::client::PostgresConnection;
use crate::postgres::connection::session::{PostgresSession, Repeat};
use crate::postgres::fault::{SqlFault, SqlFaultCause, SqlResult};
use crate::postgres::schema::catalog::{ColumnInfo, SCHEMA_LOCK, TableInfo, UUID, quoted};
use crate::postgres::schema::read_catalog::field;
use crate::postgres::value::parameter::Parameter;
use crate::postgres::worker_database::WorkerDatabase;
use runnel_store::{Field, FieldType, Kind, OnDelete, Shape};

/// PostgreSQL cuts longer names off, in bytes.
const NAME_LENGTH: usize = 63;

/// Checks that a shape can be a table at all.
pub(crate) fn check(name: &str, shape: &Shape) -> SqlResult<()> {
    schema::check(name, shape)?;
    let names = shape.fields.iter().map(Field::column).chain([name]);
    if let Some(long) = names.into_iter().find(|name| name.len() > NAME_LENGTH) {
        let message = format!("{long} is longer than the {NAME_LENGTH} bytes of a name");
        return Err(SqlFault::invalid(message));
    }
    Ok(())
}

/// Makes the table of a shape, or what it lacks.
pub(crate) async fn define(core: &WorkerDatabase, name: &str, shape: &Shape) -> SqlResult<()> {
    let session = PostgresSession::own(&core.pool);
    let lacking = async |connection: &PostgresConnection| lacking(connection, name, shape).await;
    if session.run(Repeat::Yes, lacking).await?.is_empty() {
        return Ok(());
    }
    let making = async |connection: &PostgresConnection| {
        connection.set_entered(true);
        connection.batch(&format!("BEGIN; SELECT pg_advisory_xact_lock({SCHEMA_LOCK})")).await?;
        // Another process may have done it meanwhile.
        let statements = lacking(connection).await;
        let done = match statements {
            Ok(statements) => connection.batch(&statements.join("; ")).await,
            Err(fault) => Err(fault),
        };
        connection.batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
        connection.set_entered(false);
        connection.forget();
        done
    };
    let done = session.run(Repeat::No, making).await;
    core.forget();
    done.map_err(|fault| match fault.cause {
        // A table or a type that the statements name is not there.
        SqlFaultCause::Stale => {
            SqlFault { kind: Kind::Conflict, cause: SqlFaultCause::Other, ..fault }
        }
        _ => fault,
    })
}

/// The statements that make what the table lacks: columns first, then indexes and foreign keys.
pub(crate) async fn lacking(
    connection: &PostgresConnection,
    name: &str,
    shape: &Shape,
) -> SqlResult<Vec<String>> {
    let known = TableInfo::read(connection, name).await?;
    let known = known.as_ref().map(|table| table.named(&shape.column_names()));
    let uuids = uuid_fields(connection, known.as_deref(), shape).await?;
    let mut statements = Vec::new();
    let sql = match &known {
        None => {
            let sql = match name.split_once('.') {
                Some((schema, table)) => format!("{}.{}", quoted(schema), quoted(table)),
                None => quoted(name),
            };
            statements.push(create_sql(name, &sql, shape, &uuids));
            sql
        }
        Some(table) => {
            table.refuse_key_value()?;
            for field in table.missing(shape)? {
                let column = declaration(name, shape, field, true, &uuids);
                statements.push(format!("ALTER TABLE {} ADD COLUMN {column}", table.sql));
            }
            table.sql.clone()
        }
    };
    if known.as_ref().is_some_and(|table| table.view) {
        return Ok(statements);
    }
    let table = name.rsplit('.').next().unwrap_or(name);
    let there = names(connection, known.as_deref()).await?;
    for index in shape.column_indexes() {
        let kind = if index.unique { "key" } else { "idx" };
        let name = cut(&format!("{table}_{}_{kind}", index.fields.join("_")));
        if !there.iter().any(|(known, _)| *known == name) {
            statements.push(index_sql(&sql, &name, &index.fields, index.unique, shape));
        }
    }
    if !shape.full_text.is_empty() {
        let name = cut(&format!("{table}_{}_fts", shape.full_text.join("_")));
        if !there.iter().any(|(known, _)| *known == name) {
            let column = |field: &String| quoted(shape.column_of(field));
            let columns: Vec<String> = shape.full_text.iter().map(column).collect();
            let words = full_text::words_of(&columns);
            statements.push(format!("CREATE INDEX {} ON {sql} USING gin ({words})", quoted(&name)));
        }
    }
    for field in &shape.fields {
        statements.extend(foreign_key(shape, field, table, &sql, &there)?);
    }
    Ok(statements)
}

/// The fields whose columns are of the type `uuid` when they are made: those that the class declares so, and those that
/// refer to such a key. Existing tables may have text instead, which the columns that refer to them have then, too.
async fn uuid_fields(
    connection: &PostgresConnection,
    known: Option<&TableInfo>,
    shape: &Shape,
) -> SqlResult<Vec<String>> {
    let mut names = Vec::new();
    for field in &shape.fields {
        let missing = known.is_none_or(|table| table.position(&field.name).is_none());
        let is_uuid = match &field.references {
            _ if !missing => false,
            None => is_uuid(shape, field),
            Some(key) => {
                let parent = referred_table(key);
                let itself = parent == schema::name_of(shape);
                match TableInfo::read(connection, &parent).await? {
                    Some(parent) => parent.key().is_some_and(ColumnInfo::is_uuid),
                    None => itself && shape.keys.iter().any(|key| shape.is_uuid(key)),
                }
            }
        };
        if is_uuid {
            names.push(field.name.clone());
        }
    }
    Ok(names)
}

/// Whether a class declares nothing but that a field holds UUIDs: a length would be a rule of texts.
fn is_uuid(shape: &Shape, field: &Field) -> bool {
    shape.is_uuid(&field.name) && constraint::check(shape, field, "", Dialect::Postgres).is_none()
}

/// The statement that makes a table, whose name stands in quotes in it.
fn create_sql(name: &str, sql: &str, shape: &Shape, uuids: &[String]) -> String {
    let declared = |field| declaration(name, shape, field, false, uuids);
    let mut columns: Vec<String> = shape.fields.iter().map(declared).collect();
    if shape.keys.len() > 1 {
        let keys: Vec<String> = shape.keys.iter().map(|key| quoted(shape.column_of(key))).collect();
        columns.push(format!("PRIMARY KEY ({})", keys.join(", ")));
    }
    format!("CREATE TABLE {sql} ({})", columns.join(", "))
}

/// The statement that makes the foreign key of a field, where there is none.
fn foreign_key(
    shape: &Shape,
    field: &Field,
    table: &str,
    sql: &str,
    there: &[(String, String)],
) -> SqlResult<Option<String>> {
    let Some(key) = &field.references else { return Ok(None) };
    let name = cut(&format!("{table}_{}_fkey", field.column()));
    let adding = format!(
        "ADD CONSTRAINT {} FOREIGN KEY ({}) REFERENCES {}{}",
        quoted(&name),
        quoted(field.column()),
        quoted(&referred_table(key)),
        on_delete(key),
    );
    match there.iter().find(|(known, _)| *known == name) {
        None => Ok(Some(format!("ALTER TABLE {sql} {adding}"))),
        // What the class leaves to the default, a table made by hand may say.
        Some((_, known)) if key.on_delete != OnDelete::Restrict && *known != on_delete(key) => {
            let message = format!(
                "{} says that {} is{}, but the foreign key {name} is not; write this as a \
                 migration: ALTER TABLE {sql} DROP CONSTRAINT {}, {adding}",
                shape.name,
                field.name,
                on_delete(key).to_lowercase(),
                quoted(&name),
            );
            Err(SqlFault::new(Kind::Conflict, message))
        }
        Some(_) => Ok(None),
    }
}

/// Nil is the least value, so that an index is of use for the orders that programs ask for.
fn index_sql(sql: &str, name: &str, fields: &[String], unique: bool, shape: &Shape) -> String {
    let ordered: Vec<String> = fields
        .iter()
        .map(|field| {
            let key = shape.keys.iter().any(|key| shape.column_of(key) == field);
            format!("{}{}", quoted(field), if key { "" } else { " NULLS FIRST" })
        })
        .collect();
    let unique = if unique { "UNIQUE " } else { "" };
    format!("CREATE {unique}INDEX {} ON {sql} ({})", quoted(name), ordered.join(", "))
}

/// The names of the indexes and constraints of a table, and what foreign keys do on a deletion.
pub(crate) async fn names(
    connection: &PostgresConnection,
    table: Option<&TableInfo>,
) -> SqlResult<Vec<(String, String)>> {
    let Some(table) = table else { return Ok(Vec::new()) };
    let sql = "SELECT i.indexrelid::regclass::oid::int8, c.relname::text, '' FROM pg_index i \
               JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = to_regclass($1) \
               UNION SELECT oid::int8, conname::text, \
               CASE confdeltype WHEN 'c' THEN ' ON DELETE CASCADE' \
               WHEN 'n' THEN ' ON DELETE SET NULL' ELSE '' END FROM pg_constraint \
               WHERE conrelid = to_regclass($1)";
    let rows = connection.all(sql, &[Parameter::text(table.sql.clone())]).await?;
    rows.iter().map(|row| Ok((field(row, 1)?, field(row, 2)?))).collect()
}

/// A name within the length that PostgreSQL keeps, at a character's end.
pub(crate) fn cut(name: &str) -> String {
    let mut end = name.len().min(NAME_LENGTH);
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    name[..end].to_string()
}

/// The table as a class sees it: its own fields in its own order.
pub(crate) fn seen_by(table: &TableInfo, shape: &Shape) -> SqlResult<TableInfo> {
    let table = &*table.named(&shape.column_names());
    if let Some(field) = table.missing(shape)?.first() {
        let message = format!("the table {} has lost its column {}", table.name, field.column());
        return Err(SqlFault {
            cause: SqlFaultCause::Stale,
            ..SqlFault::new(Kind::Conflict, message)
        });
    }
    let mut columns = Vec::new();
    let mut key = None;
    for field in &shape.fields {
        let position = table.find(&field.name)?;
        if table.key == Some(position) {
            key = Some(columns.len());
        }
        // The name is the database's own.
        columns.push(ColumnInfo { readonly: field.readonly, ..table.columns[position].clone() });
    }
    if key.is_none()
        && let Some(column) = table.key()
    {
        key = Some(columns.len());
        columns.push(ColumnInfo { hidden: true, ..column.clone() });
    }
    // In the order of the class, which is that of the path.
    let mut names = shape.keys.clone();
    if table.key_parts.len() != names.len() {
        names = table.key_parts.iter().map(|at| table.columns[*at].name.clone()).collect();
    }
    let mut key_parts = Vec::new();
    for name in names.iter().filter(|_| !table.key_parts.is_empty()) {
        let known = columns.iter().position(|column| column.name.eq_ignore_ascii_case(name));
        key_parts.push(known.unwrap_or(columns.len()));
        if known.is_none() {
            columns.push(ColumnInfo { hidden: true, ..table.column(name)?.clone() });
        }
    }
    Ok(TableInfo { columns, key, key_parts, ..table.clone() })
}

/// A column as the table declares it; `added` to rows, it can be required only with a default.
fn declaration(table: &str, shape: &Shape, field: &Field, added: bool, uuids: &[String]) -> String {
    let name = quoted(field.column());
    if is_numbered(shape, field) {
        return format!("{name} bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY");
    }
    let kind = match field.kind {
        // Anything is what JSON can say.
        FieldType::Any | FieldType::Json => "jsonb",
        FieldType::Int => "bigint",
        FieldType::Float => "double precision",
        FieldType::Bool => "boolean",
        FieldType::Text if uuids.contains(&field.name) => UUID,
        // Bytewise, as everywhere else: an index then serves the order that programs see.
        FieldType::Text => "text COLLATE \"C\"",
        FieldType::Bytes => "bytea",
        FieldType::Decimal => "numeric",
        FieldType::Date => "timestamptz",
    };
    let mut column = format!("{name} {kind}");
    let whole_key = is_whole_key(shape, field);
    if whole_key {
        column.push_str(" PRIMARY KEY");
    }
    let default = constraint::default(shape, field, Dialect::Postgres);
    if field.required && !whole_key && (!added || default.is_some()) {
        column.push_str(" NOT NULL");
    }
    if whole_key && shape.generated_key().is_some() {
        let made = constraint::uuid(Dialect::Postgres);
        let cast = if uuids.contains(&field.name) { "" } else { "::text" };
        column = format!("{column} DEFAULT {made}{cast}");
    } else if let Some(default) = default {
        column = format!("{column} DEFAULT {default}");
    }
    if let Some(condition) = constraint::check(shape, field, &name, Dialect::Postgres) {
        let table = table.rsplit('.').next().unwrap_or(table);
        let rule = quoted(&cut(&check_name(table, field.column())));
        column = format!("{column} CONSTRAINT {rule} CHECK ({condition})");
    }
    column
}

#[cfg(test)]
mod tests {
    use super::*;
    use runnel_store::Index;

    #[test]
    fn names_are_cut_at_characters() {
        assert_eq!(cut("short"), "short");
        assert_eq!(cut(&"ä".repeat(40)), "ä".repeat(31));
    }

    #[test]
    fn indexes_are_over_fields_that_are_there() {
        let fields = vec![Field::new("title", FieldType::Text)];
        let index = |name: &str| Index { fields: vec![name.to_string()], unique: true };
        let mut shape = Shape::new("Task", fields);
        shape.indexes = vec![index("title")];
        assert!(check("tasks", &shape).is_ok());
        shape.indexes.push(index("owner"));
        assert!(check("tasks", &shape).is_err());
        assert_eq!(
            index_sql("\"t\"", "t_title_key", &["title".into()], true, &shape),
            "CREATE UNIQUE INDEX \"t_title_key\" ON \"t\" (\"title\" NULLS FIRST)"
        );
    }
}
