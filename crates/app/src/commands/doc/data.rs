//! Definitions as JSON, for programs.

use super::command;
use super::groups::{kind_name, rooms};
use super::lookup::Subject;
use super::topics::DocEntry;
use crate::world::options::OptionOwner;
use runnel_catalogue::{Class, Message};
use runnel_runtime::catalogue;
use runnel_store::SettingInfo;
use serde_json::{Value, json};

/// A subject as one object.
pub(crate) fn subject(subject: &Subject) -> Value {
    match subject {
        Subject::Class(class, owner) => class_object(class, owner.as_ref()),
        Subject::Messages(messages) => {
            let messages: Vec<Value> = messages.iter().map(|one| message(one)).collect();
            json!({ "kind": "messages", "messages": messages })
        }
        Subject::Setting(info, owners) => {
            let names: Vec<&str> = owners.iter().map(|owner| owner.name).collect();
            json!({ "kind": "option", "of": names, "option": setting(info) })
        }
        Subject::Owner(owner) => {
            json!({
                "kind": "options", "name": owner.name, "written": owner.written,
                "options": settings(Some(owner)),
            })
        }
        Subject::Scheme(scheme, owner) => {
            json!({
                "kind": "scheme", "name": scheme.name, "text": scheme.help, "example": scheme.example,
                "options": settings(owner.as_ref()),
            })
        }
        Subject::Command(one) => {
            json!({
                "kind": "command", "name": one.get_name(), "text": command::about(one),
                "help": command::help(one),
            })
        }
        Subject::Entry(one) => entry(one),
        Subject::Code(code) => {
            json!({
                "kind": "finding", "name": code.name, "text": code.meaning,
                "example": code.example, "right": code.right,
            })
        }
    }
}

/// The classes, one object each.
pub(crate) fn classes() -> Vec<Value> {
    let mut list = Vec::new();
    for (room, classes) in rooms() {
        for class in classes {
            let text = &class.text;
            list.push(json!({ "kind": "class", "name": class.name, "room": room, "text": text }));
        }
    }
    list
}

fn entry(entry: &DocEntry) -> Value {
    json!({
        "kind": entry.kind.name(), "name": entry.name, "text": entry.text, "example": entry.program,
        "requests": entry.requests, "status": entry.status, "page": entry.page,
        "otherNames": entry.others,
    })
}

fn class_object(class: &Class, owner: Option<&OptionOwner>) -> Value {
    json!({
        "kind": "class", "name": class.name, "text": class.text, "superclass": class.superclass,
        "understands": class.stands_for, "names": catalogue().aliases(&class.name).collect::<Vec<_>>(),
        "options": settings(owner), "messages": class.messages.iter().map(message).collect::<Vec<_>>(),
    })
}

fn message(message: &Message) -> Value {
    let parameters: Vec<Value> = message
        .parameters
        .iter()
        .map(|one| json!({ "name": one.name, "type": one.kind.to_string() }))
        .collect();
    let examples: Vec<Value> = message
        .examples
        .iter()
        .map(|one| json!({ "source": one.source, "result": one.result }))
        .collect();
    json!({
        "class": message.class, "ofClass": message.is_of_class, "selector": message.selector,
        "signature": message.to_string(), "parameters": parameters, "answer": message.answer.to_string(),
        "text": message.text, "examples": examples, "synonyms": message.synonyms,
    })
}

fn settings(owner: Option<&OptionOwner>) -> Vec<Value> {
    owner.map_or_else(Vec::new, |owner| owner.options.iter().map(setting).collect())
}

fn setting(info: &SettingInfo) -> Value {
    json!({
        "name": info.name, "type": kind_name(info.kind), "default": info.default,
        "limit": info.limit, "text": info.help, "formerNames": info.former,
    })
}
