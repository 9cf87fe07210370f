//! Programs that use all of the language, for the tests that need some.

/// Name and text of each.
pub(crate) const SAMPLES: &[(&str, &str)] = &[
    ("server", include_str!("samples/server.st")),
    ("expressions", include_str!("samples/expressions.st")),
    ("references", include_str!("samples/references.st")),
    ("blocks", include_str!("samples/blocks.st")),
    ("definitions", include_str!("samples/definitions.st")),
    ("paths", include_str!("samples/paths.st")),
];
