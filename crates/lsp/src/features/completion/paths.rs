//! Files and folders below the path of a reference.

use super::items::{ItemKind, Proposals};
use crate::documents::View;
use std::path::PathBuf;

/// Entries of a folder that are read.
const MOST_ENTRIES: usize = 2_000;

/// The entries of a folder that a path names: beside the text, and in the folders of the workspace.
pub(super) fn files(view: &View<'_>, folder: &str, folders: &[PathBuf], found: &mut Proposals<'_>) {
    for base in view.bases(folders) {
        let Ok(entries) = std::fs::read_dir(base.join(folder)) else { continue };
        for entry in entries.take(MOST_ENTRIES).flatten() {
            let Ok(name) = entry.file_name().into_string() else { continue };
            let is_folder = entry.path().is_dir();
            let is_hidden = name.starts_with('.') || name.contains(char::is_whitespace);
            if is_hidden {
                continue;
            }
            match is_folder {
                true => found.add(ItemKind::Folder, &format!("{name}/"), "", "", 1),
                false => found.add(ItemKind::File, &name, "", "", 0),
            }
        }
    }
}
