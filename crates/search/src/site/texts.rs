//! What the page says, in the languages that it knows.

/// The words of a page in one language. A `#` stands for a number.
#[derive(Debug)]
pub(crate) struct Texts {
    /// The tag of the language (RFC 5646).
    pub(crate) language: &'static str,
    pub(crate) label: &'static str,
    pub(crate) button: &'static str,
    pub(crate) none: &'static str,
    pub(crate) one: &'static str,
    pub(crate) many: &'static str,
    pub(crate) failed: &'static str,
    pub(crate) choices: &'static str,
    pub(crate) more_choices: &'static str,
    pub(crate) pages: &'static str,
    pub(crate) page: &'static str,
    pub(crate) previous: &'static str,
    pub(crate) next: &'static str,
    pub(crate) shown: &'static str,
}

static KNOWN: [Texts; 2] = [
    Texts {
        language: "en",
        label: "Search",
        button: "Search",
        none: "No results",
        one: "1 result",
        many: "# results",
        failed: "The search does not answer. Try again.",
        choices: "Which one is meant?",
        more_choices: "# more",
        pages: "Pages",
        page: "Page # of #",
        previous: "Previous results",
        next: "More results",
        shown: "# shown",
    },
    Texts {
        language: "de",
        label: "Suche",
        button: "Suchen",
        none: "Keine Treffer",
        one: "1 Treffer",
        many: "# Treffer",
        failed: "Die Suche antwortet nicht. Noch einmal versuchen.",
        choices: "Was ist gemeint?",
        more_choices: "# weitere",
        pages: "Seiten",
        page: "Seite # von #",
        previous: "Vorige Treffer",
        next: "Mehr Treffer",
        shown: "# angezeigt",
    },
];

/// The languages that a page can be in.
pub(crate) fn languages() -> impl Iterator<Item = &'static str> {
    KNOWN.iter().map(|texts| texts.language)
}

/// The words of a language.
pub(crate) fn texts(language: &str) -> Option<&'static Texts> {
    KNOWN.iter().find(|texts| texts.language == language)
}

impl Texts {
    /// How many documents there are.
    pub(crate) fn count(&self, total: usize) -> String {
        match total {
            0 => self.none.to_owned(),
            1 => self.one.to_owned(),
            _ => self.many.replacen('#', &total.to_string(), 1),
        }
    }
}
