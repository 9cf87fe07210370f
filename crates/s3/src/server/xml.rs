//! Documents of requests and answers in XML: a bounded reader and a writer. What the elements mean is
//! said in `bucket` and in the operations.

mod element;
mod reader;
mod writer;

pub(crate) use element::Element;
pub(crate) use reader::read;
pub(crate) use writer::{DECLARATION, XmlWriter, url_encode};
