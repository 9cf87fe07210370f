//! Changes, by whomever they are made: LISTEN and NOTIFY (the manual's pages of the same names).
//!
//! A table that is watched gets triggers, one for each statement that changes rows, which notify
//! the channel `runnel` of the table and the keys. One connection of the worker listens for all its
//! watchers. When it breaks, a new one replaces it, and every watcher gets a `lost`.

use crate::database::constraint::{Dialect, literal};
use crate::postgres::connection::client::{PostgresConnection, PostgresServer, Wire, beside};
use crate::postgres::connection::tls::Tls;
use crate::postgres::fault::{self, SqlFault, SqlResult};
use crate::postgres::schema::catalog::SCHEMA_LOCK;
use crate::postgres::schema::catalog::{TableInfo, quoted};
use crate::postgres::schema::read_catalog::field;
use crate::postgres::value::parameter::Parameter;
use futures_util::stream;
use runnel_store::{Change, Changes, Error, Kind, Reference, Value, WAITING_CHANGES, json};
use std::collections::VecDeque;
use std::future::poll_fn;
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;
use tokio::sync::Notify;
use tokio_postgres::{AsyncMessage, Client, Config};

/// A statement that changes more rows than this is reported as one loss: watchers then read again.
pub const POSTGRES_TOLD_ROWS: u32 = 256;

/// The most watchers of one database and worker.
pub const POSTGRES_WATCHERS: usize = 4096;

/// How often a silent listening connection is checked.
const TRY_TIME: Duration = Duration::from_secs(20);

/// How long it is waited before connecting again: doubled from the first to the second.
const AGAIN: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(5));

/// The function behind the triggers. The names of keys come as arguments of the trigger; what has
/// none, or is larger than a notification may be (8,000 bytes), is reported without its key.
fn function() -> String {
    format!(
        r#"CREATE OR REPLACE FUNCTION runnel_notify() RETURNS trigger LANGUAGE plpgsql AS $runnel$
DECLARE
    many bigint := 0;
    one record;
BEGIN
    IF TG_OP = 'INSERT' OR TG_OP = 'UPDATE' THEN
        SELECT count(*) INTO many FROM runnel_new;
    ELSIF TG_OP = 'DELETE' THEN
        SELECT count(*) INTO many FROM runnel_old;
    END IF;
    IF TG_OP <> 'TRUNCATE' AND many = 0 THEN
        RETURN NULL;
    END IF;
    IF TG_OP = 'TRUNCATE' OR many > {POSTGRES_TOLD_ROWS} OR TG_NARGS = 0 THEN
        PERFORM pg_notify('runnel', json_build_array('lost', TG_TABLE_SCHEMA, TG_TABLE_NAME)::text);
        RETURN NULL;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        FOR one IN SELECT to_jsonb(o) ->> TG_ARGV[0] AS key FROM runnel_old o LOOP
            IF TG_OP = 'UPDATE' THEN
                PERFORM 1 FROM runnel_new n WHERE to_jsonb(n) ->> TG_ARGV[0] = one.key;
                CONTINUE WHEN FOUND;
            END IF;
            PERFORM runnel_tell('deleted', TG_TABLE_SCHEMA, TG_TABLE_NAME, one.key);
        END LOOP;
    END IF;
    IF TG_OP <> 'DELETE' THEN
        FOR one IN SELECT to_jsonb(n) ->> TG_ARGV[0] AS key FROM runnel_new n LOOP
            PERFORM runnel_tell('changed', TG_TABLE_SCHEMA, TG_TABLE_NAME, one.key);
        END LOOP;
    END IF;
    RETURN NULL;
END $runnel$"#
    )
}

/// Reports one row; a key that is too long is left out.
const TELL: &str = "\
CREATE OR REPLACE FUNCTION runnel_tell(what text, schema name, relation name, key text) \
RETURNS void LANGUAGE sql AS $runnel$ SELECT pg_notify('runnel', CASE WHEN length(key) > 1000 \
THEN json_build_array('lost', schema, relation)::text \
ELSE json_build_array(what, schema, relation, key)::text END) $runnel$";

/// Makes the triggers of a table, where they are not there.
pub(crate) async fn install(connection: &PostgresConnection, table: &TableInfo) -> SqlResult<()> {
    if table.view {
        let message = format!("{} is a view; watch the tables it is made of", table.name);
        return Err(SqlFault::new(Kind::NotAllowed, message));
    }
    let there = "SELECT count(*) FROM pg_trigger WHERE tgrelid = to_regclass($1) \
                 AND tgname LIKE 'runnel\\_%' AND NOT tgisinternal";
    let count = async || {
        let rows = connection.all(there, &[Parameter::text(table.sql.clone())]).await?;
        rows.first().map_or(Ok(0_i64), |row| field(row, 0))
    };
    if count().await? >= 4 {
        return Ok(());
    }
    connection.set_entered(true);
    connection.batch(&format!("BEGIN; SELECT pg_advisory_xact_lock({SCHEMA_LOCK})")).await?;
    let done = match count().await {
        Ok(4..) => Ok(()),
        Ok(_) => connection.batch(&triggers(table)).await,
        Err(fault) => Err(fault),
    };
    connection.batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" }).await?;
    connection.set_entered(false);
    done.map_err(|fault| SqlFault {
        message: format!("the triggers that tell of changes cannot be made: {}", fault.message),
        ..fault
    })
}

fn triggers(table: &TableInfo) -> String {
    let argument = table.key().map_or(String::new(), |key| literal(&key.column, Dialect::Postgres));
    let mut statements = vec![TELL.to_string(), function()];
    for (event, tables) in [
        ("INSERT", "REFERENCING NEW TABLE AS runnel_new"),
        ("UPDATE", "REFERENCING OLD TABLE AS runnel_old NEW TABLE AS runnel_new"),
        ("DELETE", "REFERENCING OLD TABLE AS runnel_old"),
        ("TRUNCATE", ""),
    ] {
        let name = quoted(&format!("runnel_{}", event.to_lowercase()));
        let sql = &table.sql;
        statements.push(format!("DROP TRIGGER IF EXISTS {name} ON {sql}"));
        statements.push(format!(
            "CREATE TRIGGER {name} AFTER {event} ON {sql} {tables} FOR EACH STATEMENT \
             EXECUTE FUNCTION runnel_notify({argument})"
        ));
    }
    statements.join("; ")
}

/// The scope of a watch.
#[derive(Clone)]
pub(crate) struct WatchScope {
    pub(crate) schema: String,
    pub(crate) table: String,
    /// The prefix of keys in the references of changes: `tasks/`.
    pub(crate) prefix: String,
    /// One row, and those below it where keys are paths.
    pub(crate) key: Option<String>,
}

impl WatchScope {
    /// Whether a row of the table is in it: at its key, or below, where keys are paths.
    fn has(&self, key: Option<&str>) -> bool {
        let (Some(key), Some(own)) = (key, &self.key) else { return true };
        key.strip_prefix(own.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// One watcher.
struct PostgresWatcher {
    scope: WatchScope,
    state: Mutex<WaitingChanges>,
    wake: Notify,
}

#[derive(Default)]
struct WaitingChanges {
    changes: VecDeque<(RowEvent, Option<String>)>,
    lost: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum RowEvent {
    Changed,
    Deleted,
    Lost,
}

/// All watchers of a database within a worker, and the connection that hears for them.
pub(crate) struct PostgresListener {
    server: Rc<PostgresServer>,
    shared: Arc<WatcherList>,
    starting: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct WatcherList {
    watchers: Mutex<Vec<Weak<PostgresWatcher>>>,
    state: Mutex<ListenState>,
    heard: Notify,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum ListenState {
    /// No connection listens.
    #[default]
    Off,
    /// The connection listens.
    On,
    /// It broke and is being made again.
    Again,
}

/// Everything that connecting needs, for a task beside the worker.
struct ListenTarget {
    config: Config,
    tls: Tls,
    place: String,
    limit: Duration,
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PostgresListener {
    pub(crate) fn new(server: &Rc<PostgresServer>) -> Self {
        PostgresListener {
            server: server.clone(),
            shared: Arc::default(),
            starting: tokio::sync::Mutex::new(()),
        }
    }

    /// The changes of a scope from now on.
    pub(crate) async fn watch(&self, scope: WatchScope) -> SqlResult<Changes> {
        let watcher =
            Arc::new(PostgresWatcher { scope, state: Mutex::default(), wake: Notify::new() });
        {
            let mut watchers = locked(&self.shared.watchers);
            watchers.retain(|one| one.strong_count() > 0);
            if watchers.len() >= POSTGRES_WATCHERS {
                let message = format!("there are {POSTGRES_WATCHERS} watchers already");
                return Err(SqlFault::new(Kind::Unavailable, message));
            }
            watchers.push(Arc::downgrade(&watcher));
        }
        self.listen().await?;
        Ok(Box::pin(stream::unfold(watcher, |watcher| async {
            let change = watcher.next().await;
            Some((Ok(change), watcher))
        })))
    }

    /// Starts listening, unless a connection listens already.
    async fn listen(&self) -> SqlResult<()> {
        let _one = self.starting.lock().await;
        loop {
            let heard = self.shared.heard.notified();
            let state = *locked(&self.shared.state);
            match state {
                ListenState::On => return Ok(()),
                ListenState::Again => heard.await,
                ListenState::Off => break,
            }
        }
        let options = &self.server.options;
        let dial = ListenTarget {
            config: self.server.address.config.clone(),
            tls: self.server.tls.clone(),
            place: self.server.place().to_string(),
            limit: options.connect_time,
        };
        let (client, driver) = dial.listen(&self.shared).await?;
        *locked(&self.shared.state) = ListenState::On;
        beside(keep(dial, self.shared.clone(), client, driver));
        Ok(())
    }
}

type Driver = tokio::task::JoinHandle<()>;

impl ListenTarget {
    async fn listen(&self, shared: &Arc<WatcherList>) -> SqlResult<(Client, Driver)> {
        let connecting = async {
            let connected = self.config.connect(self.tls.clone()).await;
            let (client, wire) =
                connected.map_err(|error| fault::from_driver(&error, &self.place))?;
            let Some(driver) = beside(drive(wire, shared.clone())) else {
                return Err(SqlFault::new(Kind::Failed, "there is no event loop here"));
            };
            match client.batch_execute("LISTEN runnel").await {
                Ok(()) => Ok((client, driver)),
                Err(error) => {
                    driver.abort();
                    Err(fault::from_driver(&error, &self.place))
                }
            }
        };
        match tokio::time::timeout(self.limit, connecting).await {
            Ok(done) => done,
            Err(_) => Err(fault::late(&self.place, self.limit)),
        }
    }
}

/// Moves the wire along and hands on what is heard.
async fn drive(mut wire: Wire, shared: Arc<WatcherList>) {
    while let Some(Ok(message)) = poll_fn(|context| wire.poll_message(context)).await {
        if let AsyncMessage::Notification(notification) = message
            && notification.channel() == "runnel"
        {
            shared.hear(notification.payload());
        }
    }
}

/// Keeps listening as long as there are watchers, with a new connection when one breaks.
async fn keep(
    dial: ListenTarget,
    shared: Arc<WatcherList>,
    mut client: Client,
    mut driver: Driver,
) {
    loop {
        wait_until_broken(&shared, &client, &mut driver).await;
        driver.abort();
        if shared.end_when_idle() {
            return;
        }
        tracing::debug!(place = dial.place, "the listening connection broke");
        // Watchers hear now that they are blind, and again when they see.
        shared.everyone_lost();
        let mut pause = AGAIN.0;
        (client, driver) = loop {
            tokio::time::sleep(pause).await;
            if shared.end_when_idle() {
                return;
            }
            match dial.listen(&shared).await {
                Ok(pair) => break pair,
                Err(fault) => tracing::debug!(place = dial.place, ?fault, "still not listening"),
            }
            pause = (pause * 2).min(AGAIN.1);
        };
        *locked(&shared.state) = ListenState::On;
        shared.everyone_lost();
        shared.heard.notify_waiters();
    }
}

/// Checks periodically that the server answers and that there are watchers.
async fn wait_until_broken(shared: &WatcherList, client: &Client, driver: &mut Driver) {
    loop {
        tokio::select! {
            _ = &mut *driver => break,
            () = tokio::time::sleep(TRY_TIME) => {
                let asked = tokio::time::timeout(TRY_TIME, client.simple_query(""));
                if shared.is_idle() || !matches!(asked.await, Ok(Ok(_))) {
                    break;
                }
            }
        }
    }
    *locked(&shared.state) = ListenState::Again;
}

impl WatcherList {
    fn is_idle(&self) -> bool {
        locked(&self.watchers).iter().all(|watcher| watcher.strong_count() == 0)
    }

    /// Ends listening when there are no watchers left.
    fn end_when_idle(&self) -> bool {
        let idle = self.is_idle();
        if idle {
            *locked(&self.state) = ListenState::Off;
            self.heard.notify_waiters();
        }
        idle
    }

    fn watchers(&self) -> Vec<Arc<PostgresWatcher>> {
        locked(&self.watchers).iter().filter_map(Weak::upgrade).collect()
    }

    fn everyone_lost(&self) {
        for watcher in self.watchers() {
            watcher.publish(RowEvent::Lost, None);
        }
    }

    /// `["changed","public","tasks","7"]`
    fn hear(&self, payload: &str) {
        let Ok(Value::List(parts)) = json::parse(payload.as_bytes()) else { return };
        let part = |at: usize| parts.get(at).and_then(Value::as_str);
        let (Some(what), Some(schema), Some(table)) = (part(0), part(1), part(2)) else { return };
        let told = match what {
            "changed" => RowEvent::Changed,
            "deleted" => RowEvent::Deleted,
            _ => RowEvent::Lost,
        };
        let key = part(3);
        for watcher in self.watchers() {
            let scope = &watcher.scope;
            if scope.schema == schema && scope.table == table && scope.has(key) {
                let told = if key.is_none() { RowEvent::Lost } else { told };
                watcher.publish(told, key.map(str::to_string));
            }
        }
    }
}

impl PostgresWatcher {
    fn publish(&self, told: RowEvent, key: Option<String>) {
        let mut state = locked(&self.state);
        if told == RowEvent::Lost || state.changes.len() >= WAITING_CHANGES {
            // Reading again makes up for all that waits.
            state.changes.clear();
            state.lost = true;
        } else {
            state.changes.push_back((told, key));
        }
        drop(state);
        self.wake.notify_one();
    }

    async fn next(&self) -> Change {
        loop {
            let woken = self.wake.notified();
            let found = {
                let mut state = locked(&self.state);
                match std::mem::take(&mut state.lost) {
                    true => Some((RowEvent::Lost, None)),
                    false => state.changes.pop_front(),
                }
            };
            if let Some((told, key)) = found {
                return self.change(told, key);
            }
            woken.await;
        }
    }

    fn change(&self, told: RowEvent, key: Option<String>) -> Change {
        let scope = &self.scope;
        let key = key.or_else(|| scope.key.clone()).unwrap_or_default();
        let path = match key.is_empty() {
            true => scope.prefix.trim_end_matches('/').to_string(),
            false => format!("{}{key}", scope.prefix),
        };
        let reference = Reference::from_path(path);
        match told {
            RowEvent::Changed => Change::changed(reference),
            RowEvent::Deleted => Change::deleted(reference),
            RowEvent::Lost => Change::lost(reference),
        }
    }
}

/// The fault of a scope that cannot be watched.
pub(crate) fn whole_database() -> Error {
    Error::new(Kind::NotAllowed, "watch one of the tables, and not the database as a whole")
}
