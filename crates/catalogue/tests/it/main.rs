//! Definitions of messages: from comments of source files to the catalogue.

#![allow(clippy::unwrap_used)]

use runnel_catalogue::extract::extract;
use runnel_catalogue::{Catalogue, Kind, KindOption, TopicKind};

const SOURCE: &str = r#"
local K = ...
--- A value of any class.
local Object = K.newClass("Object")
--- A text of Unicode characters.
--- Positions count characters from 0.
local String, other = K.newClass("String", K.classes.Object), f(1, 2)
K.alias("NSString", String)

K.methods(Object, {
  --- -<Boolean> = <any>other
  --- Whether both have the same value.
  --- > 1 = 1 ⇒ true
  ["="] = isEqual,
})

K.methods(String, {
  --- -<String> replace:<String>old with:<String|Block(found)>new
  --- A text in which each `old` is replaced.
  --- > 'a-b' replace: '-' with: '+' ⇒ 'a+b'
  ["replace:with:"] = function(self, old, new) end,
  --- -<Number> count
  --- -<Number> length
  --- How many characters
  --- the text has.
  --- > '' count
  count = length,
  length = length,
  --- As in Object.
  ["="] = function() end,
})
--- +<self> of:<any>value
--- A text of the value.
--- > String of: 3 ⇒ '3'
K.classMethod(String, K.mangle("of:"), of)
--- A text that a program reads as a number.
K.widgetClass("Digits", String, {})
--- A text in colour.
local Colour
Colour = K.nativeCombinator {
  name = "Colour",
}
--- String -<Number?> < <String>other
--- A comparison.
--- > 'a' < 'b'
for _, name in ipairs(list) do K.method(String, name, f) end

--- error typeError
--- A value is of another class
--- than is taken.
--- > { 3 + 'a' } onError: { :e | e kind } ⇒ 'typeError'

--- scheme query
--- A parameter of the request.
--- > scheme Greeter { /greet { get { query:name } } }
--- > GET /greet?name=Ada → 200 Ada
scheme("query", {})
"#;

fn catalogue() -> Catalogue {
    Catalogue::parse(&extract([("text/string.lua", SOURCE)]).unwrap())
}

#[test]
fn a_message_has_types_text_and_examples() {
    let catalogue = catalogue();
    let message = catalogue.message("NSString", "replace:with:", false).unwrap();
    assert_eq!(message.to_string(), "-<String>replace:<String>old with:<String|Block(found)>new");
    assert_eq!(message.text, "A text in which each `old` is replaced.");
    assert_eq!(message.examples[0].source, "'a-b' replace: '-' with: '+'");
    assert_eq!(message.examples[0].result.as_deref(), Some("'a+b'"));
}

#[test]
fn synonyms_share_their_text() {
    let catalogue = catalogue();
    let message = catalogue.message("String", "length", false).unwrap();
    assert_eq!(message.text, "How many characters the text has.");
    assert_eq!(message.synonyms, ["count"]);
    assert_eq!(message.examples[0].result, None);
}

#[test]
fn messages_are_found_by_class_and_by_selector() {
    let catalogue = catalogue();
    assert_eq!(
        catalogue.class("String").unwrap().text,
        "A text of Unicode characters. Positions count characters from 0."
    );
    assert_eq!(catalogue.class("String").unwrap().superclass.as_deref(), Some("Object"));
    assert!(catalogue.is_below("String", "Object") && !catalogue.is_below("Object", "String"));
    let equal: Vec<&str> = catalogue.definitions("=").map(|one| one.class.as_str()).collect();
    assert_eq!(equal, ["Object", "String"]);
    assert!(catalogue.message("String", "of:", true).is_some());
    assert!(catalogue.message("String", "of:", false).is_none());
    assert_eq!(catalogue.message("String", "<", false).unwrap().answer.to_string(), "Number?");
    assert!(catalogue.selectors().eq(["<", "=", "count", "length", "of:", "replace:with:"]));
}

#[test]
fn classes_that_helpers_make_have_a_text() {
    let catalogue = catalogue();
    assert_eq!(catalogue.class("Digits").unwrap().text, "A text that a program reads as a number.");
    assert_eq!(catalogue.class("Colour").unwrap().text, "A text in colour.");
}

#[test]
fn the_list_of_classes_completes_what_the_files_say() {
    let source = extract([("text/string.lua", SOURCE)]).unwrap();
    let catalogue = Catalogue::parse(&format!(
        "{source}classes\nclass Digits String\nalias Text String\nclass Rows Object\nstands Rows String\n"
    ));
    assert_eq!(catalogue.class("String").unwrap().room, "text");
    assert!(catalogue.is_below("Digits", "Text"));
    assert_eq!(catalogue.message("Rows", "count", false).unwrap().class, "String");
    assert!(catalogue.aliases("String").eq(["NSString", "Text"]));
}

#[test]
fn a_summary_is_the_first_sentence() {
    assert_eq!(runnel_catalogue::summary("One. Two."), "One.");
    assert_eq!(runnel_catalogue::summary("Version 1.2 alone"), "Version 1.2 alone");
}

#[test]
fn types_are_read_as_they_are_written() {
    for text in [
        "String",
        "String?",
        "Number|String",
        "Block",
        "Block()",
        "Block(a, b)|String?",
        "self",
        "any",
        "nothing",
    ] {
        assert_eq!(Kind::parse(text).unwrap().to_string(), text);
    }
    for text in ["", "string", "String|", "Block(a b)", "Block(", "?"] {
        assert_eq!(Kind::parse(text), None, "{text}");
    }
    assert!(Kind::parse("Block").unwrap().options.contains(&KindOption::Block(None)));
}

#[test]
fn a_wrong_definition_is_named_with_its_place() {
    let wrong = |source| extract([("a.lua", source)]).unwrap_err();
    assert_eq!(
        wrong("--- -<String> at:put:\n--- x\nlocal a = 1"),
        "a.lua:2: not a signature: -<String> at:put:"
    );
    assert_eq!(
        wrong("--- -<String> count\n--- x\nlocal a = 1"),
        "a.lua:2: no class is known here: begin with it"
    );
    assert_eq!(wrong("--- As in Object.\nlocal a = 1"), "a.lua:1: no class is known here");
}

#[test]
fn kinds_of_errors_and_schemes_are_topics() {
    let catalogue = catalogue();
    let error = catalogue.topics(TopicKind::Error).next().unwrap();
    assert_eq!(
        (&*error.name, &*error.text),
        ("typeError", "A value is of another class than is taken.")
    );
    assert_eq!(error.examples[0].result.as_deref(), Some("'typeError'"));
    let schemes: Vec<_> = catalogue.topics(TopicKind::Scheme).collect();
    assert_eq!(schemes.len(), 1);
    assert_eq!(schemes[0].program(), "scheme Greeter { /greet { get { query:name } } }");
    assert_eq!(schemes[0].requests(), "GET /greet?name=Ada → 200 Ada");
    assert_eq!(catalogue.topics(TopicKind::Name).count(), 0);
}
