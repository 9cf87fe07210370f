//! Removes what a killed process has left: content that arrived and never became an object.

use super::layout;
use super::state::Catalog;
use runnel_store::{Context, KeyRange, Result, list_keys};
use std::time::{Duration, SystemTime};

/// The age of content that no request can still be about to put in its place.
const FORGOTTEN: Duration = Duration::from_secs(24 * 60 * 60);

impl Catalog {
    /// Removes received content that has waited for a day.
    pub(crate) async fn remove_leftovers(&self, now: SystemTime) -> Result<()> {
        let room = layout::staging_room();
        let mut range = KeyRange::default();
        loop {
            let context = Context::default();
            let page = list_keys(&self.contents.store, &room, &range, &context).await?;
            for listed in &page.keys {
                let age = listed.modified.and_then(|time| now.duration_since(time).ok());
                if age.is_some_and(|age| age > FORGOTTEN) {
                    self.contents.remove(&room.join(&listed.name), None).await?;
                }
            }
            match page.keys.last() {
                Some(last) if page.more => range.after = Some(last.name.clone()),
                _ => return Ok(()),
            }
        }
    }
}
