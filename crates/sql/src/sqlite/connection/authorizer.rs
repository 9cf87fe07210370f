//! What statements of a program may do on the writer's connection.

use crate::sqlite::connection::database_file::is_allowed;
use crate::sqlite::fault::SqlResult;
use rusqlite::Connection;
use rusqlite::hooks::{AuthContext, Authorization};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Refuses, while it is on, what would change the connection or end the transaction under everyone
/// else. Outside of transactions statements are prepared on a reading connection first, which
/// decides the same; within one they may name tables that only the writer sees.
#[derive(Clone)]
pub(crate) struct WriteAuthorizer(Arc<AtomicBool>);

impl WriteAuthorizer {
    pub(crate) fn install(connection: &mut Connection) -> SqlResult<Self> {
        let guard = WriteAuthorizer(Arc::default());
        let on = guard.0.clone();
        let authorize = move |context: AuthContext<'_>| {
            let free = !on.load(Ordering::Relaxed) || is_allowed(&context.action);
            if free { Authorization::Allow } else { Authorization::Deny }
        };
        connection.authorizer(Some(authorize))?;
        Ok(guard)
    }

    /// Does something with the guard on.
    pub(crate) fn during<T>(&self, work: impl FnOnce() -> T) -> T {
        self.0.store(true, Ordering::Relaxed);
        let done = work();
        self.0.store(false, Ordering::Relaxed);
        done
    }
}
