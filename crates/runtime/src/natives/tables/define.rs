//! Collections of a class: the shape that a store makes a table of.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use crate::natives::stores::{any_store, reference_at};
use runnel_store::{
    Answer, Contract, Error, Field, FieldType, ForeignKey, Index, Kind, LARGEST_PAGE, Migration,
    MigrationAct, MigrationStep, OnDelete, Reference, ServedLimits, Shape, Value, Verb,
};
use std::sync::Arc;

pub(crate) const NATIVES: [(&str, Native); 7] = [
    ("define", define),
    ("differences", differences),
    ("keyValueAt", key_value_at),
    ("keyValueStore", key_value_store),
    ("migrate", migrate),
    ("fieldType", field_type),
    ("tableName", table_name),
];

/// `(store, path, scheme or nil, class name, fields, indexes, contract, keys, table, served)`: a field is a list of
/// its name, its type, whether it is required and whether it is readonly, and its column (or an empty text); where
/// it refers to a class, also of that class, its table (or an empty text) and what a deletion does. An index is a
/// list of whether it is unique and its fields; with `fullText` in the place of the flag, of the fields whose words
/// are searched. `table` is an empty text where the class names none. `served` is a list of what the class says of
/// requests of clients, each nil where it says nothing: the largest page, the fields they may filter by, and those
/// they may sort by.
fn shape_of(isolate: &Isolate, arguments: Arguments) -> Result<Shape, Error> {
    let fields = lists(arguments.value(isolate, 5)?)
        .into_iter()
        .map(|parts| {
            let mut parts = parts.into_iter();
            let name = parts.next().map(text).unwrap_or_default();
            let kind = parts.next().map(text).unwrap_or_default();
            let mut flag = || parts.next() == Some(Value::Bool(true));
            let (required, readonly) = (flag(), flag());
            let column =
                parts.next().map(text).filter(|column| !column.is_empty() && *column != name);
            let references = parts.next().map(|class| ForeignKey {
                class: text(class),
                table: parts.next().map(text).filter(|table| !table.is_empty()),
                on_delete: match parts.next().map(text).as_deref() {
                    Some("cascade") => OnDelete::Cascade,
                    Some("nullify") => OnDelete::Nullify,
                    _ => OnDelete::Restrict,
                },
            });
            let kind = FieldType::named(&kind).unwrap_or(FieldType::Any);
            Field { column, references, required, readonly, ..Field::new(name, kind) }
        })
        .collect();
    let mut shape = Shape::new(arguments.text(4), fields);
    for mut parts in lists(arguments.value(isolate, 6)?) {
        let fields = parts.split_off(1.min(parts.len())).into_iter().map(text).collect();
        if parts.first().and_then(Value::as_str) == Some("fullText") {
            shape.full_text = fields;
            continue;
        }
        let unique = parts.first() == Some(&Value::Bool(true));
        shape.indexes.push(Index { fields, unique });
    }
    let keys = arguments.value(isolate, 8)?;
    shape.keys = keys.as_list().unwrap_or_default().iter().cloned().map(text).collect();
    // An `id` of another type names no row; a variable that is marked as a key does, or is refused.
    let names_none = |key: &String| {
        let field = shape.fields.iter().find(|field| field.name == *key);
        let plain = |kind| matches!(kind, FieldType::Int | FieldType::Text);
        key == "id" && field.is_some_and(|field| !plain(field.kind))
    };
    shape.keys.retain(|key| !names_none(key));
    shape.table = Some(arguments.text(9)).filter(|table| !table.is_empty());
    shape.served = served_limits(arguments.value(isolate, 10)?);
    let contract = arguments.value(isolate, 7)?;
    shape.contract = (!contract.is_nil()).then(|| Arc::new(Contract::read(&contract)));
    Ok(shape)
}

fn served_limits(value: Value) -> ServedLimits {
    let Value::List(parts) = value else { return ServedLimits::default() };
    let names = |part: Option<&Value>| {
        let names = part.and_then(Value::as_list)?.iter().cloned();
        Some(names.map(text).collect())
    };
    let page = parts.first().and_then(Value::as_i64).and_then(|page| u64::try_from(page).ok());
    ServedLimits {
        largest_page: page.unwrap_or(LARGEST_PAGE),
        filterable: names(parts.get(1)),
        sortable: names(parts.get(2)),
    }
}

/// What [`shape_of`] reads: the table of the class, made or extended where it has to be. In a store that
/// is no database its rows are documents.
fn define(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let shape = attempt!(shape_of(isolate, arguments));
    let on = reference_at(arguments, 2, 3);
    let made = store.with_tables(Verb::Define, &on, |tables| tables.define(&on, &shape));
    let host = isolate.shared_host();
    let table = made.then(move |made| match made {
        Err(error) if has_no_tables(&error) => host.document_table(&store, &on, &shape).into(),
        made => made.into(),
    });
    Reply::answer(table, Given::Store)
}

/// Whether a store has no tables of its own. A database that refuses a table says why.
fn has_no_tables(error: &Error) -> bool {
    error.message == Error::not_allowed(Verb::Define, &Reference::default()).message
}

/// What [`shape_of`] reads: the statements that make the table what the class says, beyond those of
/// [`define`].
fn differences(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let shape = Some(attempt!(shape_of(isolate, arguments)));
    let migration = Migration { shape, act: MigrationAct::Compare, ..Migration::default() };
    let (on, call) = (reference_at(arguments, 2, 3), crate::natives::stores::inner_call(isolate));
    let compared =
        store.with_tables(Verb::Define, &on, |tables| tables.migrate(&on, migration, &call));
    // Documents are as their class says: they have no columns that could differ.
    let compared = compared.then(|compared| match compared {
        Err(error) if has_no_tables(&error) => Answer::ok(Vec::new()),
        compared => compared.into(),
    });
    Reply::answer(compared, Given::Names)
}

fn lists(value: Value) -> Vec<Vec<Value>> {
    let Value::List(items) = value else { return Vec::new() };
    let inner = |item| match item {
        Value::List(parts) => parts,
        single => vec![single],
    };
    items.into_iter().map(inner).collect()
}

fn text(value: Value) -> String {
    match value {
        Value::Text(text) => text,
        _ => String::new(),
    }
}

/// `(store, path, scheme or nil)`: the key-value store of the name that ends the path.
fn key_value_store(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let on = reference_at(arguments, 2, 3);
    let answer = attempt!(store.tables_for(Verb::Define, &on)).key_value_store(&on);
    Reply::answer(answer, Given::Store)
}

/// The same, or nil where the path names a table of rows, one of its rows, or the database itself.
fn key_value_at(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let on = reference_at(arguments, 2, 3);
    let answer = store.with_tables(Verb::Define, &on, |tables| tables.key_value_store(&on));
    let found = answer.then(|found| match found {
        Ok(found) => Answer::ok(Some(found)),
        Err(error) if matches!(error.kind, Kind::Conflict | Kind::Invalid) => Answer::ok(None),
        Err(error) if has_no_tables(&error) => Answer::ok(None),
        Err(error) => error.into(),
    });
    Reply::answer(found, |found| found.map_or(Given::Nil, Given::Store))
}

/// `(store, path, scheme or nil, list of steps, act)`: the names of the steps that were run. A step is a
/// list of its name, its statements and, where there are any, those that undo it.
fn migrate(isolate: &Isolate, arguments: Arguments) -> Reply {
    let store = attempt!(any_store(isolate, arguments, 1));
    let mut steps = Vec::new();
    for parts in lists(attempt!(arguments.value(isolate, 4))) {
        let mut parts = parts.into_iter();
        match (parts.next(), parts.next()) {
            (Some(Value::Text(name)), Some(Value::Text(statements))) => {
                let undo = parts.next().map(text);
                steps.push(MigrationStep { name, statements, undo });
            }
            (Some(Value::Text(name)), _) => {
                let message = format!("the migration {name} is no text");
                return Reply::Failed(Error::new(Kind::Invalid, message));
            }
            _ => {}
        }
    }
    let act = match arguments.text(5).as_str() {
        "dryRun" => MigrationAct::DryRun,
        "undo" => MigrationAct::Undo,
        "list" => MigrationAct::List,
        _ => MigrationAct::Apply,
    };
    let call = crate::natives::stores::inner_call(isolate);
    let (on, migration) = (reference_at(arguments, 2, 3), Migration { steps, act, shape: None });
    let answer = attempt!(store.tables_for(Verb::Define, &on)).migrate(&on, migration, &call);
    Reply::answer(answer, Given::Names)
}

/// `(class, table)`: the name of the table of a class; `table` is an empty text where the class names none.
fn table_name(_: &Isolate, arguments: Arguments) -> Reply {
    let named = Some(arguments.text(2)).filter(|table| !table.is_empty());
    Reply::Now(Given::Text(named.unwrap_or_else(|| runnel_store::table_name(&arguments.text(1)))))
}

/// `(type)`: the name of the type that a word in a program means; nil where it means none.
fn field_type(_: &Isolate, arguments: Arguments) -> Reply {
    let named = FieldType::named(&arguments.text(1));
    Reply::Now(named.map_or(Given::Nil, |kind| Given::Text(kind.name().into())))
}
