//! What a page promises is proved: by an example that runs, or by a test or a constant that it names.
//!
//! Behind a sentence that no example of a page can show stands, unseen by readers, what proves it:
//!
//! ```text
//! <!-- proved by crates/app/tests/it/robustness.rs nesting_and_length_have_limits -->
//! <!-- proved by crates/store/src/copy.rs DEEPEST = 64, MOST = 10,000,000; crates/… -->
//! ```
//!
//! A name alone is a test, which has to exist. A name with a figure is a constant, or `Type.field` of
//! a default: the code must say the same figure, and so must the text above the comment.

use crate::constant::{figure, same, value};
use crate::{File, Finding, Tree};

/// How such a comment begins.
const OPENING: &str = "<!-- proved by";

/// Checks all Markdown pages.
pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for page in tree.ending(".md") {
        let text = without_fences(page);
        for (at, _) in text.match_indices(OPENING) {
            let line = text[..at].matches('\n').count() + 1;
            let said = text[at + OPENING.len()..].split("-->").next().unwrap_or("");
            for reason in wrong(tree, said, above(&text[..at])) {
                findings.push(Finding::new(&page.path, line, "proof", reason));
            }
        }
    }
    findings
}

/// What is wrong with the proofs of one comment, behind a text.
fn wrong(tree: &Tree, said: &str, above: &str) -> Vec<String> {
    let mut reasons = Vec::new();
    let above = plain(above);
    for group in said.split(';') {
        let group = group.split_whitespace().collect::<Vec<_>>().join(" ");
        let (path, names) = group.split_once(' ').unwrap_or((&group, ""));
        let Some(file) = tree.file(path) else {
            reasons.push(format!("`{path}` does not exist"));
            continue;
        };
        reasons.extend(names.split(", ").filter_map(|name| fault(file, name, &above)));
    }
    reasons
}

/// What is wrong with one name of a file: a test, or a constant with its figure.
fn fault(file: &File, item: &str, above: &str) -> Option<String> {
    let Some((name, written)) = item.split_once(" = ") else {
        let missing = format!("{} has no test `{item}`", file.path);
        return (!is_test(&file.text, item)).then_some(missing);
    };
    let Some(wanted) = figure(written) else {
        return Some(format!("`{written}` is no figure such as `8,192`, `16 MiB` or `10 s`"));
    };
    let Some(value) = value(&file.text, name) else {
        return Some(format!("{} has no constant `{name}` that can be computed", file.path));
    };
    if !same(value, wanted) {
        return Some(format!("`{name}` of {} is {value}, not {written}", file.path));
    }
    (!contains_figure(above, written)).then(|| format!("the text above does not say {written}"))
}

/// Whether a test of that name is there, and not ignored.
fn is_test(source: &str, name: &str) -> bool {
    let Some(at) = source.find(&format!("fn {name}(")) else { return false };
    let before: Vec<&str> = source[..at].lines().rev().take(4).collect();
    let attribute = |word: &str| before.iter().any(|line| line.trim_start().starts_with(word));
    (attribute("#[test") || attribute("#[tokio::test")) && !attribute("#[ignore")
}

/// Whether a figure stands in a text, and not as a part of a longer number.
fn contains_figure(text: &str, figure: &str) -> bool {
    text.match_indices(figure).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let mut after = text[at + figure.len()..].chars();
        let (next, second) = (after.next(), after.next());
        let digit = |c: Option<char>| c.is_some_and(|c| c.is_ascii_digit());
        let goes_on = next.is_some_and(|c| c.is_alphanumeric())
            || matches!(next, Some(',' | '.')) && digit(second);
        !digit(before) && !matches!(before, Some(',' | '.')) && !goes_on
    })
}

/// The paragraph, list or table that ends a text.
fn above(text: &str) -> &str {
    let text = text.trim_end();
    text.rfind("\n\n").map_or(text, |at| &text[at..])
}

/// A text on one line, without marks of code.
fn plain(text: &str) -> String {
    text.replace('`', "").split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A page whose fenced blocks are blank lines.
fn without_fences(page: &File) -> String {
    let mut inside = false;
    let lines = page.lines().map(|(_, line)| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        if inside || fence { "" } else { line }
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "const MOST: u64 = 64 << 10;\n#[test]\nfn it_holds() {}\n\
        #[test]\n#[ignore = \"slow\"]\nfn it_waits() {}\nfn helper() {}\n";

    fn reasons(page: &str) -> Vec<String> {
        let tree = Tree::of(&[("spec/a.md", page), ("crates/a.rs", CODE)]);
        check(&tree).into_iter().map(|one| one.reason).collect()
    }

    #[test]
    fn what_is_proved_is_accepted() {
        let page = "At most 64 KiB.\n<!-- proved by crates/a.rs it_holds, MOST = 64 KiB -->\n\n\
            | a | `65,536` |\n\n<!-- proved by crates/a.rs MOST = 65,536;\n   crates/a.rs it_holds -->\n\
            ```\n<!-- proved by nothing -->\n```\n";
        assert_eq!(reasons(page), Vec::<String>::new());
    }

    #[test]
    fn a_test_has_to_exist_and_to_run() {
        let page = "It holds.\n<!-- proved by crates/a.rs it_hold -->\n\
            <!-- proved by crates/a.rs it_waits, helper -->\n<!-- proved by crates/b.rs x -->\n";
        assert_eq!(reasons(page).len(), 4, "{:?}", reasons(page));
    }

    #[test]
    fn a_figure_is_that_of_the_code_and_of_the_text() {
        let of = |text: &str, proof: &str| {
            reasons(&format!("{text}\n<!-- proved by crates/a.rs {proof} -->\n"))
        };
        assert_eq!(of("64 KiB", "MOST = 64 KiB"), Vec::<String>::new());
        assert_eq!(of("65 KiB", "MOST = 65 KiB"), ["`MOST` of crates/a.rs is 65536, not 65 KiB"]);
        assert_eq!(of("64 MiB", "MOST = 64 KiB"), ["the text above does not say 64 KiB"]);
        assert_eq!(of("164 KiB", "MOST = 64 KiB"), ["the text above does not say 64 KiB"]);
        assert_eq!(of("65,536,000", "MOST = 65,536"), ["the text above does not say 65,536"]);
        assert_eq!(of("x", "LEAST = 1").len(), 1);
        assert_eq!(of("x", "MOST = many").len(), 1);
    }
}
