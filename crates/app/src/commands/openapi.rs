//! `runnel openapi` and `runnel client`: what a program serves, as an OpenAPI document or as a client.
//!
//! The program runs as for `runnel graph`: nothing listens, reads or prints.

use crate::commands::graph;
use crate::console::Console;
use crate::report::Report;
use runnel_openapi::{Api, document_text, typescript};
use runnel_store::json;
use std::path::Path;

/// What is made of an API.
#[derive(Clone, Copy)]
pub(crate) enum ApiOutput {
    /// An OpenAPI document.
    Document,
    /// A client in TypeScript.
    Client,
}

/// Prints what is made of the API of a program.
pub(crate) fn run(path: &Path, args: &[String], output: ApiOutput, report: &Report) -> u8 {
    graph::looked_at(path, args, report, async |isolate, name| {
        let described = match isolate.api().await {
            Ok(text) => text.and_then(|text| json::parse(text.as_bytes()).ok()),
            Err(fault) => return report.ended(isolate, &fault),
        };
        let Some(described) = described else {
            Console::error(&format!(
                "error: {name} serves no scheme with property paths, and no table\n  = help: connect one \
                 to a server: `#HTTPServer{{ port: 8080 }} → #Tasks{{ }}`"
            ));
            return 1;
        };
        let api = Api::read(&described);
        let text = match output {
            ApiOutput::Document => document_text(&api),
            ApiOutput::Client => typescript(&api),
        };
        Console::part(&text);
        if !text.ends_with('\n') {
            Console::part("\n");
        }
        0
    })
}
