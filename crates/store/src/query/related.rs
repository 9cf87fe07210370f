//! The related elements that a query asks for, wherever they stand in it.

use crate::{Filter, Query, QueryExpression, RelatedElements};

impl Query {
    /// The related elements of its conditions and expressions, and those within their conditions.
    pub fn related_elements(&self) -> Vec<&RelatedElements> {
        let mut found = Vec::new();
        for filter in self.filter.iter().chain(&self.having) {
            in_filter(filter, &mut found);
        }
        let sorts = self.sort.iter().map(|key| &key.by);
        let columns = self.columns.iter().map(|(_, by)| by);
        for expression in sorts.chain(columns).chain(&self.group) {
            in_expression(expression, &mut found);
        }
        found
    }
}

fn in_filter<'a>(filter: &'a Filter, found: &mut Vec<&'a RelatedElements>) {
    match filter {
        Filter::All(parts) | Filter::Any(parts) => {
            parts.iter().for_each(|part| in_filter(part, found));
        }
        Filter::Not(inner) => in_filter(inner, found),
        Filter::Test(left, _, right) => {
            in_expression(left, found);
            in_expression(right, found);
        }
        Filter::Match(text, ..) => in_expression(text, found),
        Filter::Exists(related) => in_related(related, found),
        Filter::Compare(..)
        | Filter::Prefix(..)
        | Filter::Suffix(..)
        | Filter::Contains(..)
        | Filter::FullText(_) => {}
    }
}

fn in_expression<'a>(expression: &'a QueryExpression, found: &mut Vec<&'a RelatedElements>) {
    match expression {
        QueryExpression::Arithmetic(_, left, right) => {
            in_expression(left, found);
            in_expression(right, found);
        }
        QueryExpression::Text(_, inner) | QueryExpression::Aggregate(_, inner) => {
            in_expression(inner, found);
        }
        QueryExpression::OfRelated(related, inner) => {
            in_related(related, found);
            in_expression(inner, found);
        }
        QueryExpression::Field(_) | QueryExpression::Value(_) | QueryExpression::Count => {}
    }
}

fn in_related<'a>(related: &'a RelatedElements, found: &mut Vec<&'a RelatedElements>) {
    found.push(related);
    if let Some(filter) = &related.filter {
        in_filter(filter, found);
    }
}
