//! Values of Rust that the program holds: stores, lazy content, ports.

use super::handle::ObjectHandle;
use crate::engine::stack::{Stack, Type};
use crate::isolate::Isolate;
use runnel_store::{Content, EntityTag, Lazy, Store};
use std::any::Any;
use std::os::raw::c_int;
use std::rc::Rc;

/// A store held by the program.
pub(crate) struct NativeStore(pub(crate) Rc<dyn Store>);
/// Lazy content held by the program, with its validator as of when it was asked for.
pub(crate) struct NativeLazy {
    pub(crate) lazy: Rc<dyn Lazy>,
    pub(crate) tag: Option<EntityTag>,
}

/// A value of Rust that stands for content which needs the object around it: a socket.
pub(crate) trait NativePort: Any {
    /// The content that the object of the program is for a store.
    fn content(self: Rc<Self>, object: ObjectHandle) -> Content;
}

/// A port held by the program.
pub(crate) struct HeldPort(pub(crate) Rc<dyn NativePort>);

/// Pushes a native store as an object of the program.
pub(crate) fn push_store(isolate: &Isolate, stack: Stack, store: Rc<dyn Store>) {
    // A store that the program wrote is its object again.
    if let Some(object) = store.as_any().and_then(<dyn Any>::downcast_ref::<ObjectHandle>) {
        return object.push(stack);
    }
    stack.push_kept(isolate.slots().make_store);
    stack.push_native(Rc::new(NativeStore(store)));
    if !stack.protected_call(1, 1) {
        stack.pop(1);
        stack.push_nil();
    }
}

/// The native store at an index: the userdata itself, or an object whose `_native` it is.
pub(crate) fn native_store(stack: Stack, index: c_int) -> Option<Rc<dyn Store>> {
    let native = native_of(stack, index)?;
    native.downcast_ref::<NativeStore>().map(|native| native.0.clone())
}

pub(crate) fn native_of(stack: Stack, index: c_int) -> Option<Rc<dyn Any>> {
    match stack.kind(index) {
        Type::Userdata => stack.native(index),
        Type::Table => {
            stack.field(index, "_native");
            let native = stack.native(-1);
            stack.pop(1);
            native
        }
        _ => None,
    }
}
