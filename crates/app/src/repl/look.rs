//! How the prompt looks: its marks, and colours by the parser's tokens.

use reedline::{
    Color, Highlighter, Prompt, PromptEditMode, PromptHistorySearch, PromptHistorySearchStatus,
    StyledText, ValidationResult, Validator,
};
use runnel_syntax::{TokenKind, is_incomplete, tokens};
use std::borrow::Cow;

/// Before a statement.
pub(crate) const MARK: &str = "] ";
/// The prompt of continuation lines.
pub(crate) const CONTINUED: &str = "*] ";

/// The marks of the prompt.
pub(crate) struct Marks;

impl Prompt for Marks {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        MARK.into()
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        "".into()
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        "".into()
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        CONTINUED.into()
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        let found = match search.status {
            PromptHistorySearchStatus::Passing => "",
            PromptHistorySearchStatus::Failing => "not ",
        };
        format!("({found}found: {}) ", search.term).into()
    }

    fn get_prompt_color(&self) -> Color {
        Color::Default
    }

    fn get_prompt_multiline_color(&self) -> reedline::Color {
        Color::Default
    }
}

/// A statement that could go on is asked for more lines.
pub(crate) struct Complete;

impl Validator for Complete {
    fn validate(&self, line: &str) -> ValidationResult {
        let is_statement =
            !line.trim_start().starts_with('!') && super::help::asked(line).is_none();
        match is_statement && is_incomplete(line) {
            true => ValidationResult::Incomplete,
            false => ValidationResult::Complete,
        }
    }
}

/// Colours by the parser's tokens.
pub(crate) struct Colours;

impl Highlighter for Colours {
    fn highlight(&self, line: &str, _: usize) -> StyledText {
        let mut styled = StyledText::new();
        let mut end = 0;
        for token in tokens(line) {
            let (from, to) = (token.span.start as usize, token.span.end as usize);
            if from < end || line.get(from..to).is_none() {
                continue;
            }
            styled.push((Color::Default.normal(), line[end..from].to_string()));
            styled.push((colour(token.kind).normal(), line[from..to].to_string()));
            end = to;
        }
        styled.push((Color::Default.normal(), line[end..].to_string()));
        styled
    }
}

fn colour(kind: TokenKind) -> Color {
    match kind {
        TokenKind::Definition | TokenKind::Signature | TokenKind::Caret => Color::Magenta,
        TokenKind::Keyword => Color::Blue,
        TokenKind::Scheme | TokenKind::Path => Color::Cyan,
        TokenKind::Number | TokenKind::Symbol | TokenKind::Hash => Color::Yellow,
        TokenKind::Text | TokenKind::Quote => Color::Green,
        TokenKind::Comment => Color::DarkGray,
        TokenKind::Unknown => Color::Red,
        _ => Color::Default,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_keep_the_text() {
        let line = "a := 'x' , file:/tmp/{n} // ünd";
        let styled = Colours.highlight(line, 0);
        let text: String = styled.buffer.iter().map(|(_, text)| text.as_str()).collect();
        assert_eq!(text, line);
        assert!(styled.buffer.iter().any(|(_, text)| text == "'x'"));
    }
}
