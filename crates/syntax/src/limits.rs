//! How large, deep and faulty a source text may be. Past each limit there is a diagnostic.

/// The longest source text that is parsed, in bytes: 4 MiB.
pub const MAX_SOURCE_BYTES: usize = 4 << 20;

/// How deep brackets, braces, blocks, assignments and connections may be nested in each other.
pub const MAX_NESTING: u32 = 200;

/// The height of the tree of one expression, which is what a recursive walk over it needs stack
/// for. A chain such as `a + b + c` adds one for each message, so this is also about the number of
/// messages that may follow each other. The elements of a literal do not add up.
pub const MAX_HEIGHT: u32 = 1_000;

/// How many diagnostics are reported for one text; reading stops there.
pub const MAX_DIAGNOSTICS: usize = 50;

/// The longest number literal, in digits.
pub const MAX_DIGITS: usize = 1_000;

/// Lists inside each other in a declared type.
pub(crate) const MAX_TYPE_NESTING: u32 = 8;
