//! Patterns in the syntax of ECMA-262.

use proptest::prelude::*;
use runnel_openapi::{decimal_pattern, ecma_pattern};
use runnel_store::{TextPattern, compare_decimals};
use std::cmp::Ordering;

#[test]
fn whole_texts_match() {
    assert_eq!(ecma_pattern("[a-z0-9-]+").unwrap(), r"^[a-z0-9\-]+$");
    assert_eq!(ecma_pattern("a|b").unwrap(), "^(?:a|b)$");
    assert_eq!(ecma_pattern(r"\Aab\z").unwrap(), "^^ab$$");
    assert_eq!(ecma_pattern("").unwrap(), "^$");
}

#[test]
fn groups_lose_their_names_and_flags_are_written_out() {
    assert_eq!(
        ecma_pattern("(?P<year>[0-9]{4})-(?<month>..)").unwrap(),
        r"^(?:(?:[0-9]{4})-(?:[^\n][^\n]))$"
    );
    assert_eq!(ecma_pattern("(?i)ab1").unwrap(), "^(?:[Aa][Bb]1)$");
    assert_eq!(ecma_pattern("a(?i:b)c").unwrap(), "^a(?:[Bb])c$");
    assert_eq!(ecma_pattern("a(?s).").unwrap(), r"^a[\s\S]$");
    assert_eq!(ecma_pattern("(?x) a b # two").unwrap(), "^(?:ab)$");
    assert_eq!(ecma_pattern("a+?b{2,}?").unwrap(), "^a+b{2,}$");
}

#[test]
fn classes_are_written_as_ecma_reads_them() {
    assert_eq!(ecma_pattern(r"[\w.-]+@\d{2}").unwrap(), r"^[\w.\-]+@\d{2}$");
    assert_eq!(ecma_pattern(r"\pL\p{Lu}\PN").unwrap(), r"^\p{L}\p{Lu}\P{N}$");
    assert_eq!(ecma_pattern("[a-z&&[^aeiou]]").unwrap(), "^[b-df-hj-np-tv-z]$");
    assert_eq!(ecma_pattern("[[:digit:]]").unwrap(), "^[0-9]$");
    assert_eq!(ecma_pattern(r"\x41\/\.\-").unwrap(), r"^A\/\.-$");
}

#[test]
fn what_ecma_cannot_say_is_left_out() {
    for pattern in ["(?m)^a$", "(", r"\p{Alphabetic}", "(?-u)a"] {
        assert_eq!(ecma_pattern(pattern), None, "{pattern}");
    }
}

#[test]
fn limits_of_decimal_numbers_are_patterns() {
    assert_eq!(
        decimal_pattern(Some("0"), None).unwrap(),
        r"^(?:\+?0*(?:[0-9](?:\.[0-9]+)?|[1-9][0-9]{1,}(?:\.[0-9]+)?))$"
    );
    assert_eq!(
        decimal_pattern(Some("0.5"), Some("12")).unwrap(),
        r"^(?:\+?0*(?:[1-9]|1[0-2]|0\.[5-9][0-9]*|[1-9]\.[0-9][0-9]*|1[0-1]\.[0-9][0-9]*|12\.00*))$"
    );
    assert_eq!(decimal_pattern(Some("one"), None), None);
    assert_eq!(decimal_pattern(Some("1234567890.123456"), None), None, "too long");
}

fn arbitrary_decimal() -> impl Strategy<Value = String> {
    let sign = prop::sample::select(vec!["", "", "-", "+"]);
    (sign, "0{0,2}[0-9]{1,3}", prop::option::of("[0-9]{1,3}")).prop_map(
        |(sign, whole, fraction)| {
            fraction
                .map_or(format!("{sign}{whole}"), |fraction| format!("{sign}{whole}.{fraction}"))
        },
    )
}

proptest! {
    #[test]
    fn a_decimal_matches_where_it_is_within_the_limits(
        ends in (prop::option::of(arbitrary_decimal()), prop::option::of(arbitrary_decimal())),
        numbers in prop::collection::vec(arbitrary_decimal(), 8),
    ) {
        let (least, most) = (ends.0.as_deref(), ends.1.as_deref());
        let empty = least.zip(most).is_some_and(|(least, most)| {
            compare_decimals(least, most) == Ordering::Greater
        });
        prop_assume!(!empty);
        let pattern = decimal_pattern(least, most).unwrap();
        let matcher = TextPattern::new(&pattern).unwrap();
        // The limits themselves, and numbers near them.
        let near = [least, most].into_iter().flatten().flat_map(|end| {
            let more = if end.contains('.') { format!("{end}1") } else { format!("{end}.001") };
            [end.to_string(), more]
        });
        for number in numbers.into_iter().chain(near) {
            let within = least.is_none_or(|end| compare_decimals(&number, end) != Ordering::Less)
                && most.is_none_or(|end| compare_decimals(&number, end) != Ordering::Greater);
            // No client writes zero with a sign.
            let zero = compare_decimals(&number, "0") == Ordering::Equal;
            if !(zero && number.starts_with('-')) {
                prop_assert_eq!(matcher.matches(&number), within, "{} in {}", number, pattern);
            }
        }
    }
}
