//! Messages of clients of live pages: any bytes are a message within the limits, or an error. What is
//! read is written again as another client would write it, and read as the same.
#![no_main]

use libfuzzer_sys::fuzz_target;
use runnel_view::event::{
    ClientMessage, EventValue, MAX_ADDRESS, MAX_DEPTH, MAX_ENTRIES, MAX_MESSAGE, MAX_TYPE, is_address,
};
use serde_json::{Value, json};

fn written(value: &EventValue) -> Value {
    match value {
        EventValue::Null => Value::Null,
        EventValue::Flag(flag) => json!(flag),
        EventValue::Number(number) => json!(number),
        EventValue::Text(text) => json!(text),
        EventValue::List(list) => list.iter().map(written).collect(),
        EventValue::Fields(fields) => {
            fields.iter().map(|(name, value)| (name.clone(), written(value))).collect()
        }
    }
}

fn measure(value: &EventValue, depth: usize, entries: &mut usize) {
    let mut inner = |values: &mut dyn Iterator<Item = &EventValue>| {
        assert!(depth < MAX_DEPTH, "the value is too deep");
        for value in values {
            *entries += 1;
            measure(value, depth + 1, entries);
        }
    };
    match value {
        EventValue::List(list) => inner(&mut list.iter()),
        EventValue::Fields(fields) => inner(&mut fields.iter().map(|(_, value)| value)),
        EventValue::Number(number) => assert!(number.is_finite()),
        _ => {}
    }
}

fuzz_target!(|data: &[u8]| {
    let message = match ClientMessage::parse(data) {
        Ok(message) => message,
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    assert!(data.len() <= MAX_MESSAGE);
    let again = match &message {
        ClientMessage::Hello(hello) => json!(["hello", hello.view, hello.seq, hello.fingerprint]),
        ClientMessage::Event(event) => {
            assert!(event.n > 0 && event.slot.len() <= MAX_ADDRESS && is_address(&event.slot));
            assert!((1..=MAX_TYPE).contains(&event.kind.len()));
            let mut entries = 0;
            measure(&event.value, 0, &mut entries);
            assert!(entries <= MAX_ENTRIES, "the value has too many entries");
            json!([event.n, event.slot, event.kind, written(&event.value)])
        }
        ClientMessage::Shown => json!(["shown"]),
        ClientMessage::Closed(id) => json!(["closed", id]),
    };
    let again = again.to_string();
    if again.len() <= MAX_MESSAGE {
        assert_eq!(ClientMessage::parse(again.as_bytes()).as_ref(), Ok(&message), "{again}");
    }
});
