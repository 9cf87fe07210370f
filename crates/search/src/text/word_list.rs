//! Word lists: many words in one buffer, without an allocation for each.

/// A range of a text buffer, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TextSpan {
    pub(crate) start: u32,
    pub(crate) end: u32,
}

impl TextSpan {
    pub(crate) fn slice(self, text: &str) -> &str {
        &text[self.start as usize..self.end as usize]
    }

    pub(crate) fn len(self) -> usize {
        (self.end - self.start) as usize
    }
}

/// A list of words. Texts are limited far below 4 GiB.
#[derive(Clone, Debug, Default)]
pub(crate) struct WordList {
    text: String,
    spans: Vec<TextSpan>,
}

impl WordList {
    pub(crate) fn clear(&mut self) {
        self.text.clear();
        self.spans.clear();
    }

    pub(crate) fn push(&mut self, word: &str) {
        let start = self.text.len() as u32;
        self.text.push_str(word);
        self.spans.push(TextSpan { start, end: self.text.len() as u32 });
    }

    /// Appends a word in lower case, character by character, so that a final sigma equals an inner
    /// one.
    pub(crate) fn push_lowercase(&mut self, word: &str) {
        let start = self.text.len();
        if word.is_ascii() {
            self.text.push_str(word);
            self.text[start..].make_ascii_lowercase();
        } else {
            self.text.extend(word.chars().flat_map(char::to_lowercase));
        }
        self.spans.push(TextSpan { start: start as u32, end: self.text.len() as u32 });
    }

    /// Removes the words after `start` that are not wanted.
    pub(crate) fn retain_from(&mut self, start: usize, wanted: impl Fn(&str) -> bool) {
        let WordList { text, spans } = self;
        let mut number = 0;
        spans.retain(|span| {
            number += 1;
            number <= start || wanted(span.slice(text))
        });
    }

    pub(crate) fn len(&self) -> usize {
        self.spans.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &str> {
        self.spans.iter().map(|span| span.slice(&self.text))
    }
}

/// The start of a text, at most `limit` characters long.
pub(crate) fn first_characters(text: &str, limit: usize) -> &str {
    if text.len() <= limit {
        return text;
    }
    match text.char_indices().nth(limit) {
        Some((end, _)) => &text[..end],
        None => text,
    }
}
