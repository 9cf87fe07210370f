//! What holds for the handlers at a place: the path so far, its parameters, its clauses.

use crate::lua::names::quoted;
use runnel_syntax::Span;
use runnel_syntax::ast::{ClauseKind, DeclaredType, RequestParameter, Segment, Word};
use std::collections::BTreeMap;

/// A clause that is compiled: the Lua variable of its function, and what it was compiled for.
#[derive(Clone)]
pub(super) struct Clause<'a> {
    pub(super) kind: ClauseKind,
    pub(super) name: Option<&'a Word>,
    /// A guard whose handlers say each for itself who may.
    pub(super) closed: bool,
    pub(super) function: String,
    /// The arguments of the function, as the code around it names them.
    pub(super) arguments: String,
    /// The variable of its value.
    pub(super) value: Option<String>,
    /// What a `rescue` answers.
    pub(super) answer: Option<&'a DeclaredType>,
}

/// What holds for the handlers at a place.
#[derive(Clone, Default)]
pub(in crate::class) struct Around<'a> {
    pub(super) pattern: String,
    pub(super) segments: Vec<&'a Segment>,
    pub(super) parameters: Vec<&'a RequestParameter>,
    pub(super) clauses: Vec<Clause<'a>>,
    pub(super) values: usize,
    /// Verbs and shapes of paths that were seen.
    pub(super) seen: BTreeMap<String, Span>,
}

impl<'a> Around<'a> {
    /// The names of the parameters of the path.
    pub(super) fn path_names(&self) -> Vec<&'a str> {
        let names = self.segments.iter().filter_map(|segment| match segment {
            Segment::Parameter(parameter) => Some(parameter.name.text.as_str()),
            Segment::Rest(Some(word)) => Some(word.text.as_str()),
            Segment::Literal(_) | Segment::Rest(None) => None,
        });
        names.collect()
    }

    /// All names that a handler sees, and the variables of the function around it.
    pub(super) fn visible(&self) -> (Vec<String>, Vec<String>) {
        let mut names: Vec<String> = Vec::new();
        let mut variables = Vec::new();
        for (at, name) in self.path_names().into_iter().enumerate() {
            names.push(name.to_owned());
            variables.push(format!("p{}", at + 1));
        }
        for (at, parameter) in self.parameters.iter().enumerate() {
            names.push(variable_name(&parameter.name.text));
            variables.push(format!("r{}", at + 1));
        }
        for clause in &self.clauses {
            if let (Some(name), Some(value)) = (clause.name, &clause.value) {
                names.push(name.text.clone());
                variables.push(value.clone());
            }
        }
        (names, variables)
    }
}

/// The variable that holds a parameter: `X-Api-Key` is `xApiKey`.
pub(super) fn variable_name(name: &str) -> String {
    let mut parts = name.split(['-', '.']);
    let mut text = String::new();
    if let Some(first) = parts.next() {
        let mut letters = first.chars();
        text.extend(letters.next().map(|c| c.to_ascii_lowercase()));
        text.push_str(letters.as_str());
    }
    for part in parts {
        let mut letters = part.chars();
        text.extend(letters.next().map(|c| c.to_ascii_uppercase()));
        text.push_str(letters.as_str());
    }
    text
}

/// What runs before the content is read: parameters, and the clauses from the outside in. What is
/// wrong with parameters is said behind the guards that come first.
pub(super) fn prologue(around: &Around, uses: &dyn Fn(&str) -> bool, public: bool) -> String {
    let mut code = String::new();
    let mut told = around.parameters.is_empty();
    if !told {
        let list: Vec<String> = (1..=around.parameters.len()).map(|at| format!("r{at}")).collect();
        code.push_str(&format!("local e,{}=Q(t) ", list.join(",")));
    }
    const TELL: &str = "if e then K.refuseProblems(e) end ";
    for clause in &around.clauses {
        let call = format!("{}({})", clause.function, clause.arguments);
        let used = |name: &Word| {
            let later = around.clauses.iter().any(|other| {
                other.value != clause.value && argument_of(other, clause.value.as_deref())
            });
            uses(&name.text) || later
        };
        if !matches!(clause.kind, ClauseKind::Guard | ClauseKind::Rescue) && !told {
            code.push_str(TELL);
            told = true;
        }
        match (clause.kind, &clause.value, clause.name) {
            (ClauseKind::Guard, Some(value), Some(name)) if public => {
                let call = if used(name) { format!("={call} or nil") } else { String::new() };
                code.push_str(&format!("local {value}{call} "));
            }
            (ClauseKind::Guard, _, _) if public => {}
            (ClauseKind::Guard, Some(value), _) => {
                code.push_str(&format!("local {value}=K.guarded({call}) "));
            }
            (ClauseKind::Guard, None, _) => code.push_str(&format!("K.guarded({call}) ")),
            (ClauseKind::With, Some(value), Some(name)) => {
                let call = if used(name) { format!("={call}") } else { String::new() };
                code.push_str(&format!("local {value}{call} "));
            }
            (ClauseKind::Find, Some(value), Some(name)) => {
                let name = quoted(&name.text);
                code.push_str(&format!("local {value}=K.found({call},{name}) "));
            }
            (ClauseKind::Before, _, _) => code.push_str(&format!("{call} ")),
            (
                ClauseKind::After | ClauseKind::Rescue | ClauseKind::With | ClauseKind::Find,
                _,
                _,
            ) => {}
        }
    }
    if !told {
        code.push_str(TELL);
    }
    code
}

/// Whether the function of a clause takes a value.
fn argument_of(clause: &Clause, value: Option<&str>) -> bool {
    value.is_some_and(|value| clause.arguments.split(',').any(|argument| argument == value))
}
