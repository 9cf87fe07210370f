//! What is made of a table's description once: its statements, and those of queries.

use crate::database::description::TableDescription;
use crate::database::scope::RelatedTables;
use crate::rows::parameters;
use crate::sqlite::fault::SqlResult;
use crate::sqlite::read::select::{SqliteSelect, translate};
use crate::sqlite::schema::catalog::TableInfo;
use crate::sqlite::write::change::WriteTarget;
use runnel_store::Query;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::sync::Arc;

/// Queries of references that a table remembers the statements of.
const QUERIES: usize = 64;

/// Queries of programs that a table remembers the statements of.
const TRANSLATED: usize = 16;

/// The longest query of a reference that is remembered, in bytes.
const QUERY_LENGTH: usize = 1024;

/// What was made of the table's description, while that does not change.
pub(crate) struct TablePlan {
    pub(crate) target: Arc<WriteTarget>,
    pub(crate) all: Arc<SqliteSelect>,
    /// The statements of queries that references had.
    queries: RefCell<FxHashMap<Box<str>, Arc<SqliteSelect>>>,
    /// The statements of queries that a program ran, the latest last.
    translated: RefCell<Vec<(Query, Arc<SqliteSelect>)>>,
}

impl TablePlan {
    pub(crate) fn new(info: TableInfo) -> SqlResult<Self> {
        let all = Arc::new(translate(&info, &Query::default(), &Vec::new())?);
        let target = Arc::new(WriteTarget::new(info));
        let (queries, translated) = (RefCell::default(), RefCell::default());
        Ok(TablePlan { target, all, queries, translated })
    }

    /// The statement for a query of a program: its handlers ask the same few again and again.
    pub(crate) fn translated(
        &self,
        query: &Query,
        find: impl FnOnce() -> SqlResult<RelatedTables<TableInfo>>,
    ) -> SqlResult<Arc<SqliteSelect>> {
        let mut translated = self.translated.borrow_mut();
        if let Some((_, known)) = translated.iter().rev().find(|(known, _)| known == query) {
            return Ok(known.clone());
        }
        let select = Arc::new(translate(&self.target.info, query, &find()?)?);
        if translated.len() >= TRANSLATED {
            translated.remove(0);
        }
        translated.push((query.clone(), select.clone()));
        Ok(select)
    }

    /// The statement for the query of a reference.
    pub(crate) fn select(&self, query: &str) -> SqlResult<Arc<SqliteSelect>> {
        if let Some(known) = self.queries.borrow().get(query) {
            return Ok(known.clone());
        }
        let info = &self.target.info;
        let parsed = parameters::parse(query, |name| Ok(info.column(name)?.kind))?;
        let select = Arc::new(translate(info, &parsed, &Vec::new())?);
        if query.len() <= QUERY_LENGTH {
            let mut queries = self.queries.borrow_mut();
            if queries.len() >= QUERIES {
                queries.clear();
            }
            queries.insert(query.into(), select.clone());
        }
        Ok(select)
    }
}
