//! The manual has every combinator and every option, with its default.

use runnel_store::combinators;
use std::path::Path;

const PAGES: [&str; 7] = [
    "stores/combinators.md",
    "stores/caching.md",
    "stores/retry-and-limits.md",
    "stores/changes.md",
    "stores/shards.md",
    "server/files.md",
    "server/guards.md",
];

/// Units of sizes in tables, and as definitions write them.
const UNITS: [(&str, &str); 3] = [(" KiB", " KB"), (" MiB", " MB"), (" GiB", " GB")];

fn pages() -> String {
    let manual = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec");
    PAGES.map(|page| std::fs::read_to_string(manual.join(page)).unwrap()).concat()
}

/// The default in the last cell of a row, as definitions write it: `65,536` is `65536`, and what
/// follows a semicolon or a comma is prose.
fn default(cell: &str) -> String {
    let mut text = cell.trim().trim_matches('`').to_string();
    while let Some(at) =
        text.find(',').filter(|at| text[at + 1..].starts_with(|digit: char| digit.is_ascii_digit()))
    {
        text.remove(at);
    }
    let text = text.split([';', ',']).next().unwrap_or_default().trim();
    let unit = UNITS.iter().find_map(|(unit, own)| Some((text.strip_suffix(unit)?, own)));
    unit.map_or_else(|| text.to_string(), |(number, own)| format!("{number}{own}"))
}

#[test]
fn every_combinator_and_option_is_in_the_manual() {
    let pages = pages();
    let mut faults = Vec::new();
    for definition in combinators() {
        let class = definition.class;
        if !pages.contains(&format!("`{class}`")) {
            faults.push(format!("{class} is in no table of spec/stores/combinators.md"));
        }
        for info in definition.infos() {
            let name = info.name;
            if ![format!("`{name}`"), format!("{name}:")].iter().any(|text| pages.contains(text)) {
                faults.push(format!("{class}: the manual lacks the option `{name}`"));
            }
            let heads = [format!("| `{name}` |"), format!("| `{name}:` |")];
            let rows = pages.lines().filter(|line| heads.iter().any(|head| line.starts_with(head)));
            let cells: Vec<Vec<String>> =
                rows.map(|row| row.split('|').map(default).collect()).collect();
            if let Some(known) = &info.default
                && !cells.is_empty()
                && !cells.iter().flatten().any(|cell| cell == known)
            {
                faults.push(format!("{class}: the default of `{name}` is {known}: {cells:?}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn every_file_of_a_combinator_is_a_module() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/combine");
    for room in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        let Ok(files) = std::fs::read_dir(&room) else { continue };
        let list = std::fs::read_to_string(room.with_extension("rs")).unwrap();
        for file in files.map(|entry| entry.unwrap().path()) {
            let name = file.file_stem().unwrap().to_string_lossy().into_owned();
            let is_module = list.contains(&format!("mod {name};"));
            assert!(is_module, "{} is in no `mod` of {}", file.display(), room.display());
        }
    }
}

#[test]
fn names_of_classes_and_options_are_used_once() {
    let mut names = Vec::new();
    for definition in combinators() {
        names.push(definition.class);
        names.extend(definition.aliases);
        let mut options: Vec<_> = definition.infos().iter().map(|info| info.name).collect();
        options.extend(definition.infos().iter().flat_map(|info| info.former));
        let count = options.len();
        options.sort_unstable();
        options.dedup();
        assert_eq!(options.len(), count, "{}", definition.class);
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
