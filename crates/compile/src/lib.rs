//! Tree to Lua on the same lines.
