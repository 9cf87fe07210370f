//! What a client of a server may ask of a table in one request.

use crate::fault::{SqlFault, SqlResult};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use runnel_store::{Filter, Query, QueryExpression, ServedLimits};

/// What may not stand between the angle brackets of a link.
const IN_LINK: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'<').add(b'>').add(b'\\');

/// A part of a table's rows that a client gets at once.
pub(crate) struct Page {
    /// The query of the reference with the limit.
    pub(crate) query: String,
    /// The query of the page behind this one.
    pub(crate) next: String,
    /// Asks whether there is a row behind this page.
    pub(crate) behind: Query,
}

/// The page that a client asks for with a query, whose text is given as well.
pub(crate) fn page(text: &str, query: Query, limits: &ServedLimits) -> SqlResult<Page> {
    let most = limits.largest_page;
    let limit = match query.limit {
        Some(asked) if asked > most => {
            return Err(SqlFault::invalid(format!("limit is at most {most}, not {asked}")));
        }
        asked => asked.unwrap_or(most),
    };
    if let Some(filter) = &query.filter {
        admit_filter(filter, limits)?;
    }
    for key in &query.sort {
        let QueryExpression::Field(field) = &key.by else { return Err(computed()) };
        admit(field, limits.sortable.as_deref(), "sorted")?;
    }
    let offset = query.offset.saturating_add(limit);
    let kept = |pair: &&str| !matches!(pair.split('=').next(), Some("" | "limit" | "offset"));
    let mut others = text.split('&').filter(kept).collect::<Vec<_>>().join("&");
    if !others.is_empty() {
        others.push('&');
    }
    let linked = utf8_percent_encode(&others, IN_LINK);
    Ok(Page {
        next: format!("{linked}limit={limit}&offset={offset}"),
        query: format!("{others}limit={limit}&offset={}", query.offset),
        behind: Query {
            filter: query.filter,
            limit: Some(limit.min(1)),
            offset,
            count: true,
            ..Query::default()
        },
    })
}

fn admit_filter(filter: &Filter, limits: &ServedLimits) -> SqlResult<()> {
    match filter {
        Filter::All(parts) | Filter::Any(parts) => {
            parts.iter().try_for_each(|part| admit_filter(part, limits))
        }
        Filter::Not(part) => admit_filter(part, limits),
        Filter::Compare(field, ..)
        | Filter::Prefix(field, _)
        | Filter::Suffix(field, _)
        | Filter::Contains(field, _) => admit(field, limits.filterable.as_deref(), "filtered"),
        Filter::Test(..) | Filter::Match(..) | Filter::FullText(_) | Filter::Exists(_) => {
            Err(computed())
        }
    }
}

fn computed() -> SqlFault {
    SqlFault::invalid("a client filters and sorts by fields alone")
}

fn admit(field: &str, named: Option<&[String]>, what: &str) -> SqlResult<()> {
    let Some(named) = named else { return Ok(()) };
    if named.iter().any(|name| name == field) {
        return Ok(());
    }
    let known = match named {
        [] => "none".to_string(),
        named => named.join(", "),
    };
    Err(SqlFault::invalid(format!("rows cannot be {what} by {field} here, but by: {known}")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::rows::parameters;
    use runnel_store::FieldType;

    fn of(text: &str, limits: &ServedLimits) -> SqlResult<Page> {
        let query = parameters::parse(text, |_| Ok(FieldType::Text))?;
        page(text, query, limits)
    }

    #[test]
    fn the_limit_is_added_and_the_link_goes_on_behind_it() {
        let limits = ServedLimits::default();
        let first = of("", &limits).unwrap();
        assert_eq!(
            (&*first.query, &*first.next),
            ("limit=1000&offset=0", "limit=1000&offset=1000")
        );
        assert_eq!((first.behind.limit, first.behind.offset), (Some(1), 1000));
        let next = of("sort=-a&limit=10&b=%20>x&offset=20", &limits).unwrap();
        assert_eq!(next.query, "sort=-a&b=%20>x&limit=10&offset=20");
        assert_eq!(next.next, "sort=-a&b=%20%3Ex&limit=10&offset=30");
        assert_eq!(of("limit=0", &limits).unwrap().behind.limit, Some(0));
    }

    #[test]
    fn what_the_class_does_not_allow_is_refused() {
        let names = |names: &[&str]| Some(names.iter().map(|name| name.to_string()).collect());
        let limits =
            ServedLimits { largest_page: 5, filterable: names(&["a"]), sortable: names(&[]) };
        assert!(of("a=1&limit=5&fields=c", &limits).is_ok());
        for wrong in ["limit=6", "b=1", "A=1", "a=1&b=2", "sort=a"] {
            assert!(of(wrong, &limits).is_err(), "{wrong}");
        }
    }
}
