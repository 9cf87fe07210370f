//! The dependencies of a `Cargo.toml`, read line by line.
//!
//! Only what this project writes is understood: one dependency a line. A dependency in a table of
//! its own (`[dependencies.name]`) is reported by the rule that reads it.

/// Where a dependency is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    /// `[workspace.dependencies]`
    Workspace,
    /// `[dependencies]`, also of a target.
    Normal,
    /// `[dev-dependencies]` or `[build-dependencies]`
    Development,
}

/// A line of a table of dependencies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) section: Section,
    pub(crate) name: String,
    /// What stands after `=`, without the comment.
    pub(crate) value: String,
    /// The comment at the end of the line.
    pub(crate) comment: String,
    pub(crate) line: usize,
    /// It has a table of its own, which is not read.
    pub(crate) own_table: bool,
}

impl Dependency {
    /// Whether version and features come from the root manifest.
    pub(crate) fn is_from_workspace(&self) -> bool {
        self.value.replace(' ', "").contains("workspace=true")
    }

    /// Whether it is a crate of this project.
    pub(crate) fn is_ours(&self) -> bool {
        self.name.starts_with("runnel-")
    }
}

/// The dependencies of a manifest, in order.
pub(crate) fn dependencies(manifest: &str) -> Vec<Dependency> {
    let mut found = Vec::new();
    let mut section = None;
    for (number, line) in manifest.lines().enumerate() {
        let line = line.trim();
        if let Some(table) = line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = table_section(table);
            if section.is_none()
                && let Some((table, name)) = table.rsplit_once('.')
                && let Some(section) = table_section(table)
            {
                found.push(Dependency {
                    section,
                    name: name.into(),
                    value: String::new(),
                    comment: String::new(),
                    line: number + 1,
                    own_table: true,
                });
            }
            continue;
        }
        let (Some(section), Some((name, value))) = (section, line.split_once('=')) else {
            continue;
        };
        if line.starts_with('#') {
            continue;
        }
        let (value, comment) = split_comment(value);
        let (name, value) = match name.trim().split_once('.') {
            Some((name, key)) => (name, format!("{key} = {value}")),
            None => (name.trim(), value.to_string()),
        };
        found.push(Dependency {
            section,
            name: name.into(),
            value,
            comment: comment.into(),
            line: number + 1,
            own_table: false,
        });
    }
    found
}

fn table_section(table: &str) -> Option<Section> {
    match table {
        "workspace.dependencies" => Some(Section::Workspace),
        "dependencies" => Some(Section::Normal),
        "dev-dependencies" | "build-dependencies" => Some(Section::Development),
        table if table.starts_with("target.") && table.ends_with(".dependencies") => {
            Some(Section::Normal)
        }
        _ => None,
    }
}

/// Splits at the `#` that is not in a text.
fn split_comment(value: &str) -> (&str, &str) {
    let mut in_text = false;
    for (at, c) in value.char_indices() {
        match c {
            '"' => in_text = !in_text,
            '#' if !in_text => return (value[..at].trim(), value[at + 1..].trim()),
            _ => {}
        }
    }
    (value.trim(), "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_read_with_their_comments() {
        let manifest = "[package]\nname = \"a\"\n\n[dependencies]\nb.workspace = true\n\
            # c = 1\nd = { version = \"1#\", features = [\"x\"] } # why\n\n\
            [lints]\nworkspace = true\n";
        let list = dependencies(manifest);
        let names: Vec<_> = list.iter().map(|one| (one.name.as_str(), one.line)).collect();
        assert_eq!(names, [("b", 5), ("d", 7)]);
        assert!(list[0].is_from_workspace());
        assert!(!list[1].is_from_workspace());
        assert_eq!(list[1].comment, "why");
    }

    #[test]
    fn tables_of_their_own_are_seen() {
        let list = dependencies("[dependencies.a]\nversion = \"1\"\n");
        assert_eq!((list.len(), list[0].own_table, list[0].name.as_str()), (1, true, "a"));
    }
}
