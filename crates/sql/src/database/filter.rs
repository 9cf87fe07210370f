//! The structure of a condition in SQL: and, or, not. Comparisons belong to the database systems.

use crate::fault::{SqlFault, SqlResult};
use runnel_store::Filter;

/// Conditions may be nested this deep.
pub const FILTER_DEPTH: usize = 100;

/// Conditions that stand side by side without parentheses; more are halved, because SQLite parses a
/// chain as a tree as deep as the chain is long, and bounds the depth.
const MAX_CHAIN: usize = 100;

/// Writes a condition as SQL.
pub(crate) trait FilterWriter {
    /// A condition that every row meets.
    const ALWAYS: &'static str;

    /// A condition that no row meets.
    const NEVER: &'static str;

    /// The text so far.
    fn sql(&mut self) -> &mut String;

    /// Writes a condition that has no conditions within.
    fn comparison(&mut self, filter: &Filter) -> SqlResult<()>;

    fn filter(&mut self, filter: &Filter, depth: usize) -> SqlResult<()> {
        if depth > FILTER_DEPTH {
            return Err(SqlFault::invalid(format!(
                "the condition is nested more than {FILTER_DEPTH} deep"
            )));
        }
        match filter {
            Filter::All(parts) => self.join(parts, " AND ", Self::ALWAYS, depth),
            Filter::Any(parts) => self.join(parts, " OR ", Self::NEVER, depth),
            Filter::Not(inner) => {
                self.sql().push('(');
                self.filter(inner, depth + 1)?;
                self.sql().push_str(" IS NOT TRUE)");
                Ok(())
            }
            comparison => self.comparison(comparison),
        }
    }

    fn join(&mut self, parts: &[Filter], word: &str, empty: &str, depth: usize) -> SqlResult<()> {
        if parts.is_empty() {
            self.sql().push_str(empty);
            return Ok(());
        }
        self.sql().push('(');
        if parts.len() > MAX_CHAIN {
            let (left, right) = parts.split_at(parts.len() / 2);
            self.join(left, word, empty, depth)?;
            self.sql().push_str(word);
            self.join(right, word, empty, depth)?;
        } else {
            for (index, part) in parts.iter().enumerate() {
                if index > 0 {
                    self.sql().push_str(word);
                }
                self.filter(part, depth + 1)?;
            }
        }
        self.sql().push(')');
        Ok(())
    }
}
