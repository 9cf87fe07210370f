//! References in programs: reading, writing, and references themselves.
//!
//! `var:`, `this:`, `class:` and `scheme:` are known to the compiler; every other scheme is looked
//! up by the kernel when the reference is used.

use crate::chunk::SourceRole;
use crate::code::{Code, Tail};
use crate::generator::Generator;
use crate::lua::names::{field, quoted};
use crate::scope::Variable;
use runnel_syntax::ast::{Expression, ExpressionKind, Path, SentMessage, Statement, StatementKind};
use runnel_syntax::{Diagnostic, Span};
use runnel_text::distance::nearest;
use std::collections::BTreeSet;

/// The schemes that a program installs by `scheme:name ← store`.
pub(crate) fn installed_schemes(statements: &[Statement], schemes: &mut BTreeSet<String>) {
    runnel_syntax::walk::walk_statements(statements, &mut |expression| {
        let inside = match &expression.kind {
            ExpressionKind::Block(block) => Some(&block.statements),
            ExpressionKind::Assign { target, .. } => {
                if let ExpressionKind::Reference(path) = &target.kind
                    && path.scheme.as_ref().is_some_and(|word| word.text == "scheme")
                {
                    // A computed name may be any scheme: the star stands for all.
                    schemes.insert(path.literal().unwrap_or_else(|| "*".into()));
                }
                None
            }
            _ => None,
        };
        if let Some(statements) = inside {
            installed_schemes(statements, schemes);
        }
    });
    for statement in statements {
        match &statement.kind {
            StatementKind::Test { body, .. } => installed_schemes(&body.statements, schemes),
            StatementKind::Class(class) => runnel_syntax::walk::bodies(class, &mut |block| {
                installed_schemes(&block.statements, schemes);
            }),
            _ => {}
        }
    }
}

impl Generator<'_> {
    /// The code of the variable that says whether a client waits for what this function answers: in
    /// the `get` of a property path.
    fn client(&mut self) -> Option<String> {
        let home = self.functions.last().map(|function| function.id);
        let method = self.method.as_ref().filter(|method| home == Some(method.home));
        let client = method?.client.clone()?;
        Some(self.variable_code(&client))
    }

    /// A read of a store as the answer of a `get`: for a client, a file stays a file with its media
    /// type, its validators and its stream.
    pub(crate) fn answered(&mut self, expression: &Expression) -> Option<Code> {
        match &expression.kind {
            ExpressionKind::Reference(path) => {
                let client = self.client()?;
                Some(self.read_for(path, Some(&client)))
            }
            ExpressionKind::Send { receiver, message: SentMessage::Keyword(parts) } => {
                let [(word, argument)] = &parts[..] else { return None };
                let is_super =
                    matches!(&receiver.kind, ExpressionKind::Name(name) if name == "super");
                if word.text != "at" || is_super {
                    return None;
                }
                let client = self.client()?;
                let mark = self.mark(word.span);
                let codes = self.expressions(&[receiver, argument]);
                self.helper("K");
                let (receiver, argument) = (&codes[0].text, &codes[1].text);
                let call = format!("{mark}K.answerAt({receiver},{argument},{client})");
                Some(Code::call(call).deeper_than(&codes))
            }
            _ => None,
        }
    }

    /// `scheme:path` read.
    pub(crate) fn read(&mut self, path: &Path) -> Code {
        self.read_for(path, None)
    }

    /// `scheme:path` read; `client` is the variable that says whether a client waits for it.
    fn read_for(&mut self, path: &Path, client: Option<&str>) -> Code {
        let scheme = path.scheme.as_ref().map_or("var", |word| word.text.as_str()).to_string();
        let mark = self.mark(path.span);
        let literal = path.literal();
        match (scheme.as_str(), literal.as_deref()) {
            ("var" | "default", Some(name)) if !name.contains('/') => {
                return self.variable_named(name, path.span);
            }
            ("var" | "default", Some(name)) => {
                let (first, rest) = name.split_once('/').unwrap_or((name, ""));
                let base = self.variable_named(first, path.span);
                self.helper("K");
                return Code::call(format!("{mark}K.walk({},{})", base.text, quoted(rest)))
                    .deeper_than(&[base]);
            }
            ("var" | "default", None) => return self.dynamic(path, None),
            ("this", Some(name)) if self.is_own_variable(name) => {
                return Code::prefix(format!("self.{}", field(name)));
            }
            ("port", Some(name)) if name.contains('/') => return self.port(name, path.span),
            ("class", Some(name)) => {
                let word = runnel_syntax::ast::Word { text: name.into(), span: path.span };
                return Code::prefix(self.class_value(&word));
            }
            _ => {}
        }
        let text = self.path_text(path);
        let client = client.map(|client| format!(",{client}")).unwrap_or_default();
        let call = match scheme.as_str() {
            "this" | "self" => {
                self.needs_self(path);
                self.helper("K");
                format!("K.{scheme}Get(self,{}{client})", text.text)
            }
            "scheme" => {
                self.helper("K");
                format!("K.schemeNamed({})", text.text)
            }
            "class" => {
                self.helper("K");
                format!("K.classNamed({})", text.text)
            }
            _ => match self.own_scheme(&scheme, path) {
                Own::Variable(code) => {
                    self.helper("K");
                    format!("K.fetchFrom({code},{},{}{client})", quoted(&scheme), text.text)
                }
                Own::AtRunTime => {
                    self.helper("K");
                    format!("K.fetchIn(self,{},{}{client})", quoted(&scheme), text.text)
                }
                Own::No => {
                    self.helper("fetch");
                    format!("fetch({},{}{client})", quoted(&scheme), text.text)
                }
            },
        };
        Code::call(format!("{mark}{call}")).deeper_than(&[text])
    }

    /// `port:stdout/println:`: a port of the thing that the first part names.
    fn port(&mut self, path: &str, span: Span) -> Code {
        let mark = self.mark(span);
        let (first, rest) = path.split_once('/').unwrap_or((path, ""));
        let owner = match first {
            "self" | "this" if self.method.is_some() => Code::prefix("self"),
            _ => self.variable_named(first, span),
        };
        self.helper("K");
        Code::call(format!("{mark}K.portAt({},{})", owner.text, quoted(rest))).deeper_than(&[owner])
    }

    /// `var:name`: the variable, also between query brackets.
    fn variable_named(&mut self, name: &str, span: Span) -> Code {
        let brackets = self.brackets.take();
        let code = self.name(name, span);
        self.brackets = brackets;
        code
    }

    /// `scheme:path ← value`
    pub(crate) fn write(&mut self, path: &Path, value: &Expression, wanted: bool) -> Code {
        let scheme = path.scheme.as_ref().map_or("var", |word| word.text.as_str()).to_string();
        let mark = self.mark(path.span);
        let literal = path.literal();
        if let Some(name) = &literal {
            match scheme.as_str() {
                "var" | "default" if !name.contains('/') => {
                    let Some(variable) = self.find(name) else {
                        return self.name(name, path.span);
                    };
                    let code = self.variable_code(&variable);
                    self.expression_to(value, &Tail::Keep(code.clone()));
                    self.written(&variable);
                    return Code::prefix(code);
                }
                "this" if self.is_own_variable(name) => {
                    let code = format!("self.{}", field(name));
                    if self.is_typed_variable(name) {
                        let given = self.temporary();
                        self.expression_to(value, &Tail::Keep(given.clone()));
                        let fits = format!("self._fits.{}", field(name));
                        self.emit(format_args!("{mark}{code}={fits}({given}) "));
                        self.field_written(&field(name));
                        return Code::prefix(code);
                    }
                    self.expression_to(value, &Tail::Keep(code.clone()));
                    self.field_written(&field(name));
                    return Code::prefix(code);
                }
                _ => {}
            }
        }
        let text = self.path_text(path);
        let text = if self.needs_statements(value) { self.keep(text) } else { text };
        let value = self.expression(value);
        let value = if wanted { self.keep(value) } else { value };
        self.helper("K");
        let call = match (scheme.as_str(), &literal) {
            ("var" | "default", Some(name)) => {
                let (first, rest) = name.split_once('/').unwrap_or((name, ""));
                let base = self.name(first, path.span);
                format!("K.walkPut({},{},{})", base.text, quoted(rest), value.text)
            }
            ("var" | "default", None) => {
                let code = self.dynamic(path, Some(&value));
                self.finish(code, &Tail::Discard);
                return value;
            }
            ("this" | "self", _) => {
                self.needs_self(path);
                format!("K.{scheme}Put(self,{},{})", text.text, value.text)
            }
            ("scheme", _) => format!("K.installScheme({},{})", text.text, value.text),
            _ => match self.own_scheme(&scheme, path) {
                Own::Variable(code) => {
                    format!("K.putInto({code},{},{},{})", quoted(&scheme), text.text, value.text)
                }
                Own::AtRunTime => {
                    format!("K.putIn(self,{},{},{})", quoted(&scheme), text.text, value.text)
                }
                Own::No => {
                    self.helper("store");
                    format!("store({},{},{})", quoted(&scheme), text.text, value.text)
                }
            },
        };
        self.finish(Code::call(format!("{mark}{call}")), &Tail::Discard);
        value
    }

    /// `ref:scheme:path`: the reference itself.
    pub(crate) fn reference(&mut self, path: &Path) -> Code {
        let scheme = path.scheme.as_ref().map_or("var", |word| word.text.as_str()).to_string();
        let literal = path.literal();
        self.helper("K");
        if let ("var" | "default", Some(name)) = (scheme.as_str(), &literal) {
            return self.variable_reference(name, path);
        }
        let text = self.path_text(path);
        let call = match scheme.as_str() {
            "this" => {
                self.needs_self(path);
                format!("K.thisReference(self,{})", text.text)
            }
            "self" => {
                self.needs_self(path);
                format!("K.selfReference(self,{})", text.text)
            }
            _ => match self.own_scheme(&scheme, path) {
                Own::Variable(code) => {
                    format!("K.referenceInto({code},{},{})", quoted(&scheme), text.text)
                }
                Own::AtRunTime => {
                    format!("K.referenceIn(self,{},{})", quoted(&scheme), text.text)
                }
                Own::No => format!("K.reference({},{})", quoted(&scheme), text.text),
            },
        };
        Code::call(call).deeper_than(&[text])
    }

    /// The reference to a variable, or to what `name/path` names in its value.
    fn variable_reference(&mut self, name: &str, path: &Path) -> Code {
        let (first, rest) = match name.split_once('/') {
            Some((first, rest)) => (first, Some(rest)),
            None => (name, None),
        };
        match self.find(first) {
            Some(variable) if variable.owner.is_some() => {
                let (get, set) = self.accessors(first);
                let cell = match variable.hub {
                    Some(_) => self.hub_cell(first),
                    None => "nil".into(),
                };
                let rest = rest.map(|rest| format!(",{}", quoted(rest))).unwrap_or_default();
                let name = quoted(first);
                Code::call(format!("K.localReference({name},{get},{set},{cell}{rest})"))
            }
            None if self.method.is_some() && rest.is_none() => self.name(first, path.span),
            _ => Code::call(format!("K.reference(\"var\",{})", quoted(name))),
        }
    }

    /// Two closures that read and write a local variable.
    fn accessors(&mut self, name: &str) -> (String, String) {
        let get = self.closure(name, |_, variable| format!("return {variable}"));
        let set = self.closure(name, |hub, variable| match hub {
            Some(hub) => format!("{variable}=x if {hub} then {hub}:changed(x) end"),
            None => format!("{variable}=x"),
        });
        (format!("function(){get} end"), format!("function(x){set} end"))
    }

    /// A closure that reads and sets the local for the observers of a local variable.
    fn hub_cell(&mut self, name: &str) -> String {
        let body = self.closure(name, |hub, _| {
            let hub = hub.unwrap_or("_");
            format!("if x~=nil then {hub}=x or nil end return {hub}")
        });
        format!("function(x){body} end")
    }

    /// The body of a closure over a local variable and the local for its observers.
    fn closure(&mut self, name: &str, body: impl Fn(Option<&str>, &str) -> String) -> String {
        self.function_body(&[], |this| {
            let Some(variable) = this.find(name) else { return };
            let code = this.variable_code(&variable);
            let hub = variable.hub.clone().map(|hub| {
                let beside = Variable { code: hub, ..variable.clone() };
                this.variable_code(&beside)
            });
            this.code.push_str(&body(hub.as_deref(), &code));
        })
    }

    /// The reference that the left side of `+=`, `|=` or `=|=` names; other expressions as they
    /// are.
    pub(crate) fn reference_of(&mut self, expression: &Expression) -> Code {
        match &expression.kind {
            ExpressionKind::Reference(path) => self.reference(path),
            ExpressionKind::Name(name)
                if self.find(name).is_some() || !self.known.is_predefined(name) =>
            {
                let path = Path { scheme: None, parts: Vec::new(), span: expression.span };
                self.helper("K");
                self.variable_reference(name, &path)
            }
            ExpressionKind::Subscript { receiver, index } => {
                let codes = self.expressions(&[receiver, index]);
                self.helper("K");
                Code::call(format!("K.elementReference({},{})", codes[0].text, codes[1].text))
            }
            _ => self.expression(expression),
        }
    }

    /// A variable whose name is computed: looks at the locals that are visible, then at the
    /// script's.
    fn dynamic(&mut self, path: &Path, value: Option<&Code>) -> Code {
        let text = self.path_text(path);
        self.helper("K");
        let locals: BTreeSet<String> = self
            .scopes
            .iter()
            .filter(|scope| !scope.top)
            .flat_map(|scope| scope.names.iter().map(|(name, _)| name.clone()))
            .filter(|name| self.find(name).is_some_and(|variable| variable.owner.is_some()))
            .collect();
        let mut entries = Vec::new();
        for name in locals {
            let (get, set) = self.accessors(&name);
            entries.push(format!("[{}]={{{get},{set}}}", quoted(&name)));
        }
        let locals =
            if entries.is_empty() { "nil".into() } else { format!("{{{}}}", entries.join(",")) };
        let is_apart = self.method.is_some() || self.known.role() == SourceRole::LoadedFile;
        let script = if is_apart { "nil" } else { self.top_table };
        if script != "nil" {
            self.helper(self.top_table);
        }
        match value {
            None => Code::call(format!("K.dynamicGet({},{script},{locals})", text.text)),
            Some(value) => {
                Code::call(format!("K.dynamicPut({},{script},{locals},{})", text.text, value.text))
            }
        }
    }

    fn needs_self(&mut self, path: &Path) {
        if self.method.is_none() {
            let scheme = path.scheme.as_ref().map_or("this", |word| word.text.as_str());
            self.error(
                Diagnostic::error(
                    path.span,
                    format!("`{scheme}:` is only known in methods"),
                    "here",
                )
                .hint("in the script itself, variables need no scheme"),
            );
        }
    }

    pub(crate) fn is_own_variable(&self, name: &str) -> bool {
        self.method
            .as_ref()
            .is_some_and(|method| !method.class_side && self.has_variable(&method.class, name))
    }

    /// Whether an own variable was declared with a type.
    fn is_typed_variable(&self, name: &str) -> bool {
        self.method.as_ref().is_some_and(|method| self.is_typed(&method.class, name))
    }

    fn own_scheme(&mut self, scheme: &str, path: &Path) -> Own {
        if self.is_own_variable(scheme) {
            return Own::Variable(format!("self.{}", field(scheme)));
        }
        if self.known.is_scheme(scheme)
            || self.schemes.contains(scheme)
            || self.schemes.contains("*")
        {
            return Own::No;
        }
        if self.method.is_some() {
            return Own::AtRunTime;
        }
        let mut known = self.known.schemes();
        known.extend(self.schemes.iter().cloned());
        let span = path.scheme.as_ref().map_or(path.span, |word| word.span);
        let title = format!("there is no scheme `{scheme}:`");
        let mut diagnostic = Diagnostic::error(span, title, "not known");
        diagnostic = match nearest(scheme, known.iter().map(String::as_str)) {
            Some(meant) => diagnostic.hint(format!("did you mean `{meant}:`?")),
            None => diagnostic.hint(format!("install it first: `scheme:{scheme} ← …`")),
        };
        self.error(diagnostic);
        Own::No
    }
}

/// Whether a scheme belongs to the object whose method is compiled.
enum Own {
    /// An instance variable holds the store.
    Variable(String),
    /// Only the object knows (a mapping store's `source:`, `schemeNames`).
    AtRunTime,
    /// It is one of the program's.
    No,
}
