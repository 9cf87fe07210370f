//! Shapes of classes as tables: names, keys and the words for types.

use crate::fault::{SqlFault, SqlResult};
use runnel_store::{Field, FieldType, ForeignKey, OnDelete, Shape, table_name};

/// The table that remembers which steps of migrations were applied.
pub(crate) const MIGRATIONS: &str = "runnel_migrations";

/// The name of the table of a class: what the class says, or its plural.
pub(crate) fn name_of(shape: &Shape) -> String {
    shape.table.clone().unwrap_or_else(|| table_name(&shape.name))
}

/// The name of the table that a foreign key leads to.
pub(crate) fn referred_table(key: &ForeignKey) -> String {
    key.table.clone().unwrap_or_else(|| table_name(&key.class))
}

/// What a foreign key does when the row that it leads to is deleted, as SQL says it.
pub(crate) fn on_delete(key: &ForeignKey) -> &'static str {
    match key.on_delete {
        OnDelete::Restrict => "",
        OnDelete::Cascade => " ON DELETE CASCADE",
        OnDelete::Nullify => " ON DELETE SET NULL",
    }
}

/// Checks that a shape can be a table at all.
pub(crate) fn check(name: &str, shape: &Shape) -> SqlResult<()> {
    if name.is_empty() || name.contains(['/', '\0']) {
        return Err(SqlFault::invalid("the name of a table has at least one character and no '/'"));
    }
    if shape.fields.is_empty() {
        let class = &shape.name;
        return Err(SqlFault::invalid(format!(
            "the class {class} has no variables; a table needs at least one column"
        )));
    }
    for (index, field) in shape.fields.iter().enumerate() {
        if field.column().is_empty() || field.name.is_empty() || field.name.contains('\0') {
            return Err(SqlFault::invalid("a column needs a name without NUL characters"));
        }
        if field.column().contains('\0') {
            return Err(SqlFault::invalid("a column needs a name without NUL characters"));
        }
        let alike = |other: &Field| other.name.eq_ignore_ascii_case(&field.name);
        let twin = |other: &&Field| other.column().eq_ignore_ascii_case(field.column());
        if let Some(other) = shape.fields[..index].iter().find(twin)
            && !alike(other)
        {
            return Err(SqlFault::invalid(format!(
                "{} and {} of {} would have the same column {} (upper and lower case are the same in SQL); give one \
                 of them another name in columnNames",
                other.name,
                field.name,
                shape.name,
                field.column()
            )));
        }
        if shape.fields[..index].iter().any(alike) {
            let message = format!(
                "the column {} would come twice (upper and lower case are the same in SQL)",
                field.name
            );
            return Err(SqlFault::invalid(message));
        }
    }
    shape.fields.iter().try_for_each(|field| check_key(shape, field))?;
    check_full_text(shape)?;
    for index in &shape.indexes {
        let known = |name: &String| shape.fields.iter().any(|field| field.name == *name);
        if let Some(unknown) = index.fields.iter().find(|name| !known(name)) {
            let class = &shape.name;
            let message = format!("the class {class} has no field {unknown} to index");
            return Err(SqlFault::invalid(message));
        }
        if index.fields.is_empty() {
            return Err(SqlFault::invalid("an index needs a field"));
        }
    }
    Ok(())
}

/// Checks what a class says of its search.
fn check_full_text(shape: &Shape) -> SqlResult<()> {
    let class = &shape.name;
    let kind = |name: &String| {
        shape.fields.iter().find(|field| field.name == *name).map(|field| field.kind)
    };
    for name in &shape.full_text {
        let holds = match kind(name) {
            Some(FieldType::Text) if !shape.is_uuid(name) => continue,
            Some(FieldType::Text) => "a UUID",
            Some(kind) => word(kind),
            None => "no variable of it",
        };
        let message = format!("fullText of {class} names {name}, which is {holds}, not text");
        return Err(SqlFault::invalid(message));
    }
    let fits = matches!(shape.keys.as_slice(), [key] if kind(key) == Some(FieldType::Int));
    if !shape.full_text.is_empty() && !fits {
        let message =
            format!("fullText of {class} needs a key that is one integer; declare var <int> id");
        return Err(SqlFault::invalid(message));
    }
    Ok(())
}

/// Refuses keys that references cannot name, and foreign keys that contradict themselves.
fn check_key(shape: &Shape, field: &Field) -> SqlResult<()> {
    let (class, name) = (&shape.name, &field.name);
    if shape.keys.contains(name) && !can_be_key(field.kind) {
        return Err(SqlFault::invalid(format!(
            "{name} of {class} is {}, which cannot be in a key; a key has integers and texts",
            word(field.kind)
        )));
    }
    let nullified = field.references.as_ref().is_some_and(|key| key.on_delete == OnDelete::Nullify);
    if nullified && (field.required || shape.keys.contains(name)) {
        return Err(SqlFault::invalid(format!(
            "{name} of {class} cannot become nil, so it cannot be `nullify`; `cascade` deletes the \
             rows that refer to a deleted one"
        )));
    }
    Ok(())
}

/// Whether columns of a type can be the key of a row, or a part of it.
pub(crate) fn can_be_key(kind: FieldType) -> bool {
    matches!(kind, FieldType::Int | FieldType::Text)
}

/// Whether a field is the primary key that a table numbers by itself.
pub(crate) fn is_numbered(shape: &Shape, field: &Field) -> bool {
    field.kind == FieldType::Int && shape.generated_key() == Some(field.name.as_str())
}

/// Whether a field is the primary key by itself.
pub(crate) fn is_whole_key(shape: &Shape, field: &Field) -> bool {
    shape.keys.as_slice() == std::slice::from_ref(&field.name)
}

/// The statement that gives rows without a value one, or a comment that asks for it; `table` and
/// `column` are in quotes.
pub(crate) fn filling(
    table: &str,
    column: &str,
    name: &str,
    default: Option<&str>,
    rows: i64,
) -> Option<String> {
    let count = if rows == 1 { "1 row has".to_string() } else { format!("{rows} rows have") };
    match default {
        _ if rows == 0 => None,
        Some(default) => {
            Some(format!("UPDATE {table} SET {column} = {default} WHERE {column} IS NULL"))
        }
        None => Some(format!(
            "-- {count} no {name}: UPDATE {table} SET {column} = … WHERE {column} IS NULL"
        )),
    }
}

/// A type in words.
pub(crate) fn word(kind: FieldType) -> &'static str {
    match kind {
        FieldType::Any => "anything",
        FieldType::Int => "an integer",
        FieldType::Float => "a float",
        FieldType::Bool => "a boolean",
        FieldType::Text => "text",
        FieldType::Bytes => "bytes",
        FieldType::Decimal => "a decimal number",
        FieldType::Date => "a date",
        FieldType::Json => "a list or a record",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals() {
        for (class, table) in [
            ("Task", "tasks"),
            ("Category", "categories"),
            ("Day", "days"),
            ("Address", "addresses"),
            ("Box", "boxes"),
            ("Batch", "batches"),
            ("UserProfile", "userprofiles"),
        ] {
            assert_eq!(table_name(class), table);
        }
    }
}
