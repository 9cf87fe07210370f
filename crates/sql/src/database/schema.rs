//! Shapes of classes as tables: names, keys and the words for types.

use crate::fault::{SqlFault, SqlResult};
use runnel_store::{FieldType, Shape};

/// The table that remembers which steps of migrations were applied.
pub(crate) const MIGRATIONS: &str = "runnel_migrations";

/// The name of a class's table: its plural in lower case, by the usual rules of English spelling.
pub(crate) fn table_name(class: &str) -> String {
    let name = class.to_lowercase();
    let vowel_before_y = ["ay", "ey", "iy", "oy", "uy"].iter().any(|end| name.ends_with(end));
    if let Some(stem) = name.strip_suffix('y')
        && !vowel_before_y
    {
        return format!("{stem}ies");
    }
    let hisses = ["s", "x", "z", "ch", "sh"].iter().any(|end| name.ends_with(end));
    if hisses { format!("{name}es") } else { format!("{name}s") }
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
        if field.name.is_empty() || field.name.contains('\0') {
            return Err(SqlFault::invalid("a column needs a name without NUL characters"));
        }
        let twin = |other: &runnel_store::Field| other.name.eq_ignore_ascii_case(&field.name);
        if shape.fields[..index].iter().any(twin) {
            let message = format!(
                "the column {} would come twice (upper and lower case are the same in SQL)",
                field.name
            );
            return Err(SqlFault::invalid(message));
        }
    }
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

/// Whether a field is the primary key that a table numbers by itself.
pub(crate) fn is_key(name: &str, kind: FieldType) -> bool {
    name == "id" && kind == FieldType::Int
}

/// Whether a field is a primary key that the program or a client chooses.
pub(crate) fn is_text_key(name: &str, kind: FieldType) -> bool {
    name == "id" && kind == FieldType::Text
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
