//! From the shape of a class to its table: made when it is missing, extended when the class has
//! grown, refused when the two contradict each other.

use crate::database::constraint::{self, Dialect, check_name};
use crate::database::description::TableDescription;
use crate::database::schema::{is_numbered, is_whole_key, on_delete, referred_table};
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::schema::catalog::{ColumnInfo, DATE, DECIMAL, JSON, RowKey, TableInfo, quoted};
use crate::sqlite::schema::full_text;
use runnel_store::{Field, FieldType, Index, Kind, OnDelete, Shape};
use rusqlite::Connection;

/// Checks that a shape can be a table of SQLite at all.
pub(crate) fn check(name: &str, shape: &Shape) -> SqlResult<()> {
    if name.to_ascii_lowercase().starts_with("sqlite_") {
        return Err(SqlFault::invalid("names that begin with 'sqlite_' belong to SQLite"));
    }
    crate::database::schema::check(name, shape)
}

/// Makes the table, or what it lacks.
pub(crate) fn make(connection: &Connection, name: &str, shape: &Shape) -> SqlResult<()> {
    for statement in lacking(connection, name, shape)? {
        connection.execute(&statement, []).map_err(|error| {
            let fault = SqlFault::from(error);
            SqlFault { message: format!("{}: {}", shape.name, fault.message), ..fault }
        })?;
    }
    Ok(())
}

/// The statements that make what is lacking. Only additions are made; what would change something
/// that is there is a conflict.
pub(crate) fn lacking(
    connection: &Connection,
    name: &str,
    shape: &Shape,
) -> SqlResult<Vec<String>> {
    let mut statements = Vec::new();
    let table = TableInfo::read(connection, name)?;
    let table = table.as_ref().map(|table| table.named(&shape.column_names()));
    let name = table.as_ref().map_or(name, |table| &table.name);
    match &table {
        None => {
            statements.push(create_sql(name, &quoted(name), shape));
        }
        Some(table) => {
            table.refuse_key_value()?;
            for field in table.missing(shape)? {
                let column = declaration(name, shape, field, true);
                statements.push(format!("ALTER TABLE {} ADD COLUMN {column}", quoted(name)));
            }
            references(connection, table, shape)?;
            if table.view {
                return Ok(statements);
            }
        }
    }
    for index in shape.column_indexes() {
        statements.extend(index_statement(connection, name, &index)?);
    }
    statements.extend(full_text::lacking(connection, name, shape)?);
    Ok(statements)
}

/// The statement that makes the table of a name, with the quoted name that it has for now.
pub(crate) fn create_sql(name: &str, new: &str, shape: &Shape) -> String {
    let declared = |field| declaration(name, shape, field, false);
    let mut columns: Vec<String> = shape.fields.iter().map(declared).collect();
    if shape.keys.len() > 1 {
        let keys: Vec<String> = shape.keys.iter().map(|key| quoted(shape.column_of(key))).collect();
        columns.push(format!("PRIMARY KEY ({})", keys.join(", ")));
    }
    format!("CREATE TABLE {new} ({})", columns.join(", "))
}

/// The name of an index.
fn index_name(table: &str, index: &Index) -> String {
    let kind = if index.unique { "key" } else { "idx" };
    format!("{table}_{}_{kind}", index.fields.join("_"))
}

/// The statement that makes an index.
pub(crate) fn index_sql(table: &str, index: &Index) -> String {
    let columns: Vec<String> = index.fields.iter().map(|field| quoted(field)).collect();
    let unique = if index.unique { "UNIQUE " } else { "" };
    let name = quoted(&index_name(table, index));
    format!("CREATE {unique}INDEX {name} ON {} ({})", quoted(table), columns.join(", "))
}

/// The statement that makes an index, where there is none such.
fn index_statement(
    connection: &Connection,
    table: &str,
    index: &Index,
) -> SqlResult<Option<String>> {
    let mut known = connection.prepare_cached(
        "SELECT l.name, l.\"unique\", l.partial, (SELECT group_concat(coalesce(i.name, ''), char(0)) \
         FROM (SELECT name FROM pragma_index_info(l.name) ORDER BY seqno) i) \
         FROM pragma_index_list(?1) l",
    )?;
    let wanted = index.fields.join("\0").to_ascii_lowercase();
    let name = index_name(table, index);
    let mut rows = known.query([table])?;
    while let Some(row) = rows.next()? {
        let (known, unique, partial): (String, bool, bool) =
            (row.get(0)?, row.get(1)?, row.get(2)?);
        let columns: Option<String> = row.get(3)?;
        let same = columns.is_some_and(|columns| columns.to_ascii_lowercase() == wanted);
        // A unique one serves where any is wanted.
        if same && !partial && (unique || !index.unique) {
            return Ok(None);
        }
        if known.eq_ignore_ascii_case(&name) {
            let message = format!(
                "the index {known} of {table} is over other columns than the class says; drop it \
                 in a migration"
            );
            return Err(SqlFault::new(Kind::Conflict, message));
        }
    }
    Ok(Some(index_sql(table, index)))
}

/// Checks that the columns that are there refer to what the class says: SQLite cannot add a
/// reference to a column.
fn references(connection: &Connection, table: &TableInfo, shape: &Shape) -> SqlResult<()> {
    let mut known = connection
        .prepare_cached("SELECT \"from\", \"table\", on_delete FROM pragma_foreign_key_list(?1)")?;
    let known =
        known.query_map([&table.name], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let known = known.collect::<rusqlite::Result<Vec<(String, String, String)>>>()?;
    for field in &shape.fields {
        let Some(key) = &field.references else { continue };
        if table.position(&field.name).is_none() || table.view {
            continue;
        }
        let (parent, wanted) = (referred_table(key), on_delete(key));
        let found = known.iter().find(|(from, to, _)| {
            from.eq_ignore_ascii_case(field.column()) && to.eq_ignore_ascii_case(&parent)
        });
        let lacking = match found {
            None => format!("refers to {parent}"),
            // What the class leaves to the default, a table made by hand may say.
            Some((_, _, known))
                if key.on_delete != OnDelete::Restrict && !wanted.ends_with(known.as_str()) =>
            {
                format!("refers to {parent}{}", wanted.to_lowercase())
            }
            Some(_) => continue,
        };
        return Err(SqlFault::new(
            Kind::Conflict,
            format!(
                "{} says that {} {lacking}, but the column of the table {} does not; make the \
                 table anew in a migration: create one with the reference, copy the rows, drop the \
                 old one and rename",
                shape.name, field.name, table.name
            ),
        ));
    }
    Ok(())
}

/// The table as a class sees it: its own fields in its own order, with its types.
pub(crate) fn seen_by(table: &TableInfo, shape: &Shape) -> SqlResult<TableInfo> {
    let table = &*table.named(&shape.column_names());
    let lacking = table.missing(shape)?;
    if let Some(field) = lacking.first() {
        let message = format!("the table {} has lost its column {}", table.name, field.column());
        return Err(SqlFault::new(Kind::Conflict, message));
    }
    let column = |field: &runnel_store::Field| {
        let column = table.columns[table.position(&field.name)?].clone();
        let kind = if field.kind == FieldType::Any { column.kind } else { field.kind };
        let readonly = field.readonly;
        Some(ColumnInfo { name: field.name.clone(), kind, readonly, ..column })
    };
    let columns = shape.fields.iter().filter_map(column).collect();
    let key = match &table.key {
        // In the order of the class, which is that of the path.
        RowKey::Columns(_) if shape.keys.len() > 1 => {
            let part = |name: &String| Some(table.columns[table.position(name)?].clone());
            RowKey::Columns(shape.keys.iter().filter_map(part).collect())
        }
        key => key.clone(),
    };
    Ok(TableInfo { columns, key, ..table.clone() })
}

/// A column as the table declares it; `added` to rows, it can be required only with a default.
fn declaration(table: &str, shape: &Shape, field: &Field, added: bool) -> String {
    let name = quoted(field.column());
    if is_numbered(shape, field) {
        return format!("{name} INTEGER PRIMARY KEY");
    }
    let whole_key = is_whole_key(shape, field);
    let declared = match field.kind {
        FieldType::Any => "",
        // `INTEGER PRIMARY KEY` would number the rows.
        FieldType::Int if whole_key => "INT",
        FieldType::Int => "INTEGER",
        FieldType::Float => "REAL",
        FieldType::Bool => "BOOLEAN",
        FieldType::Text => "TEXT",
        FieldType::Bytes => "BLOB",
        FieldType::Decimal => DECIMAL,
        FieldType::Date => DATE,
        FieldType::Json => JSON,
    };
    let mut column = format!("{name} {declared}").trim_end().to_string();
    if whole_key {
        column.push_str(" PRIMARY KEY");
    }
    let default = constraint::default(shape, field, Dialect::Sqlite);
    let is_required = field.required || shape.keys.contains(&field.name);
    if is_required && (!added || default.is_some()) {
        column.push_str(" NOT NULL");
    }
    if whole_key && shape.generated_key().is_some() {
        column = format!("{column} DEFAULT {}", constraint::uuid(Dialect::Sqlite));
    } else if let Some(default) = default {
        column = format!("{column} DEFAULT {default}");
    }
    if let Some(condition) = constraint::check(shape, field, &name, Dialect::Sqlite) {
        let rule = quoted(&check_name(table, field.column()));
        column = format!("{column} CONSTRAINT {rule} CHECK ({condition})");
    }
    if let Some(key) = &field.references {
        let parent = quoted(&referred_table(key));
        column = format!("{column} REFERENCES {parent}{}", on_delete(key));
    }
    column
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use runnel_store::Field;

    fn shape(fields: &[(&str, FieldType)]) -> Shape {
        let field = |(name, kind): &(&str, FieldType)| Field::new(*name, *kind);
        Shape::new("Task", fields.iter().map(field).collect())
    }

    #[test]
    fn a_table_grows_with_its_class() {
        let connection = Connection::open_in_memory().unwrap();
        let small = shape(&[("id", FieldType::Int), ("done", FieldType::Bool)]);
        make(&connection, "tasks", &small).unwrap();
        let large = shape(&[
            ("id", FieldType::Int),
            ("title", FieldType::Text),
            ("done", FieldType::Bool),
            ("odd \"name\"", FieldType::Any),
        ]);
        make(&connection, "tasks", &large).unwrap();
        make(&connection, "TASKS", &large).unwrap();
        let table = TableInfo::read(&connection, "tasks").unwrap().unwrap();
        let seen = seen_by(&table, &large).unwrap();
        let names: Vec<&str> = seen.columns.iter().map(|column| column.name.as_str()).collect();
        assert_eq!(names, ["id", "title", "done", "odd \"name\""]);
        assert_eq!(seen.columns[2].kind, FieldType::Bool);
        assert_eq!(seen.key_sql().unwrap(), "\"id\"");
    }

    #[test]
    fn contradictions_are_conflicts() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "create table a(id integer primary key, n integer, d date); \
                 create table b(id integer); create table c(x)",
            )
            .unwrap();
        let refuse = |table: &str, fields: &[(&str, FieldType)]| {
            let fault = make(&connection, table, &shape(fields)).unwrap_err();
            assert_eq!(fault.kind, Kind::Conflict, "{fault:?}");
            fault.message
        };
        let message = refuse("a", &[("n", FieldType::Text)]);
        assert_eq!(
            message,
            "Task declares n as text, but the column n of the table a holds an integer; write the \
             change as a migration"
        );
        refuse("a", &[("d", FieldType::Text)]);
        refuse("b", &[("id", FieldType::Int)]);
        refuse("c", &[("id", FieldType::Int)]);
        let over_integers = shape(&[("id", FieldType::Int), ("n", FieldType::Bool)]);
        make(&connection, "a", &over_integers).unwrap();
        let table = TableInfo::read(&connection, "a").unwrap().unwrap();
        assert_eq!(seen_by(&table, &over_integers).unwrap().columns[1].kind, FieldType::Bool);
    }

    #[test]
    fn shapes_that_are_no_tables() {
        let good = [("a", FieldType::Any)];
        for (name, fields) in [
            ("", &good[..]),
            ("a/b", &good),
            ("sqlite_x", &good),
            ("t", &[]),
            ("t", &[("a", FieldType::Any), ("A", FieldType::Int)]),
            ("t", &[("", FieldType::Any)]),
            ("t", &[("a\0", FieldType::Any)]),
        ] {
            assert_eq!(check(name, &shape(fields)).unwrap_err().kind, Kind::Invalid, "{name}");
        }
    }
}
