//! JSON text to values and back.

use proptest::prelude::*;
use runnel_store::{Kind, Value, json};

fn written(value: &Value) -> String {
    String::from_utf8(json::text(value)).unwrap()
}

fn read(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn values() {
    let check = |text: &str, expected: Value| assert_eq!(read(text), expected, "{text}");
    check(" null ", Value::Nil);
    check("\u{feff}true", Value::Bool(true));
    check("false", Value::Bool(false));
    check("\"\"", "".into());
    check("-0", Value::Int(0));
    check("9223372036854775807", Value::Int(i64::MAX));
    check("-9223372036854775808", Value::Int(i64::MIN));
    check("9223372036854775808", Value::Big("9223372036854775808".into()));
    check("1.0", Value::Float(1.0));
    check("1e2", Value::Float(100.0));
    check("-2.5E-3", Value::Float(-0.0025));
    check("[ ]", Value::List(vec![]));
    check("{ }", Value::Record(vec![]));
    check(
        "[1,\n\"a\" , {\"b\":[]}]",
        Value::List(vec![Value::Int(1), "a".into(), Value::record([("b", Value::List(vec![]))])]),
    );
    check(r#""\"\\\/\b\f\n\r\tA\u00e9\ud83d\ude00""#, "\"\\/\u{8}\u{c}\n\r\tAé😀".into());
}

#[test]
fn a_doubled_name_counts_once_with_its_last_value() {
    let expected = Value::record([("a", 3.into()), ("b", 2.into())]);
    assert_eq!(read(r#"{"a":1,"b":2,"a":3}"#), expected);
    let fields: Vec<String> = (0..100).map(|at| format!("\"n{}\":{at}", at % 40)).collect();
    let record = read(&format!("{{{}}}", fields.join(",")));
    let fields = record.as_record().unwrap();
    assert_eq!(fields.len(), 40);
    assert_eq!(fields[0], ("n0".to_string(), Value::Int(80)));
    assert_eq!(fields[39], ("n39".to_string(), Value::Int(79)));
}

#[test]
fn faults_name_their_place() {
    let check = |text: &[u8], expected: &str| {
        let error = json::parse(text).unwrap_err();
        assert_eq!(error.kind, Kind::Invalid);
        assert_eq!(
            error.message,
            format!("JSON, {expected}"),
            "{:?}",
            String::from_utf8_lossy(text)
        );
    };
    check(b"", "line 1, column 1: there is no JSON here; an empty value is written null");
    check(
        b"{\n  \"a\": 1,\n}",
        "line 3, column 1: found `}`, expected a name; perhaps there is a comma too many",
    );
    check(
        b"[1,]",
        "line 1, column 4: found `]`, expected a value; perhaps there is a comma too many",
    );
    check(b"[1 2]", "line 1, column 4: found `2`, expected `,` or `]` after an element");
    check(
        "[\"é\" 2]".as_bytes(),
        "line 1, column 6: found `2`, expected `,` or `]` after an element",
    );
    check(b"{\"a\" 1}", "line 1, column 6: found `1`, expected `:` after a name");
    check(b"{a:1}", "line 1, column 2: found `a`, expected a name in double quotes");
    check(b"{\"a\":1", "line 1, column 7: the text ends, expected `,` or `}` after a value");
    check(
        b"'a'",
        "line 1, column 1: found `'`, expected a value; JSON text stands in double quotes",
    );
    check(b"tru", "line 1, column 1: found `t`, expected a value; perhaps `true`");
    check(b"1 2", "line 1, column 3: found `2`, expected the end of the text after the value");
    check(b"01", "line 1, column 1: a number with a leading zero; leave the zero out");
    check(b"1.", "line 1, column 3: the text ends, expected a digit after the decimal point");
    check(b"-", "line 1, column 2: the text ends, expected a digit");
    check(b"1e", "line 1, column 3: the text ends, expected a digit in the exponent");
    check(b"1e999", "line 1, column 1: a number too large for a float; write it without exponent");
    check(b"[\"a", "line 1, column 2: a text that begins here and does not end; close it");
    check(b"\"a\nb\"", "line 1, column 3: a raw control character in a text; write it \\u000a");
    check(
        b"\"\\x\"",
        "line 1, column 2: an unknown escape; JSON has \\\" \\\\ \\/ \\b \\f \\n \\r \\t \\u",
    );
    check(b"\"\\u12g4\"", "line 1, column 2: \\u needs four hexadecimal digits");
    for half in ["\\ud83d", "\\ud83d\\u0041", "\\ude00", "\\ud83dx"] {
        let text = format!("\"{half}\"");
        check(
            text.as_bytes(),
            "line 1, column 2: half a surrogate pair; characters beyond \\uffff need both halves",
        );
    }
    check(b"[1,\n\"\xff\"]", "line 2, column 2: a byte that is not UTF-8; send JSON as UTF-8");
}

#[test]
fn limits() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(json::parse(nested(json::MAX_DEPTH).as_bytes()).is_ok());
    let error = json::parse(nested(json::MAX_DEPTH + 1).as_bytes()).unwrap_err();
    assert_eq!(error.kind, Kind::TooLarge);
    assert!(error.message.contains("line 1, column 129"), "{error}");
    assert_eq!(json::parse(nested(1_000_000).as_bytes()).unwrap_err().kind, Kind::TooLarge);
    let digits = "9".repeat(json::MAX_DIGITS);
    assert_eq!(read(&digits), Value::Big(digits.clone().into()));
    assert_eq!(json::parse(format!("{digits}0").as_bytes()).unwrap_err().kind, Kind::TooLarge);
}

#[test]
fn writing() {
    let value = Value::record([
        ("float", Value::Float(1.0)),
        ("nan", Value::Float(f64::NAN)),
        ("infinite", Value::Float(f64::NEG_INFINITY)),
        ("bytes", Value::Bytes(b"\xff".as_slice().into())),
        ("text", "a\"b\\c\u{1}é\n/".into()),
    ]);
    let expected =
        r#"{"float":1.0,"nan":null,"infinite":null,"bytes":"/w==","text":"a\"b\\c\u0001é\n/"}"#;
    assert_eq!(written(&value), expected);
    assert_eq!(written(&"\u{7f}\u{2028}".into()), "\"\u{7f}\u{2028}\"");
    for (bytes, expected) in
        [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg==")]
    {
        assert_eq!(written(&Value::Bytes(bytes.into())), format!("\"{expected}\""));
    }
}

/// Values that JSON can say, with integers of any size and all kinds of text.
fn any_value() -> impl Strategy<Value = Value> {
    let finite = any::<f64>().prop_filter("JSON has no such number", |number| number.is_finite());
    let leaf = prop_oneof![
        Just(Value::Nil),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        "-?[1-9][0-9]{19,60}".prop_map(|digits| Value::Big(digits.into())),
        finite.prop_map(Value::Float),
        any::<String>().prop_map(Value::Text),
        "[\\x00-\\x1f\"\\\\a-c]{0,40}".prop_map(Value::Text),
    ];
    leaf.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::List),
            prop::collection::vec((any::<String>(), inner), 0..24).prop_map(Value::record),
        ]
    })
}

/// What a widely used reader makes of the same text, as a value.
fn from_oracle(value: &serde_json::Value) -> Value {
    match value {
        serde_json::Value::Null => Value::Nil,
        serde_json::Value::Bool(value) => Value::Bool(*value),
        serde_json::Value::Number(number) => {
            let text = number.to_string();
            match text.parse::<i64>() {
                Ok(number) => Value::Int(number),
                Err(_) if text.contains(['.', 'e', 'E']) => Value::Float(text.parse().unwrap()),
                Err(_) => Value::Big(text.into()),
            }
        }
        serde_json::Value::String(text) => text.as_str().into(),
        serde_json::Value::Array(elements) => {
            Value::List(elements.iter().map(from_oracle).collect())
        }
        serde_json::Value::Object(fields) => {
            Value::record(fields.iter().map(|(name, value)| (name.clone(), from_oracle(value))))
        }
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(value in any_value()) {
        prop_assert_eq!(&read(&written(&value)), &value);
    }

    #[test]
    fn another_reader_agrees(value in any_value()) {
        let other: serde_json::Value = serde_json::from_slice(&json::text(&value)).unwrap();
        prop_assert_eq!(from_oracle(&other), value);
    }

    #[test]
    fn escapes_of_another_writer_are_read(text in any::<String>()) {
        let escaped: String = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
        prop_assert_eq!(read(&format!("\"{escaped}\"")), Value::Text(text));
    }

    #[test]
    fn no_input_panics(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let _ = json::parse(&bytes);
    }

    #[test]
    fn broken_text_is_refused_where_another_reader_refuses_it(
        value in any_value(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut text = json::text(&value);
        let at = at.index(text.len());
        text[at] = byte;
        let mine = json::parse(&text);
        let other = serde_json::from_slice::<serde_json::Value>(&text);
        // The other reader keeps the text of a number, so that none is too large for it.
        let refused = mine.as_ref().err();
        let too_large = refused.is_some_and(|error| error.message.contains("for a float"));
        match (&mine, &other) {
            (Ok(mine), Ok(other)) => prop_assert_eq!(mine, &from_oracle(other)),
            (mine, other) => prop_assert!(
                too_large || mine.is_ok() == other.is_ok(), "{}", String::from_utf8_lossy(&text)
            ),
        }
    }
}

#[test]
fn bytes_are_written_as_the_text_that_they_are() {
    for length in 0..20 {
        for (at, quote) in (0..length).flat_map(|at| (0..=length).map(move |quote| (at, quote))) {
            for byte in 0..=255 {
                let mut bytes = vec![b'a'; length + 1];
                bytes[quote] = b'"';
                bytes.truncate(length);
                bytes[at] = byte;
                let (mut written, mut expected) = (b"x".to_vec(), b"x".to_vec());
                json::write_utf8(&bytes, &mut written);
                json::write_text(&String::from_utf8_lossy(&bytes), &mut expected);
                assert_eq!(written, expected, "{bytes:?}");
            }
        }
    }
}
