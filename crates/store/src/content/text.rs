//! Text that is shared and not copied.

#![allow(unsafe_code)]

use bytes::Bytes;
use std::fmt;
use std::ops::Deref;

/// Shared text: UTF-8 in a [`Bytes`] buffer, cloned without a copy.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Text(Bytes);

impl Text {
    /// Empty text.
    pub const EMPTY: Text = Text(Bytes::new());

    /// Text that is part of the program.
    pub const fn from_static(text: &'static str) -> Self {
        Text(Bytes::from_static(text.as_bytes()))
    }

    /// Takes bytes that are UTF-8; gives them back when they are not.
    pub fn from_utf8(bytes: Bytes) -> std::result::Result<Self, Bytes> {
        if std::str::from_utf8(&bytes).is_ok() { Ok(Text(bytes)) } else { Err(bytes) }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        // SAFETY: every way to make one takes UTF-8, and nothing changes it afterwards.
        unsafe { std::str::from_utf8_unchecked(&self.0) }
    }

    /// A part of it, by byte range, sharing the buffer.
    ///
    /// # Panics
    /// When the range does not lie on character boundaries, as slicing a `str` does.
    pub fn slice(&self, range: std::ops::Range<usize>) -> Self {
        let _ = &self.as_str()[range.clone()];
        Text(self.0.slice(range))
    }

    /// The bytes, sharing the buffer.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }
}

impl Deref for Text {
    type Target = str;
    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Text(Bytes::from(text))
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Text(Bytes::copy_from_slice(text.as_bytes()))
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), out)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.as_str(), out)
    }
}
