//! Values in PostgreSQL's binary format, in both directions.

pub(crate) mod decimal;
pub(crate) mod decode;
pub(crate) mod moment;
pub(crate) mod parameter;
