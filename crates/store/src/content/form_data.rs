//! Forms with parts on their way out: `multipart/form-data` (RFC 7578, HTML Standard section 4.10.21.8).

use crate::{Body, ByteStream, Content, PartHead, Result, fill_random};
use bytes::Bytes;
use futures_util::{StreamExt, stream};

/// Random bytes of a boundary: no content contains it but by intent of someone who knows it.
const RANDOM: usize = 16;

/// A form as content: a stream of its parts, each read when the one before was sent. Its length is known
/// where that of each part is.
///
/// # Errors
/// The system gives no random bytes.
pub fn form_data(parts: Vec<(PartHead, Content)>) -> Result<Content> {
    let mut random = [0; RANDOM];
    fill_random(&mut random)?;
    let digits: String = random.iter().map(|byte| format!("{byte:02x}")).collect();
    let boundary = format!("runnel-{digits}");
    let mut length = Some(0);
    let mut pieces: Vec<ByteStream> = Vec::with_capacity(parts.len() * 2 + 1);
    let mut before = String::new();
    for (head, content) in parts {
        before.push_str(&part_head(&boundary, &head));
        add(&mut length, Some(before.len()));
        pieces.push(whole(std::mem::take(&mut before).into()));
        let (body, size) = part_body(content);
        add(&mut length, size);
        pieces.push(body);
        before.push_str("\r\n");
    }
    let end = format!("{before}--{boundary}--\r\n");
    add(&mut length, Some(end.len()));
    pieces.push(whole(end.into()));
    let body: ByteStream = Box::pin(stream::iter(pieces).flatten());
    let media_type = format!("multipart/form-data; boundary={boundary}");
    let length = length.and_then(|length| u64::try_from(length).ok());
    Ok(Content {
        body: Body::Stream(body, length),
        media_type: Some(media_type.into()),
        ..Content::default()
    })
}

fn add(length: &mut Option<usize>, more: Option<usize>) {
    *length = length.zip(more).and_then(|(length, more)| length.checked_add(more));
}

fn whole(bytes: Bytes) -> ByteStream {
    Box::pin(stream::iter([Ok(bytes)]))
}

fn part_head(boundary: &str, head: &PartHead) -> String {
    let mut text = format!("--{boundary}\r\nContent-Disposition: form-data; name=\"");
    text.push_str(&escaped(&head.field));
    text.push('"');
    if let Some(name) = &head.file_name {
        text.push_str("; filename=\"");
        text.push_str(&escaped(name));
        text.push('"');
    }
    // A media type of several lines would be a header of its own.
    let media_type = head.media_type.as_deref().filter(|kind| !kind.contains(['\r', '\n']));
    match (media_type, &head.file_name) {
        (Some(media_type), _) => text.extend(["\r\nContent-Type: ", media_type]),
        (None, Some(_)) => text.push_str("\r\nContent-Type: application/octet-stream"),
        (None, None) => {}
    }
    text.push_str("\r\n\r\n");
    text
}

/// A name between quotes, as browsers write it.
fn escaped(name: &str) -> String {
    name.replace('\r', "%0D").replace('\n', "%0A").replace('"', "%22")
}

fn part_body(content: Content) -> (ByteStream, Option<usize>) {
    match content.body {
        Body::Stream(stream, length) => {
            (stream, length.and_then(|length| usize::try_from(length).ok()))
        }
        Body::Empty => (Box::pin(stream::empty()), Some(0)),
        Body::Bytes(bytes) => (whole(bytes.clone()), Some(bytes.len())),
        Body::Text(text) => (whole(text.clone().into_bytes()), Some(text.len())),
        body => {
            let content = Content { body, ..content };
            let encoding = async move { content.encode(crate::Form::Text).await };
            (Box::pin(stream::once(encoding)), None)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    async fn text_of(parts: Vec<(PartHead, Content)>) -> (String, String) {
        let form = form_data(parts).unwrap();
        let kind = form.media_type.clone().unwrap();
        let boundary = kind.split_once("boundary=").unwrap().1.to_string();
        let length = match &form.body {
            Body::Stream(_, length) => *length,
            _ => None,
        };
        let bytes = form.read(1 << 20).await.unwrap();
        if let Some(length) = length {
            assert_eq!(bytes.len() as u64, length);
        }
        (String::from_utf8(bytes.to_vec()).unwrap(), boundary)
    }

    fn part(field: &str, file_name: Option<&str>) -> PartHead {
        PartHead { field: field.into(), file_name: file_name.map(Into::into), media_type: None }
    }

    #[tokio::test]
    async fn parts_stand_between_boundaries() {
        let stream: ByteStream = Box::pin(stream::iter([Ok(Bytes::from_static(b"image"))]));
        let image = Content { body: Body::Stream(stream, Some(5)), ..Content::default() };
        let parts = vec![
            (part("title", None), Content::text("a\r\nb")),
            (part("photo\"\r\nx: y", Some("a\"b\n.jpg")), image),
        ];
        let (text, boundary) = text_of(parts).await;
        let expected = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"title\"\r\n\r\na\r\nb\r\n\
             --{boundary}\r\nContent-Disposition: form-data; name=\"photo%22%0D%0Ax: y\"; \
             filename=\"a%22b%0A.jpg\"\r\nContent-Type: application/octet-stream\r\n\r\nimage\r\n\
             --{boundary}--\r\n"
        );
        assert_eq!(text, expected);
        let (text, other) = text_of(Vec::new()).await;
        assert_eq!(text, format!("--{other}--\r\n"));
        assert_ne!(boundary, other);
    }

    #[tokio::test]
    async fn a_part_of_unknown_length_makes_the_form_one() {
        let stream: ByteStream = Box::pin(stream::iter([Ok(Bytes::from_static(b"x"))]));
        let unknown = Content { body: Body::Stream(stream, None), ..Content::default() };
        let form = form_data(vec![(part("a", None), unknown)]).unwrap();
        assert!(matches!(form.body, Body::Stream(_, None)));
    }
}
