//! What requests are answered from: open texts, what the client can do, what was found.

use crate::documents::Documents;
use crate::features::diagnostics::Findings;
use crate::knowledge::Knowledge;
use lsp_types::ClientCapabilities;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

/// What the client can do.
#[derive(Debug, Default)]
pub(super) struct ClientAbilities {
    /// It asks for diagnostics itself.
    pub(super) pulls: bool,
    pub(super) snippets: bool,
    /// It takes definitions with their whole span.
    pub(super) links: bool,
}

impl ClientAbilities {
    pub(super) fn of(capabilities: &ClientCapabilities) -> ClientAbilities {
        let text = capabilities.text_document.as_ref();
        let item = text.and_then(|text| text.completion.as_ref()?.completion_item.as_ref());
        let definition = text.and_then(|text| text.definition.as_ref());
        ClientAbilities {
            pulls: text.is_some_and(|text| text.diagnostic.is_some()),
            snippets: item.and_then(|item| item.snippet_support).unwrap_or(false),
            links: definition.and_then(|one| one.link_support).unwrap_or(false),
        }
    }
}

/// The state of one client.
pub(super) struct EditorState {
    pub(super) knowledge: Arc<Knowledge>,
    pub(super) documents: Documents,
    pub(super) abilities: ClientAbilities,
    /// The folders of the workspace.
    pub(super) folders: Vec<PathBuf>,
    /// By address, with the number of the state that was checked.
    pub(super) findings: HashMap<String, (u64, Findings)>,
}

impl EditorState {
    pub(super) fn new(knowledge: Arc<Knowledge>) -> EditorState {
        EditorState {
            knowledge,
            documents: Documents::default(),
            abilities: ClientAbilities::default(),
            folders: Vec::new(),
            findings: HashMap::new(),
        }
    }
}
