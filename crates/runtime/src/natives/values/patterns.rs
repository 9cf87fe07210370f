//! Regular expressions: compilation, and searches in linear time.
//!
//! A search over a large text runs on the data pool. All matches of a text come in batches, so that other
//! fibers run between them: together they can take quadratic time, as of `.*[^A-Z]|[A-Z]`.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use regex::{CaptureLocations, Regex, RegexBuilder};
use runnel_store::{AT_ONCE, DATA_POOL, Error, Kind, Result, Value};
use std::cell::{Cell, OnceCell};
use std::sync::Arc;
use std::time::{Duration, Instant};

pub(crate) const NATIVES: [(&str, Native); 6] = [
    ("pattern", compile),
    ("patternGroups", groups),
    ("patternMatches", matches),
    ("patternFinds", finds),
    ("patternSearch", search),
    ("patternNext", next),
];

/// Bytes of a pattern's text.
const LONGEST_PATTERN: usize = 4096;
/// Bytes of a compiled pattern, and of the cache of one of its searches.
const LARGEST_PATTERN: usize = 1024 * 1024;
/// Groups inside each other.
const DEEPEST_PATTERN: u32 = 64;
/// Offsets in a batch of matches, and the time after which a batch ends.
const BATCH: usize = 512;
const BATCH_TIME: Duration = Duration::from_millis(1);

/// A compiled regular expression, held by the program.
struct CompiledPattern {
    source: String,
    anywhere: Regex,
    /// Anchored at both ends; compiled when it is first needed.
    whole: OnceCell<Regex>,
}

/// All matches of a pattern in a text, one batch after the other.
struct MatchSearch {
    regex: Regex,
    text: Arc<str>,
    position: Cell<SearchPosition>,
}

/// Where a search continues.
#[derive(Clone, Copy, Default)]
struct SearchPosition {
    at: usize,
    /// The end of the last match: an empty one there is not another.
    last_end: Option<usize>,
    is_over: bool,
}

fn build(source: &str) -> std::result::Result<Regex, regex::Error> {
    RegexBuilder::new(source)
        .size_limit(LARGEST_PATTERN)
        .dfa_size_limit(LARGEST_PATTERN)
        .nest_limit(DEEPEST_PATTERN)
        .build()
}

/// The error of a pattern, with the place in it where there is one.
fn refusal(source: &str, error: &regex::Error) -> Error {
    let shown: String = source.chars().take(60).collect();
    if let regex::Error::CompiledTooBig(_) = error {
        let message = format!("the pattern /{shown}/ takes more than 1 MiB when compiled");
        return Error::new(Kind::TooLarge, message);
    }
    let mut parser = regex_syntax::ParserBuilder::new();
    let (what, offset) = match parser.nest_limit(DEEPEST_PATTERN).build().parse(source) {
        Err(regex_syntax::Error::Parse(error)) => {
            (error.kind().to_string(), error.span().start.offset)
        }
        Err(regex_syntax::Error::Translate(error)) => {
            (error.kind().to_string(), error.span().start.offset)
        }
        _ => ("it cannot be compiled".to_owned(), 0),
    };
    let position = source.get(..offset).map_or(0, |before| before.chars().count());
    let message = format!("the pattern /{shown}/ is wrong at position {position}: {what}");
    Error::new(Kind::Invalid, message)
}

/// `(source)`: the compiled pattern.
fn compile(_: &Isolate, arguments: Arguments) -> Reply {
    let source = arguments.text(1);
    if source.len() > LONGEST_PATTERN {
        let message = format!("a pattern has at most {LONGEST_PATTERN} bytes");
        return Reply::Failed(Error::new(Kind::TooLarge, message));
    }
    let anywhere = attempt!(build(&source).map_err(|error| refusal(&source, &error)));
    let pattern = CompiledPattern { source, anywhere, whole: OnceCell::new() };
    Reply::Now(Given::Native(std::rc::Rc::new(pattern)))
}

impl CompiledPattern {
    fn whole(&self) -> Result<&Regex> {
        if let Some(regex) = self.whole.get() {
            return Ok(regex);
        }
        let source = &self.source;
        // A comment of the mode `(?x)` ends with its line.
        let regex = build(&format!(r"\A(?:{source})\z"))
            .or_else(|_| build(&format!("\\A(?:{source}\n)\\z")))
            .map_err(|error| refusal(source, &error))?;
        Ok(self.whole.get_or_init(|| regex))
    }
}

/// `(pattern)`: the names of its groups; the first is the whole match, and a group without a name is nil.
fn groups(_: &Isolate, arguments: Arguments) -> Reply {
    let pattern = attempt!(arguments.held::<CompiledPattern>("a pattern"));
    let name = |name: Option<&str>| name.map_or(Value::Nil, |name| Value::Text(name.to_owned()));
    let names = pattern.anywhere.capture_names().map(name).collect();
    Reply::Now(Given::Value(Value::List(names)))
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes)
        .map_err(|_| Error::new(Kind::Invalid, "a pattern searches text, and this is not UTF-8"))
}

/// Whether an expression finds something in the second argument.
fn is_found(regex: &Regex, arguments: Arguments) -> Reply {
    let bytes = arguments.bytes(2);
    if bytes.len() <= AT_ONCE || !arguments.0.can_wait() {
        return Reply::Now(Given::Boolean(regex.is_match(attempt!(utf8(bytes)))));
    }
    let (regex, bytes) = (regex.clone(), bytes.to_vec());
    let work = move || utf8(&bytes).map(|text| regex.is_match(text));
    Reply::later(async move { DATA_POOL.attempt(work).await.map(Given::Boolean) })
}

/// `(pattern, text)`: whether the pattern matches the whole text.
fn matches(_: &Isolate, arguments: Arguments) -> Reply {
    let pattern = attempt!(arguments.held::<CompiledPattern>("a pattern"));
    is_found(attempt!(pattern.whole()), arguments)
}

/// `(pattern, text)`: whether the pattern matches somewhere in the text.
fn finds(_: &Isolate, arguments: Arguments) -> Reply {
    let pattern = attempt!(arguments.held::<CompiledPattern>("a pattern"));
    is_found(&pattern.anywhere, arguments)
}

/// `(pattern, text)`: a search for all matches.
fn search(_: &Isolate, arguments: Arguments) -> Reply {
    let pattern = attempt!(arguments.held::<CompiledPattern>("a pattern"));
    let text = Arc::from(attempt!(utf8(arguments.bytes(2))));
    let position = Cell::new(SearchPosition::default());
    let search = MatchSearch { regex: pattern.anywhere.clone(), text, position };
    Reply::Now(Given::Native(std::rc::Rc::new(search)))
}

/// `(search, most)`: the next matches, at most that many: for each of their groups the offsets of its
/// first byte and of the byte after it, or -1. Nil at the end.
fn next(_: &Isolate, arguments: Arguments) -> Reply {
    let search = attempt!(arguments.held::<MatchSearch>("a search"));
    let (from, most) = (search.position.get(), arguments.number(2) as usize);
    if search.text.len() - from.at <= AT_ONCE || !arguments.0.can_wait() {
        let (offsets, position) = batch(&search.regex, &search.text, from, most);
        search.position.set(position);
        return Reply::Now(given(offsets));
    }
    let (regex, text) = (search.regex.clone(), search.text.clone());
    Reply::later(async move {
        let work = move || Ok(batch(&regex, &text, from, most));
        let (offsets, position) = DATA_POOL.attempt(work).await?;
        search.position.set(position);
        Ok(given(offsets))
    })
}

fn given(offsets: Option<Vec<i64>>) -> Given {
    match offsets {
        Some(offsets) => Given::Value(Value::List(offsets.into_iter().map(Value::Int).collect())),
        None => Given::Nil,
    }
}

/// The offsets of the next matches, and where the search continues.
fn batch(
    regex: &Regex,
    text: &str,
    mut position: SearchPosition,
    most: usize,
) -> (Option<Vec<i64>>, SearchPosition) {
    let began = Instant::now();
    let mut locations = regex.capture_locations();
    let mut offsets = Vec::new();
    let mut count = 0;
    while count < most && offsets.len() < BATCH && !position.is_over {
        if !find_next(regex, text, &mut position, &mut locations) {
            break;
        }
        count += 1;
        for group in 0..locations.len() {
            let (from, to) = locations.get(group).map_or((-1, -1), |(from, to)| {
                (i64::try_from(from).unwrap_or(-1), i64::try_from(to).unwrap_or(-1))
            });
            offsets.extend([from, to]);
        }
        if began.elapsed() > BATCH_TIME {
            break;
        }
    }
    ((count > 0).then_some(offsets), position)
}

/// Finds one match and moves behind it; answers whether there is one.
fn find_next(
    regex: &Regex,
    text: &str,
    position: &mut SearchPosition,
    locations: &mut CaptureLocations,
) -> bool {
    loop {
        let found = regex.captures_read_at(locations, text, position.at);
        let Some(found) = found else {
            position.is_over = true;
            return false;
        };
        if !found.is_empty() || Some(found.end()) != position.last_end {
            position.at = found.end();
            position.last_end = Some(found.end());
            return true;
        }
        // An empty match at the end of the last one: the search continues a character further.
        match text[found.end()..].chars().next() {
            Some(character) => position.at = found.end() + character.len_utf8(),
            None => {
                position.is_over = true;
                return false;
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn all(pattern: &str, text: &str, most: usize) -> Vec<Vec<i64>> {
        let regex = build(pattern).unwrap();
        let mut position = SearchPosition::default();
        let mut batches = Vec::new();
        loop {
            let (offsets, after) = batch(&regex, text, position, most);
            position = after;
            let Some(offsets) = offsets else { return batches };
            batches.push(offsets);
        }
    }

    #[test]
    fn batches_find_the_matches_that_the_library_finds() {
        for (pattern, text) in
            [("a*", "baaé"), ("", "éa"), (r"\b", "one two"), ("a|ab", "abab"), ("x", "")]
        {
            let regex = build(pattern).unwrap();
            let expected: Vec<Vec<i64>> = regex
                .find_iter(text)
                .map(|found| vec![found.start() as i64, found.end() as i64])
                .collect();
            assert_eq!(all(pattern, text, 1), expected, "{pattern}");
        }
    }

    #[test]
    fn a_group_that_takes_no_part_has_no_offsets() {
        assert_eq!(all("(a)|(b)", "b", 9), [[0, 1, -1, -1, 0, 1]]);
    }

    #[test]
    fn errors_name_the_place() {
        let message = |source: &str| refusal(source, &build(source).unwrap_err()).message;
        assert_eq!(message("é(b"), "the pattern /é(b/ is wrong at position 1: unclosed group");
        assert!(message("a{1000}{1000}").contains("more than 1 MiB"));
        assert!(message(&"(".repeat(200)).contains("position"));
        assert!(message(r"(a)\1").contains("backreferences are not supported"));
    }

    #[test]
    fn a_comment_at_the_end_does_not_hide_the_anchor() {
        let source = "(?x) a b # letters".to_owned();
        let anywhere = build(&source).unwrap();
        let pattern = CompiledPattern { source, anywhere, whole: OnceCell::new() };
        assert!(pattern.whole().unwrap().is_match("ab"));
        assert!(!pattern.whole().unwrap().is_match("abc"));
    }
}
