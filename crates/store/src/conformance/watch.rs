//! Checks of telling of changes.

use super::subject::{Subject, at};
use super::{Keeps, Posting};
use crate::{
    Change, ChangeKind, Changes, Content, Context, Kind, Reference, Value, WAITING_CHANGES,
};
use futures_util::StreamExt;

pub(super) async fn check(subject: &Subject) {
    if !subject.abilities.watch {
        subject.checking("a store that cannot tell of changes says so");
        let refused = subject.store.watch(&at("watch"), &Context::default()).await;
        let kind = refused.map(|_| "a watch").map_err(|error| error.kind);
        return subject.same("watch", kind, Err(Kind::NotAllowed));
    }
    each_verb(subject).await;
    beside(subject).await;
    in_order(subject).await;
    dropped(subject).await;
    overrun(subject).await;
}

/// A watcher of a store.
pub(super) struct WatchFollower<'a> {
    subject: &'a Subject,
    changes: Changes,
    path: String,
}

impl<'a> WatchFollower<'a> {
    pub(super) async fn begin(subject: &'a Subject, path: &str) -> Self {
        let changes = subject.store.watch(&at(path), &Context::default()).await;
        let changes = subject.good(&format!("watch {path}"), changes);
        WatchFollower { subject, changes, path: path.to_string() }
    }

    /// The next change, which has to be at the watched path or below it.
    pub(super) async fn next(&mut self, waiting_for: &str) -> Change {
        let watched = &self.path;
        let next =
            tokio::time::timeout(self.subject.abilities.watch_delay, self.changes.next()).await;
        let Ok(next) = next else {
            self.subject.fail(&format!("a watch of `{watched}` is not told of {waiting_for}"));
        };
        let Some(next) = next else {
            self.subject.fail(&format!("a watch of `{watched}` ends before {waiting_for}"));
        };
        let change = self.subject.good(&format!("a watch of {watched}"), next);
        if !is_below(watched, path_of(&change.reference)) {
            self.subject.fail(&format!(
                "a watch of `{watched}` is told of `{}`, which is beside it",
                change.reference
            ));
        }
        change
    }

    /// Reads changes up to one of a kind at a path. What is lost there counts as told.
    async fn told(&mut self, kind: ChangeKind, path: &str) {
        let waiting_for = format!("{} {path}", kind.name());
        loop {
            let change = self.next(&waiting_for).await;
            let here = path_of(&change.reference);
            let lost = change.kind == ChangeKind::Lost && is_below(here, path);
            if lost || change.kind == kind && here == path {
                return;
            }
        }
    }

    /// All changes so far, up to a marker: a put at `end`, which is removed again. Without a
    /// guaranteed order, changes may arrive after their marker, so there are two rounds.
    pub(super) async fn all(&mut self, end: &str) -> Vec<Change> {
        let mut all = Vec::new();
        for round in ["first", "second"] {
            self.subject.put_text(end, round).await;
            loop {
                let change = self.next(end).await;
                let here = path_of(&change.reference);
                let told = here == end && change.kind == ChangeKind::Changed;
                let lost = change.kind == ChangeKind::Lost && is_below(here, end);
                all.push(change);
                if told || lost {
                    break;
                }
            }
        }
        self.subject.delete(end).await;
        all
    }
}

fn path_of(reference: &Reference) -> &str {
    reference.relative_path().trim_end_matches('/')
}

fn is_below(above: &str, path: &str) -> bool {
    let rest = path.strip_prefix(above);
    rest.is_some_and(|rest| above.is_empty() || rest.is_empty() || rest.starts_with('/'))
}

async fn each_verb(subject: &Subject) {
    subject.checking("each change is told at its reference and above, after it can be read");
    let mut watching = Vec::new();
    for path in ["", "watch", "watch/a", "watch/a/x"] {
        watching.push(WatchFollower::begin(subject, path).await);
    }
    for text in ["one", "two"] {
        subject.put_text("watch/a/x", text).await;
        for watcher in &mut watching {
            watcher.told(ChangeKind::Changed, "watch/a/x").await;
            let expected = Some(subject.expected(&text.into()));
            subject.same("get of what was told", subject.get("watch/a/x").await, expected);
        }
    }
    let mut deleting = vec!["delete"];
    deleting.extend(subject.abilities.nil_deletes.then_some("put nil"));
    for how in deleting {
        subject.put_text("watch/a/x", "three").await;
        for watcher in &mut watching {
            watcher.told(ChangeKind::Changed, "watch/a/x").await;
        }
        match how {
            "delete" => drop(subject.delete("watch/a/x").await),
            _ => drop(subject.put("watch/a/x", Content::value(Value::Nil)).await),
        }
        for watcher in &mut watching {
            watcher.told(ChangeKind::Deleted, "watch/a/x").await;
        }
    }
    let context = Context::default();
    if subject.abilities.posting != Posting::Other {
        let posted = subject.store.post(&at("watch/a/x"), Content::value("y".into()), &context);
        subject.good("post", posted.await);
        for watcher in &mut watching {
            watcher.told(ChangeKind::Changed, "watch/a/x").await;
        }
    }
    if subject.abilities.merge {
        let record = Value::record([("a", Value::Int(1))]);
        subject.put("watch/a/x", Content::value(record.clone())).await;
        for watcher in &mut watching {
            watcher.told(ChangeKind::Changed, "watch/a/x").await;
        }
        let fields = match subject.abilities.keeps {
            Keeps::Json => Content::bytes(subject.bytes(&record)),
            _ => Content::value(record),
        };
        let merged = subject.store.merge(&at("watch/a/x"), fields, &context).await;
        subject.good("merge", merged);
        for watcher in &mut watching {
            watcher.told(ChangeKind::Changed, "watch/a/x").await;
        }
    }
    subject.clean(&["watch/a/x"]).await;
    subject.delete("watch/a").await;
    subject.delete("watch").await;
}

async fn beside(subject: &Subject) {
    subject.checking("what changes beside the watched reference is not told");
    let mut watcher = WatchFollower::begin(subject, "beside/a").await;
    for path in ["beside/ab", "beside/b", "besides", "beside/a"] {
        subject.put_text(path, "x").await;
    }
    // Anything beside it fails.
    watcher.told(ChangeKind::Changed, "beside/a").await;
    subject.clean(&["beside/ab", "beside/b", "besides", "beside/a"]).await;
    watcher.told(ChangeKind::Deleted, "beside/a").await;
    subject.delete("beside").await;
}

async fn in_order(subject: &Subject) {
    if !subject.abilities.watch_in_order {
        return;
    }
    subject.checking("changes are told in their order, to all who watch");
    let mut first = WatchFollower::begin(subject, "order").await;
    let mut second = WatchFollower::begin(subject, "order").await;
    let mut expected = Vec::new();
    for path in ["order/c", "order/a", "order/b", "order/a"] {
        subject.put_text(path, "x").await;
        expected.push((ChangeKind::Changed, path));
    }
    for path in ["order/c", "order/a", "order/b"] {
        subject.delete(path).await;
        expected.push((ChangeKind::Deleted, path));
    }
    for watcher in [&mut first, &mut second] {
        for (kind, path) in &expected {
            let change = watcher.next(path).await;
            let found = (change.kind, path_of(&change.reference));
            subject.same("change", found, (*kind, path));
        }
    }
    subject.clean(&["order/a", "order/b", "order/c"]).await;
    subject.delete("order").await;
}

async fn dropped(subject: &Subject) {
    subject.checking("a watch that is dropped disturbs nobody");
    let dropped = WatchFollower::begin(subject, "dropped").await;
    let mut other = WatchFollower::begin(subject, "dropped").await;
    subject.put_text("dropped", "one").await;
    drop(dropped);
    other.told(ChangeKind::Changed, "dropped").await;
    for _ in 0..20 {
        drop(WatchFollower::begin(subject, "dropped").await);
    }
    subject.put_text("dropped", "two").await;
    other.told(ChangeKind::Changed, "dropped").await;
    subject.clean(&["dropped"]).await;
}

async fn overrun(subject: &Subject) {
    if !subject.abilities.watch_overruns {
        return;
    }
    subject.checking("a watcher that does not listen loses changes, and is told so");
    let mut watcher = WatchFollower::begin(subject, "overrun").await;
    let paths: Vec<String> =
        (0..WAITING_CHANGES + 100).map(|number| format!("overrun/{number}")).collect();
    for path in &paths {
        subject.put_text(path, "x").await;
    }
    let all = watcher.all("overrun/end").await;
    subject.is(all.len() <= WAITING_CHANGES + 2, "more changes wait than may");
    let lost = all.iter().filter(|change| change.kind == ChangeKind::Lost);
    let at: Vec<&str> = lost.map(|change| path_of(&change.reference)).collect();
    subject.same("lost", at, vec!["overrun"]);
    drop(watcher);
    for path in &paths {
        subject.delete(path).await;
    }
    subject.delete("overrun").await;
}
