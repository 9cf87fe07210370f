//! HTTP: any store served, and a client that is a store.
