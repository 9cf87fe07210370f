//! Files of the server itself, below `/.runnel/` at every address: the script of live pages.

use runnel_store::{Reference, Store};
use std::cell::OnceCell;
use std::rc::Rc;
use std::sync::OnceLock;

/// Where they are. Programs do not see requests for this folder.
const FOLDER: &str = "/.runnel/";

type MakeStore = fn() -> Rc<dyn Store>;

static MAKE: OnceLock<MakeStore> = OnceLock::new();

thread_local! {
    static STORE: OnceCell<Option<Rc<dyn Store>>> = const { OnceCell::new() };
}

/// Sets the files of this process, as a function that makes their store for a thread.
pub fn set_own_files(make: MakeStore) {
    // Every worker sets the same.
    let _ = MAKE.set(make);
}

/// The store and the reference of a path that names such a file.
pub(crate) fn find(path: &str) -> Option<(Rc<dyn Store>, Reference)> {
    let name = path.strip_prefix(FOLDER)?;
    let store = STORE.with(|store| store.get_or_init(|| MAKE.get().map(|make| make())).clone())?;
    Some((store, Reference::from_path(name)))
}
