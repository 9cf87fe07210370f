//! Queries mean the same in memory, on SQLite and on PostgreSQL: each expression runs on the rows of a table and on an
//! array of the same rows, and all answers are compared. Programs of examples that query run on both databases.

use crate::support::{Folder, Process, examples, run, runnel};
use runnel_scratch::{Server, Service};
use std::path::Path;

/// The tables, and the rows as an array of objects that load their relations.
const TABLES: &str = "\
#-main:<ref>database
class Country { var <int> id. var <string> name. }
class Author { var <int> id. var <string> name. var <Country> country. }
class Book {
   var <int> id.
   var <string> title.
   var <Author> author.
   var <int> year.
   var <int> pages.
   var <float> rating.
   var <decimal> price.
   var <bool> lent.
   var <date> added.
   var <int> stock.
   var <int> sold.
}
countries ← database table: Country.
countries insertAll: [ #{ name: 'England' }, #{ name: 'France' } ].
authors ← database table: Author.
authors insertAll: [ #{ name: 'Jane Austen', country: 1 }, #{ name: 'Émile Zola', country: 2 },
   #{ name: 'Anonymous', country: nil } ].
books ← database table: Book.
books insertAll: [
   #{ title: 'Emma', author: 1, year: 1815, pages: 474, rating: 4.5, price: '12.30', lent: true,
      added: '2026-01-02T03:04:05Z', stock: 3, sold: 5 },
   #{ title: 'PERSUASION', author: 1, year: 1817, pages: 249, rating: 3.5, price: '2.20', lent: false,
      added: '2026-01-03T03:04:05Z', stock: 7, sold: 1 },
   #{ title: 'Germinal', author: 2, year: 1885, pages: 591, rating: 5.0, price: '0.10', lent: false,
      added: nil, stock: 0, sold: 0 },
   #{ title: 'Nana é', author: 2, year: 1880, pages: 470, rating: 2.25, price: '12.3', lent: true,
      added: '2025-12-31T00:00:00Z', stock: 1, sold: 9 },
   #{ title: 'Beowulf', author: 3, year: nil, pages: 100, rating: nil, price: nil, lent: nil,
      added: nil, stock: 2, sold: 2 },
   #{ title: 'Letters', author: nil, year: 1817, pages: 249, rating: 1.0, price: '3', lent: true,
      added: nil, stock: nil, sold: 4 }
].
";

/// Expressions over `ROWS`.
const EXPRESSIONS: [&str; 44] = [
    "(ROWS[{ author name = 'Jane Austen' }]) collect: 'title'",
    "(ROWS[{ author name ≠ 'Jane Austen' }]) collect: 'title'",
    "(ROWS[{ author name hasPrefix: 'É' }]) collect: 'title'",
    "(ROWS[{ author country name = 'France' and: { pages > 500 } }]) collect: 'title'",
    "(ROWS[{ author country name isNil }]) collect: 'title'",
    "(ROWS select: { :b | b author name lowercaseString contains: 'zola' }) collect: { :b | b title }",
    "(ROWS select: { :b | b author name = b title }) count",
    "(ROWS sorted: { :b | b author name }) collect: { :b | b title }",
    "(ROWS sorted: { :b | b author country name }) collect: { :b | b title }",
    "ROWS collect: { :b | b title }",
    "(ROWS[{ sold > stock }]) collect: 'title'",
    "(ROWS[{ sold = stock }]) collect: 'title'",
    "(ROWS[{ sold ≠ stock }]) collect: 'title'",
    "(ROWS[{ (sold > stock) not }]) collect: 'title'",
    "(ROWS reject: { :b | b sold ≤ b stock }) collect: 'title'",
    "(ROWS[{ stock notNil and: { stock + sold > 7 } }]) collect: 'title'",
    "(ROWS[{ pages * 2 - 8 = 940 }]) collect: 'title'",
    "(ROWS[{ pages / 2 = 237 }]) collect: 'title'",
    "(ROWS[{ pages / 2 > 124.25 }]) collect: 'title'",
    "(ROWS[{ title lowercaseString = 'persuasion' }]) collect: 'title'",
    "(ROWS[{ title uppercaseString = 'NANA É' }]) collect: 'title'",
    "(ROWS[{ title lowercaseString hasPrefix: 'p' }]) collect: 'title'",
    "(ROWS[{ title lowercaseString hasSuffix: 'l' }]) collect: 'title'",
    "(ROWS[{ title length > 6 }]) collect: 'title'",
    "(ROWS[{ title length = pages }]) count",
    "(ROWS sorted: { :b | b title length }) collect: 'id'",
    "(ROWS sorted: { :b | b title lowercaseString }) collect: 'title'",
    "(ROWS groupBy: { :b | b lent }) collect: { :g | #{ lent: g key, n: g count } }",
    "(ROWS groupBy: { :b | b author }) collect: { :g | g count }",
    "(ROWS groupBy: { :b | b title length }) collect: { :g | #{ length: g key, n: g count } }",
    "(ROWS groupBy: 'year') collect: { :g | #{ year: g key, pages: g sum: 'pages', mean: g average: 'pages' } }",
    "(ROWS groupBy: 'pages') collect: { :g | #{ n: g count, titles: (g distinct: 'title') count } }",
    "(ROWS groupBy: 'lent') collect: { :g | #{ most: (g collect: 'pages') max, least: (g collect: 'pages') min } }",
    "(ROWS groupBy: 'lent') collect: { :g | (g max: 'pages') pages }",
    "(ROWS groupBy: 'lent') collect: { :g | (g sum: { :b | b pages * 2 }) + g count }",
    "((ROWS groupBy: 'lent') select: { :g | g count > 1 }) collect: { :g | g key }",
    "((ROWS groupBy: 'lent') reject: { :g | (g sum: 'pages') > 400 }) collect: { :g | g key }",
    "((ROWS groupBy: 'author') sorted: { :g | g sum: 'pages' }) collect: { :g | g count }",
    "ROWS distinct: 'year'",
    "ROWS distinct: { :b | b lent }",
    "ROWS sum: 'pages'",
    "ROWS sum: { :b | b pages * 2 }",
    "ROWS average: 'pages'",
    "(ROWS max: { :b | b pages * 2 }) title",
];

/// Runs a program with a database as its argument, and answers the lines that it prints.
fn lines(folder: &Folder, program: &str, database: &str) -> Vec<String> {
    folder.write("queries.st", program);
    let mut command = runnel();
    let outcome = run(command.args(["queries.st", database]).current_dir(folder.path("")));
    assert_eq!(outcome.status, 0, "{}{}", outcome.out, outcome.err);
    outcome.out.lines().map(String::from).collect()
}

/// A program that prints each expression over the rows as JSON.
fn program(rows: &str) -> String {
    let print = |expression: &&str| {
        let over = expression.replace("ROWS", rows);
        format!("stdout println: ({{ {over} }} onError: {{ :e | e message }}) asJSON.\n")
    };
    let prints: Vec<String> = EXPRESSIONS.iter().map(print).collect();
    format!("{TABLES}array ← books select asArray.\n{}", prints.concat())
}

#[test]
fn queries_mean_the_same_in_memory_and_in_both_databases() {
    let folder = Folder::new();
    let expected = lines(&folder, &program("array"), "sqlite::memory:");
    let check = |database: &str, found: Vec<String>| {
        assert_eq!(found.len(), EXPRESSIONS.len());
        for ((expression, found), expected) in EXPRESSIONS.iter().zip(found).zip(&expected) {
            assert_eq!(found, *expected, "{expression} on {database}");
        }
    };
    check("sqlite", lines(&folder, &program("books"), "sqlite::memory:"));
    if let Some(server) = Server::for_test(Service::Postgres) {
        check("postgres", lines(&folder, &program("books"), &server.url()));
    }
}

/// The example of a library, on both databases.
#[test]
fn the_lending_library_runs_on_both_databases() {
    let expected = std::fs::read_to_string(examples().join("expected/lending.out")).unwrap();
    let said = |database: &str| {
        let mut command = runnel();
        let program: &Path = &examples().join("lending.st");
        let outcome = run(command.arg(program).arg(database));
        assert_eq!(outcome.status, 0, "{}", outcome.err);
        outcome.out
    };
    assert_eq!(said("sqlite::memory:"), expected);
    if let Some(server) = Server::for_test(Service::Postgres) {
        assert_eq!(said(&server.url()), expected);
    }
}

#[test]
fn slow_statements_are_logged_once_without_their_values() {
    let Some(server) = Server::for_test(Service::Postgres) else { return };
    let folder = Folder::new();
    let statement = "select 1 as one from pg_sleep(1.2) where $1 <> 'x'";
    let run_it = format!("(database run: \"{statement}\" with: [ 'secret' ]) asArray.\n");
    folder.write("slow.st", format!("#-main:<ref>database\n{run_it}{run_it}"));
    let mut command = runnel();
    let outcome = run(command.args(["slow.st", &server.url()]).current_dir(folder.path("")));
    assert_eq!(outcome.status, 0, "{outcome:?}");
    assert_eq!(outcome.err.matches("slow statement").count(), 1, "{}", outcome.err);
    assert!(outcome.err.contains("pg_sleep(1.2) where $1"), "{}", outcome.err);
    assert!(!outcome.err.contains("secret"), "{}", outcome.err);
}

/// Counts words from several fibers and from two processes at once.
const WORDS: &str = "\
#-main:<ref>database
class Word { var <int> id. var <string unique> text. var <int> count ← 0. }
words ← database table: Word.
(1 to: 20) asArray concurrently do: { :i |
   words upsert: #{ text: \"word {i mod: 4}\" } by: 'text'.
   words[{ text = \"word {i mod: 4}\" }] updateAll: { :word | #{ count: word count + 1 } }
}.
";

#[test]
fn upserts_at_once_insert_a_row_once() {
    let check = |database: &str, folder: &Folder| {
        folder.write("words.st", WORDS);
        folder.write("total.st", WORDS.split("(1 to").next().unwrap().to_string() + SHOW);
        let start = |program: &str| {
            let mut command = runnel();
            Process::start(command.args([program, database]).current_dir(folder.path("")))
        };
        // The table is there before several make it.
        assert_eq!(start("total.st").outcome().status, 0);
        for process in [start("words.st"), start("words.st")] {
            let outcome = process.outcome();
            assert_eq!(outcome.status, 0, "{outcome:?}");
        }
        assert_eq!(start("total.st").outcome().out, "4 40\n");
    };
    let folder = Folder::new();
    check("sqlite:words.db", &folder);
    if let Some(server) = Server::for_test(Service::Postgres) {
        check(&server.url(), &folder);
    }
}

const SHOW: &str = "stdout println: \"{words count} {words sum: 'count'}\".\n";

#[test]
fn rows_read_one_by_one_are_logged() {
    let program = "\
class Author { var <int> id. var <string> name. }
class Book { var <int> id. var <Author> author. }
database ← ref:sqlite::memory: database.
authors ← database table: Author. books ← database table: Book.
authors insert: #{ name: 'Jane' }.
books insertAll: (1 to: 30) collect: { :i | #Book{ author: 1 } }.
(books select asArray) do: { :book | book author name }.
stderr println: 'one by one'.
(1 to: 30) do: { :i |
   (books at: i) author name }.
";
    let folder = Folder::new();
    folder.write("n.st", program);
    let outcome = run(runnel().arg("n.st").current_dir(folder.path("")));
    assert_eq!(outcome.status, 0, "{outcome:?}");
    let (before, after) = outcome.err.split_once("one by one").unwrap();
    assert_eq!(before, "", "rows of one result load together");
    assert_eq!(after.matches("N+1 statements: Book author").count(), 1, "{after}");
    assert!(after.contains("at n.st:10"), "{after}");
}
