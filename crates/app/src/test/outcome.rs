//! What became of tests: passed on from the process that runs them as JSON.

use serde_json::{Value, json};

/// An edit of a page that replaces an expectation by the result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Edit {
    /// The first line to replace, from 1.
    pub(crate) from: usize,
    /// The line after the last one to replace.
    pub(crate) to: usize,
    /// The new lines, each with its end.
    pub(crate) text: String,
}

/// Something that is not as expected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) line: usize,
    /// What failed, in a few words.
    pub(crate) what: String,
    /// What was expected; empty when the words say it all.
    pub(crate) expected: String,
    pub(crate) actual: String,
    pub(crate) edit: Option<Edit>,
}

impl Failure {
    /// A failure without an expectation beside it.
    pub(crate) fn plain(line: usize, what: impl Into<String>, actual: impl Into<String>) -> Self {
        Failure { line, what: what.into(), actual: actual.into(), ..Failure::default() }
    }
}

/// A test with what failed in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Test {
    pub(crate) name: String,
    pub(crate) line: usize,
    pub(crate) failures: Vec<Failure>,
    /// How long it took.
    pub(crate) millis: u64,
}

/// The tests as one line of JSON.
pub(crate) fn write(tests: &[Test]) -> String {
    let edit = |edit: &Edit| json!({ "from": edit.from, "to": edit.to, "text": edit.text });
    let failure = |one: &Failure| {
        json!({
            "line": one.line, "what": one.what, "expected": one.expected, "actual": one.actual,
            "edit": one.edit.as_ref().map(edit),
        })
    };
    let tests: Vec<Value> = tests
        .iter()
        .map(|test| {
            let failures: Vec<Value> = test.failures.iter().map(failure).collect();
            json!({
                "name": test.name, "line": test.line, "failures": failures, "millis": test.millis,
            })
        })
        .collect();
    Value::Array(tests).to_string()
}

/// The tests of a line of JSON; `None` when it is none of ours.
pub(crate) fn read(text: &str) -> Option<Vec<Test>> {
    let list: Value = serde_json::from_str(text).ok()?;
    let number = |value: &Value| value.as_u64().map(|number| number as usize);
    let text = |value: &Value| value.as_str().map(String::from);
    let edit = |value: &Value| {
        Some(Edit {
            from: number(&value["from"])?,
            to: number(&value["to"])?,
            text: text(&value["text"])?,
        })
    };
    let failure = |value: &Value| {
        Some(Failure {
            line: number(&value["line"])?,
            what: text(&value["what"])?,
            expected: text(&value["expected"])?,
            actual: text(&value["actual"])?,
            edit: edit(&value["edit"]),
        })
    };
    list.as_array()?
        .iter()
        .map(|test| {
            Some(Test {
                name: text(&test["name"])?,
                line: number(&test["line"])?,
                millis: test["millis"].as_u64().unwrap_or(0),
                failures: test["failures"]
                    .as_array()?
                    .iter()
                    .map(failure)
                    .collect::<Option<_>>()?,
            })
        })
        .collect()
}

/// A text with edits applied. Edits that overlap are applied once, the first of them.
pub(crate) fn apply(text: &str, edits: &[Edit]) -> String {
    let mut edits: Vec<&Edit> = edits.iter().collect();
    edits.sort_by_key(|edit| (edit.from, edit.to));
    let mut out = String::with_capacity(text.len());
    let mut next = 1;
    let mut lines = text.split_inclusive('\n');
    for edit in edits {
        if edit.from < next {
            continue;
        }
        out.extend(lines.by_ref().take(edit.from - next));
        out.push_str(&edit.text);
        for _ in edit.from..edit.to {
            lines.next();
        }
        next = edit.to.max(edit.from);
    }
    out.extend(lines);
    out
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_everything() {
        let edit = Some(Edit { from: 3, to: 4, text: "x\n".into() });
        let one = Failure {
            line: 3,
            what: "value".into(),
            expected: "1".into(),
            actual: "2".into(),
            edit,
        };
        let failures = vec![one, Failure::plain(9, "a", "b")];
        let tests = vec![Test { name: "n".into(), line: 1, millis: 0, failures }];
        assert_eq!(read(&write(&tests)).unwrap(), tests);
        assert_eq!(read("oops"), None);
    }

    #[test]
    fn edits_replace_insert_and_remove_lines() {
        let edit = |from, to, text: &str| Edit { from, to, text: text.into() };
        let edits = [edit(4, 4, "new\n"), edit(1, 2, "A\n"), edit(2, 3, ""), edit(1, 2, "twice\n")];
        assert_eq!(apply("a\nb\nc\nd\n", &edits), "A\nc\nnew\nd\n");
    }
}
