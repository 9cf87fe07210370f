//! The tables of options in the manual, compared with the code: each option exists, setting it to the
//! default that the table says changes nothing, and no option is missing from the tables.

use crate::world::database_options;
use crate::world::server_options;
use runnel_http::PROXY_OPTIONS;
use runnel_search::SearchDefinition;
use runnel_store::Value;
use std::fmt::Debug;
use std::path::Path;

/// Reads options of one kind; answers all settings as text, or what is wrong.
type Read = fn(&Value) -> Result<String, String>;

/// Tables of options: their pages, the heading that a table stands under (any with `""`), how their
/// options are read, and what has to be set beside an option.
const TABLES: [(&[&str], &str, Read); 7] = [
    (
        &[
            "server/serving.md",
            "server/limits.md",
            "server/proxies.md",
            "server/observing.md",
            "server/tls.md",
        ],
        "",
        |value| shown(server_options::read(value)),
    ),
    (&["server/reverse-proxy.md"], "", |value| shown(PROXY_OPTIONS.read("a Proxy", value))),
    (&["database/connections.md"], "SQLite", |value| shown(database_options::sqlite(value))),
    (&["database/connections.md"], "PostgreSQL", |value| shown(database_options::postgres(value))),
    (&["search/indexes.md"], "Index options", index),
    (&["search/indexes.md"], "Tokenizer options", index),
    (&["search/indexes.md"], "Search options", index),
];

/// A definition of an index with the options of a record.
fn index(value: &Value) -> Result<String, String> {
    let Value::Record(options) = value else { return Err("no record".into()) };
    let title = ("title".to_string(), Value::Record(Vec::new()));
    let name = ("name".to_string(), Value::from("b"));
    let fields = [name, title].into_iter().chain(options.iter().cloned()).collect();
    shown(SearchDefinition::read(&Value::Record(fields)))
}

/// Units behind a number, in what the option counts.
const UNITS: [(&str, f64); 3] = [("ms", 0.001), ("s", 1.0), ("min", 60.0)];

/// A row of a table of options.
#[derive(Debug, PartialEq)]
struct OptionRow {
    option: String,
    default: String,
}

fn shown<T: Debug>(read: Result<T, runnel_store::Error>) -> Result<String, String> {
    read.map(|settings| format!("{settings:?}")).map_err(|error| error.message)
}

/// The rows of the tables of a page that have the columns `option` and `default`.
fn rows(page: &str, heading: &str) -> Vec<OptionRow> {
    let (mut rows, mut columns, mut under) = (Vec::new(), None, String::new());
    for line in page.lines() {
        if let Some(name) = line.strip_prefix("## ") {
            under = name.to_string();
        }
        let Some(inner) = line.strip_prefix('|') else {
            columns = None;
            continue;
        };
        let inner = inner.replace("\\|", "or");
        let cells: Vec<&str> = inner.trim_end_matches('|').split('|').map(str::trim).collect();
        let place = |name| cells.iter().position(|cell| *cell == name);
        match (columns, place("option").zip(place("default"))) {
            (_, Some(found)) => columns = Some(found),
            (Some((option, default)), None) if heading.is_empty() || heading == under => {
                let names = cells.get(option).copied().unwrap_or_default();
                let default = cells.get(default).copied().unwrap_or_default();
                let names = names.split(", ").map(|name| name.trim_matches(['`', ':']));
                rows.extend(names.filter(|name| !name.starts_with('-')).map(|name| OptionRow {
                    option: name.to_string(),
                    default: default.to_string(),
                }));
            }
            _ => {}
        }
    }
    rows
}

/// The value that a table writes; `None` for words such as `none`.
fn value(cell: &str) -> Option<Value> {
    let code = cell.trim_matches('`');
    match code {
        "true" | "false" => return Some(Value::Bool(code == "true")),
        _ => {}
    }
    if let Some(text) = code.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\'')) {
        return Some(Value::Text(text.to_string()));
    }
    if let Some(bytes) = runnel_text::size::parse(code) {
        return Some(Value::Text(format!("{bytes} B")));
    }
    let (number, unit) = code.split_once(' ').unwrap_or((code, ""));
    let number: f64 = number.replace(',', "").parse().ok()?;
    let unit = unit.split(',').next().unwrap_or_default();
    let factor = UNITS.iter().find(|(known, _)| *known == unit).map(|(_, factor)| factor);
    let number = number * factor.or(unit.is_empty().then_some(&1.0))?;
    if !unit.is_empty() {
        return Some(Value::Text(format!("{number} s")));
    }
    Some(if number.fract() == 0.0 { Value::Int(number as i64) } else { Value::Float(number) })
}

/// What is wrong with a row.
fn fault(row: &OptionRow, read: Read) -> Option<String> {
    let OptionRow { option, default } = row;
    // Who may connect belongs to a socket.
    let beside = (option == "socketMode").then(|| ("socket".to_string(), "a".into()));
    let with = |value: Option<Value>| {
        let fields = beside.clone().into_iter().chain(value.map(|value| (option.clone(), value)));
        read(&Value::Record(fields.collect()))
    };
    let plain = with(None);
    if default.is_empty() {
        return Some(format!("{option}: the table says no default"));
    }
    let Some(value) = value(default) else {
        let known =
            with(Some(Value::List(Vec::new()))).err().filter(|said| said.contains("has no"));
        return known.map(|said| format!("{option}: {said}"));
    };
    match with(Some(value.clone())) {
        Err(said) => return Some(format!("{option}: {default} is refused: {said}")),
        set if set != plain => {
            return Some(format!("{option}: the default is not {default}: {set:?}, not {plain:?}"));
        }
        _ => {}
    }
    // Another value is another setting, or this test would compare nothing.
    let other = match value {
        Value::Int(number) => Value::Int(number + 1),
        Value::Float(number) => Value::Float(number + 1.0),
        Value::Text(text) if text.ends_with(" s") || text.ends_with(" B") => {
            Value::Text(format!("1{text}"))
        }
        Value::Bool(flag) => Value::Bool(!flag),
        _ => return None,
    };
    let same = with(Some(other)) == plain;
    same.then(|| format!("{option}: setting it changes nothing"))
}

#[test]
fn tables_of_options_say_what_the_code_does() {
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec");
    let mut faults = Vec::new();
    for (pages, heading, read) in TABLES {
        let mut documented = Vec::new();
        for page in pages {
            let text = std::fs::read_to_string(manual.join(page)).expect("a page of the manual");
            for row in rows(&text, heading) {
                faults.extend(fault(&row, read).map(|fault| format!("{page}: {fault}")));
                documented.push(row.option);
            }
        }
        let said = read(&Value::Record(vec![("?".into(), Value::Nil)])).err().unwrap_or_default();
        let known = said.split("it has ").nth(1).unwrap_or_default().replace(" and ", ", ");
        let known = known.split(", ").filter(|known| !known.is_empty());
        for option in known.filter(|known| !documented.iter().any(|one| one == known)) {
            faults.push(format!("{}: {option} is in no table", pages.join(", ")));
        }
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

#[test]
fn what_a_table_says_wrongly_is_found() {
    let read: Read = |value| shown(database_options::sqlite(value));
    let page = "## SQLite\n| option | what | default |\n| --- | --- | --- |\n\
        | `maxConnections` | a \\| b | 5 |\n| `poolTimeout` | c | 5 s |\n| `nothing` | d | none |\n";
    let found: Vec<_> = rows(page, "SQLite").iter().map(|row| fault(row, read)).collect();
    assert_eq!(found.len(), 3);
    assert!(found[0].as_ref().is_some_and(|said| said.contains("is not 5")), "{found:?}");
    assert_eq!(found[1], None);
    assert!(found[2].as_ref().is_some_and(|said| said.contains("no option")), "{found:?}");
    assert_eq!(rows(page, "PostgreSQL"), []);
    let of = |cell| value(cell).and_then(|value| value.as_f64());
    assert_eq!(of("8,192"), Some(8192.0));
    assert_eq!(value("16 MiB"), Some("16777216 B".into()));
    assert_eq!(value("100 ms"), Some("0.1 s".into()));
}
