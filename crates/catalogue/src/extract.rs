//! The definitions in source files of the kernel: comments that begin with `---`.
//!
//! A block of such lines stands above a class, above the entry of a message, or by itself with the
//! class in its signatures. What is collected is text again, which [`Catalogue::parse`] reads.
//!
//! [`Catalogue::parse`]: crate::Catalogue::parse

use crate::message::signature;
use crate::topic;
use std::collections::BTreeMap;

/// What the source files hold, as text; or what is wrong with a definition, with its place.
pub fn extract<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<String, String> {
    let mut out = String::new();
    for (name, source) in files {
        if let Some((room, _)) = name.split_once('/') {
            out.push_str(&format!("room {room}\n"));
        }
        File { name, variables: BTreeMap::new(), methods: None, out: &mut out }.read(source)?;
    }
    Ok(out)
}

/// One source file while it is read.
struct File<'a> {
    name: &'a str,
    /// Variables of the file that hold classes, by their names.
    variables: BTreeMap<String, String>,
    /// The class to which the entries that follow belong.
    methods: Option<String>,
    out: &'a mut String,
}

impl File<'_> {
    fn read(&mut self, source: &str) -> Result<(), String> {
        let mut block: Vec<&str> = Vec::new();
        // A definition may be the last line.
        for (number, line) in source.lines().chain([""]).enumerate() {
            let trimmed = line.trim_start();
            if let Some(text) = definition(trimmed) {
                block.push(text.trim());
                continue;
            }
            self.look(line);
            // The name of the class follows on the next line.
            let is_opening = line.ends_with("K.nativeCombinator {") || is_declaration(line);
            if !block.is_empty() && !is_opening {
                let fault = |why: String| format!("{}:{}: {why}", self.name, number);
                let written = self.written(&block, trimmed).map_err(fault)?;
                self.out.push_str(&written);
                block.clear();
            }
            if line.starts_with("})") {
                self.methods = None;
            }
        }
        Ok(())
    }

    /// Keeps what a line says of classes.
    fn look(&mut self, line: &str) {
        if let Some((name, superclass)) = new_class(line) {
            let superclass = superclass.and_then(|text| self.class_of(text));
            let superclass = superclass.map(|name| format!(" {name}")).unwrap_or_default();
            self.out.push_str(&format!("class {name}{superclass}\n"));
        }
        if let Some(rest) = line.trim_start().strip_prefix("K.alias(\"")
            && let Some((alias, class)) = rest.split_once("\", ")
            && let Some(class) = self.class_of(class.split(')').next().unwrap_or_default())
        {
            self.out.push_str(&format!("alias {alias} {class}\n"));
        }
        if let Some(rest) = line.strip_prefix("local ")
            && let Some((variables, values)) = rest.split_once(" = ")
        {
            let named = variables.split(", ").zip(split_values(values));
            for (variable, value) in named {
                let class = made_class(value).map(str::to_owned);
                let class = class.or_else(|| of_classes(value).map(str::to_owned));
                if let Some(class) = class {
                    let name: String =
                        class.chars().take_while(|one| one.is_alphanumeric()).collect();
                    self.variables.insert(variable.to_owned(), name);
                }
            }
        }
        // `define("Lines", "MPWLines", {`: its methods follow.
        if let Some(class) = made_class(line).filter(|_| line.ends_with('{')) {
            self.methods = Some(class.to_owned());
        }
        let line = line.trim_start();
        for start in ["K.methods(", "K.classMethods("] {
            if let Some((class, _)) = line.strip_prefix(start).and_then(|rest| rest.split_once(','))
            {
                self.methods = self.class_of(class);
            }
        }
    }

    /// The name of the class that an expression of the file holds.
    fn class_of(&self, expression: &str) -> Option<String> {
        let expression = expression.trim();
        match of_classes(expression) {
            Some(name) => Some(name.to_owned()),
            None => self.variables.get(expression).cloned(),
        }
    }

    /// A block as it is collected: the class is said, and what another class documents is referred to.
    fn written(&self, block: &[&str], next: &str) -> Result<String, String> {
        if topic::head(block[0]).is_some() {
            return Ok(block.join("\n") + "\n\n");
        }
        let is_text =
            !block.iter().any(|line| signature(line).is_some() || line.starts_with("As in "));
        if let Some(class) = made_class(next).filter(|_| is_text) {
            return Ok(format!("about {class}\n{}\n\n", block.join(" ")));
        }
        let around = call_of(next).and_then(|class| self.class_of(class)).or(self.methods.clone());
        if let [line] = block
            && let Some(class) = line.strip_prefix("As in ")
        {
            let class = class.trim_end_matches('.');
            let own = around.ok_or("no class is known here")?;
            let selector = entry(next).ok_or("no message follows")?;
            return Ok(format!("as {own} {class} {selector}\n"));
        }
        let mut out = String::new();
        for line in block {
            match signature(line) {
                Some(Err(why)) => return Err(why),
                Some(Ok(signature)) if signature.class.is_none() => {
                    let class = around.as_ref().ok_or("no class is known here: begin with it")?;
                    out.push_str(&format!("{class} {line}\n"));
                }
                _ => out.push_str(&format!("{line}\n")),
            }
        }
        Ok(out + "\n")
    }
}

/// The text of a line of a definition.
fn definition(line: &str) -> Option<&str> {
    line.strip_prefix("---").filter(|text| !text.starts_with('-'))
}

/// `K.newClass("Point", K.classes.Object)`: the name, and the expression of the superclass.
fn new_class(line: &str) -> Option<(&str, Option<&str>)> {
    const MAKERS: [&str; 3] = ["K.newClass(\"", "K.widgetClass(\"", "K.optionClass(\""];
    let (maker, rest) =
        MAKERS.iter().find_map(|maker| Some((*maker, line.split_once(maker)?.1)))?;
    let (name, rest) = rest.split_once('"')?;
    if maker == MAKERS[2] {
        return Some((name, Some("K.classes.Object")));
    }
    let superclass = rest.strip_prefix(", ").and_then(|rest| rest.split([',', ')']).next());
    Some((name, superclass))
}

/// `K.classes.Data`, `classes.Data`: the name of the class.
fn of_classes(expression: &str) -> Option<&str> {
    expression.strip_prefix("K.").unwrap_or(expression).strip_prefix("classes.")
}

/// The class that a line makes, by itself or by a helper: `K.widgetClass("Slider", …`, `define("Lines", …`,
/// or `name = "Proxy"` in a table for one.
fn made_class(line: &str) -> Option<&str> {
    let name = match line.trim_start().strip_prefix("name = \"") {
        Some(rest) => rest.split('"').next(),
        None => {
            let (helper, rest) = line.split_once("(\"")?;
            let is_helper = helper.ends_with("lass") || helper.ends_with("define");
            is_helper.then(|| rest.split('"').next()).flatten()
        }
    };
    name.filter(|name| name.starts_with(|first: char| first.is_ascii_uppercase()))
}

/// `local Seal`: a variable that the next line fills.
fn is_declaration(line: &str) -> bool {
    line.strip_prefix("local ")
        .is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

/// The expressions of `a, b = x(1, 2), y`, without those that stand in brackets.
fn split_values(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0_i32, 0, Vec::new());
    for (at, one) in text.char_indices() {
        match one {
            '(' | '{' => depth += 1,
            ')' | '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts
}

/// The expression of the class in `K.method(Point, …`, `K.ivar(Point, …`.
fn call_of(line: &str) -> Option<&str> {
    let starts = ["K.method(", "K.classMethod(", "K.ivar("];
    let rest = starts.iter().find_map(|start| line.strip_prefix(start))?;
    rest.split_once(',').map(|(class, _)| class)
}

/// The selector of an entry: `["at:put:"] = …` or `count = …`.
fn entry(line: &str) -> Option<&str> {
    match line.strip_prefix("[\"") {
        Some(rest) => rest.split_once("\"]").map(|(selector, _)| selector),
        None => line.split_once(" =").map(|(name, _)| name),
    }
}
