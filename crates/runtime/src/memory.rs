//! The memory of an engine: its limit, and what happens beyond it.

/// Whether the engine of this thread is over its limit. Native work that builds many objects asks
/// between two of them, and stops.
pub(crate) fn is_exceeded() -> bool {
    false
}
