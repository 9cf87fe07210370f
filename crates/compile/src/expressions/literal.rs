//! Literals: arrays, dictionaries, objects, elements, templates.

use crate::code::{Code, Tail};
use crate::expressions::written;
use crate::generator::Generator;
use crate::lua::names::quoted;
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{Expression, ExpressionKind, Pair, Word};

/// Elements of one Lua table constructor; longer literals are put together from parts, because a
/// function holds at most 65,536 constants.
const PART: usize = 5_000;

/// Values of an object literal that are arguments of one call.
const VALUES: usize = 16;

/// The keys of a literal, each with a comma behind it, where they are few different names.
fn names_of(pairs: &[Pair], is_part: fn(u8) -> bool) -> Option<String> {
    let mut names: Vec<&str> = Vec::new();
    for pair in pairs {
        let (ExpressionKind::Text(name) | ExpressionKind::Symbol(name)) = &pair.key.kind else {
            return None;
        };
        let is_name = name.bytes().all(is_part);
        if !is_name || name.is_empty() || names.contains(&name.as_str()) || names.len() >= VALUES {
            return None;
        }
        names.push(name);
    }
    Some(names.iter().map(|name| format!("{name},")).collect())
}

/// Whether a byte is a part of keys of dictionaries that stand in such a list.
fn is_key(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

impl Generator<'_> {
    pub(crate) fn array(&mut self, class: Option<&Word>, elements: &[Expression]) -> Code {
        let list: Vec<&Expression> = elements.iter().collect();
        if class.is_none() && elements.len() > PART {
            return self.long_array(elements);
        }
        match class {
            None => {
                let (values, codes) = self.elements(&list);
                self.helper("array");
                Code::call(format!("array({{{values}}},{})", elements.len())).deeper_than(&codes)
            }
            Some(class)
                if written::is_raw(&class.text) && !self.classes.contains_key(&class.text) =>
            {
                self.raw(class, elements)
            }
            Some(class) => {
                let (values, codes) = self.elements(&list);
                let class = self.class_value(class);
                self.helper("K");
                let call =
                    format!("K.literalArray({class},array({{{values}}},{}))", elements.len());
                self.helper("array");
                Code::call(call).deeper_than(&codes)
            }
        }
    }

    fn elements(&mut self, list: &[&Expression]) -> (String, Vec<Code>) {
        let codes = self.expressions(list);
        // The last one in parentheses: a call there would give all its results.
        let texts: Vec<String> = codes
            .iter()
            .map(|code| if code.call { format!("({})", code.text) } else { code.text.clone() })
            .collect();
        (texts.join(","), codes)
    }

    fn long_array(&mut self, elements: &[Expression]) -> Code {
        let whole = self.temporary();
        self.helper("array");
        self.helper("K");
        self.emit(format_args!("{whole}=array({{}},0) "));
        for part in elements.chunks(PART) {
            // Each part is a function of its own, for the sake of its constants.
            let mut inner = String::new();
            let body = self.function_body(&[], |this| {
                this.with_temporaries(|this| {
                    let list: Vec<&Expression> = part.iter().collect();
                    let (values, _) = this.elements(&list);
                    let value = Code::call(format!("array({{{values}}},{})", part.len()));
                    this.finish(value, &Tail::Return);
                });
            });
            inner.push_str(&body);
            self.emit(format_args!("K.appendAll({whole},(function(){inner} end)()) "));
        }
        Code { prefix: true, ..Code::constant(whole) }
    }

    fn pairs(&mut self, pairs: &[Pair]) -> (String, String, Vec<Code>) {
        let list: Vec<&Expression> =
            pairs.iter().flat_map(|pair| [&pair.key, &pair.value]).collect();
        let codes = self.expressions(&list);
        let text = |code: &Code| {
            if code.call { format!("({})", code.text) } else { code.text.clone() }
        };
        let keys: Vec<String> = codes.iter().step_by(2).map(text).collect();
        let values: Vec<String> = codes.iter().skip(1).step_by(2).map(text).collect();
        (keys.join(","), values.join(","), codes)
    }

    pub(crate) fn dictionary(&mut self, pairs: &[Pair]) -> Code {
        if let Some(names) = names_of(pairs, is_key).filter(|names| !names.is_empty()) {
            let values: Vec<&Expression> = pairs.iter().map(|pair| &pair.value).collect();
            let (values, codes) = self.elements(&values);
            self.helper("K");
            let call = format!("K.dictionaryOf({})({values})", quoted(&names));
            return Code::call(call).with_arguments(&codes);
        }
        let (keys, values, codes) = self.pairs(pairs);
        self.helper("dict");
        Code::call(format!("dict({{{keys}}},{{{values}}},{})", pairs.len())).deeper_than(&codes)
    }

    /// The class of a literal; reports an unknown one.
    pub(crate) fn class_value(&mut self, class: &Word) -> String {
        // A variable may hold the class; but scripts also give an instance the name of its class.
        if !self.is_class(&class.text) {
            if let Some(variable) = self.find(&class.text) {
                return self.variable_code(&variable);
            }
            if self.may_be_loaded(&class.text) {
                self.helper("K");
                return format!("K.classNamed({})", quoted(&class.text));
            }
            let mut diagnostic = Diagnostic::error(
                class.span,
                format!("there is no class `{}`", class.text),
                "not known",
            );
            diagnostic = match self.meant(&class.text) {
                Some(meant) => diagnostic.hint(format!("did you mean `{meant}`?")),
                None => diagnostic.hint(format!("define it: `class {} {{ … }}`", class.text)),
            };
            self.error(diagnostic);
        }
        self.check_order(&class.text, class.span);
        self.helper("G");
        format!("G[{}]", quoted(&class.text))
    }

    pub(crate) fn object(
        &mut self,
        class: &Word,
        pairs: Option<&[Pair]>,
        children: Option<&[Expression]>,
    ) -> Code {
        let target = self.class_value(class);
        let pairs = pairs.unwrap_or_default();
        let count = pairs.len();
        if let (None, Some(names)) =
            (children, names_of(pairs, |byte| byte.is_ascii_alphanumeric()))
        {
            let values: Vec<&Expression> = pairs.iter().map(|pair| &pair.value).collect();
            let (values, codes) = self.elements(&values);
            self.helper("K");
            let mark = self.mark(class.span);
            let call = format!("{mark}K.make({target},{})({values})", quoted(&names));
            return Code::call(call).with_arguments(&codes);
        }
        self.helper("K");
        let mark = self.mark(class.span);
        let (keys, values, codes) = if children
            .is_some_and(|children| children.iter().any(|child| self.needs_statements(child)))
        {
            let (keys, values, codes) = self.pairs(pairs);
            let table = self.temporary();
            let value_table = self.temporary();
            self.emit(format_args!("{table}={{{keys}}} {value_table}={{{values}}} "));
            (table, value_table, codes)
        } else {
            let (keys, values, codes) = self.pairs(pairs);
            (format!("{{{keys}}}"), format!("{{{values}}}"), codes)
        };
        let Some(children) = children else {
            let call = format!("{mark}K.object({target},{keys},{values},{count})");
            return Code::call(call).deeper_than(&codes);
        };
        let list: Vec<&Expression> = children.iter().collect();
        let (inner, inner_codes) = self.elements(&list);
        let call = format!(
            "{mark}K.objectWithChildren({target},{keys},{values},{count},{{{inner}}},{})",
            children.len()
        );
        Code::call(call).deeper_than(&codes).deeper_than(&inner_codes)
    }

    pub(crate) fn template(&mut self, name: &Word, value: &Expression, tail: &Tail) {
        let ExpressionKind::Object { class, pairs, children: None } = &value.kind else {
            self.error(
                Diagnostic::error(value.span, "a template is an object literal", "not one")
                    .hint(format!("write `object {} : #Class{{ … }}`", name.text)),
            );
            return;
        };
        let pairs = pairs.as_deref().unwrap_or_default();
        let target = self.class_value(class);
        let (keys, values, _) = self.pairs(pairs);
        self.helper("K");
        let call = format!(
            "K.template({},{target},{{{keys}}},{{{values}}},{})",
            quoted(&name.text),
            pairs.len()
        );
        self.finish(Code::call(call), tail);
    }
}
