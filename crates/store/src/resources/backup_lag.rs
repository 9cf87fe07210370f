//! How far continuous backups are behind, for metrics.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::SystemTime;

/// The lag of the backup of a database to a target, for all workers of the process.
#[derive(Debug)]
pub struct BackupLag {
    /// The path of the database.
    pub database: String,
    /// The target, without a user and a password.
    pub target: String,
    /// Until when everything is in the target, in microseconds since 1970; 0 where it is not known.
    shipped: AtomicI64,
}

/// As many as there are continuous backups.
static ALL: Mutex<Vec<Weak<BackupLag>>> = Mutex::new(Vec::new());

impl BackupLag {
    /// The lag of a database and a target: the same for all who hold it.
    pub fn of(database: &str, target: &str) -> Arc<BackupLag> {
        let mut all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| one.strong_count() > 0);
        let mut known = all.iter().filter_map(Weak::upgrade);
        let target = without_user(target);
        if let Some(known) = known.find(|one| one.database == database && one.target == target) {
            return known;
        }
        let made = BackupLag { database: database.into(), target, shipped: AtomicI64::new(0) };
        let made = Arc::new(made);
        all.push(Arc::downgrade(&made));
        made
    }

    /// All of this process, by database and target.
    pub fn all() -> Vec<Arc<BackupLag>> {
        let all = ALL.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<Arc<BackupLag>> = all.iter().filter_map(Weak::upgrade).collect();
        all.sort_by(|a, b| (&a.database, &a.target).cmp(&(&b.database, &b.target)));
        all
    }

    /// Everything up to a moment is in the target, in microseconds since 1970; 0: it is not known.
    pub fn set(&self, micros: i64) {
        self.shipped.store(micros, Relaxed);
    }

    /// The age of the newest state in the target in seconds, where it is known.
    pub fn seconds(&self) -> Option<f64> {
        let now = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_micros() as i64;
        let shipped = self.shipped.load(Relaxed);
        (shipped > 0).then(|| (now - shipped).max(0) as f64 / 1e6)
    }
}

/// An address without a user and a password.
fn without_user(target: &str) -> String {
    let Some(start) = target.find("//").map(|at| at + 2) else { return target.to_string() };
    let end = target[start..].find('/').map_or(target.len(), |at| start + at);
    match target[start..end].rfind('@') {
        Some(at) => format!("{}{}", &target[..start], &target[start + at + 1..]),
        None => target.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_has_one_lag_while_it_is_held() {
        let (one, same) = (BackupLag::of("a.db", "x:y/"), BackupLag::of("a.db", "x:y/"));
        assert_eq!(one.seconds(), None);
        same.set(1);
        assert!(one.seconds().is_some_and(|lag| lag > 1e9));
        let count = || BackupLag::all().iter().filter(|one| one.database == "a.db").count();
        assert_eq!(count(), 1);
        drop((one, same));
        assert_eq!(count(), 0);
    }

    #[test]
    fn a_target_has_no_password() {
        assert_eq!(without_user("http://ann:secret@host/x@y/"), "http://host/x@y/");
        assert_eq!(without_user("http://host/x@y/"), "http://host/x@y/");
        assert_eq!(without_user("s3:box/x@y/"), "s3:box/x@y/");
    }
}
