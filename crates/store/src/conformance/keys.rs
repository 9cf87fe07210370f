//! Keys are listed at all levels, in byte order of the whole key, page by page.

use super::chance::Random;
use super::subject::{Subject, at};
use crate::{Content, Context, Key, KeyPage, KeyRange, Memory, Store, list_keys};
use std::collections::BTreeSet;
use std::rc::Rc;

/// The collection under which the keys are put.
const PLACE: &str = "keys";

/// Where a slash sorts among other characters matters for these: `a.b` stands before `a/b`, and
/// `a0` after it, though the collection `a` stands before both.
const FIXED: [&str; 8] =
    ["a/b", "a/c/d", "a.b", "a-b", "a0", "a.b.c/d", "z/\u{e9}/\u{1f600}", "z\u{e9}"];

/// What names are made of.
const PARTS: [&str; 9] = ["a", "b", ".", "-", "0", "10", "\u{e9}", "Z", "~"];

/// Random keys beside the fixed ones.
const RANDOM_KEYS: usize = 12;

pub(super) async fn check(subject: &Subject) {
    if !subject.abilities.listing {
        return;
    }
    subject.checking("keys in byte order");
    let mut random = Random(7);
    let names = names(&mut random);
    let memory: Rc<dyn Store> = Rc::new(Memory::site());
    for name in &names {
        let path = format!("{PLACE}/{name}");
        subject.put_text(&path, "x").await;
        let copied = memory.put(&at(&path), Content::text("x"), &Context::default()).await;
        subject.good("put into memory", copied);
    }
    check_ranges(subject, &memory, &names, &mut random).await;
    check_facts(subject).await;
    let paths: Vec<String> = names.iter().map(|name| format!("{PLACE}/{name}")).collect();
    subject.clean(&paths.iter().map(String::as_str).collect::<Vec<_>>()).await;
}

async fn check_ranges(
    subject: &Subject,
    memory: &Rc<dyn Store>,
    names: &BTreeSet<String>,
    random: &mut Random,
) {
    let all: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut ranges = vec![KeyRange::default()];
    for limit in [5, all.len(), all.len() + 1] {
        ranges.push(KeyRange { limit, ..KeyRange::default() });
    }
    // Few, because a store may ask another server for each level of each page.
    for _ in 0..3 {
        let prefix = beginning(random.of(&all), random).to_string();
        let after = Some(beginning(random.of(&all), random).to_string());
        let limit = 3 + random.below(9) as usize;
        ranges.push(KeyRange { prefix: prefix.clone(), ..KeyRange::default() });
        ranges.push(KeyRange { after: after.clone(), ..KeyRange::default() });
        ranges.push(KeyRange { prefix, after, limit });
    }
    for range in ranges {
        check_pages(subject, memory, names, range).await;
    }
}

/// Follows the pages of a range to its end.
async fn check_pages(
    subject: &Subject,
    memory: &Rc<dyn Store>,
    names: &BTreeSet<String>,
    mut range: KeyRange,
) {
    let what = format!("the keys of {range:?}");
    let mut expected: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| range.admits(name)).collect();
    loop {
        let listed = list_keys(&subject.store, &at(PLACE), &range, &Context::default()).await;
        let page = shown(subject.good(&what, listed));
        let native = memory.keys(&at(PLACE), &range, &Context::default()).await;
        let native = subject.good("keys of memory", native).map(shown);
        subject.same(&what, Some(&page), native.as_ref());
        let rest = expected.split_off(range.limit.min(expected.len()));
        subject.same(&what, page.0.iter().map(String::as_str).collect(), expected);
        subject.same(&format!("{what}: more"), page.1, !rest.is_empty());
        let (Some(last), true) = (page.0.last(), page.1) else { return };
        range.after = Some(last.clone());
        expected = rest;
    }
}

/// What a listing says of a key is what a read says.
async fn check_facts(subject: &Subject) {
    let context = Context { attributes: true, ..Context::default() };
    let listed = list_keys(&subject.store, &at(PLACE), &KeyRange::default(), &context).await;
    for key in subject.good("keys", listed).keys {
        let path = format!("{PLACE}/{}", key.name);
        let Some(content) = subject.content(&path).await else {
            subject.fail(&format!("{path} is listed and missing"));
        };
        if key.entity_tag.is_some() {
            let own = content.entity_tag.clone();
            subject.same(&format!("the tag of {path}"), key.entity_tag, own);
        }
        let length = subject.good(&path, content.read(usize::MAX).await).len() as u64;
        if key.length.is_some() {
            subject.same(&format!("the length of {path}"), key.length, Some(length));
        }
    }
}

/// The names of a page, and whether there are more.
fn shown(page: KeyPage) -> (Vec<String>, bool) {
    (page.keys.into_iter().map(|key: Key| key.name).collect(), page.more)
}

/// Some beginning of a key.
fn beginning<'a>(key: &'a str, random: &mut Random) -> &'a str {
    let mut end = random.below(key.len() as u64 + 1) as usize;
    while !key.is_char_boundary(end) {
        end -= 1;
    }
    &key[..end]
}

/// Keys that can stand in one tree: none of them is a collection of others.
fn names(random: &mut Random) -> BTreeSet<String> {
    let mut names: BTreeSet<String> = FIXED.iter().map(|name| (*name).to_string()).collect();
    while names.len() < FIXED.len() + RANDOM_KEYS {
        let name = (0..=random.below(3)).map(|_| segment(random)).collect::<Vec<_>>().join("/");
        let is_inner = |one: &str, other: &str| {
            one.strip_prefix(other).is_some_and(|rest| rest.starts_with('/'))
        };
        if !names.iter().any(|other| is_inner(other, &name) || is_inner(&name, other)) {
            names.insert(name);
        }
    }
    names
}

/// A name that is neither `.` nor `..`.
fn segment(random: &mut Random) -> String {
    loop {
        let length = 1 + random.below(3);
        let name: String = (0..length).map(|_| random.of(&PARTS)).collect();
        if !name.bytes().all(|byte| byte == b'.') {
            return name;
        }
    }
}
