//! The tokens of a region as one list, for recognisers.

use crate::faults::scan::{CONTINUING, Scan};
use crate::{Span, TokenKind};

/// The longest part of a program that a message repeats, in characters.
const LONGEST: usize = 40;

/// Tokens of a line behind a habit among which its parts are searched.
pub(super) const FAR: usize = 200;

/// Tokens with their lines.
pub(super) struct View<'a> {
    source: &'a str,
    region: Span,
    tokens: Vec<(TokenKind, Span)>,
    /// The closing bracket of each opening one.
    closers: Vec<Option<usize>>,
    /// The line of each token.
    line_of: Vec<usize>,
    /// The indentation, the first and the last token of each line.
    lines: Vec<(usize, usize, usize)>,
}

impl<'a> View<'a> {
    pub(super) fn new(source: &'a str, region: Span, scan: &Scan) -> Self {
        let mut view = View {
            source,
            region,
            tokens: Vec::new(),
            closers: Vec::new(),
            line_of: Vec::new(),
            lines: Vec::new(),
        };
        for line in scan.lines.iter().filter(|line| !line.tokens.is_empty()) {
            let first = view.tokens.len();
            view.tokens.extend(&line.tokens);
            view.line_of.resize(view.tokens.len(), view.lines.len());
            view.lines.push((line.indent, first, view.tokens.len() - 1));
        }
        view.pair_brackets();
        view
    }

    pub(super) fn count(&self) -> usize {
        self.tokens.len()
    }

    pub(super) fn source(&self) -> &'a str {
        self.source
    }

    /// The kind of a token; `End` behind the last.
    pub(super) fn kind(&self, at: usize) -> TokenKind {
        self.tokens.get(at).map_or(TokenKind::End, |token| token.0)
    }

    pub(super) fn span(&self, at: usize) -> Span {
        let end = Span::new(self.region.end, self.region.end);
        self.tokens.get(at).map_or(end, |token| token.1)
    }

    /// The text of a token; empty behind the last.
    pub(super) fn text(&self, at: usize) -> &'a str {
        self.span(at).text(self.source)
    }

    pub(super) fn is(&self, at: usize, kind: TokenKind) -> bool {
        self.kind(at) == kind
    }

    /// Whether the token is this word or operator.
    pub(super) fn is_word(&self, at: usize, word: &str) -> bool {
        self.text(at) == word
    }

    /// Whether the token is one of the words.
    pub(super) fn is_one_of(&self, at: usize, words: &[&str]) -> bool {
        words.contains(&self.text(at))
    }

    /// Whether nothing stands between a token and the one before.
    pub(super) fn touches(&self, at: usize) -> bool {
        at > 0 && self.span(at - 1).end == self.span(at).start
    }

    /// Whether a token is on the line of the one before.
    pub(super) fn on_same_line(&self, at: usize) -> bool {
        at > 0 && at < self.count() && self.line_of[at] == self.line_of[at - 1]
    }

    /// Whether a statement may begin with a token.
    pub(super) fn begins(&self, at: usize) -> bool {
        !self.on_same_line(at)
            || matches!(
                self.kind(at - 1),
                TokenKind::Period
                    | TokenKind::OpenBrace
                    | TokenKind::CloseBrace
                    | TokenKind::Semicolon
                    | TokenKind::Bar
            )
    }

    /// The last token of the line of a token.
    pub(super) fn line_last(&self, at: usize) -> usize {
        self.line_of.get(at).map_or(at, |line| self.lines[*line].2)
    }

    /// Where the line of a token begins.
    pub(super) fn line_start(&self, at: usize) -> u32 {
        self.line_of.get(at).map_or(0, |line| self.span(self.lines[*line].1).start)
    }

    /// Where the line of a token ends.
    pub(super) fn line_end(&self, at: usize) -> u32 {
        self.span(self.line_last(at)).end
    }

    /// Where a statement with a body ends that begins on the line of a token: behind the lines that
    /// are indented more, and those that close it or continue it.
    pub(super) fn body_end(&self, at: usize) -> u32 {
        let Some(first) = self.line_of.get(at).copied() else { return self.region.end };
        let indent = self.lines[first].0;
        let belongs = |line: &&(usize, usize, usize)| {
            let word = self.text(line.1).trim_end_matches(':');
            line.0 > indent
                || (line.0 == indent
                    && (self.kind(line.1).closes()
                        || self.is(line.1, TokenKind::OpenBrace)
                        || CONTINUING.contains(&word)))
        };
        let last = self.lines[first + 1..].iter().take_while(belongs).last();
        self.span(last.unwrap_or(&self.lines[first]).2).end
    }

    /// The bracket that closes the one at a token.
    pub(super) fn closer(&self, at: usize) -> Option<usize> {
        self.closers.get(at).copied().flatten()
    }

    /// Pairs all brackets at once, so that nested ones do not take quadratic time.
    fn pair_brackets(&mut self) {
        self.closers = vec![None; self.tokens.len()];
        let mut open: Vec<(usize, TokenKind)> = Vec::new();
        for (at, (kind, _)) in self.tokens.iter().enumerate() {
            if let Some(closer) = kind.closer() {
                open.push((at, closer));
            } else if kind.closes() {
                match open.pop() {
                    Some((opener, closer)) if closer == *kind => self.closers[opener] = Some(at),
                    // All that are open around a bracket of another kind have no pair.
                    _ => open.clear(),
                }
            }
        }
    }

    /// The text from one token up to another, which is not part of it, if a message can show it.
    pub(super) fn shown(&self, from: usize, to: usize) -> Option<String> {
        if from >= to || to > self.count() {
            return None;
        }
        let text = Span::new(self.span(from).start, self.span(to - 1).end).text(self.source);
        let fits = text.chars().nth(LONGEST).is_none() && !text.contains(['\n', '`']);
        fits.then(|| text.to_owned())
    }

    /// The parts between the brackets of two tokens, at their commas.
    pub(super) fn arguments(&self, open: usize, close: usize) -> Vec<(usize, usize)> {
        let mut parts = Vec::new();
        let (mut depth, mut from) = (0_u32, open + 1);
        for at in open + 1..close {
            match self.kind(at) {
                TokenKind::Comma if depth == 0 => {
                    parts.push((from, at));
                    from = at + 1;
                }
                kind if kind.closer().is_some() => depth += 1,
                kind if kind.closes() => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        if from < close {
            parts.push((from, close));
        }
        parts
    }

    /// The first token behind `at` on its line for which the condition holds.
    pub(super) fn find_on_line(&self, at: usize, is: impl Fn(usize) -> bool) -> Option<usize> {
        (at + 1..=self.line_last(at).min(at + FAR)).find(|next| is(*next))
    }
}
