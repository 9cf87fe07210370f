//! A list model that has a number of rows and nothing in them: 100,000 rows cost as much as 10.
//!
//! GTK asks for the rows that it shows. Each is a text object of its own position; the cells of a
//! table ask for their texts when they appear.
#![allow(unsafe_code)]

use super::library::{Pointer, Type, TypeQuery, library};
use super::object::Object;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::{c_uint, c_void};
use std::rc::Rc;

/// The functions of the interface `GListModel`, as GIO lays them out.
#[repr(C)]
struct ListModelInterface {
    head: [Type; 2],
    item_type: extern "C" fn(Pointer) -> Type,
    item_count: extern "C" fn(Pointer) -> c_uint,
    item: extern "C" fn(Pointer, c_uint) -> Pointer,
}

/// How GObject fills in an interface.
#[repr(C)]
struct InterfaceInfo {
    init: extern "C" fn(Pointer, Pointer),
    finalize: *const c_void,
    data: *const c_void,
}

thread_local! {
    static TYPE: Cell<Type> = const { Cell::new(0) };
    /// The number of rows of each model that a [`RowModel`] holds.
    static COUNTS: RefCell<HashMap<usize, c_uint>> = RefCell::default();
}

/// The rows of a table. After it is dropped, its model has no rows.
pub(crate) struct RowModel {
    model: Object,
}

impl RowModel {
    pub(crate) fn new() -> Rc<RowModel> {
        // SAFETY: the type is registered, and is made without arguments.
        let model = unsafe {
            let made = (library().g_object_new_with_properties)(
                list_type(),
                0,
                std::ptr::null(),
                std::ptr::null(),
            );
            Object::made(made).expect("GObject makes a registered type")
        };
        COUNTS.with_borrow_mut(|counts| counts.insert(model.raw() as usize, 0));
        Rc::new(RowModel { model })
    }

    /// The model for a view.
    pub(crate) fn model(&self) -> &Object {
        &self.model
    }

    pub(crate) fn count(&self) -> u32 {
        item_count(self.model.raw())
    }

    /// Changes the number of rows; the rows before keep their place.
    pub(crate) fn set_count(&self, count: u32) {
        let old = self.count();
        COUNTS.with_borrow_mut(|counts| counts.insert(self.model.raw() as usize, count));
        let kept = old.min(count);
        if old != count {
            // SAFETY: the model is alive, and has these rows from now on.
            unsafe {
                let changed = library().g_list_model_items_changed;
                changed(self.model.raw(), kept, old - kept, count - kept);
            }
        }
    }
}

impl Drop for RowModel {
    fn drop(&mut self) {
        self.set_count(0);
        COUNTS.with_borrow_mut(|counts| counts.remove(&(self.model.raw() as usize)));
    }
}

/// The type of the model, registered when it is first used.
fn list_type() -> Type {
    if TYPE.get() != 0 {
        return TYPE.get();
    }
    let gtk = library();
    let mut query = TypeQuery { kind: 0, name: std::ptr::null(), class_size: 0, instance_size: 0 };
    let info = InterfaceInfo { init: fill_in, finalize: std::ptr::null(), data: std::ptr::null() };
    // SAFETY: the new class adds nothing to `GObject`, so that it has its sizes; GObject copies the
    // description of the interface.
    let made = unsafe {
        let object = (gtk.g_object_get_type)();
        (gtk.g_type_query)(object, &raw mut query);
        let made = (gtk.g_type_register_static_simple)(
            object,
            c"RunnelRows".as_ptr(),
            query.class_size,
            std::ptr::null_mut(),
            query.instance_size,
            std::ptr::null_mut(),
            0,
        );
        let list = (gtk.g_list_model_get_type)();
        (gtk.g_type_add_interface_static)(made, list, (&raw const info).cast());
        made
    };
    TYPE.set(made);
    made
}

extern "C" fn fill_in(interface: Pointer, _: Pointer) {
    // SAFETY: GObject gives the memory of the interface that `list_type` names.
    unsafe {
        let interface = &mut *interface.cast::<ListModelInterface>();
        interface.item_type = item_type;
        interface.item_count = item_count;
        interface.item = item;
    }
}

extern "C" fn item_type(_: Pointer) -> Type {
    // SAFETY: it has no arguments.
    unsafe { (library().g_object_get_type)() }
}

extern "C" fn item_count(model: Pointer) -> c_uint {
    COUNTS.with_borrow(|counts| counts.get(&(model as usize)).copied().unwrap_or(0))
}

extern "C" fn item(model: Pointer, position: c_uint) -> Pointer {
    if position >= item_count(model) {
        return std::ptr::null_mut();
    }
    // SAFETY: the caller owns the object that is answered, as the interface says.
    unsafe { (library().gtk_string_object_new)(c"".as_ptr()) }
}
