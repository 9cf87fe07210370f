//! The statements that make a table what its class says, beyond what is added by itself.

use crate::database::constraint::{self, Dialect, check_name};
use crate::database::description::{TableColumn, TableDescription};
use crate::database::schema;
use crate::postgres::connection::client::PostgresConnection;
use crate::postgres::fault::SqlResult;
use crate::postgres::schema::catalog::{TableInfo, quoted};
use crate::postgres::schema::define::{cut, lacking, names};
use crate::postgres::schema::read_catalog::field;
use runnel_store::{Field, Shape};

/// The statements, and comments where a person has to decide; none where the table does not exist.
pub(crate) async fn differences(
    connection: &PostgresConnection,
    shape: &Shape,
) -> SqlResult<Vec<String>> {
    let name = schema::name_of(shape);
    let Some(table) = TableInfo::read(connection, &name).await?.filter(|table| !table.view) else {
        return Ok(Vec::new());
    };
    let table = table.named(&shape.column_names());
    let mut steps = Vec::new();
    if let Err(fault) = lacking(connection, &name, shape).await {
        steps.push(format!("-- {}", fault.message));
    }
    let there = names(connection, Some(&table)).await?;
    for one in &shape.fields {
        let Some(position) = table.position(&one.name) else { continue };
        let (column, own) = (&table.columns[position], quoted(one.column()));
        let alter = format!("ALTER TABLE {} ALTER COLUMN {own}", table.sql);
        let default = constraint::default(shape, one, Dialect::Postgres);
        if let Some(default) = default.as_ref().filter(|_| !column.defaulted) {
            steps.push(format!("{alter} SET DEFAULT {default}"));
        }
        if one.required && !column.required {
            steps.extend(filled(connection, &table, one, default).await?);
            steps.push(format!("{alter} SET NOT NULL"));
        }
        let rule = cut(&check_name(&table.table, one.column()));
        if let Some(condition) = constraint::check(shape, one, &own, Dialect::Postgres)
            && !there.iter().any(|(known, _)| *known == rule)
        {
            let adding = format!("ADD CONSTRAINT {} CHECK ({condition})", quoted(&rule));
            steps.push(format!("ALTER TABLE {} {adding}", table.sql));
        }
    }
    for column in &table.columns {
        if !shape.fields.iter().any(|one| one.column().eq_ignore_ascii_case(&column.column)) {
            let own = column.quoted();
            steps.push(format!(
                "-- {} has no {}: ALTER TABLE {} DROP COLUMN {own}, or RENAME COLUMN {own} TO …",
                shape.name, column.column, table.sql
            ));
        }
    }
    Ok(steps)
}

/// What gives the rows without a value one, where there are such rows.
async fn filled(
    connection: &PostgresConnection,
    table: &TableInfo,
    one: &Field,
    default: Option<String>,
) -> SqlResult<Option<String>> {
    let (sql, own) = (&table.sql, quoted(one.column()));
    let count = format!("SELECT count(*) FROM {sql} WHERE {own} IS NULL");
    let rows = connection.all(&count, &[]).await?;
    let rows: i64 = rows.first().map_or(Ok(0), |row| field(row, 0))?;
    Ok(schema::filling(sql, &own, &one.name, default.as_deref(), rows))
}
