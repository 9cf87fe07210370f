//! Which statements of a script gave no diagnostics, by numbers of what they depend on.

use std::collections::HashSet;

/// The statements of one program that gave no diagnostics when they were compiled last.
#[derive(Debug, Default)]
pub struct CleanStatements {
    /// What the program defined then.
    world: u64,
    statements: HashSet<u64>,
}

/// What one compilation knows and finds of clean statements.
#[derive(Default)]
pub(crate) struct Recall {
    known: CleanStatements,
    /// What the program defines now.
    pub(crate) world: u64,
    /// What is clean now.
    pub(crate) found: Vec<u64>,
}

impl Recall {
    pub(crate) fn new(known: CleanStatements) -> Self {
        Recall { known, ..Recall::default() }
    }

    /// For the same program once more.
    pub(crate) fn again(self) -> Self {
        Recall::new(self.known)
    }

    /// What is clean now.
    pub(crate) fn result(self) -> CleanStatements {
        CleanStatements { world: self.world, statements: self.found.into_iter().collect() }
    }

    /// Whether a statement was clean in the same surroundings.
    pub(crate) fn is_clean(&self, statement: u64) -> bool {
        self.world == self.known.world && self.known.statements.contains(&statement)
    }
}
