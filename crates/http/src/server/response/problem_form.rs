//! The body of an error response: RFC 9457 problem details, an HTML page, or plain text, by
//! `Accept`.

use crate::protocol::negotiation::{Quality, accepted};
use crate::server::response::page_template::{NONCE, TemplateValue, server_pages};
use hyper::header::{HeaderMap, HeaderValue};
use runnel_store::{FieldProblem, Value, json};
use std::fmt::Write;

/// The form of an error response.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ProblemForm {
    /// One line of text, for a request without `Accept`.
    #[default]
    Plain,
    /// `application/problem+json` (RFC 9457).
    Details,
    /// An HTML page for browsers.
    Page,
}

/// The most invalid fields that a response lists; the rest is counted.
const MOST_FIELDS: usize = 100;

/// The content of an error response.
pub(crate) struct ProblemText<'a> {
    pub(crate) code: u16,
    pub(crate) title: &'a str,
    pub(crate) detail: Option<&'a str>,
    /// The id of the request.
    pub(crate) instance: Option<&'a str>,
    pub(crate) fields: &'a [FieldProblem],
    /// The nonce of the content security policy.
    pub(crate) nonce: Option<&'a str>,
}

impl ProblemForm {
    /// The form with the highest quality in `Accept`. JSON wins over a page of the same quality
    /// unless the page is named first, and `*/*` alone means JSON.
    pub(crate) fn of(headers: &HeaderMap) -> ProblemForm {
        use ProblemForm::{Details, Page, Plain};
        let mut qualities = [Quality::default(); 3];
        let mut first = None;
        for (range, quality) in accepted(headers) {
            let (forms, rank): (&[ProblemForm], u8) = match range.as_str() {
                "application/problem+json" | "application/json" => (&[Details], 3),
                "text/html" | "application/xhtml+xml" => (&[Page], 3),
                "text/plain" => (&[Plain], 3),
                "application/*" => (&[Details], 2),
                "text/*" => (&[Page, Plain], 2),
                "*/*" => (&[Details, Page, Plain], 1),
                _ => continue,
            };
            if rank == 3 {
                first = first.or(Some(forms[0]));
            }
            forms.iter().for_each(|form| qualities[*form as usize].set(rank, quality));
        }
        let value = |form: ProblemForm| qualities[form as usize].value;
        let mut best = Plain;
        // Among equals the last one wins: what the client named first.
        for form in [Page, Details, first.unwrap_or(Details)] {
            let good = value(form);
            if good > 0.0 && good >= value(best) {
                best = form;
            }
        }
        best
    }

    pub(crate) fn media_type(self) -> HeaderValue {
        HeaderValue::from_static(match self {
            ProblemForm::Plain => "text/plain; charset=utf-8",
            ProblemForm::Details => "application/problem+json",
            ProblemForm::Page => "text/html; charset=utf-8",
        })
    }

    pub(crate) fn write(self, problem: &ProblemText<'_>) -> Vec<u8> {
        match self {
            ProblemForm::Plain => problem.plain().into_bytes(),
            ProblemForm::Details => problem.details(),
            ProblemForm::Page => problem.page().into_bytes(),
        }
    }
}

impl ProblemText<'_> {
    fn shown(&self) -> &[FieldProblem] {
        self.fields.get(..MOST_FIELDS).unwrap_or(self.fields)
    }

    fn plain(&self) -> String {
        let mut text = format!("{} {}", self.code, self.title);
        if let Some(detail) = self.detail {
            let _ = write!(text, ": {detail}");
        }
        for field in self.shown() {
            let _ = write!(text, "\n{}: {}", field.pointer, field.message);
        }
        text
    }

    fn details(&self) -> Vec<u8> {
        let text = |text: &str| Value::Text(text.to_string());
        let mut members = vec![
            ("type".to_string(), text("about:blank")),
            ("title".to_string(), text(self.title)),
            ("status".to_string(), Value::Int(self.code.into())),
        ];
        if let Some(detail) = self.detail {
            members.push(("detail".to_string(), text(detail)));
        }
        if let Some(instance) = self.instance {
            members.push(("instance".to_string(), text(instance)));
        }
        if !self.fields.is_empty() {
            let one = |field: &FieldProblem| {
                Value::Record(vec![
                    ("pointer".to_string(), text(&field.pointer)),
                    ("detail".to_string(), text(&field.message)),
                ])
            };
            let errors = self.shown().iter().map(one).collect();
            members.push(("errors".to_string(), Value::List(errors)));
        }
        json::text(&Value::Record(members))
    }

    fn page(&self) -> String {
        let shown = self.shown();
        let row = |number: usize| {
            let field: &FieldProblem = shown.get(number)?;
            Some(vec![
                ("pointer", TemplateValue::Text(field.pointer.as_str().into())),
                ("message", TemplateValue::Text(field.message.as_str().into())),
            ])
        };
        server_pages().error.fill(&vec![
            (NONCE, TemplateValue::Text(self.nonce.unwrap_or_default().into())),
            ("code", TemplateValue::Text(self.code.to_string().into())),
            ("title", TemplateValue::Text(self.title.into())),
            ("detail", TemplateValue::Text(self.detail.unwrap_or_default().into())),
            ("hasFields", TemplateValue::Text(if shown.is_empty() { "" } else { "yes" }.into())),
            ("fields", TemplateValue::Rows(&row)),
            ("instance", TemplateValue::Text(self.instance.unwrap_or_default().into())),
        ])
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn accept_chooses_the_form() {
        use ProblemForm::{Details, Page, Plain};
        let browser = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";
        for (accept, form) in [
            (browser, Page),
            ("*/*", Details),
            ("application/json", Details),
            ("application/problem+json, text/html;q=0.9", Details),
            ("application/json, text/plain, */*", Details),
            ("text/plain", Plain),
            ("text/plain, */*;q=0.1", Plain),
            ("text/*", Page),
            ("text/html;q=0.2, application/json;q=0.9", Details),
            ("text/html, application/json", Page),
            ("image/png", Plain),
            ("text/html;q=0", Plain),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(hyper::header::ACCEPT, accept.parse().unwrap());
            assert_eq!(ProblemForm::of(&headers), form, "{accept}");
        }
        assert_eq!(ProblemForm::of(&HeaderMap::new()), Plain);
    }

    #[test]
    fn every_form_says_the_same_and_is_escaped() {
        let fields =
            [FieldProblem { pointer: "/a<b".into(), message: "must be an \"int\"".into() }];
        let problem = ProblemText {
            code: 422,
            title: "Unprocessable Entity",
            detail: Some("<script>alert(1)</script>"),
            instance: Some("7&8"),
            fields: &fields,
            nonce: None,
        };
        let write = |form: ProblemForm| String::from_utf8(form.write(&problem)).unwrap();
        let page = write(ProblemForm::Page);
        assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
        assert!(page.contains("<code>/a&lt;b</code> must be an &quot;int&quot;"));
        assert!(page.contains("Request 7&amp;8") && !page.contains("<script"));
        assert_eq!(
            write(ProblemForm::Details),
            "{\"type\":\"about:blank\",\"title\":\"Unprocessable Entity\",\"status\":422,\
             \"detail\":\"<script>alert(1)</script>\",\"instance\":\"7&8\",\
             \"errors\":[{\"pointer\":\"/a<b\",\"detail\":\"must be an \\\"int\\\"\"}]}"
        );
        assert_eq!(
            write(ProblemForm::Plain),
            "422 Unprocessable Entity: <script>alert(1)</script>\n/a<b: must be an \"int\""
        );
    }
}
