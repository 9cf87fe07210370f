//! The line editor. It blocks on a thread of its own, so that the program serves while a person types.

use super::complete::Completion;
use super::keys::PromptKeys;
use super::look::{Colours, Complete, Marks};
use crate::console::Console;
use reedline::{
    ColumnarMenu, Completer, CompletionResult, DefaultHinter, ExternalPrinter, FileBackedHistory,
    MenuBuilder, Reedline, ReedlineMenu, Signal, Span, Suggestion,
};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;
use tokio::sync::mpsc;

/// Lines of history that are kept.
const HISTORY: usize = 1_000;
/// Lines of output that may wait for the editor.
const PRINTED_AHEAD: usize = 1_024;
/// How long the editor waits for proposals of a program that is busy.
const PATIENCE: Duration = Duration::from_millis(500);
/// The name of the menu of proposals.
const MENU: &str = "proposals";

/// What the editor asks of the event loop.
pub(crate) enum Asked {
    /// Statements were typed; the editor waits until [`Editor::go_on`].
    Line(String),
    /// Proposals for a line and a cursor.
    Proposals(String, usize, SyncSender<Completion>),
}

/// The editor as the event loop sees it. Dropping it gives the terminal back.
pub(crate) struct Editor {
    asked: mpsc::UnboundedReceiver<Asked>,
    go_on: Option<Sender<()>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Editor {
    pub(crate) fn start() -> std::io::Result<Editor> {
        // Not bounded by a number, but by the editor, which waits for each answer.
        let (asks, asked) = mpsc::unbounded_channel();
        let (go_on, goes_on) = channel();
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let thread = std::thread::Builder::new()
            .name("prompt".into())
            .spawn(move || edit(asks, &goes_on, stopped))?;
        Ok(Editor { asked, go_on: Some(go_on), stop, thread: Some(thread) })
    }

    /// What the editor asks next; `None` when the prompt was left.
    pub(crate) async fn next(&mut self) -> Option<Asked> {
        self.asked.recv().await
    }

    /// The line was run: the next may be typed.
    pub(crate) fn go_on(&self) {
        if let Some(go_on) = &self.go_on {
            // The thread may have ended; `next` then returns `None`.
            let _ = go_on.send(());
        }
    }

    /// Leaves the thread of a closed terminal behind: at the end of its input the line editor reads for ever.
    pub(crate) fn abandon(&mut self) {
        self.thread = None;
    }
}

impl Drop for Editor {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.go_on = None;
        self.asked.close();
        if let Some(thread) = self.thread.take() {
            // It looks at `stop` every tenth of a second, and restores the terminal.
            let _ = thread.join();
        }
    }
}

fn edit(asks: mpsc::UnboundedSender<Asked>, goes_on: &Receiver<()>, stop: Arc<AtomicBool>) {
    let printer = ExternalPrinter::new(PRINTED_AHEAD);
    let print = printer.sender();
    let mut editor = reedline(asks.clone(), printer, print.clone(), stop);
    loop {
        Console::above_prompt(Some(print.clone()));
        let signal = editor.read_line(&Marks);
        Console::above_prompt(None);
        match signal {
            Ok(Signal::Success(line)) => {
                if asks.send(Asked::Line(line)).is_err() || goes_on.recv().is_err() {
                    return;
                }
            }
            Ok(Signal::CtrlC) => {}
            Ok(Signal::CtrlD) => {
                Console::line("Bye!");
                return;
            }
            Ok(_) => return,
            Err(error) => {
                Console::error(&format!("error: the terminal cannot be read: {error}"));
                return;
            }
        }
    }
}

fn reedline(
    asks: mpsc::UnboundedSender<Asked>,
    printer: ExternalPrinter<String>,
    print: SyncSender<String>,
    stop: Arc<AtomicBool>,
) -> Reedline {
    let colours = crate::report::colours(&std::io::stdout());
    let offered = Arc::new(AtomicUsize::new(0));
    let keys = PromptKeys::new(MENU, offered.clone());
    let menu = ColumnarMenu::default().with_name(MENU).with_marker("").with_word_chars("_-:./");
    let menu = Box::new(menu);
    let hinter = DefaultHinter::default().with_style(reedline::Color::DarkGray.normal());
    let editor = Reedline::create()
        .with_ansi_colors(colours)
        .with_validator(Box::new(Complete))
        .with_highlighter(Box::new(Colours))
        .with_hinter(Box::new(hinter))
        .with_completer(Box::new(Proposals { asks, offered, print, noted: None }))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .with_menu(ReedlineMenu::EngineCompleter(menu))
        .with_edit_mode(Box::new(keys))
        .with_external_printer(printer)
        .with_break_signal(stop)
        .use_bracketed_paste(true);
    match history() {
        Ok(history) => editor.with_history(Box::new(history)),
        Err(message) => {
            tracing::warn!("the history of the prompt is not kept: {message}");
            editor
        }
    }
}

/// The history of all prompts of this user.
fn history() -> Result<FileBackedHistory, String> {
    let path = history_path().ok_or("there is no home folder")?;
    FileBackedHistory::with_file(HISTORY, path).map_err(|error| error.to_string())
}

/// `$XDG_STATE_HOME/runnel/history`, or `~/.local/state/runnel/history` (XDG Base Directory
/// Specification: a path that is not absolute is ignored).
fn history_path() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let state = folder("XDG_STATE_HOME")
        .filter(|path| path.is_absolute())
        .or_else(|| folder("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("runnel/history"))
}

/// Proposals, asked of the event loop.
struct Proposals {
    asks: mpsc::UnboundedSender<Asked>,
    /// How many the menu shows.
    offered: Arc<AtomicUsize>,
    print: SyncSender<String>,
    /// What was printed above the line last.
    noted: Option<String>,
}

impl Proposals {
    /// Prints what a single proposal is, once.
    fn note(&mut self, note: Option<String>) {
        if note.is_some() && note != self.noted {
            // An editor that does not keep up shows one note less.
            let _ = self.print.try_send(note.clone().unwrap_or_default());
        }
        self.noted = note;
    }
}

impl Completer for Proposals {
    fn complete(&mut self, line: &str, cursor: usize) -> CompletionResult {
        let (answer, answered) = sync_channel(1);
        let asked = self.asks.send(Asked::Proposals(line.to_string(), cursor, answer));
        let found = match asked {
            Ok(()) => answered.recv_timeout(PATIENCE).unwrap_or_default(),
            Err(_) => Completion::default(),
        };
        self.offered.store(found.proposals.len(), Ordering::Relaxed);
        self.note(found.note);
        let suggestions: Vec<Suggestion> = found
            .proposals
            .into_iter()
            .map(|one| Suggestion {
                value: one.text,
                span: Span::new(one.start, cursor),
                append_whitespace: one.ends,
                ..Suggestion::default()
            })
            .collect();
        CompletionResult::fresh(suggestions)
    }
}
