//! Tests of the outbox, with a client that applies what it is sent.

use super::*;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::collections::BTreeMap;

fn address(slot: &str) -> Address {
    slot.into()
}

/// All frames that are due, with lists rendered as `"whole"`.
fn frames(outbox: &mut Outbox) -> Vec<String> {
    let mut frames = Vec::new();
    loop {
        let mut out = String::new();
        match outbox.next(&mut out, |_| Some(Encoded::text("whole"))) {
            NextFrame::Frame => frames.push(out),
            NextFrame::Nothing => return frames,
            NextFrame::Page => {
                frames.push("page".into());
                outbox.control(ViewControl {
                    page: Some(Encoded::text("")),
                    ..ViewControl::default()
                });
            }
        }
    }
}

fn delete(ids: std::ops::Range<u32>) -> Vec<Operation> {
    ids.map(|id| Operation::Delete { id }).collect()
}

#[test]
fn the_latest_value_of_a_slot_is_sent() {
    let mut outbox = Outbox::new();
    for count in 0..100 {
        outbox.set(&address("1"), Encoded::number(f64::from(count)));
        outbox.set(&address("2"), Encoded::text("x"));
    }
    assert!(outbox.is_due());
    assert_eq!(frames(&mut outbox), [r#"[1,"1",99,"2","x"]"#]);
    assert!(!outbox.is_due());
    assert_eq!(frames(&mut outbox), Vec::<String>::new());
}

#[test]
fn new_content_makes_nested_values_stale() {
    let mut outbox = Outbox::new();
    outbox.set(&address("3.1"), Encoded::text("old"));
    outbox.set(&address("31"), Encoded::text("other"));
    outbox.set(&address("3"), Encoded::text("new"));
    outbox.set(&address("3.2"), Encoded::text("newer"));
    assert_eq!(frames(&mut outbox), [r#"[1,"31","other","3","new","3.2","newer"]"#]);
    outbox.set(&address("5.7.1"), Encoded::text("old"));
    outbox.set(&address("5.8.1"), Encoded::text("kept"));
    outbox.change_list(&address("5"), delete(7..8));
    assert_eq!(frames(&mut outbox), [r#"[2,"5.8.1","kept","5",[["-",7]]]"#]);
}

#[test]
fn a_list_with_many_steps_is_sent_whole() {
    let mut outbox = Outbox::new();
    outbox.change_list(&address("5"), delete(1..3));
    outbox.change_list(&address("5"), delete(3..4));
    assert_eq!(frames(&mut outbox), [r#"[1,"5",[["-",1],["-",2],["-",3]]]"#]);
    outbox.set(&address("5.9.1"), Encoded::text("stale"));
    for id in 0..=WAITING_STEPS as u32 {
        outbox.change_list(&address("5"), delete(id..id + 1));
    }
    assert_eq!(frames(&mut outbox), [r#"[2,"5","whole"]"#]);
    outbox.change_list(&address("5"), delete(0..1000));
    assert_eq!(frames(&mut outbox), [r#"[3,"5","whole"]"#]);
    outbox.change_list(&address("5"), Vec::new());
    assert!(!outbox.is_due());
}

#[test]
fn a_list_that_is_gone_is_not_sent() {
    let mut outbox = Outbox::new();
    outbox.change_list(&address("5"), delete(0..1000));
    let mut out = String::new();
    assert_eq!(outbox.next(&mut out, |_| None), NextFrame::Nothing);
    assert_eq!((out.as_str(), outbox.seq()), ("", 0));
}

#[test]
fn too_much_becomes_a_page() {
    let mut outbox = Outbox::new();
    for slot in 0..=WAITING_SLOTS {
        outbox.set(&address(&slot.to_string()), Encoded::text("x"));
    }
    assert_eq!(frames(&mut outbox), ["page", r#"[1,"",{"page":""}]"#]);
    let large = Encoded::text(&"x".repeat(WAITING_BYTES));
    outbox.set(&address("1"), large);
    outbox.set(&address("2"), Encoded::text("in the page"));
    outbox.acknowledge(4);
    assert_eq!(frames(&mut outbox), ["page", r#"[2,"",{"page":"","ack":4}]"#]);
}

#[test]
fn a_client_that_comes_back_gets_the_rest() {
    let mut outbox = Outbox::new();
    let mut sent = Vec::new();
    for count in 1..=10 {
        outbox.set(&address("1"), Encoded::number(f64::from(count)));
        outbox.acknowledge(count as u64);
        sent.extend(frames(&mut outbox));
    }
    outbox.set(&address("1"), Encoded::text("waits"));
    assert!(outbox.resume(7));
    let again = frames(&mut outbox);
    assert_eq!(again[..3], sent[7..]);
    assert_eq!(again[3..], [r#"[11,"",{"ack":10},"1","waits"]"#]);
    assert!(outbox.resume(11));
    assert_eq!(frames(&mut outbox), [r#"[12,"",{"ack":10}]"#]);
    assert!(!outbox.resume(13), "it has frames that were never sent");
}

#[test]
fn what_is_kept_is_bounded() {
    let mut outbox = Outbox::new();
    for _ in 0..200 {
        outbox.set(&address("1"), Encoded::text("x"));
        frames(&mut outbox);
    }
    assert_eq!(outbox.sent.len(), KEPT_FRAMES);
    assert!(outbox.resume(200 - KEPT_FRAMES as u64));
    assert_eq!(frames(&mut outbox).len(), KEPT_FRAMES + 1);
    assert!(!outbox.resume(200 - KEPT_FRAMES as u64), "the acknowledgement took a place");
    assert_eq!(frames(&mut outbox)[0], "page");
    for _ in 0..10 {
        outbox.set(&address("1"), Encoded::text(&"x".repeat(KEPT_BYTES / 4)));
        frames(&mut outbox);
    }
    assert!(outbox.sent_bytes <= KEPT_BYTES && outbox.sent.len() == 3, "{}", outbox.sent.len());
    outbox.set(&address("1"), Encoded::text(&"x".repeat(KEPT_BYTES)));
    frames(&mut outbox);
    assert_eq!((outbox.sent.len(), outbox.sent_bytes), (0, 0));
    assert!(outbox.resume(outbox.seq()));
    assert!(!outbox.resume(outbox.seq() - 1));
}

#[test]
fn an_idle_view_is_small() {
    let entries = KEPT_FRAMES * size_of::<(u64, SlotEntry)>();
    assert!(size_of::<Outbox>() + entries <= 4096, "{}", size_of::<Outbox>() + entries);
}

/// A view without markup: the values of slots, and the items of lists.
#[derive(Clone, Debug, Default, PartialEq)]
struct ModelView {
    values: BTreeMap<String, Value>,
    lists: BTreeMap<String, Vec<u32>>,
}

impl ModelView {
    fn forget(&mut self, scope: &str) {
        let inside = |slot: &String| slot.starts_with(&format!("{scope}."));
        self.values.retain(|slot, _| !inside(slot));
        self.lists.retain(|slot, _| !inside(slot));
    }

    fn step(&mut self, slot: &str, step: &Value) {
        let id = step[1].as_u64().unwrap() as u32;
        let scope = format!("{slot}.{id}");
        let list = self.lists.entry(slot.into()).or_default();
        if step[0] != "~" {
            list.retain(|item| *item != id);
        }
        if step[0] == "+" || step[0] == ">" {
            let before = step[2].as_u64().unwrap() as u32;
            let at = list.iter().position(|item| *item == before).unwrap_or(list.len());
            list.insert(at, id);
        }
        if step[0] != ">" {
            self.forget(&scope);
            self.values.remove(&scope);
        }
        match step[0].as_str() {
            Some("+") => self.values.insert(scope, step[3].clone()),
            Some("~") => self.values.insert(scope, step[2].clone()),
            _ => None,
        };
    }

    /// Everything, or what lies in a list, as text.
    fn text(&self, scope: Option<&str>) -> String {
        let inside =
            |slot: &&String| scope.is_none_or(|scope| slot.starts_with(&format!("{scope}.")));
        let values: BTreeMap<_, _> = self.values.iter().filter(|(slot, _)| inside(slot)).collect();
        let lists: BTreeMap<_, _> = self
            .lists
            .iter()
            .filter(|(slot, _)| inside(slot) || Some(slot.as_str()) == scope)
            .collect();
        json!([values, lists]).to_string()
    }

    fn read(&mut self, text: &str) {
        let parts: Value = serde_json::from_str(text).unwrap();
        for (slot, value) in parts[0].as_object().unwrap() {
            self.values.insert(slot.clone(), value.clone());
        }
        for (slot, list) in parts[1].as_object().unwrap() {
            let ids = list.as_array().unwrap().iter().map(|id| id.as_u64().unwrap() as u32);
            self.lists.insert(slot.clone(), ids.collect());
        }
    }

    fn apply(&mut self, frame: &str) -> u64 {
        let frame: Vec<Value> = serde_json::from_str(frame).unwrap();
        for pair in frame[1..].chunks(2) {
            let slot = pair[0].as_str().unwrap();
            match &pair[1] {
                Value::Object(control) => {
                    if let Some(page) = control.get("page") {
                        *self = ModelView::default();
                        self.read(page.as_str().unwrap());
                    }
                }
                Value::Array(steps) => {
                    for step in steps {
                        self.step(slot, step);
                    }
                }
                Value::String(text) if text.starts_with('[') => {
                    self.forget(slot);
                    self.read(text);
                }
                value => {
                    self.forget(slot);
                    self.values.insert(slot.into(), value.clone());
                }
            }
        }
        frame[0].as_u64().unwrap()
    }
}

#[derive(Clone, Debug)]
enum Act {
    Set(usize, u8),
    Steps(usize, Vec<(u8, u32, u32)>),
    Send,
    Lose(u8),
}

const VALUES: [&str; 6] = ["1", "2", "2.1", "2.3", "5.1.1", "5.2.3.2.1"];
const LISTS: [&str; 3] = ["5", "2.4", "5.2.3"];

fn act() -> impl Strategy<Value = Act> {
    let step = (0..4_u8, 1..4_u32, 0..4_u32);
    prop_oneof![
        4 => (0..VALUES.len(), any::<u8>()).prop_map(|(slot, value)| Act::Set(slot, value)),
        4 => (0..LISTS.len(), proptest::collection::vec(step, 1..200))
            .prop_map(|(list, steps)| Act::Steps(list, steps)),
        2 => Just(Act::Send),
        1 => (0..70_u8).prop_map(Act::Lose),
    ]
}

/// Random steps as those of a list that the server keeps: only what can be done.
fn steps(server: &mut ModelView, slot: &str, wanted: &[(u8, u32, u32)]) -> Vec<Operation> {
    let mut done = Vec::new();
    for (kind, id, before) in wanted.iter().copied() {
        let list = server.lists.entry(slot.into()).or_default();
        let before = if before != id && list.contains(&before) { before } else { 0 };
        let content = Encoded::text(&format!("{kind}{id}{}", done.len()));
        let step = match (list.contains(&id), kind) {
            (false, _) => Operation::Insert { id, before, content },
            (true, 0) => Operation::Delete { id },
            (true, 1) => Operation::Replace { id, content },
            (true, _) => Operation::Move { id, before },
        };
        let mut out = String::new();
        FrameWriter::new(&mut out, 0).operations(slot, std::slice::from_ref(&step));
        server.apply(&format!("{out}]"));
        done.push(step);
    }
    done
}

fn send(outbox: &mut Outbox, server: &ModelView, client: &mut ModelView, last: &mut u64) {
    let mut out = String::new();
    let whole = |slot: &str| Some(Encoded::text(&server.text(Some(slot))));
    match outbox.next(&mut out, whole) {
        NextFrame::Nothing => {}
        NextFrame::Frame => *last = client.apply(&out),
        NextFrame::Page => {
            let page = Some(Encoded::text(&server.text(None)));
            outbox.control(ViewControl { page, ..ViewControl::default() });
        }
    }
}

proptest! {
    #[test]
    fn a_client_shows_what_the_server_has(acts in proptest::collection::vec(act(), 0..60)) {
        let (mut outbox, mut server, mut client) = (Outbox::new(), ModelView::default(), ModelView::default());
        // Every state that the client had, by its last frame.
        let mut states = vec![(0, client.clone())];
        let mut last = 0;
        for act in acts {
            match act {
                Act::Set(slot, value) => {
                    let (slot, value) = (VALUES[slot], Encoded::number(f64::from(value)));
                    server.forget(slot);
                    server.values.insert(slot.into(), serde_json::from_str(value.as_str()).unwrap());
                    outbox.set(&address(slot), value);
                }
                Act::Steps(list, wanted) => {
                    let done = steps(&mut server, LISTS[list], &wanted);
                    outbox.change_list(&address(LISTS[list]), done);
                }
                Act::Send => {
                    send(&mut outbox, &server, &mut client, &mut last);
                    states.push((last, client.clone()));
                }
                Act::Lose(frames) => {
                    // The connection was cut, and the last frames did not arrive.
                    let at = states.len().saturating_sub(usize::from(frames) + 1);
                    states.truncate(at + 1);
                    (last, client) = states[at].clone();
                    outbox.resume(last);
                }
            }
        }
        while outbox.is_due() {
            send(&mut outbox, &server, &mut client, &mut last);
        }
        let empty = |lists: &mut BTreeMap<String, Vec<u32>>| lists.retain(|_, list| !list.is_empty());
        empty(&mut server.lists);
        empty(&mut client.lists);
        prop_assert_eq!(client, server);
    }
}
