//! Highlights and snippets of the documents of an answer, as JSON.

use super::SearchStore;
use super::search_parameters::SearchParameters;
use crate::answer::highlight::{Highlighter, Markers};
use crate::answer::search_answer::SearchAnswer;
use crate::collection::document::{Document, DocumentField};
use crate::collection::id::{self, Id};
use crate::collection::json_record;
use crate::format::json::write_string;
use crate::limits::MAX_HIGHLIGHTED_DOCUMENTS;
use crate::search::{SharedIndex, read_index};
use crate::site::PageSource;

impl SearchStore {
    /// Writes `{"index":…,"id":…,"highlight":{…},"snippet":{…}}` for each document of a page, in
    /// order. A field of a highlight is its text with the matches marked, or a list if it has
    /// several texts; fields without matches are left out. Fields of a snippet are always present.
    pub(super) fn write_highlights(
        &self,
        asked: &SearchParameters<'_>,
        found: &SearchAnswer,
        out: &mut Vec<u8>,
    ) {
        let of_rows = found.allocations().flat_map(|row| {
            let index = row.index();
            row.ids().iter().map(move |id| (index, id))
        });
        let flat = found.flat.iter().flat_map(|flat| &flat.ids);
        let flat = flat.map(|(index, id)| (usize::from(*index), id));
        let shown: Vec<(usize, &Id)> =
            of_rows.chain(flat).take(MAX_HIGHLIGHTED_DOCUMENTS).collect();
        let indexes: Vec<SharedIndex> =
            self.members.iter().map(|member| member.collection().index().clone()).collect();
        let guards: Vec<_> = indexes.iter().map(read_index).collect();
        let highlighters: Vec<_> =
            guards.iter().map(|index| Highlighter::new(index, found)).collect();
        out.push(b'[');
        for (number, (index, id)) in shown.into_iter().enumerate() {
            if number > 0 {
                out.push(b',');
            }
            out.extend_from_slice(b"{\"index\":");
            let name = guards.get(index).map_or("", |index| index.identifier());
            write_string(name, out);
            out.extend_from_slice(b",\"id\":");
            id::write_list(std::slice::from_ref(id), out);
            let document = self.document(index, id);
            let document = document.and_then(|text| json_record::document(id.clone(), &text).ok());
            if let (Some(document), Some(highlighter)) = (document, highlighters.get(index)) {
                let matches = Matches { highlighter, document: &document, asked };
                matches.write(self.markers(), out);
            }
            out.push(b'}');
        }
        out.push(b']');
    }
}

/// The matches in one document.
struct Matches<'a> {
    highlighter: &'a Highlighter<'a>,
    document: &'a Document,
    asked: &'a SearchParameters<'a>,
}

impl Matches<'_> {
    fn write(&self, markers: &Markers, out: &mut Vec<u8>) {
        if !self.asked.highlight.is_empty() {
            out.extend_from_slice(b",\"highlight\":{");
            let marked = |field: &str, text: &str| match self.asked.positions {
                true => self.positions(field, text),
                false => self.highlighter.mark(field, text, markers).map(json),
            };
            self.write_fields(&self.asked.highlight, marked, out);
            out.push(b'}');
        }
        if !self.asked.snippet.is_empty() {
            out.extend_from_slice(b",\"snippet\":{");
            let words = self.asked.words;
            let snippet = |field: &str, text: &str| {
                Some(json(self.highlighter.snippet(field, text, words, markers)))
            };
            self.write_fields(&self.asked.snippet, snippet, out);
            out.push(b'}');
        }
    }

    /// The ranges of matches, in characters: `[[4,11],[15,20]]`.
    fn positions(&self, field: &str, text: &str) -> Option<Vec<u8>> {
        let matches = self.highlighter.matches(field, text);
        let (mut at, mut characters) = (0, 0);
        let mut out = Vec::new();
        for place in &matches {
            let start = characters + text[at..place.start].chars().count();
            characters = start + text[place.clone()].chars().count();
            at = place.end;
            out.push(if out.is_empty() { b'[' } else { b',' });
            out.extend_from_slice(format!("[{start},{characters}]").as_bytes());
        }
        out.push(b']');
        (!matches.is_empty()).then_some(out)
    }

    fn write_fields(
        &self,
        names: &[String],
        value: impl Fn(&str, &str) -> Option<Vec<u8>>,
        out: &mut Vec<u8>,
    ) {
        let mut first = true;
        for name in names {
            let (texts, several) = match self.document.field(name) {
                None => continue,
                Some(DocumentField::Text(text)) => (std::slice::from_ref(text), false),
                Some(DocumentField::Texts(texts) | DocumentField::Words(texts)) => {
                    (&texts[..], true)
                }
            };
            let values: Vec<Vec<u8>> = texts.iter().filter_map(|text| value(name, text)).collect();
            if values.is_empty() {
                continue;
            }
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            write_string(name, out);
            out.push(b':');
            let list = values.join(&b',');
            match several {
                true => out.extend([&b"["[..], &list, b"]"].concat()),
                false => out.extend(list),
            }
        }
    }
}

fn json(text: String) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() + 2);
    write_string(&text, &mut out);
    out
}
