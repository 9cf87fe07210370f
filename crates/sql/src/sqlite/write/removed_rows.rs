//! Removed rows: deleted, replaced by a `REPLACE` that conflicts with them, or moved to another row
//! number or key.
//!
//! SQLite's update hook omits the last two and has only the row number of the first; the pre-update
//! hook sees what the row still holds (<https://sqlite.org/c3ref/preupdate_blobwrite.html>). The
//! library that calls SQLite declares it only in builds that generate their bindings, so the
//! declarations stand here; `.cargo/config.toml` builds SQLite with the hook.

#![allow(unsafe_code)]

use rusqlite::{Connection, ffi};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::marker::PhantomData;
use std::sync::Arc;

/// The listener for removed rows. It is called while a statement runs, so it must not use the
/// connection.
pub(crate) type Listener = Box<dyn Fn(&Before<'_>) + Send + Sync>;

/// A row before it changes or is removed, for the duration of the call of the listener.
pub(crate) struct Before<'a> {
    connection: *mut ffi::sqlite3,
    /// The table's name as it is declared.
    pub(crate) table: &'a str,
    /// The number that it has, 0 in tables without row numbers.
    pub(crate) row: i64,
    /// Whether no row has this number afterwards.
    pub(crate) gone: bool,
    during: PhantomData<&'a ()>,
}

// SAFETY: the type is that of the declaration in SQLite's header.
type Hook = unsafe extern "C" fn(
    *mut c_void,
    *mut ffi::sqlite3,
    c_int,
    *const c_char,
    *const c_char,
    i64,
    i64,
);

// SAFETY: the type is that of the declaration in SQLite's header.
type Look = unsafe extern "C" fn(*mut ffi::sqlite3, c_int, *mut *mut ffi::sqlite3_value) -> c_int;

// SAFETY: these are the declarations of SQLite's header; it is built with them.
unsafe extern "C" {
    fn sqlite3_preupdate_hook(
        connection: *mut ffi::sqlite3,
        hook: Option<Hook>,
        listener: *mut c_void,
    ) -> *mut c_void;

    fn sqlite3_preupdate_old(
        connection: *mut ffi::sqlite3,
        column: c_int,
        value: *mut *mut ffi::sqlite3_value,
    ) -> c_int;

    fn sqlite3_preupdate_new(
        connection: *mut ffi::sqlite3,
        column: c_int,
        value: *mut *mut ffi::sqlite3_value,
    ) -> c_int;
}

impl Before<'_> {
    /// What a column holds, as `CAST … AS TEXT` writes it; `None` for NULL and for bytes.
    pub(crate) fn text(&self, column: c_int) -> Option<String> {
        self.look(sqlite3_preupdate_old, column)
    }

    /// What it will hold, where the row does not go.
    pub(crate) fn text_afterwards(&self, column: c_int) -> Option<String> {
        self.look(sqlite3_preupdate_new, column)
    }

    fn look(&self, look: Look, column: c_int) -> Option<String> {
        let mut value = std::ptr::null_mut();
        // SAFETY: the hook is being called for this connection, and an error leaves no value. The
        // text stays until SQLite is called again.
        unsafe {
            if look(self.connection, column, &mut value) != ffi::SQLITE_OK || value.is_null() {
                return None;
            }
            if matches!(ffi::sqlite3_value_type(value), ffi::SQLITE_NULL | ffi::SQLITE_BLOB) {
                return None;
            }
            let text = ffi::sqlite3_value_text(value);
            if text.is_null() {
                return None;
            }
            let length = usize::try_from(ffi::sqlite3_value_bytes(value)).ok()?;
            let bytes = std::slice::from_raw_parts(text, length);
            std::str::from_utf8(bytes).ok().map(str::to_string)
        }
    }
}

/// Replaces the listener for removed rows. A listener that is still set when the connection closes
/// is leaked.
pub(crate) fn listen(connection: &mut Connection, listener: Option<Listener>) {
    let hook = listener.as_ref().map(|_| before_change as Hook);
    let given = match listener {
        Some(listener) => Arc::into_raw(Arc::new(listener)).cast_mut().cast(),
        None => std::ptr::null_mut(),
    };
    // SAFETY: the connection is open. What is given stays until it comes back here.
    let before = unsafe { sqlite3_preupdate_hook(connection.handle(), hook, given) };
    if !before.is_null() {
        // SAFETY: only this function sets the hook, so this is the listener of the last call,
        // returned once.
        drop(unsafe { Arc::from_raw(before.cast::<Listener>()) });
    }
}

/// # Safety
/// SQLite calls it with what was given, and with a name that ends with a zero.
unsafe extern "C" fn before_change(
    listener: *mut c_void,
    connection: *mut ffi::sqlite3,
    action: c_int,
    _: *const c_char,
    table: *const c_char,
    row: i64,
    afterwards: i64,
) {
    if action == ffi::SQLITE_INSERT || table.is_null() {
        return;
    }
    // SAFETY: see above; the listener stays as long as it is set.
    let (listener, table) = unsafe { (&*listener.cast::<Listener>(), CStr::from_ptr(table)) };
    let gone = action == ffi::SQLITE_DELETE || row != afterwards;
    if let Ok(table) = table.to_str() {
        listener(&Before { connection, table, row, gone, during: PhantomData });
    }
}
