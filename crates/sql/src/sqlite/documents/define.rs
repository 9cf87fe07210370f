//! Which stores and classes can be a table of documents.

use crate::database::schema::{check, name_of};
use crate::database::table::SqlTable;
use crate::sqlite::documents::folder::DocumentFolder;
use crate::sqlite::documents::rows::{DocumentRows, DocumentTable};
use runnel_store::{Conditions, Error, Kind, Reference, Result, Shape, Store, Verb};
use std::rc::Rc;

/// The table of a class in a store that is no database: a row is the JSON document `KEY.json` below the
/// reference, or below the plural of the class where that is the root of the store.
///
/// # Errors
/// [`Kind::NotAllowed`] for a store without listings or without writes under the condition of an entity
/// tag; [`Kind::Invalid`] for a class that needs what documents lack.
pub fn document_table(
    source: &Rc<dyn Store>,
    reference: &Reference,
    shape: &Shape,
) -> Result<DocumentTable> {
    define(source, reference, shape).map_err(|error| error.on(Verb::Define, reference))
}

fn define(source: &Rc<dyn Store>, reference: &Reference, shape: &Shape) -> Result<DocumentTable> {
    let path = reference.path().trim_end_matches('/');
    let place = match path.trim_start_matches('/') {
        "" => reference.with_path(name_of(shape)),
        _ => reference.with_path(path),
    };
    let name = place.name().unwrap_or_default().to_string();
    check(&name, shape)?;
    check_class(shape)?;
    let folder = DocumentFolder::new(source.clone(), place);
    check_store(&folder)?;
    let rows = DocumentRows::new(folder, name.clone(), shape)?;
    Ok(SqlTable::new(rows, name, Some(shape.clone())))
}

/// Refuses a class that promises what documents cannot keep.
fn check_class(shape: &Shape) -> Result<()> {
    let class = &shape.name;
    let refuse = |message: String| Err(Error::new(Kind::Invalid, message));
    if shape.keys.is_empty() {
        return refuse(format!(
            "{class} has no key, and a row that is a document needs one: declare `var <int> id.`"
        ));
    }
    if let Some(field) = shape.fields.iter().find(|field| field.column.is_some()) {
        return refuse(format!(
            "{class} gives {} another column, and rows that are documents have no columns: column names belong to a \
             database; remove it from columnNames, or keep the table in SQLite or PostgreSQL",
            field.name
        ));
    }
    if let Some(field) = shape.fields.iter().find(|field| field.references.is_some()) {
        let name = &field.name;
        return refuse(format!(
            "{name} of {class} refers to rows of another table, which only SQLite and PostgreSQL keep; declare \
             it as the key, such as `var <int> {name}.`, or keep the table there"
        ));
    }
    Ok(())
}

/// Refuses a store in which changes could be lost, or rows not found.
fn check_store(folder: &DocumentFolder) -> Result<()> {
    let (source, document) = (folder.source(), folder.document("1"));
    let verbs = source.verbs(&document);
    let lacking = [Verb::Get, Verb::Put, Verb::Delete].into_iter().find(|verb| !verbs.has(*verb));
    let lists = source.verbs(folder.place()).has(Verb::List);
    let refuse = |what: &str| {
        let message = format!("no table can be here: this store {what}");
        Err(Error::new(Kind::NotAllowed, message))
    };
    match lacking {
        Some(verb) => refuse(&format!("does not {}", verb.name())),
        None if !lists => refuse("does not list"),
        None if source.conditions(&document) != Conditions::Tags => {
            refuse("cannot compare entity tags when it writes, so that changes would be lost")
        }
        None => Ok(()),
    }
}
