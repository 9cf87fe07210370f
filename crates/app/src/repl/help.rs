//! `help` at the prompt: an overview, or the definition of a name, as `runnel doc` has it.

use crate::commands::doc;
use runnel_runtime::Isolate;

const OVERVIEW: &str = "\
help NAME          a class, a message, an option, a scheme, a kind of error or a word: help at:put:, help file:
Tab                completes names, messages and paths; a second Tab chooses among several
value methods      the messages that a value understands
value inspect      what is in a value
last               the last value
!COMMAND           a command of the shell
Ctrl-C, Ctrl-D     interrupts a statement; leaves
The manual: spec/about.md; `runnel --help` lists the commands.";

/// The names of a line that asks for help; `None` for a statement.
pub(crate) fn asked(line: &str) -> Option<Vec<String>> {
    let rest = line.trim().strip_prefix("help")?;
    let words: Vec<String> = rest.split_whitespace().map(String::from).collect();
    let is_name =
        |word: &String| word.starts_with(|first: char| first.is_alphabetic() || first == '#');
    let asks = rest.is_empty() || rest.starts_with(' ') && words.first().is_some_and(is_name);
    asks.then_some(words)
}

/// The answer to a line that asks for help; `None` for a statement, also one with a variable of this name.
pub(crate) fn answer(isolate: &Isolate, line: &str) -> Option<Result<String, String>> {
    let words = asked(line).filter(|_| !isolate.has_variable("help"))?;
    Some(if words.is_empty() { Ok(OVERVIEW.to_owned()) } else { doc::explanation(&words) })
}
