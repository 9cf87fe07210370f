//! The texts that the client has open.

use crate::analysis::{Analysis, ParsedText};
use crate::knowledge::Knowledge;
use crate::text::{ColumnUnit, LineMap, path_of};
use lsp_types::{Position, Range, TextDocumentContentChangeEvent, Uri};
use runnel_syntax::Span;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Texts that are open at most; further ones get no answers.
const MOST_DOCUMENTS: usize = 1_000;
/// The longest text that is kept, in bytes: twice what the parser reads, so that its error can be shown.
const LONGEST: usize = 2 * runnel_syntax::limits::MAX_SOURCE_BYTES;

/// One state of a text. Threads share it; it is read once, by the thread that asks first.
#[derive(Debug)]
pub(crate) struct OpenText {
    pub(crate) uri: Uri,
    /// The client's number of the state.
    pub(crate) version: i32,
    /// The server's number of the state, which no other state has.
    pub(crate) state: u64,
    pub(crate) text: String,
    pub(crate) unit: ColumnUnit,
    reading: OnceLock<Arc<ParsedText>>,
    analysis: OnceLock<Analysis>,
}

impl OpenText {
    pub(crate) fn new(
        uri: Uri,
        version: i32,
        state: u64,
        text: String,
        unit: ColumnUnit,
    ) -> OpenText {
        let (reading, analysis) = (OnceLock::new(), OnceLock::new());
        OpenText { uri, version, state, text, unit, reading, analysis }
    }

    pub(crate) fn analysis(&self, knowledge: &Knowledge) -> &Analysis {
        let analyse = || Analysis::of(self.reading().clone(), &self.text, knowledge);
        self.analysis.get_or_init(analyse)
    }

    /// The first half of the analysis, for the diagnostics.
    pub(crate) fn reading(&self) -> &Arc<ParsedText> {
        self.reading.get_or_init(|| Arc::new(ParsedText::of(&self.text)))
    }

    pub(crate) fn range(&self, span: Span) -> Range {
        self.reading().lines.range(&self.text, span, self.unit)
    }
}

/// A text with its analysis, for one request.
#[derive(Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) document: &'a OpenText,
    pub(crate) analysis: &'a Analysis,
    pub(crate) knowledge: &'a Knowledge,
}

impl<'a> View<'a> {
    pub(crate) fn new(document: &'a OpenText, knowledge: &'a Knowledge) -> View<'a> {
        View { document, analysis: document.analysis(knowledge), knowledge }
    }

    pub(crate) fn text(&self) -> &'a str {
        &self.document.text
    }

    pub(crate) fn offset(&self, position: Position) -> u32 {
        self.analysis.lines.offset(self.text(), position, self.document.unit)
    }

    pub(crate) fn position(&self, offset: u32) -> Position {
        self.analysis.lines.position(self.text(), offset, self.document.unit)
    }

    pub(crate) fn range(&self, span: Span) -> Range {
        self.document.range(span)
    }

    pub(crate) fn span(&self, range: Range) -> Span {
        let start = self.offset(range.start);
        Span::new(start, self.offset(range.end).max(start))
    }

    /// Where the program may be started: in the folder of its file, or in one of the workspace.
    pub(crate) fn bases(&self, folders: &[PathBuf]) -> Vec<PathBuf> {
        let own = path_of(&self.document.uri).and_then(|path| path.parent().map(Path::to_path_buf));
        let mut bases: Vec<PathBuf> = own.into_iter().collect();
        for folder in folders {
            if !bases.contains(folder) {
                bases.push(folder.clone());
            }
        }
        bases
    }
}

/// All open texts.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    open: HashMap<String, Arc<OpenText>>,
    states: u64,
    pub(crate) unit: ColumnUnit,
}

impl Documents {
    pub(crate) fn get(&self, uri: &Uri) -> Option<Arc<OpenText>> {
        self.open.get(uri.as_str()).cloned()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Arc<OpenText>> {
        self.open.values()
    }

    /// Opens a text, or replaces it.
    pub(crate) fn put(
        &mut self,
        uri: Uri,
        version: i32,
        text: String,
    ) -> Result<Arc<OpenText>, String> {
        let key = uri.as_str().to_owned();
        if text.len() > LONGEST {
            self.open.remove(&key);
            return Err(format!("{key} is longer than {} MiB", LONGEST >> 20));
        }
        if self.open.len() >= MOST_DOCUMENTS && !self.open.contains_key(&key) {
            return Err(format!("{MOST_DOCUMENTS} files are open: close some"));
        }
        self.states += 1;
        let document = Arc::new(OpenText::new(uri, version, self.states, text, self.unit));
        self.open.insert(key, document.clone());
        Ok(document)
    }

    /// Applies the changes of a text in order.
    pub(crate) fn change(
        &mut self,
        uri: &Uri,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
    ) -> Result<Option<Arc<OpenText>>, String> {
        let Some(document) = self.get(uri) else { return Ok(None) };
        let mut text = match changes.first() {
            Some(first) if first.range.is_none() => String::new(),
            _ => document.text.clone(),
        };
        for change in changes {
            match change.range {
                None => text = change.text,
                Some(range) => apply(&mut text, range, &change.text, self.unit),
            }
            if text.len() > LONGEST {
                break;
            }
        }
        self.put(uri.clone(), version, text).map(Some)
    }

    pub(crate) fn close(&mut self, uri: &Uri) -> bool {
        self.open.remove(uri.as_str()).is_some()
    }
}

fn apply(text: &mut String, range: Range, new: &str, unit: ColumnUnit) {
    let lines = LineMap::new(text);
    let start = lines.offset(text, range.start, unit) as usize;
    let end = (lines.offset(text, range.end, unit) as usize).max(start);
    text.replace_range(start..end, new);
}
