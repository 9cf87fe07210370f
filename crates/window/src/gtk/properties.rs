//! Objects made by class name, with properties and signals by name.
//!
//! GObject itself checks names and types of properties and signals: a wrong one is a message on
//! standard error.
#![allow(unsafe_code)]

use super::library::{Pointer, RawValue, library, type_of};
use super::object::Object;
use super::property_value::{OwnedValue, PropertyValue, answer, c_text, read};
use std::ffi::c_uint;

impl Object {
    /// A new object of a class, such as `GtkEntry`.
    pub(crate) fn new(class: &'static str, properties: &[(&str, PropertyValue)]) -> Object {
        // SAFETY: the class exists, and is made without arguments.
        let made = unsafe {
            let none = (std::ptr::null(), std::ptr::null());
            (library().g_object_new_with_properties)(type_of(class), 0, none.0, none.1)
        };
        let object = Object::made(made).expect("GTK has the classes that the host names");
        for (name, value) in properties {
            object.set(name, value.clone());
        }
        object
    }

    pub(crate) fn set(&self, property: &str, value: impl Into<PropertyValue>) {
        let value = OwnedValue::new(&value.into());
        // SAFETY: the object is alive; GObject checks the name and the type.
        unsafe {
            let name = c_text(property);
            (library().g_object_set_property)(self.raw(), name.as_ptr(), &raw const value.0);
        }
    }

    pub(crate) fn get(&self, property: &str) -> PropertyValue {
        let mut value = OwnedValue(RawValue::EMPTY);
        // SAFETY: the object is alive; GObject initialises the value with the property's type.
        unsafe {
            let name = c_text(property);
            (library().g_object_get_property)(self.raw(), name.as_ptr(), &raw mut value.0);
        }
        value.read()
    }

    /// Runs a handler at each signal, with the arguments after the object itself.
    pub(crate) fn connect(
        &self,
        signal: &str,
        handler: impl Fn(&[PropertyValue]) -> PropertyValue + 'static,
    ) {
        let handler: Box<Handler> = Box::new(Box::new(handler));
        let data = Box::into_raw(handler).cast();
        let gtk = library();
        // SAFETY: the closure owns the handler: `marshal` gets it as its data, and `forget` frees it
        // once the closure is freed, which GObject does with the object.
        unsafe {
            let closure = (gtk.g_closure_new_simple)(CLOSURE, std::ptr::null_mut());
            (gtk.g_closure_set_meta_marshal)(closure, data, marshal);
            (gtk.g_closure_add_finalize_notifier)(closure, data, forget);
            (gtk.g_signal_connect_closure)(self.raw(), c_text(signal).as_ptr(), closure, 0);
        }
    }
}

type Handler = Box<dyn Fn(&[PropertyValue]) -> PropertyValue>;

/// The size of a closure of GObject: flags and three pointers.
const CLOSURE: c_uint = 32;

extern "C" fn marshal(
    _: Pointer,
    result: *mut RawValue,
    count: c_uint,
    arguments: *const RawValue,
    _: Pointer,
    data: Pointer,
) {
    // SAFETY: GObject calls it with the data of `connect`, and with `count` values, of which the
    // first is the object. A panic ends the process.
    unsafe {
        let handler = &*data.cast::<Handler>();
        let arguments = std::slice::from_raw_parts(arguments, count as usize);
        let arguments = arguments.get(1..).unwrap_or_default();
        let values: Vec<PropertyValue> = arguments.iter().map(read).collect();
        answer(result, arguments, &handler(&values));
    }
}

extern "C" fn forget(data: Pointer, _: Pointer) {
    // SAFETY: `connect` made it, and the closure does not run again.
    drop(unsafe { Box::from_raw(data.cast::<Handler>()) });
}
