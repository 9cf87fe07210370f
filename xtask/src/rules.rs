//! The rules. Each looks at the whole project and answers what breaks it.

mod banned;
mod contents;
mod dependencies;
mod kernel;
mod links;
mod proofs;
mod purity;
mod shape;
mod store_methods;
mod unsafe_code;
mod words;

use crate::{Finding, Tree};

/// A rule.
type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: [Rule; 11] = [
    dependencies::check,
    purity::check,
    unsafe_code::check,
    store_methods::check,
    shape::check,
    banned::check,
    contents::check,
    kernel::check,
    words::check,
    links::check,
    proofs::check,
];

/// Checks a project against all rules; the findings are in the order of files and lines.
pub fn tidy(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    findings.sort();
    findings
}
