//! `runnel routes`: the property paths of what a program serves, as a table.
//!
//! The program runs as for `runnel graph`: nothing listens, reads or prints.

use crate::commands::graph;
use crate::console::Console;
use crate::report::Report;
use runnel_store::{Value, json};
use std::path::Path;

/// The columns: their headings, the fields of a route, and whether one without values is shown.
const COLUMNS: [(&str, &str, bool); 8] = [
    ("SERVED BY", "servedBy", true),
    ("METHOD", "method", true),
    ("PATH", "path", true),
    ("PARAMETERS", "parameters", true),
    ("CONTENT", "content", false),
    ("ANSWERS", "answers", false),
    ("ACCESS", "access", false),
    ("PLACE", "place", true),
];

/// Prints the table; with `json` one object a line.
pub(crate) fn run(path: &Path, args: &[String], json: bool, report: &Report) -> u8 {
    graph::looked_at(path, args, report, async |isolate, name| {
        let text = match isolate.routes().await {
            Ok(text) => text.unwrap_or_default(),
            Err(fault) => return report.ended(isolate, &fault),
        };
        let routes = json::parse(text.as_bytes()).unwrap_or_default();
        let routes = routes.as_list().unwrap_or_default();
        if routes.is_empty() {
            Console::error(&format!(
                "note: {name} serves no scheme with property paths, and no table"
            ));
        } else if json {
            routes
                .iter()
                .for_each(|route| Console::line(&String::from_utf8_lossy(&json::text(route))));
        } else {
            Console::part(&table(routes));
        }
        0
    })
}

fn table(routes: &[Value]) -> String {
    let cell = |route: &Value, field: &str| {
        route.get(field).and_then(Value::as_str).unwrap_or_default().to_string()
    };
    let columns: Vec<Vec<String>> = COLUMNS
        .iter()
        .filter(|(_, field, always)| {
            *always || routes.iter().any(|one| !cell(one, field).is_empty())
        })
        .map(|(heading, field, _)| {
            let cells = routes.iter().map(|route| cell(route, field));
            std::iter::once(heading.to_string()).chain(cells).collect()
        })
        .collect();
    let width = |column: &Vec<String>| column.iter().map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = columns.iter().map(|one| width(one).unwrap_or_default()).collect();
    let mut text = String::new();
    for row in 0..=routes.len() {
        let cells =
            columns.iter().zip(&widths).map(|(column, width)| format!("{:width$}", column[row]));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
