//! Conversations with a server, as pages write them.
//!
//! ```text
//! PUT /a hello → 201
//!
//! GET /a
//! Accept: text/plain
//! → 200
//! Content-Type: text/plain…
//!
//! hello
//! ```

use super::expect::{ANYTHING, matches, trimmed};
use super::outcome::{Edit, Failure};

/// A request and what it should be answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Turn {
    /// The line of the request in the conversation, from 0.
    pub(crate) line: usize,
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Option<String>,
    expected: Expected,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Expected {
    /// The line of the status.
    line: usize,
    /// The text of that line up to the status.
    before: String,
    status: String,
    /// A body on the line of the status.
    inline: Option<String>,
    headers: Vec<(usize, String, String)>,
    /// The first line of a body below, the line after its last, and the text.
    body: Option<(usize, usize, String)>,
}

/// What a server answered.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Reply {
    fn header(&self, name: &str) -> String {
        let values: Vec<&str> = self
            .headers
            .iter()
            .filter(|(one, _)| one.eq_ignore_ascii_case(name))
            .map(|(_, value)| value.as_str())
            .collect();
        values.join(", ")
    }
}

/// Reads a conversation, or says which line, from 0, cannot be read and why.
pub(crate) fn read(text: &str) -> Result<Vec<Turn>, (usize, String)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut turns = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        if lines[at].trim().is_empty() {
            at += 1;
            continue;
        }
        let turn = turn(&lines, &mut at)?;
        turns.push(turn);
    }
    Ok(turns)
}

fn turn(lines: &[&str], at: &mut usize) -> Result<Turn, (usize, String)> {
    let line = *at;
    let (request, mut answer) = match arrow(lines[line]) {
        Some((start, end)) => (&lines[line][..start], Some((line, end))),
        None => (lines[line], None),
    };
    if !is_request(request) {
        let wrong = "a request such as `GET /path` is expected here";
        return Err((line, wrong.into()));
    }
    let mut words = request.splitn(2, ' ');
    let method = words.next().unwrap_or_default().to_string();
    let rest = words.next().unwrap_or_default().trim_start();
    let (target, inline) = rest.split_once(' ').unwrap_or((rest, ""));
    let mut turn = Turn { line, method, target: target.into(), ..Turn::default() };
    let inline = inline.trim();
    turn.body = (!inline.is_empty()).then(|| inline.to_string());
    *at += 1;
    if answer.is_none() {
        let found = (*at..lines.len()).find(|line| arrow_first(lines[*line]).is_some());
        let Some(end) = found else {
            return Err((line, "this request has no answer; write one like `→ 200`".into()));
        };
        request_lines(&mut turn, &lines[*at..end]);
        answer = arrow_first(lines[end]).map(|after| (end, after));
        *at = end + 1;
    }
    let (line, after) = answer.unwrap_or_default();
    turn.expected = expected(lines, at, line, after)?;
    Ok(turn)
}

/// Header lines, an empty line, the body.
fn request_lines(turn: &mut Turn, lines: &[&str]) {
    let mut at = 0;
    while let Some((name, value)) = lines.get(at).and_then(|line| header(line)) {
        turn.headers.push((name.into(), value.into()));
        at += 1;
    }
    if lines.get(at).is_some_and(|line| line.trim().is_empty()) {
        at += 1;
    }
    let body = lines.get(at..).unwrap_or_default().join("\n");
    if !body.trim().is_empty() {
        turn.body = Some(body);
    }
}

fn expected(
    lines: &[&str],
    at: &mut usize,
    line: usize,
    after: usize,
) -> Result<Expected, (usize, String)> {
    let (before, rest) = lines[line].split_at(after);
    let rest = rest.trim_start();
    let (status, inline) = rest.split_once(' ').unwrap_or((rest, ""));
    if status.len() != 3 || !status.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err((line, "a status such as `→ 200` is expected here".into()));
    }
    let inline = inline.trim();
    let mut expected = Expected {
        line,
        before: before.trim_end().to_string(),
        status: status.into(),
        inline: (!inline.is_empty()).then(|| inline.to_string()),
        ..Expected::default()
    };
    while let Some((name, value)) = lines.get(*at).and_then(|line| header(line)) {
        expected.headers.push((*at, name.into(), value.into()));
        *at += 1;
    }
    let start = *at;
    while lines.get(*at).is_some_and(|line| !is_request(line)) {
        *at += 1;
    }
    let mut first = start;
    while first < *at && lines[first].trim().is_empty() {
        first += 1;
    }
    let mut last = *at;
    while last > first && lines[last - 1].trim().is_empty() {
        last -= 1;
    }
    if first < last {
        expected.body = Some((first, last, lines[first..last].join("\n")));
    }
    Ok(expected)
}

/// Where an arrow begins and ends in a line.
fn arrow(line: &str) -> Option<(usize, usize)> {
    [" → ", " -> "]
        .iter()
        .filter_map(|arrow| line.find(arrow).map(|at| (at, at + arrow.len())))
        .min()
}

/// The end of an arrow that begins a line.
fn arrow_first(line: &str) -> Option<usize> {
    ["→ ", "-> "].iter().find(|arrow| line.starts_with(**arrow)).map(|arrow| arrow.len())
}

/// A method in capitals and a path.
fn is_request(line: &str) -> bool {
    line.split_once(' ').is_some_and(|(method, rest)| {
        !method.is_empty()
            && method.bytes().all(|byte| byte.is_ascii_uppercase())
            && (rest.trim_start().starts_with('/') || rest.trim_start().starts_with('*'))
    })
}

fn header(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(':')?;
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
    (is_name && (value.is_empty() || value.starts_with(' '))).then(|| (name, value.trim()))
}

impl Turn {
    /// What is not as expected in an answer. `start` is the page's line of the conversation's
    /// first line.
    pub(crate) fn compare(&self, reply: &Reply, start: usize) -> Vec<Failure> {
        let request = format!("{} {}", self.method, self.target);
        let expected = &self.expected;
        let mut failures = Vec::new();
        let status = reply.status.to_string();
        let body = trimmed(&reply.body);
        let inline_fits = expected.inline.as_ref().is_none_or(|inline| matches(inline, &body));
        if status != expected.status || !inline_fits {
            let shown = |status: &str, body: Option<&str>| {
                body.map_or(status.to_string(), |body| format!("{status} {body}"))
            };
            let body = (expected.inline.is_some() || !body.is_empty()).then_some(body.as_str());
            failures.push(Failure {
                line: start + expected.line,
                what: format!("answer to {request}"),
                expected: shown(&expected.status, expected.inline.as_deref()),
                actual: shown(&status, body),
                edit: Some(self.status_edit(&status, body.unwrap_or(""), start)),
            });
        }
        for (line, name, value) in &expected.headers {
            let actual = reply.header(name);
            if !matches(value, &actual) {
                failures.push(Failure {
                    line: start + line,
                    what: format!("header of the answer to {request}"),
                    expected: format!("{name}: {value}"),
                    actual: format!("{name}: {actual}"),
                    edit: Some(edit(start + line, 1, format!("{name}: {actual}\n"))),
                });
            }
        }
        if let Some((from, to, text)) = &expected.body
            && !matches(text, &body)
        {
            failures.push(Failure {
                line: start + from,
                what: format!("body of the answer to {request}"),
                expected: text.clone(),
                actual: body.clone(),
                edit: Some(edit(start + from, to - from, format!("{body}\n"))),
            });
        }
        failures
    }

    /// The status line with the body. A body of several lines goes below.
    fn status_edit(&self, status: &str, body: &str, start: usize) -> Edit {
        let before = &self.expected.before;
        let text = match &self.expected.inline {
            None => format!("{before} {status}\n"),
            Some(_) if body.is_empty() => format!("{before} {status}\n"),
            Some(inline) if inline.contains(ANYTHING) && matches(inline, body) => {
                format!("{before} {status} {inline}\n")
            }
            Some(_) if body.contains('\n') => format!("{before} {status}\n\n{body}\n"),
            Some(_) => format!("{before} {status} {body}\n"),
        };
        edit(start + self.expected.line, 1, text)
    }
}

fn edit(line: usize, count: usize, text: String) -> Edit {
    Edit { from: line, to: line + count, text }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const TALK: &str = "GET /a        → 404\nPUT /a hello you -> 201\n\nPOST /tasks\n\
        Content-Type: application/json\n\n{\"a\":1}\n→ 201\nLocation: /tasks/…\n\nmade\n\n\
        GET /b → 200 x\n";

    #[test]
    fn short_and_long_forms_are_read() {
        let turns = read(TALK).unwrap();
        assert_eq!(turns.len(), 4);
        assert_eq!((turns[0].target.as_str(), &turns[0].body), ("/a", &None));
        assert_eq!(turns[1].body.as_deref(), Some("hello you"));
        assert_eq!(turns[2].headers, [("Content-Type".into(), "application/json".into())]);
        assert_eq!(turns[2].body.as_deref(), Some("{\"a\":1}"));
        assert_eq!(turns[2].expected.headers, [(8, "Location".into(), "/tasks/…".into())]);
        assert_eq!(turns[2].expected.body, Some((10, 11, "made".into())));
        assert_eq!(turns[3].expected.inline.as_deref(), Some("x"));
    }

    #[test]
    fn an_answer_is_compared_and_mended() {
        let turns = read(TALK).unwrap();
        let headers = vec![("location".into(), "/tasks/7".into())];
        let right = Reply { status: 201, headers, body: "made\n".into() };
        assert_eq!(turns[2].compare(&right, 10), []);
        let wrong = Reply { status: 500, headers: Vec::new(), body: "no".into() };
        let edits: Vec<Edit> =
            turns[2].compare(&wrong, 10).into_iter().filter_map(|one| one.edit).collect();
        let texts: Vec<(usize, &str)> =
            edits.iter().map(|edit| (edit.from, edit.text.as_str())).collect();
        assert_eq!(texts, [(17, "→ 500\n"), (18, "Location: \n"), (20, "no\n")]);
        let short = turns[3].compare(&wrong, 1);
        assert_eq!(short[0].edit.as_ref().unwrap().text, "GET /b → 500 no\n");
    }

    #[test]
    fn what_is_no_conversation_has_a_line() {
        assert_eq!(read("hello").unwrap_err().0, 0);
        assert_eq!(read("GET /a → 200\n\nGET /b\n").unwrap_err().0, 2);
        assert_eq!(read("GET /a → fine").unwrap_err().0, 0);
    }
}
