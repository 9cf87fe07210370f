//! Which characters mean what.

/// Begins a name.
pub(crate) fn begins_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_'
}

/// Continues a name; minus and dot do so only before one of these.
pub(crate) fn continues_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// A letter beyond ASCII: a name of its own, such as `π`.
pub(crate) fn is_letter_beyond_ascii(c: char) -> bool {
    !c.is_ascii() && c.is_alphabetic()
}

/// White space, the no-break space and the byte order mark included. Control characters separate
/// too: they are reported once for the whole text.
pub(crate) fn is_space(c: char) -> bool {
    if c.is_ascii() {
        return c == ' ' || c.is_ascii_control();
    }
    c.is_whitespace() || c.is_control() || matches!(c, '\u{feff}' | '\u{200b}') || is_direction(c)
}

/// Characters that change the direction of writing: they can make a text look like another one
/// ("Trojan Source", CVE-2021-42574).
pub(crate) fn is_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Not to be found in a program: control characters and changes of direction.
pub(crate) fn is_forbidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\n' | '\r' | '\t')) || is_direction(c)
}

/// Ends the path of a reference.
pub(crate) fn ends_path(c: char) -> bool {
    is_space(c) || matches!(c, ')' | ']' | '}' | ',' | ';' | '|' | '[' | '\'' | '"')
}

/// May be part of an operator of several characters.
pub(crate) fn is_operator(c: char) -> bool {
    matches!(c, '+' | '*' | '/' | '<' | '>' | '=' | '&' | '%' | '~' | '@' | '!')
        || is_single_operator(c)
}

/// An operator on its own.
pub(crate) fn is_single_operator(c: char) -> bool {
    matches!(c, '≤' | '≥' | '≠' | '÷' | '×' | '·')
}

/// A quotation mark that delimits plain text.
pub(crate) fn is_quote(c: char) -> bool {
    matches!(c, '\'' | '‘' | '’')
}
