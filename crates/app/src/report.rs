//! Errors for people, or as JSON for machines. Colours live here only.

use crate::console::Console;
use annotate_snippets::{AnnotationKind, Group, Level, Renderer, Snippet};
use runnel_runtime::{Failure, Fault, Isolate, TraceFrame};
use runnel_syntax::{Diagnostic, LineIndex};
use std::io::IsTerminal;
use std::rc::Rc;

/// Characters of a source line beyond which a diagnostic does not show it.
const WIDEST_LINE: usize = 2_000;

/// Whether a stream shows colours: only a terminal, and not when `NO_COLOR` is set.
pub(crate) fn colours(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// Where errors are shown.
pub(crate) struct Report {
    json: bool,
    renderer: Renderer,
}

impl Report {
    pub(crate) fn new(json: bool) -> Self {
        let renderer = match colours(&std::io::stderr()) {
            true => Renderer::styled(),
            false => Renderer::plain(),
        };
        Report { json, renderer }
    }

    /// Without colours, for texts that are compared or kept.
    pub(crate) fn plain() -> Self {
        Report { json: false, renderer: Renderer::plain() }
    }

    /// The diagnostics of a source.
    pub(crate) fn diagnostics(&self, source: &str, name: &str, diagnostics: &[Diagnostic]) {
        for diagnostic in diagnostics {
            Console::error(&self.rendered(source, name, diagnostic));
        }
    }

    pub(crate) fn rendered(&self, source: &str, name: &str, diagnostic: &Diagnostic) -> String {
        if self.json {
            return json(source, name, diagnostic);
        }
        let index = LineIndex::new(source);
        let range = |span: runnel_syntax::Span| {
            let end = (span.end as usize).min(source.len());
            (span.start as usize).min(end)..end
        };
        let line = index.line(diagnostic.label.span.start) as usize;
        let too_wide = source.lines().nth(line - 1).is_some_and(|line| line.len() > WIDEST_LINE);
        let level = match diagnostic.level {
            runnel_syntax::Severity::Error => Level::ERROR,
            runnel_syntax::Severity::Warning => Level::WARNING,
        };
        if too_wide {
            let (line, column) = index.position(source, diagnostic.label.span.start);
            let hint =
                diagnostic.hint.as_ref().map_or(String::new(), |hint| format!("\n  help: {hint}"));
            let title = &diagnostic.title;
            let level = level_name(diagnostic);
            let code = diagnostic.code.map_or(String::new(), |code| format!("[{code}]"));
            return format!("{level}{code}: {title}\n  --> {name}:{line}:{column}{hint}");
        }
        let mut snippet = Snippet::source(source).path(name).annotation(
            AnnotationKind::Primary
                .span(range(diagnostic.label.span))
                .label(&diagnostic.label.text),
        );
        for other in &diagnostic.others {
            snippet = snippet
                .annotation(AnnotationKind::Context.span(range(other.span)).label(&other.text));
        }
        let title = level.primary_title(&diagnostic.title);
        let title = match diagnostic.code {
            Some(code) => title.id(code),
            None => title,
        };
        let mut group: Group<'_> = title.element(snippet);
        if let Some(hint) = &diagnostic.hint {
            group = group.element(Level::HELP.message(hint));
        }
        self.renderer.render(&[group]).to_string()
    }

    /// An error that nothing handled, with the lines it came through.
    pub(crate) fn fault(&self, isolate: &Isolate, fault: &Fault) {
        Console::error(&self.rendered_fault(&|name| isolate.source(name), fault));
    }

    /// An error as text; `sources` answers the text of a source by its name.
    pub(crate) fn rendered_fault(
        &self,
        sources: &dyn Fn(&str) -> Option<Rc<str>>,
        fault: &Fault,
    ) -> String {
        if self.json {
            let trace: Vec<serde_json::Value> = fault
                .trace
                .iter()
                .map(|place| {
                    serde_json::json!({
                        "file": place.source, "line": place.line, "column": place.column,
                        "width": place.width, "in": place.definition,
                    })
                })
                .collect();
            return serde_json::json!({
                "level": "error", "kind": fault.kind, "message": fault.message,
                "hint": fault.hint, "trace": trace,
            })
            .to_string();
        }
        let first = fault.trace.first();
        let source = first.and_then(|place| sources(&place.source));
        let Some((place, source)) = first.filter(|place| place.line > 0).zip(source.as_deref())
        else {
            let hint =
                fault.hint.as_ref().map_or(String::new(), |hint| format!("\n  help: {hint}"));
            return format!("error: {}{hint}", fault.message);
        };
        let start = source.split_inclusive('\n').take(place.line as usize - 1).map(str::len).sum();
        let line = source[start..].lines().next().unwrap_or("");
        if line.len() > WIDEST_LINE {
            return format!("error: {}\n  --> {}", fault.message, place.place());
        }
        let label = match &place.definition {
            Some(definition) => format!("raised here, in {definition}"),
            None => "raised here".to_owned(),
        };
        let snippet = Snippet::source(source)
            .path(&place.source)
            .annotation(AnnotationKind::Primary.span(raised_at(start, line, place)).label(&label));
        let mut group: Group<'_> = Level::ERROR.primary_title(&fault.message).element(snippet);
        if let Some(hint) = &fault.hint {
            group = group.element(Level::HELP.message(hint));
        }
        let mut text = self.renderer.render(&[group]).to_string();
        for place in fault.trace.iter().skip(1).take(20) {
            let source = sources(&place.source);
            let line = source
                .as_deref()
                .and_then(|source| source.lines().nth((place.line as usize).checked_sub(1)?))
                .map_or("", str::trim);
            text.push_str(&format!("\n  from {}  {line}", place.place()));
        }
        text
    }

    /// Why a program did not end well; answers the exit status.
    pub(crate) fn failure(&self, isolate: &Isolate, source: &str, name: &str, why: &Failure) -> u8 {
        match why {
            Failure::Compile(diagnostics) => {
                self.diagnostics(source, name, diagnostics);
                crate::exit_status::DATA
            }
            Failure::Fault(fault) => self.ended(isolate, fault),
        }
    }

    /// Why a program did not end well, as text.
    pub(crate) fn rendered_failure(
        &self,
        sources: &dyn Fn(&str) -> Option<Rc<str>>,
        source: &str,
        name: &str,
        why: &Failure,
    ) -> String {
        match why {
            Failure::Compile(diagnostics) => {
                let rendered: Vec<String> =
                    diagnostics.iter().map(|one| self.rendered(source, name, one)).collect();
                rendered.join("\n")
            }
            Failure::Fault(fault) => self.rendered_fault(sources, fault),
        }
    }

    /// A fault at the end of a program: a request to exit is none.
    pub(crate) fn ended(&self, isolate: &Isolate, fault: &Fault) -> u8 {
        match fault.exit {
            Some(status) => status.clamp(0, 255) as u8,
            None => {
                self.fault(isolate, fault);
                crate::exit_status::SOFTWARE
            }
        }
    }
}

/// The bytes of a line that raised an error: the whole line where its column is not known.
fn raised_at(start: usize, line: &str, place: &TraceFrame) -> std::ops::Range<usize> {
    let offset = |characters: u32| {
        line.char_indices().nth(characters as usize).map_or(line.len(), |(at, _)| at)
    };
    if place.column == 0 {
        let indent = line.len() - line.trim_start().len();
        return start + indent..start + line.trim_end().len();
    }
    let first = place.column - 1;
    start + offset(first)..start + offset(first + place.width.max(1))
}

fn level_name(diagnostic: &Diagnostic) -> &'static str {
    match diagnostic.level {
        runnel_syntax::Severity::Error => "error",
        runnel_syntax::Severity::Warning => "warning",
    }
}

fn json(source: &str, name: &str, diagnostic: &Diagnostic) -> String {
    let index = LineIndex::new(source);
    let (line, column) = index.position(source, diagnostic.label.span.start);
    let range = |span: runnel_syntax::Span| {
        let (line, column) = index.position(source, span.start);
        let (end_line, end_column) = index.position(source, span.end);
        serde_json::json!({
            "line": line, "column": column, "endLine": end_line, "endColumn": end_column,
        })
    };
    let fixes = diagnostic
        .fixes
        .iter()
        .map(|fix| serde_json::json!({ "range": range(fix.span), "text": fix.text }));
    serde_json::json!({
        "level": level_name(diagnostic), "file": name, "line": line, "column": column,
        "message": diagnostic.title, "label": diagnostic.label.text, "hint": diagnostic.hint,
        "code": diagnostic.code, "range": range(diagnostic.label.span),
        "fixes": fixes.collect::<Vec<_>>(),
    })
    .to_string()
}
