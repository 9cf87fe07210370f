//! The query of a reference, `?done=0&sort=-id&limit=10`, as a query over a table.

use crate::fault::{SqlFault, SqlResult};
use percent_encoding::percent_decode_str;
use runnel_store::{Comparison, FieldType, Filter, Query, Sort, Value};

/// Values that a query compares with, together.
pub(crate) const QUERY_VALUES: usize = 100;

/// Names that a query sorts by.
pub(crate) const SORT_NAMES: usize = 10;

/// Reads a query: `name=value` for each column (several of one name mean any of them), `sort` with
/// names separated by commas and `-` before those that go from largest to smallest, `fields`,
/// `limit` and `offset`. The four words are not columns here, even where a table has such.
/// `find` answers the type of a column, or the error that there is none of that name.
pub(crate) fn parse(text: &str, find: impl Fn(&str) -> SqlResult<FieldType>) -> SqlResult<Query> {
    let mut query = Query::default();
    let mut conditions: Vec<(String, Vec<Filter>)> = Vec::new();
    let mut values = 0;
    for pair in text.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let (name, value) = (unescape(name)?, unescape(value)?);
        match name.as_str() {
            "limit" => query.limit = Some(number(&name, &value)?),
            "offset" => query.offset = number(&name, &value)?,
            "fields" => {
                query.fields = once(names(&value), |name| name).map(str::to_string).collect()
            }
            "sort" => {
                query.sort = once(names(&value), |name| name.trim_start_matches('-'))
                    .map(sort_key)
                    .collect();
                if query.sort.len() > SORT_NAMES {
                    return Err(SqlFault::invalid(format!(
                        "sort takes at most {SORT_NAMES} names"
                    )));
                }
            }
            _ => {
                let filter = equal(&name, find(&name)?, &value)?;
                match conditions.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, filters)) if filters.contains(&filter) => continue,
                    Some((_, filters)) => filters.push(filter),
                    None => conditions.push((name, vec![filter])),
                }
                values += 1;
                if values > QUERY_VALUES {
                    let message = format!("a query compares with at most {QUERY_VALUES} values");
                    return Err(SqlFault::invalid(message));
                }
            }
        }
    }
    if !conditions.is_empty() {
        let any = |(_, filters)| Filter::Any(filters);
        query.filter = Some(Filter::All(conditions.into_iter().map(any).collect()));
    }
    Ok(query)
}

/// The items without those that name what an earlier one has named.
fn once<'a>(
    items: impl Iterator<Item = &'a str>,
    name: fn(&str) -> &str,
) -> impl Iterator<Item = &'a str> {
    let mut kept: Vec<&str> = Vec::new();
    for item in items {
        if !kept.iter().any(|one| name(one) == name(item)) {
            kept.push(item);
        }
    }
    kept.into_iter()
}

fn unescape(text: &str) -> SqlResult<String> {
    let spaced = text.replace('+', " ");
    match percent_decode_str(&spaced).decode_utf8() {
        Ok(text) => Ok(text.into_owned()),
        Err(_) => Err(SqlFault::invalid("the query of the reference is not UTF-8")),
    }
}

fn names(value: &str) -> impl Iterator<Item = &str> {
    value.split(',').map(str::trim).filter(|name| !name.is_empty())
}

fn sort_key(name: &str) -> Sort {
    match name.strip_prefix('-') {
        Some(name) => Sort::by_field(name, true),
        None => Sort::by_field(name, false),
    }
}

fn number(name: &str, value: &str) -> SqlResult<u64> {
    value
        .parse()
        .map_err(|_| SqlFault::invalid(format!("{name} is a number from 0 on, not '{value}'")))
}

/// The condition that a column has the value that stands here as text.
fn equal(name: &str, kind: FieldType, text: &str) -> SqlResult<Filter> {
    let is = |value| Filter::Compare(name.to_string(), Comparison::Equal, value);
    let refuse = |what: &str| Err(SqlFault::invalid(format!("{} is {what}, not '{text}'", name)));
    let integer = text.parse::<i64>().ok();
    let is_digits = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-' || byte == b'+');
    let float = text.parse::<f64>().ok().filter(|number| number.is_finite());
    match kind {
        FieldType::Text | FieldType::Decimal | FieldType::Date => {
            Ok(is(Value::Text(text.to_string())))
        }
        // The nearest float of an integer beyond 64 bits is another integer.
        FieldType::Int => match (integer, float.filter(|_| !is_digits).and_then(exact_integer)) {
            (Some(number), _) | (None, Some(number)) => Ok(is(Value::Int(number))),
            _ => refuse("an integer"),
        },
        FieldType::Float => match float {
            Some(number) => Ok(is(Value::Float(number))),
            None => refuse("a number"),
        },
        FieldType::Bool => match text {
            "true" | "1" => Ok(is(Value::Bool(true))),
            "false" | "0" => Ok(is(Value::Bool(false))),
            _ => refuse("true or false"),
        },
        FieldType::Bytes => {
            Err(SqlFault::invalid(format!("{} holds bytes, which a reference cannot name", name)))
        }
        FieldType::Json => {
            Err(SqlFault::invalid(format!("{name} holds JSON, which a reference cannot name")))
        }
        FieldType::Any => {
            let mut either = vec![is(Value::Text(text.to_string()))];
            either.extend(integer.map(|number| is(Value::Int(number))));
            either.extend(float.map(|number| is(Value::Float(number))));
            Ok(Filter::Any(either))
        }
    }
}

/// The integer that a float is, when it is one and of 64 bits.
pub(crate) fn exact_integer(number: f64) -> Option<i64> {
    // 2^63 is a float, i64::MAX is not: hence the open upper end.
    let within = (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&number);
    (within && number.fract() == 0.0).then_some(number as i64)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use runnel_store::Kind;

    fn parse(text: &str) -> SqlResult<Query> {
        super::parse(text, |name| match name {
            "id" => Ok(FieldType::Int),
            "done" => Ok(FieldType::Bool),
            "title" => Ok(FieldType::Text),
            _ => Err(SqlFault::invalid("there is no such column")),
        })
    }

    #[test]
    fn the_usual_query() {
        let query = parse("done=0&limit=10&sort=-id,title&offset=2&fields=id,title").unwrap();
        assert_eq!((query.limit, query.offset), (Some(10), 2));
        assert_eq!(query.fields, ["id", "title"]);
        assert_eq!(query.sort[0], Sort::by_field("id", true));
        let done = Filter::Compare("done".into(), Comparison::Equal, Value::Bool(false));
        assert_eq!(query.filter, Some(Filter::All(vec![Filter::Any(vec![done])])));
    }

    #[test]
    fn what_stands_twice_counts_once() {
        let query = parse(&format!(
            "{}sort={}&fields=id,id",
            "title=a&".repeat(700),
            "-id,id,".repeat(300)
        ));
        let query = query.unwrap();
        let title = Filter::Compare("title".into(), Comparison::Equal, Value::Text("a".into()));
        assert_eq!(query.filter, Some(Filter::All(vec![Filter::Any(vec![title])])));
        assert_eq!(query.sort, [Sort::by_field("id", true)]);
        assert_eq!(query.fields, ["id"]);
    }

    #[test]
    fn values_are_unescaped() {
        let query = parse("title=a%26b+c%2B").unwrap();
        let title =
            Filter::Compare("title".into(), Comparison::Equal, Value::Text("a&b c+".into()));
        assert_eq!(query.filter, Some(Filter::All(vec![Filter::Any(vec![title])])));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        for wrong in [
            "limit=x",
            "limit=-1",
            "offset=",
            "id=seven",
            "id=9223372036854775808",
            "id=-9223372036854775809",
            "id=1.5",
            "done=maybe",
            "nope=1",
            "title=%ff",
            &(0..=QUERY_VALUES).map(|n| format!("title={n}&")).collect::<String>(),
            &format!("sort={}", (0..=SORT_NAMES).map(|n| format!("c{n},")).collect::<String>()),
        ] {
            assert_eq!(parse(wrong).unwrap_err().kind, Kind::Invalid, "{wrong}");
        }
        assert_eq!(parse("").unwrap(), Query::default());
        for right in ["id=-9223372036854775808", "id=3.0", "id=1e3"] {
            assert!(parse(right).is_ok(), "{right}");
        }
    }
}
