//! What the server offers.

use crate::features::semantic_tokens::legend;
use crate::text::ColumnUnit;
use serde_json::{Value, json};

/// The answer to `initialize`.
pub(super) fn initialize_result(unit: ColumnUnit) -> Value {
    json!({
        "serverInfo": { "name": "runnel", "version": env!("CARGO_PKG_VERSION") },
        "capabilities": {
            "positionEncoding": unit.kind(),
            "textDocumentSync": { "openClose": true, "change": 2, "save": false },
            "completionProvider": {
                "triggerCharacters": [":", "/", "#", " ", "{", "."],
                "resolveProvider": true,
            },
            "hoverProvider": true,
            "signatureHelpProvider": { "triggerCharacters": [":", " "] },
            "definitionProvider": true,
            "referencesProvider": true,
            "documentHighlightProvider": true,
            "documentSymbolProvider": true,
            "workspaceSymbolProvider": true,
            "codeActionProvider": { "codeActionKinds": ["quickfix", "source.fixAll"] },
            "codeLensProvider": { "resolveProvider": false },
            "documentLinkProvider": { "resolveProvider": false },
            "documentFormattingProvider": true,
            "documentRangeFormattingProvider": true,
            "renameProvider": { "prepareProvider": true },
            "foldingRangeProvider": true,
            "inlayHintProvider": true,
            "semanticTokensProvider": { "legend": legend(), "range": true, "full": true },
            "diagnosticProvider": {
                "identifier": "runnel",
                "interFileDependencies": false,
                "workspaceDiagnostics": false,
            },
        },
    })
}
