//! Gates: what a request passes once, whatever verbs its server needs for it.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};

/// A number that no other gate of this process has.
pub(super) fn next_gate() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The gate of one path.
pub(super) fn gate_of(gate: u64, path: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (gate, path).hash(&mut hasher);
    // 0 is no gate.
    hasher.finish().max(1)
}
