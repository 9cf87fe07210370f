//! Natives on native windows: frames to and from the process that shows them.

use crate::host::NativeWindow;
use crate::isolate::Isolate;
use crate::natives::call::{Arguments, Given, Native, Reply, attempt};
use std::rc::Rc;

pub(crate) const NATIVES: [(&str, Native); 4] = [
    ("windowOpen", window_open),
    ("windowSend", window_send),
    ("windowNext", window_next),
    ("windowClose", window_close),
];

/// The windows of one process.
struct HeldWindow(Rc<dyn NativeWindow>);

/// `(tree)`: opens a window of a tree of widgets in JSON. Answers once it is shown.
fn window_open(isolate: &Isolate, arguments: Arguments) -> Reply {
    let opened = isolate.host().open_window(&arguments.text(1));
    Reply::answer(opened, |window| Given::Native(Rc::new(HeldWindow(window))))
}

/// `(window, frame)`: sends a frame, with backpressure.
fn window_send(_: &Isolate, arguments: Arguments) -> Reply {
    let window = attempt!(arguments.held::<HeldWindow>("a window"));
    Reply::done(window.0.send(arguments.text(2)))
}

/// `(window)`: waits for the next frame; nil after the last.
fn window_next(_: &Isolate, arguments: Arguments) -> Reply {
    let window = attempt!(arguments.held::<HeldWindow>("a window"));
    Reply::answer(window.0.next(), |frame| frame.map_or(Given::Nil, Given::Text))
}

/// `(window)`: closes it. A fiber that waits for the next frame gets nil.
fn window_close(_: &Isolate, arguments: Arguments) -> Reply {
    attempt!(arguments.held::<HeldWindow>("a window")).0.close();
    Reply::Now(Given::Nil)
}
