//! Property paths: their parameters, and what handlers and clauses see.

use super::builder::NameBuilder;
use super::index::{BodyKind, KnownValue, NameKind};
use runnel_syntax::Span;
use runnel_syntax::ast::{
    ClauseKind, ParameterPlace, PathClause, PathHandler, PathMemberKind, PropertyPath,
    RequestParameter, Segment,
};

impl NameBuilder<'_> {
    /// A path; `span`: all of it.
    pub(super) fn property_path(&mut self, path: &PropertyPath, span: Span) {
        self.index.bodies.push((Span::new(path.address.span.end, span.end), BodyKind::Path));
        self.open(span, false);
        for segment in &path.segments {
            match segment {
                Segment::Parameter(parameter) => {
                    let value = parameter.kind.as_ref().map(|kind| self.declared(kind));
                    self.declared_places(parameter.kind.as_ref());
                    let value = value.unwrap_or_else(|| KnownValue::object("String"));
                    let name = &parameter.name;
                    self.define(&name.text, name.span, NameKind::Parameter, value);
                }
                Segment::Rest(Some(name)) => {
                    let value = KnownValue::object("String");
                    self.define(&name.text, name.span, NameKind::Parameter, value);
                }
                Segment::Literal(_) | Segment::Rest(None) => {}
            }
        }
        path.parameters.iter().for_each(|parameter| self.request_parameter(parameter));
        for member in &path.members {
            match &member.kind {
                PathMemberKind::Handler(handler) => self.handler(handler),
                PathMemberKind::Clause(clause) => self.clause(clause),
                PathMemberKind::Parameter(parameter) => self.request_parameter(parameter),
                PathMemberKind::Path(path) => self.property_path(path, member.span),
            }
        }
        self.close();
    }

    pub(super) fn request_parameter(&mut self, parameter: &RequestParameter) {
        self.declared_places(parameter.kind.as_ref());
        let value = parameter.kind.as_ref().map(|kind| self.declared(kind));
        let value = value.unwrap_or_else(|| KnownValue::object("String"));
        let name = &parameter.name;
        // A header such as `X-Request-Id` is a name as well.
        let kind = match parameter.place {
            ParameterPlace::Query | ParameterPlace::Header | ParameterPlace::Cookie => {
                NameKind::Parameter
            }
        };
        self.define(&name.text, name.span, kind, value);
    }

    fn handler(&mut self, handler: &PathHandler) {
        self.declared_places(handler.content.as_ref());
        for answer in &handler.answers {
            self.declared_places(answer.kind.as_ref());
        }
        let content = handler.content.as_ref().map(|kind| self.declared(kind)).unwrap_or_default();
        let start = Span::new(handler.body.span.start, handler.body.span.start);
        self.open(handler.body.span, false);
        self.declare("newValue", start, NameKind::Predefined, content);
        self.declare("theRef", start, NameKind::Predefined, KnownValue::object("Reference"));
        if let Some(allowed) = &handler.allowed {
            self.block(allowed, &[]);
        }
        self.block(&handler.body, &[]);
        self.close();
    }

    /// A clause; what it gives is seen by the handlers behind it.
    pub(super) fn clause(&mut self, clause: &PathClause) {
        self.declared_places(clause.answer.as_ref());
        let given = match clause.kind {
            ClauseKind::Rescue => vec![KnownValue::object("Error")],
            _ => Vec::new(),
        };
        let value = self.block(&clause.body, &given);
        if let Some(name) = &clause.name {
            self.define(&name.text, name.span, NameKind::Parameter, value);
        }
    }
}
