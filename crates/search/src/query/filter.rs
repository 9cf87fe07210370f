//! Filters: conditions on the attributes of documents, and their parser.
//!
//! ```text
//! year >= 1990 and (publisher = 'Penguin' or not available)
//! ```
//!
//! | written | passes |
//! |---|---|
//! | `year = 1990`, `!=`, `<`, `<=`, `>`, `>=` | a value that compares so |
//! | `year in (1990, 1992)` | one of these values |
//! | `year = 1990..1995`, `1990..`, `..1995` | a value in the range, ends included |
//! | `available` | a boolean that is true; with other attributes any value |
//! | `has year` | any value |
//! | `distance(lat, lng, 47.4, 8.5) < 10` | a place nearer than 10 kilometres |
//! | `a and b`, `a or b`, `not a`, `(a)` | combinations; `and` binds closer than `or` |
//!
//! A document without a value fails every comparison and so passes its negation: `year != 1990` is
//! the same as `not year = 1990`.

use crate::error::RequestError;
use crate::limits::{MAX_FILTER_CHARS, MAX_FILTER_DEPTH, MAX_FILTER_TESTS};

/// A condition that documents have to meet.
///
/// It refers to attributes by name, so that it applies to several indexes; an index without the
/// attribute treats it as missing. [`Search::filter`](crate::Search::filter) rejects names that no
/// index has.
#[derive(Clone, Debug, PartialEq)]
pub struct SearchFilter {
    pub(crate) condition: FilterCondition,
}

/// A node of a filter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum FilterCondition {
    All(Vec<FilterCondition>),
    Any(Vec<FilterCondition>),
    Not(Box<FilterCondition>),
    Test(AttributeTest),
}

/// A condition on one attribute.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct AttributeTest {
    pub(crate) name: FilterWord,
    pub(crate) how: AttributeCheck,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum AttributeCheck {
    /// The value is in one of these ranges.
    Within(Vec<ValueRange>),
    /// The document has a value.
    Has,
    /// A boolean is true; another attribute has a value.
    Holds,
    /// The attribute is a latitude, and the place is near.
    Near(Box<DistanceTest>),
}

/// A range of values; an end that is `None` is open.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ValueRange {
    pub(crate) from: Option<RangeEnd>,
    pub(crate) to: Option<RangeEnd>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RangeEnd {
    pub(crate) value: FilterWord,
    pub(crate) included: bool,
}

/// A condition on the distance on Earth.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct DistanceTest {
    pub(crate) longitude: FilterWord,
    /// Latitude and longitude in degrees.
    pub(crate) place: (f64, f64),
    /// In kilometres.
    pub(crate) distance: f64,
    /// Whether the condition is "nearer" rather than "farther".
    pub(crate) nearer: bool,
    pub(crate) included: bool,
}

/// A name or value and its position in characters; the first is 1.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FilterWord {
    pub(crate) text: String,
    pub(crate) at: usize,
}

impl SearchFilter {
    /// Parses a filter.
    ///
    /// # Errors
    /// A syntax error, more than [`MAX_FILTER_CHARS`] characters, more than [`MAX_FILTER_TESTS`]
    /// values, or nesting deeper than [`MAX_FILTER_DEPTH`]; with the position and the fix.
    pub fn parse(text: &str) -> Result<SearchFilter, RequestError> {
        let length = text.chars().count();
        if length > MAX_FILTER_CHARS {
            return Err(RequestError::new(
                MAX_FILTER_CHARS + 1,
                format!("a filter must have at most {MAX_FILTER_CHARS} characters (got {length})"),
            ));
        }
        let mut parser = FilterParser { tokens: tokens(text)?, next: 0, tests: 0 };
        let condition = parser.parse_any(0)?;
        match parser.peek() {
            FilterToken::End => Ok(SearchFilter { condition }),
            _ => Err(parser.expected("`and` or `or` between two conditions")),
        }
    }

    /// The approximate number of comparisons for each document.
    pub(crate) fn tests(&self) -> usize {
        self.condition.tests()
    }
}

impl FilterCondition {
    fn tests(&self) -> usize {
        match self {
            FilterCondition::All(parts) | FilterCondition::Any(parts) => {
                parts.iter().map(FilterCondition::tests).sum()
            }
            FilterCondition::Not(part) => part.tests(),
            FilterCondition::Test(AttributeTest {
                how: AttributeCheck::Within(ranges), ..
            }) => ranges.len(),
            // As much work as this many comparisons: several trigonometric functions.
            FilterCondition::Test(AttributeTest { how: AttributeCheck::Near(_), .. }) => 16,
            FilterCondition::Test(_) => 1,
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum FilterToken {
    Word(String),
    Text(String),
    Sign(&'static str),
    End,
}

impl FilterToken {
    fn shown(&self) -> String {
        match self {
            FilterToken::Word(word) => word.clone(),
            FilterToken::Text(text) => format!("'{text}'"),
            FilterToken::Sign(sign) => (*sign).to_owned(),
            FilterToken::End => "the end".to_owned(),
        }
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self, FilterToken::Word(found) if found.eq_ignore_ascii_case(word))
    }
}

/// A longer sign comes before its prefixes.
const SIGNS: [&str; 13] =
    ["!=", "<>", "<=", ">=", "==", "..", "=", "<", ">", "(", ")", ",", "\u{2026}"];

fn tokens(text: &str) -> Result<Vec<(FilterToken, usize)>, RequestError> {
    let mut tokens = Vec::new();
    let (mut rest, mut at) = (text, 1);
    while let Some(character) = rest.chars().next() {
        let length;
        if character.is_whitespace() {
            length = character.len_utf8();
        } else if let Some(sign) = SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
            length = sign.len();
            tokens.push((FilterToken::Sign(sign), at));
        } else if matches!(character, '\'' | '"') {
            let (text, end) = quoted(rest, character).ok_or_else(|| {
                RequestError::new(at, format!("unterminated text; close it with {character}"))
            })?;
            length = end;
            tokens.push((FilterToken::Text(text), at));
        } else {
            length = word_length(rest);
            if length == 0 {
                return Err(RequestError::new(
                    at,
                    format!("unexpected character {character}; put texts between quotes"),
                ));
            }
            tokens.push((FilterToken::Word(rest[..length].to_owned()), at));
        }
        at += rest[..length].chars().count();
        rest = &rest[length..];
    }
    tokens.push((FilterToken::End, at));
    Ok(tokens)
}

/// A quoted text, with doubled quotes inside, and the position of the rest.
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

/// The length in bytes of a name or an unquoted value: letters, digits and the characters of
/// numbers and dates.
fn word_length(text: &str) -> usize {
    let inside = |(at, character): (usize, char)| {
        let point = character == '.' && !text[at..].starts_with("..");
        character.is_alphanumeric() || matches!(character, '_' | '-' | '+' | ':') || point
    };
    let mut characters = text.char_indices();
    characters.find(|found| !inside(*found)).map_or(text.len(), |(at, _)| at)
}

struct FilterParser {
    tokens: Vec<(FilterToken, usize)>,
    next: usize,
    tests: usize,
}

impl FilterParser {
    fn peek(&self) -> &FilterToken {
        self.tokens.get(self.next).map_or(&FilterToken::End, |(token, _)| token)
    }

    fn position(&self) -> usize {
        self.tokens.get(self.next).map_or(1, |(_, at)| *at)
    }

    fn error(&self, message: String) -> RequestError {
        RequestError::new(self.position(), message)
    }

    fn expected(&self, what: &str) -> RequestError {
        self.error(format!("expected {what}, found {}", self.peek().shown()))
    }

    fn takes_word(&mut self, word: &str) -> bool {
        let found = self.peek().is_word(word);
        self.next += usize::from(found);
        found
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        let found = matches!(self.peek(), FilterToken::Sign(next) if *next == sign);
        self.next += usize::from(found);
        found
    }

    fn expect_sign(&mut self, sign: &str) -> Result<(), RequestError> {
        if self.takes_sign(sign) {
            return Ok(());
        }
        Err(self.expected(sign))
    }

    fn count_test(&mut self) -> Result<(), RequestError> {
        self.tests += 1;
        if self.tests > MAX_FILTER_TESTS {
            return Err(self.error(format!(
                "a filter must have at most {MAX_FILTER_TESTS} values and conditions"
            )));
        }
        Ok(())
    }

    fn parse_any(&mut self, depth: usize) -> Result<FilterCondition, RequestError> {
        let mut conditions = vec![self.parse_all(depth)?];
        while self.takes_word("or") {
            conditions.push(self.parse_all(depth)?);
        }
        Ok(one_or(conditions, FilterCondition::Any))
    }

    fn parse_all(&mut self, depth: usize) -> Result<FilterCondition, RequestError> {
        let mut conditions = vec![self.parse_single(depth)?];
        while self.takes_word("and") {
            conditions.push(self.parse_single(depth)?);
        }
        Ok(one_or(conditions, FilterCondition::All))
    }

    fn parse_single(&mut self, depth: usize) -> Result<FilterCondition, RequestError> {
        if depth >= MAX_FILTER_DEPTH {
            return Err(self.error(format!(
                "a filter must have at most {MAX_FILTER_DEPTH} levels of parentheses and `not`"
            )));
        }
        if self.takes_word("not") {
            return Ok(FilterCondition::Not(Box::new(self.parse_single(depth + 1)?)));
        }
        if self.takes_sign("(") {
            let inner = self.parse_any(depth + 1)?;
            self.expect_sign(")")?;
            return Ok(inner);
        }
        self.count_test()?;
        if self.takes_word("has") {
            let name = self.name()?;
            return Ok(FilterCondition::Test(AttributeTest { name, how: AttributeCheck::Has }));
        }
        let name = self.name()?;
        if name.text == "distance" && self.takes_sign("(") {
            return self.distance();
        }
        self.comparison(name)
    }

    fn name(&mut self) -> Result<FilterWord, RequestError> {
        match self.peek() {
            FilterToken::Word(word)
                if !["and", "or", "in"].iter().any(|known| self.peek().is_word(known)) =>
            {
                let word = FilterWord { text: word.clone(), at: self.position() };
                self.next += 1;
                Ok(word)
            }
            _ => Err(self.expected("the name of an attribute, as in year >= 1990")),
        }
    }

    fn comparison(&mut self, name: FilterWord) -> Result<FilterCondition, RequestError> {
        if self.takes_word("in") {
            self.expect_sign("(")?;
            let mut ranges = vec![self.range()?];
            while self.takes_sign(",") {
                self.count_test()?;
                ranges.push(self.range()?);
            }
            self.expect_sign(")")?;
            return Ok(FilterCondition::Test(AttributeTest {
                name,
                how: AttributeCheck::Within(ranges),
            }));
        }
        let sign = match self.peek() {
            FilterToken::Sign(sign @ ("=" | "==" | "!=" | "<>" | "<" | "<=" | ">" | ">=")) => *sign,
            _ => {
                return Ok(FilterCondition::Test(AttributeTest {
                    name,
                    how: AttributeCheck::Holds,
                }));
            }
        };
        self.next += 1;
        let range = match sign {
            "=" | "==" | "!=" | "<>" => self.range()?,
            _ => {
                let end = Some(RangeEnd { value: self.value()?, included: sign.ends_with('=') });
                if sign.starts_with('<') {
                    ValueRange { from: None, to: end }
                } else {
                    ValueRange { from: end, to: None }
                }
            }
        };
        let test =
            FilterCondition::Test(AttributeTest { name, how: AttributeCheck::Within(vec![range]) });
        let negated = matches!(sign, "!=" | "<>");
        Ok(if negated { FilterCondition::Not(Box::new(test)) } else { test })
    }

    /// A single value, or a range of values.
    fn range(&mut self) -> Result<ValueRange, RequestError> {
        let end = |value| Some(RangeEnd { value, included: true });
        if self.takes_between() {
            return Ok(ValueRange { from: None, to: end(self.value()?) });
        }
        let from = self.value()?;
        if !self.takes_between() {
            return Ok(ValueRange { from: end(from.clone()), to: end(from) });
        }
        let to = match self.peek() {
            FilterToken::Text(_) => end(self.value()?),
            FilterToken::Word(_) if !["and", "or"].iter().any(|word| self.peek().is_word(word)) => {
                end(self.value()?)
            }
            _ => None,
        };
        Ok(ValueRange { from: end(from), to })
    }

    fn takes_between(&mut self) -> bool {
        self.takes_sign("..") || self.takes_sign("\u{2026}")
    }

    fn value(&mut self) -> Result<FilterWord, RequestError> {
        match self.peek() {
            FilterToken::Word(text) | FilterToken::Text(text) => {
                let word = FilterWord { text: text.clone(), at: self.position() };
                self.next += 1;
                Ok(word)
            }
            _ => Err(self.expected("a value: a number, a date, or a text in quotes")),
        }
    }

    /// Parses the rest of a condition after `distance(`.
    fn distance(&mut self) -> Result<FilterCondition, RequestError> {
        let name = self.name()?;
        self.expect_sign(",")?;
        let longitude = self.name()?;
        self.expect_sign(",")?;
        let first = self.number("a latitude in degrees", 90.0)?;
        self.expect_sign(",")?;
        let second = self.number("a longitude in degrees", 180.0)?;
        self.expect_sign(")")?;
        let sign = match self.peek() {
            FilterToken::Sign(sign @ ("<" | "<=" | ">" | ">=")) => *sign,
            _ => return Err(self.expected("a comparison with kilometres, as in < 10")),
        };
        self.next += 1;
        let distance = self.number("a number of kilometres", f64::MAX)?;
        let near = DistanceTest {
            longitude,
            place: (first, second),
            distance,
            nearer: sign.starts_with('<'),
            included: sign.ends_with('='),
        };
        Ok(FilterCondition::Test(AttributeTest { name, how: AttributeCheck::Near(Box::new(near)) }))
    }

    fn number(&mut self, what: &str, most: f64) -> Result<f64, RequestError> {
        let word = self.value()?;
        let number = word.text.parse::<f64>().ok().filter(|number| number.abs() <= most);
        number.ok_or_else(|| {
            RequestError::new(word.at, format!("{} is not {what}; write one", word.text))
        })
    }
}

fn one_or(
    mut conditions: Vec<FilterCondition>,
    all: fn(Vec<FilterCondition>) -> FilterCondition,
) -> FilterCondition {
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
    fn shown(condition: &FilterCondition) -> String {
        let list = |parts: &[FilterCondition], between: &str| {
            format!("({})", parts.iter().map(shown).collect::<Vec<_>>().join(between))
        };
        match condition {
            FilterCondition::All(parts) => list(parts, " and "),
            FilterCondition::Any(parts) => list(parts, " or "),
            FilterCondition::Not(part) => format!("not {}", shown(part)),
            FilterCondition::Test(test) => format!("{}{}", test.name.text, how(&test.how)),
        }
    }

    fn how(how: &AttributeCheck) -> String {
        match how {
            AttributeCheck::Has => "?".to_owned(),
            AttributeCheck::Holds => String::new(),
            AttributeCheck::Near(near) => format!("@{}<{}", near.longitude.text, near.distance),
            AttributeCheck::Within(ranges) => ranges.iter().map(range).collect(),
        }
    }

    fn range(range: &ValueRange) -> String {
        let side = |end: &Option<RangeEnd>| match end {
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
            assert_eq!(shown(&SearchFilter::parse(text).unwrap().condition), expected, "{text}");
        }
    }

    #[test]
    fn errors_have_a_position_and_a_fix() {
        for (text, place, part) in [
            ("", 1, "the name of an attribute"),
            ("year >= ", 9, "expected a value"),
            ("year = 'x", 8, "unterminated"),
            ("a b", 3, "`and` or `or`"),
            ("(a", 3, "expected ), found the end"),
            ("a and", 6, "the end"),
            ("\u{fc} = 1 & b", 7, "unexpected character &"),
            ("year in 1990", 9, "expected (, found 1990"),
            ("distance(a, b, 91, 0) < 1", 16, "latitude"),
            ("distance(a, b, 9, 0) = 1", 22, "kilometres"),
            ("and", 1, "found and"),
        ] {
            let error = SearchFilter::parse(text).unwrap_err();
            assert_eq!(error.place(), place, "{text}: {error}");
            assert!(error.message().contains(part), "{text}: {error}");
        }
        assert!(SearchFilter::parse(&"(".repeat(100)).is_err());
        assert!(SearchFilter::parse(&"not ".repeat(100)).is_err());
        assert!(SearchFilter::parse(&"a or ".repeat(400)).is_err());
        assert!(SearchFilter::parse(&" ".repeat(MAX_FILTER_CHARS + 1)).is_err());
        assert!(
            SearchFilter::parse(&format!("a in (1{})", ", 1".repeat(MAX_FILTER_TESTS))).is_err()
        );
    }

    proptest::proptest! {
        #[test]
        fn any_text_is_read(text in "\\PC{0,60}|([a-c(),.=<>'!0-9 ]|and|or|not|in|has){0,30}") {
            if let Err(error) = SearchFilter::parse(&text) {
                proptest::prop_assert!(error.place() <= text.chars().count() + 1);
            }
        }
    }
}
