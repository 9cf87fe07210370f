//! The columns of a result: their names, and what stands before their values in JSON.
//!
//! In a statement of a program the names of columns shape its records: `author.name` is `name` of the record
//! `author`, `done?` is true or false, and `tags[]` is the list of the lines of a text.

use crate::fault::{SqlFault, SqlResult};
use runnel_store::{Value, json};

/// The columns of a result as they are written.
#[derive(Debug, PartialEq)]
pub(crate) struct ResultColumns {
    pub(crate) names: Vec<String>,
    /// How the values of each are shown.
    pub(crate) shown: Vec<ColumnDisplay>,
    /// What stands before each value in JSON: `{"id":`, `,"done":`.
    pub(crate) keys: Vec<ColumnLabel>,
    /// What stands behind the last value in JSON: `}`, or more where records are in the record.
    pub(crate) end: ColumnLabel,
    nested: bool,
}

/// How what is stored in a column becomes what is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ColumnDisplay {
    /// As it is.
    Plain,
    /// 0 and 1 are `false` and `true`.
    Boolean,
    /// A moment that ends in `+00:00` ends in `Z`.
    Moment,
    /// A text is a list of its lines, and NULL an empty one.
    Lines,
    /// A text is the value that it writes as JSON, or itself where it is no JSON.
    Json,
}

impl ColumnDisplay {
    /// A text of such a column in two parts, one after the other.
    pub(crate) fn text(self, text: &[u8]) -> (&[u8], &'static [u8]) {
        match text.strip_suffix(b"+00:00") {
            Some(moment) if self == ColumnDisplay::Moment => (moment, b"Z"),
            _ => (text, b""),
        }
    }

    /// The value of such a column.
    pub(crate) fn value(self, value: Value) -> Value {
        match (self, value) {
            (ColumnDisplay::Lines, Value::Nil) => Value::List(Vec::new()),
            (ColumnDisplay::Lines, Value::Text(text)) => {
                Value::List(text.lines().map(Value::from).collect())
            }
            (ColumnDisplay::Boolean, Value::Int(number @ (0 | 1))) => Value::Bool(number == 1),
            (ColumnDisplay::Json, Value::Text(text)) => {
                json::parse(text.as_bytes()).unwrap_or(Value::Text(text))
            }
            (_, value) => value,
        }
    }
}

/// Bytes that are appended again and again. Short ones are copied with their padding, which is a
/// few instructions where a copy of unknown length is a call (measured: a tenth of encoding).
#[derive(Debug, PartialEq)]
pub(crate) struct ColumnLabel {
    bytes: Vec<u8>,
    padded: [u8; ColumnLabel::SHORT],
}

impl ColumnLabel {
    const SHORT: usize = 24;

    fn new(bytes: Vec<u8>) -> Self {
        let mut padded = [0; ColumnLabel::SHORT];
        if bytes.len() <= ColumnLabel::SHORT {
            padded[..bytes.len()].copy_from_slice(&bytes);
        }
        ColumnLabel { bytes, padded }
    }

    pub(crate) fn append(&self, out: &mut Vec<u8>) {
        if self.bytes.len() > ColumnLabel::SHORT {
            return out.extend_from_slice(&self.bytes);
        }
        let end = out.len() + self.bytes.len();
        out.extend_from_slice(&self.padded);
        out.truncate(end);
    }
}

impl ResultColumns {
    /// Columns from names and how they are shown. A name that comes twice gets a number,
    /// because a record has each name once.
    pub(crate) fn new(columns: impl IntoIterator<Item = (String, ColumnDisplay)>) -> Self {
        let mut made = ResultColumns {
            names: Vec::new(),
            shown: Vec::new(),
            keys: Vec::new(),
            end: ColumnLabel::new(b"}".to_vec()),
            nested: false,
        };
        for (name, shown) in columns {
            let name = made.unique(name);
            let start = if made.names.is_empty() { b'{' } else { b',' };
            made.keys.push(label(vec![start], &name));
            made.names.push(name);
            made.shown.push(shown);
        }
        made
    }

    /// A name that comes twice gets a number, because a record has each name once.
    fn unique(&self, plain: String) -> String {
        let mut name = plain.clone();
        let mut count = 1;
        while self.names.contains(&name) {
            count += 1;
            name = format!("{plain}_{count}");
        }
        name
    }

    /// Columns of a statement of a program, whose names shape the records.
    pub(crate) fn of_statement(
        columns: impl IntoIterator<Item = (String, ColumnDisplay)>,
    ) -> SqlResult<Self> {
        let mut made = ResultColumns::new(columns.into_iter().map(|(name, shown)| {
            let marked = |stem: &str| parents(&format!("{stem}.")).is_some();
            match (name.strip_suffix('?'), name.strip_suffix("[]")) {
                (Some(stem), _) if marked(stem) => (stem.to_string(), ColumnDisplay::Boolean),
                (_, Some(stem)) if marked(stem) => (stem.to_string(), ColumnDisplay::Lines),
                _ => (name, shown),
            }
        }));
        made.nested = made.names.iter().any(|name| parents(name).is_some());
        if made.nested {
            made.nest()?;
        }
        Ok(made)
    }

    /// Makes the labels of records in records.
    fn nest(&mut self) -> SqlResult<()> {
        let mut open: Vec<&str> = Vec::new();
        let mut known: Vec<String> = Vec::new();
        let mut keys = Vec::new();
        for (index, name) in self.names.iter().enumerate() {
            let wanted = parents(name).unwrap_or_default();
            let same = open.iter().zip(&wanted).take_while(|(one, other)| one == other).count();
            let mut bytes = vec![b'}'; open.len() - same];
            bytes.push(if index == 0 { b'{' } else { b',' });
            for depth in same..wanted.len() {
                let record = wanted[..=depth].join(".");
                if known.contains(&record) || self.names.contains(&record) {
                    let message =
                        format!("the columns of the record {record} are not side by side");
                    return Err(SqlFault::invalid(message));
                }
                bytes = label(bytes, wanted[depth]).bytes;
                bytes.push(b'{');
                known.push(record);
            }
            let leaf = name.rsplit('.').next().filter(|_| !wanted.is_empty());
            keys.push(label(bytes, leaf.unwrap_or(name)));
            open = wanted;
        }
        self.end = ColumnLabel::new(vec![b'}'; open.len() + 1]);
        self.keys = keys;
        Ok(())
    }

    /// The record of a row, whose fields have the names of the columns.
    pub(crate) fn record(&self, fields: Vec<(String, Value)>) -> Value {
        if !self.nested {
            return Value::Record(fields);
        }
        let mut record = Vec::new();
        for (name, value) in fields {
            let parents = parents(&name).unwrap_or_default();
            let leaf = name.rsplit('.').next().filter(|_| !parents.is_empty());
            add(&mut record, &parents, leaf.unwrap_or(&name), value);
        }
        Value::Record(record)
    }
}

/// Adds a field to a record within records, of which the last one is made if it is another.
fn add(record: &mut Vec<(String, Value)>, parents: &[&str], leaf: &str, value: Value) {
    let [outer, rest @ ..] = parents else {
        return record.push((leaf.to_string(), value));
    };
    match record.last_mut() {
        Some((known, Value::Record(inner))) if known == outer => add(inner, rest, leaf, value),
        _ => {
            let mut inner = Vec::new();
            add(&mut inner, rest, leaf, value);
            record.push(((*outer).to_string(), Value::Record(inner)));
        }
    }
}

/// `"name":` behind other bytes.
fn label(mut bytes: Vec<u8>, name: &str) -> ColumnLabel {
    json::write_text(name, &mut bytes);
    bytes.push(b':');
    ColumnLabel::new(bytes)
}

/// The records that a name is in, from the outside in; none where it is no path of names.
fn parents(name: &str) -> Option<Vec<&str>> {
    let word = |part: &str| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    };
    let (outer, leaf) = name.rsplit_once('.')?;
    let outer: Vec<&str> = outer.split('.').collect();
    (outer.iter().all(|part| word(part)) && (leaf.is_empty() || word(leaf))).then_some(outer)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_appended_whole() {
        for length in [0, 1, ColumnLabel::SHORT, ColumnLabel::SHORT + 1, 100] {
            let mut out = b"x".to_vec();
            ColumnLabel::new(vec![b'y'; length]).append(&mut out);
            assert_eq!(out, [b"x".to_vec(), vec![b'y'; length]].concat());
        }
    }

    #[test]
    fn a_name_that_comes_twice_gets_a_number() {
        let columns = ResultColumns::new(
            ["a", "a", "a_2"].map(|name| (name.to_string(), ColumnDisplay::Plain)),
        );
        assert_eq!(columns.names, ["a", "a_2", "a_2_2"]);
        let mut out = Vec::new();
        columns.keys.iter().for_each(|key| key.append(&mut out));
        assert_eq!(out, b"{\"a\":,\"a_2\":,\"a_2_2\":");
    }

    fn shaped(names: &[&str]) -> SqlResult<String> {
        let plain = names.iter().map(|name| (name.to_string(), ColumnDisplay::Plain));
        let columns = ResultColumns::of_statement(plain)?;
        let mut out = Vec::new();
        let mut fields = Vec::new();
        for ((key, shown), name) in columns.keys.iter().zip(&columns.shown).zip(&columns.names) {
            key.append(&mut out);
            let value = shown.value(Value::Int(1));
            json::write(&value, &mut out);
            fields.push((name.clone(), value));
        }
        columns.end.append(&mut out);
        // The value of the row says the same.
        assert_eq!(json::parse(&out).unwrap(), columns.record(fields));
        Ok(String::from_utf8(out).unwrap())
    }

    #[test]
    fn names_shape_records() {
        assert_eq!(shaped(&["a", "done?"]).unwrap(), "{\"a\":1,\"done\":true}");
        assert_eq!(
            shaped(&["id", "by.name", "by.at.city", "by.at.new?", "by.x", "n"]).unwrap(),
            "{\"id\":1,\"by\":{\"name\":1,\"at\":{\"city\":1,\"new\":true},\"x\":1},\"n\":1}"
        );
        assert_eq!(
            shaped(&["by.at.city", "to.name"]).unwrap(),
            "{\"by\":{\"at\":{\"city\":1}},\"to\":{\"name\":1}}"
        );
        for plain in ["1.5", "count(a.id)", "a.id = ?", "?", "[]", ".a", "a b?", "a..b"] {
            assert_eq!(shaped(&[plain]).unwrap(), format!("{{\"{plain}\":1}}"));
        }
        for wrong in [&["a.b", "c", "a.d"][..], &["a", "a.b"], &["a.b", "a"]] {
            assert!(shaped(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn lines_are_a_list() {
        let lines = |value| ColumnDisplay::Lines.value(value);
        assert_eq!(lines(Value::Nil), Value::List(Vec::new()));
        assert_eq!(lines("a\nb".into()), Value::List(vec!["a".into(), "b".into()]));
        assert_eq!(lines("".into()), Value::List(Vec::new()));
    }
}
