//! Random small programs, made from the grammar: each parses, compiles, and the engine loads it.
#![allow(clippy::unwrap_used)]

use crate::support::{Lab, sentence};
use proptest::prelude::*;

/// Levels of expressions in expressions.
const DEPTH: u32 = 6;
/// Variables that every program and every method assigns first.
const NAMES: [&str; 4] = ["alpha", "beta", "end", "x-y"];

/// Writes a program; every choice takes a number from a list, so that a failure shrinks.
struct Writer<'a> {
    choices: std::slice::Iter<'a, u16>,
    out: String,
    /// In a method: `self`, `this:` and `^` mean something.
    in_method: bool,
    /// Parameters of the blocks around.
    parameters: Vec<String>,
}

impl Writer<'_> {
    /// A number below `count`; 0 once the choices are used up.
    fn choose(&mut self, count: usize) -> usize {
        self.choices.next().map_or(0, |choice| usize::from(*choice) % count)
    }

    fn pick(&mut self, list: &[&'static str]) -> &'static str {
        list[self.choose(list.len())]
    }

    fn write(&mut self, text: &str) {
        self.out.push_str(text);
    }

    fn list(&mut self, separator: &str, most: usize, mut item: impl FnMut(&mut Self)) {
        for number in 0..self.choose(most + 1) {
            if number > 0 {
                self.write(separator);
            }
            item(self);
        }
    }

    fn program(&mut self) {
        self.names();
        for _ in 0..=self.choose(6) {
            match self.choose(8) {
                4 => self.class(),
                1 => self.scheme(),
                2 => self.filter(),
                3 => {
                    self.write("test 'it' {\n");
                    self.statements(3, DEPTH);
                    self.write("}\n");
                }
                _ => self.statement(DEPTH),
            }
        }
    }

    fn names(&mut self) {
        for (number, name) in NAMES.iter().enumerate() {
            self.write(&format!("{name} ← {number}.\n"));
        }
    }

    fn class(&mut self) {
        self.write("class Thing {\nvar <int> one.\nvar end.\n");
        for number in 0..self.choose(4) {
            let head = match self.choose(5) {
                0 => format!("-m{number} {{\n"),
                1 => "-+ other {\n".into(),
                2 => format!("-<void>at:index put{number}:value {{\n"),
                3 => format!("+make{number} {{\n"),
                _ => "-and:<int>first or:second {\n".into(),
            };
            self.write(&head);
            self.method_body();
        }
        self.write("}\n");
    }

    fn method_body(&mut self) {
        self.in_method = true;
        self.names();
        self.statements(4, DEPTH);
        self.in_method = false;
        self.write("}\n");
    }

    fn scheme(&mut self) {
        self.write("scheme Place {\nvar one. var end.\n");
        for number in 0..self.choose(3) {
            let path = self.pick(&["", "/a", "/:<int>id", "/:name/b", "/*:rest", "/*"]);
            self.write(&format!("/v{number}{path} {{\n"));
            let verb = self.pick(&["get", "put", "post", "merge", "delete", "list"]);
            self.write(&format!("{verb} {{\n"));
            self.method_body();
            self.write("}\n");
        }
        self.write("}\n");
    }

    fn filter(&mut self) {
        self.write("filter Sieve |{\n");
        self.method_body();
    }

    fn statements(&mut self, most: usize, depth: u32) {
        for _ in 0..self.choose(most + 1) {
            self.statement(depth);
        }
    }

    fn statement(&mut self, depth: u32) {
        match self.choose(8) {
            0 | 1 => {
                let name = self.pick(&NAMES);
                self.write(&format!("{name} ← "));
                self.expression(depth);
            }
            2 if self.in_method => {
                self.write("^ ");
                self.expression(depth);
            }
            3 => {
                self.write("[ alpha, beta ] ← ");
                self.expression(depth);
            }
            4 => {
                self.write("memory:a/");
                self.list("/", 2, |this| this.braced(1));
                self.write("b ← ");
                self.expression(depth);
            }
            _ => self.expression(depth),
        }
        self.write(".\n");
    }

    fn braced(&mut self, depth: u32) {
        self.write("{");
        self.expression(depth);
        self.write("}");
    }

    /// A block with at most `most` parameters.
    fn block(&mut self, parameters: usize, depth: u32) {
        self.write("{ ");
        let before = self.parameters.len();
        if parameters > 0 {
            for number in 0..parameters {
                let name = format!("p{}", before + number);
                self.write(&format!(":{name} "));
                self.parameters.push(name);
            }
            self.write("| ");
        }
        self.statements(2, depth);
        self.expression(depth);
        self.write(" }");
        self.parameters.truncate(before);
    }

    fn expression(&mut self, depth: u32) {
        if depth == 0 {
            return self.leaf();
        }
        let depth = depth - 1;
        match self.choose(19) {
            // Once the choices are used up the program comes to its end.
            0 => self.leaf(),
            14 => self.operators(depth),
            1 => self.control(depth),
            2 => self.keyword(depth),
            3 => self.literal(depth),
            4 => {
                self.write("{ ");
                self.statements(2, depth);
                self.write("$0 + $1 }");
            }
            5 => {
                let count = self.choose(3);
                self.block(count, depth);
            }
            6 => self.interpolated(depth),
            7 => {
                self.write("(");
                let name = self.pick(&NAMES);
                self.write(&format!("{name} ← "));
                self.expression(depth);
                self.write(")");
            }
            8 => {
                self.primary(depth);
                self.write(" add: ");
                self.primary(depth);
                self.write("; count; at: 1 put: ");
                self.primary(depth);
            }
            9 => {
                self.write("alpha[");
                self.expression(depth);
                self.write("]");
            }
            10 => self.write("alpha[{ done = false }]"),
            11 => {
                self.primary(depth);
                self.write(" | count");
            }
            12 => {
                self.primary(depth);
                self.write(" → ");
                self.primary(depth);
            }
            13 => self.primary(depth),
            _ => self.leaf(),
        }
    }

    fn primary(&mut self, depth: u32) {
        self.write("(");
        self.expression(depth);
        self.write(")");
    }

    fn operators(&mut self, depth: u32) {
        self.primary(depth);
        for _ in 0..=self.choose(3) {
            let operator =
                self.pick(&["+", "-", "*", "/", "<", ">=", "=", "~=", ",", "@", "%", "!"]);
            self.write(&format!(" {operator} "));
            self.primary(depth);
        }
    }

    fn control(&mut self, depth: u32) {
        match self.choose(8) {
            0 => {
                self.primary(depth);
                let first = self.choose(2);
                self.write([" ifTrue: ", " ifFalse: "][first]);
                self.block(0, depth);
                self.write([" ifFalse: ", " ifTrue: "][first]);
                self.block(0, depth);
            }
            1 => {
                self.primary(depth);
                let word = self.pick(&[" ifTrue: ", " and: ", " or: ", " ifNil: ", " repeat: "]);
                self.write(word);
                self.block(0, depth);
            }
            2 => {
                self.block(0, depth);
                let word = self.pick(&[" whileTrue: ", " whileFalse: "]);
                self.write(word);
                self.block(0, depth);
            }
            3 => {
                self.primary(depth);
                self.write(" to: ");
                self.primary(depth);
                self.write(" do: ");
                self.block(1, depth);
            }
            4 => {
                self.primary(depth);
                self.write(" ifNotNil: ");
                self.block(1, depth);
                self.write(" ifNil: ");
                self.block(0, depth);
            }
            5 => {
                self.primary(depth);
                self.write(" to: 9 by: ");
                self.primary(depth);
                self.write(" do: ");
                self.block(1, depth);
            }
            6 => {
                self.block(0, depth);
                self.write(" ensure: ");
                self.block(0, depth);
            }
            _ => {
                self.block(0, depth);
                self.write(" onError: ");
                self.block(1, depth);
            }
        }
    }

    fn keyword(&mut self, depth: u32) {
        self.primary(depth);
        let unary = self.pick(&["", " count", " not", " end", " a-b", " do"]);
        self.write(unary);
        let word = self.pick(&[" at: ", " collect: ", " end: ", " and: 1 then: ", " x-y: "]);
        self.write(word);
        self.primary(depth);
    }

    /// An element of a literal: the operator `,` would end it.
    fn element(&mut self, depth: u32) {
        if self.choose(2) == 0 { self.leaf() } else { self.primary(depth) }
    }

    fn literal(&mut self, depth: u32) {
        match self.choose(5) {
            0 => {
                self.write("[ ");
                self.list(", ", 4, |this| this.element(depth));
                self.write(" ]");
            }
            1 => {
                self.write("#{ ");
                self.list(", ", 3, |this| {
                    let key = this.pick(&["a", "end", "x-y"]);
                    this.write(&format!("{key}: "));
                    this.element(depth);
                });
                self.write(" }");
            }
            2 => {
                self.write("#div{ class: ");
                self.element(depth);
                self.write(" }[ ");
                self.list(", ", 3, |this| this.element(depth));
                self.write(" ]");
            }
            3 => {
                self.write("#Object{ ");
                self.list(", ", 2, |this| {
                    this.write("end: ");
                    this.element(depth);
                });
                self.write(" }");
            }
            _ => {
                self.write("#( ");
                self.list(", ", 4, |this| {
                    let item = this.pick(&["1", "'a'", "#b", "-2.5"]);
                    this.write(item);
                });
                self.write(" )");
            }
        }
    }

    fn interpolated(&mut self, depth: u32) {
        self.write("\"a");
        for _ in 0..self.choose(12) {
            self.braced(depth.min(1));
            self.write(" \\n");
        }
        self.write("\"");
    }

    fn leaf(&mut self) {
        if self.choose(4) == 0 && !self.parameters.is_empty() {
            let at = self.choose(self.parameters.len());
            let name = self.parameters[at].clone();
            return self.write(&name);
        }
        if self.in_method && self.choose(4) == 0 {
            let own = self.pick(&["self", "this:one", "this:end", "super count", "super at: 1"]);
            return self.write(&format!("({own})"));
        }
        let leaf = self.pick(&[
            "1",
            "-7",
            "2.5e3",
            "123456789012345678901234567890",
            "16r1F",
            "1_000",
            "nil",
            "true",
            "'it''s'",
            "'\\u{1F600}'",
            "#end",
            "alpha",
            "beta",
            "end",
            "x-y",
            "stdout",
            "Object",
            "memory:a/b",
            "ref:memory:a",
            "ref:alpha",
            "var:beta",
            "#[ 1, 2 ]",
            "(alpha?)",
        ]);
        self.write(leaf);
    }
}

fn program(choices: &[u16]) -> String {
    let mut writer = Writer {
        choices: choices.iter(),
        out: String::new(),
        in_method: false,
        parameters: Vec::new(),
    };
    writer.program();
    writer.out
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        max_shrink_iters: 20_000,
        ..Default::default()
    })]

    #[test]
    fn programs_load(choices in prop::collection::vec(any::<u16>(), 0..1_000)) {
        thread_local! {
            static LAB: Lab = Lab::new();
        }
        let source = program(&choices);
        let checked = LAB.with(|lab| lab.isolate.check(&source, "test"));
        if let Err(diagnostics) = checked {
            let why: String = diagnostics.iter().map(sentence).collect();
            prop_assert!(false, "{}\n{}", why, source);
        }
    }
}
