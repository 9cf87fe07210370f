//! Patterns of types outside the program: in the syntax of ECMA-262, and texts that match them.

mod decimal;
mod ecma;
mod sample;

pub use decimal::decimal_pattern;
pub use ecma::ecma_pattern;
pub(crate) use sample::matching_text;
