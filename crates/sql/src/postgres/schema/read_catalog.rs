//! Descriptions of tables, read from the catalog of the database.

use crate::database::description::TableColumn;
use crate::database::key_parts;
use crate::key_value::layout::{self, TableRole};
use crate::postgres::connection::client::PostgresConnection;
use crate::postgres::fault::{SqlFault, SqlResult};
use crate::postgres::schema::catalog::{ColumnInfo, Holds, TableInfo, ordered, quoted};
use crate::postgres::value::parameter::Parameter;
use runnel_store::{FieldType, Kind};
use tokio_postgres::Row;

/// The columns of a relation that can be read, with what a domain is made of. The position within
/// the primary key is counted from 1.
const COLUMNS: &str = "\
SELECT n.nspname::text, c.relname::text, c.relkind IN ('v', 'm') AS view, a.attname::text, \
       coalesce(b.typname, t.typname)::text AS type, format_type(a.atttypid, a.atttypmod) AS written, \
       t.typcategory = 'A' AS array, \
       a.attgenerated <> '' AS generated, \
       a.attidentity <> '' OR coalesce(pg_get_expr(d.adbin, d.adrelid), '') LIKE 'nextval(%' AS numbered, \
       a.attnotnull AS required, array_position(i.indkey::int2[], a.attnum) + 1 AS place, \
       a.atthasdef AND a.attgenerated = '' AS defaulted \
FROM pg_class c \
JOIN pg_namespace n ON n.oid = c.relnamespace \
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
JOIN pg_type t ON t.oid = a.atttypid \
LEFT JOIN pg_type b ON b.oid = nullif(t.typbasetype, 0) \
LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum \
LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary \
WHERE c.oid = to_regclass($1) AND c.relkind IN ('r', 'p', 'v', 'm', 'f') \
ORDER BY a.attnum";

/// The tables and views that unqualified names reach.
const NAMES: &str = "\
SELECT c.relname::text FROM pg_class c \
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f') AND pg_table_is_visible(c.oid) \
AND c.relnamespace <> 'pg_catalog'::regnamespace \
AND c.relnamespace <> 'information_schema'::regnamespace AND NOT c.relispartition \
ORDER BY c.relname COLLATE \"C\"";

/// A value of a row whose column cannot be of another type.
pub(crate) fn field<'a, T: tokio_postgres::types::FromSql<'a>>(
    row: &'a Row,
    index: usize,
) -> SqlResult<T> {
    row.try_get(index).map_err(|error| {
        let fault = SqlFault::new(Kind::Failed, "the catalog of the database is not as expected");
        SqlFault { detail: Some(error.to_string()), ..fault }
    })
}

impl TableInfo {
    /// Reads the description of a table or view; `None` when there is none of that name. A name
    /// with a point that no table has is one of a schema and a table.
    pub(crate) async fn read(
        connection: &PostgresConnection,
        name: &str,
    ) -> SqlResult<Option<Self>> {
        if name.is_empty() || name.contains('\0') {
            return Ok(None);
        }
        let mut rows = connection.all(COLUMNS, &[Parameter::text(quoted(name))]).await?;
        if rows.is_empty()
            && let Some((schema, table)) = name.split_once('.')
            && !schema.is_empty()
            && !table.is_empty()
        {
            let name = format!("{}.{}", quoted(schema), quoted(table));
            rows = connection.all(COLUMNS, &[Parameter::text(name)]).await?;
        }
        let Some(first) = rows.first() else { return Ok(None) };
        let (schema, table): (String, String) = (field(first, 0)?, field(first, 1)?);
        let view: bool = field(first, 2)?;
        let mut columns = Vec::new();
        let mut primary: Vec<(i32, usize)> = Vec::new();
        for row in &rows {
            if let Some(place) = field::<Option<i32>>(row, 10)? {
                primary.push((place, columns.len()));
            }
            let kind: String = field(row, 4)?;
            columns.push(ColumnInfo {
                column: field(row, 3)?,
                name: field(row, 3)?,
                holds: Holds::of_type(&kind),
                written: field(row, 5)?,
                array: field(row, 6)?,
                generated: field(row, 7)?,
                readonly: false,
                numbered: field(row, 8)?,
                defaulted: field(row, 11)?,
                required: field(row, 9)?,
                hidden: false,
            });
        }
        primary.sort_unstable();
        let key = if let [(_, only)] = primary.as_slice() { Some(*only) } else { None };
        let parts: Vec<usize> = primary.iter().map(|(_, at)| *at).collect();
        let kinds: Vec<FieldType> = parts.iter().map(|at| columns[*at].holds.kind()).collect();
        let named = |at: &usize| columns[*at].holds != Holds::Other || columns[*at].is_uuid();
        let texts = parts.iter().all(named);
        let key_parts = if texts && key_parts::are_parts(&kinds) { parts } else { Vec::new() };
        let order =
            primary.iter().map(|(_, at)| ordered(&columns[*at], columns[*at].quoted())).collect();
        let sql = format!("{}.{}", quoted(&schema), quoted(&table));
        Ok(Some(TableInfo {
            name: name.to_string(),
            sql,
            schema,
            table,
            columns,
            key,
            key_parts,
            order,
            view,
        }))
    }

    /// The tables and views of rows that a program may use, by name.
    pub(crate) async fn names(connection: &PostgresConnection) -> SqlResult<Vec<String>> {
        let rows = connection.all(NAMES, &[]).await?;
        let names: Vec<String> = rows.iter().map(|row| field(row, 0)).collect::<SqlResult<_>>()?;
        let mut stores = Vec::new();
        for name in layout::candidates(&names) {
            let info = TableInfo::read(connection, &name).await?;
            let is_store = |info: &TableInfo| info.key_value_role() == Some(TableRole::Keys);
            stores.extend(info.filter(is_store).map(|_| name));
        }
        Ok(layout::without_stores(names, &stores))
    }
}
