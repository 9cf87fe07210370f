//! How definitions are put together: classes by room, messages of one meaning, names of kinds.

use crate::world::options::OptionOwner;
use runnel_catalogue::{Class, Message};
use runnel_runtime::catalogue;
use runnel_store::SettingKind;
use std::collections::BTreeMap;

/// The classes that have a definition, by room; a class without a room is in that of its superclass.
pub(crate) fn rooms() -> BTreeMap<String, Vec<&'static Class>> {
    let mut rooms: BTreeMap<String, Vec<&Class>> = BTreeMap::new();
    for class in catalogue().classes() {
        if class.text.is_empty() && class.messages.is_empty() {
            continue;
        }
        let room = catalogue().lineage(&class.name).find(|one| !one.room.is_empty());
        rooms.entry(room.map_or(String::new(), |one| one.room.clone())).or_default().push(class);
    }
    rooms
}

/// The rooms of the kernel as headings; another one stands as it is.
const ROOM_NAMES: [(&str, &str); 24] = [
    ("", "other"),
    ("accounts", "Accounts and tokens"),
    ("collections", "Collections"),
    ("connections", "Connections"),
    ("core", "Objects"),
    ("definitions", "Classes and types"),
    ("feeds", "Change feeds and queues"),
    ("fibers", "Fibers and errors"),
    ("formats", "XML and other formats"),
    ("forms", "Forms"),
    ("jobs", "Jobs"),
    ("live", "Live pages"),
    ("net", "HTTP"),
    ("observing", "Constraints and observers"),
    ("original", "Names of Objective-S"),
    ("pages", "HTML"),
    ("program", "The program"),
    ("search", "Search"),
    ("stores", "Stores and combinators"),
    ("streams", "Streams and filters"),
    ("tables", "Databases"),
    ("text", "Text and patterns"),
    ("values", "Numbers, dates and data"),
    ("widgets", "Windows"),
];

/// A room as a heading.
pub(crate) fn room_name(room: &str) -> String {
    let known = ROOM_NAMES.iter().find(|(name, _)| *name == room);
    known.map_or(room, |(_, title)| *title).to_owned()
}

/// The messages of a class on one side, synonyms together; without those that only get or set its options.
pub(crate) fn message_groups<'a>(
    class: &'a Class,
    owner: Option<&OptionOwner>,
    is_of_class: bool,
) -> Vec<Vec<&'a Message>> {
    let mut groups: Vec<Vec<&Message>> = Vec::new();
    for message in class.messages.iter().filter(|one| one.is_of_class == is_of_class) {
        if owner.is_some_and(|owner| owner.is_accessor(&message.selector)) {
            continue;
        }
        match groups.last_mut() {
            Some(group) if group[0].synonyms.contains(&message.selector) => group.push(message),
            _ => groups.push(vec![message]),
        }
    }
    groups
}

/// What a program writes for an option.
pub(crate) fn kind_name(kind: SettingKind) -> &'static str {
    match kind {
        SettingKind::Flag => "Boolean",
        SettingKind::Count => "whole Number",
        SettingKind::Number => "Number",
        SettingKind::Duration => "Duration",
        SettingKind::Size => "ByteSize",
        SettingKind::Text => "String",
        SettingKind::Texts => "String or Array of String",
        SettingKind::Record => "Dictionary",
        SettingKind::Class => "Class",
        SettingKind::Store => "Store",
        SettingKind::Any => "any",
    }
}
