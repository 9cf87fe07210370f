//! Pages that are complete when the program answers them.

use crate::engine::stack::{Stack, Type};
use runnel_store::{Body, Content, Text};
use std::borrow::Cow;
use std::os::raw::c_int;
use std::rc::Rc;

/// The media type of an element; the kernel names none for HTML.
pub(crate) fn document_type(media: &[u8]) -> Cow<'static, str> {
    match std::str::from_utf8(media) {
        Ok("") | Err(_) => Cow::Borrowed("text/html; charset=utf-8"),
        Ok(media) => Cow::Owned(format!("{media}; charset=utf-8")),
    }
}

/// The class of a page, by which a store that kept its text gives back an element.
pub(crate) const CLASS: &str = "Element";

thread_local! {
    static CLASS_NAME: Rc<str> = Rc::from(CLASS);
}

/// A complete page: `true` lies above it. None of its code is left to run.
pub(crate) fn complete_page(stack: Stack, index: c_int) -> Option<Content> {
    if stack.top() <= index || stack.kind(index + 1) != Type::Boolean {
        return None;
    }
    let bytes = match stack.kind(index) {
        Type::Text => stack.copied_bytes(index),
        Type::Table => super::markup::handed_over(stack, index),
        _ => return None,
    };
    // A program can make texts of any bytes.
    let body = Text::from_utf8(bytes).map_or_else(Body::Bytes, Body::Text);
    let class = CLASS_NAME.with(Rc::clone);
    let content = Content { body, class: Some(class), ..Content::default() };
    Some(content.with_media_type("text/html"))
}
