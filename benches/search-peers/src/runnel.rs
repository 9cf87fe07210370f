//! The project's engine, in memory, as an interpretation of each word by its field: the number that
//! it answers counts documents once for each way to read the query.

use crate::catalogue::{Book, Catalogue};
use crate::{Engine, PAGE};
use runnel_search::{
    Category, Document, IndexConfig, Partial, Request, Search, SearchAnswer, SearchConfig,
    SearchIndex,
};

pub(crate) struct Runnel {
    search: Search,
    answer: SearchAnswer,
    json: Vec<u8>,
    query: String,
}

impl Runnel {
    pub(crate) fn new(catalogue: &Catalogue, books: i64) -> Runnel {
        let parts = || Partial::substring(1, -1);
        let config = IndexConfig::new("books")
            .category(Category::new("title").partial(parts()))
            .category(Category::new("author").partial(parts()));
        let mut index = SearchIndex::new(config).expect("two categories");
        let document = |book: Book| {
            Document::new(book.id).with("title", book.title).with("author", book.author)
        };
        index.load(catalogue.books(books).map(document));
        let search = Search::over(index, SearchConfig::new()).expect("one index");
        Runnel { search, answer: SearchAnswer::new(), json: Vec::new(), query: String::new() }
    }
}

impl Engine for Runnel {
    fn name(&self) -> &'static str {
        "runnel"
    }

    fn ask(&mut self, words: &[&str]) -> (usize, usize) {
        self.query.clear();
        for word in words {
            self.query.push_str(word);
            self.query.push(' ');
        }
        let request = Request::new().ids(PAGE as i64);
        self.search.search_into(&self.query, &request, &mut self.answer);
        self.json.clear();
        self.answer.write_json(&mut self.json);
        (self.answer.total(), self.answer.ids().len())
    }

    fn on_disk(&self) -> u64 {
        0
    }
}
