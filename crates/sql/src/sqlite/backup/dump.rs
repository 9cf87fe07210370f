//! The rows of tables as text: one snapshot of all of them.

use crate::database::description::TableColumn;
use crate::database::schema::MIGRATIONS;
use crate::rows::dump::{DumpColumns, DumpWriter};
use crate::sqlite::connection::cell::read;
use crate::sqlite::fault::{SqlFault, SqlResult};
use crate::sqlite::read::pool::CHUNK;
use crate::sqlite::schema::catalog::{ColumnInfo, TableInfo, quoted, shown_as};
use crate::sqlite::write::shared::SharedDatabase;
use bytes::Bytes;
use runnel_store::{ByteStream, Context, Kind};
use rusqlite::Connection;

/// What takes the text, piece by piece.
type TextSink<'a> = &'a mut dyn FnMut(Bytes) -> SqlResult<()>;

/// The rows of these tables, or of all.
pub(crate) fn dump(shared: &SharedDatabase, tables: Vec<String>, context: &Context) -> ByteStream {
    shared.pool.clone().stream(context.deadline, move |connection, pass| {
        // While this statement has not come to its end, all others belong to the same transaction.
        let mut hold = connection.prepare("SELECT 1 FROM sqlite_schema")?;
        let mut held = hold.query([])?;
        let _ = held.next()?;
        let names = if tables.is_empty() { all(connection)? } else { tables };
        let (mut writer, mut out) = (DumpWriter::default(), Vec::with_capacity(2 * CHUNK));
        for name in names {
            table(connection, &name, &mut writer, &mut out, pass)?;
        }
        writer.end(&mut out);
        pass(out.into())
    })
}

/// All tables with rows of programs, and no views. Those of key-value stores are content by key, not
/// rows; what was migrated is known by the migrations.
fn all(connection: &Connection) -> SqlResult<Vec<String>> {
    let mut statement = connection.prepare(
        "SELECT name FROM pragma_table_list \
         WHERE schema = 'main' AND type = 'table' AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' \
         AND name <> ?1 ORDER BY name",
    )?;
    let names: Vec<String> =
        statement.query_map([MIGRATIONS], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut rows = Vec::new();
    for name in names {
        let info = TableInfo::read(connection, &name)?;
        if info.is_some_and(|info| info.refuse_key_value().is_ok()) {
            rows.push(name);
        }
    }
    Ok(rows)
}

fn table(
    connection: &Connection,
    name: &str,
    writer: &mut DumpWriter,
    out: &mut Vec<u8>,
    pass: TextSink<'_>,
) -> SqlResult<()> {
    let missing = || SqlFault::new(Kind::NotFound, format!("there is no table {name}"));
    let info = TableInfo::read(connection, name)?.ok_or_else(missing)?;
    info.refuse_key_value()?;
    let columns: Vec<&ColumnInfo> = info.columns.iter().filter(|one| !one.generated).collect();
    let described: DumpColumns =
        columns.iter().map(|column| (column.name.clone(), column.kind)).collect();
    writer.table(&info.name, &described, out);
    let names: Vec<String> = columns.iter().map(|column| column.quoted()).collect();
    let order = match info.order.is_empty() {
        true => String::new(),
        false => format!(" ORDER BY {}", info.order.join(", ")),
    };
    let sql = format!("SELECT {} FROM {}{order}", names.join(", "), quoted(&info.name));
    let mut statement = connection.prepare(&sql)?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let values = columns.iter().enumerate().map(|(index, column)| {
            Ok::<_, SqlFault>(read(row.get_ref(index)?, shown_as(column.kind)))
        });
        writer.row(&info.name, values, out)?;
        if out.len() >= CHUNK {
            pass(std::mem::take(out).into())?;
        }
    }
    Ok(())
}
