//! The conformance suite for stores.
//!
//! [`check`] runs a directed check for each behaviour in the documentation of [`Store`], including
//! concurrent clients and cancelled verbs. Then it runs random lists of operations against the
//! store and a [`crate::Memory`], which must agree after each step. A watcher that follows the
//! changes must arrive at the same content. The random lists are the same in every run.
//!
//! [`check_layer`] is for wrappers: it finds forgotten verbs, and verbs that bypass a confined
//! source.
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
mod attributes;
mod cancel;
mod chance;
mod change;
mod concurrent;
mod conditions;
mod keys;
mod layers;
mod manual;
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

/// Checks an empty store, and leaves it empty except for collections that do not vanish. Requires a
/// current-thread tokio runtime.
///
/// # Panics
/// With the store, the check and the problem, when the store does not conform.
pub async fn check(store: Rc<dyn Store>, abilities: Abilities) {
    let subject = Subject::new(store, abilities);
    read::check(&subject).await;
    keys::check(&subject).await;
    change::check(&subject).await;
    attributes::check(&subject).await;
    watch::check(&subject).await;
    concurrent::check(&subject).await;
    conditions::check(&subject).await;
    cancel::check(&subject).await;
    random::check(&subject).await;
}
