//! What the kernel says of itself decides.

use crate::common::codes;
use runnel_catalogue::Catalogue;
use runnel_check::{Kernel, check};

#[test]
fn classes_above_and_other_names_count() {
    assert_eq!(codes("'a' isNil"), [""; 0]);
    assert_eq!(codes("NSString new"), [""; 0]);
    assert_eq!(codes("'a' sqrt"), ["unknown-message"]);
    assert_eq!(codes("NSString pi"), ["unknown-message"]);
    assert_eq!(codes("stdout start"), [""; 0]);
    assert_eq!(codes("stdout stort"), ["unknown-message"]);
}

#[test]
fn what_answers_for_something_else_is_never_refused() {
    assert_eq!(codes("#Proxy{ } anything: 3 at: 4. #Proxy{ any: 3 }"), [""; 0]);
}

#[test]
fn an_empty_kernel_knows_nothing() {
    let source = "'a' lenght. 3 foo. #Foo{ a: 1 }. x := 3. x bar: 4";
    let program = runnel_syntax::parse(source).program;
    let found = check(&program, source, &Catalogue::parse(""), &Kernel::parse(""));
    // Only what is defined nowhere.
    assert!(found.iter().all(|one| one.code == Some("unknown-message")), "{found:?}");
    let odd =
        Kernel::parse("own a\nclass\nclass A A\nalias x\nname\nliteral\nvariables q\n\nclass B C");
    check(&program, source, &Catalogue::parse("A -<B> c"), &odd);
}

#[test]
fn a_circle_of_classes_ends() {
    assert_eq!(codes("#Circle{ a: 1 } wrong. Circle new"), [""; 0]);
    let source = "class A : B { -a { self b } } class B : A { -b { self c } } A new d";
    crate::common::findings(source);
}

#[test]
fn sources_that_are_loaded_may_define_anything() {
    assert_eq!(codes("ref:file:other.st load. 'a' lenght. #Server{ prot: 3 }"), [""; 0]);
}

#[test]
fn an_error_on_purpose_is_no_mistake() {
    assert_eq!(codes("{ 'a' lenght } onError: { :e | 3 }"), [""; 0]);
}

#[test]
fn a_message_to_what_is_unknown_counts_where_nothing_else_can_understand_it() {
    assert_eq!(codes("#-run:x\nx frobnicate: 3"), ["unknown-message"]);
    // Other files of the program may define it.
    assert_eq!(codes("class A { -run: x { x frobnicate: 3 } }"), [""; 0]);
    assert_eq!(codes("class A { -run: x { x lenght } }"), ["unknown-message"]);
    // Rows may have any column.
    assert_eq!(codes("#-run:x\nsqlite:a. x title"), [""; 0]);
    assert_eq!(codes("#-run:x\nx title"), ["unknown-message"]);
    assert_eq!(codes("#-run:x\n'select title'. x title"), [""; 0]);
}
