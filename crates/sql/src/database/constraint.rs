//! What a class says of the values of a column, as constraints of the table: then they bind other
//! programs, too.
//!
//! A constraint never refuses what the class admits. What SQL cannot say is left to the class:
//! patterns, the forms of texts, and the insides of lists and records.

use runnel_store::{
    ColumnNames, ContractKind, ContractType, Error, Field, FieldType, Shape, Value, pointer_of,
};

/// A dialect of SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    Sqlite,
    Postgres,
}

/// The name of the constraint of a column.
pub(crate) fn check_name(table: &str, field: &str) -> String {
    format!("{table}_{field}_check")
}

/// The condition that the values of a column meet; `column` is its name in quotes.
pub(crate) fn check(
    shape: &Shape,
    field: &Field,
    column: &str,
    dialect: Dialect,
) -> Option<String> {
    let limits = shape
        .declared(&field.name)
        .filter(|_| field.references.is_none())
        .and_then(|declared| condition(&declared.kind, column, dialect));
    let json = field.kind == FieldType::Json && dialect == Dialect::Sqlite;
    let parts: Vec<String> =
        json.then(|| format!("json_valid({column})")).into_iter().chain(limits).collect();
    (!parts.is_empty()).then(|| parts.join(" AND "))
}

fn condition(declared: &ContractType, column: &str, dialect: Dialect) -> Option<String> {
    let sqlite = dialect == Dialect::Sqlite;
    let measured = match &declared.kind {
        ContractKind::Enumeration(texts) => {
            let texts: Vec<String> = texts.iter().map(|text| literal(text, dialect)).collect();
            return Some(format!("{column} IN ({})", texts.join(", ")));
        }
        ContractKind::Plain(FieldType::Int | FieldType::Float) => column.to_string(),
        // Rounding to the nearest float keeps the order, so nothing that is within the range leaves it.
        ContractKind::Plain(FieldType::Decimal) if sqlite => format!("CAST({column} AS REAL)"),
        ContractKind::Plain(FieldType::Decimal) => column.to_string(),
        ContractKind::Plain(FieldType::Text) | ContractKind::Form(_) if sqlite => {
            format!("length({column})")
        }
        ContractKind::Plain(FieldType::Text) | ContractKind::Form(_) => {
            format!("char_length({column})")
        }
        ContractKind::Plain(FieldType::Bytes) if sqlite => format!("length({column})"),
        ContractKind::Plain(FieldType::Bytes) => format!("octet_length({column})"),
        ContractKind::List(_) if sqlite => format!("json_array_length({column})"),
        ContractKind::List(_) => format!("jsonb_array_length({column})"),
        _ => return None,
    };
    // SQLite's `length` of a text ends at a NUL, so it is no least length.
    let is_text =
        matches!(declared.kind, ContractKind::Plain(FieldType::Text) | ContractKind::Form(_));
    let least = declared.least.as_ref().map(|end| match sqlite && is_text {
        true => format!("({measured} >= {} OR instr({column}, char(0)) > 0)", end.text),
        false => format!("{measured} >= {}", end.text),
    });
    let most = declared.most.as_ref().map(|end| format!("{measured} <= {}", end.text));
    let ends: Vec<String> = least.into_iter().chain(most).collect();
    (!ends.is_empty()).then(|| ends.join(" AND "))
}

/// The constant that a column gets where a row leaves it out.
pub(crate) fn default(shape: &Shape, field: &Field, dialect: Dialect) -> Option<String> {
    match (shape.declared(&field.name)?.default.as_ref()?, field.kind) {
        (Value::Bool(flag), FieldType::Bool) if dialect == Dialect::Sqlite => {
            Some(i64::from(*flag).to_string())
        }
        (Value::Bool(flag), FieldType::Bool) => Some(flag.to_string()),
        (Value::Int(number), FieldType::Int | FieldType::Float) => Some(number.to_string()),
        (Value::Float(number), FieldType::Float) if number.is_finite() => Some(number.to_string()),
        (Value::Float(number), FieldType::Int) if number.fract() == 0.0 => {
            Some(format!("{number:.0}"))
        }
        (Value::Text(text), FieldType::Text | FieldType::Decimal) if !text.contains('\0') => {
            Some(literal(text, dialect))
        }
        (Value::Int(number), FieldType::Decimal) => Some(literal(&number.to_string(), dialect)),
        _ => None,
    }
}

/// What makes a UUID of version 4 (RFC 9562) for a row that has none.
pub(crate) fn uuid(dialect: Dialect) -> &'static str {
    match dialect {
        // The third group begins with the version, the fourth with the variant.
        Dialect::Sqlite => {
            "(lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || \
             substr(hex(randomblob(2)), 2) || '-' || substr('89ab', 1 + (random() & 3), 1) || \
             substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))))"
        }
        Dialect::Postgres => "gen_random_uuid()",
    }
}

/// A text in single quotes, where a statement takes no parameters.
pub(crate) fn literal(text: &str, dialect: Dialect) -> String {
    let text = text.replace('\'', "''");
    match dialect {
        // An E-string, so that backslashes mean the same whatever the settings of the database.
        Dialect::Postgres if text.contains('\\') => format!("E'{}'", text.replace('\\', "\\\\")),
        _ => format!("'{text}'"),
    }
}

/// Says in the words of the class which of its rules a constraint of the table has found broken.
pub(crate) fn explain(shape: Option<&Shape>, table: &str, error: Error) -> Error {
    let error = match shape.map(Shape::column_names) {
        Some(names) if !names.is_empty() => with_variables(&names, error),
        _ => error,
    };
    let Some(shape) = shape.filter(|_| error.message.ends_with("does not hold")) else {
        return error;
    };
    let table = table.rsplit('.').next().unwrap_or(table);
    let broken = |field: &&Field| {
        error.message.contains(&format!(": {} does", check_name(table, field.column())))
    };
    let Some(field) = shape.fields.iter().find(broken) else { return error };
    let Some(declared) = shape.declared(&field.name) else { return error };
    let message = format!("is {}", declared.kind.words());
    let mut explained =
        Error { message: format!("{} of {} {message}", field.name, shape.name), ..error };
    let pointer = pointer_of(&field.name);
    explained.fields = vec![runnel_store::FieldProblem { pointer, message }];
    explained
}

/// An error of the database that names columns, with the names of their variables.
fn with_variables(names: &ColumnNames, mut error: Error) -> Error {
    let variable = |column: &str| {
        let found = names.iter().find(|(_, known)| known.eq_ignore_ascii_case(column));
        found.map_or(column.to_string(), |(name, _)| name.clone())
    };
    let worded = |message: &str| {
        let variables =
            |columns: &str| columns.split(" and ").map(variable).collect::<Vec<_>>().join(" and ");
        if let Some((start, columns)) = message.split_once(SAME) {
            return Some(format!("{start}{SAME}{}", variables(columns)));
        }
        let columns = message.strip_suffix(MISSING)?;
        Some(format!("{}{MISSING}", variables(columns)))
    };
    let Some(message) = worded(&error.message) else { return error };
    error.message = message;
    for problem in &mut error.fields {
        if let Some(message) = worded(&problem.message) {
            problem.message = message;
        }
        let named = |(_, column): &&(String, String)| pointer_of(column) == problem.pointer;
        if let Some((name, _)) = names.iter().find(named) {
            problem.pointer = pointer_of(name);
        }
    }
    error
}

/// What stands before the columns of an error about two rows that have the same.
const SAME: &str = "another row has the same ";

/// What stands behind the columns of an error about a row without a value.
const MISSING: &str = " must have a value";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::fault::SqlFault;
    use runnel_store::Kind;
    use rusqlite::Connection;

    #[test]
    fn uuids_of_sqlite_are_of_version_4() {
        let connection = Connection::open_in_memory().unwrap();
        let sql = format!("SELECT {}", uuid(Dialect::Sqlite));
        for _ in 0..200 {
            let uuid: String = connection.query_row(&sql, [], |row| row.get(0)).unwrap();
            assert!(runnel_store::TextForm::Uuid.admits(&uuid), "{uuid}");
            assert_eq!((&uuid[14..15], uuid.to_lowercase()), ("4", uuid.clone()));
            assert!("89ab".contains(&uuid[19..20]), "{uuid}");
        }
    }

    #[test]
    fn errors_name_variables() {
        let mut shape = Shape::new("Task", vec![Field::new("title", FieldType::Text)]);
        shape.fields[0].column = Some("task_title".into());
        let explained = |message: &str| {
            let fault = SqlFault::new(Kind::Conflict, message).of_field("task_title", message);
            let error = explain(Some(&shape), "tasks", Error::from(fault));
            assert_eq!(error.fields[0].pointer, "/title");
            assert_eq!(error.fields[0].message, error.message);
            error.message
        };
        let same = explained("another row has the same task_title and owner");
        assert_eq!(same, "another row has the same title and owner");
        assert_eq!(explained("task_title must have a value"), "title must have a value");
    }

    #[test]
    fn literals_end_where_they_end() {
        assert_eq!(literal("it's", Dialect::Sqlite), "'it''s'");
        assert_eq!(literal("a\\'b", Dialect::Sqlite), "'a\\''b'");
        assert_eq!(literal("a\\'b", Dialect::Postgres), "E'a\\\\''b'");
    }
}
