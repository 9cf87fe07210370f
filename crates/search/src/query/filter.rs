//! Filters: conditions on the attributes of documents, as they are written and read.
//!
//! ```text
//! year >= 1990 and (publisher = 'Penguin' or not available)
//! ```
//!
//! | written | passes |
//! |---|---|
//! | `year = 1990`, `!=`, `<`, `<=`, `>`, `>=` | a value that compares so |
//! | `year in (1990, 1992)` | one of these values |
//! | `year = 1990..1995`, `1990..`, `..1995` | a value from one to the other, both included |
//! | `available` | a boolean that is true; of other attributes any value |
//! | `has year` | any value |
//! | `distance(lat, lng, 47.4, 8.5) < 10` | a place nearer than this many kilometres |
//! | `a and b`, `a or b`, `not a`, `(a)` | as they say; `and` binds closer than `or` |
//!
//! A document without a value passes no comparison, and so passes its negation: `year != 1990` is
//! the same as `not year = 1990`.

use crate::error::RequestError;
use crate::limits::{MAX_FILTER_CHARS, MAX_FILTER_DEPTH, MAX_FILTER_TESTS};

/// A condition that documents have to meet.
///
/// It knows attributes by their names, so that it can be asked of several indexes; those that have
/// no attribute of the name take it as missing. [`Search::filter`](crate::Search::filter) finds
/// names that none of them has.
#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    pub(crate) condition: Condition,
}

/// A part of a filter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    All(Vec<Condition>),
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Test(Test),
}

/// A condition on one attribute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Test {
    pub(crate) name: Word,
    pub(crate) how: How,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum How {
    /// In one of these ranges.
    Within(Vec<Between>),
    /// Any value.
    Has,
    /// True; of what is not boolean any value.
    Holds,
    /// The attribute is a latitude; near a place.
    Near(Box<Near>),
}

/// Values from one to the other; no end where there is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Between {
    pub(crate) from: Option<End>,
    pub(crate) to: Option<End>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct End {
    pub(crate) value: Word,
    pub(crate) included: bool,
}

/// A distance on Earth.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Near {
    pub(crate) longitude: Word,
    /// In degrees.
    pub(crate) place: (f64, f64),
    /// In kilometres.
    pub(crate) distance: f64,
    /// Whether what is nearer is meant, and not what is farther.
    pub(crate) nearer: bool,
    pub(crate) included: bool,
}

/// A name or value and the character at which it is written, the first being 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Word {
    pub(crate) text: String,
    pub(crate) at: usize,
}

impl Filter {
    /// Reads a filter.
    ///
    /// # Errors
    /// What cannot be read, is longer than [`MAX_FILTER_CHARS`], has more than
    /// [`MAX_FILTER_TESTS`] values or parts more than [`MAX_FILTER_DEPTH`] deep; with the place and
    /// what to write.
    pub fn parse(text: &str) -> Result<Filter, RequestError> {
        let length = text.chars().count();
        if length > MAX_FILTER_CHARS {
            return Err(RequestError::new(
                MAX_FILTER_CHARS + 1,
                format!("a filter has {length} characters; {MAX_FILTER_CHARS} are allowed"),
            ));
        }
        let mut parser = Parser { tokens: tokens(text)?, next: 0, tests: 0 };
        let condition = parser.any(0)?;
        match parser.peek() {
            Token::End => Ok(Filter { condition }),
            found => Err(parser.error(format!(
                "{} is not expected in a filter; write and or or between two conditions",
                found.shown()
            ))),
        }
    }

    /// About how many values it compares for each document.
    pub(crate) fn tests(&self) -> usize {
        self.condition.tests()
    }
}

impl Condition {
    fn tests(&self) -> usize {
        match self {
            Condition::All(parts) | Condition::Any(parts) => {
                parts.iter().map(Condition::tests).sum()
            }
            Condition::Not(part) => part.tests(),
            Condition::Test(Test { how: How::Within(ranges), .. }) => ranges.len(),
            // Several functions of angles.
            Condition::Test(Test { how: How::Near(_), .. }) => 16,
            Condition::Test(_) => 1,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Sign(&'static str),
    End,
}

impl Token {
    fn shown(&self) -> String {
        match self {
            Token::Word(word) => word.clone(),
            Token::Text(text) => format!("'{text}'"),
            Token::Sign(sign) => (*sign).to_owned(),
            Token::End => "the end".to_owned(),
        }
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self, Token::Word(found) if found.eq_ignore_ascii_case(word))
    }
}

/// Longer signs come before those that they begin with.
const SIGNS: [&str; 13] =
    ["!=", "<>", "<=", ">=", "==", "..", "=", "<", ">", "(", ")", ",", "\u{2026}"];

fn tokens(text: &str) -> Result<Vec<(Token, usize)>, RequestError> {
    let mut tokens = Vec::new();
    let (mut rest, mut at) = (text, 1);
    while let Some(character) = rest.chars().next() {
        let length;
        if character.is_whitespace() {
            length = character.len_utf8();
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            length = sign.len();
            tokens.push((Token::Sign(sign), at));
        } else if matches!(character, '\'' | '"') {
            let (text, end) = quoted(rest, character).ok_or_else(|| {
                RequestError::new(at, format!("a text has no end; write {character} after it"))
            })?;
            length = end;
            tokens.push((Token::Text(text), at));
        } else {
            length = word_length(rest);
            if length == 0 {
                return Err(RequestError::new(
                    at,
                    format!("{character} means nothing in a filter; put texts between quotes"),
                ));
            }
            tokens.push((Token::Word(rest[..length].to_owned()), at));
        }
        at += rest[..length].chars().count();
        rest = &rest[length..];
    }
    tokens.push((Token::End, at));
    Ok(tokens)
}

/// A text between quotes, which are written twice inside, and where the rest starts.
fn quoted(text: &str, quote: char) -> Option<(String, usize)> {
    let mut out = String::new();
    let mut characters = text.char_indices().skip(1).peekable();
    while let Some((at, character)) = characters.next() {
        if character != quote {
            out.push(character);
        } else if characters.next_if(|(_, next)| *next == quote).is_some() {
            out.push(quote);
        } else {
            return Some((out, at + 1));
        }
    }
    None
}

/// How many bytes of a text are a name or a value without quotes: letters, digits and what is in
/// numbers and dates.
fn word_length(text: &str) -> usize {
    let inside = |(at, character): (usize, char)| {
        let point = character == '.' && !text[at..].starts_with("..");
        character.is_alphanumeric() || matches!(character, '_' | '-' | '+' | ':') || point
    };
    let mut characters = text.char_indices();
    characters.find(|found| !inside(*found)).map_or(text.len(), |(at, _)| at)
}

struct Parser {
    tokens: Vec<(Token, usize)>,
    next: usize,
    tests: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.next).map_or(&Token::End, |(token, _)| token)
    }

    fn at(&self) -> usize {
        self.tokens.get(self.next).map_or(1, |(_, at)| *at)
    }

    fn error(&self, message: String) -> RequestError {
        RequestError::new(self.at(), message)
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let found = self.peek().is_word(word);
        self.next += usize::from(found);
        found
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), Token::Sign(next) if *next == sign);
        self.next += usize::from(found);
        found
    }

    fn expect_sign(&mut self, sign: &str) -> Result<(), RequestError> {
        if self.takes_sign(sign) {
            return Ok(());
        }
        Err(self.error(format!("{} stands where {sign} has to; write it", self.peek().shown())))
    }

    fn count(&mut self) -> Result<(), RequestError> {
        self.tests += 1;
        if self.tests > MAX_FILTER_TESTS {
            return Err(self.error(format!(
                "a filter has more than {MAX_FILTER_TESTS} values and conditions; leave some out"
            )));
        }
        Ok(())
    }

    fn any(&mut self, depth: usize) -> Result<Condition, RequestError> {
        let mut conditions = vec![self.all(depth)?];
        while self.takes_word("or") {
            conditions.push(self.all(depth)?);
        }
        Ok(one_or(conditions, Condition::Any))
    }

    fn all(&mut self, depth: usize) -> Result<Condition, RequestError> {
        let mut conditions = vec![self.single(depth)?];
        while self.takes_word("and") {
            conditions.push(self.single(depth)?);
        }
        Ok(one_or(conditions, Condition::All))
    }

    fn single(&mut self, depth: usize) -> Result<Condition, RequestError> {
        if depth >= MAX_FILTER_DEPTH {
            return Err(self.error(format!(
                "the parts of a filter are more than {MAX_FILTER_DEPTH} deep; \
                 write it with fewer parentheses"
            )));
        }
        if self.takes_word("not") {
            return Ok(Condition::Not(Box::new(self.single(depth + 1)?)));
        }
        if self.takes_sign("(") {
            let inner = self.any(depth + 1)?;
            self.expect_sign(")")?;
            return Ok(inner);
        }
        self.count()?;
        if self.takes_word("has") {
            let name = self.name()?;
            return Ok(Condition::Test(Test { name, how: How::Has }));
        }
        let name = self.name()?;
        if name.text == "distance" && self.takes_sign("(") {
            return self.distance();
        }
        self.comparison(name)
    }

    fn name(&mut self) -> Result<Word, RequestError> {
        match self.peek() {
            Token::Word(word)
                if !["and", "or", "in"].iter().any(|known| self.peek().is_word(known)) =>
            {
                let word = Word { text: word.clone(), at: self.at() };
                self.next += 1;
                Ok(word)
            }
            found => Err(self.error(format!(
                "{} stands where the name of an attribute has to; \
                 write conditions like year >= 1990",
                found.shown()
            ))),
        }
    }

    fn comparison(&mut self, name: Word) -> Result<Condition, RequestError> {
        if self.takes_word("in") {
            self.expect_sign("(")?;
            let mut ranges = vec![self.range()?];
            while self.takes_sign(",") {
                self.count()?;
                ranges.push(self.range()?);
            }
            self.expect_sign(")")?;
            return Ok(Condition::Test(Test { name, how: How::Within(ranges) }));
        }
        let sign = match self.peek() {
            Token::Sign(sign @ ("=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=")) => *sign,
            _ => return Ok(Condition::Test(Test { name, how: How::Holds })),
        };
        self.next += 1;
        let range = match sign {
            "=" | "==" | "!=" | "<>" => self.range()?,
            _ => {
                let end = Some(End { value: self.value()?, included: sign.ends_with('=') });
                if sign.starts_with('<') {
                    Between { from: None, to: end }
                } else {
                    Between { from: end, to: None }
                }
            }
        };
        let test = Condition::Test(Test { name, how: How::Within(vec![range]) });
        let negated = matches!(sign, "!=" | "<>");
        Ok(if negated { Condition::Not(Box::new(test)) } else { test })
    }

    /// A value, or the values from one to another.
    fn range(&mut self) -> Result<Between, RequestError> {
        let end = |value| Some(End { value, included: true });
        if self.takes_between() {
            return Ok(Between { from: None, to: end(self.value()?) });
        }
        let from = self.value()?;
        if !self.takes_between() {
            return Ok(Between { from: end(from.clone()), to: end(from) });
        }
        let to = match self.peek() {
            Token::Text(_) => end(self.value()?),
            Token::Word(_) if !["and", "or"].iter().any(|word| self.peek().is_word(word)) => {
                end(self.value()?)
            }
            _ => None,
        };
        Ok(Between { from: end(from), to })
    }

    fn takes_between(&mut self) -> bool {
        self.takes_sign("..") || self.takes_sign("\u{2026}")
    }

    fn value(&mut self) -> Result<Word, RequestError> {
        match self.peek() {
            Token::Word(text) | Token::Text(text) => {
                let word = Word { text: text.clone(), at: self.at() };
                self.next += 1;
                Ok(word)
            }
            found => Err(self.error(format!(
                "{} stands where a value has to; write a number, a date, or a text in quotes",
                found.shown()
            ))),
        }
    }

    /// After `distance(`.
    fn distance(&mut self) -> Result<Condition, RequestError> {
        let name = self.name()?;
        self.expect_sign(",")?;
        let longitude = self.name()?;
        self.expect_sign(",")?;
        let first = self.number("a latitude in degrees", 90.0)?;
        self.expect_sign(",")?;
        let second = self.number("a longitude in degrees", 180.0)?;
        self.expect_sign(")")?;
        let sign = match self.peek() {
            Token::Sign(sign @ ("<" | "<=" | ">" | ">=")) => *sign,
            found => {
                return Err(self.error(format!(
                    "{} stands where the comparison of a distance has to; \
                     write < and kilometres after it",
                    found.shown()
                )));
            }
        };
        self.next += 1;
        let distance = self.number("a number of kilometres", f64::MAX)?;
        let near = Near {
            longitude,
            place: (first, second),
            distance,
            nearer: sign.starts_with('<'),
            included: sign.ends_with('='),
        };
        Ok(Condition::Test(Test { name, how: How::Near(Box::new(near)) }))
    }

    fn number(&mut self, what: &str, most: f64) -> Result<f64, RequestError> {
        let word = self.value()?;
        let number = word.text.parse::<f64>().ok().filter(|number| number.abs() <= most);
        number.ok_or_else(|| {
            RequestError::new(word.at, format!("{} is not {what}; write one", word.text))
        })
    }
}

fn one_or(mut conditions: Vec<Condition>, all: fn(Vec<Condition>) -> Condition) -> Condition {
    match conditions.pop() {
        Some(only) if conditions.is_empty() => only,
        Some(last) => {
            conditions.push(last);
            all(conditions)
        }
        None => all(conditions),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A condition with parentheses around every part.
    fn shown(condition: &Condition) -> String {
        let list = |parts: &[Condition], between: &str| {
            format!("({})", parts.iter().map(shown).collect::<Vec<_>>().join(between))
        };
        match condition {
            Condition::All(parts) => list(parts, " and "),
            Condition::Any(parts) => list(parts, " or "),
            Condition::Not(part) => format!("not {}", shown(part)),
            Condition::Test(test) => format!("{}{}", test.name.text, how(&test.how)),
        }
    }

    fn how(how: &How) -> String {
        match how {
            How::Has => "?".to_owned(),
            How::Holds => String::new(),
            How::Near(near) => format!("@{}<{}", near.longitude.text, near.distance),
            How::Within(ranges) => ranges.iter().map(range).collect(),
        }
    }

    fn range(range: &Between) -> String {
        let side = |end: &Option<End>| match end {
            Some(end) if end.included => end.value.text.clone(),
            Some(end) => format!("~{}", end.value.text),
            None => String::new(),
        };
        format!("[{},{}]", side(&range.from), side(&range.to))
    }

    #[test]
    fn what_is_written_and_what_it_means() {
        for (text, expected) in [
            ("year>=1990", "year[1990,]"),
            ("year < 1990", "year[,~1990]"),
            ("a = 1 or b = 2 and not c", "(a[1,1] or (b[2,2] and not c))"),
            ("(a or b) AND c", "((a or b) and c)"),
            ("year != 1990", "not year[1990,1990]"),
            ("year=1990..1995", "year[1990,1995]"),
            ("year = -5..", "year[-5,]"),
            ("year=..1995 and a", "(year[,1995] and a)"),
            ("year = 1990.. and a", "(year[1990,] and a)"),
            ("price = 1.5\u{2026}2.5", "price[1.5,2.5]"),
            ("by in ('A''s', \"b\", x..y)", "by[A's,A's][b,b][x,y]"),
            ("has year", "year?"),
            (
                "on = 1990-05-17T10:30:00+02:00",
                "on[1990-05-17T10:30:00+02:00,1990-05-17T10:30:00+02:00]",
            ),
            ("distance(lat, lng, 47.4, -8.5) <= 10", "lat@lng<10"),
            ("((a))", "a"),
        ] {
            assert_eq!(shown(&Filter::parse(text).unwrap().condition), expected, "{text}");
        }
    }

    #[test]
    fn mistakes_are_told_with_their_place() {
        for (text, place, part) in [
            ("", 1, "the name of an attribute"),
            ("year >= ", 9, "where a value has to"),
            ("year = 'x", 8, "no end"),
            ("a b", 3, "write and or or"),
            ("(a", 3, "write it"),
            ("a and", 6, "the end"),
            ("\u{fc} = 1 & b", 7, "& means nothing"),
            ("year in 1990", 9, "where ( has to"),
            ("distance(a, b, 91, 0) < 1", 16, "latitude"),
            ("distance(a, b, 9, 0) = 1", 22, "kilometres"),
            ("and", 1, "and stands"),
        ] {
            let error = Filter::parse(text).unwrap_err();
            assert_eq!(error.place(), place, "{text}: {error}");
            assert!(error.message().contains(part), "{text}: {error}");
        }
        assert!(Filter::parse(&"(".repeat(100)).is_err());
        assert!(Filter::parse(&"not ".repeat(100)).is_err());
        assert!(Filter::parse(&"a or ".repeat(400)).is_err());
        assert!(Filter::parse(&" ".repeat(MAX_FILTER_CHARS + 1)).is_err());
        assert!(Filter::parse(&format!("a in (1{})", ", 1".repeat(MAX_FILTER_TESTS))).is_err());
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,60}|([a-c(),.=<>'!0-9 ]|and|or|not|in|has){0,30}") {
            if let Err(error) = Filter::parse(&text) {
                proptest::prop_assert!(error.place() <= text.chars().count() + 1);
            }
        }
    }
}
