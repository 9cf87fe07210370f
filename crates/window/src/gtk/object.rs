//! References to objects of GTK, counted by GObject.
#![allow(unsafe_code)]

use super::library::{Pointer, RawWeak, Type, library, type_of};
use std::ptr::NonNull;

/// A reference to an object; cloning counts it once more. It belongs to the thread of GTK.
#[derive(PartialEq, Eq)]
pub(crate) struct Object(NonNull<std::ffi::c_void>);

impl Object {
    /// Takes over a new object: a floating reference becomes ours, a window is GTK's own as well.
    pub(super) fn made(made: Pointer) -> Option<Object> {
        let object = NonNull::new(made)?;
        let gtk = library();
        // SAFETY: GTK just made the object.
        unsafe {
            if (gtk.g_object_is_floating)(made) != 0 {
                (gtk.g_object_ref_sink)(made);
            } else if (gtk.g_type_check_instance_is_a)(made, type_of("GtkWindow")) != 0 {
                (gtk.g_object_ref)(made);
            }
        }
        Some(Object(object))
    }

    /// A borrowed object; its count of references rises by one.
    pub(super) fn borrowed(object: Pointer) -> Option<Object> {
        let found = NonNull::new(object)?;
        // SAFETY: GTK gave it as a live object.
        unsafe { (library().g_object_ref)(object) };
        Some(Object(found))
    }

    pub(super) fn raw(&self) -> Pointer {
        self.0.as_ptr()
    }

    /// The type of the object's class.
    pub(super) fn class(&self) -> Type {
        // SAFETY: an instance begins with its class, and a class with its type.
        unsafe { **self.0.as_ptr().cast::<*const Type>() }
    }

    /// Whether it is of a class, or has an interface.
    pub(crate) fn is(&self, class: &'static str) -> bool {
        // SAFETY: the object is alive.
        unsafe { (library().g_type_check_instance_is_a)(self.raw(), type_of(class)) != 0 }
    }
}

impl Clone for Object {
    fn clone(&self) -> Object {
        // SAFETY: the object is alive.
        unsafe { (library().g_object_ref)(self.raw()) };
        Object(self.0)
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        // SAFETY: this reference was counted.
        unsafe { (library().g_object_unref)(self.raw()) };
    }
}

/// A reference that does not keep its object.
pub(crate) struct WeakObject(Box<RawWeak>);

impl Object {
    pub(crate) fn downgrade(&self) -> WeakObject {
        let mut weak = Box::new(RawWeak(std::ptr::null_mut()));
        // SAFETY: the memory keeps its address until it is cleared in `drop`.
        unsafe { (library().g_weak_ref_init)(&raw mut *weak, self.raw()) };
        WeakObject(weak)
    }
}

impl WeakObject {
    /// The object, if it still exists.
    pub(crate) fn upgrade(&self) -> Option<Object> {
        // SAFETY: it was initialised; GObject counts a reference for us.
        let object = unsafe { (library().g_weak_ref_get)((&raw const *self.0).cast_mut()) };
        NonNull::new(object).map(Object)
    }
}

impl Drop for WeakObject {
    fn drop(&mut self) {
        // SAFETY: it was initialised, and is not used again.
        unsafe { (library().g_weak_ref_clear)(&raw mut *self.0) };
    }
}
