//! The columns of a result: their names, and what stands before their values in JSON.

/// The columns of a result as they are written.
#[derive(Debug, PartialEq)]
pub(crate) struct ResultColumns {
    pub(crate) names: Vec<String>,
    /// How the values of each are shown.
    pub(crate) shown: Vec<ColumnDisplay>,
    /// What stands before each value in JSON: `{"id":`, `,"done":`.
    pub(crate) keys: Vec<ColumnLabel>,
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
}

impl ColumnDisplay {
    /// A text of such a column in two parts, one after the other.
    pub(crate) fn text(self, text: &[u8]) -> (&[u8], &'static [u8]) {
        match text.strip_suffix(b"+00:00") {
            Some(moment) if self == ColumnDisplay::Moment => (moment, b"Z"),
            _ => (text, b""),
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
        let mut made = ResultColumns { names: Vec::new(), shown: Vec::new(), keys: Vec::new() };
        for (mut name, shown) in columns {
            let plain = name.clone();
            let mut count = 1;
            while made.names.contains(&name) {
                count += 1;
                name = format!("{plain}_{count}");
            }
            let mut key = vec![if made.names.is_empty() { b'{' } else { b',' }];
            runnel_store::json::write_text(&name, &mut key);
            key.push(b':');
            made.names.push(name);
            made.shown.push(shown);
            made.keys.push(ColumnLabel::new(key));
        }
        made
    }
}

#[cfg(test)]
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
}
