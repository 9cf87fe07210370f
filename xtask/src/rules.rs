//! The rules. Each looks at the whole project and answers what breaks it.

mod banned;
mod circles;
mod contents;
mod dependencies;
mod guides;
mod house;
mod kernel;
mod links;
mod machines;
mod proofs;
mod purity;
mod shape;
mod store_methods;
mod unsafe_code;

use crate::{Finding, Tree};

/// A rule.
type Rule = fn(&Tree) -> Vec<Finding>;

const RULES: [Rule; 14] = [
    dependencies::check,
    purity::check,
    unsafe_code::check,
    store_methods::check,
    shape::check,
    banned::check,
    contents::check,
    machines::check,
    kernel::check,
    links::check,
    proofs::check,
    circles::check,
    house::check,
    guides::check,
];

/// Checks a project against all rules; the findings are in the order of files and lines.
pub fn tidy(tree: &Tree) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(tree)).collect();
    findings.sort();
    findings
}
