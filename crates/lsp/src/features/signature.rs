//! The parameters of the keyword message that is being written.

use super::hover::definitions;
use crate::analysis::context::open_message;
use crate::documents::View;
use lsp_types::{
    Documentation, MarkupContent, MarkupKind, ParameterInformation, ParameterLabel, SignatureHelp,
    SignatureInformation,
};

/// Signatures that are shown at most.
const MOST_SHOWN: usize = 10;

/// The signatures of messages that begin as the one around a byte does.
pub(crate) fn help(view: &View<'_>, offset: u32) -> Option<SignatureHelp> {
    let open = open_message(view.analysis, view.text(), offset)?;
    let (index, catalogue) = (&view.analysis.index, view.knowledge.catalogue);
    let begins = |selector: &str| selector.starts_with(&open.begun);
    let mut signatures: Vec<(bool, SignatureInformation)> = Vec::new();
    let mut add = |selector: &str, signature: SignatureInformation| {
        let is_known = signatures.iter().any(|(_, one)| one.label == signature.label);
        if !is_known {
            signatures.push((selector == open.begun, signature));
        }
    };
    let receiver = open.receiver.class.as_deref();
    let classes = match receiver {
        Some(class) => index.lineage(class).collect(),
        None => index.classes.values().collect::<Vec<_>>(),
    };
    for class in classes {
        for method in class.methods.iter().filter(|method| begins(&method.selector)) {
            add(
                &method.selector,
                information(&method.signature, &method.selector, &method.parameters, ""),
            );
        }
    }
    match receiver {
        Some(class) => {
            let kernel = index.kernel_class(class);
            let mut classes: Vec<_> = catalogue.lineage(kernel).collect();
            if open.receiver.is_class {
                classes.extend(catalogue.class("Class"));
            }
            for class in classes {
                let side = open.receiver.is_class && class.name != "Class";
                let own = class
                    .messages
                    .iter()
                    .filter(|one| one.is_of_class == side && begins(&one.selector));
                own.for_each(|one| add(&one.selector, of_message(one)));
            }
        }
        None => {
            let selectors = catalogue.selectors().filter(|one| begins(one));
            for selector in selectors.take(MOST_SHOWN) {
                definitions(view, selector)
                    .into_iter()
                    .for_each(|one| add(selector, of_message(one)));
            }
        }
    }
    signatures.sort_by_key(|(is_exact, one)| (!is_exact, one.label.len()));
    signatures.truncate(MOST_SHOWN);
    let signatures: Vec<_> = signatures.into_iter().map(|(_, one)| one).collect();
    (!signatures.is_empty()).then_some(SignatureHelp {
        signatures,
        active_signature: Some(0),
        active_parameter: Some(open.argument as u32),
    })
}

fn of_message(message: &runnel_catalogue::Message) -> SignatureInformation {
    let parameters: Vec<String> =
        message.parameters.iter().map(|one| format!("<{}>{}", one.kind, one.name)).collect();
    information(&message.to_string(), &message.selector, &parameters, &message.text)
}

fn information(
    label: &str,
    selector: &str,
    parameters: &[String],
    text: &str,
) -> SignatureInformation {
    let mut at = 0;
    let parameters = parameters.iter().map(|parameter| {
        let found = label.get(at..).and_then(|rest| rest.find(parameter.as_str()));
        let label = match found {
            Some(start) => {
                let (start, end) = (at + start, at + start + parameter.len());
                at = end;
                let units = |end: usize| label[..end].encode_utf16().count() as u32;
                ParameterLabel::LabelOffsets([units(start), units(end)])
            }
            None => ParameterLabel::Simple(parameter.clone()),
        };
        ParameterInformation { label, documentation: None }
    });
    let parameters = parameters.collect();
    let content = MarkupContent { kind: MarkupKind::Markdown, value: text.to_owned() };
    SignatureInformation {
        label: if label.is_empty() { selector.to_owned() } else { label.to_owned() },
        documentation: (!text.is_empty()).then_some(Documentation::MarkupContent(content)),
        parameters: Some(parameters),
        active_parameter: None,
    }
}
