//! The loop of the server. One thread reads messages, one answers them, and one does what takes longer: it checks
//! the newest state of each text and searches the folder.
//!
//! - `transport` has messages as bytes, `capabilities` what the server offers.
//! - `session` handles an `event`, `state` is what stays between them, `dispatch` chooses what answers a request.
//! - `worker` is the thread in the background.

mod capabilities;
mod dispatch;
mod event;
mod session;
mod state;
mod transport;
mod worker;

use crate::knowledge::Knowledge;
use event::Event;
use session::EditorSession;
use std::collections::VecDeque;
use std::io::{BufReader, Read, Write};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use transport::{Incoming, Outbox, read_message};
use worker::Worker;

/// Messages that were read and not yet handled; the client waits with more.
const MOST_WAITING: usize = 1_000;

/// Serves one client until it leaves; answers whether it left in order (`shutdown`, then `exit`).
pub fn serve(
    knowledge: Knowledge,
    input: impl Read + Send + 'static,
    output: impl Write + 'static,
) -> bool {
    let (sender, events) = sync_channel(MOST_WAITING);
    let knowledge = Arc::new(knowledge);
    let reader = sender.clone();
    let _ = std::thread::Builder::new().name("lsp reader".into()).spawn(move || {
        let mut input = BufReader::new(input);
        loop {
            let incoming = read_message(&mut input);
            let is_end = matches!(incoming, Incoming::End);
            if reader.send(Event::Read(incoming)).is_err() || is_end {
                break;
            }
        }
    });
    let worker = Worker::start(knowledge.clone(), sender);
    let mut session = EditorSession::new(knowledge, worker, Outbox::new(output));
    let mut waiting = VecDeque::new();
    while let Some(event) = next(&events, &mut waiting, &mut session) {
        if let Some(is_orderly) = session.handle(event, &waiting) {
            return is_orderly;
        }
    }
    false
}

/// The next event, with all that arrived behind it in the queue: what they cancel is answered first.
fn next(
    events: &Receiver<Event>,
    waiting: &mut VecDeque<Event>,
    session: &mut EditorSession,
) -> Option<Event> {
    loop {
        if waiting.is_empty() {
            waiting.push_back(events.recv().ok()?);
        }
        while waiting.len() < MOST_WAITING
            && let Ok(event) = events.try_recv()
        {
            match event.cancelled() {
                Some(id) => session.cancel(&id, waiting),
                None => waiting.push_back(event),
            }
        }
        // A cancelled request may have been the only event.
        if let Some(event) = waiting.pop_front() {
            return Some(event);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // of a channel that stays open
mod tests {
    use super::*;
    use lsp_server::{Message, Notification, Request};
    use runnel_catalogue::Catalogue;
    use serde_json::json;

    #[test]
    fn a_cancelled_request_that_waits_alone_does_not_end_the_loop() {
        let catalogue = Box::leak(Box::new(Catalogue::parse("")));
        let knowledge = Arc::new(Knowledge::new(catalogue, "", Vec::new(), Vec::new(), Vec::new()));
        let (sender, events) = sync_channel(8);
        let worker = Worker::start(knowledge.clone(), sender.clone());
        let mut session = EditorSession::new(knowledge, worker, Outbox::new(std::io::sink()));
        let request = |id: i32| Message::Request(Request::new(id.into(), "shutdown".into(), ()));
        let cancel =
            Message::Notification(Notification::new("$/cancelRequest".into(), json!({ "id": 1 })));
        for message in [request(1), cancel, request(2)] {
            sender.send(Event::Read(Incoming::Message(message))).unwrap();
        }
        let mut waiting = VecDeque::new();
        let event = next(&events, &mut waiting, &mut session).unwrap();
        assert_eq!(event.request(), Some(&2.into()));
        let cancel =
            Message::Notification(Notification::new("$/cancelRequest".into(), json!({ "id": 3 })));
        for message in [request(3), cancel] {
            sender.send(Event::Read(Incoming::Message(message))).unwrap();
        }
        let later = std::thread::spawn(move || {
            std::thread::sleep(std::time::Duration::from_millis(50));
            sender.send(Event::Read(Incoming::Message(request(4))))
        });
        let event = next(&events, &mut waiting, &mut session).unwrap();
        assert_eq!(event.request(), Some(&4.into()));
        later.join().unwrap().unwrap();
    }
}
