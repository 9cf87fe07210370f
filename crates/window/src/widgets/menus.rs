//! The menu bar of a window: `Menu` nodes with `MenuItem`, `Separator` and further `Menu` nodes.

use crate::gtk::{MenuActions, MenuModel, Object};
use crate::json::{elements, shown};
use crate::session::Session;
use serde_json::Value;
use std::rc::Rc;

/// Depth of menus.
const DEPTH: usize = 8;

/// A menu bar, whose items are actions of the window.
pub(super) fn bar(session: &Rc<Session>, window: &Object, menus: &[Value]) -> Object {
    let actions = MenuActions::new(window);
    let top = MenuModel::new();
    for menu in menus {
        let inside = model(session, &actions, elements(&menu["children"]), DEPTH);
        top.add_submenu(&shown(&menu["title"]), &inside);
    }
    Object::new("GtkPopoverMenuBar", &[("menu-model", (&top.model).into())])
}

fn model(session: &Rc<Session>, actions: &MenuActions, nodes: &[Value], depth: usize) -> MenuModel {
    let menu = MenuModel::new();
    for part in nodes.split(|node| node["kind"] == "Separator") {
        let section = MenuModel::new();
        for node in part {
            let title = shown(&node["title"]);
            if node["kind"] == "Menu" && depth > 0 {
                let inside = model(session, actions, elements(&node["children"]), depth - 1);
                section.add_submenu(&title, &inside);
            } else if let Some(id) = node["id"].as_u64() {
                let name = format!("item{id}");
                let outbox = session.outbox.clone();
                let key = trigger(&shown(&node["shortcut"]));
                actions.add(&name, &key, node["enabled"] != false, move || {
                    outbox.tell(id, "action", Value::Null);
                });
                section.add_item(&title, &name);
            }
        }
        menu.add_section(&section);
    }
    menu
}

/// A key such as `Ctrl+Shift+S` the way GTK writes it: `<Control><Shift>s`.
fn trigger(key: &str) -> String {
    let mut parts: Vec<&str> = key.split('+').map(str::trim).collect();
    let Some(last) = parts.pop() else { return String::new() };
    let mut text = String::new();
    for modifier in parts {
        text.push_str(match modifier.to_ascii_lowercase().as_str() {
            "ctrl" | "control" | "cmd" => "<Control>",
            "shift" => "<Shift>",
            "alt" => "<Alt>",
            _ => "",
        });
    }
    let is_letter = last.chars().count() == 1;
    text + &if is_letter { last.to_lowercase() } else { last.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_as_people_write_them() {
        assert_eq!(trigger("Ctrl+Shift+S"), "<Control><Shift>s");
        assert_eq!(trigger("F5"), "F5");
        assert_eq!(trigger("<Control>o"), "<Control>o");
        assert_eq!(trigger(""), "");
    }
}
