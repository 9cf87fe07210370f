//! Documents: text with places where lines may break, and the choice of the breaks. After
//! Wadler, "A prettier printer" (1998), with two additions of practice: comments that wait for
//! the end of their line, and alternatives of which the first that fits is taken.

/// How wide a line should be at most, in characters.
pub(super) const WIDTH: usize = 100;

/// How many spaces one level of indentation has.
pub(super) const INDENT: usize = 4;

/// A node of a document, by its number.
#[derive(Clone, Copy, Debug)]
pub(super) struct Doc(u32);

#[derive(Debug)]
enum LayoutNode {
    /// Text as it is; it may contain line ends, which are left alone.
    Text(String),
    /// A space, or a line end where the group is broken.
    Line,
    /// A line end.
    HardLine,
    /// An empty line where the group is broken.
    Blank,
    /// Text that goes to the first column of a line of its own.
    FirstColumn(String),
    /// A comment for the end of the line.
    Suffix(String),
    /// Text where the group is broken.
    IfBroken(&'static str),
    Concat(Vec<Doc>),
    Indent(Doc),
    /// On one line if it fits.
    Group(Doc),
    /// Broken in any case, even inside a group that is not.
    Broken(Doc),
    /// The first that fits; the last is broken.
    Choice([Doc; 3]),
    /// As many on a line as fit, with commas between.
    Fill(Vec<Doc>),
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Flat,
    Broken,
}

#[derive(Clone, Copy)]
struct LayoutTask {
    indent: usize,
    mode: Mode,
    doc: Doc,
}

/// The nodes of one text. They refer to each other by number, so no part is copied where it
/// stands in several alternatives, and dropping a deep document needs no stack.
#[derive(Default)]
pub(super) struct Documents {
    nodes: Vec<LayoutNode>,
    /// Of each node, whether a line ends in it in any case.
    breaks: Vec<bool>,
}

impl Documents {
    fn add(&mut self, node: LayoutNode) -> Doc {
        let breaks = match &node {
            LayoutNode::HardLine | LayoutNode::FirstColumn(_) | LayoutNode::Broken(_) => true,
            LayoutNode::Concat(parts) => parts.iter().any(|doc| self.breaks(*doc)),
            LayoutNode::Indent(doc) | LayoutNode::Group(doc) | LayoutNode::Choice([doc, ..]) => {
                self.breaks(*doc)
            }
            _ => false,
        };
        self.breaks.push(breaks);
        self.nodes.push(node);
        Doc(self.nodes.len() as u32 - 1)
    }

    pub(super) fn text(&mut self, text: impl Into<String>) -> Doc {
        self.add(LayoutNode::Text(text.into()))
    }

    pub(super) fn line(&mut self) -> Doc {
        self.add(LayoutNode::Line)
    }

    pub(super) fn hard_line(&mut self) -> Doc {
        self.add(LayoutNode::HardLine)
    }

    pub(super) fn blank(&mut self) -> Doc {
        self.add(LayoutNode::Blank)
    }

    /// A comment on a line of its own; one with `#` is a comment only in the first column.
    pub(super) fn own_line(&mut self, comment: &str) -> Doc {
        match comment.starts_with('#') {
            true => self.add(LayoutNode::FirstColumn(comment.to_owned())),
            false => self.text(comment),
        }
    }

    pub(super) fn suffix(&mut self, comment: &str) -> Doc {
        self.add(LayoutNode::Suffix(comment.to_owned()))
    }

    pub(super) fn if_broken(&mut self, text: &'static str) -> Doc {
        self.add(LayoutNode::IfBroken(text))
    }

    pub(super) fn concat(&mut self, parts: Vec<Doc>) -> Doc {
        self.add(LayoutNode::Concat(parts))
    }

    pub(super) fn indent(&mut self, doc: Doc) -> Doc {
        self.add(LayoutNode::Indent(doc))
    }

    pub(super) fn group(&mut self, doc: Doc) -> Doc {
        self.add(LayoutNode::Group(doc))
    }

    pub(super) fn broken(&mut self, doc: Doc) -> Doc {
        self.add(LayoutNode::Broken(doc))
    }

    pub(super) fn choice(&mut self, alternatives: [Doc; 3]) -> Doc {
        self.add(LayoutNode::Choice(alternatives))
    }

    pub(super) fn fill(&mut self, items: Vec<Doc>) -> Doc {
        self.add(LayoutNode::Fill(items))
    }

    /// Whether a line ends in the document in any case.
    pub(super) fn breaks(&self, doc: Doc) -> bool {
        self.breaks.get(doc.0 as usize).copied().unwrap_or(false)
    }

    /// The text of a document.
    pub(super) fn render(&self, doc: Doc) -> String {
        let mut output = LayoutOutput::default();
        let mut tasks = vec![LayoutTask { indent: 0, mode: Mode::Broken, doc }];
        while let Some(task) = tasks.pop() {
            self.step(task, &mut tasks, &mut output);
        }
        output.finish()
    }

    fn step(&self, task: LayoutTask, tasks: &mut Vec<LayoutTask>, output: &mut LayoutOutput) {
        let LayoutTask { indent, mode, doc } = task;
        let broken = mode == Mode::Broken;
        match self.node(doc) {
            LayoutNode::Text(text) => output.text(text),
            LayoutNode::Line if broken => output.line_end(indent),
            LayoutNode::HardLine => output.line_end(indent),
            LayoutNode::Blank if broken => output.empty_line(),
            LayoutNode::IfBroken(text) if broken => output.text(text),
            LayoutNode::Line => output.text(" "),
            LayoutNode::Blank | LayoutNode::IfBroken(_) => {}
            LayoutNode::FirstColumn(text) => output.first_column(text),
            LayoutNode::Suffix(comment) => output.suffixes.push(comment.clone()),
            LayoutNode::Concat(parts) => {
                tasks.extend(parts.iter().rev().map(|doc| LayoutTask { indent, mode, doc: *doc }));
            }
            LayoutNode::Indent(doc) => {
                tasks.push(LayoutTask { indent: indent + INDENT, mode, doc: *doc })
            }
            LayoutNode::Broken(doc) => {
                tasks.push(LayoutTask { indent, mode: Mode::Broken, doc: *doc })
            }
            LayoutNode::Group(doc) => {
                let flat = LayoutTask { indent, mode: Mode::Flat, doc: *doc };
                let mode = match broken && !self.fits(flat, tasks, output.left()) {
                    true => Mode::Broken,
                    false => Mode::Flat,
                };
                tasks.push(LayoutTask { mode, ..flat });
            }
            LayoutNode::Choice([flat, middle, last]) => {
                let task = |doc: &Doc, mode| LayoutTask { indent, mode, doc: *doc };
                let flat = task(flat, Mode::Flat);
                let middle = task(middle, Mode::Flat);
                tasks.push(if !broken || self.fits(flat, tasks, output.left()) {
                    flat
                } else if self.fits(middle, tasks, output.left()) {
                    middle
                } else {
                    task(last, Mode::Broken)
                });
            }
            LayoutNode::Fill(items) => self.fill_items(task, items, output),
        }
    }

    /// Puts the items on lines, each where it fits. The items are short and have no breaks.
    fn fill_items(&self, task: LayoutTask, items: &[Doc], output: &mut LayoutOutput) {
        for (at, item) in items.iter().enumerate() {
            let item = LayoutTask { mode: Mode::Flat, doc: *item, ..task };
            if at > 0 {
                output.text(",");
                let left = output.left().saturating_sub(2);
                match task.mode == Mode::Flat || self.fits(item, &[], left) {
                    true => output.text(" "),
                    false => output.line_end(task.indent),
                }
            }
            let mut inner = vec![item];
            while let Some(task) = inner.pop() {
                self.step(task, &mut inner, output);
            }
        }
    }

    fn node(&self, doc: Doc) -> &LayoutNode {
        &self.nodes[doc.0 as usize]
    }

    /// Whether a part fits into the line, together with what follows it up to the next place
    /// where a line may end. Lines of its own that are broken in any case are looked at one by
    /// one, except groups in them, which choose for themselves.
    fn fits(&self, task: LayoutTask, rest: &[LayoutTask], left: usize) -> bool {
        let mut left = left as isize;
        let mut own = vec![task];
        let mut rest = rest.iter().rev();
        while left >= 0 {
            let (task, is_own) = match own.pop() {
                Some(task) => (task, true),
                None => match rest.next() {
                    Some(task) => (*task, false),
                    None => return true,
                },
            };
            if !is_own {
                return self.rest_fits(task, rest, left);
            }
            let LayoutTask { indent, mode, doc } = task;
            let broken = mode == Mode::Broken;
            let new_line = (WIDTH - indent.min(WIDTH)) as isize;
            match self.node(doc) {
                LayoutNode::Text(text) => left = after_text(left, text),
                LayoutNode::HardLine => left = new_line,
                LayoutNode::Line if broken => left = new_line,
                LayoutNode::IfBroken(text) if broken => left -= text.len() as isize,
                LayoutNode::Line => left -= 1,
                LayoutNode::FirstColumn(_) => left = 0,
                LayoutNode::Blank | LayoutNode::IfBroken(_) | LayoutNode::Suffix(_) => {}
                LayoutNode::Concat(parts) => {
                    own.extend(parts.iter().rev().map(|doc| LayoutTask { doc: *doc, ..task }));
                }
                LayoutNode::Indent(doc) => {
                    own.push(LayoutTask { indent: indent + INDENT, mode, doc: *doc })
                }
                LayoutNode::Broken(doc) => {
                    own.push(LayoutTask { indent, mode: Mode::Broken, doc: *doc })
                }
                LayoutNode::Group(_) | LayoutNode::Choice(_) if broken => {}
                LayoutNode::Group(doc) | LayoutNode::Choice([doc, ..]) => {
                    own.push(LayoutTask { doc: *doc, ..task })
                }
                LayoutNode::Fill(_) if broken => {}
                LayoutNode::Fill(items) => {
                    left -= 2 * (items.len() as isize - 1);
                    own.extend(items.iter().map(|doc| LayoutTask { doc: *doc, ..task }));
                }
            }
        }
        false
    }

    /// Whether what follows a part fits, up to the first place where a line may end.
    fn rest_fits<'a>(
        &self,
        task: LayoutTask,
        mut rest: impl Iterator<Item = &'a LayoutTask>,
        mut left: isize,
    ) -> bool {
        let mut tasks = vec![task];
        while left >= 0 {
            let Some(task) = tasks.pop().or_else(|| rest.next().copied()) else { return true };
            let broken = task.mode == Mode::Broken;
            match self.node(task.doc) {
                LayoutNode::Text(text) if text.contains('\n') => {
                    return after_text(left, text.split('\n').next().unwrap_or("")) >= 0;
                }
                LayoutNode::Text(text) => left = after_text(left, text),
                LayoutNode::HardLine | LayoutNode::FirstColumn(_) => return true,
                LayoutNode::Line if broken => return true,
                LayoutNode::IfBroken(text) if broken => left -= text.len() as isize,
                LayoutNode::Line => left -= 1,
                LayoutNode::Blank | LayoutNode::IfBroken(_) | LayoutNode::Suffix(_) => {}
                LayoutNode::Concat(parts) => {
                    tasks.extend(parts.iter().rev().map(|doc| LayoutTask { doc: *doc, ..task }));
                }
                LayoutNode::Fill(items) => {
                    tasks.extend(items.iter().rev().map(|doc| LayoutTask { doc: *doc, ..task }));
                }
                LayoutNode::Broken(doc) => {
                    tasks.push(LayoutTask { mode: Mode::Broken, doc: *doc, ..task });
                }
                LayoutNode::Indent(doc)
                | LayoutNode::Group(doc)
                | LayoutNode::Choice([doc, ..]) => {
                    tasks.push(LayoutTask { doc: *doc, ..task });
                }
            }
        }
        false
    }
}

/// How much of a line is left after a text, which may have lines of its own.
fn after_text(left: isize, text: &str) -> isize {
    match text.rsplit_once('\n') {
        Some((_, last)) => WIDTH as isize - last.chars().count() as isize,
        None => left - text.chars().count() as isize,
    }
}

#[derive(Default)]
struct LayoutOutput {
    text: String,
    column: usize,
    /// The indentation of the line, until something stands on it.
    pending: Option<usize>,
    /// The indentation of the line that is being written.
    indent: usize,
    suffixes: Vec<String>,
}

impl LayoutOutput {
    fn left(&self) -> usize {
        WIDTH.saturating_sub(self.pending.unwrap_or(self.column))
    }

    fn text(&mut self, text: &str) {
        if text.is_empty() || (self.pending.is_some() && text == " ") {
            return;
        }
        if let Some(indent) = self.pending.take() {
            self.text.extend(std::iter::repeat_n(' ', indent));
            self.column = indent;
            self.indent = indent;
        }
        self.text.push_str(text);
        match text.rsplit_once('\n') {
            Some((_, last)) => self.column = last.chars().count(),
            None => self.column += text.chars().count(),
        }
    }

    fn line_end(&mut self, indent: usize) {
        self.flush();
        self.text.push('\n');
        self.column = 0;
        self.pending = Some(indent);
    }

    fn empty_line(&mut self) {
        self.text.push('\n');
    }

    /// Comments that waited: the first at the end of the line, others on lines below.
    fn flush(&mut self) {
        for (at, comment) in std::mem::take(&mut self.suffixes).into_iter().enumerate() {
            let own_line = at > 0 || comment.starts_with('#');
            if own_line && !(self.text.is_empty() || self.text.ends_with('\n')) {
                self.text.push('\n');
            }
            if comment.starts_with('#') {
                self.text.push_str(&comment);
            } else if own_line || self.pending.is_some() {
                let indent = self.pending.unwrap_or(self.indent);
                self.text.extend(std::iter::repeat_n(' ', indent));
                self.text.push_str(&comment);
            } else {
                self.text.push(' ');
                self.text.push_str(&comment);
            }
            self.pending = None;
        }
    }

    fn first_column(&mut self, text: &str) {
        self.pending = Some(0);
        self.text(text);
    }

    fn finish(mut self) -> String {
        self.flush();
        let end = self.text.trim_end_matches([' ', '\n']).len();
        self.text.truncate(end);
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text
    }
}
