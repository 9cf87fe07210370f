//! `runnel routes`: the property paths of what a program serves, as a table.
//!
//! The program runs as for `runnel graph`: nothing listens, reads or prints.

use crate::commands::graph;
use crate::console::Console;
use crate::report::Report;
use std::path::Path;

/// The headings of the columns.
const HEADINGS: [&str; 5] = ["SERVED BY", "METHOD", "PATH", "PARAMETERS", "PLACE"];

/// Prints the table; with `json` one object a line.
pub(crate) fn run(path: &Path, args: &[String], json: bool, report: &Report) -> u8 {
    graph::looked_at(path, args, report, async |isolate, name| {
        let routes = isolate.routes().await;
        if routes.is_empty() {
            Console::error(&format!("note: {name} serves no scheme with property paths"));
        } else if json {
            routes.iter().for_each(|route| Console::line(&object(route)));
        } else {
            Console::part(&table(&routes));
        }
        0
    })
}

fn object([by, method, path, parameters, place]: &[String; 5]) -> String {
    serde_json::json!({
        "servedBy": by, "method": method, "path": path, "parameters": parameters, "place": place,
    })
    .to_string()
}

fn table(routes: &[[String; 5]]) -> String {
    let headings = HEADINGS.map(str::to_string);
    let rows = || std::iter::once(&headings).chain(routes);
    let width =
        |column: usize| rows().map(|row| row[column].chars().count()).max().unwrap_or_default();
    let widths: [usize; 5] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows() {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
