//! The blocks of a Rust source with what opens them: functions, `impl`s, and the rest.

use crate::rust_source::{code_only, words};

/// What a block belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Function,
    Impl,
    /// A block of foreign functions.
    Extern,
    Other,
}

/// A block in braces.
#[derive(Clone, Debug)]
pub(crate) struct Scope {
    pub(crate) kind: Kind,
    /// The name of a function; empty for the others.
    pub(crate) name: String,
    /// The line on which what opens it begins, after comments and attributes; from 1.
    pub(crate) first: usize,
    /// The line of the closing brace.
    pub(crate) last: usize,
}

impl Scope {
    pub(crate) fn contains(&self, line: usize) -> bool {
        (self.first..=self.last).contains(&line)
    }

    /// Lines from the first to the last.
    pub(crate) fn length(&self) -> usize {
        self.last - self.first + 1
    }
}

/// The blocks of a source, in the order in which they close.
pub(crate) fn scopes(source: &str) -> Vec<Scope> {
    let mut reader = Reader::default();
    for (number, line) in code_only(source).lines().enumerate() {
        reader.line(number + 1, line);
    }
    reader.closed
}

#[derive(Default)]
struct Reader {
    /// Open blocks, each with the parentheses that were open around it.
    open: Vec<(Scope, usize)>,
    closed: Vec<Scope>,
    /// The code since the last statement or block ended.
    head: String,
    /// The line on which it begins.
    first: usize,
    /// Open parentheses and brackets of the head: a semicolon in them ends nothing.
    nested: usize,
}

impl Reader {
    fn line(&mut self, number: usize, line: &str) {
        let is_attribute = line.trim_start().starts_with("#[");
        if is_attribute && self.head.trim().is_empty() {
            return;
        }
        for c in line.chars() {
            match c {
                '{' => {
                    let scope = scope(&self.head, self.first.max(1));
                    self.open.push((scope, std::mem::take(&mut self.nested)));
                    self.head.clear();
                }
                '}' => {
                    if let Some((mut scope, nested)) = self.open.pop() {
                        scope.last = number;
                        self.closed.push(scope);
                        self.nested = nested;
                    }
                    self.head.clear();
                }
                ';' if self.nested == 0 => self.head.clear(),
                c => self.character(c, number),
            }
        }
        self.head.push(' ');
    }

    fn character(&mut self, c: char, number: usize) {
        match c {
            '(' | '[' => self.nested += 1,
            ')' | ']' => self.nested = self.nested.saturating_sub(1),
            _ => {}
        }
        if self.head.trim().is_empty() {
            self.first = number;
        }
        self.head.push(c);
    }
}

/// The block that a head opens.
fn scope(head: &str, first: usize) -> Scope {
    let words: Vec<(usize, &str)> = words(head).collect();
    let function = words.windows(2).find(|pair| {
        // Not the type of a function, `fn(…)`.
        pair[0].1 == "fn" && head[pair[0].0 + 2..pair[1].0].trim().is_empty()
    });
    let has = |word: &str| words.iter().any(|(_, one)| *one == word);
    let opens = |word: &str| {
        words
            .iter()
            .find(|(_, one)| !matches!(*one, "unsafe" | "pub"))
            .is_some_and(|(_, one)| *one == word)
    };
    let kind = match function {
        Some(_) => Kind::Function,
        None if opens("impl") => Kind::Impl,
        None if has("extern") => Kind::Extern,
        None => Kind::Other,
    };
    let name = function.map_or(String::new(), |pair| pair[1].1.to_string());
    Scope { kind, name, first, last: first }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<(Kind, String, usize, usize)> {
        scopes(source).into_iter().map(|s| (s.kind, s.name, s.first, s.last)).collect()
    }

    #[test]
    fn functions_end_where_their_brace_closes() {
        let source = "/// Doc.\n#[inline]\nfn one(a: [u8; 2])\n\
            where\n{\n    call(|| { x; });\n}\nfn two();\n";
        let other = (Kind::Other, String::new(), 6, 6);
        assert_eq!(found(source), [other, (Kind::Function, "one".into(), 3, 7)]);
    }

    #[test]
    fn implementations_and_foreign_blocks_are_told_apart() {
        let source =
            "impl A {\n    const F: fn(i32) = b;\n}\nunsafe extern \"C\" {\n    fn c();\n}\n";
        let expected = [(Kind::Impl, String::new(), 1, 3), (Kind::Extern, String::new(), 4, 6)];
        assert_eq!(found(source), expected);
    }

    #[test]
    fn braces_in_texts_and_comments_do_not_count() {
        let source = "fn a() {\n    let s = \"}\"; // }\n}\n";
        assert_eq!(found(source), [(Kind::Function, "a".into(), 1, 3)]);
    }
}
