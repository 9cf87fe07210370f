//! Pages: markup that the kernel writes, as content of a response.

pub(crate) mod markup;
pub(crate) mod streamed;
pub(crate) mod whole;
