//! Destructuring: `[ a, b ] := pair`, `#{ name: n, tags: [ first ] } := user`.

use crate::generator::Generator;
use runnel_syntax::Diagnostic;
use runnel_syntax::ast::{Expression, ExpressionKind};

impl Generator<'_> {
    /// Assigns the parts of a value, which a Lua expression without effects reads, to the names of a
    /// target.
    pub(crate) fn take_apart(&mut self, target: &Expression, whole: &str) {
        match &target.kind {
            ExpressionKind::Name(name) => {
                let Some(variable) = self.find(name) else { return };
                let code = self.variable_code(&variable);
                self.emit(format_args!("{code}={whole} "));
                self.written(&variable);
            }
            ExpressionKind::Array { class: None, elements } => {
                self.helper("at");
                for (number, element) in elements.iter().enumerate() {
                    self.take_part(element, &format!("at({whole},{number})"));
                }
            }
            ExpressionKind::Dictionary(pairs) => {
                self.helper("K");
                for pair in pairs {
                    let key = self.expression(&pair.key);
                    self.take_part(&pair.value, &format!("K.property({whole},{})", key.text));
                }
            }
            _ => self.error(
                Diagnostic::error(target.span, "only names can stand here", "not a name")
                    .hint(format!("write `[ a, b ] ← …` or `{}`", "#{ name: a } ← …")),
            ),
        }
    }

    fn take_part(&mut self, target: &Expression, part: &str) {
        if matches!(target.kind, ExpressionKind::Name(_)) {
            return self.take_apart(target, part);
        }
        let kept = self.temporary();
        self.emit(format_args!("{kept}={part} "));
        self.take_apart(target, &kept);
    }
}
