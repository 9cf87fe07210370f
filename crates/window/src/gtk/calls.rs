//! Functions of GTK that properties and signals do not cover. Each checks the classes of its
//! arguments first and does nothing with others.
#![allow(unsafe_code)]

use super::library::{RawTextPlace, library};
use super::object::Object;
use super::property_value::{OwnedValue, PropertyValue, c_text};
use std::ffi::c_int;
use std::ptr::null_mut;

/// Whether each object is of its class.
macro_rules! all_are {
    ($($object:expr => $class:literal),*) => { $($object.is($class))&&* };
}

/// A function of objects and numbers, after their classes were checked.
macro_rules! checked {
    ($($(#[$note:meta])* $name:ident = $function:ident($($object:ident: $class:literal),*
        $(; $number:ident: $kind:ty)*);)*) => {$(
        $(#[$note])*
        pub(crate) fn $name($($object: &Object,)* $($number: $kind),*) {
            if all_are!($($object => $class),*) {
                // SAFETY: the objects are alive and of the classes that the function expects.
                unsafe { (library().$function)($($object.raw(),)* $($number),*) };
            }
        }
    )*};
}

checked! {
    present = gtk_window_present(window: "GtkWindow");
    destroy = gtk_window_destroy(window: "GtkWindow");
    queue_resize = gtk_widget_queue_resize(widget: "GtkWidget");
    remove_from_box = gtk_box_remove(parent: "GtkBox", child: "GtkWidget");
    add_overlay = gtk_overlay_add_overlay(parent: "GtkOverlay", child: "GtkWidget");
    remove_overlay = gtk_overlay_remove_overlay(parent: "GtkOverlay", child: "GtkWidget");
    attach_to_grid = gtk_grid_attach(grid: "GtkGrid", child: "GtkWidget";
        column: c_int; row: c_int; width: c_int; height: c_int);
    remove_from_grid = gtk_grid_remove(grid: "GtkGrid", child: "GtkWidget");
    queue_draw = gtk_widget_queue_draw(widget: "GtkWidget");
    append_column = gtk_column_view_append_column(view: "GtkColumnView", column: "GtkColumnViewColumn");
    remove_column = gtk_column_view_remove_column(view: "GtkColumnView", column: "GtkColumnViewColumn");
    start_editing = gtk_editable_label_start_editing(label: "GtkEditableLabel");
}

/// Moves a child of a box behind a sibling, or to the front; a new child is inserted there.
pub(crate) fn place_in_box(parent: &Object, child: &Object, after: Option<&Object>, is_new: bool) {
    let sibling = after.map_or(null_mut(), Object::raw);
    let after_is_widget = after.is_none_or(|after| after.is("GtkWidget"));
    if !parent.is("GtkBox") || !child.is("GtkWidget") || !after_is_widget {
        return;
    }
    let gtk = library();
    let place =
        if is_new { gtk.gtk_box_insert_child_after } else { gtk.gtk_box_reorder_child_after };
    // SAFETY: a box and two widgets; GTK refuses a sibling that is no child of the box.
    unsafe { place(parent.raw(), child.raw(), sibling) };
}

/// Ends editing; what was typed counts.
pub(crate) fn stop_editing(label: &Object) {
    if label.is("GtkEditableLabel") {
        // SAFETY: the object is alive and a label that can be edited.
        unsafe { (library().gtk_editable_label_stop_editing)(label.raw(), 1) };
    }
}

/// The caret of a field or of the buffer of a view.
pub(crate) fn caret(text: &Object) -> i32 {
    if text.is("GtkTextBuffer") {
        return text.get("cursor-position").int();
    }
    if !text.is("GtkEditable") {
        return 0;
    }
    // SAFETY: the object is alive and a field.
    unsafe { (library().gtk_editable_get_position)(text.raw()) }
}

/// Moves the caret of a field or of the buffer of a view; behind the end means the end.
pub(crate) fn set_caret(text: &Object, position: i32) {
    let gtk = library();
    // SAFETY: the object is alive and of the class that each function expects; GTK fills in the place
    // before it is used.
    unsafe {
        if text.is("GtkTextBuffer") {
            let mut place = RawTextPlace([0; 16]);
            (gtk.gtk_text_buffer_get_iter_at_offset)(text.raw(), &raw mut place, position);
            (gtk.gtk_text_buffer_place_cursor)(text.raw(), &raw const place);
        } else if text.is("GtkEditable") {
            let end = text.get("text").text().chars().count();
            let end = i32::try_from(end).unwrap_or(i32::MAX);
            (gtk.gtk_editable_set_position)(text.raw(), position.min(end));
        }
    }
}

/// The widget that edits the text of a field and has its focus.
pub(crate) fn editing_part(field: &Object) -> Option<Object> {
    if !field.is("GtkEditable") {
        return None;
    }
    // SAFETY: the object is alive and a field; its part is borrowed.
    unsafe { Object::borrowed((library().gtk_editable_get_delegate)(field.raw())) }
}

pub(crate) fn has_focus(widget: &Object) -> bool {
    let part = editing_part(widget);
    let widget = part.as_ref().unwrap_or(widget);
    // SAFETY: the object is alive; the class is checked first.
    widget.is("GtkWidget") && unsafe { (library().gtk_widget_is_focus)(widget.raw()) != 0 }
}

pub(crate) fn grab_focus(widget: &Object) {
    if widget.is("GtkWidget") {
        // SAFETY: the object is alive and a widget.
        unsafe { (library().gtk_widget_grab_focus)(widget.raw()) };
    }
}

/// Width and height as they are now.
pub(crate) fn size(widget: &Object) -> [i32; 2] {
    if !widget.is("GtkWidget") {
        return [0; 2];
    }
    let gtk = library();
    // SAFETY: the object is alive and a widget.
    unsafe { [(gtk.gtk_widget_get_width)(widget.raw()), (gtk.gtk_widget_get_height)(widget.raw())] }
}

/// The least width and height.
pub(crate) fn least_size(widget: &Object) -> [i32; 2] {
    let mut least = [0; 2];
    if widget.is("GtkWidget") {
        // SAFETY: the object is alive and a widget; a size is two integers.
        unsafe {
            (library().gtk_widget_get_preferred_size)(widget.raw(), &raw mut least, null_mut());
        }
    }
    least
}

/// The clock that tells when a shown widget was drawn.
pub(crate) fn frame_clock(widget: &Object) -> Option<Object> {
    if !widget.is("GtkWidget") {
        return None;
    }
    // SAFETY: the object is alive and a widget; its clock is borrowed.
    unsafe { Object::borrowed((library().gtk_widget_get_frame_clock)(widget.raw())) }
}

pub(crate) fn set_style(widget: &Object, class: &str, on: bool) {
    if !widget.is("GtkWidget") {
        return;
    }
    let gtk = library();
    let change = if on { gtk.gtk_widget_add_css_class } else { gtk.gtk_widget_remove_css_class };
    // SAFETY: the object is alive and a widget; the text is copied.
    unsafe { change(widget.raw(), c_text(class).as_ptr()) };
}

/// Applies a style sheet to all windows.
pub(crate) fn load_styles(css: &str) {
    /// The priority of an application's own styles.
    const APPLICATION: u32 = 600;
    let provider = Object::new("GtkCssProvider", &[]);
    let gtk = library();
    // SAFETY: the text is read before the call returns; the display exists once GTK is ready.
    unsafe {
        (gtk.gtk_css_provider_load_from_data)(provider.raw(), c_text(css).as_ptr(), -1);
        let display = (gtk.gdk_display_get_default)();
        if !display.is_null() {
            (gtk.gtk_style_context_add_provider_for_display)(display, provider.raw(), APPLICATION);
        }
    }
}

/// Sets the name of a widget that assistive technology reads.
pub(crate) fn set_accessible_name(widget: &Object, name: &str) {
    /// `GTK_ACCESSIBLE_PROPERTY_LABEL`.
    const LABEL: c_int = 4;
    if !widget.is("GtkAccessible") {
        return;
    }
    let value = OwnedValue::new(&PropertyValue::from(name));
    // SAFETY: one property and one value of its type.
    unsafe {
        let gtk = library();
        (gtk.gtk_accessible_update_property_value)(widget.raw(), 1, &LABEL, &raw const value.0);
    }
}

/// Gives a widget a controller of its events; the widget owns it.
pub(crate) fn add_controller(widget: &Object, controller: &Object) {
    if widget.is("GtkWidget") && controller.is("GtkEventController") {
        let gtk = library();
        // SAFETY: GTK takes over a reference, which is counted for it.
        unsafe {
            (gtk.g_object_ref)(controller.raw());
            (gtk.gtk_widget_add_controller)(widget.raw(), controller.raw());
        }
    }
}

/// A list of texts, as a model.
pub(crate) fn text_list(texts: &[&str]) -> Object {
    let texts: Vec<_> = texts.iter().map(|text| c_text(text)).collect();
    let mut pointers: Vec<_> = texts.iter().map(|text| text.as_ptr()).collect();
    pointers.push(std::ptr::null());
    // SAFETY: a list of texts that ends with null; GTK copies them.
    let made = unsafe { Object::made((library().gtk_string_list_new)(pointers.as_ptr())) };
    made.expect("GTK makes a list")
}

/// The button of a click.
pub(crate) fn button_of(gesture: &Object) -> u32 {
    if !gesture.is("GtkGestureSingle") {
        return 0;
    }
    // SAFETY: the object is alive and a gesture.
    unsafe { (library().gtk_gesture_single_get_current_button)(gesture.raw()) }
}

/// A picture of the bytes of a PNG, JPEG or TIFF file.
pub(crate) fn picture(bytes: &[u8]) -> Option<Object> {
    let gtk = library();
    // SAFETY: the bytes are copied; a refused file leaves an error, which is freed.
    unsafe {
        let held = (gtk.g_bytes_new)(bytes.as_ptr().cast(), bytes.len());
        let mut error = null_mut();
        let made = (gtk.gdk_texture_new_from_bytes)(held, &raw mut error);
        (gtk.g_bytes_unref)(held);
        if !error.is_null() {
            (gtk.g_error_free)(error);
        }
        Object::made(made)
    }
}
