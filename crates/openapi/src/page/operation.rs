//! One operation on the page: what it takes, what it answers, and a form that sends it.

use super::markup::{code, escaped, example, inline, method, paragraphs, slug, table};
use super::schema::{name_cell, words};
use super::trial;
use crate::api::{Api, ApiAnswer, ApiBody, ApiOperation, SecurityScheme, in_member, is_json};
use crate::document::pretty;
use crate::example::ExampleMaker;
use crate::schema_names::{SchemaNames, SchemaUse};

/// Appends an operation.
pub(super) fn write_operation(
    api: &Api,
    operation: &ApiOperation,
    names: &SchemaNames,
    examples: &ExampleMaker<'_>,
    html: &mut String,
) {
    let id = slug("operation", &operation.id);
    *html += &format!(
        "<article class=\"operation\" id=\"{id}\" aria-labelledby=\"{id}-title\">\n\
         <div class=\"row\"><h3 id=\"{id}-title\">{} <code>{}</code></h3>",
        method(&operation.method),
        escaped(&operation.path_text()),
    );
    if operation.guarded {
        let what = match operation.security.contains(&SecurityScheme::Bearer) {
            true => "a token",
            false => "a password",
        };
        *html += &format!(" <span class=\"badge warn\">needs {what}</span>");
    }
    if operation.deprecated {
        *html += " <span class=\"badge bad\">deprecated</span>";
    }
    *html += "</div>\n";
    paragraphs(&operation.about, html);
    write_parameters(operation, names, html);
    if let Some(body) = &operation.body {
        write_body(operation, body, names, examples, html);
    }
    write_answers(operation, names, examples, html);
    trial::write_form(api, operation, names, examples, html);
    *html += "</article>\n";
}

fn write_parameters(operation: &ApiOperation, names: &SchemaNames, html: &mut String) {
    let rows: Vec<Vec<String>> = operation
        .parameters
        .iter()
        .map(|parameter| {
            let mut about = inline(&parameter.about);
            if let Some(default) = &parameter.default {
                let space = if about.is_empty() { "" } else { " " };
                about += &format!("{space}Default {}.", code(default));
            }
            vec![
                name_cell(&parameter.name, parameter.required),
                parameter.place.name().to_string(),
                words(names, &parameter.kind, SchemaUse::Input),
                about,
            ]
        })
        .collect();
    if !rows.is_empty() {
        *html += "<h4>Parameters</h4>\n";
        let label = format!("Parameters of {}", operation.id);
        table(&label, &["Name", "In", "Type", "Description"], &rows, html);
    }
}

fn write_body(
    operation: &ApiOperation,
    body: &ApiBody,
    names: &SchemaNames,
    examples: &ExampleMaker<'_>,
    html: &mut String,
) {
    let media: Vec<String> =
        body.media.iter().map(|media| format!("<code>{}</code>", escaped(media))).collect();
    let optional = if body.required { "" } else { " Optional." };
    *html += &format!(
        "<h4>Request</h4>\n<p>{} as {}.{optional}</p>\n",
        capitalized(&within(&body.member, words(names, &body.kind, SchemaUse::of(body)))),
        media.join(", "),
    );
    let shown = examples.content(&body.kind, SchemaUse::of(body));
    if let Some(value) = shown.filter(|_| body.media.iter().any(|media| is_json(media))) {
        let value = in_member(&body.member, value);
        example(&format!("Example of a request of {}", operation.id), &pretty(&value), html);
    }
}

/// Words at the start of a sentence. Markup stays as it is.
fn capitalized(text: &str) -> String {
    if text.starts_with('<') { text.to_string() } else { crate::naming::capital(text) }
}

fn write_answers(
    operation: &ApiOperation,
    names: &SchemaNames,
    examples: &ExampleMaker<'_>,
    html: &mut String,
) {
    *html += "<h4>Answers</h4>\n";
    let label = format!("Answers of {}", operation.id);
    let rows: Vec<Vec<String>> =
        operation.answers.iter().map(|answer| answer_row(answer, names)).collect();
    table(&label, &["Status", "Content", "When"], &rows, html);
    let shown = operation.successes().find_map(|answer| {
        answer.media.iter().find(|media| is_json(media))?;
        let example = examples.content(answer.kind.as_ref()?, SchemaUse::Output)?;
        Some(in_member(&answer.member, example))
    });
    if let Some(value) = shown {
        example(&format!("Example of an answer of {}", operation.id), &pretty(&value), html);
    }
}

fn answer_row(answer: &ApiAnswer, names: &SchemaNames) -> Vec<String> {
    let tone = match answer.status {
        200..300 => "good",
        300..500 => "warn",
        _ => "bad",
    };
    let content = match (&answer.kind, answer.problem) {
        (Some(kind), _) => {
            let media = answer.media.join(", ");
            let words = within(&answer.member, words(names, kind, SchemaUse::Output));
            format!("{words} <span class=\"quiet small\">{}</span>", escaped(&media))
        }
        (None, true) => "a problem <span class=\"quiet small\">RFC 9457</span>".into(),
        (None, false) => "none".into(),
    };
    let end = if answer.about.ends_with(['.', '!', '?']) { "" } else { "." };
    let mut about = inline(&answer.about) + end;
    if !answer.headers.is_empty() {
        let headers: Vec<String> =
            answer.headers.iter().map(|name| format!("<code>{}</code>", escaped(name))).collect();
        about += &format!(" <span class=\"quiet\">With {}.</span>", headers.join(", "));
    }
    vec![format!("<span class=\"badge {tone}\">{}</span>", answer.status), content, about]
}

/// The words for content that stands in the member of an object.
fn within(member: &str, words: String) -> String {
    if member.is_empty() {
        return words;
    }
    format!("<code>{}</code> of an object, {words}", escaped(member))
}
