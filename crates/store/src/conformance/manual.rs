//! The table of abilities in the manual: what the suite checks is what the page says.

use crate::Conditions;
use crate::conformance::{Abilities, Keeps, Posting};
use std::path::Path;

/// The page with the table.
const PAGE: &str = "../../spec/stores/abilities.md";

impl Abilities {
    /// The row of a store with these abilities in the table of the manual.
    pub fn row(&self, store: &str) -> String {
        let yes = |is: bool| if is { "yes" } else { "no" };
        let kept = match self.keeps {
            Keeps::Values => "values",
            Keeps::Text => "text",
            Keeps::Json => "JSON",
        };
        let posts = match self.posting {
            Posting::Lists => "adds to lists",
            Posting::Appends => "appends",
            Posting::Other => "its own way",
        };
        let conditions = match self.conditions {
            Conditions::None => "no",
            Conditions::Presence => "`create:`",
            Conditions::Tags => "yes",
        };
        format!(
            "| {store} | {kept} | {} | {} | {posts} | {conditions} | {} | {} |",
            yes(self.attributes),
            yes(self.inner_content),
            yes(self.relocation),
            yes(self.watch),
        )
    }

    /// Compares the row of a store with the manual. For the tests of this project's crates.
    ///
    /// # Panics
    /// When the page lacks the row.
    pub fn check_manual(&self, store: &str) {
        let manifest = std::env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        let page = std::fs::read_to_string(Path::new(&manifest).join(PAGE)).unwrap_or_default();
        let row = self.row(store);
        assert!(page.lines().any(|line| line == row), "{PAGE} lacks the row\n{row}");
    }
}
