//! The tables in which the fields of a query are found: its own, and those of its relations, which are joined.

use crate::database::description::{TableColumn, TableDescription, quoted};
use crate::fault::{SqlFault, SqlResult};
use runnel_store::{Query, Relation};
use std::fmt::Write;
use std::rc::Rc;

/// Relations of one query: each is a join, and SQLite joins at most 64 tables.
pub const QUERY_RELATIONS: usize = 20;

/// The descriptions of the tables of relations, by the names that the query gives them.
pub(crate) type RelatedTables<T> = Vec<(String, Rc<T>)>;

/// Finds the tables of the relations, each once.
pub(crate) fn related<T>(
    query: &Query,
    find: impl Fn(&str) -> SqlResult<Option<Rc<T>>>,
) -> SqlResult<RelatedTables<T>> {
    let mut tables = RelatedTables::new();
    for name in related_names(query) {
        if let Some(table) = find(name)? {
            tables.push((name.to_string(), table));
        }
    }
    Ok(tables)
}

/// The names of the tables of the relations, each once.
pub(crate) fn related_names(query: &Query) -> Vec<&str> {
    let mut names: Vec<&str> = Vec::new();
    for relation in &query.relations {
        if !names.contains(&relation.table.as_str()) {
            names.push(&relation.table);
        }
    }
    names
}

/// Where the fields of a query are.
pub(crate) struct QueryScope<'a, T> {
    pub(crate) table: &'a T,
    joined: Vec<JoinedTable<'a, T>>,
}

struct JoinedTable<'a, T> {
    path: &'a str,
    alias: String,
    table: &'a T,
    /// The condition of the join.
    on: String,
}

/// The alias of the query's own table, where others are joined.
pub(crate) const OWN: &str = "t0";

impl<'a, T: TableDescription> QueryScope<'a, T> {
    pub(crate) fn of(
        table: &'a T,
        relations: &'a [Relation],
        others: &'a RelatedTables<T>,
    ) -> SqlResult<Self> {
        if relations.len() > QUERY_RELATIONS {
            let message = format!("a query has at most {QUERY_RELATIONS} relations");
            return Err(SqlFault::invalid(message));
        }
        let mut scope = QueryScope { table, joined: Vec::new() };
        let is_joined = !relations.is_empty();
        for relation in relations {
            let named = others.iter().find(|(name, _)| *name == relation.table);
            let (_, other) = named.ok_or_else(|| {
                SqlFault::invalid(format!("there is no table {}", relation.table))
            })?;
            let alias = format!("t{}", scope.joined.len() + 1);
            let key = quoted(other.column(&relation.key)?.name());
            let (_, from) = scope.find(&relation.path, is_joined)?;
            let on = format!("{alias}.{key} = {from}");
            scope.joined.push(JoinedTable { path: &relation.path, alias, table: other, on });
        }
        Ok(scope)
    }

    /// The column of a field, and its name in the statement.
    pub(crate) fn column(&self, field: &str) -> SqlResult<(&'a T::Column, String)> {
        self.find(field, !self.joined.is_empty())
    }

    fn find(&self, field: &str, is_joined: bool) -> SqlResult<(&'a T::Column, String)> {
        if let Some((path, name)) = field.rsplit_once('.')
            && let Some(joined) = self.joined.iter().find(|joined| joined.path == path)
        {
            let column = joined.table.column(name)?;
            return Ok((column, format!("{}.{}", joined.alias, quoted(column.name()))));
        }
        let column = self.table.column(field)?;
        let name = quoted(column.name());
        Ok((column, if is_joined { format!("{OWN}.{name}") } else { name }))
    }

    /// The name of a column of the own table, or of its row number.
    pub(crate) fn own(&self, quoted_name: &str) -> String {
        match self.joined.is_empty() {
            true => quoted_name.to_string(),
            false => format!("{OWN}.{quoted_name}"),
        }
    }

    pub(crate) fn is_alone(&self) -> bool {
        self.joined.is_empty()
    }

    /// What locks the rows of the table, and none of those joined to it.
    pub(crate) fn row_lock(&self) -> String {
        match self.joined.is_empty() {
            true => String::from(" FOR UPDATE"),
            false => format!(" FOR UPDATE OF {OWN}"),
        }
    }

    /// What stands behind `FROM`.
    pub(crate) fn source(&self) -> String {
        let mut text = self.table.source();
        if self.joined.is_empty() {
            return text;
        }
        let _ = write!(text, " AS {OWN}");
        for joined in &self.joined {
            let (source, alias, on) = (joined.table.source(), &joined.alias, &joined.on);
            let _ = write!(text, " LEFT JOIN {source} AS {alias} ON {on}");
        }
        text
    }
}
