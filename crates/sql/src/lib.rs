//! SQLite tables as stores.
