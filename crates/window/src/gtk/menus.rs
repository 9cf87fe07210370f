//! Menus: items with actions, and keys for them.
#![allow(unsafe_code)]

use super::library::library;
use super::object::Object;
use super::property_value::{PropertyValue, c_text};
use std::ptr::null;

/// The group of the actions of a menu.
const GROUP: &str = "menu";

/// A menu whose items run actions of a group.
pub(crate) struct MenuModel {
    pub(crate) model: Object,
}

impl MenuModel {
    pub(crate) fn new() -> MenuModel {
        MenuModel { model: Object::new("GMenu", &[]) }
    }

    /// Adds an item that runs an action.
    pub(crate) fn add_item(&self, title: &str, action: &str) {
        let (title, action) = (c_text(title), c_text(&format!("{GROUP}.{action}")));
        // SAFETY: the menu is alive; both texts are copied.
        unsafe { (library().g_menu_append)(self.model.raw(), title.as_ptr(), action.as_ptr()) };
    }

    pub(crate) fn add_submenu(&self, title: &str, menu: &MenuModel) {
        // SAFETY: both menus are alive; the text is copied.
        unsafe {
            let title = c_text(title);
            (library().g_menu_append_submenu)(self.model.raw(), title.as_ptr(), menu.model.raw());
        }
    }

    /// Adds the items of another menu behind a line.
    pub(crate) fn add_section(&self, menu: &MenuModel) {
        // SAFETY: both menus are alive; a section needs no title.
        unsafe {
            (library().g_menu_append_section)(self.model.raw(), null(), menu.model.raw());
        }
    }
}

/// The actions of the menus of a window, and their keys.
pub(crate) struct MenuActions {
    group: Object,
    keys: Object,
}

impl MenuActions {
    /// Gives a window actions.
    pub(crate) fn new(window: &Object) -> MenuActions {
        /// `GTK_SHORTCUT_SCOPE_GLOBAL`: wherever the focus is in the window.
        const GLOBAL: i32 = 2;
        let group = Object::new("GSimpleActionGroup", &[]);
        let keys = Object::new("GtkShortcutController", &[("scope", GLOBAL.into())]);
        if window.is("GtkWidget") {
            // SAFETY: the window is alive and a widget; the name is copied.
            unsafe {
                let name = c_text(GROUP);
                let insert = library().gtk_widget_insert_action_group;
                insert(window.raw(), name.as_ptr(), group.raw());
            }
        }
        super::add_controller(window, &keys);
        MenuActions { group, keys }
    }

    /// Adds an action, with a key such as `<Control>o`.
    pub(crate) fn add(&self, name: &str, key: &str, is_enabled: bool, run: impl Fn() + 'static) {
        let gtk = library();
        // SAFETY: an action without a parameter; the group counts its own reference.
        let action =
            unsafe { Object::made((gtk.g_simple_action_new)(c_text(name).as_ptr(), null())) };
        let Some(action) = action else { return };
        action.set("enabled", is_enabled);
        action.connect("activate", move |_| {
            run();
            PropertyValue::Nothing
        });
        // SAFETY: the group and the action are alive. GTK takes over the parts of a shortcut; a key
        // that it does not know has no trigger.
        unsafe {
            (gtk.g_action_map_add_action)(self.group.raw(), action.raw());
            let trigger = (gtk.gtk_shortcut_trigger_parse_string)(c_text(key).as_ptr());
            if !trigger.is_null() {
                let named = (gtk.gtk_named_action_new)(c_text(&format!("{GROUP}.{name}")).as_ptr());
                let shortcut = (gtk.gtk_shortcut_new)(trigger, named);
                (gtk.gtk_shortcut_controller_add_shortcut)(self.keys.raw(), shortcut);
            }
        }
    }
}
