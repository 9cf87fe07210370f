//! Names that other languages have, in programs that parse: `null`, `name.length`, `{ x | x * 2 }`.

use crate::Span;

/// A name and what this language says instead.
const WORDS: &[(&[&str], &str)] = &[
    (&["null", "NULL", "Null", "None", "undefined", "nullptr", "Nil"], "nothing is called `nil`"),
    (&["True", "TRUE"], "the value is called `true`"),
    (&["False", "FALSE"], "the value is called `false`"),
    (&["self", "this", "super"], "`self` is known in methods and handlers only"),
    (
        &["if", "unless", "then"],
        "send the condition a message: `condition ifTrue: { … } ifFalse: { … }`",
    ),
    (
        &["else", "elif", "elsif", "elseif", "endif"],
        "both blocks are in one message: `condition ifTrue: { … } ifFalse: { … }`",
    ),
    (&["while", "until", "loop"], "a loop is a message: `{ condition } whileTrue: { … }`"),
    (&["for", "foreach"], "a collection visits its elements: `list do: { :each | … }`"),
    (&["end"], "a block ends with `}`"),
    (&["pass"], "an empty block is `{ }`"),
    (
        &["break", "continue"],
        "a loop ends by its condition: `{ condition } whileTrue: { … }`, or use `detect:`",
    ),
    (&["return"], "write `^ value`"),
    (
        &["function", "def", "fn", "func", "lambda"],
        "give a block a name: `f ← { :a | … }`, and call it with `f value: …`",
    ),
    (&["let", "const"], "a variable begins with its first value: `name ← value`"),
    (
        &["import", "require", "include", "using", "from"],
        "a reference loads another program: `ref:file:name.st load`",
    ),
    (
        &["print", "println", "printf", "puts", "echo", "console", "console.log"],
        "a stream takes the text: `stdout println: …`",
    ),
    (&["new"], "`#Name{ key: value }` makes an object, `Name new` an empty one"),
    (&["not"], "send the value a message: `value not`"),
    (&["try"], "a block handles its errors: `{ … } onError: { :error | … }`"),
    (&["throw", "raise"], "send the class a message: `Error signal: '…'`"),
    (&["await", "async", "yield"], "leave it out: a message that waits lets other tasks run"),
];

/// The next step for a name that is not known, where another language has it or writes it so.
pub fn foreign_name_hint(source: &str, span: Span) -> Option<String> {
    let name = span.text(source);
    let before = source.get(..span.start as usize)?;
    let after = source.get(span.end as usize..)?;
    before_or_after(name, before, after)
        .or_else(|| word(name).map(str::to_owned))
        .or_else(|| dotted(name))
}

fn word(name: &str) -> Option<&'static str> {
    WORDS.iter().find(|(names, _)| names.contains(&name)).map(|(_, hint)| *hint)
}

/// `name.length`, `this.count`
fn dotted(name: &str) -> Option<String> {
    let (receiver, message) = name.rsplit_once('.')?;
    if let Some((_, field)) =
        name.split_once('.').filter(|(own, _)| matches!(*own, "this" | "self"))
    {
        return Some(format!("the object's own variable is written `this:{field}`"));
    }
    Some(format!("a message is sent with a space: `{receiver} {message}`"))
}

/// What the marks around a name tell.
fn before_or_after(name: &str, before: &str, after: &str) -> Option<String> {
    let line = before.rsplit('\n').next().unwrap_or("");
    let begins = line.trim().is_empty() || line.trim_end().ends_with(['.', '{', '|']);
    let next = after.trim_start_matches(' ');
    if before.trim_end().ends_with('{') && next.starts_with('|') && !next.starts_with("||") {
        return Some(format!("a parameter of a block has a colon: `{{ :{name} | … }}`"));
    }
    if next.starts_with("=>") {
        return Some(format!("a block stands in braces: `{{ :{name} | … }}`"));
    }
    let mut left = before.strip_suffix('.').unwrap_or("").chars().rev();
    if left.next().is_some_and(|c| matches!(c, '\'' | '"' | ')' | ']' | '}')) {
        return Some(format!("a message is sent with a space, not with a period: `… {name}`"));
    }
    let is_equal = next.strip_prefix('=').is_some_and(|rest| rest.starts_with([' ', '\n']));
    if begins && is_equal {
        return Some(format!("`=` compares; to give it a value write `{name} ← …`"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_other_languages_have_a_next_step() {
        for (source, name, hint) in [
            ("a := null.", "null", "nothing is called `nil`"),
            ("count = 3.", "count", "`=` compares; to give it a value write `count ← 3`"),
            ("n := name.length.", "name.length", "a message is sent with a space: `name length`"),
            ("{ x | x * 2 }", "x", "a parameter of a block has a colon: `{ :x | … }`"),
            ("f := x => x * 2", "x", "a block stands in braces: `{ :x | … }`"),
            (
                "'x'.length",
                "length",
                "a message is sent with a space, not with a period: `… length`",
            ),
            ("this.count", "this.count", "the object's own variable is written `this:count`"),
            ("Task.new", "Task.new", "a message is sent with a space: `Task new`"),
        ] {
            let start = source.find(name).unwrap_or_default() as u32;
            let span = Span::new(start, start + name.len() as u32);
            let found = foreign_name_hint(source, span);
            assert_eq!(found.map(|found| found.replace("← …", "← 3")).as_deref(), Some(hint));
        }
        assert_eq!(foreign_name_hint("a = b", Span::new(4, 5)), None);
    }
}
