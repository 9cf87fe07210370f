//! Queries mean the same in memory, on SQLite and on PostgreSQL: each expression runs on the rows of a table and on an
//! array of the same rows, and all answers are compared. Programs of examples that query run on both databases.

use crate::support::http::get;
use crate::support::{self, Folder, Process, examples, free_port, http, run, runnel};
use runnel_scratch::{Server, Service};
use std::path::Path;

/// The tables, and the rows as an array of objects that load their relations.
const TABLES: &str = "\
#-main:<ref>database
class Country { var <int> id. var <string> name. var <[Author]> authors. }
class Author { var <int> id. var <string> name. var <Country> country. var <[Book]> books. }
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

/// Expressions over `ROWS` and `AUTHORS`.
const EXPRESSIONS: [&str; 73] = [
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
    "(ROWS sorted: '-pages') collect: 'title'",
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
    "((ROWS groupBy: 'title') select: { :g | g key isEmpty or: { g key = 'Emma' } }) collect: { :g | g count }",
    "((ROWS groupBy: 'author') sorted: { :g | g sum: 'pages' }) collect: { :g | g count }",
    "(((ROWS[{ author name hasPrefix: 'J' }]) union: (ROWS[{ lent }])) sorted: '-id') collect: 'id'",
    "(((ROWS[{ lent }]) intersection: (ROWS[{ pages > 300 }])) sorted: 'title') collect: 'title'",
    "((ROWS[{ pages > 200 }]) difference: (ROWS[{ lent }])) collect: 'id'",
    "((ROWS[{ lent }]) union: (ROWS[{ pages > 1 }])) count",
    "(ROWS difference: ROWS) count",
    "ROWS distinct: 'year'",
    "ROWS distinct: { :b | b lent }",
    "ROWS sum: 'pages'",
    "ROWS sum: { :b | b pages * 2 }",
    "ROWS average: 'pages'",
    "(ROWS max: { :b | b pages * 2 }) title",
    "(AUTHORS[{ :a | a books anySatisfy: { :b | b year > 1816 } }]) collect: 'name'",
    "(AUTHORS[{ :a | a books noneSatisfy: { :b | b lent } }]) collect: 'name'",
    "(AUTHORS[{ :a | a books allSatisfy: { :b | b year > 1816 } }]) collect: 'name'",
    "(AUTHORS[{ :a | a books allSatisfy: { :b | b stock < b sold or: { b year isNil } } }]) collect: 'name'",
    "(AUTHORS[{ :a | a books isEmpty }]) collect: 'name'",
    "(AUTHORS[{ :a | a books notEmpty and: { a country name = 'France' } }]) collect: 'name'",
    "(AUTHORS[{ :a | a books count = 2 }]) collect: 'name'",
    "(AUTHORS[{ :a | (a books count: { :b | b pages < 300 }) ≥ 1 }]) collect: 'name'",
    "(AUTHORS[{ :a | (a books sum: 'pages') > 1000 }]) collect: 'name'",
    "(AUTHORS[{ :a | (a books sum: { :b | b pages * 2 }) > 1000 }]) collect: 'name'",
    "(AUTHORS[{ :a | (a books average: 'rating') > 3.7 }]) collect: 'name'",
    "(AUTHORS[{ :a | ((a books collect: 'year') max) < 1880 }]) collect: 'name'",
    "(AUTHORS[{ :a | a books count > a country authors count }]) collect: 'name'",
    "(AUTHORS[{ :a | a books anySatisfy: { :b | b author name hasPrefix: 'J' } }]) collect: 'name'",
    "(AUTHORS sorted: { :a | a books sum: 'sold' }) collect: 'name'",
    "AUTHORS collect: { :a | (a books sorted: '-pages') collect: 'title' }",
    "AUTHORS collect: { :a | (a books[{ lent }]) count }",
    "(ROWS[{ author books count = 1 }]) collect: 'title'",
    "(ROWS[{ author country authors anySatisfy: { :a | a books anySatisfy: { :b | b lent } } }]) count",
    "(ROWS[{ author country authors noneSatisfy: { :a | a name hasPrefix: 'J' } }]) collect: 'title'",
    "(ROWS[{ author country authors isEmpty }]) collect: 'title'",
    "(AUTHORS groupBy: { :a | a books count }) collect: { :g | #{ books: g key, authors: g count } }",
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
fn program(rows: &str, authors: &str) -> String {
    let print = |expression: &&str| {
        let over = expression.replace("ROWS", rows).replace("AUTHORS", authors);
        format!("stdout println: ({{ {over} }} onError: {{ :e | e message }}) asJSON.\n")
    };
    let prints: Vec<String> = EXPRESSIONS.iter().map(print).collect();
    let arrays = "array ← books select asArray. people ← authors select asArray.\n";
    format!("{TABLES}{arrays}{}", prints.concat())
}

#[test]
fn queries_mean_the_same_in_memory_and_in_both_databases() {
    let folder = Folder::new();
    let expected = lines(&folder, &program("array", "people"), "sqlite::memory:");
    let check = |database: &str, found: Vec<String>| {
        assert_eq!(found.len(), EXPRESSIONS.len());
        let failed = expected.iter().find(|line| line.contains("cannot") || line.contains("nil "));
        assert_eq!(failed, None);
        for ((expression, found), expected) in EXPRESSIONS.iter().zip(found).zip(&expected) {
            assert_eq!(found, *expected, "{expression} on {database}");
        }
    };
    check("sqlite", lines(&folder, &program("books", "authors"), "sqlite::memory:"));
    if let Some(server) = Server::for_test(Service::Postgres) {
        check("postgres", lines(&folder, &program("books", "authors"), &server.url()));
    }
}

/// Rows of one result read their related rows with one statement: what is deleted in between is still there.
const TOGETHER: &str = "\
#-main:<ref>database
class Author { var <int> id. var <string> name. var <[Book]> books. }
class Book { var <int> id. var <int> year. var <Author> author. }
authors ← database table: Author. books ← database table: Book.
authors insertAll: (1 to: 2500) collect: { :i | #{ name: \"author {i}\" } }.
books insertAll: (1 to: 2500) collect: { :i | #{ year: i, author: i } }.
all ← authors select asArray.
first ← all first.
first books asArray.
(first books[{ year > 1000 }]) count.
(first books sorted: '-year') asArray.
alone ← authors at: 1.
included ← (authors include: 'books') asArray.
books removeEveryRow.
show ← { :numbers | stdout println: (numbers inject: 0 into: { :sum :n | sum + n }) }.
show value: (all collect: { :author | author books asArray count }).
show value: (all collect: { :author | (author books[{ year > 1000 }]) count }).
show value: (all collect: { :author | ((author books sorted: '-year') collect: { :book | book year }) first }).
show value: (all collect: { :author | (author books[{ year > 2000 }]) count }).
show value: (included collect: { :author | author books count }).
stdout println: alone books count.
";

#[test]
fn related_rows_are_read_together() {
    let check = |database: &str, folder: &Folder| {
        let found = lines(folder, TOGETHER, database);
        assert_eq!(found, ["2500", "1500", "3126250", "0", "2500", "0"]);
    };
    let folder = Folder::new();
    check("sqlite::memory:", &folder);
    if let Some(server) = Server::for_test(Service::Postgres) {
        check(&server.url(), &folder);
    }
}

/// Serves rows with three relations, and counts its statements at its admin port.
const ARTICLES: &str = "\
#-<void>serve:<int>port database:<ref>database admin:<int>admin
class Country { var <int> id. var <string> name. }
class Author { var <int> id. var <string> name. }
class Article {
   var <int> id. var <string> title. var <Author> author. var <Country> country. var <[Tag]> tags.
}
class Tag { var <int> id. var <Article> article. var <string> name. }
countries ← database table: Country. authors ← database table: Author.
articles ← database table: Article. tags ← database table: Tag.
countries insertAll: [ #{ name: 'England' }, #{ name: 'France' } ].
authors insertAll: [ #{ name: 'Jane' }, #{ name: 'Émile' }, #{ name: 'Ada' } ].
articles insertAll: (1 to: 50) collect: { :i |
   #{ title: \"article {i}\", author: (i mod: 3) + 1, country: (i mod: 2) + 1 } }.
tags insertAll: (1 to: 100) collect: { :i | #Tag{ article: (i mod: 50) + 1, name: \"tag {i}\" } }.
scheme Site {
   var articles. var tags.
   /articles { get { (this:articles include: [ 'author', 'country', 'tags' ]) first: 20 } }
   /tags { post { this:tags insert: #Tag{ article: 1, name: 'new' }. } }
}
#HTTPServer{ port: port, admin: admin } → #Site{ articles: articles, tags: tags }.
";

#[test]
fn a_page_of_rows_with_three_relations_takes_two_statements() {
    let check = |database: &str| {
        let admin = free_port();
        let server = support::Server::start(ARTICLES, &[database, &admin.to_string()]);
        let statements = || -> f64 {
            let metrics = http::get(admin, "/metrics").text();
            let name = "runnel_database_statements_total";
            let counts = metrics.lines().filter(|line| line.starts_with(name));
            counts.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
        };
        for round in 0..3 {
            // What was read is not answered from memory.
            assert!(server.send("POST", "/tags", "").status < 300, "{}", server.process.err());
            let before = statements();
            let page = server.get("/articles").json();
            let taken = statements() - before;
            assert_eq!(page.as_array().unwrap().len(), 20);
            let (first, last) = (&page[0], &page[19]);
            assert_eq!(
                (&first["author"]["name"], &first["country"]["name"]),
                (&"Émile".into(), &"France".into())
            );
            assert_eq!(first["tags"].as_array().unwrap().len(), 3 + round);
            assert_eq!(last["tags"].as_array().unwrap().len(), 2);
            assert_eq!(taken, 2.0, "{database}, round {round}");
        }
    };
    let folder = Folder::new();
    check(&format!("sqlite:{}", folder.path("articles.db").display()));
    if let Some(server) = Server::for_test(Service::Postgres) {
        check(&server.url());
    }
}

/// The document of an API says what answers have: lists of related rows only where they were read with the rows.
#[test]
fn lists_of_related_rows_may_be_absent_from_answers() {
    let folder = Folder::new();
    let program = "\
class Author { var <int> id. var <string> name. var <[Book]> books. }
class Book { var <int> id. var <Author> author. }
authors ← ref:sqlite::memory: table: Author.
scheme Api {
   var authors.
   /authors { get → <[Author]> { this:authors select } post <Author> → 201 <Author> { newValue } }
}
#HTTPServer{ port: 0 } → #Api{ authors: authors }.
";
    folder.write("api.st", program);
    let outcome = run(runnel().args(["openapi", "api.st"]).current_dir(folder.path("")));
    assert_eq!(outcome.status, 0, "{outcome:?}");
    let document: serde_json::Value = serde_json::from_str(&outcome.out).unwrap();
    let schemas = &document["components"]["schemas"];
    assert_eq!(schemas["Author"]["required"], serde_json::json!(["id", "name"]));
    assert_eq!(schemas["Author"]["properties"]["books"]["readOnly"], true);
    assert_eq!(schemas["AuthorInput"]["properties"].get("books"), None);
}

/// Changes rows in each way that answers them.
const ANSWERED: &str = "\
#-main:<ref>database
class Box { var <int> id. var <string> name. }
class Mail {
   var <int> id. var <string> to. var <int> weight. var <Box> box. var <date> due. var <decimal> price.
   +tableName { 'mails' }
}
boxes ← database table: Box. mails ← database table: Mail.
boxes insert: #{ name: 'in' }.
mails insertAll: (1 to: 9) collect: { :i |
   #{ to: \"m{i}\", weight: 10 - i, box: 1, due: '2026-01-02T03:04:05Z', price: '1.50' } }.
show ← { :answer | stdout println: (answer onError: { :e | e message }) asJSON }.
show value: { (mails first: 2) takeAll collect: 'id' }.
show value: { ((mails sorted: 'weight') first: 2) takeAll collect: { :mail | mail box name , mail to } }.
show value: { mails[{ weight > 6 }] takeAll }.
show value: { mails[{ box name = 'in' and: { id = 5 } }] takeAll collect: 'price' }.
show value: { mails[{ id > 5 }] updateAll: { :m | #{ weight: m weight * 2 } } returning: 'weight' }.
show value: { mails[{ box name = 'in' }] updateAll: { :m | #{ weight: m weight + 1 } } returning: [ 'due', 'weight' ] }.
show value: { (mails[{ id > 5 }] updateAll: #{ price: '2.5' } returning: '*') collect: { :m | m price } }.
show value: { (mails first: 1) updateAll: #{ to: 'first' } }.
show value: { ((mails sorted: '-id') first: 1) removeAll }.
show value: { mails[{ id > 500 }] takeAll }.
show value: { (mails sorted: { :m | m weight * 2 } | first: 1) takeAll }.
show value: { database transaction: { mails[{ id > 0 }] takeAll. 1 fail } }.
show value: { mails updateEveryRow: #{ to: 'all' } returning: 'to' }.
";

#[test]
fn changed_rows_are_answered_alike_by_both_databases() {
    let folder = Folder::new();
    let found = lines(&folder, ANSWERED, "sqlite::memory:");
    let expected = [
        "[1,2]",
        "[\"inm9\",\"inm8\"]",
        "[{\"id\":3,\"to\":\"m3\",\"weight\":7,\"box\":1,\"due\":\"2026-01-02T03:04:05Z\",\"price\":\"1.50\"}]",
        "[\"1.50\"]",
        "[8,6]",
    ];
    assert_eq!(found[..5], expected);
    assert_eq!(found[found.len() - 1], "[\"all\",\"all\"]");
    if let Some(server) = Server::for_test(Service::Postgres) {
        assert_eq!(lines(&folder, ANSWERED, &server.url()), found);
    }
}

/// Takes rows until there are none, from several fibers.
const TAKERS: &str = "\
#-main:<ref>database
class Mail { var <int> id. var <string> to. }
mails ← database table: Mail.
(1 to: 4) asArray concurrently do: { :fiber |
   { ((mails first: 3) takeAll collect: { :mail | stdout println: mail id. 1 }) notEmpty } whileTrue: { nil }
}.
nil.
";

#[test]
fn each_row_is_taken_once() {
    let check = |database: &str, folder: &Folder| {
        let fill = TAKERS.split("(1 to").next().unwrap().to_string()
            + "mails insertAll: (1 to: 400) collect: { :i | #{ to: 'ann' } }.\n";
        folder.write("fill.st", fill);
        folder.write("take.st", TAKERS);
        let start = |program: &str| {
            let mut command = runnel();
            Process::start(command.args([program, database]).current_dir(folder.path("")))
        };
        assert_eq!(start("fill.st").outcome().status, 0);
        let takers = [start("take.st"), start("take.st")];
        let mut taken: Vec<u32> = Vec::new();
        for taker in takers {
            let outcome = taker.outcome();
            assert_eq!(outcome.status, 0, "{outcome:?}");
            taken.extend(outcome.out.lines().map(|line| line.parse::<u32>().unwrap()));
        }
        taken.sort_unstable();
        assert_eq!(taken, (1..=400).collect::<Vec<u32>>());
    };
    let folder = Folder::new();
    check("sqlite:mails.db", &folder);
    if let Some(server) = Server::for_test(Service::Postgres) {
        check(&server.url(), &folder);
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
    assert!(outcome.err.contains("place=\"slow.st:2\""), "{}", outcome.err);
    assert!(!outcome.err.contains("secret"), "{}", outcome.err);
}

/// Serves a view that counts for some time: its rows are read when the handler has ended.
const SLOW: &str = "\
#-serve:<ref>database
opened ← database database: #{ slowStatementTime: 10 milliseconds }.
opened run: 'drop view if exists slow'.
opened run: 'create view slow as with recursive c(n) as (select 1 union all select n + 1 from c where n < 1000000) \
   select count(*) as n from c'.
scheme Slow {
   var rows.
   /n { get {
      this:rows[{ n > 1 }] } }
}
#JSONConverter{ } → #Slow{ rows: (opened records: 'slow') }.
";

#[test]
fn slow_statements_name_their_place() {
    let check = |database: &str, folder: &Folder| {
        folder.write("served.st", SLOW);
        let port = free_port();
        let mut command = runnel();
        command.args(["--port", &port.to_string(), "served.st", database]);
        let mut process = Process::start(command.current_dir(folder.path("")));
        process.listens(port);
        assert_eq!(get(port, "/n").text(), "[{\"n\":1000000}]");
        process.err_shows("place=\"served.st:8\" statement=\"SELECT ");
    };
    let folder = Folder::new();
    check("sqlite:served.db", &folder);
    if let Some(server) = Server::for_test(Service::Postgres) {
        check(&server.url(), &folder);
    }
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
