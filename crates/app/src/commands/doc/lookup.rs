//! What a name is: a class, messages, an option, a scheme, a command, a finding, a kind of error, a word; or what
//! comes near to it.

use super::command::command_of;
use super::topics::{self, DocEntry};
use crate::world::options::{OptionOwner, owners};
use crate::world::schemes::{SCHEMES, SchemeInfo};
use runnel_catalogue::{Class, Message, summary};
use runnel_check::codes::{self, Code};
use runnel_runtime::catalogue;
use runnel_store::SettingInfo;
use runnel_text::distance::nearest;

/// Proposals for an unknown name.
const PROPOSALS: usize = 10;

/// What has a definition.
pub(crate) enum Subject {
    /// A class, with its options where it has some.
    Class(&'static Class, Option<OptionOwner>),
    /// The messages of one selector.
    Messages(Vec<&'static Message>),
    /// An option, with what has it.
    Setting(SettingInfo, Vec<OptionOwner>),
    /// What has options and is no class: a database.
    Owner(OptionOwner),
    Scheme(&'static SchemeInfo, Option<OptionOwner>),
    /// A command of the binary.
    Command(Box<clap::Command>),
    /// A code of `runnel check`.
    Code(&'static Code),
    /// A kind of error, a name, a scheme of the language, a word.
    Entry(DocEntry),
}

/// Why nothing was found, and what comes near.
pub(crate) struct Unknown {
    pub(crate) message: String,
    pub(crate) near: Vec<Proposed>,
}

/// A proposal: what to ask for, and its first sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Proposed {
    pub(crate) name: String,
    pub(crate) summary: String,
}

/// Finds `String`, `replace:with:`, `String replace:with:`, `String>>replace:with:`, `requestTimeout`, `file:`,
/// `runnel check`, `unknown-message`, `notFound`, `→`.
pub(crate) fn find(words: &[String]) -> Result<Vec<Subject>, Unknown> {
    let name = words.join(" ");
    if let Some(command) = name.strip_prefix("runnel ").and_then(command_of) {
        return Ok(vec![Subject::Command(Box::new(command))]);
    }
    if let Some((class, selector)) = class_and_selector(words) {
        return of_class(class, &selector);
    }
    let found = exactly(name.trim());
    if found.is_empty() { Err(unknown(name.trim())) } else { Ok(found) }
}

fn class_and_selector(words: &[String]) -> Option<(&'static Class, String)> {
    let (class, selector) = match words {
        [one] => one.split_once(">>").map(|(class, selector)| (class, selector.to_owned()))?,
        [class, rest @ ..] if !rest.is_empty() => (class.as_str(), rest.join("")),
        _ => return None,
    };
    let class = class.trim_start_matches('#');
    let class = class.strip_suffix(" class").unwrap_or(class);
    Some((catalogue().class(class)?, selector.trim().to_owned()))
}

/// A message of one class, to its instances and to itself, or one of its options.
fn of_class(class: &'static Class, selector: &str) -> Result<Vec<Subject>, Unknown> {
    let messages: Vec<&Message> = [false, true]
        .iter()
        .filter_map(|of_class| catalogue().message(&class.name, selector, *of_class))
        .collect();
    let mut found = Vec::new();
    if !messages.is_empty() {
        found.push(Subject::Messages(messages));
    }
    let owner = owners().into_iter().find(|owner| owner.name == class.name);
    if let Some(owner) = &owner
        && let Some(info) = owner.options.iter().find(|info| info.name == selector)
    {
        found.push(Subject::Setting(info.clone(), vec![owner.clone()]));
    }
    if !found.is_empty() {
        return Ok(found);
    }
    let understood: Vec<&Message> =
        catalogue().lineage(&class.name).flat_map(|class| &class.messages).collect();
    let named = |key: &str, text| Candidate {
        name: format!("{} {key}", class.name),
        key: key.to_owned(),
        text,
    };
    let mut candidates: Vec<Candidate> =
        understood.iter().map(|message| named(&message.selector, &message.text)).collect();
    if let Some(owner) = &owner {
        candidates.extend(owner.options.iter().map(|info| named(info.name, info.help)));
    }
    let message = format!("{} has no message or option `{selector}`", class.name);
    Err(Unknown { message, near: proposals(selector, &candidates) })
}

fn exactly(name: &str) -> Vec<Subject> {
    let bare = name.strip_prefix('#').unwrap_or(name);
    let owners = owners();
    let mut found = Vec::new();
    if let Some(class) = catalogue().class(bare) {
        let owner = owners.iter().find(|owner| owner.name == class.name).cloned();
        found.push(Subject::Class(class, owner));
    }
    if let Some(owner) = owners.iter().find(|owner| !owner.is_class() && owner.name == bare) {
        found.push(Subject::Owner(owner.clone()));
    }
    let is_accessor = |message: &Message| {
        let owner = owners.iter().find(|owner| owner.name == message.class);
        owner.is_some_and(|owner| owner.is_accessor(&message.selector))
    };
    let messages: Vec<&Message> =
        catalogue().definitions(bare).filter(|one| !is_accessor(one)).collect();
    if !messages.is_empty() {
        found.push(Subject::Messages(messages));
    }
    found.extend(settings(bare, owners.clone()));
    if let Some(scheme) =
        bare.strip_suffix(':').and_then(|name| SCHEMES.iter().find(|one| one.name == name))
    {
        let store = scheme.same_as.unwrap_or(scheme.name);
        let owner = owners.into_iter().find(|owner| owner.scheme == Some(store));
        found.push(Subject::Scheme(scheme, owner));
    }
    found.extend(codes::find(bare).map(Subject::Code));
    found.extend(topics::find(name).into_iter().map(Subject::Entry));
    if found.is_empty() {
        found.extend(command_of(bare).map(|command| Subject::Command(Box::new(command))));
    }
    found
}

/// Options of a name, those of the same meaning together.
fn settings(name: &str, owners: Vec<OptionOwner>) -> Vec<Subject> {
    let mut found: Vec<(SettingInfo, Vec<OptionOwner>)> = Vec::new();
    for owner in owners {
        let is = |info: &&SettingInfo| info.name == name || info.former.contains(&name);
        let Some(info) = owner.options.iter().find(is).cloned() else { continue };
        match found.iter_mut().find(|(known, _)| *known == info) {
            Some((_, others)) => others.push(owner),
            None => found.push((info, vec![owner])),
        }
    }
    found.into_iter().map(|(info, owners)| Subject::Setting(info, owners)).collect()
}

/// A name that an unknown one may mean.
struct Candidate<'a> {
    /// What to ask for.
    name: String,
    /// What is compared.
    key: String,
    text: &'a str,
}

fn unknown(name: &str) -> Unknown {
    let (owners, entries) = (owners(), topics::entries());
    let mut candidates = Vec::new();
    let mut add = |name: &str, text| {
        candidates.push(Candidate { name: name.to_owned(), key: name.to_owned(), text });
    };
    for class in catalogue().classes() {
        add(&class.name, class.text.as_str());
    }
    for selector in catalogue().selectors() {
        for message in catalogue().definitions(selector) {
            add(selector, message.text.as_str());
        }
    }
    for info in owners.iter().flat_map(|owner| &owner.options) {
        add(info.name, info.help);
    }
    for scheme in &SCHEMES {
        add(&format!("{}:", scheme.name), scheme.help);
    }
    for code in codes::CODES {
        add(code.name, code.meaning);
    }
    for entry in &entries {
        add(&entry.written(), &entry.text);
    }
    let message = format!("nothing is called `{name}`");
    Unknown { message, near: proposals(name, &candidates) }
}

/// The nearest name, then names that contain the text, then definitions that contain its words.
fn proposals(name: &str, candidates: &[Candidate]) -> Vec<Proposed> {
    let lower = name.to_lowercase();
    let near = nearest(name, candidates.iter().map(|one| one.key.as_str()));
    let words: Vec<&str> = lower.split_whitespace().collect();
    let rank = |one: &Candidate| {
        let key = one.key.to_lowercase();
        let text = format!("{key} {}", one.text.to_lowercase());
        match () {
            () if Some(one.key.as_str()) == near => Some(0),
            () if words.is_empty() => None,
            () if key.starts_with(&lower) => Some(1),
            () if key.contains(&lower) => Some(2),
            () if words.iter().all(|word| text.contains(word)) => Some(3),
            () => None,
        }
    };
    let mut ranked: Vec<_> = candidates
        .iter()
        .filter_map(|one| Some((rank(one)?, one.key.len(), &one.name, one)))
        .collect();
    ranked.sort_by_key(|(rank, length, name, _)| (*rank, *length, *name));
    ranked.dedup_by_key(|(_, _, name, _)| *name);
    ranked
        .into_iter()
        .take(PROPOSALS)
        .map(|(_, _, name, one)| Proposed {
            name: name.clone(),
            summary: summary(one.text).to_owned(),
        })
        .collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn options_databases_and_schemes_are_found() {
        let found = |text: &str| find(&words(text)).unwrap_or_default();
        assert!(
            matches!(&found("requestTimeout")[..], [Subject::Setting(_, owners)] if owners.len() == 2)
        );
        assert!(matches!(&found("#HTTPServer")[..], [Subject::Class(_, Some(_))]));
        assert!(matches!(&found("SQLite database")[..], [Subject::Owner(_)]));
        assert!(matches!(&found("postgresql:")[..], [Subject::Scheme(_, Some(_))]));
        assert!(matches!(&found("Cache ttl")[..], [Subject::Setting(_, _), ..]));
    }

    #[test]
    fn an_unknown_name_has_proposals() {
        let unknown = find(&words("requestTimout")).err().unwrap();
        assert_eq!(unknown.message, "nothing is called `requestTimout`");
        assert_eq!(unknown.near[0].name, "requestTimeout");
        let unknown = find(&words("Timeout")).err();
        assert!(unknown.is_none());
        let unknown = find(&words("zzzzqqqq")).err().unwrap();
        assert!(unknown.near.is_empty());
        let unknown = find(&words("Cache tll")).err().unwrap();
        assert!(unknown.message.contains("Cache has no message or option `tll`"));
    }
}
