//! The searches of a query, wherever they stand in it.

use crate::{Filter, FullText, Query};

impl Query {
    /// The search whose rank orders the answer, where the query names no order.
    pub fn ranking(&self) -> Option<&FullText> {
        let is_ordered = !self.sort.is_empty() || self.count || self.is_grouped();
        let filter = self.filter.as_ref().filter(|_| !is_ordered)?;
        required(filter)
    }

    /// Whether a search is among its conditions.
    pub fn has_full_text(&self) -> bool {
        self.filter.iter().chain(&self.having).any(has_full_text)
    }
}

/// The first search that every element of the answer meets.
fn required(filter: &Filter) -> Option<&FullText> {
    match filter {
        Filter::FullText(search) => Some(search),
        Filter::All(parts) => parts.iter().find_map(required),
        _ => None,
    }
}

fn has_full_text(filter: &Filter) -> bool {
    match filter {
        Filter::FullText(_) => true,
        Filter::All(parts) | Filter::Any(parts) => parts.iter().any(has_full_text),
        Filter::Not(inner) => has_full_text(inner),
        _ => false,
    }
}
