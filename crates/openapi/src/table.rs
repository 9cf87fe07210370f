//! A table that is served without handlers, described as operations.

use runnel_store::{LARGEST_PAGE, Value};

/// Parameters of a query that are no columns (`crates/sql/src/rows/parameters.rs`). `fields` is not
/// described: rows with some columns have another type.
const QUERY_WORDS: [&str; 4] = ["fields", "limit", "offset", "sort"];
/// Kinds of columns that a query string can compare.
const COMPARED: [&str; 11] =
    ["int", "float", "decimal", "bool", "string", "enum", "email", "url", "uuid", "time", "moment"];

/// The operations of a table at a path, such as `notes`, and its classes as a table sees them: the value
/// `{ classes, operations }`. `class` is plain data as a contract reads it, and `position` the place of the
/// first class among those of the API. The key is made by the table unless it is text, dates are moments, and
/// a field that is not `required` may be null. `served` of the class is a list: the largest page, the fields
/// that a query may compare, and those it may sort by; nil where the class does not say. A text is the key
/// of a new row only: the path names a row that is replaced or changed, and a second class leaves it out.
pub fn table_operations(class: &Value, position: usize, path: &str) -> Value {
    let inserted = table_class(class);
    let key = field(&inserted, "id").and_then(|id| id.get("type").cloned()).unwrap_or_default();
    let mut classes = vec![inserted];
    if kind_of(&key) != "int" {
        classes.push(written_class(&classes[0]));
    }
    let all: Vec<Value> = path
        .split('/')
        .filter(|segment| !segment.is_empty())
        .map(|segment| Value::record([("text", Value::from(segment))]))
        .collect();
    let mut row = all.clone();
    row.push(Value::record([("name", "id".into()), ("type", key)]));
    let object = object_of(position);
    let written = object_of(position + classes.len() - 1);
    let operations = list_operations(&all, &classes[0], &object);
    let operations = [operations, row_operations(&row, &object, &written)].concat();
    Value::record([("classes", classes.into()), ("operations", operations.into())])
}

fn object_of(position: usize) -> Value {
    Value::record([
        ("kind", Value::from("object")),
        ("class", i64::try_from(position).unwrap_or(i64::MAX).into()),
    ])
}

/// The class of a row whose key stands in the path.
fn written_class(class: &Value) -> Value {
    let mut written = class.clone();
    let fields = fields(class).iter().map(|field| {
        let mut field = field.clone();
        if field.get("name").and_then(Value::as_str) == Some("id") {
            field.set("readonly", true.into());
        }
        field
    });
    written.set("fields", fields.collect::<Vec<_>>().into());
    written
}

fn body(object: &Value, partial: bool) -> Value {
    Value::record([
        ("type", object.clone()),
        ("media", texts(&["application/json"])),
        ("partial", partial.into()),
    ])
}

/// The operations on all rows.
fn list_operations(path: &[Value], class: &Value, object: &Value) -> Vec<Value> {
    let list = Value::record([("kind", Value::from("list")), ("element", object.clone())]);
    let about = "Lists rows. Parameters named like columns choose rows.";
    let reading = vec![
        ("parameters", list_parameters(class).into()),
        ("answers", vec![answer(200, Some(&list)), answer(400, None)].into()),
    ];
    let inserting = vec![
        ("body", body(object, false)),
        ("answers", vec![created(object), answer(409, None)].into()),
    ];
    vec![
        operation("GET", path, about, reading),
        operation("POST", path, "Inserts a row.", inserting),
    ]
}

/// The operations on one row.
fn row_operations(path: &[Value], object: &Value, content: &Value) -> Vec<Value> {
    let conditional = || ("conditional", Value::Bool(true));
    let written = |status: &[i64]| {
        let answers = status.iter().map(|status| answer(*status, None));
        ("answers", Value::List(answers.collect()))
    };
    let read = ("answers", vec![answer(200, Some(object))].into());
    let replaced = vec![("body", body(content, false)), written(&[201, 204, 409]), conditional()];
    let changed = vec![("body", body(content, true)), written(&[204, 409]), conditional()];
    vec![
        operation("GET", path, "Reads a row.", vec![read, conditional()]),
        operation("PUT", path, "Replaces a row, or inserts it under this key.", replaced),
        operation("PATCH", path, "Changes the named fields of a row.", changed),
        operation("DELETE", path, "Deletes a row.", vec![written(&[204, 409]), conditional()]),
    ]
}

fn operation(method: &str, path: &[Value], about: &str, rest: Vec<(&str, Value)>) -> Value {
    let head = vec![
        ("method", Value::from(method)),
        ("path", path.to_vec().into()),
        ("about", about.into()),
    ];
    Value::record(head.into_iter().chain(rest))
}

fn answer(status: i64, kind: Option<&Value>) -> Value {
    let mut answer = Value::record([("status", Value::Int(status))]);
    if let Some(kind) = kind {
        answer.set("type", kind.clone());
    }
    if status == 409 {
        answer
            .set("about", "Another row, or a row that refers to this one, is in conflict.".into());
    }
    answer
}

fn created(object: &Value) -> Value {
    let mut answer = answer(201, Some(object));
    answer.set("headers", texts(&["Location"]));
    answer
}

fn texts(texts: &[&str]) -> Value {
    texts.iter().map(|text| Value::from(*text)).collect::<Vec<_>>().into()
}

fn fields(class: &Value) -> &[Value] {
    class.get("fields").and_then(Value::as_list).unwrap_or_default()
}

fn field<'a>(class: &'a Value, name: &str) -> Option<&'a Value> {
    fields(class).iter().find(|field| field.get("name").and_then(Value::as_str) == Some(name))
}

fn kind_of(kind: &Value) -> &str {
    kind.get("kind").and_then(Value::as_str).unwrap_or("any")
}

/// The class with what a table adds to it.
fn table_class(class: &Value) -> Value {
    let made = fields(class).iter().map(|field| {
        let mut field = field.clone();
        let mut kind = column_type(field.get("type").unwrap_or(&Value::Nil));
        let is_key = field.get("name").and_then(Value::as_str) == Some("id");
        if is_key && kind_of(&kind) == "int" {
            field.set("readonly", true.into());
        }
        if is_key {
            field.set("required", true.into());
        }
        let required = field.get("required") == Some(&Value::Bool(true));
        kind.set("optional", (!required).into());
        field.set("type", kind);
        field
    });
    let mut described = class.clone();
    described.set("fields", made.collect::<Vec<_>>().into());
    described
}

/// A type as a column has it: a reference is the key of a row, a date is a moment, an integer has 64 bits.
fn column_type(kind: &Value) -> Value {
    let mut kind = match kind {
        Value::Record(_) => kind.clone(),
        _ => Value::record([("kind", Value::from("any"))]),
    };
    match kind_of(&kind) {
        "key" => {
            let name = kind.get("name").and_then(Value::as_str).unwrap_or("int").to_string();
            kind = Value::record([("kind", Value::from(name))]);
        }
        "date" => {
            kind.set("kind", "moment".into());
        }
        _ => {}
    }
    if kind_of(&kind) == "int" {
        for (name, end) in [("min", i64::MIN), ("max", i64::MAX)] {
            if kind.get(name).is_none_or(Value::is_nil) {
                kind.set(name, end.into());
            }
        }
    }
    kind
}

fn list_parameters(class: &Value) -> Vec<Value> {
    let parameter = |name: &str, kind: Value, about: &str| {
        Value::record([
            ("in", Value::from("query")),
            ("name", name.into()),
            ("type", kind),
            ("about", about.into()),
            ("filled", true.into()),
        ])
    };
    let count = |most: Value| {
        Value::record([("kind", Value::from("int")), ("min", Value::Int(0)), ("max", most)])
    };
    let served = class.get("served").and_then(Value::as_list).unwrap_or_default();
    let page = served.first().and_then(Value::as_i64);
    let page = page.unwrap_or(i64::try_from(LARGEST_PAGE).unwrap_or(i64::MAX));
    let may = |at: usize, name: &str| {
        let named = served.get(at).and_then(Value::as_list);
        named.is_none_or(|named| named.iter().any(|one| one.as_str() == Some(name)))
    };
    let mut names = Vec::new();
    let mut compared = Vec::new();
    for field in fields(class) {
        let name = field.get("name").and_then(Value::as_str).unwrap_or_default();
        if may(2, name) {
            names.push(name);
        }
        let kind = field.get("type").cloned().unwrap_or_default();
        if QUERY_WORDS.contains(&name) || !COMPARED.contains(&kind_of(&kind)) || !may(1, name) {
            continue;
        }
        // Any value of the column's kind can be compared, valid or not.
        let plain = match kind_of(&kind) {
            "decimal" | "enum" | "email" | "url" | "uuid" | "time" | "moment" => "string",
            kind => kind,
        };
        let mut one = parameter(
            name,
            column_type(&Value::record([("kind", Value::from(plain))])),
            "Rows with one of these values.",
        );
        one.set("repeated", true.into());
        compared.push(one);
    }
    let sort = format!(
        "Columns separated by commas, with `-` before those in descending order: {}.",
        names.join(", ")
    );
    let mut parameters = vec![
        parameter("limit", count(page.into()), "How many rows at most."),
        parameter("offset", count(u64::MAX.to_string().into()), "How many rows are skipped."),
    ];
    if !names.is_empty() {
        parameters.push(parameter("sort", sort_keys(&names), &sort));
    }
    parameters.extend(compared);
    parameters
}

/// The type of sort keys in one text. The server ignores empty ones.
fn sort_keys(names: &[&str]) -> Value {
    let mut kind = Value::record([("kind", Value::from("string"))]);
    let plain = names.iter().all(|name| {
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    });
    if plain && !names.is_empty() {
        let one = format!("(-?({}))?", names.join("|"));
        // A name that stands twice counts once.
        let more = if names.len() > 10 { "{0,9}" } else { "*" };
        kind.set("pattern", format!("{one}(,{one}){more}").into());
    }
    kind
}
