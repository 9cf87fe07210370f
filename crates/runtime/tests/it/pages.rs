//! Pages that a store of the program answers: the same bytes for a client as for the program itself,
//! whatever their size, one after the other and one in the other.
#![allow(clippy::unwrap_used)]

use crate::support::{Lab, explained};
use runnel_store::{Context, Reference, Store};
use std::rc::Rc;

const PROGRAM: &str = r##"
class Row { var <int> id. var <string> title. var children. }
scheme Pages {
    var rows.
    /rows/:<int>count {
        get {
            #html[ #table[ (1 to: count) collect: { :n |
                #tr[ #td[ n ], #td{ title: '<&>' }[ "<{n}> & \"co\"" ] ]
            } ] ].
        }
    }
    /long/:<int>size {
        get { #p[ (self textOf: size) ]. }
    }
    /nested/:<int>count {
        get {
            #div[ (1 to: count) collect: { :r | #tr[ (1 to: r) collect: { :c | #td[ r * c, ' ' , 2000 ] } ] } ].
        }
    }
    /objects { get { #ul[ this:rows collect: { :row | #li[ row id, row title, nil, row children ] } ]. } }
    /within { get { #html[ pages:rows/3, #hr[], pages:objects ]. } }
    /feed { get { #xml[ #feed[ (1 to: 3) collect: { :n | #entry[ n ] } ] ]. } }
    /still { get { #p[ 'still' ]. } }
    /kept { get { page := #p[ (1 to: 3) collect: { :n | n } ]. page. } }
    /late { get { #p[ 'before', { self textOf: 3 } ]. } }
    /client/:client { get { #p[ client, self textOf: 1 ]. } }
    -textOf: size {
        (1 to: size) collect: { :n | (n mod: 7) = 0 ifTrue: { '<' } ifFalse: { 'é' } }.
    }
}
scheme:pages ← #Pages{ rows: (1 to: 50) collect: { :n |
    #Row{ id: n, title: "t{n}'", children: [ #b[ n ], n + 0.5, '&' ] }
} }.
scheme:pages.
"##;

/// A store and what answers its pages to the program itself.
fn pages(lab: &Lab) -> Rc<dyn Store> {
    let outcome = lab.wait(lab.isolate.run(PROGRAM, "pages"));
    lab.isolate.store(outcome.unwrap_or_else(|failure| panic!("{}", explained(&failure))).value)
}

fn asked(lab: &Lab, store: &Rc<dyn Store>, path: &str) -> String {
    lab.wait(async {
        let content = store.get(&Reference::from_path(path), &Context::default()).await;
        let bytes = content.unwrap().unwrap().read(1 << 24).await.unwrap();
        String::from_utf8(bytes.to_vec()).unwrap()
    })
}

/// A page without the comments around its live slots, which only clients get.
fn without_marks(page: &str) -> String {
    let mut parts = page.split("<!--");
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let (comment, rest) = part.split_once("-->").unwrap();
        assert!(comment == "]" || comment.starts_with('['), "{comment}");
        text.push_str(rest);
    }
    text
}

#[test]
fn a_client_gets_what_the_program_gets() {
    let lab = Lab::new();
    let store = pages(&lab);
    let paths = [
        "rows/0",
        "rows/1",
        "rows/40",
        "rows/55",
        "rows/56",
        "rows/57",
        "rows/58",
        "rows/5000",
        "long/0",
        "long/1",
        "long/2047",
        "long/2048",
        "long/4096",
        "long/4097",
        "long/60000",
        "nested/1",
        "nested/60",
        "objects",
        "within",
        "feed",
        "still",
        "kept",
        "late",
        "client/x%3Cy",
    ];
    let expected = paths.map(|path| lab.value(&format!("pages:{path} asHTML")));
    // Until the loops are compiled, and after that; each page in a buffer that held another one.
    for round in 0..40 {
        for (path, expected) in paths.iter().zip(&expected) {
            // The largest are made a few times.
            if round < 3 || expected.len() < 100_000 {
                assert_eq!(&without_marks(&asked(&lab, &store, path)), expected, "{path}");
            }
        }
    }
}

#[test]
fn what_a_page_says() {
    let lab = Lab::new();
    let store = pages(&lab);
    let row = "<tr><td>1</td><td title=\"&lt;&amp;&gt;\">&lt;1&gt; &amp; &quot;co&quot;</td></tr>";
    let page = format!("<!DOCTYPE html><html><table>{row}</table></html>");
    assert_eq!(asked(&lab, &store, "rows/1"), page);
    assert_eq!(asked(&lab, &store, "long/8"), "<p>éééééé&lt;é</p>");
    assert_eq!(asked(&lab, &store, "client/x"), "<p>xé</p>");
    let long = asked(&lab, &store, "long/60000");
    assert_eq!(long.matches("&lt;").count(), 60_000 / 7);
    assert_eq!(long.matches('é').count(), 60_000 - 60_000 / 7);
    let feed = asked(&lab, &store, "feed");
    assert!(
        feed.ends_with("<feed><entry>1</entry><entry>2</entry><entry>3</entry></feed>"),
        "{feed}"
    );
    assert!(feed.starts_with("<?xml"), "{feed}");
}

#[test]
fn one_text_of_any_length_is_escaped() {
    let lab = Lab::new();
    for length in [1, 199, 200, 201, 4095, 4096, 4097, 10_000] {
        let source = format!(
            "t := ''. ['a&','<'] do: {{ :x | {length} timesRepeat: {{ t := t, x }} }}. #p{{ title: t }}[ t ]"
        );
        let inner = format!("{}{}", "a&amp;".repeat(length), "&lt;".repeat(length));
        assert_eq!(lab.value(&source), format!("<p title=\"{inner}\">{inner}</p>"), "{length}");
    }
}

#[test]
fn numbers_have_their_digits() {
    let lab = Lab::new();
    // Again and again, so that the loop is compiled.
    let source = "(1 to: 1100) collect: { :n | #b[ n - 50 ] }";
    let expected: String = (-49..=1050).map(|number| format!("<b>{number}</b>")).collect();
    for _ in 0..3 {
        assert_eq!(lab.value(&format!("#p[ {source} ]")), format!("<p>{expected}</p>"));
    }
    for (number, text) in [
        ("0 - 0", "0"),
        ("1 / 2", "0.5"),
        ("999.5", "999.5"),
        ("1e300", "1e300"),
        ("4294967296", "4294967296"),
        ("4294967297", "4294967297"),
        ("6755399441055744", "6755399441055744"),
    ] {
        assert_eq!(lab.value(&format!("#p[ ({number}) ]")), format!("<p>{text}</p>"));
    }
}
