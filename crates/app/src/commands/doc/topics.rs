//! Kinds of errors, names, schemes of the language, words and marks: each from its one definition.

use runnel_catalogue::words::{LanguageWord, WORDS};
use runnel_catalogue::{Topic, TopicKind};
use runnel_runtime::{catalogue, kind_of_error};
use runnel_store::Kind;

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Error,
    Name,
    Scheme,
    Word,
}

impl EntryKind {
    /// How JSON calls it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            EntryKind::Error => "error",
            EntryKind::Name => "name",
            EntryKind::Scheme => "scheme",
            EntryKind::Word => "word",
        }
    }
}

/// A definition that is neither of a class nor of a message.
#[derive(Clone, Debug)]
pub(crate) struct DocEntry {
    pub(crate) kind: EntryKind,
    pub(crate) name: String,
    /// Other spellings.
    pub(crate) others: &'static [&'static str],
    pub(crate) text: String,
    /// An example, with its values behind `// =>`.
    pub(crate) program: String,
    /// Requests to the program, with their answers.
    pub(crate) requests: String,
    /// The status of the response that an error becomes.
    pub(crate) status: Option<u16>,
    /// The page of the manual, from `spec/`.
    pub(crate) page: Option<&'static str>,
}

impl DocEntry {
    fn of_topic(kind: EntryKind, topic: &Topic) -> DocEntry {
        DocEntry {
            kind,
            name: topic.name.clone(),
            others: &[],
            text: topic.text.clone(),
            program: topic.program(),
            requests: topic.requests(),
            status: None,
            page: None,
        }
    }

    fn of_word(word: &LanguageWord) -> DocEntry {
        DocEntry {
            kind: EntryKind::Word,
            name: word.name.to_owned(),
            others: word.others,
            text: word.meaning.to_owned(),
            program: word.program().to_owned(),
            requests: word.request().unwrap_or_default().to_owned(),
            status: None,
            page: Some(word.page),
        }
    }

    fn error(name: &str, text: &str, program: String) -> DocEntry {
        let program = if program.is_empty() { caught(name) } else { program };
        DocEntry {
            kind: EntryKind::Error,
            name: name.to_owned(),
            others: &[],
            text: text.to_owned(),
            program,
            requests: String::new(),
            status: Some(kind_of_error(name).status()),
            page: None,
        }
    }

    /// What it is, in one sentence.
    pub(crate) fn subject(&self) -> String {
        match (self.kind, self.status) {
            (EntryKind::Error, Some(status)) => {
                format!("A kind of error. Over HTTP it is the status {status}.")
            }
            (EntryKind::Error, None) => "A kind of error.".to_owned(),
            (EntryKind::Name, _) => "A name of every program.".to_owned(),
            (EntryKind::Scheme, _) => "A scheme of the language.".to_owned(),
            (EntryKind::Word, _) if self.is_word() => "A word of the language.".to_owned(),
            (EntryKind::Word, _) => "A mark of the language.".to_owned(),
        }
    }

    /// Whether it is a word, not a mark.
    pub(crate) fn is_word(&self) -> bool {
        self.name.starts_with(|first: char| first.is_ascii_alphabetic())
    }

    /// As a program writes it: a scheme has its colon.
    pub(crate) fn written(&self) -> String {
        match self.kind {
            EntryKind::Scheme => format!("{}:", self.name),
            _ => self.name.clone(),
        }
    }
}

/// Raising an error of a kind, and catching it.
fn caught(name: &str) -> String {
    format!(
        "{{ Error kind: '{name}' message: 'no' | signal }} on: '{name}' do: {{ :e | e kind }} // => {name}"
    )
}

/// Kinds of errors: those of stores in the order of statuses, then those of the kernel.
pub(crate) fn errors() -> Vec<DocEntry> {
    let of_stores =
        Kind::all().map(|kind| DocEntry::error(kind.name(), kind.meaning(), String::new()));
    let of_kernel = catalogue().topics(TopicKind::Error);
    let of_kernel =
        of_kernel.map(|topic| DocEntry::error(&topic.name, &topic.text, topic.program()));
    of_stores.chain(of_kernel).collect()
}

/// Names that each program has, by the alphabet.
pub(crate) fn names() -> Vec<DocEntry> {
    sorted(EntryKind::Name, TopicKind::Name)
}

/// Schemes of the language itself, by the alphabet.
pub(crate) fn schemes() -> Vec<DocEntry> {
    sorted(EntryKind::Scheme, TopicKind::Scheme)
}

fn sorted(kind: EntryKind, topics: TopicKind) -> Vec<DocEntry> {
    let mut entries: Vec<DocEntry> =
        catalogue().topics(topics).map(|topic| DocEntry::of_topic(kind, topic)).collect();
    entries.sort_by(|one, other| one.name.cmp(&other.name));
    entries
}

/// Words, then marks.
pub(crate) fn words() -> Vec<DocEntry> {
    WORDS.iter().map(DocEntry::of_word).collect()
}

/// All entries.
pub(crate) fn entries() -> Vec<DocEntry> {
    [errors(), names(), schemes(), words()].concat()
}

/// The entries of a name: `notFound`, `stdout`, `query:`, `→`.
pub(crate) fn find(name: &str) -> Vec<DocEntry> {
    let is = |entry: &DocEntry| entry.written() == name || entry.others.contains(&name);
    let squeezed: String = name.chars().filter(|one| !one.is_whitespace()).collect();
    let is_squeezed =
        |entry: &DocEntry| entry.kind == EntryKind::Word && entry.name.replace(' ', "") == squeezed;
    entries().into_iter().filter(|entry| is(entry) || is_squeezed(entry)).collect()
}
