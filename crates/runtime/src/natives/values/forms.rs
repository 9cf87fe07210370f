//! Texts against the types of variables: patterns, forms such as `email`, ranges of decimals.

use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply};
use runnel_store::{Error, Kind, TextForm, TextPattern, compare_decimals};
use std::cell::RefCell;
use std::collections::HashMap;

pub(crate) const NATIVES: [(&str, Native); 3] =
    [("matchesPattern", matches_pattern), ("hasForm", has_form), ("compareDecimals", compare)];

/// Patterns that a worker keeps compiled. A program declares each in its text.
const MAX_PATTERNS: usize = 1000;

thread_local! {
    static PATTERNS: RefCell<HashMap<Box<str>, Option<TextPattern>>> = RefCell::default();
}

/// `(pattern, text)`: whether the whole text matches.
fn matches_pattern(_: &Isolate, arguments: Arguments) -> Reply {
    let (pattern, text) = (arguments.text(1), arguments.text(2));
    let found = PATTERNS.with_borrow_mut(|known| {
        if let Some(compiled) = known.get(pattern.as_str()) {
            return compiled.as_ref().map(|compiled| compiled.matches(&text));
        }
        if known.len() >= MAX_PATTERNS {
            known.clear();
        }
        let compiled = TextPattern::new(&pattern);
        let found = compiled.as_ref().map(|compiled| compiled.matches(&text));
        known.insert(pattern.clone().into(), compiled);
        found
    });
    match found {
        Some(matches) => Reply::Now(Given::Boolean(matches)),
        None => {
            let message = format!("/{pattern}/ is no pattern, or too large a one");
            Reply::Failed(Error::new(Kind::Invalid, message))
        }
    }
}

/// `(form, text)`: whether the text has a form such as `email`.
fn has_form(_: &Isolate, arguments: Arguments) -> Reply {
    let form = TextForm::named(&arguments.text(1));
    let text = arguments.text(2);
    Reply::Now(Given::Boolean(form.is_some_and(|form| form.admits(&text))))
}

/// `(one, other)`: -1, 0 or 1, the order of two decimal numbers.
fn compare(_: &Isolate, arguments: Arguments) -> Reply {
    let order = compare_decimals(&arguments.text(1), &arguments.text(2));
    Reply::Now(Given::Number(f64::from(order as i8)))
}
