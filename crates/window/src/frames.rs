//! Frames of the program: windows open and close, properties change.

use crate::channel::{Channel, Received};
use crate::gtk::{self, main_loop};
use crate::json::elements;
use crate::notice::fail;
use crate::outbox::Outbox;
use crate::session::Session;
use crate::widgets;
use serde_json::{Value, json};
use std::rc::Rc;
use std::time::Duration;

/// Frames that are handled before the display gets its turn.
const AT_ONCE: usize = 64;

/// Reads frames from now on.
pub(crate) fn start(channel: Channel) {
    let fd = channel.fd();
    let session = Session::new(Outbox::new(channel), widgets::make);
    gtk::load_styles(widgets::STYLES);
    main_loop::when_readable(fd, move || {
        receive(&session);
        true
    });
}

fn receive(session: &Rc<Session>) {
    for _ in 0..AT_ONCE {
        match session.outbox.receive() {
            Received::Frame(frame) => handle(session, &frame),
            Received::Nothing => return,
            Received::End => std::process::exit(0),
            Received::Malformed(reason) => fail(&reason),
        }
    }
    // The rest may be read from the socket already: nothing else would tell of it.
    let session = session.clone();
    main_loop::after(Duration::ZERO, move || receive(&session));
}

fn handle(session: &Rc<Session>, frame: &Value) {
    match elements(frame) {
        [Value::String(name), rest @ ..] => match (name.as_str(), rest) {
            ("open", [node]) => open(session, node),
            ("close", []) => std::process::exit(0),
            ("close", [id]) => close(session, id),
            _ => fail(&format!("a frame begins with the unknown word `{name}`")),
        },
        [Value::Number(_), changes @ ..] if changes.len().is_multiple_of(2) => {
            for change in changes.chunks_exact(2) {
                apply(session, &change[0], &change[1]);
            }
        }
        _ => fail("a frame is neither a list of changes nor a request"),
    }
}

/// Opens a window. A node of another kind gets a window around it.
fn open(session: &Rc<Session>, node: &Value) {
    let around = json!({ "id": 0, "kind": "Window", "title": "", "children": [node] });
    let node = if node["kind"] == "Window" { node } else { &around };
    if let Some(window) = session.build(node, 0) {
        gtk::present(&window.outer);
    }
}

fn close(session: &Rc<Session>, id: &Value) {
    if let Some(window) = id.as_u64().and_then(|id| session.widget(id)) {
        session.forget(window.id);
        gtk::destroy(&window.outer);
    }
}

/// Changes a property. Changes of widgets that do not exist any more are left out.
fn apply(session: &Rc<Session>, slot: &Value, value: &Value) {
    let slot = slot.as_str().unwrap_or(".");
    if slot.is_empty() {
        if let Some(handled) = value["ack"].as_u64() {
            session.settle(handled);
        }
        return;
    }
    let found = slot.split_once('.').and_then(|(id, name)| Some((id.parse().ok()?, name)));
    let Some((id, property)) = found else { return fail("a slot is an id and a property") };
    if let Some(widget) = session.widget(id) {
        session.apply(&widget, property, value);
    }
}
