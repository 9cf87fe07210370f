//! Telling of changes of files.

use super::place::{DiskFault, PathTarget, Root};
use super::tree::{Tree, WatchRequest};
use crate::{Changes, Error, Kind, Reference, Verb, Watchers, encode_segment};
use futures_util::StreamExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The watches on one disk, created with the first watcher and dropped with the last.
#[derive(Clone, Default)]
pub(super) struct Notifiers(Arc<Mutex<Weak<Notifier>>>);

/// The handle of the thread that receives the system's events.
struct Notifier {
    thread: Mutex<Sender<WatchRequest>>,
    /// Of real paths.
    watchers: Watchers,
}

impl Notifier {
    fn start() -> Result<Arc<Self>, DiskFault> {
        let (sender, receiver) = mpsc::channel();
        let watchers = Watchers::new();
        let tree = Tree::new(sender.clone(), watchers.clone())?;
        let thread = std::thread::Builder::new().name("runnel-watch".to_string());
        thread.spawn(move || tree.run(receiver))?;
        Ok(Arc::new(Notifier { thread: Mutex::new(sender), watchers }))
    }

    fn send(&self, message: WatchRequest) {
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        // It listens for as long as this is here.
        let _ = thread.send(message);
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        self.send(WatchRequest::Stop);
    }
}

/// A place that is watched until this is dropped.
struct Watched {
    notifier: Arc<Notifier>,
    base: PathBuf,
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.notifier.send(WatchRequest::Release(std::mem::take(&mut self.base)));
    }
}

/// Changes at a reference and below it, once the directories there are watched.
pub(super) async fn watch(
    root: Arc<Root>,
    notifiers: Notifiers,
    reference: Reference,
) -> Result<Changes, Error> {
    let on = reference.clone();
    let watched = super::blocking(move || begin(&root, &notifiers, &on)).await?;
    let watched = watched.map_err(|fault| fault.into_error(Verb::Watch, &reference))?;
    let Some(text) = watched.base.to_str() else {
        let message = "a path that is not UTF-8 cannot be watched";
        return Err(Error::new(Kind::Unsupported, message).on(Verb::Watch, &reference));
    };
    let changes = watched.notifier.watchers.watch(&Reference::from_path(text));
    Ok(Box::pin(changes.map(move |change| match change {
        Ok(mut change) => {
            let path = Path::new(change.reference.path());
            let below = path.strip_prefix(&watched.base).ok().and_then(Path::to_str);
            let names = below.unwrap_or_default().split('/').map(encode_segment);
            change.reference = reference.join(&names.collect::<Vec<_>>().join("/"));
            Ok(change)
        }
        Err(error) => Err(Error { reference: Some(reference.to_string()), ..error }),
    })))
}

fn begin(root: &Root, notifiers: &Notifiers, reference: &Reference) -> Result<Watched, DiskFault> {
    let place = root.place(reference, true)?;
    if let PathTarget::Special = place.found {
        return Err(DiskFault::special());
    }
    let base = real(&place.path)?;
    let notifier = {
        let mut current = notifiers.0.lock().unwrap_or_else(PoisonError::into_inner);
        match current.upgrade() {
            Some(notifier) => notifier,
            None => {
                let notifier = Notifier::start()?;
                *current = Arc::downgrade(&notifier);
                notifier
            }
        }
    };
    let (answer, answered) = mpsc::channel();
    let above = root.above(&base);
    notifier.send(WatchRequest::Watch { base: base.clone(), above, answer });
    let watched = Watched { notifier, base };
    let gone = || DiskFault::Refused(Kind::Failed, "the thread that watches the disk has ended");
    answered.recv().map_err(|_| gone())??;
    Ok(watched)
}

/// Resolves links in the existing part of the path.
fn real(path: &Path) -> Result<PathBuf, DiskFault> {
    let path = std::path::absolute(path)?;
    for above in path.ancestors() {
        if let Ok(real) = above.canonicalize() {
            let rest = path.strip_prefix(above).unwrap_or(Path::new(""));
            // Joining nothing would add a slash.
            return Ok(if rest.as_os_str().is_empty() { real } else { real.join(rest) });
        }
    }
    Ok(path)
}
