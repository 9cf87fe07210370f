//! Objects of this process that are being read chunk by chunk, so that no sweep frees them.

use rustc_hash::FxHashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The read objects of one store, shared by all workers of the process.
#[derive(Default)]
pub(crate) struct OpenObjects(Mutex<FxHashMap<i64, usize>>);

/// RAII guard of a read object.
pub(crate) struct ObjectLease {
    objects: Arc<OpenObjects>,
    object: i64,
}

/// By database and name of the store. There are few, and opening one is rare.
static STORES: Mutex<Vec<(String, Weak<OpenObjects>)>> = Mutex::new(Vec::new());

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // The counts are consistent after each statement.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl OpenObjects {
    /// Those of a store.
    pub(crate) fn of(place: &str) -> Arc<Self> {
        let mut stores = locked(&STORES);
        stores.retain(|(_, objects)| objects.strong_count() > 0);
        let known = stores.iter().find(|(known, _)| known == place);
        if let Some(objects) = known.and_then(|(_, objects)| objects.upgrade()) {
            return objects;
        }
        let objects = Arc::default();
        stores.push((place.to_string(), Arc::downgrade(&objects)));
        objects
    }

    /// Keeps an object until the lease is dropped.
    pub(crate) fn lease(self: &Arc<Self>, object: i64) -> ObjectLease {
        *locked(&self.0).entry(object).or_default() += 1;
        ObjectLease { objects: self.clone(), object }
    }

    /// The objects that are being read.
    pub(crate) fn in_use(&self) -> Vec<i64> {
        locked(&self.0).keys().copied().collect()
    }
}

impl Drop for ObjectLease {
    fn drop(&mut self) {
        let mut objects = locked(&self.objects.0);
        if let Some(count) = objects.get_mut(&self.object) {
            *count -= 1;
            if *count == 0 {
                objects.remove(&self.object);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_is_in_use_until_its_last_lease_is_dropped() {
        let objects = OpenObjects::of("a test");
        let first = objects.lease(7);
        let second = OpenObjects::of("a test").lease(7);
        assert!(OpenObjects::of("another").in_use().is_empty());
        drop(first);
        assert_eq!(objects.in_use(), [7]);
        drop(second);
        assert!(objects.in_use().is_empty());
    }
}
