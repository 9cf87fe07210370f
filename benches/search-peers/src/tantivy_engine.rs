//! Tantivy with one segment. Beginnings are looked up in its dictionary, or indexed as words of fields
//! of their own.

use crate::catalogue::Catalogue;
use crate::{Engine, PAGE, size_of};
use std::path::{Path, PathBuf};
use tantivy::collector::{Count, TopDocs};
use tantivy::query::{BooleanQuery, FuzzyTermQuery, Occur, Query, TermQuery};
use tantivy::schema::{
    FAST, Field, IndexRecordOption, NumericOptions, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::{LowerCaser, SimpleTokenizer, TextAnalyzer};
use tantivy::{Index, Searcher, TantivyDocument, Term};

/// Memory that tantivy may use for loading.
const LOADING_BYTES: usize = 400 << 20;

pub(crate) struct Tantivy {
    searcher: Searcher,
    words: [Field; 2],
    /// The fields of beginnings, if they are indexed.
    beginnings: Option<[Field; 2]>,
    folder: PathBuf,
}

impl Tantivy {
    pub(crate) fn new(catalogue: &Catalogue, books: i64, folder: &Path, parts: bool) -> Tantivy {
        let mut schema = Schema::builder();
        let id = schema.add_i64_field("id", NumericOptions::default() | FAST);
        let indexing = TextFieldIndexing::default()
            .set_tokenizer("words")
            .set_index_option(IndexRecordOption::Basic)
            .set_fieldnorms(false);
        let of_words = TextOptions::default().set_indexing_options(indexing);
        let words = ["title", "author"].map(|name| schema.add_text_field(name, of_words.clone()));
        let beginnings = parts.then(|| {
            ["title_parts", "author_parts"]
                .map(|name| schema.add_text_field(name, of_words.clone()))
        });
        let index = Index::create_in_dir(folder, schema.build()).expect("a new index");
        let analyzer = TextAnalyzer::builder(SimpleTokenizer::default()).filter(LowerCaser);
        index.tokenizers().register("words", analyzer.build());
        let mut writer =
            index.writer_with_num_threads(1, LOADING_BYTES).expect("memory for loading");
        for book in catalogue.books(books) {
            let mut document = TantivyDocument::default();
            document.add_i64(id, book.id);
            for (number, text) in [&book.title, &book.author].into_iter().enumerate() {
                document.add_text(words[number], text);
                if let Some(beginnings) = beginnings {
                    document.add_text(beginnings[number], beginnings_of(text));
                }
            }
            writer.add_document(document).expect("room on the disk");
        }
        writer.commit().expect("room on the disk");
        let segments = index.searchable_segment_ids().expect("an index");
        if segments.len() > 1 {
            writer.merge(&segments).wait().expect("room on the disk");
        }
        writer.wait_merging_threads().expect("room on the disk");
        let searcher = index.reader().expect("an index").searcher();
        Tantivy { searcher, words, beginnings, folder: folder.to_owned() }
    }

    /// A word in either field.
    fn either(&self, word: &str, beginning: bool) -> Box<dyn Query> {
        let parts = self.beginnings.filter(|_| beginning);
        let fields = parts.unwrap_or(self.words);
        let query = |field: Field| -> Box<dyn Query> {
            let term = Term::from_field_text(field, word);
            match beginning && parts.is_none() {
                true => Box::new(FuzzyTermQuery::new_prefix(term, 0, false)),
                false => Box::new(TermQuery::new(term, IndexRecordOption::Basic)),
            }
        };
        Box::new(BooleanQuery::union(fields.map(query).into()))
    }
}

impl Engine for Tantivy {
    fn name(&self) -> &'static str {
        if self.beginnings.is_some() { "tantivy-parts" } else { "tantivy" }
    }

    fn ask(&mut self, words: &[&str]) -> (usize, usize) {
        let clauses = words
            .iter()
            .enumerate()
            .map(|(number, word)| (Occur::Must, self.either(word, number + 1 == words.len())));
        let query = BooleanQuery::new(clauses.collect());
        let page = TopDocs::with_limit(PAGE).order_by_score();
        let (count, page) = self.searcher.search(&query, &(Count, page)).expect("an answer");
        (count, page.len())
    }

    fn on_disk(&self) -> u64 {
        size_of(&self.folder)
    }
}

/// All beginnings of all words.
fn beginnings_of(text: &str) -> String {
    let words = text.split(' ');
    let parts: Vec<&str> =
        words.flat_map(|word| (1..=word.len()).filter_map(|end| word.get(..end))).collect();
    parts.join(" ")
}
