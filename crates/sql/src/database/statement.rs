//! The statements of queries, the same for all database systems but for the words that their writers know.

use crate::database::constraint::Dialect;
use crate::database::description::{TableColumn, TableDescription, quoted};
use crate::database::expression::{ExpressionWriter, WrittenExpression};
use crate::database::full_text::{SearchSql, search_text, words_of, words_table};
use crate::database::scope::QueryScope;
use crate::fault::{SqlFault, SqlResult};
use runnel_store::{
    BulkChange, FieldType, FullText, Query, QueryExpression, RelatedElements, Value,
};
use std::fmt::Write;

/// Writes the parts of a query over a table.
pub(crate) trait QueryWriter<'a>: ExpressionWriter {
    type Table: TableDescription + 'a;

    fn scope(&self) -> &QueryScope<'a, Self::Table>;

    /// Puts another scope in the place of the present one, and answers that.
    fn change_scope(&mut self, scope: QueryScope<'a, Self::Table>) -> QueryScope<'a, Self::Table>;

    /// See [`ExpressionWriter::subquery`].
    fn write_subquery(
        &mut self,
        related: &RelatedElements,
        aggregate: Option<&QueryExpression>,
    ) -> SqlResult<WrittenExpression> {
        let (scope, relating) = self.scope().within(related)?;
        let outside = self.change_scope(scope);
        let text = std::mem::take(self.sql());
        let written = self.write_within(related, aggregate, &relating);
        *self.sql() = text;
        self.change_scope(outside);
        written
    }

    fn write_within(
        &mut self,
        related: &RelatedElements,
        aggregate: Option<&QueryExpression>,
        relating: &str,
    ) -> SqlResult<WrittenExpression> {
        let shown = match aggregate {
            Some(aggregate) => self.expression(aggregate)?,
            None => WrittenExpression { sql: "1".into(), kind: FieldType::Int },
        };
        let source = self.scope().source();
        let mut sql = format!("SELECT {} FROM {source} WHERE {relating}", shown.sql);
        sql.push_str(&self.condition("AND", related.filter.as_ref())?);
        Ok(WrittenExpression { sql, kind: shown.kind })
    }

    /// The order of the rows that the table itself has, by names of columns.
    fn own_order(&self) -> Vec<String>;

    /// What stands in `ORDER BY` for an expression, with nil as the least.
    fn order_keys(&mut self, by: &QueryExpression, descending: bool) -> SqlResult<Vec<String>>;

    /// The least of a name from [`QueryWriter::own_order`] in a group.
    fn first_of(&self, name: &str) -> String;

    /// A search of the table, with its text bound.
    fn searched(&mut self, search: &FullText) -> SqlResult<SearchSql> {
        let text = Value::from(search_text(Self::DIALECT, search));
        let text = self.constant(&text, Some(FieldType::Text))?.sql;
        let scope = self.scope();
        Ok(match Self::DIALECT {
            Dialect::Sqlite => {
                let [key] = scope.table.key_positions()[..] else {
                    return Err(scope.table.no_key());
                };
                let key = scope.own(&scope.table.columns()[key].quoted());
                SearchSql::Sqlite { key, found: quoted(&words_table(scope.table.name())), text }
            }
            Dialect::Postgres => {
                let column = |field: &String| Ok(scope.column(field)?.1);
                let columns: SqlResult<Vec<String>> = search.fields.iter().map(column).collect();
                SearchSql::Postgres { words: words_of(&columns?), text }
            }
        })
    }

    /// What addresses a row that has no key.
    const ROW: &'static str;

    /// The condition behind a word; nothing where there is none.
    fn condition(
        &mut self,
        word: &str,
        filter: Option<&runnel_store::Filter>,
    ) -> SqlResult<String> {
        let Some(filter) = filter else { return Ok(String::new()) };
        self.sql().clear();
        self.filter(filter, 0)?;
        Ok(format!(" {word} {}", std::mem::take(self.sql())))
    }

    /// The computed columns with their kinds.
    fn computed(&mut self, query: &Query) -> SqlResult<Vec<(String, WrittenExpression)>> {
        let columns = query.columns.iter();
        columns.map(|(name, by)| Ok((name.clone(), self.expression(by)?))).collect()
    }

    /// The keys of the order: those asked for, then the table's own, so that every order is definite. Groups
    /// stand in the order of their first rows.
    fn order(&mut self, query: &Query) -> SqlResult<String> {
        let mut keys = Vec::new();
        for key in &query.sort {
            keys.extend(self.order_keys(&key.by, key.descending)?);
        }
        if let Some(search) = query.ranking() {
            keys.push(self.searched(search)?.rank());
        }
        let own = self.own_order();
        match (query.is_grouped(), own.as_slice()) {
            (false, _) => keys.extend(own.iter().map(|name| self.scope().own(name))),
            (true, _) if query.group.is_empty() => {}
            (true, [single]) => keys.push(self.first_of(&self.scope().own(single))),
            (true, _) => {
                for by in &query.group {
                    keys.extend(self.order_keys(by, false)?);
                }
            }
        }
        Ok(match keys.is_empty() {
            true => String::new(),
            false => format!(" ORDER BY {}", keys.join(", ")),
        })
    }

    /// `GROUP BY` and `HAVING`. Constants cannot be grouped by: the number would be that of a column.
    fn grouping(&mut self, query: &Query) -> SqlResult<String> {
        let mut text = String::new();
        for (index, by) in query.group.iter().enumerate() {
            if matches!(by, QueryExpression::Value(_)) {
                return Err(SqlFault::invalid("groups are made by a field, not by a constant"));
            }
            let by = self.group_key(by)?;
            let _ = write!(text, "{}{by}", if index == 0 { " GROUP BY " } else { ", " });
        }
        text.push_str(&self.condition("HAVING", query.having.as_ref())?);
        Ok(text)
    }

    /// A key of groups: equal decimals are one group, however they are written.
    fn group_key(&mut self, by: &QueryExpression) -> SqlResult<String>;

    /// The statement that deletes or changes all rows that the query selects.
    fn change(&mut self, query: &Query, change: &BulkChange) -> SqlResult<String> {
        let table = self.scope().table;
        let source = table.source();
        let mut sql = match change {
            BulkChange::Delete => format!("DELETE FROM {source}"),
            BulkChange::Set(fields) => {
                // The row that is changed has no alias.
                let alone = self.scope().alone();
                let scope = self.change_scope(alone);
                let mut sets = Vec::new();
                for (name, value) in fields {
                    sets.push(self.assignment(table, name, value)?);
                }
                self.change_scope(scope);
                format!("UPDATE {source} SET {}", sets.join(", "))
            }
        };
        let condition = self.condition("WHERE", query.filter.as_ref())?;
        if self.scope().is_alone() && query.limit.is_none() {
            sql.push_str(&condition);
            return Ok(sql);
        }
        let keys = table.key_positions();
        let names: Vec<String> = keys.iter().map(|at| table.columns()[*at].quoted()).collect();
        let mut chosen = format!("{}{condition}", self.scope().source());
        if let Some(limit) = query.limit {
            let _ = write!(chosen, "{} LIMIT {limit}", self.order(query)?);
        }
        let (row, scope) = (Self::ROW, self.scope());
        let _ = if query.limit.is_some() && matches!(Self::DIALECT, Dialect::Postgres) {
            // An array is computed once, whatever the plan is. What another transaction takes is left to it.
            let (own, lock) = (scope.own(row), scope.row_lock());
            write!(sql, " WHERE {row} = ANY(ARRAY(SELECT {own} FROM {chosen}{lock} SKIP LOCKED))")
        } else {
            let names = if names.is_empty() { vec![row.to_string()] } else { names };
            let own: Vec<String> = names.iter().map(|name| scope.own(name)).collect();
            let (names, own) = (names.join(", "), own.join(", "));
            write!(sql, " WHERE ({names}) IN (SELECT {own} FROM {chosen})")
        };
        Ok(sql)
    }

    /// The names of the columns that a change answers; none for the number of rows.
    fn returned(&self, query: &Query) -> SqlResult<Vec<String>> {
        let table = self.scope().table;
        if query.fields.iter().any(|name| name == "*") {
            let shown = table.columns().iter().filter(|column| column.is_shown());
            return Ok(shown.map(|column| column.name().to_string()).collect());
        }
        let name = |name: &String| Ok(table.column(name)?.name().to_string());
        query.fields.iter().map(name).collect()
    }

    fn assignment(
        &mut self,
        table: &'a Self::Table,
        name: &str,
        value: &QueryExpression,
    ) -> SqlResult<String> {
        let position = table.find(name)?;
        let column = &table.columns()[position];
        let name = column.name();
        if table.key_positions().contains(&position) {
            let message = format!("{name} is a key of {}, which a row keeps", table.name());
            return Err(SqlFault::invalid(message));
        }
        if column.is_generated() {
            let message = format!("{name} is computed from other columns and cannot be stored");
            return Err(SqlFault::invalid(message));
        }
        let quoted = column.quoted();
        if let QueryExpression::Value(value) = value {
            return Ok(format!("{quoted} = {}", self.stored(position, value)?));
        }
        let (written, kind) = (self.expression(value)?, self.kind(position));
        let fits = written.kind == kind
            || kind == FieldType::Any
            || (kind == FieldType::Float && written.kind == FieldType::Int)
            || (kind == FieldType::Decimal && written.kind == FieldType::Int);
        if !fits {
            let message = format!("{name} of {} cannot hold what is computed for it", table.name());
            return Err(SqlFault::invalid(message));
        }
        Ok(format!("{quoted} = {}", self.converted(position, written.sql)))
    }

    /// A value bound for a column of the table.
    fn stored(&mut self, position: usize, value: &runnel_store::Value) -> SqlResult<String>;

    /// An expression as the type of a column that holds what the expression answers in another form.
    fn converted(&self, _position: usize, sql: String) -> String {
        sql
    }

    /// What a column of the table holds.
    fn kind(&self, position: usize) -> FieldType;
}
