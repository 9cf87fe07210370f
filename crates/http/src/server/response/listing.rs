//! The children of a collection: a page of links for people, and a listing for programs.

use super::page_template::{NONCE, PageTemplate, TemplateValue, server_pages};
use crate::protocol::target::{escape_name, escape_path};
use crate::protocol::{entries, media_type};
use crate::server::response::body::ResponseBody;
use crate::server::response::panics::guard;
use crate::server::response::problem::Problem;
use crate::server::response::reply::PendingResponse;
use crate::server::response::request_cycle::{RequestCycle, ResponseFacts};
use hyper::header::{self, HeaderValue};
use hyper::{Response, StatusCode};
use runnel_store::{Entry, Error, Kind, Result, Verb, Verbs};

impl RequestCycle {
    /// Whether clients may have the names of the children.
    fn may_list(&self, verbs: Verbs) -> bool {
        verbs.lists_in_public() || self.limits.access.listing && verbs.has(Verb::List)
    }

    /// A GET for the children, by a program.
    pub(super) fn list(self) -> PendingResponse {
        if !self.may_list(self.verbs()) {
            let error = Error::not_allowed(Verb::List, &self.reference);
            return self.error_response(error).into();
        }
        let context = self.context();
        let answer = guard(|| self.root.list(&self.reference, &context));
        drop(context);
        self.wait(|cycle| async move {
            match answer.await {
                Ok(Some(children)) => {
                    let text = entries::text(children);
                    let body = ResponseBody::whole(text.into(), &cycle.state);
                    let facts = ResponseFacts::default();
                    let kind = Some(entries::MEDIA_TYPE);
                    let mut response = cycle.respond(StatusCode::OK, kind, facts, body);
                    let headers = response.headers_mut();
                    // A cache must not send it to a client that wants the content.
                    headers.insert(header::VARY, HeaderValue::from_static("accept"));
                    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
                    response
                }
                Ok(None) => cycle.problem(Problem::new(StatusCode::NOT_FOUND)),
                Err(error) => cycle.error_response(error),
            }
        })
    }

    /// A get found nothing: lists the reference, which may be a collection.
    pub(super) fn list_missing(self) -> PendingResponse {
        if !matches!(self.exchange.overrides.status(), Ok(None)) {
            let body = ResponseBody::empty(&self.state);
            return self.respond(StatusCode::OK, None, ResponseFacts::default(), body).into();
        }
        let verbs = self.verbs();
        if !self.may_list(verbs) {
            return self.missing_among(verbs).into();
        }
        let context = self.context();
        let answer = guard(|| self.root.list(&self.reference, &context));
        drop(context);
        match answer.at_once() {
            Ok(result) => self.list_result(result).into(),
            Err(later) => self.wait(|cycle| async move { cycle.list_result(later.await) }),
        }
    }

    fn list_result(self, result: Result<Option<Vec<Entry>>>) -> Response<ResponseBody> {
        match result {
            Ok(Some(entries)) => {
                let nonce = self.exchange.overrides.nonce();
                let template = &server_pages().listing;
                let page = page(template, self.reference.path(), &entries, nonce);
                let body = ResponseBody::whole(page.into(), &self.state);
                let kind = Some(media_type::HTML);
                let mut response =
                    self.respond(StatusCode::OK, kind, ResponseFacts::default(), body);
                response.headers_mut().insert(entries::PAGE, HeaderValue::from_static("page"));
                response
            }
            Ok(None) => self.missing(),
            Err(error) if matches!(error.kind, Kind::NotAllowed | Kind::NotFound) => self.missing(),
            Err(error) => self.error_response(error),
        }
    }
}

/// The HTML page of a collection, with a link to each child.
fn page(template: &PageTemplate, path: &str, entries: &[Entry], nonce: Option<&str>) -> String {
    let base = path.trim_end_matches('/');
    let title = if base.is_empty() { "/" } else { base };
    let parent = base.rsplit_once('/').map(|(parent, _)| format!("{}/", escape_path(parent)));
    let base = escape_path(base);
    let row = |number: usize| {
        let entry: &Entry = entries.get(number)?;
        let name = runnel_store::decode_segment(&entry.name);
        let slash = if entry.collection { "/" } else { "" };
        Some(vec![
            (
                "link",
                TemplateValue::Text(format!("{base}/{}{slash}", escape_name(&entry.name)).into()),
            ),
            ("name", TemplateValue::Text(format!("{name}{slash}").into())),
            ("folder", TemplateValue::Text(slash.into())),
        ])
    };
    let empty = if entries.is_empty() { "empty" } else { "" };
    template.fill(&vec![
        (NONCE, TemplateValue::Text(nonce.unwrap_or_default().into())),
        ("title", TemplateValue::Text(title.into())),
        ("parent", TemplateValue::Text(parent.unwrap_or_default().into())),
        ("entries", TemplateValue::Rows(&row)),
        ("empty", TemplateValue::Text(empty.into())),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::server::response::page_template::server_pages;

    #[test]
    fn names_are_escaped_and_linked() {
        let entries = [
            Entry { name: "a & <b>.txt".into(), collection: false },
            Entry { name: "dir".into(), collection: true },
        ];
        let page = page(&server_pages().listing, "/x y/", &entries, None);
        assert!(page.contains("<title>/x y</title>"));
        assert!(
            page.contains("<a href=\"/x%20y/a%20&amp;%20%3Cb%3E.txt\">a &amp; &lt;b&gt;.txt</a>")
        );
        assert!(page.contains("<a href=\"/x%20y/dir/\">dir/</a>"));
        assert!(page.contains("<a href=\"/\">Parent</a>"));
    }

    #[test]
    fn the_root_has_no_parent() {
        let page = page(&server_pages().listing, "/", &[], None);
        assert!(page.contains("<h1>/</h1>"));
        assert!(!page.contains("Parent"));
    }
}
