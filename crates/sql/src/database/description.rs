//! The description of a table, and the checks of records and classes that need nothing else.

use crate::database::schema::word;
use crate::fault::{COMPUTED_FIELD, SqlFault, SqlResult, UNKNOWN_FIELD};
use runnel_store::{ColumnNames, Field, FieldType, Kind, Shape, Value, decode_segment};
use std::borrow::Cow;

/// One column of a table, in any database system.
pub(crate) trait TableColumn {
    /// The name that programs use: that of the variable.
    fn name(&self) -> &str;

    /// The name that the database uses.
    fn column(&self) -> &str;

    /// Gives it another name for programs.
    fn rename(&mut self, name: String);

    /// Its name as it stands in statements.
    fn quoted(&self) -> String {
        quoted(self.column())
    }

    /// Whether the database computes it, so that nothing can be stored in it.
    fn is_generated(&self) -> bool;

    /// Whether rows show it; only the key may be hidden.
    fn is_shown(&self) -> bool;

    /// Whether values of a declared type come back from the column as they were.
    fn preserves(&self, kind: FieldType) -> bool;

    /// What it holds, in messages.
    fn holds(&self) -> &str;
}

/// The error that a table has no such column.
pub(crate) fn unknown_column<'a>(
    table: &str,
    name: &str,
    columns: impl Iterator<Item = &'a str>,
) -> SqlFault {
    let columns = columns.collect::<Vec<_>>().join(", ");
    SqlFault::invalid(format!("{table} has no column '{name}'; its columns are {columns}"))
}

/// A name in double quotes. The only way by which names reach a statement.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

/// A table or view as the database describes it.
pub(crate) trait TableDescription {
    type Column: TableColumn;

    fn name(&self) -> &str;

    fn columns(&self) -> &[Self::Column];

    /// Changes each of its columns, wherever the description holds one.
    fn each_column(&mut self, change: &dyn Fn(&mut Self::Column));

    /// The table as the database describes it, with the names of a class for its columns. A column that has
    /// the name of a variable of another column keeps no name that a class has.
    fn named(&self, names: &ColumnNames) -> Cow<'_, Self>
    where
        Self: Clone,
    {
        if names.is_empty() {
            return Cow::Borrowed(self);
        }
        let found = |(name, column): &(String, String)| {
            Some((self.columns()[self.position(column)?].column().to_string(), name.clone()))
        };
        let found: Vec<(String, String)> = names.iter().filter_map(found).collect();
        let mut table = self.clone();
        table.each_column(&|column| {
            let own = column.column().to_string();
            if let Some((_, name)) = found.iter().find(|(known, _)| *known == own) {
                column.rename(name.clone());
            } else if names.iter().any(|(name, _)| name.eq_ignore_ascii_case(&own)) {
                column.rename(format!("{own} (column)"));
            }
        });
        Cow::Owned(table)
    }

    /// Its name as it stands in statements.
    fn source(&self) -> String;

    fn is_view(&self) -> bool;

    /// The columns of the key by which rows are addressed, in its order.
    fn key_positions(&self) -> Vec<usize>;

    /// Whether a value is left out of an insertion, so that the database generates it.
    fn is_left_out(&self, _position: usize, _value: &Value) -> bool {
        false
    }

    /// The position of a column. Names may differ in case, where no other column has the exact name.
    fn position(&self, name: &str) -> Option<usize> {
        let columns = self.columns();
        let exact = columns.iter().position(|column| column.name() == name);
        let alike = || columns.iter().position(|column| column.name().eq_ignore_ascii_case(name));
        exact.or_else(alike)
    }

    /// The position of a column, or an error that lists the columns.
    fn find(&self, name: &str) -> SqlResult<usize> {
        self.position(name).ok_or_else(|| {
            let shown = self.columns().iter().filter(|column| column.is_shown());
            unknown_column(self.name(), name, shown.map(TableColumn::name))
        })
    }

    /// The column of a name, or an error that lists the columns.
    fn column(&self, name: &str) -> SqlResult<&Self::Column> {
        self.find(name).map(|position| &self.columns()[position])
    }

    /// The columns of names, each once and none that is computed.
    fn positions<'a>(&self, names: impl Iterator<Item = &'a str>) -> SqlResult<Vec<usize>> {
        let mut positions = Vec::new();
        for name in names {
            let unknown = |fault: SqlFault| fault.of_field(name, UNKNOWN_FIELD);
            let position = self.find(name).map_err(unknown)?;
            if self.columns()[position].is_generated() {
                let message = format!("{name} is computed from other columns and cannot be stored");
                return Err(SqlFault::invalid(message).of_field(name, COMPUTED_FIELD));
            }
            if positions.contains(&position) {
                return Err(SqlFault::invalid(format!("{name} comes twice in the record")));
            }
            positions.push(position);
        }
        Ok(positions)
    }

    /// The fault of a table whose rows have no key.
    fn no_key(&self) -> SqlFault {
        let name = self.name();
        let message = format!("the rows of {name} have no key to be addressed by");
        SqlFault::new(Kind::NotAllowed, message)
    }

    /// The fault of listing a table whose keys are paths.
    fn no_list(&self) -> SqlFault {
        let name = self.name();
        let message = format!("the rows of {name} have a key of several columns; query it instead");
        SqlFault::new(Kind::NotAllowed, message)
    }

    /// The fault of a path that names no row.
    fn not_a_key(&self, path: &str) -> SqlFault {
        let (path, name, keys) = (decode_segment(path), self.name(), self.key_positions());
        let parts = match keys.as_slice() {
            [_, _, ..] => {
                let names = keys.iter().map(|at| self.columns()[*at].name());
                format!(", which is made of {}", names.collect::<Vec<_>>().join(" and "))
            }
            _ => String::new(),
        };
        SqlFault::invalid(format!("'{path}' cannot be the key of a row of {name}{parts}"))
    }

    /// The fields of a class that an existing table has no column for. Contradictions are conflicts.
    fn missing<'a>(&self, shape: &'a Shape) -> SqlResult<Vec<&'a Field>> {
        let conflict = |message: String| Err(SqlFault::new(Kind::Conflict, message));
        let (class, name) = (&shape.name, self.name());
        let mut missing = Vec::new();
        for field in &shape.fields {
            let Some(position) = self.position(&field.name) else {
                if self.is_view() {
                    return conflict(format!(
                        "{name} is a view and has no column {}",
                        field.column()
                    ));
                }
                if shape.keys.contains(&field.name) {
                    return conflict(format!(
                        "the table {name} exists without the column {}, and a primary key cannot \
                         be added; name another table for {class}",
                        field.column()
                    ));
                }
                missing.push(field);
                continue;
            };
            let column = &self.columns()[position];
            if !column.preserves(field.kind) {
                return conflict(format!(
                    "{class} declares {} as {}, but the column {} of the table {name} holds {}; \
                     write the change as a migration",
                    field.name,
                    word(field.kind),
                    column.column(),
                    column.holds()
                ));
            }
        }
        self.check_key(shape)?;
        Ok(missing)
    }

    /// Refuses a table whose key is not that of its class.
    fn check_key(&self, shape: &Shape) -> SqlResult<()> {
        let same = shape.keys.iter().map(|name| self.position(name)).collect::<Option<Vec<_>>>();
        let (mut own, mut wanted) = (self.key_positions(), same.unwrap_or_default());
        own.sort_unstable();
        wanted.sort_unstable();
        if shape.keys.is_empty() || self.is_view() || own == wanted {
            return Ok(());
        }
        let (name, class) = (self.name(), &shape.name);
        let columns: Vec<&str> = shape.keys.iter().map(|key| shape.column_of(key)).collect();
        let keys = columns.join(" and ");
        let mut message = match columns.as_slice() {
            [key] => format!("the column {key} of the table {name} is not its primary key"),
            _ => format!("the columns {keys} of the table {name} are not its primary key"),
        };
        message.push_str(&format!(
            ", as {class} says; make the table anew in a migration: create one with the key, copy \
             the rows, drop the old one and rename"
        ));
        Err(SqlFault::new(Kind::Conflict, message))
    }
}

/// The fault of a value that should be a record.
pub(crate) fn no_record(value: &Value) -> SqlFault {
    let message = format!("a row is made of a record, and this is {}", value.kind_name());
    SqlFault::new(Kind::Unsupported, message)
}

/// Removes a column of the key from the values of a row. It has to be that of the reference, or null.
pub(crate) fn remove_key<V: PartialEq>(
    at: Option<usize>,
    name: &str,
    key: &V,
    null: &V,
    row: (&mut Vec<usize>, &mut Vec<V>),
) -> SqlResult<()> {
    let (columns, values) = row;
    let place = columns.iter().position(|position| Some(*position) == at);
    let Some(place) = place else { return Ok(()) };
    if values[place] != *key && values[place] != *null {
        let message = format!(
            "the {name} of the record is not that of the reference; a row keeps its {name}"
        );
        return Err(SqlFault::invalid(message).of_field(name, "is not that of the path"));
    }
    columns.remove(place);
    values.remove(place);
    Ok(())
}

/// The fault of a change of a row that does not exist, by its key.
pub(crate) fn no_row<T: TableDescription>(table: &T, keys: &[usize], fields: &[Value]) -> SqlFault {
    let part = |(at, value): (&usize, &Value)| {
        let name = table.columns()[*at].name();
        match value {
            Value::Int(number) => format!("{name} {number}"),
            Value::Text(text) => format!("{name} {text}"),
            _ => name.to_string(),
        }
    };
    let (table, parts) = (table.name(), keys.iter().zip(fields).map(part).collect::<Vec<_>>());
    let parts = parts.join(" and ");
    SqlFault::new(Kind::NotFound, format!("{table} has no row with the {parts}"))
}

/// Refuses changes without the columns of the key.
pub(crate) fn refuse_keyless<T: TableDescription>(
    table: &T,
    group: &RecordGroup,
    keys: &[usize],
) -> SqlResult<()> {
    let Some(key) = keys.iter().find(|key| !group.columns.contains(key)) else { return Ok(()) };
    let name = table.columns()[*key].name();
    let message = format!("record {}: it has no {name}, which names its row", group.from + 1);
    Err(SqlFault::invalid(message))
}

/// Consecutive records with the same columns.
#[derive(Debug)]
pub(crate) struct RecordGroup {
    /// The positions of the columns that are stored.
    pub(crate) columns: Vec<usize>,
    /// The position of the first record.
    pub(crate) from: usize,
    pub(crate) count: usize,
}

/// Checks a list of records and groups them. Errors have the number of the record, from 1.
pub(crate) fn record_groups<T: TableDescription>(
    table: &T,
    records: &[Value],
    check: impl Fn(usize, &Value) -> SqlResult<()>,
) -> SqlResult<Vec<RecordGroup>> {
    let mut groups: Vec<RecordGroup> = Vec::new();
    let (mut known, mut positions): (&[(String, Value)], Vec<usize>) = (&[], Vec::new());
    for (from, value) in records.iter().enumerate() {
        let numbered = |fault: SqlFault| SqlFault {
            message: format!("record {}: {}", from + 1, fault.message),
            ..fault
        };
        let fields = value.as_record().ok_or_else(|| numbered(no_record(value)))?;
        if fields.is_empty() {
            return Err(numbered(SqlFault::invalid("an empty record in a list of them")));
        }
        // Records of one kind come together: looking the columns up once is enough.
        let is_same = fields.len() == known.len()
            && fields.iter().zip(known).zip(&positions).all(|((field, known), at)| {
                field.0 == known.0
                    && table.is_left_out(*at, &field.1) == table.is_left_out(*at, &known.1)
            });
        match groups.last_mut() {
            Some(group) if is_same => group.count += 1,
            _ => {
                let names = fields.iter().map(|(name, _)| name.as_str());
                positions = table.positions(names).map_err(numbered)?;
                let stored = positions.iter().zip(fields);
                let stored = stored.filter(|(at, (_, value))| !table.is_left_out(**at, value));
                let columns = stored.map(|(at, _)| *at).collect();
                groups.push(RecordGroup { columns, from, count: 1 });
                known = fields;
            }
        }
        for (at, (_, value)) in positions.iter().zip(fields) {
            if !table.is_left_out(*at, value) {
                check(*at, value).map_err(numbered)?;
            }
        }
    }
    Ok(groups)
}
