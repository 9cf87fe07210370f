//! The functions of GTK and GLib, looked up by name once (`dlopen`): nothing is linked.
#![allow(unsafe_code)]

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_double, c_int, c_uint, c_void};
use std::sync::OnceLock;

pub(super) type Pointer = *mut c_void;
pub(super) type Text = *const c_char;
pub(super) type Type = usize;

/// A value of any type, as GObject lays it out.
#[repr(C)]
pub(super) struct RawValue {
    pub(super) kind: Type,
    data: [u64; 2],
}

impl RawValue {
    pub(super) const EMPTY: RawValue = RawValue { kind: 0, data: [0; 2] };
}

/// The memory of a weak reference.
#[repr(C)]
pub(super) struct RawWeak(pub(super) Pointer);

/// A place in a text buffer: GTK's own has 80 bytes.
#[repr(C)]
pub(super) struct RawTextPlace(pub(super) [u64; 16]);

/// A rectangle of GDK.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct RawRectangle(pub(super) [c_int; 4]);

pub(super) type Notify = extern "C" fn(Pointer);
pub(super) type Marshal =
    extern "C" fn(Pointer, *mut RawValue, c_uint, *const RawValue, Pointer, Pointer);
pub(super) type FileReady = extern "C" fn(c_int, c_uint, Pointer) -> c_int;
pub(super) type Called = extern "C" fn(Pointer) -> c_int;

pub(super) type Draw = extern "C" fn(Pointer, Pointer, c_int, c_int, Pointer);

// RTLD_NOW: a library that lacks something is refused when it is opened.
const NOW: c_int = 2;

// SAFETY: both have these signatures in POSIX.
unsafe extern "C" {
    fn dlopen(name: Text, flags: c_int) -> Pointer;
    fn dlsym(library: Pointer, name: Text) -> Pointer;
}

macro_rules! functions {
    ($($name:ident($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// Every function that the host calls.
        // SAFETY: calling one is sound with arguments as its declaration in C says.
        #[allow(clippy::type_complexity)]
        pub(super) struct Library {
            handle: usize,
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Library {
            fn of(handle: Pointer) -> Result<Library, String> {
                Ok(Library {
                    handle: handle as usize,
                    $($name: {
                        let address = find(handle, stringify!($name))?;
                        // SAFETY: the function of this name has this signature since GTK 4.0.
                        unsafe {
                            std::mem::transmute::<
                                Pointer,
                                unsafe extern "C" fn($($argument),*) $(-> $result)?,
                            >(address)
                        }
                    },)*
                })
            }
        }
    };
}

functions! {
    g_object_new_with_properties(Type, c_uint, *const Text, *const RawValue) -> Pointer;
    g_object_ref(Pointer) -> Pointer;
    g_object_ref_sink(Pointer) -> Pointer;
    g_object_unref(Pointer);
    g_object_is_floating(Pointer) -> c_int;
    g_object_set_property(Pointer, Text, *const RawValue);
    g_object_get_property(Pointer, Text, *mut RawValue);
    g_type_fundamental(Type) -> Type;
    g_type_check_instance_is_a(Pointer, Type) -> c_int;
    g_type_register_static_simple(Type, Text, c_uint, Pointer, c_uint, Pointer, c_uint) -> Type;
    g_type_add_interface_static(Type, Type, *const c_void);
    g_type_query(Type, *mut TypeQuery);
    g_value_init(*mut RawValue, Type) -> *mut RawValue;
    g_value_unset(*mut RawValue);
    g_value_set_boolean(*mut RawValue, c_int);
    g_value_set_int(*mut RawValue, c_int);
    g_value_set_uint(*mut RawValue, c_uint);
    g_value_set_double(*mut RawValue, c_double);
    g_value_set_string(*mut RawValue, Text);
    g_value_set_object(*mut RawValue, Pointer);
    g_value_get_boolean(*const RawValue) -> c_int;
    g_value_get_int(*const RawValue) -> c_int;
    g_value_get_uint(*const RawValue) -> c_uint;
    g_value_get_double(*const RawValue) -> c_double;
    g_value_get_string(*const RawValue) -> Text;
    g_value_get_object(*const RawValue) -> Pointer;
    g_value_get_boxed(*const RawValue) -> Pointer;
    g_closure_new_simple(c_uint, Pointer) -> Pointer;
    g_closure_set_meta_marshal(Pointer, Pointer, Marshal);
    g_closure_add_finalize_notifier(Pointer, Pointer, extern "C" fn(Pointer, Pointer));
    g_signal_connect_closure(Pointer, Text, Pointer, c_int);
    g_weak_ref_init(*mut RawWeak, Pointer);
    g_weak_ref_get(*mut RawWeak) -> Pointer;
    g_weak_ref_clear(*mut RawWeak);
    g_main_loop_new(Pointer, c_int) -> Pointer;
    g_main_loop_run(Pointer);
    g_unix_fd_add_full(c_int, c_int, c_uint, FileReady, Pointer, Notify) -> c_uint;
    g_timeout_add_full(c_int, c_uint, Called, Pointer, Notify) -> c_uint;
    g_source_remove(c_uint) -> c_int;
    g_set_prgname(Text);
    g_bytes_new(*const c_void, usize) -> Pointer;
    g_bytes_unref(Pointer);
    g_error_free(Pointer);
    g_menu_append(Pointer, Text, Text);
    g_menu_append_section(Pointer, Text, Pointer);
    g_menu_append_submenu(Pointer, Text, Pointer);
    g_action_map_add_action(Pointer, Pointer);
    g_simple_action_new(Text, *const c_void) -> Pointer;
    g_list_model_items_changed(Pointer, c_uint, c_uint, c_uint);
    g_list_model_get_type() -> Type;
    g_object_get_type() -> Type;
    gtk_init_check() -> c_int;
    gtk_window_present(Pointer);
    gtk_window_destroy(Pointer);
    gtk_widget_get_width(Pointer) -> c_int;
    gtk_widget_get_height(Pointer) -> c_int;
    gtk_widget_get_preferred_size(Pointer, *mut [c_int; 2], *mut [c_int; 2]);
    gtk_widget_get_frame_clock(Pointer) -> Pointer;
    gtk_widget_add_css_class(Pointer, Text);
    gtk_widget_remove_css_class(Pointer, Text);
    gtk_widget_queue_resize(Pointer);
    gtk_widget_is_focus(Pointer) -> c_int;
    gtk_widget_grab_focus(Pointer) -> c_int;
    gtk_widget_add_controller(Pointer, Pointer);
    gtk_editable_get_delegate(Pointer) -> Pointer;
    gtk_editable_set_position(Pointer, c_int);
    gtk_editable_get_position(Pointer) -> c_int;
    gtk_box_remove(Pointer, Pointer);
    gtk_box_insert_child_after(Pointer, Pointer, Pointer);
    gtk_box_reorder_child_after(Pointer, Pointer, Pointer);
    gtk_overlay_add_overlay(Pointer, Pointer);
    gtk_overlay_remove_overlay(Pointer, Pointer);
    gtk_grid_attach(Pointer, Pointer, c_int, c_int, c_int, c_int);
    gtk_grid_remove(Pointer, Pointer);
    gtk_text_buffer_get_iter_at_offset(Pointer, *mut RawTextPlace, c_int);
    gtk_text_buffer_place_cursor(Pointer, *const RawTextPlace);
    gtk_editable_label_start_editing(Pointer);
    gtk_editable_label_stop_editing(Pointer, c_int);
    gtk_string_list_new(*const Text) -> Pointer;
    gtk_string_object_new(Text) -> Pointer;
    gtk_column_view_append_column(Pointer, Pointer);
    gtk_column_view_remove_column(Pointer, Pointer);
    gtk_accessible_update_property_value(Pointer, c_int, *const c_int, *const RawValue);
    gtk_css_provider_load_from_data(Pointer, Text, isize);
    gtk_style_context_add_provider_for_display(Pointer, Pointer, c_uint);
    gtk_widget_insert_action_group(Pointer, Text, Pointer);
    gtk_drawing_area_set_draw_func(Pointer, Draw, Pointer, Notify);
    gtk_gesture_single_get_current_button(Pointer) -> c_uint;
    gtk_shortcut_trigger_parse_string(Text) -> Pointer;
    gtk_named_action_new(Text) -> Pointer;
    gtk_shortcut_new(Pointer, Pointer) -> Pointer;
    gtk_shortcut_controller_add_shortcut(Pointer, Pointer);
    gtk_widget_queue_draw(Pointer);
    gdk_texture_new_from_bytes(Pointer, *mut Pointer) -> Pointer;
    cairo_save(Pointer);
    cairo_restore(Pointer);
    cairo_translate(Pointer, c_double, c_double);
    cairo_scale(Pointer, c_double, c_double);
    cairo_rotate(Pointer, c_double);
    cairo_new_path(Pointer);
    cairo_move_to(Pointer, c_double, c_double);
    cairo_line_to(Pointer, c_double, c_double);
    cairo_curve_to(Pointer, c_double, c_double, c_double, c_double, c_double, c_double);
    cairo_arc(Pointer, c_double, c_double, c_double, c_double, c_double);
    cairo_close_path(Pointer);
    cairo_set_source_rgba(Pointer, c_double, c_double, c_double, c_double);
    cairo_set_line_width(Pointer, c_double);
    cairo_fill_preserve(Pointer);
    cairo_stroke_preserve(Pointer);
    cairo_set_font_size(Pointer, c_double);
    cairo_show_text(Pointer, Text);
    cairo_text_extents(Pointer, Text, *mut [c_double; 6]);
    gdk_display_get_default() -> Pointer;
}

/// The sizes of a class and its instances.
#[repr(C)]
pub(super) struct TypeQuery {
    pub(super) kind: Type,
    pub(super) name: Text,
    pub(super) class_size: c_uint,
    pub(super) instance_size: c_uint,
}

static LIBRARY: OnceLock<Library> = OnceLock::new();

/// The names of the library: Linux and BSD, macOS.
const NAMES: [&CStr; 2] = [c"libgtk-4.so.1", c"libgtk-4.1.dylib"];

/// Opens GTK.
///
/// # Errors
/// The library is missing, or lacks a function.
pub(super) fn open() -> Result<(), String> {
    // SAFETY: the names are texts with an end; GTK's initialisers run here and expect nothing.
    let opened = NAMES.iter().map(|name| unsafe { dlopen(name.as_ptr(), NOW) });
    let Some(handle) = opened.into_iter().find(|handle| !handle.is_null()) else {
        return Err("GTK 4 is not installed (libgtk-4.so.1)".into());
    };
    let library = Library::of(handle)?;
    LIBRARY.set(library).map_err(|_| "GTK is opened once".to_string())
}

/// The library; the host opens it before anything else of this room is used.
pub(super) fn library() -> &'static Library {
    LIBRARY.get().expect("GTK is opened first")
}

fn find(handle: Pointer, name: &str) -> Result<Pointer, String> {
    let text = CString::new(name).unwrap_or_default();
    // SAFETY: the library is open and is never closed; GTK's own dependencies are searched too.
    let address = unsafe { dlsym(handle, text.as_ptr()) };
    if address.is_null() {
        return Err(format!("this GTK 4 is too old: it has no `{name}`"));
    }
    Ok(address)
}

thread_local! {
    static TYPES: RefCell<HashMap<&'static str, Type>> = RefCell::default();
}

/// The type of a class by its name, such as `GtkEntry`; 0 where there is none.
pub(super) fn type_of(class: &'static str) -> Type {
    if let Some(known) = TYPES.with_borrow(|types| types.get(class).copied()) {
        return known;
    }
    let mut function = String::new();
    for (at, letter) in class.char_indices() {
        if at > 0 && letter.is_ascii_uppercase() {
            function.push('_');
        }
        function.push(letter.to_ascii_lowercase());
    }
    function.push_str("_get_type");
    let found = find(library().handle as Pointer, &function).map_or(0, |address| {
        // SAFETY: every function whose name ends with `_get_type` has this signature.
        unsafe {
            let get_type = std::mem::transmute::<Pointer, extern "C" fn() -> Type>(address);
            get_type()
        }
    });
    TYPES.with_borrow_mut(|types| types.insert(class, found));
    found
}
