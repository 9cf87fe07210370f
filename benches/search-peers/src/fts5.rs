//! SQLite's FTS5 with an index of beginnings, without the texts themselves.

use crate::catalogue::Catalogue;
use crate::{Engine, PAGE, size_of};
use rusqlite::Connection;
use std::path::{Path, PathBuf};

pub(crate) struct Fts5 {
    connection: Connection,
    folder: PathBuf,
}

impl Fts5 {
    pub(crate) fn new(catalogue: &Catalogue, books: i64, folder: &Path) -> Fts5 {
        let mut connection = Connection::open(folder.join("books.db")).expect("a new database");
        let setup =
            "PRAGMA journal_mode = off; PRAGMA synchronous = off; PRAGMA cache_size = -400000;
            CREATE VIRTUAL TABLE books
            USING fts5(title, author, content = '', prefix = '1 2 3 4', detail = full);";
        connection.execute_batch(setup).expect("FTS5 is compiled in");
        let transaction = connection.transaction().expect("nobody else is there");
        {
            let sql = "INSERT INTO books(rowid, title, author) VALUES (?1, ?2, ?3)";
            let mut insert = transaction.prepare(sql).expect("the table exists");
            for book in catalogue.books(books) {
                insert.execute((book.id, &book.title, &book.author)).expect("room on the disk");
            }
        }
        transaction.commit().expect("room on the disk");
        let merge = "INSERT INTO books(books) VALUES ('optimize')";
        connection.execute_batch(merge).expect("room on the disk");
        Fts5 { connection, folder: folder.to_owned() }
    }
}

impl Engine for Fts5 {
    fn name(&self) -> &'static str {
        "fts5"
    }

    fn ask(&mut self, words: &[&str]) -> (usize, usize) {
        let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
        let query = format!("{}*", quoted.join(" AND "));
        let count = "SELECT count(*) FROM books WHERE books MATCH ?1";
        let mut count = self.connection.prepare_cached(count).expect("a query");
        let count: i64 = count.query_row([&query], |row| row.get(0)).expect("a number");
        let page = "SELECT rowid FROM books WHERE books MATCH ?1 LIMIT ?2";
        let mut page = self.connection.prepare_cached(page).expect("a query");
        let ids = page.query_map((&query, PAGE as i64), |row| row.get::<_, i64>(0)).expect("rows");
        (count as usize, ids.filter_map(Result::ok).count())
    }

    fn on_disk(&self) -> u64 {
        size_of(&self.folder)
    }
}
