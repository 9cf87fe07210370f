//! Which feature answers which request.

use super::state::EditorState;
use crate::documents::View;
use crate::features::{
    code_actions, completion, formatting, hover, inlay_hints, lenses, navigation, rename,
    semantic_tokens, signature, symbols,
};
use lsp_server::ErrorCode;
use lsp_types::{Position, Range, Uri};
use serde_json::Value;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Why a request has no result.
pub(super) struct DispatchError {
    pub(super) code: ErrorCode,
    pub(super) why: String,
}

fn wrong(why: impl Into<String>) -> DispatchError {
    DispatchError { code: ErrorCode::InvalidParams, why: why.into() }
}

/// The result of a request, or why there is none. A fault of a feature costs one answer, not the server.
pub(super) fn answer(
    state: &EditorState,
    method: &str,
    params: Value,
) -> Result<String, DispatchError> {
    if method == "completionItem/resolve" {
        return Ok(completion::resolve(params, &state.knowledge).to_string());
    }
    let Some(feature) = feature(method) else {
        let why = format!("`{method}` is not offered");
        return Err(DispatchError { code: ErrorCode::MethodNotFound, why });
    };
    let uri = params.get("textDocument").and_then(|one| one.get("uri")).and_then(Value::as_str);
    let uri: Uri = uri
        .and_then(|uri| uri.parse().ok())
        .ok_or_else(|| wrong("`textDocument.uri` is missing"))?;
    let Some(document) = state.documents.get(&uri) else { return Ok("null".to_owned()) };
    let run = || {
        let view = View::new(&document, &state.knowledge);
        feature(&TextRequest { state, view, params: &params })
    };
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
        let why = format!("`{method}` failed");
        Err(DispatchError { code: ErrorCode::InternalError, why })
    })
}

/// A request about one text.
struct TextRequest<'a> {
    state: &'a EditorState,
    view: View<'a>,
    params: &'a Value,
}

impl TextRequest<'_> {
    fn offset(&self) -> Result<u32, DispatchError> {
        let position = self.params.get("position").cloned().unwrap_or_default();
        let position: Position =
            serde_json::from_value(position).map_err(|_| wrong("`position` is missing"))?;
        Ok(self.view.offset(position))
    }

    fn range(&self) -> Result<Range, DispatchError> {
        let range = self.params.get("range").cloned().unwrap_or_default();
        serde_json::from_value(range).map_err(|_| wrong("`range` is missing"))
    }

    fn text(&self, name: &str) -> Result<&str, DispatchError> {
        let text = self.params.get(name).and_then(Value::as_str);
        text.ok_or_else(|| wrong(format!("`{name}` is missing")))
    }

    fn includes_declaration(&self) -> bool {
        let context = self.params.get("context");
        context
            .and_then(|one| one.get("includeDeclaration"))
            .and_then(Value::as_bool)
            .unwrap_or(true)
    }
}

/// A feature answers text: a tree of JSON between it and the text would cost more than the feature.
type Feature = fn(&TextRequest<'_>) -> Result<String, DispatchError>;

/// What can be written as JSON, as text.
macro_rules! written {
    ($value:expr) => {
        Ok(serde_json::to_string(&$value).unwrap_or_else(|_| "null".to_owned()))
    };
}

fn feature(method: &str) -> Option<Feature> {
    Some(match method {
        "textDocument/completion" => |one| {
            let offset = one.offset()?;
            let folders = &one.state.folders;
            written!(completion::complete(&one.view, offset, folders, one.state.abilities.snippets))
        },
        "textDocument/hover" => |one| written!(hover::hover(&one.view, one.offset()?)),
        "textDocument/signatureHelp" => |one| written!(signature::help(&one.view, one.offset()?)),
        "textDocument/definition" => |one| {
            let others: Vec<_> = one.state.documents.all().cloned().collect();
            let asked =
                navigation::DefinitionSearch { others: &others, folders: &one.state.folders };
            written!(navigation::definition(
                &one.view,
                one.offset()?,
                &asked,
                one.state.abilities.links
            ))
        },
        "textDocument/references" => |one| {
            let places =
                navigation::references(&one.view, one.offset()?, one.includes_declaration());
            written!(places)
        },
        "textDocument/documentHighlight" => {
            |one| written!(navigation::highlights(&one.view, one.offset()?))
        }
        "textDocument/prepareRename" => |one| match rename::prepare(&one.view, one.offset()?) {
            Ok(found) => written!(found),
            Err(why) => Err(DispatchError { code: ErrorCode::RequestFailed, why }),
        },
        "textDocument/rename" => {
            |one| match rename::rename(&one.view, one.offset()?, one.text("newName")?) {
                Ok(edit) => written!(edit),
                Err(why) => Err(DispatchError { code: ErrorCode::RequestFailed, why }),
            }
        }
        "textDocument/documentSymbol" => |one| written!(symbols::document_symbols(&one.view)),
        "textDocument/semanticTokens/full" => {
            |one| written!(semantic_tokens::tokens(&one.view, None))
        }
        "textDocument/semanticTokens/range" => {
            |one| written!(semantic_tokens::tokens(&one.view, Some(one.view.span(one.range()?))))
        }
        "textDocument/foldingRange" => |one| written!(symbols::folding_ranges(&one.view)),
        "textDocument/formatting" => |one| written!(formatting::format(&one.view)),
        "textDocument/rangeFormatting" => {
            |one| written!(formatting::format_range(&one.view, one.view.span(one.range()?)))
        }
        "textDocument/codeAction" => |one| {
            let span = one.view.span(one.range()?);
            let findings = one.state.findings.get(one.view.document.uri.as_str());
            let newest = findings.filter(|(state, _)| *state == one.view.document.state);
            written!(code_actions::actions(&one.view, span, newest.map(|(_, findings)| findings)))
        },
        "textDocument/inlayHint" => {
            |one| written!(inlay_hints::hints(&one.view, one.view.span(one.range()?)))
        }
        "textDocument/codeLens" => |one| written!(lenses::lenses(&one.view)),
        "textDocument/documentLink" => |one| written!(lenses::links(&one.view, &one.state.folders)),
        _ => return None,
    })
}
