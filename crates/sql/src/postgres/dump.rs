//! The rows of tables as text: one snapshot for each table.

use crate::database::schema::MIGRATIONS;
use crate::postgres::connection::client::PostgresConnection;
use crate::postgres::connection::session::Repeat;
use crate::postgres::fault::{SqlFault, SqlResult};
use crate::postgres::query::rows::{RowFeed, values};
use crate::postgres::query::select::translate;
use crate::postgres::schema::catalog::TableInfo;
use crate::postgres::worker_database::WorkerDatabase;
use crate::rows::columns::ResultColumns;
use crate::rows::dump::{DumpColumns, DumpWriter};
use bytes::Bytes;
use futures_util::stream;
use runnel_store::{ByteStream, Context, Error, Kind, Query};
use std::collections::VecDeque;
use std::rc::Rc;
use tokio_postgres::Row;

/// The size of one piece of the text, in bytes.
const PIECE: usize = 64 << 10;

/// The rows of these tables, or of all.
pub(crate) fn dump(
    core: &Rc<WorkerDatabase>,
    tables: Vec<String>,
    context: &Context,
) -> ByteStream {
    let names = (!tables.is_empty()).then(|| tables.into());
    let (core, context) = (core.clone(), context.clone());
    let state = TableDump { core, context, names, current: None, writer: DumpWriter::default() };
    Box::pin(stream::try_unfold(Some(state), async |state| {
        let Some(mut state) = state else { return Ok::<_, Error>(None) };
        let mut out = Vec::with_capacity(2 * PIECE);
        let more = state.fill(&mut out).await?;
        Ok(Some((Bytes::from(out), more.then_some(state))))
    }))
}

/// A dump on its way.
struct TableDump {
    core: Rc<WorkerDatabase>,
    context: Context,
    /// The tables to come; not known yet where all are wanted.
    names: Option<VecDeque<String>>,
    current: Option<(String, RowFeed)>,
    writer: DumpWriter,
}

impl TableDump {
    /// Appends the next part. Answers whether there is more.
    async fn fill(&mut self, out: &mut Vec<u8>) -> SqlResult<bool> {
        while out.len() < PIECE {
            if let Some((name, feed)) = &mut self.current {
                let writer = &mut self.writer;
                let mut write = |columns: &ResultColumns, row: &Row, _, out: &mut Vec<u8>| {
                    writer.row(name, values(columns, row), out)
                };
                if feed.fill_with(&mut write, out, PIECE).await? {
                    continue;
                }
                self.current = None;
            }
            match self.next_name().await? {
                Some(name) => self.begin(name, out).await?,
                None => {
                    self.writer.end(out);
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    async fn next_name(&mut self) -> SqlResult<Option<String>> {
        if self.names.is_none() {
            self.names = Some(self.all().await?);
        }
        Ok(self.names.as_mut().and_then(VecDeque::pop_front))
    }

    /// All tables with rows of programs, and no views.
    async fn all(&self) -> SqlResult<VecDeque<String>> {
        let session = self.core.session(&self.context);
        let listing = async |connection: &PostgresConnection| TableInfo::names(connection).await;
        let names = session.run(Repeat::Yes, listing).await?;
        let mut tables = VecDeque::new();
        for name in names.into_iter().filter(|name| name != MIGRATIONS) {
            let info = self.core.look(&session, &name).await?;
            if info.is_some_and(|info| !info.view && info.refuse_key_value().is_ok()) {
                tables.push_back(name);
            }
        }
        Ok(tables)
    }

    async fn begin(&mut self, name: String, out: &mut Vec<u8>) -> SqlResult<()> {
        let session = self.core.session(&self.context);
        let missing = || SqlFault::new(Kind::NotFound, format!("there is no table {name}"));
        let info = self.core.look(&session, &name).await?.ok_or_else(missing)?;
        info.refuse_key_value()?;
        let shown = info.shown();
        let columns: DumpColumns = shown
            .iter()
            .filter(|column| !column.generated)
            .map(|column| (column.name.clone(), column.holds.kind()))
            .collect();
        let fields = columns.iter().map(|(name, _)| name.clone()).collect();
        let select = translate(&info, &Query { fields, ..Query::default() }, &Vec::new())?;
        self.writer.table(&name, &columns, out);
        self.current = Some((name, RowFeed::new(session, select)));
        Ok(())
    }
}
