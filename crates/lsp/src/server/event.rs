//! What the loop of the server handles.

use super::transport::Incoming;
use crate::documents::OpenText;
use crate::features::diagnostics::Findings;
use lsp_server::{Message, RequestId};
use lsp_types::SymbolInformation;
use serde_json::Value;
use std::sync::Arc;

/// What the loop handles.
pub(super) enum Event {
    Read(Incoming),
    /// A text was checked.
    Checked(Arc<OpenText>, Findings),
    /// The folder was searched.
    Found(RequestId, Vec<SymbolInformation>),
}

impl Event {
    /// The request that a message cancels.
    pub(super) fn cancelled(&self) -> Option<RequestId> {
        match self {
            Event::Read(Incoming::Message(Message::Notification(one)))
                if one.method == "$/cancelRequest" =>
            {
                serde_json::from_value(one.params.get("id")?.clone()).ok()
            }
            _ => None,
        }
    }

    pub(super) fn request(&self) -> Option<&RequestId> {
        match self {
            Event::Read(Incoming::Message(Message::Request(request))) => Some(&request.id),
            _ => None,
        }
    }

    /// The address of the text that a message changes.
    pub(super) fn changes(&self) -> Option<&str> {
        match self {
            Event::Read(Incoming::Message(Message::Notification(one)))
                if one.method == "textDocument/didChange" =>
            {
                address(&one.params)
            }
            _ => None,
        }
    }
}

/// The address of the text that parameters name.
pub(super) fn address(params: &Value) -> Option<&str> {
    params.get("textDocument")?.get("uri")?.as_str()
}
