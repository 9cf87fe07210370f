//! The statements that make a table what its class says, beyond what is added by itself. SQLite adds no
//! constraint to a column, so the table is made anew.

use crate::database::constraint::{self, Dialect, check_name};
use crate::database::description::{TableColumn, TableDescription};
use crate::database::schema;
use crate::sqlite::fault::SqlResult;
use crate::sqlite::schema::catalog::{TableInfo, quoted};
use crate::sqlite::schema::define::{create_sql, index_sql, lacking};
use runnel_store::{Field, Shape};
use rusqlite::{Connection, OptionalExtension};

/// The statements, and comments where a person has to decide; none where the table does not exist.
pub(crate) fn differences(connection: &Connection, shape: &Shape) -> SqlResult<Vec<String>> {
    let name = schema::name_of(shape);
    let Some(table) = TableInfo::read(connection, &name)?.filter(|table| !table.view) else {
        return Ok(Vec::new());
    };
    let table = table.named(&shape.column_names());
    let name = &table.name;
    let mut steps = Vec::new();
    let contradiction = lacking(connection, name, shape).err();
    steps.extend(contradiction.iter().map(|fault| format!("-- {}", fault.message)));
    let sql = "SELECT sql FROM sqlite_schema WHERE name = ?1 AND type = 'table'";
    let declared: Option<String> =
        connection.query_row(sql, [name], |row| row.get(0)).optional()?;
    let declared = declared.unwrap_or_default();
    let mut differs = contradiction.is_some();
    for field in shape.fields.iter().filter(|field| table.position(&field.name).is_some()) {
        differs |= is_looser(connection, &table, shape, field, &declared)?;
    }
    let mut lost = Vec::new();
    for column in &table.columns {
        if !shape.fields.iter().any(|one| one.column().eq_ignore_ascii_case(&column.column)) {
            let own = column.quoted();
            lost.push(column.column.as_str());
            steps.push(format!(
                "-- {} has no {}: ALTER TABLE {} DROP COLUMN {own}, or RENAME COLUMN {own} TO …",
                shape.name,
                column.column,
                quoted(name)
            ));
        }
    }
    if differs {
        steps.extend(made_anew(connection, &table, shape, &lost)?);
    }
    Ok(steps)
}

/// Whether the column admits what the class does not, or lacks its default.
fn is_looser(
    connection: &Connection,
    table: &TableInfo,
    shape: &Shape,
    field: &Field,
    declared: &str,
) -> SqlResult<bool> {
    let sql = "SELECT \"notnull\" FROM pragma_table_xinfo(?1) WHERE name = ?2 COLLATE NOCASE";
    let not_null: bool =
        connection.query_row(sql, [table.name.as_str(), field.column()], |row| row.get(0))?;
    let default = constraint::default(shape, field, Dialect::Sqlite);
    let known = table.position(&field.name).and_then(|at| table.columns[at].default.as_ref());
    let check = constraint::check(shape, field, "", Dialect::Sqlite);
    let rule = quoted(&check_name(&table.name, field.column()));
    Ok((field.required && !not_null)
        || (default.is_some() && known.is_none())
        || (check.is_some() && !declared.contains(&rule)))
}

fn made_anew(
    connection: &Connection,
    table: &TableInfo,
    shape: &Shape,
    lost: &[&str],
) -> SqlResult<Vec<String>> {
    let (name, new) = (quoted(&table.name), quoted(&format!("{}_new", table.name)));
    let mut steps = Vec::new();
    let mut columns = Vec::new();
    for field in shape.fields.iter().filter(|field| table.position(&field.name).is_some()) {
        let own = quoted(field.column());
        let default = constraint::default(shape, field, Dialect::Sqlite);
        if field.required {
            let sql = format!("SELECT count(*) FROM {name} WHERE {own} IS NULL");
            let rows: i64 = connection.query_row(&sql, [], |row| row.get(0))?;
            steps.extend(schema::filling(&name, &own, &field.name, default.as_deref(), rows));
        }
        columns.push(own);
    }
    if !lost.is_empty() {
        steps.push(format!("-- the new table does not have {}", lost.join(" and ")));
    }
    steps.push(create_sql(&table.name, &new, shape));
    let columns = columns.join(", ");
    steps.push(format!("INSERT INTO {new} ({columns}) SELECT {columns} FROM {name}"));
    steps.push(format!("DROP TABLE {name}"));
    steps.push(format!("ALTER TABLE {new} RENAME TO {name}"));
    steps.extend(shape.column_indexes().iter().map(|index| index_sql(&table.name, index)));
    Ok(steps)
}
