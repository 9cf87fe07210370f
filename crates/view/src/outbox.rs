//! The outbox of a view: changes that wait for its client, and the last frames for resuming.
//!
//! A client that reads slowly gets the latest value of each slot, not each value. Steps of lists are not
//! merged: when too many wait, the whole list is rendered once at the time of sending. When too much
//! waits in all, the whole page is. A client that comes back says the last frame it has, and gets the
//! frames after it again.

use crate::frame::{Address, Encoded, FrameWriter, Operation, ViewControl};
use rustc_hash::FxHashMap;
use std::collections::VecDeque;

/// Frames kept for clients that come back.
pub const KEPT_FRAMES: usize = 64;

/// Bytes of the frames kept for clients that come back. Values shared with other views count in each.
pub const KEPT_BYTES: usize = 64 * 1024;

/// Slots of a view that wait to be sent; with more the whole page is sent.
pub const WAITING_SLOTS: usize = 4096;

/// Bytes that wait to be sent; with more the whole page is sent.
pub const WAITING_BYTES: usize = 256 * 1024;

/// Steps of one list that wait to be sent; with more the whole list is sent.
pub const WAITING_STEPS: usize = 256;

/// What happened to one slot.
#[derive(Clone, Debug)]
enum SlotChange {
    Value(Encoded),
    Steps(Vec<Operation>),
    /// A list that is rendered when it is sent.
    Whole,
    Acknowledged(u64),
    Control(Box<ViewControl>),
}

/// A change that waits, or one of a frame that was sent.
#[derive(Clone, Debug)]
struct SlotEntry {
    slot: Address,
    change: SlotChange,
}

impl SlotEntry {
    fn bytes(&self) -> usize {
        let content = match &self.change {
            SlotChange::Value(value) => value.as_str().len(),
            SlotChange::Steps(steps) => steps.iter().map(|step| step.content_length() + 24).sum(),
            SlotChange::Whole => 0,
            SlotChange::Acknowledged(_) => 8,
            SlotChange::Control(control) => control.content_length(),
        };
        self.slot.len() + content + 8
    }

    fn write(&self, frame: &mut FrameWriter<'_>) {
        match &self.change {
            SlotChange::Value(value) => frame.value(&self.slot, value),
            SlotChange::Steps(steps) => frame.operations(&self.slot, steps),
            SlotChange::Whole => {}
            SlotChange::Acknowledged(n) => {
                frame.control(&ViewControl { ack: Some(*n), ..ViewControl::default() });
            }
            SlotChange::Control(control) => frame.control(control),
        }
    }
}

/// What [`Outbox::next`] wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NextFrame {
    /// Nothing waits.
    Nothing,
    /// A frame.
    Frame,
    /// Nothing: too much waited. The caller renders the view and gives it as [`ViewControl::page`].
    Page,
}

/// Changes that wait for the client of a view, and the last frames that it was sent.
///
/// The caller asks for the [next](Outbox::next) frame when the connection can take one.
#[derive(Debug, Default)]
pub struct Outbox {
    seq: u64,
    waiting: Vec<SlotEntry>,
    index: FxHashMap<Address, usize>,
    /// The most dots in an address that waits: what is nested can become stale.
    deepest: usize,
    waiting_bytes: usize,
    control: ViewControl,
    acknowledged: u64,
    page_is_due: bool,
    /// Entries of sent frames, each with its frame.
    sent: VecDeque<(u64, SlotEntry)>,
    sent_bytes: usize,
    /// The first frame that is sent again; frames after [`Outbox::seq`] are new.
    resend: Option<u64>,
    /// The newest frame that is not kept.
    forgotten: u64,
}

impl Outbox {
    /// An outbox without frames.
    pub fn new() -> Outbox {
        Outbox::default()
    }

    /// The number of the last frame.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Whether [`Outbox::next`] has something to write.
    pub fn is_due(&self) -> bool {
        let waits = !self.waiting.is_empty() || !self.control.is_empty();
        waits || self.page_is_due || self.resend.is_some()
    }

    /// Sets the value of a slot. It replaces a value that waits, and everything that waits inside it.
    pub fn set(&mut self, slot: &Address, value: Encoded) {
        self.forget_nested(slot, |_| true);
        self.push(slot, SlotChange::Value(value));
    }

    /// Changes a list by steps.
    pub fn change_list(&mut self, slot: &Address, steps: Vec<Operation>) {
        if steps.is_empty() {
            return;
        }
        if self.is_nested(slot) {
            // What waits inside an item is older than the item's new content.
            let mut changed: Vec<String> = Vec::new();
            for step in &steps {
                if !matches!(step, Operation::Move { .. }) {
                    changed.push(step.id().to_string());
                }
            }
            self.forget_nested(slot, |item| changed.iter().any(|id| id == item));
        }
        let waiting = self.index.get(slot).map(|at| &mut self.waiting[*at].change);
        let change = match waiting {
            None => SlotChange::Steps(steps),
            Some(SlotChange::Steps(before)) if before.len() + steps.len() <= WAITING_STEPS => {
                let mut all = std::mem::take(before);
                // `push` counts the entry again.
                self.waiting_bytes -=
                    all.iter().map(|step| step.content_length() + 24).sum::<usize>();
                all.extend(steps);
                SlotChange::Steps(all)
            }
            Some(_) => SlotChange::Whole,
        };
        match change {
            SlotChange::Steps(steps) if steps.len() > WAITING_STEPS => {
                self.push(slot, SlotChange::Whole);
            }
            change => self.push(slot, change),
        }
        if matches!(
            self.index.get(slot).map(|at| &self.waiting[*at].change),
            Some(SlotChange::Whole)
        ) {
            self.forget_nested(slot, |_| true);
        }
    }

    /// Says something to the client itself. A page replaces everything that waits.
    pub fn control(&mut self, control: ViewControl) {
        if control.page.is_some() {
            self.clear_waiting();
            self.page_is_due = false;
        }
        if let Some(ack) = control.ack {
            self.acknowledged = ack;
        }
        self.control.merge(control);
    }

    /// Acknowledges the client's events up to this one.
    pub fn acknowledge(&mut self, n: u64) {
        self.control(ViewControl { ack: Some(n), ..ViewControl::default() });
    }

    /// A client came back and has all frames up to `last`. True: [`Outbox::next`] continues after it,
    /// with an acknowledgement as the answer. False: the frames are not kept, and the page is due.
    pub fn resume(&mut self, last: u64) -> bool {
        self.control.ack = Some(self.acknowledged);
        let kept = (self.forgotten..=self.seq).contains(&last);
        if !kept {
            self.resend = None;
            self.clear_waiting();
            self.page_is_due = self.control.page.is_none();
            return false;
        }
        self.resend = (last < self.seq).then_some(last + 1);
        true
    }

    /// Writes the next frame at the end of `out`. `whole` renders the inside of a list slot; none
    /// where there is no such slot any more.
    pub fn next(
        &mut self,
        out: &mut String,
        mut whole: impl FnMut(&str) -> Option<Encoded>,
    ) -> NextFrame {
        if let Some(seq) = self.resend {
            self.write_again(seq, out);
            return NextFrame::Frame;
        }
        if self.page_is_due {
            return NextFrame::Page;
        }
        let mut entries = std::mem::take(&mut self.waiting);
        self.clear_waiting();
        entries.retain_mut(|entry| {
            if let SlotChange::Whole = entry.change {
                let Some(html) = whole(&entry.slot) else { return false };
                entry.change = SlotChange::Value(html);
            }
            true
        });
        let control = self.take_control();
        if control.is_none() && entries.is_empty() {
            return NextFrame::Nothing;
        }
        self.seq += 1;
        let mut frame = FrameWriter::new(out, self.seq);
        for entry in control.into_iter().chain(entries.drain(..)) {
            entry.write(&mut frame);
            self.sent_bytes += entry.bytes();
            self.sent.push_back((self.seq, entry));
        }
        frame.finish();
        // The list keeps its memory only where it is small.
        if entries.capacity() <= 8 {
            self.waiting = entries;
        }
        self.forget_oldest();
        NextFrame::Frame
    }

    fn take_control(&mut self) -> Option<SlotEntry> {
        let control = std::mem::take(&mut self.control);
        if control.is_empty() {
            return None;
        }
        let change = match control.ack {
            Some(n) if control == (ViewControl { ack: Some(n), ..ViewControl::default() }) => {
                SlotChange::Acknowledged(n)
            }
            _ => SlotChange::Control(Box::new(control)),
        };
        Some(SlotEntry { slot: Address::default(), change })
    }

    fn write_again(&mut self, seq: u64, out: &mut String) {
        let start = self.sent.partition_point(|(frame, _)| *frame < seq);
        let mut frame = FrameWriter::new(out, seq);
        for (_, entry) in self.sent.range(start..).take_while(|(frame, _)| *frame == seq) {
            entry.write(&mut frame);
        }
        frame.finish();
        self.resend = (seq < self.seq).then_some(seq + 1);
    }

    /// Evicts the oldest frames above the limits.
    fn forget_oldest(&mut self) {
        while let Some((oldest, _)) = self.sent.front() {
            let frames = self.seq - oldest + 1;
            if frames <= KEPT_FRAMES as u64 && self.sent_bytes <= KEPT_BYTES {
                break;
            }
            self.forgotten = *oldest;
            while self.sent.front().is_some_and(|(frame, _)| *frame == self.forgotten) {
                let entry = self.sent.pop_front();
                self.sent_bytes -= entry.map_or(0, |(_, entry)| entry.bytes());
            }
        }
    }

    fn push(&mut self, slot: &Address, change: SlotChange) {
        if self.page_is_due {
            return;
        }
        let entry = SlotEntry { slot: slot.clone(), change };
        self.waiting_bytes += entry.bytes();
        match self.index.get(slot) {
            Some(at) => {
                self.waiting_bytes -= self.waiting[*at].bytes();
                self.waiting[*at] = entry;
            }
            None => {
                self.index.insert(slot.clone(), self.waiting.len());
                self.deepest = self.deepest.max(depth(slot));
                self.waiting.push(entry);
            }
        }
        if self.waiting.len() > WAITING_SLOTS || self.waiting_bytes > WAITING_BYTES {
            self.clear_waiting();
            self.page_is_due = true;
        }
    }

    fn clear_waiting(&mut self) {
        self.waiting.clear();
        if self.index.capacity() > 16 {
            self.index = FxHashMap::default();
        }
        self.index.clear();
        self.deepest = 0;
        self.waiting_bytes = 0;
    }

    /// Whether something that waits may lie inside a slot.
    fn is_nested(&self, slot: &str) -> bool {
        !self.waiting.is_empty() && self.deepest > depth(slot)
    }

    /// Drops what waits inside a slot and below one of these numbers.
    fn forget_nested(&mut self, slot: &str, stale: impl Fn(&str) -> bool) {
        if !self.is_nested(slot) {
            return;
        }
        let before = self.waiting.len();
        self.waiting.retain(|entry| {
            let inside = entry.slot.strip_prefix(slot).and_then(|rest| rest.strip_prefix('.'));
            !inside.is_some_and(|rest| stale(rest.split('.').next().unwrap_or(rest)))
        });
        if self.waiting.len() < before {
            self.waiting_bytes = self.waiting.iter().map(SlotEntry::bytes).sum();
            let places = self.waiting.iter().enumerate();
            self.index = places.map(|(at, entry)| (entry.slot.clone(), at)).collect();
        }
    }
}

fn depth(slot: &str) -> usize {
    slot.bytes().filter(|byte| *byte == b'.').count()
}

#[cfg(test)]
mod tests;
