//! Values of properties and signals.
#![allow(unsafe_code)]

use super::library::{RawRectangle, RawValue, Type, library};
use super::object::Object;
use std::ffi::{CStr, CString};

const BOOLEAN: Type = 5 << 2;
const INT: Type = 6 << 2;
const UINT: Type = 7 << 2;
const DOUBLE: Type = 15 << 2;
const STRING: Type = 16 << 2;
const BOXED: Type = 18 << 2;
const INTERFACE: Type = 2 << 2;
const OBJECT: Type = 20 << 2;

/// A value of a property, or an argument or the answer of a signal.
#[derive(Clone)]
pub(crate) enum PropertyValue {
    Nothing,
    Bool(bool),
    Int(i32),
    Uint(u32),
    Double(f64),
    Text(String),
    Object(Object),
    /// x, y, width, height: only the answer of a signal that asks for one.
    Rectangle([i32; 4]),
}

impl From<bool> for PropertyValue {
    fn from(value: bool) -> PropertyValue {
        PropertyValue::Bool(value)
    }
}
impl From<i32> for PropertyValue {
    fn from(value: i32) -> PropertyValue {
        PropertyValue::Int(value)
    }
}
impl From<u32> for PropertyValue {
    fn from(value: u32) -> PropertyValue {
        PropertyValue::Uint(value)
    }
}
impl From<f64> for PropertyValue {
    fn from(value: f64) -> PropertyValue {
        PropertyValue::Double(value)
    }
}
impl From<&str> for PropertyValue {
    fn from(value: &str) -> PropertyValue {
        PropertyValue::Text(value.into())
    }
}
impl From<&Object> for PropertyValue {
    fn from(value: &Object) -> PropertyValue {
        PropertyValue::Object(value.clone())
    }
}

impl PropertyValue {
    pub(crate) fn text(&self) -> &str {
        if let PropertyValue::Text(text) = self { text } else { "" }
    }

    pub(crate) fn boolean(&self) -> bool {
        matches!(self, PropertyValue::Bool(true))
    }

    pub(crate) fn uint(&self) -> u32 {
        if let PropertyValue::Uint(value) = self { *value } else { 0 }
    }

    pub(crate) fn int(&self) -> i32 {
        if let PropertyValue::Int(value) = self { *value } else { 0 }
    }

    pub(crate) fn double(&self) -> f64 {
        if let PropertyValue::Double(value) = self { *value } else { 0.0 }
    }

    pub(crate) fn object(&self) -> Option<&Object> {
        if let PropertyValue::Object(object) = self { Some(object) } else { None }
    }
}

/// A text for C. It has no zero bytes.
pub(super) fn c_text(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// A value of GObject that is freed with its owner.
pub(super) struct OwnedValue(pub(super) RawValue);

impl OwnedValue {
    pub(super) fn new(value: &PropertyValue) -> OwnedValue {
        let mut raw = RawValue::EMPTY;
        let to = &raw mut raw;
        let gtk = library();
        // SAFETY: an empty value is initialised with a type, and then set with a value of that
        // type; texts and objects are copied or referenced by GObject.
        unsafe {
            match value {
                PropertyValue::Nothing | PropertyValue::Rectangle(_) => {
                    (gtk.g_value_init)(to, OBJECT);
                }
                PropertyValue::Bool(value) => {
                    (gtk.g_value_init)(to, BOOLEAN);
                    (gtk.g_value_set_boolean)(to, (*value).into());
                }
                PropertyValue::Int(value) => {
                    (gtk.g_value_init)(to, INT);
                    (gtk.g_value_set_int)(to, *value);
                }
                PropertyValue::Uint(value) => {
                    (gtk.g_value_init)(to, UINT);
                    (gtk.g_value_set_uint)(to, *value);
                }
                PropertyValue::Double(value) => {
                    (gtk.g_value_init)(to, DOUBLE);
                    (gtk.g_value_set_double)(to, *value);
                }
                PropertyValue::Text(text) => {
                    (gtk.g_value_init)(to, STRING);
                    (gtk.g_value_set_string)(to, c_text(text).as_ptr());
                }
                PropertyValue::Object(object) => {
                    (gtk.g_value_init)(to, object.class());
                    (gtk.g_value_set_object)(to, object.raw());
                }
            }
        }
        OwnedValue(raw)
    }

    pub(super) fn read(&self) -> PropertyValue {
        read(&self.0)
    }
}

impl Drop for OwnedValue {
    fn drop(&mut self) {
        if self.0.kind != 0 {
            // SAFETY: it was initialised, and is not used again.
            unsafe { (library().g_value_unset)(&raw mut self.0) };
        }
    }
}

/// Reads a value of GObject.
pub(super) fn read(raw: &RawValue) -> PropertyValue {
    if raw.kind == 0 {
        return PropertyValue::Nothing;
    }
    let gtk = library();
    // SAFETY: each is read by the function of its own fundamental type.
    unsafe {
        match (gtk.g_type_fundamental)(raw.kind) {
            BOOLEAN => PropertyValue::Bool((gtk.g_value_get_boolean)(raw) != 0),
            INT => PropertyValue::Int((gtk.g_value_get_int)(raw)),
            UINT => PropertyValue::Uint((gtk.g_value_get_uint)(raw)),
            DOUBLE => PropertyValue::Double((gtk.g_value_get_double)(raw)),
            STRING => {
                let text = (gtk.g_value_get_string)(raw);
                if text.is_null() {
                    return PropertyValue::Nothing;
                }
                PropertyValue::Text(CStr::from_ptr(text).to_string_lossy().into_owned())
            }
            OBJECT | INTERFACE => {
                let object = (gtk.g_value_get_object)(raw);
                Object::borrowed(object).map_or(PropertyValue::Nothing, PropertyValue::Object)
            }
            _ => PropertyValue::Nothing,
        }
    }
}

/// Writes the answer of a handler where its signal expects it.
pub(super) fn answer(to: *mut RawValue, arguments: &[RawValue], value: &PropertyValue) {
    let gtk = library();
    // SAFETY: GObject gives a value of the answer's type, or none; a rectangle is only answered to
    // signals whose last argument is one to be filled in.
    unsafe {
        let kind = to.as_ref().map_or(0, |value| (gtk.g_type_fundamental)(value.kind));
        if kind != BOOLEAN {
            return;
        }
        if let (PropertyValue::Rectangle(rectangle), Some(last)) = (value, arguments.last())
            && (gtk.g_type_fundamental)(last.kind) == BOXED
        {
            let place = (gtk.g_value_get_boxed)(last).cast::<RawRectangle>();
            if let Some(place) = place.as_mut() {
                place.0 = *rectangle;
            }
        }
        let is_true = matches!(value, PropertyValue::Bool(true) | PropertyValue::Rectangle(_));
        (gtk.g_value_set_boolean)(to, is_true.into());
    }
}
