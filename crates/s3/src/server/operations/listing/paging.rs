//! What listings share: parameters, bounds, and the names in answers.

use crate::server::call::{S3Call, invalid_argument};
use crate::server::fault::S3Result;
use crate::server::xml::{XmlWriter, url_encode};

/// Most entries of a page.
const PAGE: usize = 1_000;

/// The parameters of a listing of keys.
pub(crate) struct ListParameters {
    pub(crate) prefix: String,
    /// Empty for none.
    pub(crate) delimiter: String,
    /// Most keys and common prefixes of the page.
    pub(crate) limit: usize,
    /// Whether names are in URL encoding.
    pub(crate) is_encoded: bool,
}

impl ListParameters {
    /// Those of a request; `limit` is the name of the bound.
    pub(crate) fn of(call: &S3Call, limit: &'static str) -> S3Result<Self> {
        let text = |name: &str| call.parameter(name).unwrap_or_default().to_string();
        let is_encoded = match call.value("encoding-type") {
            None => false,
            Some("url") => true,
            Some(other) => {
                let words = "Invalid Encoding Method specified in Request";
                return Err(invalid_argument(words, "encoding-type", other));
            }
        };
        let limit = read_limit(call.value(limit), limit)?;
        Ok(ListParameters {
            prefix: text("prefix"),
            delimiter: text("delimiter"),
            limit,
            is_encoded,
        })
    }

    /// A name as the answer has it.
    pub(crate) fn name(&self, name: &str) -> String {
        if self.is_encoded { url_encode(name) } else { name.to_string() }
    }

    /// Writes a name where there is one.
    pub(crate) fn write(&self, xml: &mut XmlWriter, element: &str, name: &str) {
        if !name.is_empty() {
            xml.text(element, &self.name(name));
        }
    }

    /// The common prefix of a key, where the delimiter follows the prefix.
    pub(crate) fn common_prefix<'a>(&self, key: &'a str) -> Option<&'a str> {
        if self.delimiter.is_empty() {
            return None;
        }
        let rest = key.get(self.prefix.len()..)?;
        let end = rest.find(&self.delimiter)? + self.delimiter.len();
        key.get(..self.prefix.len() + end)
    }
}

/// A bound on the entries of a page: at most [`PAGE`], which is also the usual one.
pub(crate) fn read_limit(given: Option<&str>, name: &str) -> S3Result<usize> {
    let Some(text) = given else { return Ok(PAGE) };
    match text.parse::<i32>() {
        Err(_) => {
            let words = format!("Provided {text} not an integer or within integer range");
            Err(invalid_argument(words, name, text))
        }
        Ok(number) => usize::try_from(number).map(|number| number.min(PAGE)).map_err(|_| {
            let words = format!("Argument {text} must be an integer between 0 and 2147483647");
            invalid_argument(words, name, text)
        }),
    }
}
