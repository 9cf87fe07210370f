//! The end of a message about an unknown name: the name that was probably meant, or those known.

use runnel_text::distance::nearest;

/// Most names that a message lists.
const NAMES_LISTED: usize = 8;

/// The fix for an unknown name: the nearest known name, otherwise a list of the known names, or
/// `none_known` without any.
pub(crate) fn name_hint<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str>,
    none_known: &str,
) -> String {
    let mut names: Vec<&str> = known.collect();
    names.sort_unstable();
    names.dedup();
    match nearest(name, names.iter().copied()) {
        Some(nearest) => format!("did you mean {nearest}?"),
        None if names.is_empty() => none_known.to_owned(),
        None if names.len() <= NAMES_LISTED => format!("there are {}", names.join(", ")),
        None => format!("there are {}, \u{2026}", names[..NAMES_LISTED].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::name_hint;

    #[test]
    fn the_nearest_name_or_a_few() {
        let known = ["year", "price"];
        let ask = |name| name_hint(name, known.into_iter(), "none");
        assert_eq!(ask("yaer"), "did you mean year?");
        assert_eq!(ask("Year"), "did you mean year?");
        assert_eq!(ask("publisher"), "there are price, year");
        assert_eq!(name_hint("x", [].into_iter(), "none"), "none");
    }
}
