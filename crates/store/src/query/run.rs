//! Running a query in memory, for stores that cannot do it better.

use crate::query::evaluate;
use crate::{Error, Filter, Kind, Query, TextMatch, Value};
use std::cmp::Ordering;

/// Runs a query over elements: filter, sort, offset, limit, then the fields or the count.
///
/// - A field that an element does not have is nil, and so is every field of something that is no
///   record.
/// - Sorting is stable and follows [`Value::sort_order`]; `descending` turns it round, so that nil
///   comes last.
/// - With `fields` each answer is a record of exactly these, in this order.
/// - With `count` the answer is one integer: how many there are after filter, offset and limit.
/// - Groups stand in the order of their first elements.
///
/// # Errors
/// [`Kind::NotAllowed`] for a query with related elements: other collections cannot be seen from here;
/// for a search; and for a lock.
pub fn run_query(mut elements: Vec<Value>, query: &Query) -> crate::Result<Value> {
    if !query.relations.is_empty() || !query.related_elements().is_empty() {
        let message = "this store knows no related elements";
        return Err(Error::new(Kind::NotAllowed, message));
    }
    if query.has_full_text() {
        let message = "search: needs a table of SQLite or PostgreSQL";
        return Err(Error::new(Kind::NotAllowed, message));
    }
    if query.lock {
        return Err(Error::new(Kind::NotAllowed, "this store locks no elements"));
    }
    if let Some(filter) = &query.filter {
        elements.retain(|element| filter.matches(element));
    }
    if query.is_grouped() {
        elements = evaluate::groups(&elements, query);
    } else if !query.columns.is_empty() {
        // Sorting may need the fields that are not among the columns.
        sort(&mut elements, query);
        elements = elements.iter().map(|one| evaluate::columns(&[one], query)).collect();
    } else if !query.sort.is_empty() {
        sort(&mut elements, query);
    }
    let offset = usize::try_from(query.offset).unwrap_or(usize::MAX).min(elements.len());
    let limit = query.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let left = (elements.len() - offset).min(limit);
    if query.count {
        return Ok(Value::from(left as u64));
    }
    elements.drain(..offset);
    elements.truncate(left);
    if !query.fields.is_empty() {
        for element in &mut elements {
            *element = only_fields(element, &query.fields);
        }
    }
    Ok(Value::List(elements))
}

fn sort(elements: &mut [Value], query: &Query) {
    elements.sort_by(|left, right| in_order(left, right, query));
}

impl Filter {
    /// Whether an element meets the condition.
    pub fn matches(&self, element: &Value) -> bool {
        self.matches_group(&[element])
    }

    /// Whether a group meets the condition; fields are those of its first element.
    pub(crate) fn matches_group(&self, group: &[&Value]) -> bool {
        let nil = Value::Nil;
        let element = group.first().copied().unwrap_or(&nil);
        let text = |name: &str, test: &dyn Fn(&str) -> bool| {
            element.get(name).and_then(Value::as_str).is_some_and(test)
        };
        match self {
            Filter::Compare(name, comparison, value) => {
                comparison.holds(element.get(name).unwrap_or(&Value::Nil), value)
            }
            Filter::Prefix(name, part) => text(name, &|text| text.starts_with(part)),
            Filter::Suffix(name, part) => text(name, &|text| text.ends_with(part)),
            Filter::Contains(name, part) => text(name, &|text| text.contains(part)),
            Filter::Test(left, comparison, right) => {
                comparison.holds(&left.evaluate(group), &right.evaluate(group))
            }
            Filter::Match(text, how, part) => {
                text.evaluate(group).as_str().is_some_and(|text| match how {
                    TextMatch::Prefix => text.starts_with(part),
                    TextMatch::Suffix => text.ends_with(part),
                    TextMatch::Contains => text.contains(part),
                })
            }
            // Refused before: other elements are not seen from here, and words have no index.
            Filter::Exists(_) | Filter::FullText(_) => false,
            Filter::All(filters) => filters.iter().all(|filter| filter.matches_group(group)),
            Filter::Any(filters) => filters.iter().any(|filter| filter.matches_group(group)),
            Filter::Not(filter) => !filter.matches_group(group),
        }
    }
}

fn in_order(left: &Value, right: &Value, query: &Query) -> Ordering {
    let mut order = Ordering::Equal;
    for key in &query.sort {
        order = key.by.evaluate(&[left]).sort_order(&key.by.evaluate(&[right]));
        if order != Ordering::Equal {
            return if key.descending { order.reverse() } else { order };
        }
    }
    order
}

fn only_fields(element: &Value, names: &[String]) -> Value {
    let mut answer = Vec::with_capacity(names.len());
    for name in names {
        answer.push((name.clone(), element.get(name).cloned().unwrap_or_default()));
    }
    Value::Record(answer)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Comparison, Sort};

    fn tasks() -> Vec<Value> {
        let task = |id: i64, title: &str, done: bool| {
            Value::record([("id", id.into()), ("title", title.into()), ("done", done.into())])
        };
        vec![task(1, "clean", false), task(2, "check", true), task(3, "cook", false)]
    }

    fn ids(value: &Value) -> Vec<i64> {
        value
            .as_list()
            .unwrap()
            .iter()
            .map(|task| task.get("id").unwrap().as_i64().unwrap())
            .collect()
    }

    fn sort(field: &str, descending: bool) -> Sort {
        Sort::by_field(field, descending)
    }

    #[test]
    fn filters() {
        let check = |filter: Filter, expected: &[i64]| {
            let query = Query { filter: Some(filter), ..Query::default() };
            assert_eq!(ids(&run_query(tasks(), &query).unwrap()), expected, "{query:?}");
        };
        let open = Filter::Compare("done".into(), Comparison::Equal, Value::Int(0));
        check(open.clone(), &[1, 3]);
        check(Filter::Not(Box::new(open.clone())), &[2]);
        check(Filter::Prefix("title".into(), "c".into()), &[1, 2, 3]);
        check(Filter::Suffix("title".into(), "k".into()), &[2, 3]);
        check(Filter::Contains("title".into(), "oo".into()), &[3]);
        check(Filter::Contains("id".into(), "1".into()), &[]);
        let cook = Filter::Prefix("title".into(), "co".into());
        check(Filter::All(vec![open.clone(), cook.clone()]), &[3]);
        check(Filter::Any(vec![Filter::Not(Box::new(open)), cook]), &[2, 3]);
        check(Filter::Compare("missing".into(), Comparison::Equal, Value::Nil), &[1, 2, 3]);
    }

    #[test]
    fn order_offset_and_limit() {
        let query =
            Query { sort: vec![sort("done", true), sort("title", false)], ..Query::default() };
        assert_eq!(ids(&run_query(tasks(), &query).unwrap()), [2, 1, 3]);
        let query = Query { sort: vec![sort("id", true)], offset: 1, limit: Some(1), ..query };
        assert_eq!(ids(&run_query(tasks(), &query).unwrap()), [2]);
        let query = Query { offset: 9, ..query };
        assert_eq!(run_query(tasks(), &query).unwrap(), Value::List(vec![]));
    }

    #[test]
    fn fields_and_count() {
        let query =
            Query { fields: vec!["title".into(), "x".into()], limit: Some(1), ..Query::default() };
        let expected = Value::record([("title", Value::from("clean")), ("x", Value::Nil)]);
        assert_eq!(run_query(tasks(), &query).unwrap(), Value::List(vec![expected]));
        let query = Query { count: true, limit: Some(2), ..Query::default() };
        assert_eq!(run_query(tasks(), &query).unwrap(), Value::Int(2));
        assert_eq!(
            run_query(tasks(), &Query { offset: 2, limit: None, ..query }).unwrap(),
            Value::Int(1)
        );
    }
}
