//! The definitions of all programs in the folders of the workspace.

use super::symbols::symbol_kind;
use crate::analysis::outline::{OutlineItem, outline};
use crate::documents::{OpenText, View};
use crate::knowledge::Knowledge;
use crate::text::{ColumnUnit, LineMap, address_of};
use lsp_types::{Location, Range, SymbolInformation, SymbolKind, Uri};
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// Programs that are read.
const MOST_FILES: usize = 2_000;
/// Entries of folders that are looked at.
const MOST_ENTRIES: usize = 50_000;
/// Folders in each other.
const DEEPEST: usize = 16;
/// Definitions that are answered.
const MOST_SYMBOLS: usize = 500;

/// What is searched.
pub(crate) struct SymbolQuery {
    pub(crate) words: String,
    pub(crate) folders: Vec<PathBuf>,
    /// Their newest state counts, rather than that of the file.
    pub(crate) open: Vec<Arc<OpenText>>,
    pub(crate) unit: ColumnUnit,
}

/// One definition of a file.
#[derive(Clone)]
struct SymbolEntry {
    name: String,
    container: Option<String>,
    kind: SymbolKind,
    range: Range,
}

/// The definitions of files, as they were when a file was read last.
#[derive(Default)]
pub(crate) struct FolderIndex {
    files: HashMap<PathBuf, (SystemTime, Vec<SymbolEntry>)>,
}

impl FolderIndex {
    /// The definitions whose names have the letters of a text in this order, in open texts first.
    pub(crate) fn symbols(
        &mut self,
        query: &SymbolQuery,
        knowledge: &Knowledge,
    ) -> Vec<SymbolInformation> {
        let mut found = Vec::new();
        let mut seen = Vec::new();
        for document in &query.open {
            let view = View::new(document, knowledge);
            let mut entries = Vec::new();
            collect(&view.analysis.outline, None, &|span| view.range(span), &mut entries);
            add(&entries, &document.uri, &query.words, &mut found);
            seen.push(document.uri.as_str().to_owned());
        }
        for path in programs(&query.folders) {
            let Some(uri) = address_of(&path) else { continue };
            if found.len() >= MOST_SYMBOLS || seen.contains(&uri.as_str().to_owned()) {
                continue;
            }
            let entries = self.entries(&path, query.unit);
            add(entries, &uri, &query.words, &mut found);
        }
        found.truncate(MOST_SYMBOLS);
        found
    }

    fn entries(&mut self, path: &Path, unit: ColumnUnit) -> &[SymbolEntry] {
        let metadata = std::fs::metadata(path).ok();
        let changed =
            metadata.as_ref().and_then(|one| one.modified().ok()).unwrap_or(SystemTime::UNIX_EPOCH);
        let is_short =
            metadata.is_some_and(|one| one.len() <= runnel_syntax::limits::MAX_SOURCE_BYTES as u64);
        let known = self.files.get(path).is_some_and(|(time, _)| *time == changed);
        if !known {
            let text =
                is_short.then(|| std::fs::read_to_string(path).ok()).flatten().unwrap_or_default();
            let lines = LineMap::new(&text);
            let mut entries = Vec::new();
            let items = outline(&runnel_syntax::parse(&text).program);
            collect(&items, None, &|span| lines.range(&text, span, unit), &mut entries);
            if self.files.len() >= MOST_FILES {
                self.files.clear();
            }
            self.files.insert(path.to_path_buf(), (changed, entries));
        }
        self.files.get(path).map_or(&[], |(_, entries)| entries)
    }
}

fn collect(
    items: &[OutlineItem],
    container: Option<&str>,
    range: &dyn Fn(runnel_syntax::Span) -> Range,
    entries: &mut Vec<SymbolEntry>,
) {
    for item in items {
        entries.push(SymbolEntry {
            name: item.name.clone(),
            container: container.map(str::to_owned),
            kind: symbol_kind(item.kind),
            range: range(item.name_span),
        });
        collect(&item.children, Some(&item.name), range, entries);
    }
}

fn add(entries: &[SymbolEntry], uri: &Uri, words: &str, found: &mut Vec<SymbolInformation>) {
    let room = MOST_SYMBOLS.saturating_sub(found.len());
    let fitting = entries.iter().filter(|entry| fits(&entry.name, words)).take(room);
    #[allow(deprecated, reason = "the type has a field that is deprecated")]
    found.extend(fitting.map(|entry| SymbolInformation {
        name: entry.name.clone(),
        kind: entry.kind,
        tags: None,
        deprecated: None,
        location: Location { uri: uri.clone(), range: entry.range },
        container_name: entry.container.clone(),
    }));
}

fn fits(name: &str, words: &str) -> bool {
    let mut letters = name.chars().flat_map(char::to_lowercase);
    let mut wanted = words.chars().flat_map(char::to_lowercase);
    wanted.all(|one| letters.any(|letter| letter == one))
}

/// The programs below folders.
fn programs(folders: &[PathBuf]) -> Vec<PathBuf> {
    const SKIPPED: [&str; 3] = ["node_modules", "target", "dist"];
    let mut found = Vec::new();
    let mut pending: Vec<(PathBuf, usize)> =
        folders.iter().map(|folder| (folder.clone(), 0)).collect();
    let mut left = MOST_ENTRIES;
    while let Some((folder, depth)) = pending.pop() {
        let Ok(entries) = std::fs::read_dir(folder) else { continue };
        for entry in entries.flatten() {
            if left == 0 || found.len() >= MOST_FILES {
                return found;
            }
            left -= 1;
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir()
                && depth < DEEPEST
                && !name.starts_with('.')
                && !SKIPPED.contains(&&*name)
            {
                pending.push((entry.path(), depth + 1));
            } else if kind.is_file() && runnel_syntax::is_program(Path::new(&*name)) {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    found
}
