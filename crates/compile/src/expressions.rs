//! Expressions: their Lua code, messages, literals, and messages that become control flow.

pub(crate) mod control;
pub(crate) mod expression;
pub(crate) mod literal;
pub(crate) mod message;
