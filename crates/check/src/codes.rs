//! What each code means: the one table from which the manual, `runnel doc CODE` and the tests read.

/// A kind of finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// Its name, as findings show it.
    pub name: &'static str,
    /// What is wrong, in one sentence.
    pub meaning: &'static str,
    /// A program that has exactly one finding, of this kind.
    pub example: &'static str,
    /// The same program without it.
    pub right: &'static str,
}

/// Short for an entry of the table.
const fn code(
    name: &'static str,
    meaning: &'static str,
    example: &'static str,
    right: &'static str,
) -> Code {
    Code { name, meaning, example, right }
}

/// All kinds of findings, in the order of the manual.
pub const CODES: &[Code] = &[
    code(
        "unknown-message",
        "The receiver does not understand the message, or no class defines it.",
        "'hello' lenght",
        "'hello' length",
    ),
    code(
        "wrong-arity",
        "The message exists with another number of arguments.",
        "'hello' replace: 'l'",
        "'hello' replace: 'l' with: 'r'",
    ),
    code(
        "run-together",
        "Two keyword messages without parentheses are read as one message.",
        "[ 1, 2 ] collect: { :x | x * 2 } select: { :x | x > 2 }",
        "([ 1, 2 ] collect: { :x | x * 2 }) select: { :x | x > 2 }",
    ),
    code(
        "wrong-type",
        "An argument, or a value for a typed variable, is of a class that is not taken there.",
        "class Task { var <string> title. }\n#Task{ title: 3 }",
        "class Task { var <string> title. }\n#Task{ title: 'sow' }",
    ),
    code(
        "no-unit",
        "A number without a unit where a duration or a size is expected. Only 0 needs none.",
        "limit := #RateLimit{ requests: 5, per: 60 }.",
        "limit := #RateLimit{ requests: 5, per: 60 seconds }.",
    ),
    code(
        "kept-answer",
        "A layer that keeps answers stands in front of a scheme whose every `get` has a guard.",
        "scheme Site { guard { header:x-key = 'k3y' } /me { get { 'mine' } } }\nsite := #Cache{ } → #Site{ }.",
        "scheme Site { guard { header:x-key = 'k3y' } /me { get { 'mine' } } }\nsite := #Site{ }.",
    ),
    code(
        "not-boolean",
        "A condition is neither true nor false, and no number.",
        "name := 'Ann'.\nname ifTrue: { 'a name' }",
        "name := 'Ann'.\nname isEmpty ifFalse: { 'a name' }",
    ),
    code(
        "block-arity",
        "A block has more parameters than its message gives it; they are always nil.",
        "[ 1, 2 ] collect: { :x :y | x }",
        "[ 1, 2 ] collect: { :x | x }",
    ),
    code(
        "unknown-property",
        "A literal sets a property that its class does not have.",
        "class Task { var title. }\n#Task{ titel: 'sow' }",
        "class Task { var title. }\n#Task{ title: 'sow' }",
    ),
    code(
        "unknown-variable",
        "`this:` names a variable that the class does not declare.",
        "class Task { var title. -shout { this:titel } }",
        "class Task { var title. -shout { this:title } }",
    ),
    code(
        "dotted-name",
        "`this.name` is a local variable whose name has a dot; the variable of the object is `this:name`.",
        "class Counter { var count. -increment { this.count := 1 } }",
        "class Counter { var count. -increment { this:count := 1 } }",
    ),
    code(
        "unused-variable",
        "Nothing reads a local variable or a parameter whose name does not begin with `_`.",
        "class Sum { -of: list { start := 0. list sum } }",
        "class Sum { -of: list { start := 0. list sum + start } }",
    ),
    code(
        "no-effect",
        "A statement computes a value that nothing uses.",
        "count := 1.\ncount = 3.\nstdout println: count",
        "count := 1.\ncount := 3.\nstdout println: count",
    ),
    code(
        "unreachable",
        "What stands behind `^` is never run.",
        "class Light { -colour { ^ 'red'. 'green' } }",
        "class Light { -colour { ^ 'red' } }",
    ),
    code(
        "doubled",
        "A variable, a method or a key is there twice.",
        "class Light { -colour { 'red' } -colour { 'green' } }",
        "class Light { -colour { 'red' } -nextColour { 'green' } }",
    ),
    code(
        "wrong-answer",
        "A method answers a value that is not of its declared type.",
        "class Task { -<int>priority { 'high' } }",
        "class Task { -<int>priority { 3 } }",
    ),
    code(
        "init-answer",
        "`init` does not answer the object, so that `new` answers something else.",
        "class Counter { var count. -init { this:count := 0 } }",
        "class Counter { var count. -init { this:count := 0. self } }",
    ),
];

/// A kind of finding by its name.
pub fn find(name: &str) -> Option<&'static Code> {
    CODES.iter().find(|code| code.name == name)
}
