//! Documents of requests and answers in XML: a bounded reader and a writer. What the elements mean is
//! said in `bucket` and in the operations.

mod element;
mod reader;
mod writer;

pub(crate) use element::Element;
#[allow(unused_imports)] // the service limits documents by their size
pub(crate) use reader::{DOCUMENT_SIZE, read};
#[allow(unused_imports)]
pub(crate) use writer::{XmlWriter, url_encode};
