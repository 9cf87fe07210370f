//! Combinatorial search over categories.
