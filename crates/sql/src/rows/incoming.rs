//! Tables of text on their way into a table: comma-separated values and lines of JSON, read part by
//! part, so that their length is not bounded by memory.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use runnel_store::{
    Answer, Content, Error, FieldType, Kind, Records, Result, TableFormat, TableText, Value, json,
};
use std::cell::RefCell;
use std::rc::Rc;

/// The amount of text that is parsed into records at once, in bytes.
const PART: usize = 64 << 10;

/// The records of content. `kind` says what the column of a name holds.
pub(crate) async fn records(
    content: Content,
    format: TableFormat,
    kind: impl Fn(&str) -> FieldType,
) -> Result<Box<dyn Records>> {
    let mut text = TableText::new(content, format)?;
    let (header, names) = match format {
        TableFormat::Csv => {
            let header = text.take(1).await?.map(|(_, header)| header).unwrap_or_default();
            let names = csv_names(&header)?;
            (header, names)
        }
        TableFormat::JsonLines => (Bytes::new(), json_names(text.peek().await?)?),
    };
    let kinds = names.iter().map(|name| kind(name)).collect();
    let shape = Rc::new(TextColumns { format, header, names: names.into(), kinds });
    Ok(Box::new(TextRecords { text: Rc::new(RefCell::new(Some(text))), shape }))
}

fn invalid(line: u64, what: &str) -> Error {
    Error::new(Kind::Invalid, format!("line {line}: {what}"))
}

fn csv_names(header: &[u8]) -> Result<Vec<String>> {
    // A line of values below makes the header itself readable as a record.
    let mut probe = header.to_vec();
    if !probe.ends_with(b"\n") {
        probe.push(b'\n');
    }
    probe.extend_from_slice(b"\"\"\n");
    match runnel_store::parse_csv(&probe)? {
        Value::List(rows) => Ok(match rows.into_iter().next() {
            Some(Value::Record(fields)) => fields.into_iter().map(|(name, _)| name).collect(),
            _ => Vec::new(),
        }),
        _ => Ok(Vec::new()),
    }
}

fn json_names(first: &[u8]) -> Result<Vec<String>> {
    let line = first.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty());
    match line.map(json::parse).transpose().map_err(|error| invalid(1, &error.message))? {
        None => Ok(Vec::new()),
        Some(Value::Record(fields)) => Ok(fields.into_iter().map(|(name, _)| name).collect()),
        Some(_) => Err(invalid(1, "each line has to be a JSON object")),
    }
}

/// The records, part by part.
struct TextRecords {
    /// Away while a part is read.
    text: Rc<RefCell<Option<TableText>>>,
    shape: Rc<TextColumns>,
}

/// What the text said at its beginning.
struct TextColumns {
    format: TableFormat,
    header: Bytes,
    names: Rc<[String]>,
    kinds: Vec<FieldType>,
}

impl Records for TextRecords {
    fn fields(&self) -> Rc<[String]> {
        self.shape.names.clone()
    }

    fn next(&mut self) -> Answer<Option<Vec<Value>>> {
        let (place, shape) = (self.text.clone(), self.shape.clone());
        Answer::later(async move {
            let Some(mut text) = place.borrow_mut().take() else { return Ok(None) };
            let Some((first, part)) = text.take(PART).await? else { return Ok(None) };
            *place.borrow_mut() = Some(text);
            shape.values(&part, first).map(Some)
        })
    }
}

impl TextColumns {
    /// The values of the records of a part, which begins at a line.
    fn values(&self, part: &[u8], first: u64) -> Result<Vec<Value>> {
        let mut values = Vec::new();
        match self.format {
            TableFormat::Csv => {
                let text = [&self.header, part].concat();
                // The lines of the header are counted in the parser's message, where there is one.
                let rows = runnel_store::parse_csv(&text).map_err(|error| {
                    invalid(first, &format!("here or below it, {}", error.message))
                })?;
                let Value::List(rows) = rows else { return Ok(values) };
                for (number, row) in rows.into_iter().enumerate() {
                    let Value::Record(fields) = row else { continue };
                    let cells = fields.into_iter().zip(&self.kinds);
                    for ((name, cell), kind) in cells {
                        let wrong =
                            |what| invalid(first + number as u64, &format!("{name}: {what}"));
                        values.push(typed(cell, *kind).map_err(wrong)?);
                    }
                }
            }
            TableFormat::JsonLines => {
                let all = part.split(|byte| *byte == b'\n').enumerate();
                for (number, line) in all.filter(|(_, line)| !line.trim_ascii().is_empty()) {
                    let at = first + number as u64;
                    let row = json::parse(line).map_err(|error| invalid(at, &error.message))?;
                    self.record(row, at, &mut values)?;
                }
            }
        }
        Ok(values)
    }

    fn record(&self, row: Value, line: u64, values: &mut Vec<Value>) -> Result<()> {
        let Value::Record(mut fields) = row else {
            return Err(invalid(line, "each line has to be a JSON object"));
        };
        for name in &*self.names {
            let place = fields.iter().position(|(known, _)| known == name);
            values.push(place.map_or(Value::Nil, |place| fields.swap_remove(place).1));
        }
        match fields.first() {
            None => Ok(()),
            Some((name, _)) => Err(invalid(
                line,
                &format!("the first record has no `{name}`, so no later one may"),
            )),
        }
    }
}

/// A cell of text as what its column holds.
fn typed(cell: Value, kind: FieldType) -> std::result::Result<Value, String> {
    let Value::Text(text) = &cell else { return Ok(cell) };
    let wrong = |what: &str| format!("`{text}` is not {what}");
    match kind {
        FieldType::Int => match text.trim().parse() {
            Ok(number) => Ok(Value::Int(number)),
            Err(_) => Err(wrong("an integer of 64 bits")),
        },
        FieldType::Float => match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Value::Float(number)),
            _ => Err(wrong("a number")),
        },
        FieldType::Bool => match text.trim().to_ascii_lowercase().as_str() {
            "true" | "t" | "yes" | "1" => Ok(Value::Bool(true)),
            "false" | "f" | "no" | "0" => Ok(Value::Bool(false)),
            _ => Err(wrong("true or false")),
        },
        FieldType::Bytes => match STANDARD.decode(text.trim()) {
            Ok(bytes) => Ok(Value::Bytes(bytes.into())),
            Err(_) => Err(wrong("base64, which bytes are written in")),
        },
        FieldType::Json => json::parse(text.as_bytes()).map_err(|_| wrong("JSON")),
        FieldType::Any | FieldType::Text | FieldType::Decimal | FieldType::Date => Ok(cell),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use runnel_store::{Body, TABLE_RECORD};

    fn all(content: Content) -> Result<(Vec<String>, Vec<Value>)> {
        let format = TableFormat::of(&content).unwrap();
        let kind = |name: &str| match name {
            "id" => FieldType::Int,
            "done" => FieldType::Bool,
            _ => FieldType::Text,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut records = records(content, format, kind).await?;
            let mut values = Vec::new();
            while let Some(part) = records.next().await? {
                values.extend(part);
            }
            Ok((records.fields().to_vec(), values))
        })
    }

    fn streamed(text: &str, media_type: &'static str, piece: usize) -> Content {
        let pieces: Vec<_> =
            text.as_bytes().chunks(piece).map(|one| Ok(Bytes::copy_from_slice(one))).collect();
        let body = Body::Stream(Box::pin(futures_util::stream::iter(pieces)), None);
        Content { body, ..Content::default() }.with_media_type(media_type)
    }

    #[test]
    fn cells_become_what_their_columns_hold_however_the_text_is_cut() {
        let text = "id,done,title\r\n1,true,\"a,\n\"\"b\"\"\"\r\n2,,\n3,0,c";
        for piece in [1, 2, 7, 100] {
            let (names, values) = all(streamed(text, "text/csv", piece)).unwrap();
            assert_eq!(names, ["id", "done", "title"]);
            let text = |text: &str| Value::Text(text.into());
            let expected = vec![
                Value::Int(1),
                Value::Bool(true),
                text("a,\n\"b\""),
                Value::Int(2),
                Value::Nil,
                Value::Nil,
                Value::Int(3),
                Value::Bool(false),
                text("c"),
            ];
            assert_eq!(values, expected, "pieces of {piece}");
        }
    }

    #[test]
    fn lines_of_json_may_leave_out_and_not_add() {
        let text = "{\"id\":1,\"title\":\"a\"}\n\n{\"id\":2}\n";
        let (names, values) = all(streamed(text, "application/x-ndjson", 5)).unwrap();
        assert_eq!(names, ["id", "title"]);
        let expected = [Value::Int(1), Value::Text("a".into()), Value::Int(2), Value::Nil];
        assert_eq!(values, expected);
        let more = all(streamed("{\"id\":1}\n{\"id\":2,\"x\":3}\n", "application/x-ndjson", 9));
        assert!(more.unwrap_err().message.contains("line 2"));
    }

    #[test]
    fn what_is_wrong_has_a_line() {
        let wrong = all(streamed("id,title\n1,a\nx,b\n", "text/csv", 4)).unwrap_err();
        assert!(wrong.message.starts_with("line 3: id: `x` is not"), "{}", wrong.message);
        let long = format!("id,title\n1,\"{}", "x".repeat(TABLE_RECORD + 2 * PART));
        assert_eq!(all(streamed(&long, "text/csv", 8192)).unwrap_err().kind, Kind::TooLarge);
        assert_eq!(all(streamed("", "text/csv", 8)).unwrap().1, []);
    }
}
