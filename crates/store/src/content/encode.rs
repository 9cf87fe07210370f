//! How content becomes bytes, and plain data.

use crate::value::csv;
use crate::{
    Answer, Body, ByteStream, Content, Context, DATA_POOL, Error, Form, Held, Kind, Result, Value,
    json,
};
use bytes::{Bytes, BytesMut};
use futures_util::StreamExt;
use std::borrow::Cow;

/// How many bytes of a stream are collected where nothing else is said: 64 MiB.
pub const COLLECT_LIMIT: usize = 64 << 20;

impl Form {
    /// Its usual media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Form::Json => "application/json",
            Form::Csv => "text/csv; charset=utf-8",
            Form::Text => "text/plain; charset=utf-8",
        }
    }

    /// Whether a media type already is this form: its own, and for JSON also `…+json`.
    pub fn is_media_type(self, media_type: &str) -> bool {
        let essence = media_type.split(';').next().unwrap_or_default().trim();
        let is = |own: &str| essence.eq_ignore_ascii_case(own);
        let tail = essence.len().saturating_sub("+json".len());
        let suffixed = essence.get(tail..).is_some_and(|end| end.eq_ignore_ascii_case("+json"));
        match self {
            Form::Json => is("application/json") || suffixed,
            Form::Csv => is("text/csv"),
            Form::Text => essence.get(..5).is_some_and(|top| top.eq_ignore_ascii_case("text/")),
        }
    }
}

impl Value {
    /// The value in a form.
    ///
    /// As text it is what a person reads: text and bytes as they are, a number or boolean in its
    /// usual writing, nothing for nil, and JSON for lists and records.
    pub fn encode(&self, form: Form) -> Vec<u8> {
        match (form, self) {
            (Form::Json, value) => json::text(value),
            (Form::Csv, value) => csv::text(value),
            (Form::Text, Value::Nil) => Vec::new(),
            (Form::Text, Value::Text(text)) => text.clone().into_bytes(),
            (Form::Text, Value::Bytes(bytes)) => bytes.to_vec(),
            (Form::Text, value) => json::text(value),
        }
    }
}

impl Content {
    /// The content in a form.
    ///
    /// - Values are encoded, large ones ([`Value::is_large`]) on a thread of the [`DATA_POOL`]; lazy
    ///   content encodes itself.
    /// - Bytes, text and streams that say by their media type that they are of that form already
    ///   stay as they are. Others count as one text (or as bytes, where they are not UTF-8).
    /// - Empty content is `null` in JSON and nothing in the other forms.
    ///
    /// # Errors
    /// Those of the stream or of the lazy content; [`Kind::TooLarge`] for a stream of more than
    /// [`COLLECT_LIMIT`] bytes.
    pub fn encode(self, form: Form) -> Answer<Bytes> {
        let same = form == Form::Text
            || self.media_type.as_deref().is_some_and(|media_type| form.is_media_type(media_type));
        match self.body {
            Body::Empty => Answer::ok(Value::Nil.encode(form).into()),
            Body::Bytes(bytes) if same => Answer::ok(bytes),
            Body::Text(text) if same => Answer::ok(text.into_bytes()),
            Body::Bytes(bytes) => Answer::ok(Value::from(bytes).encode(form).into()),
            Body::Text(text) => Answer::ok(encode_text(&text, form)),
            Body::Value(value) if value.is_large() => {
                Answer::later(async move { DATA_POOL.run(move || value.encode(form).into()).await })
            }
            Body::Value(value) => Answer::ok(value.encode(form).into()),
            Body::Lazy(lazy) => lazy.encode(form),
            Body::Stream(stream, length) => Answer::later(async move {
                let (bytes, _held) = collect(stream, length, COLLECT_LIMIT).await?;
                Ok(if same { bytes } else { Value::from(bytes).encode(form).into() })
            }),
        }
    }

    /// The content as the bytes it stands for: bytes, text and streams as they are, anything else
    /// as [`Form::Text`].
    ///
    /// # Errors
    /// [`Kind::TooLarge`] when there are more than `limit` bytes; a stream of known length is
    /// refused before it is read. Otherwise those of the stream or of the lazy content.
    pub fn read(self, limit: usize) -> Answer<Bytes> {
        if let Body::Stream(stream, length) = self.body {
            return Answer::later(async move { Ok(collect(stream, length, limit).await?.0) });
        }
        self.encode(Form::Text).and_then(move |bytes| {
            if bytes.len() > limit { too_large(limit).into() } else { Answer::ok(bytes) }
        })
    }

    /// As [`Content::read`], for a request: the collected bytes count towards its memory until it
    /// ends.
    ///
    /// # Errors
    /// As [`Content::read`].
    pub fn read_for(self, limit: usize, context: &Context) -> Answer<Bytes> {
        let Body::Stream(stream, length) = self.body else { return self.read(limit) };
        let exchange = context.exchange.clone();
        Answer::later(async move {
            let (bytes, held) = collect(stream, length, limit).await?;
            if let Some(allowance) = exchange.as_ref().and_then(|exchange| exchange.allowance()) {
                allowance.keep(held);
            }
            Ok(bytes)
        })
    }

    /// The same content with its stream, where it is one, read into memory.
    ///
    /// # Errors
    /// [`Kind::TooLarge`] when the stream has more than `limit` bytes; otherwise the stream's own.
    pub fn collected(self, limit: usize) -> Answer<Content> {
        match self.body {
            Body::Stream(stream, length) => Answer::later(async move {
                let (bytes, _held) = collect(stream, length, limit).await?;
                Ok(Content { body: Body::Bytes(bytes), ..self })
            }),
            _ => Answer::ok(self),
        }
    }

    /// The content as plain data: text as text, bytes and streams as text where they are UTF-8 and
    /// as bytes otherwise, empty content as nil. JSON text is text too: parse it with
    /// [`json::parse`] where it is data.
    ///
    /// # Errors
    /// As [`Content::read`]; the limit counts for streams.
    pub fn into_value(self, limit: usize) -> Answer<Value> {
        match self.body {
            Body::Empty => Answer::ok(Value::Nil),
            Body::Bytes(bytes) => Answer::ok(bytes.into()),
            Body::Text(text) => Answer::ok(text.into()),
            Body::Value(value) => Answer::ok(value),
            Body::Lazy(lazy) => lazy.value(),
            Body::Stream(stream, length) => {
                Answer::later(async move { Ok(collect(stream, length, limit).await?.0.into()) })
            }
        }
    }

    /// The media type of this content in a form: its own where it is of that form already or is
    /// text with a type of its own (a page), otherwise the form's.
    pub fn media_type_in(&self, form: Form) -> Cow<'static, str> {
        match (&self.media_type, &self.body) {
            (Some(own), _) if form == Form::Text || form.is_media_type(own) => own.clone(),
            (_, Body::Lazy(lazy)) => {
                lazy.media_type(form).unwrap_or(Cow::Borrowed(form.media_type()))
            }
            _ => Cow::Borrowed(form.media_type()),
        }
    }
}

/// Text in JSON without making a value of it first.
fn encode_text(text: &str, form: Form) -> Bytes {
    let mut out = Vec::with_capacity(text.len() + 2);
    match form {
        Form::Json => json::write_text(text, &mut out),
        Form::Csv | Form::Text => out = Value::from(text).encode(form),
    }
    out.into()
}

/// Reads a stream to its end. The bytes count towards the memory of requests.
async fn collect(
    mut stream: ByteStream,
    length: Option<u64>,
    limit: usize,
) -> Result<(Bytes, Held)> {
    if length.is_some_and(|length| length > limit as u64) {
        return Err(too_large(limit));
    }
    let mut held = Held::default();
    let Some(first) = stream.next().await.transpose()? else { return Ok((Bytes::new(), held)) };
    let mut next = stream.next().await.transpose()?;
    if first.len() > limit {
        return Err(too_large(limit));
    }
    held.add_arriving(first.len())?;
    if next.is_none() {
        return Ok((first, held));
    }
    // The announced length is not trusted with more than a first guess of memory.
    const FIRST_GUESS: u64 = 1 << 20;
    let guess = length.unwrap_or(0).min(FIRST_GUESS) as usize;
    let mut whole = BytesMut::with_capacity(guess.max(first.len() * 2));
    whole.extend_from_slice(&first);
    while let Some(chunk) = next {
        if chunk.len() > limit - whole.len() {
            return Err(too_large(limit));
        }
        held.add_arriving(chunk.len())?;
        whole.extend_from_slice(&chunk);
        next = stream.next().await.transpose()?;
    }
    Ok((whole.freeze(), held))
}

fn too_large(limit: usize) -> Error {
    Error::new(Kind::TooLarge, format!("the content has more than {limit} bytes"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use futures_util::stream;

    fn ready<T>(answer: Answer<T>) -> Result<T> {
        match answer {
            Answer::Ready(result) => result,
            Answer::Later(_) => panic!("this answer should not have to wait"),
        }
    }

    fn chunks(parts: &[&'static str], length: Option<u64>) -> Content {
        let parts: Vec<Result<Bytes>> = parts.iter().map(|part| Ok(Bytes::from(*part))).collect();
        let body = Body::Stream(Box::pin(stream::iter(parts)), length);
        Content { body, ..Content::default() }
    }

    #[test]
    fn each_body_in_each_form() {
        let check = |content: fn() -> Content, json: &str, csv: &str, text: &str| {
            assert_eq!(ready(content().encode(Form::Json)).unwrap(), json);
            assert_eq!(ready(content().encode(Form::Csv)).unwrap(), csv);
            assert_eq!(ready(content().encode(Form::Text)).unwrap(), text);
        };
        check(Content::default, "null", "", "");
        check(|| Content::text("a\"b"), r#""a\"b""#, "\"a\"\"b\"\r\n", "a\"b");
        check(|| Content::bytes("plain"), "\"plain\"", "plain\r\n", "plain");
        check(|| Content::value(Value::Int(7)), "7", "7\r\n", "7");
        check(|| Content::value(Value::Nil), "null", "", "");
        check(
            || Content::value(Value::List(vec![Value::record([("a", Value::Int(1))])])),
            r#"[{"a":1}]"#,
            "a\r\n1\r\n",
            r#"[{"a":1}]"#,
        );
        check(
            || Content::text("[1]").with_media_type("application/problem+json; charset=utf-8"),
            "[1]",
            "[1]\r\n",
            "[1]",
        );
        let binary = Content::bytes(vec![0xff, 0x00]);
        assert_eq!(ready(binary.encode(Form::Json)).unwrap(), "\"/wA=\"");
    }

    #[tokio::test(flavor = "current_thread")]
    async fn streams_are_collected_within_the_limit() {
        assert_eq!(chunks(&["ab", "cd", "e"], None).read(5).await.unwrap(), "abcde");
        assert_eq!(chunks(&[], Some(0)).read(0).await.unwrap(), "");
        assert_eq!(chunks(&["ab"], None).encode(Form::Json).await.unwrap(), "\"ab\"");
        for content in [chunks(&["ab", "cd"], None), chunks(&["abcd"], None)] {
            assert_eq!(content.read(3).await.unwrap_err().kind, Kind::TooLarge);
        }
        let never = Body::Stream(Box::pin(stream::pending()), Some(4));
        let content = Content { body: never, ..Content::default() };
        assert_eq!(content.read(3).await.unwrap_err().kind, Kind::TooLarge);
        assert_eq!(Content::text("abcd").read(3).await.unwrap_err().kind, Kind::TooLarge);
    }

    #[test]
    fn plain_data() {
        let value = |content: Content| ready(content.into_value(9)).unwrap();
        assert_eq!(value(Content::default()), Value::Nil);
        assert_eq!(value(Content::text("a")), Value::from("a"));
        assert_eq!(value(Content::bytes("a")), Value::from("a"));
        assert_eq!(value(Content::bytes(vec![0xff])), Value::Bytes(vec![0xff].into()));
    }
}
