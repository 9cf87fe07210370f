//! The parts of a form in the hands of a program, one after another: a part is a stream until the next one is
//! asked for.

use super::arriving::{ArrivingContent, StreamFault};
use bytes::Bytes;
use futures_util::Stream;
use runnel_store::{Error, Kind, PartEvent, PartEvents, PartHead, Result};
use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};

/// The parts of a form.
pub(crate) struct FormParts(Rc<RefCell<PartsState>>);

struct PartsState {
    events: PartEvents,
    /// The head of the next part, once it has come.
    next: Option<PartHead>,
    /// The number of the part that is being read.
    current: u64,
    failed: Option<Error>,
    fault: Rc<StreamFault>,
}

impl PartsState {
    fn poll_event(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<PartEvent>>> {
        if let Some(error) = &self.failed {
            return Poll::Ready(Some(Err(error.clone())));
        }
        let event = ready!(self.events.as_mut().poll_next(context));
        if let Some(Err(error)) = &event {
            self.fault.note(error);
            self.failed = Some(error.clone());
        }
        Poll::Ready(event)
    }

    /// The head of the next part; what is left of this one is passed over.
    fn poll_head(&mut self, context: &mut Context<'_>) -> Poll<Result<Option<PartHead>>> {
        loop {
            let head = match self.next.take() {
                Some(head) => Some(head),
                None => match ready!(self.poll_event(context)).transpose()? {
                    Some(PartEvent::Data(_)) => continue,
                    Some(PartEvent::Begin(head)) => Some(head),
                    None => None,
                },
            };
            self.current += 1;
            return Poll::Ready(Ok(head));
        }
    }

    fn poll_data(&mut self, part: u64, context: &mut Context<'_>) -> Poll<Option<Result<Bytes>>> {
        if part != self.current {
            let message = "this part is over: read a part before the next one is asked for";
            return Poll::Ready(Some(Err(Error::new(Kind::Failed, message))));
        }
        if self.next.is_some() {
            return Poll::Ready(None);
        }
        Poll::Ready(match ready!(self.poll_event(context)) {
            Some(Ok(PartEvent::Data(data))) => Some(Ok(data)),
            Some(Ok(PartEvent::Begin(head))) => {
                self.next = Some(head);
                None
            }
            Some(Err(error)) => Some(Err(error)),
            None => None,
        })
    }
}

impl FormParts {
    pub(crate) fn new(events: PartEvents, fault: Rc<StreamFault>) -> Self {
        let state = PartsState { events, next: None, current: 0, failed: None, fault };
        FormParts(Rc::new(RefCell::new(state)))
    }

    /// The next part; `None` behind the last.
    ///
    /// # Errors
    /// The form is malformed or beyond a limit, or its body failed.
    pub(crate) async fn next(&self) -> Result<Option<(PartHead, Rc<ArrivingContent>)>> {
        let head = poll_fn(|context| self.0.borrow_mut().poll_head(context)).await?;
        Ok(head.map(|head| {
            let (part, fault) = (self.0.borrow().current, self.0.borrow().fault.clone());
            let stream = Box::pin(PartStream { state: self.0.clone(), part });
            let media_type = head.media_type.clone();
            (head, ArrivingContent::new(stream, None, media_type, fault))
        }))
    }
}

/// The data of one part.
struct PartStream {
    state: Rc<RefCell<PartsState>>,
    part: u64,
}

impl Stream for PartStream {
    type Item = Result<Bytes>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.state.borrow_mut().poll_data(self.part, context)
    }
}
