//! The arguments of a program, as its signature names them: by position, by name, with defaults.
//!
//! `#-<void>copy:<ref>from to:<ref>to port:<int>port=8080 quiet:<bool>quiet` takes
//! `a.txt b.txt --port 80 --quiet`. Without parameters all words are the program's, in `args`.

use crate::console::Console;
use crate::exit_status;
use runnel_runtime::{Argument, Isolate};
use runnel_store::Value;
use runnel_syntax::ast::{Parameter, Selector, Signature};
use runnel_text::distance::nearest;

/// Why a program does not run: `--help`, or wrong arguments.
pub(crate) struct NotRun {
    /// What people see: the usage text, below the problem if there is one.
    pub(crate) text: String,
    pub(crate) status: u8,
}

impl NotRun {
    /// Prints the text; answers the exit status.
    pub(crate) fn show(self) -> u8 {
        match self.status {
            0 => Console::line(&self.text),
            _ => Console::error(&self.text),
        }
        self.status
    }
}

/// One parameter of the signature and what the command line gives for it.
struct ProgramParameter<'a> {
    name: &'a str,
    kind: &'a str,
    default: Option<&'a str>,
    given: Option<Argument>,
}

impl<'a> ProgramParameter<'a> {
    fn of(parameter: &'a Parameter) -> Self {
        ProgramParameter {
            name: &parameter.name.text,
            kind: parameter.kind.as_ref().map_or("string", |kind| kind.text.as_str()),
            default: parameter.default.as_ref().map(|value| unquoted(&value.text)),
            given: None,
        }
    }

    fn is_flag(&self) -> bool {
        self.kind == "bool"
    }

    fn is_list(&self) -> bool {
        matches!(self.kind, "array" | "list")
    }

    fn is_required(&self) -> bool {
        self.default.is_none() && !self.is_flag() && !self.is_list()
    }

    /// What it is, in words.
    fn meaning(&self) -> &'static str {
        match self.kind {
            "int" | "integer" => "a whole number",
            "float" | "number" | "double" => "a number",
            "bool" => "true or false",
            "ref" => "a file or a reference",
            "array" | "list" => "any number of texts",
            _ => "a text",
        }
    }

    /// `<from>`, `[port]`, `[--quiet]`, `[files ...]`
    fn usage(&self) -> String {
        let name = self.name;
        match () {
            () if self.is_flag() => format!("[--{name}]"),
            () if self.is_list() => format!("[{name} ...]"),
            () if self.is_required() => format!("<{name}>"),
            () => format!("[{name}]"),
        }
    }

    /// The line of the usage text below it.
    fn line(&self) -> [String; 2] {
        let shown = match (self.is_flag(), self.is_list()) {
            (true, _) => format!("--{}", self.name),
            (_, true) => self.name.to_string(),
            _ => format!("{0}, --{0}", self.name),
        };
        let default = match self.default {
            Some(default) if default != "nil" => format!("; {default} by default"),
            Some(_) => "; optional".into(),
            None => String::new(),
        };
        [shown, format!("{}{default}", self.meaning())]
    }

    fn set(&mut self, text: &str) -> Result<(), String> {
        self.given = Some(argument(self.name, self.kind, self.meaning(), text)?);
        Ok(())
    }
}

fn parameters_of(signature: &Signature) -> Vec<ProgramParameter<'_>> {
    let parameters: Vec<&Parameter> = match &signature.selector {
        Selector::Unary(_) => Vec::new(),
        Selector::Binary(_, parameter) => vec![parameter],
        Selector::Keyword(parts) => parts.iter().map(|(_, parameter)| parameter).collect(),
    };
    parameters.into_iter().map(ProgramParameter::of).collect()
}

fn unquoted(text: &str) -> &str {
    text.strip_prefix('\'').map_or(text, |text| text.strip_suffix('\'').unwrap_or(text))
}

/// Gives the program its arguments as its signature says.
pub(crate) fn bind(
    isolate: &Isolate,
    name: &str,
    signature: Option<&Signature>,
    port: Option<u16>,
    args: &[String],
) -> Result<(), NotRun> {
    let mut rest = args.to_vec();
    let mut port = port;
    // The original's `-port N`, for programs whose result is served.
    if let Some(at) = rest.iter().position(|arg| arg == "-port")
        && let Some(number) = rest.get(at + 1).and_then(|number| number.parse().ok())
    {
        port = Some(number);
        rest.drain(at..=at + 1);
    }
    let mut parameters = signature.map(parameters_of).unwrap_or_default();
    if !parameters.is_empty() {
        if asks_for_help(&rest) {
            return Err(NotRun { text: usage(name, &parameters), status: 0 });
        }
        match take(&mut parameters, rest) {
            Ok(more) => rest = more,
            Err(problem) => {
                let text = format!("error: {problem}\n\n{}", usage(name, &parameters));
                return Err(NotRun { text, status: exit_status::USAGE });
            }
        }
    }
    for parameter in parameters {
        let argument = parameter.given.unwrap_or(Argument::Value(Value::Nil));
        isolate.set_argument(parameter.name, &argument);
    }
    let name = crate::process::bundle::running().map_or(name, |bundle| bundle.called.as_str());
    let own = if name.contains('/') { name.to_string() } else { format!("./{name}") };
    isolate.set_predefined("args", &texts(&rest));
    // With a folder always, so that what lies beside the program is found by it.
    isolate.set_predefined("argv0", &Argument::Value(Value::Text(own)));
    if let Some(port) = port {
        isolate.set_predefined("servePort", &Argument::Value(Value::Int(port.into())));
    }
    Ok(())
}

fn texts(list: &[String]) -> Argument {
    Argument::Value(Value::List(list.iter().cloned().map(Value::Text).collect()))
}

/// Whether `--help` or `-h` stands before `--`.
fn asks_for_help(args: &[String]) -> bool {
    let mut options = args.iter().take_while(|arg| *arg != "--");
    options.any(|arg| arg == "--help" || arg == "-h")
}

/// Distributes the words; answers those that no parameter takes.
fn take(parameters: &mut [ProgramParameter], args: Vec<String>) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut args = args.into_iter();
    while let Some(arg) = args.next() {
        if arg == "--" {
            words.extend(args);
            break;
        }
        match arg.strip_prefix("--") {
            Some(option) => named(parameters, option, &mut args)?,
            None => words.push(arg),
        }
    }
    let mut words = words.into_iter();
    for parameter in parameters.iter_mut().filter(|parameter| parameter.given.is_none()) {
        if parameter.is_list() {
            parameter.given = Some(texts(&words.by_ref().collect::<Vec<_>>()));
            continue;
        }
        match words.next() {
            Some(word) => parameter.set(&word)?,
            None => match parameter.default {
                Some("nil") => parameter.given = Some(Argument::Value(Value::Nil)),
                Some(default) => parameter.set(default)?,
                None if parameter.is_flag() => {
                    parameter.given = Some(Argument::Value(Value::Bool(false)));
                }
                None => return Err(format!("`{}` is missing", parameter.name)),
            },
        }
    }
    Ok(words.collect())
}

/// `--port 5`, `--port=5`, `--quiet`, `--no-quiet`.
fn named(
    parameters: &mut [ProgramParameter],
    option: &str,
    args: &mut impl Iterator<Item = String>,
) -> Result<(), String> {
    let (name, value) = match option.split_once('=') {
        Some((name, value)) => (name, Some(value.to_string())),
        None => (option, None),
    };
    let negated = name.strip_prefix("no-");
    let is_negated = |one: &ProgramParameter| one.is_flag() && negated == Some(one.name);
    let known: Vec<String> =
        parameters.iter().filter(|one| !one.is_list()).map(|one| one.name.to_string()).collect();
    let found = parameters.iter_mut().find(|one| one.name == name || is_negated(one));
    let Some(parameter) = found.filter(|one| !one.is_list()) else {
        let hint = match (nearest(name, known.iter().map(String::as_str)), name) {
            (Some(near), _) => format!("did you mean `--{near}`?"),
            (None, "port" | "json" | "workers" | "watch" | "supervise" | "memory" | "attach") => {
                format!("as an option of Runnel, `--{name}` stands before the program")
            }
            (None, _) => "after `--` a word may begin with `--`".into(),
        };
        return Err(format!("there is no option `--{name}`; {hint}"));
    };
    if parameter.given.is_some() {
        return Err(format!("`--{name}` is given twice"));
    }
    match (value, parameter.is_flag()) {
        (None, true) => parameter.set(if parameter.name == name { "true" } else { "false" }),
        (Some(value), _) => parameter.set(&value),
        (None, false) => match args.next() {
            Some(value) => parameter.set(&value),
            None => Err(format!("`--{name}` needs {} after it", parameter.meaning())),
        },
    }
}

/// The usage text: how to call the program, and a line for each parameter.
fn usage(name: &str, parameters: &[ProgramParameter]) -> String {
    let calls: Vec<String> = parameters.iter().map(ProgramParameter::usage).collect();
    let mut lines: Vec<[String; 2]> = parameters.iter().map(ProgramParameter::line).collect();
    lines.push(["--help".into(), "this text".into()]);
    let width = lines.iter().map(|[shown, _]| shown.chars().count()).max().unwrap_or(0);
    let command = match crate::process::bundle::running() {
        Some(bundle) => bundle.called.clone(),
        None => format!("runnel {name}"),
    };
    let mut text = format!("usage: {command} {}\n", calls.join(" "));
    for [shown, meaning] in lines {
        text.push_str(&format!("\n  {shown:<width$}  {meaning}"));
    }
    text
}

fn argument(name: &str, kind: &str, meaning: &str, text: &str) -> Result<Argument, String> {
    let wrong = || format!("`{name}` must be {meaning}, not `{text}`");
    Ok(match kind {
        "int" | "integer" => Argument::Value(Value::Int(text.parse::<i64>().map_err(|_| wrong())?)),
        "float" | "number" | "double" => {
            Argument::Value(Value::Float(text.parse::<f64>().map_err(|_| wrong())?))
        }
        "bool" => match text {
            "true" | "1" | "yes" => Argument::Value(Value::Bool(true)),
            "false" | "0" | "no" => Argument::Value(Value::Bool(false)),
            _ => return Err(wrong()),
        },
        "ref" => {
            let scheme = text.split_once(':').filter(|(scheme, _)| {
                scheme.len() > 1 && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
            });
            match scheme {
                Some((scheme, path)) => Argument::Reference(scheme.into(), path.into()),
                None => Argument::Reference("file".into(), text.into()),
            }
        }
        _ => Argument::Value(Value::Text(text.into())),
    })
}
