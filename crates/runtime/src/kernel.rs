//! Loading the kernel: the Lua files, the natives, the values that Rust needs at hand.
#![allow(unsafe_code)]

use crate::engine::stack::{Slot, Stack, Type};
use crate::isolate::Slots;
use crate::natives::call::{Native, trampoline};
use mlua::Lua;
use runnel_store::Verb;

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        [$(($name, include_str!(concat!("kernel/", $name)))),*]
    };
}

/// The files of the kernel in the order in which they are loaded.
const FILES: [(&str, &str); 61] = files![
    "core.lua",
    "native.lua",
    "object.lua",
    "print.lua",
    "number.lua",
    "big.lua",
    "digits.lua",
    "boolean.lua",
    "block.lua",
    "text.lua",
    "text_more.lua",
    "collection.lua",
    "collection_more.lua",
    "array.lua",
    "dictionary.lua",
    "interval.lua",
    "enumerator.lua",
    "set.lua",
    "point.lua",
    "property.lua",
    "literal.lua",
    "higher_order.lua",
    "data.lua",
    "secrets.lua",
    "time.lua",
    "mutable_text.lua",
    "contract.lua",
    "json.lua",
    "json_parse.lua",
    "stream.lua",
    "filter.lua",
    "pipeline.lua",
    "fiber.lua",
    "segment.lua",
    "scheme.lua",
    "reference.lua",
    "path.lua",
    "store.lua",
    "combine.lua",
    "combinators.lua",
    "remote.lua",
    "standard.lua",
    "search_page.lua",
    "logging.lua",
    "template.lua",
    "define.lua",
    "connect.lua",
    "changes.lua",
    "live.lua",
    "markup.lua",
    "element.lua",
    "element_attribute.lua",
    "rows.lua",
    "table.lua",
    "database.lua",
    "cells.lua",
    "insert.lua",
    "search.lua",
    "program.lua",
    "observe.lua",
    "routes.lua",
];

/// The engine's own stack.
pub(crate) fn main_stack(lua: &Lua) -> Stack {
    let mut state = std::ptr::null_mut();
    // SAFETY: only the pointer is taken; it is used while the engine lives, on its own thread.
    let _ = unsafe { lua.exec_raw::<()>((), |inner| state = inner) };
    Stack(state)
}

/// Loads the kernel.
pub(crate) fn load(
    lua: &Lua,
    stack: Stack,
    server_options: &[&str],
) -> Result<(Vec<Native>, Slots), String> {
    let text = |error: mlua::Error| error.to_string();
    let kernel = lua.create_table().map_err(text)?;
    lua.globals().raw_set("KERNEL", &kernel).map_err(text)?;
    let natives = crate::natives::all();
    publish(stack, &natives, server_options);
    // Nothing of the kernel is garbage yet, and code that runs once is not worth compiling.
    lua.gc_stop();
    let jit = |on: bool| lua.load(if on { "jit.on()" } else { "jit.off()" }).exec().map_err(text);
    jit(false)?;
    for (name, source) in FILES {
        lua.load(&*kernel_source(name, source))
            .set_name(format!("=kernel/{name}"))
            .call::<()>(&kernel)
            .map_err(|error| format!("kernel/{name}: {error}"))?;
    }
    jit(true)?;
    lua.gc_restart();
    let slots = slots(stack)?;
    lua.globals().raw_remove("KERNEL").map_err(text)?;
    Ok((natives.into_iter().map(|(_, native)| native).collect(), slots))
}

/// The text of a kernel file. A debug build reads it from the folder that `RUNNEL_KERNEL` names, so
/// that a change of the kernel can be tried without a build.
fn kernel_source(name: &str, embedded: &'static str) -> std::borrow::Cow<'static, str> {
    #[cfg(debug_assertions)]
    if let Some(folder) = std::env::var_os("RUNNEL_KERNEL")
        && let Ok(text) = std::fs::read_to_string(std::path::Path::new(&folder).join(name))
    {
        return text.into();
    }
    let _ = name;
    embedded.into()
}

/// Puts the natives into the kernel's table `rawNative`, by name, and beside it the names of what
/// a server can be told, and the seed of `random`.
fn publish(stack: Stack, natives: &[(&str, Native)], options: &[&str]) {
    stack.reserve(16);
    push_global(stack);
    let kernel = stack.top();
    stack.new_table(0, natives.len());
    for (number, (name, _)) in natives.iter().enumerate() {
        stack.push_function(trampoline, number);
        stack.set_field(kernel + 1, name);
    }
    stack.set_field(kernel, "rawNative");
    stack.new_table(options.len(), 0);
    for (number, name) in options.iter().enumerate() {
        stack.push_bytes(name.as_bytes());
        stack.set_element(kernel + 1, number + 1);
    }
    stack.set_field(kernel, "serverOptions");
    stack.push_number(crate::natives::seed());
    stack.set_field(kernel, "seed");
    // SAFETY: only the address is pushed; markup.lua calls it with what markup.rs asks for.
    unsafe {
        let escape: crate::pages::markup::Escape = crate::pages::markup::escape_into;
        mlua::ffi::lua_pushlightuserdata(stack.0, escape as *mut std::ffi::c_void);
    }
    stack.set_field(kernel, "escapeMarkup");
    stack.pop(1);
}

fn push_global(stack: Stack) {
    // SAFETY: a plain look-up in the globals, which holds the kernel while it is loaded.
    unsafe {
        mlua::ffi::lua_getfield(stack.0, mlua::ffi::LUA_GLOBALSINDEX, c"KERNEL".as_ptr());
    }
}

fn slots(stack: Stack) -> Result<Slots, String> {
    stack.reserve(16);
    push_global(stack);
    let kernel = stack.top();
    let keep = |name: &str, kind: Type| -> Result<Slot, String> {
        stack.field(kernel, name);
        if stack.kind(-1) != kind {
            return Err(format!("the kernel has no `{name}`"));
        }
        Ok(stack.keep())
    };
    let methods = |class: &str| -> Result<Slot, String> {
        stack.field(kernel, "classes");
        stack.field(-1, class);
        if stack.kind(-1) != Type::Table {
            return Err(format!("the kernel has no class `{class}`"));
        }
        stack.field(-1, "_methods");
        let slot = stack.keep();
        stack.pop(2);
        Ok(slot)
    };
    let slots = Slots {
        worker: keep("worker", Type::Function)?,
        error_methods: methods("Error")?,
        array: methods("Array")?,
        dictionary: methods("Dictionary")?,
        null: keep("NULL", Type::Table)?,
        big: methods("BigInteger")?,
        make_data: keep("makeData", Type::Function)?,
        make_lazy: keep("makeLazy", Type::Function)?,
        make_store: keep("makeStore", Type::Function)?,
        instantiate: keep("instantiate", Type::Function)?,
        serve: keep("serve", Type::Function)?,
        serve_verbs: keep("serveVerbs", Type::Function)?,
        get: {
            stack.push_bytes(Verb::Get.name().as_bytes());
            stack.keep()
        },
        text: keep("str", Type::Function)?,
        json_text: keep("json", Type::Function)?,
        html_text: keep("html", Type::Function)?,
        element: methods("Element")?,
        sending: keep("sending", Type::Table)?,
        take_markup: keep("takeMarkup", Type::Function)?,
        kernel: {
            stack.push_copy(kernel);
            stack.keep()
        },
    };
    stack.field(kernel, "deadlineError");
    crate::engine::watchdog::set_deadline_error(stack.keep());
    stack.pop(1);
    Ok(slots)
}

/// Loads generated code; answers the function that takes the kernel, in a slot.
pub(crate) fn load_chunk(
    isolate: &crate::isolate::Isolate,
    lua: &str,
    name: &str,
) -> Result<Slot, String> {
    let stack = isolate.stack();
    stack.reserve(8);
    let name = std::ffi::CString::new(format!("@{}", name.replace('\0', "?"))).unwrap_or_default();
    // SAFETY: the text and the name live during the call; mode "t" refuses bytecode.
    let status = unsafe {
        mlua::ffi::luaL_loadbufferx(
            stack.0,
            lua.as_ptr().cast(),
            lua.len(),
            name.as_ptr(),
            c"t".as_ptr(),
        )
    };
    if status == mlua::ffi::LUA_OK {
        return Ok(stack.keep());
    }
    let message = String::from_utf8_lossy(stack.bytes(-1)).into_owned();
    stack.pop(1);
    Err(message)
}
