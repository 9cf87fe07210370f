//! Rust sources without what is not code: comments and literals become spaces.
//!
//! Only as much of the lexical grammar as it takes to know where comments, texts and characters
//! begin and end (The Rust Reference, "Tokens" and "Comments").

/// The source with comments and the insides of literals replaced by spaces, on the same lines and
/// columns (counted in characters).
pub(crate) fn code_only(source: &str) -> String {
    let mut scanner = Scanner { rest: source.chars().collect(), at: 0, out: String::new() };
    while scanner.at < scanner.rest.len() {
        scanner.step();
    }
    scanner.out
}

/// The words of a line: identifiers and keywords, each with its column from 0.
pub(crate) fn words(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + line[at..].find(is_word)?;
        let end = line[start..].find(|c| !is_word(c)).map_or(line.len(), |length| start + length);
        at = end;
        Some((start, &line[start..end]))
    })
}

struct Scanner {
    rest: Vec<char>,
    at: usize,
    out: String,
}

impl Scanner {
    fn peek(&self, ahead: usize) -> char {
        self.rest.get(self.at + ahead).copied().unwrap_or('\0')
    }

    fn keep(&mut self, count: usize) {
        let end = (self.at + count).min(self.rest.len());
        self.out.extend(&self.rest[self.at..end]);
        self.at = end;
    }

    fn blank(&mut self, count: usize) {
        let end = (self.at + count).min(self.rest.len());
        let blanks = self.rest[self.at..end].iter().map(|c| if *c == '\n' { '\n' } else { ' ' });
        self.out.extend(blanks);
        self.at = end;
    }

    fn step(&mut self) {
        match (self.peek(0), self.peek(1)) {
            ('/', '/') => self.line_comment(),
            ('/', '*') => self.block_comment(),
            ('"', _) => self.text(),
            ('\'', _) => self.character(),
            (c, _) if c.is_alphabetic() || c == '_' => self.word(),
            _ => self.keep(1),
        }
    }

    fn line_comment(&mut self) {
        while self.at < self.rest.len() && self.peek(0) != '\n' {
            self.blank(1);
        }
    }

    fn block_comment(&mut self) {
        let mut depth = 0;
        while self.at < self.rest.len() {
            match (self.peek(0), self.peek(1)) {
                ('/', '*') => {
                    depth += 1;
                    self.blank(2);
                }
                ('*', '/') => {
                    depth -= 1;
                    self.blank(2);
                    if depth == 0 {
                        return;
                    }
                }
                _ => self.blank(1),
            }
        }
    }

    fn text(&mut self) {
        self.keep(1);
        while self.at < self.rest.len() {
            match self.peek(0) {
                '\\' => self.blank(2),
                '"' => return self.keep(1),
                _ => self.blank(1),
            }
        }
    }

    /// A character, or the mark of a lifetime.
    fn character(&mut self) {
        if self.peek(1) == '\\' {
            self.keep(1);
            self.blank(2);
            while self.at < self.rest.len() && self.peek(0) != '\'' {
                self.blank(1);
            }
            self.keep(1);
        } else if self.peek(2) == '\'' {
            self.keep(1);
            self.blank(1);
            self.keep(1);
        } else {
            self.keep(1);
        }
    }

    /// A word; `r"…"`, `br#"…"#` and their like are raw texts.
    fn word(&mut self) {
        let start = self.at;
        while self.peek(0).is_alphanumeric() || self.peek(0) == '_' {
            self.keep(1);
        }
        let word: String = self.rest[start..self.at].iter().collect();
        if !matches!(word.as_str(), "r" | "br" | "cr") {
            return;
        }
        let hashes = (0..).take_while(|ahead| self.peek(*ahead) == '#').count();
        if self.peek(hashes) != '"' {
            return;
        }
        self.keep(hashes + 1);
        while self.at < self.rest.len() {
            let closes = self.peek(0) == '"' && (1..=hashes).all(|ahead| self.peek(ahead) == '#');
            if closes {
                return self.keep(hashes + 1);
            }
            self.blank(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_literals_become_blanks() {
        let source = "let a = \"un{safe\\\"\"; // {\n/* a /* b */ } */ f('{', '\\'', b'}') /*";
        let code = "let a = \"         \";     \n                  f(' ', '  ', b' ')   ";
        assert_eq!(code_only(source), code);
    }

    #[test]
    fn raw_texts_and_lifetimes() {
        assert_eq!(code_only("r#\"a\"}\"# + x"), "r#\"   \"# + x");
        assert_eq!(code_only("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
    }

    #[test]
    fn words_have_columns() {
        let found: Vec<_> = words("unsafe { a_b(1) }").collect();
        assert_eq!(found, [(0, "unsafe"), (9, "a_b"), (13, "1")]);
    }
}
