//! Running source texts in an isolate.

use crate::engine::stack::{Slot, Stack, Type};
use crate::fibers::fault::Fault;
use crate::fibers::fiber::Fiber;
use crate::isolate::Isolate;
use crate::program::catalogue::catalogue;
use crate::program::known::KernelNames;
use crate::program::loads::SourceNames;
use crate::values::native::{native_store, push_store};
use crate::values::push::push_value;
use runnel_compile::{Chunk, Known, SourceRole, compile};
use runnel_store::{Context as Call, GraphConnection, Store, Value};
use runnel_syntax::{Diagnostic, Severity};
use std::rc::Rc;

/// What became of a program.
#[derive(Debug)]
pub struct ProgramOutcome {
    /// The text of the last value; `None` for nil.
    pub text: Option<String>,
    /// The last statement is an assignment or a definition: the prompt does not echo it.
    pub silent: bool,
    /// The value is something to run: a store to serve, a filter, a server.
    pub value: Slot,
}

/// Why a program did not end well.
#[derive(Debug)]
pub enum Failure {
    /// It does not compile.
    Compile(Vec<Diagnostic>),
    /// It raised an error that nothing handled.
    Fault(Fault),
}

/// A value for a parameter of a program's signature.
#[derive(Clone, Debug, PartialEq)]
pub enum Argument {
    /// Plain data.
    Value(Value),
    /// A reference: scheme and path.
    Reference(String, String),
}

/// A `test` block of a program that was run.
#[derive(Clone, Debug)]
pub struct TestCase {
    /// Its name.
    pub name: String,
    /// Its line.
    pub line: u32,
    /// Its place in the kernel's list, from 1.
    pub number: usize,
}

/// A source that was compiled.
struct Compiled {
    /// Its function, which takes the kernel.
    slot: Slot,
    /// The prompt does not echo its value.
    is_silent: bool,
    /// What it assigns itself.
    variables: Vec<String>,
    warnings: Vec<Diagnostic>,
    /// What `check` says besides.
    doubts: Vec<Diagnostic>,
}

impl Isolate {
    /// Parses and compiles a source.
    fn compile_source(
        &self,
        source: &str,
        name: &str,
        role: SourceRole,
    ) -> Result<Compiled, Vec<Diagnostic>> {
        let parsed = runnel_syntax::parse(source);
        if parsed.diagnostics.iter().any(|one| one.level == Severity::Error) {
            return Err(runnel_compile::beside_faults(parsed, source, &KernelNames(self)));
        }
        let names = SourceNames::new(KernelNames(self), &parsed.program, name, role);
        let mut chunk = compile(&parsed.program, source, &names)?;
        let chunk_name = self.remember(name, source, &mut chunk);
        let slot = self.load_chunk(&chunk.lua, &chunk_name).map_err(|message| {
            vec![
                Diagnostic::error(
                    runnel_syntax::Span::new(0, 0),
                    "the program is too large for the engine",
                    message,
                )
                .hint("split it into several files that load each other"),
            ]
        })?;
        let mut warnings = parsed.diagnostics;
        warnings.extend(chunk.warnings);
        let Chunk { silent: is_silent, variables, doubts, .. } = chunk;
        Ok(Compiled { slot, is_silent, variables, warnings, doubts })
    }

    /// The function of generated code, which takes the kernel, in a slot.
    pub(super) fn load_chunk(&self, lua: &str, name: &str) -> Result<Slot, String> {
        let stack = self.stack();
        stack.reserve(8);
        stack.load(lua, name)?;
        Ok(stack.keep())
    }

    /// For programs that load others: all errors in one text.
    pub(crate) fn compile_kept(&self, source: &str, name: &str) -> Result<Slot, String> {
        self.compile_source(source, name, SourceRole::LoadedFile)
            .map(|compiled| compiled.slot)
            .map_err(|diagnostics| {
                let index = runnel_syntax::LineIndex::new(source);
                let lines: Vec<String> = diagnostics
                    .iter()
                    .map(|one| {
                        let (line, column) = index.position(source, one.label.span.start);
                        format!("{name}:{line}:{column}: {}", one.title)
                    })
                    .collect();
                lines.join("\n")
            })
    }

    /// Whether a source compiles; nothing runs.
    ///
    /// # Errors
    /// The diagnostics when it does not.
    pub fn compiles(&self, source: &str, name: &str) -> Result<(), Vec<Diagnostic>> {
        let compiled = self.compile_source(source, name, SourceRole::Part)?;
        self.stack().release(compiled.slot);
        Ok(())
    }

    /// Checks a source without running it; answers the warnings, in the order of the text.
    ///
    /// # Errors
    /// The diagnostics when it does not compile.
    pub fn check(&self, source: &str, name: &str) -> Result<Vec<Diagnostic>, Vec<Diagnostic>> {
        let Compiled { slot, mut warnings, doubts, .. } =
            self.compile_source(source, name, SourceRole::Part)?;
        self.stack().release(slot);
        let program = runnel_syntax::parse(source).program;
        warnings.extend(doubts);
        let kernel = KernelNames(self).facts();
        warnings.extend(runnel_check::check(&program, source, catalogue(), &kernel));
        warnings.sort_by_key(|one| one.label.span.start);
        Ok(warnings)
    }

    /// The Lua that a whole program becomes, for the curious.
    ///
    /// # Errors
    /// The diagnostics when it does not compile.
    pub fn lua(&self, source: &str, name: &str) -> Result<String, Vec<Diagnostic>> {
        let parsed = runnel_syntax::parse(source);
        if parsed.diagnostics.iter().any(|one| one.level == Severity::Error) {
            return Err(parsed.diagnostics);
        }
        let (kernel, role) = (KernelNames(self), SourceRole::WholeProgram);
        let names = SourceNames::new(kernel, &parsed.program, name, role);
        compile(&parsed.program, source, &names).map(|chunk| chunk.lua)
    }

    /// Runs a source in a fiber of its own. Its name is what traces show.
    ///
    /// # Errors
    /// The diagnostics, or the error that nothing handled.
    pub async fn run(&self, source: &str, name: &str) -> Result<ProgramOutcome, Failure> {
        let compiled =
            self.compile_source(source, name, SourceRole::Part).map_err(Failure::Compile)?;
        self.run_compiled(compiled).await
    }

    /// The same for a whole program: no other source is run in this isolate, so that variables that only a loop
    /// and what stands around it name need not be kept where others find them.
    ///
    /// # Errors
    /// The diagnostics, or the error that nothing handled.
    pub async fn run_whole(&self, source: &str, name: &str) -> Result<ProgramOutcome, Failure> {
        let compiled = self
            .compile_source(source, name, SourceRole::WholeProgram)
            .map_err(Failure::Compile)?;
        self.run_compiled(compiled).await
    }

    async fn run_compiled(&self, compiled: Compiled) -> Result<ProgramOutcome, Failure> {
        let Compiled { slot, is_silent: silent, variables, .. } = compiled;
        KernelNames(self).declare(&variables);
        let entry = self.entry("runProgram");
        let fiber = Fiber::new(
            self,
            Call::default(),
            |stack| {
                stack.push_kept(entry);
                stack.push_kept(slot);
                stack.push_boolean(silent);
                2
            },
            |_, stack, index| {
                let text = text_at(stack, index + 1);
                stack.push_copy(index);
                (stack.keep(), text)
            },
        );
        let (value, text) = fiber.await.map_err(Failure::Fault)?;
        Ok(ProgramOutcome { text, silent, value })
    }

    /// Calls a kernel function with a kept value, in a fiber.
    async fn call_entry(&self, name: &str, value: Option<Slot>) -> Result<Option<String>, Fault> {
        let entry = self.entry(name);
        Fiber::new(
            self,
            Call::default(),
            |stack| {
                stack.push_kept(entry);
                match value {
                    Some(slot) => stack.push_kept(slot),
                    None => stack.push_nil(),
                }
                1
            },
            |_, stack, index| text_at(stack, index),
        )
        .await
    }

    /// Runs the declared result of a program: prints an object, connects a filter to standard
    /// input and output, serves a store.
    ///
    /// # Errors
    /// The error that nothing handled.
    pub async fn run_result(&self, value: Slot) -> Result<(), Fault> {
        self.call_entry("runResult", Some(value)).await.map(|_| ())
    }

    /// Starts what a program without a declared result, or with `<void>`, ends with, when that is a
    /// server that was never started; warns of servers that nothing starts.
    ///
    /// # Errors
    /// The error that nothing handled.
    pub async fn start_server(&self, value: Slot) -> Result<(), Fault> {
        self.call_entry("startServer", Some(value)).await.map(|_| ())
    }

    /// Ends the program: closes streams and stops servers.
    ///
    /// # Errors
    /// The error that nothing handled.
    pub async fn finish(&self) -> Result<(), Fault> {
        self.call_entry("finish", None).await.map(|_| ())
    }

    /// Takes no more jobs, and waits for those that run, for a time.
    pub async fn stop_jobs(&self) {
        // A job that is cut runs again.
        let _ = self.call_entry("stopJobs", None).await;
    }

    /// Warns of servers that were connected and that nothing starts.
    pub async fn warn_unstarted(&self) {
        // A warning that cannot be written is no error.
        let _ = self.call_entry("warnUnstarted", None).await;
    }

    /// Reports the errors of forked fibers that nothing has joined so far; whether there were some.
    pub async fn report_forks(&self) -> bool {
        matches!(self.call_entry("reportForks", None).await, Ok(Some(_)))
    }

    /// Whether the program left servers or timers running.
    pub async fn is_serving(&self) -> bool {
        let answer = self.call_entry("servingText", None).await;
        matches!(answer, Ok(Some(_)))
    }

    /// The tests that the programs run so far have defined.
    pub async fn tests(&self) -> Vec<TestCase> {
        let Ok(Some(list)) = self.call_entry("testList", None).await else { return Vec::new() };
        list.lines()
            .enumerate()
            .filter_map(|(position, line)| {
                let (number, name) = line.split_once(' ')?;
                let line = number.parse().ok()?;
                Some(TestCase { name: name.to_string(), line, number: position + 1 })
            })
            .collect()
    }

    /// Runs one test.
    ///
    /// # Errors
    /// The error that it raised.
    pub async fn run_test(&self, number: usize) -> Result<(), Fault> {
        let stack = self.stack();
        stack.reserve(4);
        stack.push_number(number as f64);
        let slot = stack.keep();
        let outcome = self.call_entry("runTest", Some(slot)).await;
        self.stack().release(slot);
        outcome.map(|_| ())
    }

    /// Runs Lua with the kernel as its argument: for tests of the kernel itself.
    #[doc(hidden)]
    pub fn run_lua(&self, lua: &str, name: &str) -> Result<(), String> {
        let stack = self.stack();
        stack.reserve(8);
        let slot = self.load_chunk(lua, name)?;
        stack.push_kept(slot);
        stack.release(slot);
        stack.push_kept(self.slots().kernel);
        if stack.protected_call(1, 0) {
            return Ok(());
        }
        let fault = match stack.kind(-1) {
            Type::Table => crate::values::errors::read_fault(self, stack, -1).to_string(),
            _ => stack.text(-1),
        };
        stack.pop(1);
        Err(fault)
    }

    fn entry(&self, name: &str) -> Slot {
        let stack = self.stack();
        stack.reserve(6);
        stack.push_kept(self.slots().kernel);
        stack.field(-1, "entries");
        stack.field(-1, name);
        let slot = stack.keep();
        stack.pop(2);
        slot
    }

    /// An object of the program, such as the value of a source, as a store.
    pub fn store(&self, value: Slot) -> Rc<dyn Store> {
        let stack = self.stack();
        stack.reserve(4);
        stack.push_kept(value);
        if let Some(store) = native_store(stack, stack.top()) {
            stack.pop(1);
            return store;
        }
        crate::stores::script::ScriptStore::of_top(self, stack, "scheme of the program".into())
    }

    /// Sets a variable of the script before it runs.
    pub fn set_argument(&self, name: &str, argument: &Argument) {
        self.set("setArgument", name, argument);
    }

    /// Sets a predefined name, such as `args`.
    pub fn set_predefined(&self, name: &str, argument: &Argument) {
        self.set("predefine", name, argument);
    }

    fn set(&self, setter: &str, name: &str, argument: &Argument) {
        let stack = self.stack();
        stack.reserve(12);
        let top = stack.top();
        stack.push_kept(self.slots().kernel);
        stack.field(-1, setter);
        stack.push_bytes(name.as_bytes());
        match argument {
            Argument::Value(value) => {
                push_value(self, stack, value);
                stack.push_nil();
            }
            Argument::Reference(scheme, path) => {
                stack.push_bytes(path.as_bytes());
                stack.push_bytes(scheme.as_bytes());
            }
        }
        stack.protected_call(3, 0);
        stack.set_top(top);
    }

    /// What a program has made for others to reach: the roots of its servers, and the schemes that
    /// it installed, each with a name. For graphs.
    pub fn installed(&self) -> Vec<(String, Rc<dyn Store>)> {
        let stack = self.stack();
        stack.reserve(12);
        let top = stack.top();
        stack.push_kept(self.slots().kernel);
        stack.field(-1, "installedStores");
        let stores = match stack.protected_call(0, 1) {
            true => crate::stores::script::stores_of_top(self, stack),
            false => Vec::new(),
        };
        stack.set_top(top);
        stores
    }

    /// The connections that the program has made and that stand. For graphs.
    pub async fn connections(&self) -> Vec<GraphConnection> {
        let Ok(Some(text)) = self.call_entry("connectionText", None).await else {
            return Vec::new();
        };
        let connection = |line: &str| {
            let mut columns = line.split('\t');
            let mut end = || Some((columns.next()?.parse().ok()?, columns.next()?.to_string()));
            let (from, to) = (end()?, end()?);
            Some(GraphConnection { from, to, label: columns.next()?.to_string() })
        };
        text.lines().filter_map(connection).collect()
    }

    /// The property paths and tables of what the program serves and has installed, as JSON text: records of
    /// `servedBy`, `method`, `path`, `parameters`, `content`, `answers`, `access` and `place`. Nothing
    /// without any.
    ///
    /// # Errors
    /// A fault of the program, such as a description that fails.
    pub async fn routes(&self) -> Result<Option<String>, Fault> {
        self.call_entry("routeText", None).await
    }

    /// The API of the first server of the program that serves property paths or tables, as JSON text
    /// for `runnel-openapi`.
    ///
    /// # Errors
    /// A fault of the program, such as a description that fails.
    pub async fn api(&self) -> Result<Option<String>, Fault> {
        self.call_entry("apiText", None).await
    }

    /// Installs a scheme in the program.
    pub fn install_scheme(&self, name: &str, store: Rc<dyn Store>) {
        let stack = self.stack();
        stack.reserve(12);
        let top = stack.top();
        stack.push_kept(self.slots().kernel);
        stack.field(-1, "schemes");
        push_store(self, stack, store);
        stack.set_field(-2, name);
        stack.set_top(top);
    }

    /// Names for completion at the prompt: variables, predefined names, classes.
    pub fn completions(&self) -> Vec<String> {
        KernelNames(self).names()
    }

    /// The classes with their messages and variables, and predefined names: a line of text for each fact.
    pub fn kernel_facts(&self) -> String {
        KernelNames(self).facts_text()
    }

    /// Whether a variable of this name is known.
    pub fn has_variable(&self, name: &str) -> bool {
        use runnel_compile::Known;
        KernelNames(self).is_variable(name)
    }

    /// Schemes for completion at the prompt.
    pub fn scheme_names(&self) -> Vec<String> {
        KernelNames(self).schemes()
    }

    /// The names below a path of a scheme, for completion at the prompt; none when the scheme
    /// cannot say.
    pub async fn children(&self, scheme: &str, path: &str) -> Vec<String> {
        let stack = self.stack();
        stack.reserve(4);
        stack.push_bytes(format!("{scheme}:{path}").as_bytes());
        let slot = stack.keep();
        let names = self.call_entry("childList", Some(slot)).await;
        self.stack().release(slot);
        names.ok().flatten().map_or_else(Vec::new, |list| list.lines().map(String::from).collect())
    }

    /// The messages that each class of the program and of the kernel defines itself, for completion at the
    /// prompt.
    pub async fn messages(&self) -> Vec<DefinedSelector> {
        let names = self.call_entry("messageList", None).await.ok().flatten().unwrap_or_default();
        let selector = |line: &str| {
            let mut words = line.split(' ').map(String::from);
            let (class, side, selector) = (words.next()?, words.next()?, words.next()?);
            let is_of_program = words.next()? == "program";
            Some(DefinedSelector { class, is_of_class: side == "+", selector, is_of_program })
        };
        names.lines().filter_map(selector).collect()
    }

    /// The classes of the value that a name has, from its own one up, and whether the value is itself a
    /// class; `None` for nil.
    pub async fn classes_of(&self, name: &str) -> Option<(Vec<String>, bool)> {
        let stack = self.stack();
        stack.reserve(4);
        stack.push_bytes(name.as_bytes());
        let slot = stack.keep();
        let answer = self.call_entry("classesOf", Some(slot)).await;
        self.stack().release(slot);
        let text = answer.ok().flatten()?;
        let mut words = text.split(' ').map(String::from);
        let is_class = words.next()? == "+";
        Some((words.collect(), is_class))
    }
}

/// A message that a class defines itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefinedSelector {
    /// The class.
    pub class: String,
    /// Sent to the class itself.
    pub is_of_class: bool,
    /// `at:put:`, `count`.
    pub selector: String,
    /// Defined by the program rather than by the kernel.
    pub is_of_program: bool,
}

fn text_at(stack: Stack, index: std::os::raw::c_int) -> Option<String> {
    (stack.kind(index) == Type::Text).then(|| stack.text(index))
}
