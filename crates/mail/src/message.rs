//! A message made of a record. Every value is encoded by the rules of its field (RFC 5322, RFC 2047): one that
//! contains a line break is part of the text of that field.

use lettre::Message;
use lettre::message::header::ContentType;
use lettre::message::{Attachment, Mailbox, MultiPart, SinglePart};
use runnel_store::{Error, Kind, Result, Value};

/// Bytes of a message with its attachments.
pub const MAX_MESSAGE: usize = 10 << 20;

/// Addresses that a message is sent to.
pub const MAX_RECIPIENTS: usize = 50;

const FIELDS: [&str; 6] = ["to", "subject", "text", "html", "replyTo", "attachments"];

/// The message of a record, to the addresses of the reference and of its field `to`.
pub(crate) fn message(from: &Mailbox, address: &str, value: &Value) -> Result<Message> {
    let Value::Record(fields) = value else {
        return Err(invalid("a mail is a dictionary such as #{ subject: 'Hello', text: '…' }"));
    };
    if let Some((name, _)) = fields.iter().find(|(name, _)| !FIELDS.contains(&name.as_str())) {
        return Err(invalid(&format!(
            "a mail has no field `{}`; its fields are {}",
            name.escape_debug(),
            FIELDS.join(", ")
        )));
    }
    let mut builder = Message::builder().from(from.clone());
    for recipient in recipients(address, value.get("to"))? {
        builder = builder.to(recipient);
    }
    if let Some(reply) = text(value, "replyTo")? {
        builder = builder.reply_to(mailbox(reply)?);
    }
    builder = builder.subject(one_line(text(value, "subject")?.unwrap_or_default())?);
    let parts = attachments(value)?;
    let body = match (text(value, "text")?, text(value, "html")?) {
        (Some(plain), Some(html)) => {
            MultiPart::alternative_plain_html(plain.to_owned(), html.to_owned())
        }
        (Some(plain), None) => MultiPart::mixed().singlepart(SinglePart::plain(plain.to_owned())),
        (None, Some(html)) => MultiPart::mixed().singlepart(SinglePart::html(html.to_owned())),
        (None, None) => return Err(invalid("a mail has a `text`, or `html`, or both")),
    };
    let body = match parts.is_empty() {
        true => body,
        false => parts.into_iter().fold(MultiPart::mixed().multipart(body), MultiPart::singlepart),
    };
    let made = builder.multipart(body).map_err(|error| invalid(&format!("no mail: {error}")))?;
    match made.formatted().len() {
        0..=MAX_MESSAGE => Ok(made),
        _ => Err(Error::new(Kind::TooLarge, format!("a mail has at most {MAX_MESSAGE} bytes"))),
    }
}

fn recipients(address: &str, more: Option<&Value>) -> Result<Vec<Mailbox>> {
    let mut all: Vec<&str> = address.split(',').filter(|one| !one.is_empty()).collect();
    match more {
        None | Some(Value::Nil) => {}
        Some(Value::List(list)) => {
            for one in list {
                all.push(
                    one.as_str().ok_or_else(|| invalid("`to` of a mail is a list of addresses"))?,
                );
            }
        }
        Some(one) => all.push(one.as_str().ok_or_else(|| invalid("`to` of a mail is an address"))?),
    }
    match all.len() {
        1..=MAX_RECIPIENTS => all.into_iter().map(mailbox).collect(),
        0 => Err(invalid("a mail has an address: mail:ann@example.org")),
        _ => Err(invalid(&format!("a mail has at most {MAX_RECIPIENTS} addresses"))),
    }
}

fn mailbox(text: &str) -> Result<Mailbox> {
    let parsed = if text.contains(['\r', '\n']) { None } else { text.trim().parse().ok() };
    parsed.ok_or_else(|| invalid(&format!("'{}' is no address of a mail", text.escape_debug())))
}

fn text<'a>(value: &'a Value, name: &str) -> Result<Option<&'a str>> {
    match value.get(name) {
        None | Some(Value::Nil) => Ok(None),
        Some(found) => match found.as_str() {
            Some(text) => Ok(Some(text)),
            None => Err(invalid(&format!("`{name}` of a mail is a text"))),
        },
    }
}

fn one_line(text: &str) -> Result<&str> {
    match text.contains(['\r', '\n', '\0']) {
        true => Err(invalid("the subject of a mail is one line")),
        false => Ok(text),
    }
}

/// `attachments: [ #{ name: 'a.pdf', mediaType: 'application/pdf', data: … } ]`
fn attachments(value: &Value) -> Result<Vec<SinglePart>> {
    let list = match value.get("attachments") {
        None | Some(Value::Nil) => return Ok(Vec::new()),
        Some(Value::List(list)) => list,
        Some(_) => return Err(invalid("`attachments` of a mail is a list of dictionaries")),
    };
    let part = |one: &Value| {
        let name = text(one, "name")?.ok_or_else(|| invalid("an attachment has a `name`"))?;
        let kind = text(one, "mediaType")?.unwrap_or("application/octet-stream");
        let kind = ContentType::parse(kind)
            .map_err(|_| invalid(&format!("'{}' is no media type", kind.escape_debug())))?;
        let data = match one.get("data") {
            Some(Value::Bytes(bytes)) => bytes.to_vec(),
            Some(Value::Text(text)) => text.clone().into_bytes(),
            _ => return Err(invalid("an attachment has `data`")),
        };
        Ok(Attachment::new(one_line(name)?.to_owned()).body(data, kind))
    };
    list.iter().map(part).collect()
}

fn invalid(message: &str) -> Error {
    Error::new(Kind::Invalid, message)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn mail(fields: &[(&str, Value)]) -> Value {
        Value::Record(
            fields.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
        )
    }

    fn made(address: &str, fields: &[(&str, Value)]) -> Result<String> {
        let from = "Shop <shop@example.org>".parse().unwrap();
        let message = message(&from, address, &mail(fields))?;
        Ok(String::from_utf8(message.formatted()).unwrap())
    }

    #[test]
    fn no_value_adds_a_header() {
        let body = ("text", Value::from("Hello"));
        for evil in ["a\r\nBcc: eve@example.org", "a\nBcc: eve@example.org", "a\0b"] {
            let subject = [("subject", Value::from(evil)), body.clone()];
            assert!(made("ann@example.org", &subject).is_err(), "{evil:?}");
            assert!(made(&format!("ann@example.org{evil}"), std::slice::from_ref(&body)).is_err());
            let reply = [("replyTo", Value::from(evil)), body.clone()];
            assert!(made("ann@example.org", &reply).is_err());
        }
        let text = made("ann@example.org", &[("subject", Value::from("Grüße")), body]).unwrap();
        assert!(
            text.contains("Subject: =?utf-8?") && text.contains("To: ann@example.org\r\n"),
            "{text}"
        );
    }

    #[test]
    fn what_is_no_mail_is_refused() {
        let body = || ("text", Value::from("Hello"));
        assert!(made("", &[body()]).is_err());
        assert!(made("nobody", &[body()]).is_err());
        assert!(made("ann@example.org", &[]).is_err());
        assert!(made("ann@example.org", &[body(), ("cc", Value::from("x"))]).is_err());
        let many = vec!["a@example.org"; MAX_RECIPIENTS + 1].join(",");
        assert!(made(&many, &[body()]).is_err());
        let large = "x".repeat(MAX_MESSAGE);
        assert_eq!(
            made("a@example.org", &[("text", large.into())]).unwrap_err().kind,
            Kind::TooLarge
        );
    }
}
