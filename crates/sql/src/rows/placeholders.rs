//! The parameters of a statement that a program writes: `?`, `?1` or `$1`, and `:name`, the same for every database
//! system.
//!
//! Values are always bound. What stands in texts, quoted names and comments is no parameter, and a statement uses one
//! way of the three: with numbers in it, `?` is an operator of PostgreSQL and `:name` is left as it is.

use crate::database::constraint::Dialect;
use crate::fault::{SqlFault, SqlResult};
use runnel_store::Value;

#[derive(Debug, PartialEq)]
enum StatementPiece<'a> {
    Text(&'a str),
    /// `?`
    Bare,
    /// `?1`, `$1`
    Number(&'a str),
    /// `:name`
    Name(&'a str),
}

/// The statement with the parameters that the system knows, and their values in order. Values by name come as
/// one record.
pub(crate) fn bind(
    sql: &str,
    parameters: Vec<Value>,
    dialect: Dialect,
) -> SqlResult<(String, Vec<Value>)> {
    if !sql.contains(['?', '$', ':']) {
        return Ok((sql.to_string(), parameters));
    }
    let pieces = pieces(sql, dialect);
    let sign = if dialect == Dialect::Sqlite { '?' } else { '$' };
    let is_numbered = pieces.iter().any(|piece| matches!(piece, StatementPiece::Number(_)));
    let named = match parameters.as_slice() {
        [Value::Record(fields)] if !is_numbered => Some(fields),
        _ => None,
    };
    let is_named =
        named.is_some() && pieces.iter().any(|piece| matches!(piece, StatementPiece::Name(_)));
    let is_bare = !is_numbered && !is_named && !parameters.is_empty();
    let (mut text, mut names, mut count) = (String::with_capacity(sql.len() + 8), Vec::new(), 0);
    for piece in &pieces {
        match piece {
            StatementPiece::Text(part) => text.push_str(part),
            StatementPiece::Number(digits) => {
                text.push(sign);
                text.push_str(digits);
            }
            StatementPiece::Bare if is_bare => {
                count += 1;
                text.push_str(&format!("{sign}{count}"));
            }
            StatementPiece::Bare => text.push('?'),
            StatementPiece::Name(name) if is_named => {
                let known = names.iter().position(|known| known == name);
                let place = known.unwrap_or_else(|| {
                    names.push(*name);
                    names.len() - 1
                });
                text.push_str(&format!("{sign}{}", place + 1));
            }
            StatementPiece::Name(name) => {
                text.push(':');
                text.push_str(name);
            }
        }
    }
    match named.filter(|_| is_named) {
        Some(fields) => values(fields, &names).map(|values| (text, values)),
        None => Ok((text, parameters)),
    }
}

/// The values of names, each of which the statement has.
fn values(fields: &[(String, Value)], names: &[&str]) -> SqlResult<Vec<Value>> {
    if let Some((name, _)) = fields.iter().find(|(name, _)| !names.contains(&name.as_str())) {
        return Err(SqlFault::invalid(format!("the statement has no parameter :{name}")));
    }
    let value = |name: &&str| {
        let field = fields.iter().find(|(known, _)| known == name);
        let message = || SqlFault::invalid(format!("the parameter :{name} has no value"));
        field.map(|(_, value)| value.clone()).ok_or_else(message)
    };
    names.iter().map(value).collect()
}

fn pieces(sql: &str, dialect: Dialect) -> Vec<StatementPiece<'_>> {
    let (mut pieces, mut rest) = (Vec::new(), sql);
    let mut before = ' ';
    while let Some(at) = rest.find(['?', '$', ':', '\'', '"', '`', '[', '-', '/']) {
        let (text, from) = rest.split_at(at);
        pieces.push(StatementPiece::Text(text));
        before = text.chars().next_back().unwrap_or(before);
        let (piece, length) = piece(from, before, dialect);
        pieces.push(piece);
        before = from[..length].chars().next_back().unwrap_or(before);
        rest = &from[length..];
    }
    pieces.push(StatementPiece::Text(rest));
    pieces
}

/// The piece at the beginning of a text, and its length.
fn piece(from: &str, before: char, dialect: Dialect) -> (StatementPiece<'_>, usize) {
    let part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    let run =
        |is: &dyn Fn(char) -> bool| 1 + from[1..].find(|c: char| !is(c)).unwrap_or(from.len() - 1);
    let digits = run(&|c| c.is_ascii_digit());
    let next = from[1..].chars().next();
    match from.as_bytes()[0] {
        b'?' | b'$' if digits > 1 && !part(before) => {
            (StatementPiece::Number(&from[1..digits]), digits)
        }
        b'?' if !matches!(next, Some('?' | '|' | '&')) && before != '?' => {
            (StatementPiece::Bare, 1)
        }
        b':' if before != ':' && next.is_some_and(|c| c.is_alphabetic() || c == '_') => {
            let end = run(&|c| c.is_alphanumeric() || c == '_');
            (StatementPiece::Name(&from[1..end]), end)
        }
        _ => {
            let length = quoted_length(from, before, dialect);
            (StatementPiece::Text(&from[..length]), length)
        }
    }
}

/// The length of the literal, the quoted name or the comment that begins here, or 1.
fn quoted_length(text: &str, before: char, dialect: Dialect) -> usize {
    let sqlite = dialect == Dialect::Sqlite;
    let end = match text.as_bytes()[0] {
        b'-' if text.starts_with("--") => "\n",
        b'/' if text.starts_with("/*") => "*/",
        b'[' if sqlite => "]",
        // A doubled quote ends one literal and begins the next.
        b'\'' => "'",
        b'"' => "\"",
        b'`' if sqlite => "`",
        // `$tag$ … $tag$`
        b'$' if !(sqlite || before.is_alphanumeric() || before == '_') => {
            let word = |c: char| c.is_alphanumeric() || c == '_';
            let tag = 1 + text[1..].find(|c: char| !word(c)).unwrap_or(text.len() - 1);
            if !text[tag..].starts_with('$') {
                return 1;
            }
            let tag = &text[..=tag];
            let end = text[tag.len()..].find(tag);
            return end.map_or(text.len(), |at| at + 2 * tag.len());
        }
        _ => return 1,
    };
    let start = if end.len() == 2 || text.starts_with("--") { 2 } else { 1 };
    text[start..].find(end).map_or(text.len(), |at| start + at + end.len())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn bound(sql: &str, parameters: Vec<Value>, dialect: Dialect) -> String {
        let (text, values) = bind(sql, parameters, dialect).unwrap();
        let values: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
        format!("{text} <- {}", values.join(" "))
    }

    #[test]
    fn all_three_ways_are_the_same_for_both() {
        let two = || vec![Value::Int(1), Value::Int(2)];
        let record = || vec![Value::record([("b", 2.into()), ("a", 1.into())])];
        for (written, values, run) in [
            ("select ?, ?", two(), "select ?1, ?2 <- Int(1) Int(2)"),
            ("select $2, $1", two(), "select ?2, ?1 <- Int(1) Int(2)"),
            ("select ?2, ?1", two(), "select ?2, ?1 <- Int(1) Int(2)"),
            ("select :a, :b, :a", record(), "select ?1, ?2, ?1 <- Int(1) Int(2)"),
            (
                "select '?', \"$1\" -- :a\n, ?",
                two(),
                "select '?', \"$1\" -- :a\n, ?1 <- Int(1) Int(2)",
            ),
            (
                "select 'it''s :a' /* ? */ ||:a || :b",
                record(),
                "select 'it''s :a' /* ? */ ||?1 || ?2 <- Int(1) Int(2)",
            ),
            ("select 8 / 2 - $1", vec![], "select 8 / 2 - ?1 <- "),
            ("select ? :x", vec![], "select ? :x <- "),
        ] {
            assert_eq!(bound(written, values.clone(), Dialect::Sqlite), run, "{written}");
            let run = run.replace("?1", "$1").replace("?2", "$2");
            assert_eq!(bound(written, values, Dialect::Postgres), run, "{written}");
        }
    }

    #[test]
    fn operators_of_a_system_stay() {
        for (written, dialect, run) in [
            (
                "select a::text, b ? $1, c ?| $2",
                Dialect::Postgres,
                "select a::text, b ? $1, c ?| $2",
            ),
            (
                "select a[$1], $$ ? :a $$, $x$ $1 $x$",
                Dialect::Postgres,
                "select a[$1], $$ ? :a $$, $x$ $1 $x$",
            ),
            ("select [a?], `b:c`, ?", Dialect::Sqlite, "select [a?], `b:c`, ?1"),
        ] {
            let (text, _) = bind(written, vec![Value::Int(1)], dialect).unwrap();
            assert_eq!(text, run);
        }
    }

    #[test]
    fn names_without_values_are_refused() {
        let record = || vec![Value::record([("a", 1.into())])];
        let fault = bind("select :a, :b", record(), Dialect::Sqlite).unwrap_err();
        assert!(fault.message.contains(":b has no value"), "{fault:?}");
        let more = vec![Value::record([("a", 1.into()), ("c", 2.into())])];
        let fault = bind("select :a", more, Dialect::Postgres).unwrap_err();
        assert!(fault.message.contains("no parameter :c"), "{fault:?}");
    }
}
