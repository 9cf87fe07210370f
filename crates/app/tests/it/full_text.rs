//! The full text of tables: SQLite and PostgreSQL find the same rows, whatever the words are.

use crate::support::{Folder, run, runnel};
use runnel_scratch::{Server, Service};

/// What a program prints on a database.
fn lines(folder: &Folder, program: &str, database: &str) -> Vec<String> {
    folder.write("text.st", program);
    let outcome = run(runnel().args(["text.st", database]).current_dir(folder.path("")));
    assert_eq!(outcome.status, 0, "{outcome:?}");
    outcome.out.lines().map(str::to_string).collect()
}

/// What a program prints on SQLite, which PostgreSQL prints, too.
fn on_both(program: &str) -> Vec<String> {
    let folder = Folder::new();
    let found = lines(&folder, program, "sqlite:text.db");
    if let Some(server) = Server::for_test(Service::Postgres) {
        assert_eq!(lines(&folder, program, &server.url()), found);
    }
    found
}

const CLASS: &str = "\
#-main:<ref>database
class Author { var <int> id. var <string> name. }
class Article { var <int> id. var <string> title. var <string> text. var <int> year. var <Author> author.
   +fullText { [ 'title', 'text' ] } }
authors ← database table: Author.
authors insert: #{ name: 'Ann' }.
articles ← database table: Article.
show ← { :answer | stdout println: (answer onError: { :e | e message }) asJSON }.
find ← { :text | show value: { (articles search: text) sorted: 'id' | collect: 'id' } }.
";

/// Texts of rows, whose keys are 1, 2, …
const TEXTS: [&str; 12] = [
    "Rain and cats",
    "The cat's well-known trick costs 12.50",
    "ann@example.org wrote to jo_smith@mail.example.org",
    "Дождь и КОШКА",
    "Über die Straße, cafe\u{301} und café",
    "version 1.2.3, 0012 and 1e5, abc123",
    "ΟΔΟΣ και οδός",
    "\"quoted\" (round) NEAR col:on AND it's",
    "日本 हिन्दी x² Ⅻ ½",
    "http://example.org/path/to/page.html?a=1",
    "-5 +7 <b>bold</b> a\\b a'b",
    "naïve İstanbul ISTANBUL",
];

/// Searches, with the keys of the rows that have all words.
const SEARCHES: [(&str, &str); 54] = [
    ("rain", "[1]"),
    ("RAIN cat*", "[1]"),
    ("cat", "[2]"),
    ("cat*", "[1,2]"),
    ("cats rain", "[1]"),
    ("cats dogs", "[]"),
    ("well known", "[2]"),
    ("well-known", "[2]"),
    ("wellknown", "[]"),
    ("cat's", "[2]"),
    ("12", "[2]"),
    ("12.50", "[2]"),
    ("ann@example.org", "[3]"),
    ("example", "[3,10]"),
    ("jo", "[3]"),
    ("jo_smith", "[3]"),
    ("дождь", "[4]"),
    ("ДОЖДЬ кошк*", "[4]"),
    ("über", "[5]"),
    ("ÜBER", "[5]"),
    ("uber", "[]"),
    ("straße", "[5]"),
    ("strasse", "[]"),
    ("café", "[5]"),
    ("cafe\u{301}", "[5]"),
    ("cafe", "[]"),
    ("1 2 3", "[6]"),
    ("0012", "[6]"),
    ("1e5", "[6]"),
    ("1e*", "[6]"),
    ("abc*", "[6]"),
    ("123", "[]"),
    ("οδος", "[7]"),
    ("ΟΔΟΣ", "[7]"),
    ("οδός", "[7]"),
    ("quoted", "[8]"),
    ("NEAR(col", "[8]"),
    ("col:on", "[8]"),
    ("AND it", "[8]"),
    ("日本", "[9]"),
    ("हिन्दी", "[9]"),
    ("x²", "[9]"),
    ("ⅻ", "[9]"),
    ("½", "[9]"),
    ("path/to/page.html", "[10]"),
    ("HTTP", "[10]"),
    ("bold", "[11]"),
    ("a'b", "[11]"),
    ("-5", "[11]"),
    ("naïve", "[12]"),
    ("istanbul", "[12]"),
    ("", "[]"),
    ("\" * ( ) ' : ^ - + & | ! <-> \\", "[]"),
    ("rain\\u0000", "[1]"),
];

#[test]
fn both_databases_find_the_same_words() {
    let texts: Vec<String> =
        TEXTS.iter().map(|text| serde_json::to_string(text).unwrap()).collect();
    let searches: Vec<&str> = SEARCHES.iter().map(|(text, _)| *text).collect();
    let searches = serde_json::to_string(&searches).unwrap().replace("\\\\u0000", "\\u0000");
    let folder = Folder::new();
    folder.write("texts.json", format!("[{}]", texts.join(",")));
    folder.write("searches.json", searches);
    let program = format!(
        "{CLASS}articles insertAll: (file:texts.json parseJSON collect: {{ :text | #{{ text: text }} }}).\n\
         file:searches.json parseJSON do: {{ :text | find value: text }}.\n"
    );
    let check = |database: &str| {
        let found = lines(&folder, &program, database);
        assert_eq!(found.len(), SEARCHES.len());
        let wrong: Vec<_> =
            SEARCHES.iter().zip(&found).filter(|((_, keys), found)| keys != found).collect();
        assert!(wrong.is_empty(), "{database}: {wrong:?}");
    };
    check("sqlite::memory:");
    if let Some(server) = Server::for_test(Service::Postgres) {
        check(&server.url());
    }
}

#[test]
fn searches_compose_with_what_makes_queries() {
    let program = format!(
        "{CLASS}\
articles insertAll: [ #{{ title: 'One', text: 'rain', year: 1900, author: 1 }},
   #{{ title: 'Rain', text: 'rain rain rain', year: 1950, author: 1 }},
   #{{ title: 'Three', text: 'a long text in which the rain falls on one of many words', year: 2000 }} ].
show value: {{ (articles search: 'rain') first title }}.
show value: {{ (articles search: 'rain')[{{ year > 1900 }}] collect: 'title' }}.
show value: {{ (articles[{{ year < 2000 }}] search: 'rain') collect: 'title' }}.
show value: {{ (articles search: 'rain') count }}.
show value: {{ ((articles search: 'rain') first: 2) count }}.
show value: {{ ((articles search: 'rain') sorted: '-year') collect: 'year' }}.
show value: {{ (((articles search: 'rain') skip: 1) first: 1) count }}.
show value: {{ ((articles search: 'rain')[{{ author name = 'Ann' }}] sorted: 'id') collect: 'author.name' }}.
show value: {{ (((articles search: 'one') sorted: 'id') include: 'author') collect: {{ :a | a author }} }}.
show value: {{ ((articles search: 'rain') search: 'many') collect: 'id' }}.
show value: {{ ((articles search: 'rain') groupBy: 'author') collect: {{ :g | g count }} }}.
show value: {{ (articles search: 'rain') sum: 'year' }}.
show value: {{ (articles search: 'rain')[{{ year = 1950 }}] updateAll: #{{ text: 'snow', title: 'Snow' }} }}.
show value: {{ (articles search: 'snow') removeAll }}.
show value: {{ ((articles search: 'rain') first: 1) search: 'one' }}.
show value: {{ authors search: 'rain' }}.
show value: {{ articles search: 7 }}.
show value: {{ (articles search: 'a b c d e f g h i j k l m n o p q') count }}.
"
    );
    let expected = [
        "\"Rain\"",
        "[\"Rain\",\"Three\"]",
        "[\"Rain\",\"One\"]",
        "3",
        "2",
        "[2000,1950,1900]",
        "1",
        "[\"Ann\",\"Ann\"]",
        "[{\"id\":1,\"name\":\"Ann\"},null]",
        "[3]",
        "[2,1]",
        "5850",
        "1",
        "1",
        "\"search: comes before first: and skip:, and before the rows are read\"",
        "\"Author declares no +fullText, which search: needs\"",
    ];
    let found = on_both(&program);
    assert_eq!(found[..16], expected);
    assert!(found[16].contains("search:"), "{}", found[16]);
    assert_eq!(found[17], "\"a search has at most 16 words\"");
}

#[test]
fn the_index_follows_all_changes() {
    let program = format!(
        "{CLASS}\
show value: {{ (articles insert: #{{ text: 'first' }}) id }}.
show value: {{ (articles insert: #{{ text: 'second' }}) id }}.
articles at: 1 merge: #{{ text: 'changed' }}.
find value: 'first'. find value: 'changed'.
articles at: 2 put: #{{ id: 2, title: 'put' }}.
find value: 'second'. find value: 'put'.
articles upsert: #{{ id: 2, title: 'upserted' }} by: 'id'.
articles upsert: #{{ id: 3, title: 'upserted' }} by: 'id'.
find value: 'put'. find value: 'upserted'.
database run: \"update articles set title = 'statement' where id = 3\".
database run: \"insert into articles (id, text) values (7, 'statement')\".
find value: 'upserted'. find value: 'statement'.
show value: {{ database transaction: {{ articles insert: #{{ id: 8, text: 'undone' }}. 1 fail }} }}.
find value: 'undone'.
articles removeAt: 7.
find value: 'statement'.
show value: {{ articles[{{ id > 0 }}] removeAll }}.
find value: 'statement'. find value: 'changed'.
show value: {{ articles insertAll: ((1 to: 300) collect: {{ :i | #{{ text: 'many' }} }}).
   (articles search: 'many') count }}.
"
    );
    let found = on_both(&program);
    let expected = [
        "1",
        "2",
        "[]",
        "[1]",
        "[]",
        "[2]",
        "[]",
        "[2,3]",
        "[2]",
        "[3,7]",
        "\"a Number (1) does not understand fail\"",
        "[]",
        "[3]",
        "3",
        "[]",
        "[]",
        "300",
    ];
    assert_eq!(found, expected);
}

#[test]
fn a_table_gets_its_index_later() {
    let plain = "\
#-main:<ref>database
class Article { var <int> id. var <string> title. var <string> text. }
articles ← database table: Article.
articles insertAll: [ #{ title: 'rain', text: 'snow' }, #{ title: 'snow', text: 'hail' } ].
nil.
";
    let searched = |names: &str| {
        format!(
            "#-main:<ref>database\n\
             class Article {{ var <int> id. var <string> title. var <string> text. +fullText {{ {names} }} }}\n\
             articles ← database table: Article.\n\
             stdout println: ((articles search: 'snow') sorted: 'id' | collect: 'id').\n"
        )
    };
    let folder = Folder::new();
    let check = |database: &str| {
        lines(&folder, plain, database);
        assert_eq!(lines(&folder, &searched("[ 'title' ]"), database), ["[2]"]);
        assert_eq!(lines(&folder, &searched("[ 'title', 'text' ]"), database), ["[1,2]"]);
        let again = searched("[ 'title', 'text' ]") + "articles insert: #{ text: 'snow' }. nil.\n";
        assert_eq!(lines(&folder, &again, database), ["[1,2]"]);
        assert_eq!(lines(&folder, &again, database), ["[1,2,3]"]);
    };
    check("sqlite:later.db");
    if let Some(server) = Server::for_test(Service::Postgres) {
        check(&server.url());
    }
    let ask =
        |expression: &str| run(runnel().args(["-e", expression]).current_dir(folder.path("")));
    assert_eq!(ask("ref:sqlite:later.db children").out.matches("articles").count(), 1);
    let hidden = ask("(ref:sqlite:later.db database records: 'articles_fts') count");
    assert_ne!(hidden.status, 0, "{hidden:?}");
    let dump = run(runnel().args(["dump", "later.db"]).current_dir(folder.path("")));
    assert!(!dump.out.contains("_fts"), "{}", dump.out);
    // A row that replaces another one, and a table that was made anew without its triggers.
    let statement = |sql: &str| ask(&format!("ref:sqlite:later.db run: \"{sql}\""));
    statement("insert or replace into articles (id, title) values (1, 'thaw')");
    assert_eq!(lines(&folder, &searched("[ 'title', 'text' ]"), "sqlite:later.db"), ["[2,3,4]"]);
    statement("drop trigger articles_fts_insert");
    statement("insert into articles (id, title) values (9, 'snow')");
    assert_eq!(lines(&folder, &searched("[ 'title', 'text' ]"), "sqlite:later.db"), ["[2,3,4,9]"]);
}

#[test]
fn a_class_that_cannot_be_searched_is_refused() {
    let program = "\
#-main:<ref>database
class A { var <int> id. var <string> text. +fullText { [ 'title' ] } }
class B { var <int> id. var <int> text. +fullText { [ 'text' ] } }
class C { var <string> id. var <string> text. +fullText { [ 'text' ] } }
class D { var <int> id. var <string> text. +fullText { [ 'text' ] } }
show ← { :answer | stdout println: (answer onError: { :e | e message }) }.
show value: { database table: A }.
show value: { database table: B }.
show value: { database table: C }.
show value: { ((ref:memory:ds table: D) search: 'rain') count }.
show value: { [ 'rain' ] search: 'rain' }.
";
    let expected = [
        "fullText of A names title, which is no variable of it",
        "fullText of B names text, which is an integer, not text",
        "fullText of C needs a key that is one integer; declare var <int> id",
        "query: search: needs a table of SQLite or PostgreSQL, and these rows are documents",
        "search: needs a table of SQLite or PostgreSQL, and this is an array",
    ];
    let check = |database: &str| {
        let found = lines(&Folder::new(), program, database);
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.ends_with(expected), "{found}");
        }
    };
    check("sqlite::memory:");
    if let Some(server) = Server::for_test(Service::Postgres) {
        check(&server.url());
    }
}

#[test]
fn a_search_reads_the_index_whatever_the_names_are() {
    let program = "\
#-main:<ref>database
class Score { var <int key> place. var <string> rank. var <string> rowid. +tableName { 'order' }
   +fullText { [ 'rank', 'rowid' ] } }
scores ← database table: Score.
scores insertAll: ((1 to: 3000) collect: { :i | #{ place: i, rank: \"number {i}\", rowid: 'one of many' } }).
database run: 'analyze'.
stdout println: ((scores search: '77 many') collect: 'place').
stdout println: (((scores search: 'numb* one') first: 1) count).
stdout println: ((scores search: '77') explain asString replaceAll: \"\\n\" with: ' ').
";
    let folder = Folder::new();
    let found = lines(&folder, program, "sqlite::memory:");
    assert_eq!(found[..2], ["[77]", "1"]);
    assert!(found[2].contains("order_fts VIRTUAL TABLE"), "{}", found[2]);
    if let Some(server) = Server::for_test(Service::Postgres) {
        let found = lines(&folder, program, &server.url());
        assert_eq!(found[..2], ["[77]", "1"]);
        assert!(found[2].contains("Index Scan on order_rank_rowid_fts"), "{}", found[2]);
    }
}
