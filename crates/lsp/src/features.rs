//! What editors show: one file for each kind of request. A feature gets a [`View`](crate::documents::View) of a text
//! and answers values of the protocol; none keeps state, but for the folder's definitions.

pub(crate) mod code_actions;
pub(crate) mod completion;
pub(crate) mod diagnostics;
pub(crate) mod formatting;
pub(crate) mod hover;
pub(crate) mod inlay_hints;
pub(crate) mod lenses;
pub(crate) mod markdown;
pub(crate) mod navigation;
pub(crate) mod rename;
pub(crate) mod semantic_tokens;
pub(crate) mod signature;
pub(crate) mod symbols;
pub(crate) mod workspace;
