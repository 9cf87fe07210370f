//! The tables in which the fields of a query are found: its own, and those of its relations, which are joined.

use crate::database::description::{TableColumn, TableDescription};
use crate::fault::{SqlFault, SqlResult};
use runnel_store::{Query, RelatedElements, RelatedTable, Relation};
use std::borrow::Cow;
use std::fmt::Write;
use std::rc::Rc;

/// Relations of one query: each is a join, and SQLite joins at most 64 tables.
pub const QUERY_RELATIONS: usize = 20;

/// Conditions on related rows within each other. Each has a letter for the names of its tables.
pub const RELATED_DEPTH: usize = 5;

/// The descriptions of the tables of relations, by how the query names them.
pub(crate) type RelatedTables<T> = Vec<(RelatedTable, Rc<T>)>;

/// Finds the tables of the relations, each once.
pub(crate) fn related<T: TableDescription + Clone>(
    query: &Query,
    find: impl Fn(&str) -> SqlResult<Option<Rc<T>>>,
) -> SqlResult<RelatedTables<T>> {
    let mut tables = RelatedTables::new();
    for table in related_names(query) {
        if let Some(found) = find(&table.name)? {
            tables.push((table.clone(), as_seen(table, found)));
        }
    }
    Ok(tables)
}

/// A table with the names of the class that a relation leads to.
pub(crate) fn as_seen<T: TableDescription + Clone>(table: &RelatedTable, found: Rc<T>) -> Rc<T> {
    match found.named(&table.columns) {
        Cow::Borrowed(_) => found.clone(),
        Cow::Owned(named) => Rc::new(named),
    }
}

/// The names of the tables of the relations, each once.
pub(crate) fn related_names(query: &Query) -> Vec<&RelatedTable> {
    let mut names: Vec<&RelatedTable> = query.relations.iter().map(table_of).collect();
    for related in query.related_elements() {
        names.push(&related.table);
        names.extend(related.relations.iter().map(table_of));
    }
    names.sort_unstable();
    names.dedup();
    names
}

fn table_of(relation: &Relation) -> &RelatedTable {
    &relation.table
}

/// Where the fields of a query are.
pub(crate) struct QueryScope<'a, T> {
    pub(crate) table: &'a T,
    others: &'a RelatedTables<T>,
    joined: Vec<JoinedTable<'a, T>>,
    /// Conditions on related rows around this one.
    depth: usize,
    /// Whether the table has an alias, because others are in the statement.
    is_named: bool,
}

struct JoinedTable<'a, T> {
    path: String,
    alias: String,
    table: &'a T,
    /// The condition of the join.
    on: String,
}

/// The first letter of aliases, by the depth of conditions on related rows.
const LETTERS: [char; RELATED_DEPTH + 1] = ['t', 'u', 'v', 'w', 'x', 'y'];

impl<'a, T: TableDescription> QueryScope<'a, T> {
    pub(crate) fn of(table: &'a T, query: &Query, others: &'a RelatedTables<T>) -> SqlResult<Self> {
        let is_named = !query.relations.is_empty() || !query.related_elements().is_empty();
        let scope = QueryScope { table, others, joined: Vec::new(), depth: 0, is_named };
        scope.joining(&query.relations)
    }

    /// The scope of a statement over the table alone.
    pub(crate) fn alone(&self) -> Self {
        let (table, others) = (self.table, self.others);
        QueryScope { table, others, joined: Vec::new(), depth: 0, is_named: false }
    }

    /// The scope of related rows, and the condition that relates them to a row of this one.
    pub(crate) fn within(&self, related: &RelatedElements) -> SqlResult<(Self, String)> {
        let depth = self.depth + 1;
        if depth > RELATED_DEPTH {
            let message =
                format!("conditions on related rows are nested at most {RELATED_DEPTH} deep");
            return Err(SqlFault::invalid(message));
        }
        let (table, others) = (self.other(&related.table)?, self.others);
        let inner = QueryScope { table, others, joined: Vec::new(), depth, is_named: true };
        let inner = inner.joining(&related.relations)?;
        let (_, field) = inner.column(&related.field)?;
        let (_, key) = self.column(&related.key)?;
        Ok((inner, format!("{field} = {key}")))
    }

    fn joining(mut self, relations: &[Relation]) -> SqlResult<Self> {
        if relations.len() > QUERY_RELATIONS {
            let message = format!("a query has at most {QUERY_RELATIONS} relations");
            return Err(SqlFault::invalid(message));
        }
        for relation in relations {
            let table = self.other(&relation.table)?;
            let alias = self.alias(self.joined.len() + 1);
            let key = table.column(&relation.key)?.quoted();
            let (_, from) = self.column(&relation.path)?;
            let on = format!("{alias}.{key} = {from}");
            self.joined.push(JoinedTable { path: relation.path.clone(), alias, table, on });
        }
        Ok(self)
    }

    fn other(&self, table: &RelatedTable) -> SqlResult<&'a T> {
        let named = self.others.iter().find(|(known, _)| known == table);
        let missing = || SqlFault::invalid(format!("there is no table {}", table.name));
        named.map(|(_, other)| other.as_ref()).ok_or_else(missing)
    }

    fn alias(&self, number: usize) -> String {
        format!("{}{number}", LETTERS[self.depth])
    }

    /// The column of a field, and its name in the statement.
    pub(crate) fn column(&self, field: &str) -> SqlResult<(&'a T::Column, String)> {
        if let Some((path, name)) = field.rsplit_once('.')
            && let Some(joined) = self.joined.iter().find(|joined| joined.path == path)
        {
            let column = joined.table.column(name)?;
            return Ok((column, format!("{}.{}", joined.alias, column.quoted())));
        }
        let column = self.table.column(field)?;
        Ok((column, self.own(&column.quoted())))
    }

    /// The name of a column of the own table, or of its row number.
    pub(crate) fn own(&self, quoted_name: &str) -> String {
        match self.is_named {
            true => format!("{}.{quoted_name}", self.alias(0)),
            false => quoted_name.to_string(),
        }
    }

    /// Whether no other table is in the statement.
    pub(crate) fn is_alone(&self) -> bool {
        !self.is_named
    }

    pub(crate) fn is_joined(&self) -> bool {
        !self.joined.is_empty()
    }

    /// What locks the rows of the table, and none of those joined to it.
    pub(crate) fn row_lock(&self) -> String {
        match self.is_alone() {
            true => String::from(" FOR UPDATE"),
            false => format!(" FOR UPDATE OF {}", self.alias(0)),
        }
    }

    /// What stands behind `FROM`.
    pub(crate) fn source(&self) -> String {
        let mut text = self.table.source();
        if self.is_named {
            let _ = write!(text, " AS {}", self.alias(0));
        }
        for joined in &self.joined {
            let (source, alias, on) = (joined.table.source(), &joined.alias, &joined.on);
            let _ = write!(text, " LEFT JOIN {source} AS {alias} ON {on}");
        }
        text
    }
}
