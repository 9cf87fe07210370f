//! The code that a program names: methods, handlers of paths, filters, tests. Stack traces name their frames with it.

use crate::Span;
use crate::ast::{
    Class, Member, MemberKind, PathMemberKind, Program, PropertyPath, Statement, StatementKind,
};

/// Code with a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Definition {
    /// Where, from its first word on.
    pub span: Span,
    /// `Task -title`, `GET /tasks/:id`, `filter Upper`, `test 'adds'`.
    pub name: String,
}

/// The definitions in the order of their starts; an inner one comes after the outer one.
pub fn definitions(program: &Program) -> Vec<Definition> {
    let mut found = Vec::new();
    in_statements(&program.statements, &mut found);
    found
}

/// The innermost definition around an offset.
pub fn definition_at(definitions: &[Definition], offset: u32) -> Option<&Definition> {
    let behind = definitions.partition_point(|one| one.span.start <= offset);
    definitions[..behind].iter().rev().find(|one| offset < one.span.end)
}

fn in_statements(statements: &[Statement], found: &mut Vec<Definition>) {
    for statement in statements {
        match &statement.kind {
            StatementKind::Class(class) => in_class(class, found),
            StatementKind::Test { name, body } => {
                let name = format!("test '{}'", name.text);
                found.push(Definition { span: statement.span, name });
                in_statements(&body.statements, found);
            }
            _ => {}
        }
    }
}

fn in_class(class: &Class, found: &mut Vec<Definition>) {
    for Member { kind, span } in &class.members {
        let name = match kind {
            MemberKind::Method(method) => {
                let side = if method.class_side { "+" } else { "-" };
                format!("{} {side}{}", class.name.text, method.selector.text())
            }
            MemberKind::FilterBody(_) => format!("filter {}", class.name.text),
            MemberKind::PropertyPath(path) => {
                in_path(path, "", found);
                continue;
            }
            _ => continue,
        };
        found.push(Definition { span: *span, name });
    }
}

/// The handlers of a path and of the paths below it. `above`: the path around.
fn in_path(path: &PropertyPath, above: &str, found: &mut Vec<Definition>) {
    let whole = format!("{above}{}", path.pattern.text.trim_end_matches('/'));
    for member in &path.members {
        match &member.kind {
            PathMemberKind::Handler(handler) => {
                let shown = if whole.is_empty() { "/" } else { &whole };
                let name = format!("{} {shown}", handler.http_method());
                found.push(Definition { span: member.span, name });
            }
            PathMemberKind::Path(below) => in_path(below, &whole, found),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse;

    fn name_at(source: &str, mark: &str) -> Option<String> {
        let found = definitions(&parse(source).program);
        let offset = source.find(mark)? as u32;
        definition_at(&found, offset).map(|one| one.name.clone())
    }

    #[test]
    fn the_innermost_definition_names_a_place() {
        let source = "class Task { var a. -title: x { 1 foo } +make { 2 foo } }
            filter Upper |{ ^3 foo }
            scheme S { /a/:id { get { 4 foo } /b { merge { 5 foo } } } / { |= { 6 foo } } }
            test 'adds' { 7 foo }
            8 foo";
        let names = ["1", "2", "3", "4", "5", "6", "7", "8"]
            .map(|number| name_at(source, &format!("{number} foo")).unwrap_or_default());
        assert_eq!(
            names,
            [
                "Task -title:",
                "Task +make",
                "filter Upper",
                "GET /a/:id",
                "PATCH /a/:id/b",
                "GET /",
                "test 'adds'",
                ""
            ]
        );
    }
}
