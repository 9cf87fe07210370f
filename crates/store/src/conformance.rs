//! The suite that every store has to pass.
//!
//! [`check`] runs directed checks, one for each behaviour that the documentation of [`Store`]
//! promises: among them clients that write at the same time, and verbs that are given up in the
//! middle. Then it runs random lists of operations, on the store and on a [`crate::Memory`] beside
//! it, which have to agree after each step, and a watcher of the store who follows the changes has
//! to arrive at the same content. The random lists are the same in every run.
//!
//! [`check_layer`] is for wrappers: no verb is forgotten, and none goes around a confined source.
//!
//! ```no_run
//! # use runnel_store::{Disk, conformance::{Abilities, Keeps, Posting, check}};
//! # async fn example() -> runnel_store::Result<()> {
//! let disk = Disk::new("an/empty/folder")?;
//! let abilities = Abilities {
//!     keeps: Keeps::Text,
//!     inner_content: false,
//!     posting: Posting::Appends,
//!     ..Abilities::ALL
//! };
//! check(std::rc::Rc::new(disk), abilities).await;
//! # Ok(())
//! # }
//! ```

mod abilities;
mod cancel;
mod chance;
mod change;
mod concurrent;
mod conditions;
mod keys;
mod layers;
mod random;
mod read;
mod spy;
mod subject;
mod watch;

use crate::Store;
use std::rc::Rc;
use subject::Subject;

pub use abilities::{Abilities, Keeps, Posting};
pub use layers::check_layer;

/// Checks an empty store, and leaves it empty but for collections that do not vanish. Runs in a
/// tokio runtime of the current thread.
///
/// # Panics
/// With the store, the check and what is wrong, when the store does not behave.
pub async fn check(store: Rc<dyn Store>, abilities: Abilities) {
    let subject = Subject::new(store, abilities);
    read::check(&subject).await;
    keys::check(&subject).await;
    change::check(&subject).await;
    watch::check(&subject).await;
    concurrent::check(&subject).await;
    conditions::check(&subject).await;
    cancel::check(&subject).await;
    random::check(&subject).await;
}
