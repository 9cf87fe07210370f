//! Text as one segment of a path.

use proptest::prelude::*;
use runnel_store::{Reference, decode_segment, encode_segment};

/// Text with the characters that matter.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("/".to_owned()),
        Just("%".to_owned()),
        Just("2F".to_owned()),
        Just("25".to_owned()),
        Just("3f".to_owned()),
        Just("?".to_owned()),
        Just(".".to_owned()),
        "[a-zA-Z0-9é-]{0,3}",
        any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn any_text_is_one_segment_and_reads_back(text in text()) {
        let segment = encode_segment(&text);
        prop_assert!(!segment.contains('/'));
        prop_assert_eq!(decode_segment(&segment), text.as_str());
        let reference = Reference::from_path(format!("/above/{segment}/below"));
        let segments: Vec<&str> = reference.segments().collect();
        if !text.is_empty() {
            prop_assert_eq!(segments, vec!["above", &*segment, "below"]);
        }
    }

    #[test]
    fn two_texts_are_two_segments(one in text(), other in text()) {
        prop_assert_eq!(one == other, encode_segment(&one) == encode_segment(&other));
    }
}

#[test]
fn what_needs_no_escape_stays() {
    for text in ["", "notes.txt", "50%", "100 %", "a?b", "%zz", "%41", "é", ".."] {
        assert_eq!(encode_segment(text), text);
    }
    assert_eq!(encode_segment("a/b"), "a%2Fb");
    assert_eq!(encode_segment("a%2Fb"), "a%252Fb");
    assert_eq!(decode_segment("a%2fb%20c%3F"), "a/b%20c?");
}
