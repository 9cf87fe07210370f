//! The compiler on any text: no panic, the lines of the source, and Lua that the engine loads.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mlua::Lua;
use runnel_compile::{Known, compile};
use runnel_syntax::{Severity, parse};

/// A world of a few names, so that short texts are often programs.
struct Few;

impl Known for Few {
    fn is_class(&self, name: &str) -> bool {
        matches!(name, "Object" | "Scheme" | "A")
    }

    fn is_predefined(&self, name: &str) -> bool {
        matches!(name, "stdout" | "out")
    }

    fn is_variable(&self, name: &str) -> bool {
        name.len() == 1 && name.as_bytes()[0].is_ascii_lowercase()
    }

    fn is_scheme(&self, name: &str) -> bool {
        matches!(name, "var" | "this" | "self" | "ref" | "file" | "query" | "f")
    }

    fn instance_variables(&self, class: &str) -> Vec<String> {
        if class == "A" { vec!["x".into()] } else { Vec::new() }
    }

    fn names(&self) -> Vec<String> {
        ["stdout", "out", "Object", "A"].map(String::from).to_vec()
    }

    fn schemes(&self) -> Vec<String> {
        ["var", "this", "file"].map(String::from).to_vec()
    }
}

fuzz_target!(|source: &str| {
    thread_local! {
        static ENGINE: Lua = Lua::new();
    }
    let parsed = parse(source);
    if parsed.diagnostics.iter().any(|one| one.level == Severity::Error) {
        return;
    }
    match compile(&parsed.program, source, &Few) {
        Ok(chunk) => {
            assert!(chunk.lua.lines().count() <= source.lines().count().max(1));
            let loaded = ENGINE.with(|lua| lua.load(&chunk.lua).into_function().map(|_| ()));
            if let Err(error) = loaded {
                panic!("{error}\n{}", chunk.lua);
            }
        }
        Err(diagnostics) => {
            assert!(diagnostics.iter().any(|one| one.level == Severity::Error));
            assert!(diagnostics.iter().all(|one| one.hint.is_some()), "{diagnostics:?}");
        }
    }
});
