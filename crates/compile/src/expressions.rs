//! Expressions: their Lua code, messages, literals, and messages that become control flow.

pub(crate) mod append;
pub(crate) mod control;
pub(crate) mod destructure;
pub(crate) mod expression;
pub(crate) mod leave;
pub(crate) mod literal;
pub(crate) mod matching;
pub(crate) mod message;
pub(crate) mod written;
