//! The state between messages: open texts, what the client can do, who waits for diagnostics.

use super::capabilities;
use super::dispatch::{self, DispatchError};
use super::event::{Event, address};
use super::state::{ClientAbilities, EditorState};
use super::transport::{Incoming, Outbox};
use super::worker::Worker;
use crate::documents::OpenText;
use crate::features::diagnostics::{Findings, as_items, report, unchanged_report};
use crate::features::workspace::SymbolQuery;
use crate::knowledge::Knowledge;
use crate::text::{ColumnUnit, path_of};
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId};
use lsp_types::{
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    InitializeParams, Uri,
};
use serde_json::{Value, json};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Requests for diagnostics that wait for one text.
const MOST_PULLS: usize = 64;
/// Requests that were changed under their feet: the client asks again (`ServerCancelled`).
const SERVER_CANCELLED: i32 = -32802;

#[derive(PartialEq)]
enum Phase {
    New,
    Running,
    ShutDown,
}

/// One client.
pub(super) struct EditorSession {
    state: EditorState,
    /// Requests for diagnostics, by the address of the text.
    pulls: HashMap<String, Vec<RequestId>>,
    worker: Worker,
    outbox: Outbox,
    phase: Phase,
}

impl EditorSession {
    pub(super) fn new(knowledge: Arc<Knowledge>, worker: Worker, outbox: Outbox) -> EditorSession {
        EditorSession {
            state: EditorState::new(knowledge),
            pulls: HashMap::new(),
            worker,
            outbox,
            phase: Phase::New,
        }
    }

    /// Handles an event. Answers how the client left, when it did. `behind`: what follows.
    pub(super) fn handle(&mut self, event: Event, behind: &VecDeque<Event>) -> Option<bool> {
        match event {
            Event::Read(Incoming::Message(Message::Request(request))) => {
                self.request(request, behind)
            }
            Event::Read(Incoming::Message(Message::Notification(notification))) => {
                if notification.method == "exit" {
                    return Some(self.phase == Phase::ShutDown);
                }
                self.notification(notification);
            }
            // The answers of the client say nothing.
            Event::Read(Incoming::Message(Message::Response(_))) => {}
            Event::Read(Incoming::Wrong(code, why)) => self.outbox.fail_unnumbered(code, why),
            Event::Read(Incoming::End) => return Some(false),
            Event::Checked(document, findings) => self.checked(&document, findings),
            Event::Found(id, symbols) => {
                self.outbox.respond(lsp_server::Response::new_ok(id, symbols))
            }
        }
        None
    }

    /// Answers a request that waits and that the client needs no more.
    pub(super) fn cancel(&mut self, id: &RequestId, waiting: &mut VecDeque<Event>) {
        let before = waiting.len();
        waiting.retain(|event| event.request() != Some(id));
        let mut is_pull = false;
        for pulls in self.pulls.values_mut() {
            is_pull |= pulls.contains(id);
            pulls.retain(|one| one != id);
        }
        if waiting.len() < before || is_pull {
            self.outbox.fail(id.clone(), ErrorCode::RequestCanceled, "cancelled by the client");
        }
    }

    // Requests -----------------------------------------------------------------------------------

    fn request(&mut self, request: Request, behind: &VecDeque<Event>) {
        let Request { id, method, params } = request;
        match (&self.phase, method.as_str()) {
            (Phase::New, "initialize") => return self.initialize(id, params),
            (Phase::New, _) => {
                let why = "the first request is `initialize`";
                return self.outbox.fail(id, ErrorCode::ServerNotInitialized, why);
            }
            (Phase::Running, "shutdown") => {
                self.phase = Phase::ShutDown;
                return self.outbox.respond(lsp_server::Response::new_ok(id, Value::Null));
            }
            (Phase::ShutDown, _) | (_, "initialize") => {
                let why = format!("`{method}` comes at the wrong time");
                return self.outbox.fail(id, ErrorCode::InvalidRequest, why);
            }
            (Phase::Running, _) => {}
        }
        let is_old = address(&params)
            .is_some_and(|uri| behind.iter().any(|event| event.changes() == Some(uri)));
        match method.as_str() {
            "textDocument/diagnostic" => self.pull(id, &params),
            _ if is_old => {
                self.outbox.fail(id, ErrorCode::ContentModified, "the text has changed since");
            }
            "workspace/symbol" => self.search(id, &params),
            _ => match dispatch::answer(&self.state, &method, params) {
                Ok(result) => self.outbox.respond_text(&id, &result),
                Err(DispatchError { code, why }) => self.outbox.fail(id, code, why),
            },
        }
    }

    fn initialize(&mut self, id: RequestId, params: Value) {
        let params: InitializeParams = match serde_json::from_value(params) {
            Ok(params) => params,
            Err(error) => return self.outbox.fail(id, ErrorCode::InvalidParams, error.to_string()),
        };
        let general = params.capabilities.general.as_ref();
        let offered = general.and_then(|general| general.position_encodings.as_deref());
        self.state.documents.unit = ColumnUnit::negotiate(offered);
        self.state.abilities = ClientAbilities::of(&params.capabilities);
        let folders = params.workspace_folders.unwrap_or_default();
        self.state.folders = folders.iter().filter_map(|folder| path_of(&folder.uri)).collect();
        if self.state.folders.is_empty() {
            #[allow(deprecated, reason = "older clients name one folder this way")]
            self.state.folders.extend(params.root_uri.as_ref().and_then(path_of));
        }
        self.phase = Phase::Running;
        let result = capabilities::initialize_result(self.state.documents.unit);
        self.outbox.respond(lsp_server::Response::new_ok(id, result));
    }

    fn search(&mut self, id: RequestId, params: &Value) {
        let words = params.get("query").and_then(Value::as_str).unwrap_or_default();
        let query = SymbolQuery {
            words: words.to_owned(),
            folders: self.state.folders.clone(),
            open: self.state.documents.all().cloned().collect(),
            unit: self.state.documents.unit,
        };
        if !self.worker.search(id.clone(), query) {
            self.outbox.fail(id, ErrorCode::RequestFailed, "too many searches wait");
        }
    }

    // Diagnostics --------------------------------------------------------------------------------

    /// A request for the diagnostics of a text, which waits until its newest state is checked.
    fn pull(&mut self, id: RequestId, params: &Value) {
        let uri = address(params).unwrap_or_default().to_owned();
        let document = uri.parse::<Uri>().ok().and_then(|uri| self.state.documents.get(&uri));
        let Some(document) = document else {
            return self.outbox.respond(lsp_server::Response::new_ok(id, report(None, Vec::new())));
        };
        if let Some((state, findings)) = self.state.findings.get(&uri)
            && *state == document.state
        {
            let known = params.get("previousResultId").and_then(Value::as_str);
            let result = match known == Some(state.to_string().as_str()) {
                true => unchanged_report(*state),
                false => report(Some(*state), as_items(findings)),
            };
            return self.outbox.respond(lsp_server::Response::new_ok(id, result));
        }
        let pulls = self.pulls.entry(uri).or_default();
        if pulls.len() >= MOST_PULLS {
            return self.outbox.fail(id, ErrorCode::RequestFailed, "too many requests wait");
        }
        pulls.push(id);
        self.worker.check(document);
    }

    /// Gives the findings of a text to those who wait, unless the text has changed since.
    fn checked(&mut self, document: &Arc<OpenText>, findings: Findings) {
        let newest = self.state.documents.get(&document.uri);
        if newest.is_none_or(|newest| newest.state != document.state) {
            return;
        }
        let uri = document.uri.as_str().to_owned();
        let items = as_items(&findings);
        if !self.state.abilities.pulls {
            self.outbox.notify(
                "textDocument/publishDiagnostics",
                json!({ "uri": uri, "version": document.version, "diagnostics": items }),
            );
        }
        for id in self.pulls.remove(&uri).unwrap_or_default() {
            let result = report(Some(document.state), items.clone());
            self.outbox.respond(lsp_server::Response::new_ok(id, result));
        }
        self.state.findings.insert(uri, (document.state, findings));
    }

    // Notifications ------------------------------------------------------------------------------

    fn notification(&mut self, notification: Notification) {
        if self.phase != Phase::Running {
            return;
        }
        let Notification { method, params } = notification;
        // Wrong parameters are ignored: a notification has no response.
        match method.as_str() {
            "textDocument/didOpen" => {
                if let Ok(DidOpenTextDocumentParams { text_document: one }) =
                    serde_json::from_value(params)
                {
                    let document =
                        self.state.documents.put(one.uri, one.version, one.text).map(Some);
                    self.replaced(document);
                }
            }
            "textDocument/didChange" => {
                if let Ok(change) = serde_json::from_value::<DidChangeTextDocumentParams>(params) {
                    let (uri, version) = (change.text_document.uri, change.text_document.version);
                    let document =
                        self.state.documents.change(&uri, version, change.content_changes);
                    self.replaced(document);
                }
            }
            "textDocument/didClose" => {
                if let Ok(closed) = serde_json::from_value::<DidCloseTextDocumentParams>(params) {
                    self.closed(&closed.text_document.uri);
                }
            }
            "workspace/didChangeWatchedFiles" if self.state.abilities.pulls => {
                self.outbox.request("workspace/diagnostic/refresh");
            }
            _ => {}
        }
    }

    /// A new state of a text: it is checked where the client is sent the result, or waits for one.
    fn replaced(&mut self, document: Result<Option<Arc<OpenText>>, String>) {
        match document {
            Ok(Some(document)) => {
                let uri = document.uri.as_str();
                let is_awaited = self.pulls.get(uri).is_some_and(|pulls| !pulls.is_empty());
                if !self.state.abilities.pulls || is_awaited {
                    self.worker.check(document);
                }
            }
            Ok(None) => {}
            Err(why) => {
                self.outbox.notify("window/showMessage", json!({ "type": 1, "message": why }))
            }
        }
    }

    fn closed(&mut self, uri: &Uri) {
        if !self.state.documents.close(uri) {
            return;
        }
        self.state.findings.remove(uri.as_str());
        for id in self.pulls.remove(uri.as_str()).unwrap_or_default() {
            let response =
                lsp_server::Response::new_err(id, SERVER_CANCELLED, "the text was closed".into());
            self.outbox.respond(response);
        }
        if !self.state.abilities.pulls {
            self.outbox.notify(
                "textDocument/publishDiagnostics",
                json!({ "uri": uri.as_str(), "diagnostics": [] }),
            );
        }
    }
}
