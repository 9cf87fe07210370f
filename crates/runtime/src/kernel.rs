//! Loading the kernel: the Lua files as bytecode, the natives, the values that Rust needs at hand.
#![allow(unsafe_code)]

mod files;

use crate::engine::stack::{Slot, Stack, Type};
use crate::engine::{memory, watchdog};
use crate::isolate::KernelSlots;
use crate::pages::markup::{Escape, escape_into};
use bytes::{Buf, Bytes};
use mlua::Lua;
use mlua::ffi;
use runnel_store::{SettingInfo, Verb};
use std::borrow::Cow;
use std::io;
use zstd::zstd_safe;

/// The bytecode of the files in the order of loading, each after its length, compressed (`build.rs`). It is a megabyte
/// that an isolate reads once.
const BYTECODE: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/kernel.zst"));

/// The engine's own stack.
pub(crate) fn main_stack(lua: &Lua) -> Stack<'_> {
    let mut state = std::ptr::null_mut();
    // SAFETY: only the pointer is taken; it is used while the engine lives, on its own thread.
    let _ = unsafe { lua.exec_raw::<()>((), |inner| state = inner) };
    // SAFETY: see above.
    unsafe { Stack::from_raw(state) }
}

/// What Rust gives the kernel before it is loaded.
pub(crate) struct Publication {
    /// The names of the natives: the position of a name is the native's number.
    pub(crate) natives: Vec<&'static str>,
    /// The C function that calls a native by the number in its upvalue.
    pub(crate) trampoline: ffi::lua_CFunction,
    /// The options of servers.
    pub(crate) server_options: Vec<SettingInfo>,
    /// What servers of S3 have beside them.
    pub(crate) s3_server_options: Vec<SettingInfo>,
    /// The seed of `random`.
    pub(crate) seed: f64,
}

/// Loads the kernel.
pub(crate) fn load(
    lua: &Lua,
    stack: Stack,
    publication: Publication,
) -> Result<KernelSlots, String> {
    let text = |error: mlua::Error| error.to_string();
    let kernel = lua.create_table().map_err(text)?;
    lua.globals().raw_set("KERNEL", &kernel).map_err(text)?;
    publish(stack, &publication);
    kernel.raw_set("combinators", combinators(lua).map_err(text)?).map_err(text)?;
    // Nothing of the kernel is garbage yet, and code that runs once is not worth compiling.
    lua.gc_stop();
    let jit = |on: bool| lua.load(if on { "jit.on()" } else { "jit.off()" }).exec().map_err(text);
    jit(false)?;
    let sources = sources().map_err(|error| format!("the bytecode of the kernel: {error}"))?;
    for (name, source) in sources {
        lua.load(&*source)
            .set_name(format!("=kernel/{name}"))
            .call::<()>(&kernel)
            .map_err(|error| format!("kernel/{name}: {error}"))?;
    }
    lua.load("KERNEL.seal()").exec().map_err(text)?;
    jit(true)?;
    lua.gc_restart();
    let slots = slots(stack)?;
    lua.globals().raw_remove("KERNEL").map_err(text)?;
    Ok(slots)
}

/// A file of the kernel: its name, and its text or bytecode.
type Source = (Cow<'static, str>, Bytes);

/// The files of the kernel in the order of loading.
fn sources() -> io::Result<Vec<Source>> {
    #[cfg(debug_assertions)]
    if let Some(folder) = std::env::var_os("RUNNEL_KERNEL")
        && let Some(sources) = sources_in(std::path::Path::new(&folder))
    {
        return Ok(sources);
    }
    // At once, into memory of its size: a stream takes half as long again.
    let length = zstd_safe::get_frame_content_size(BYTECODE).ok().flatten().unwrap_or_default();
    let mut bytecode = Bytes::from(zstd::bulk::decompress(BYTECODE, length as usize)?);
    let next = |name: &&'static str| {
        let length = bytecode.get_u32_le() as usize;
        ((*name).into(), bytecode.split_to(length))
    };
    Ok(files::FILES.iter().map(next).collect())
}

/// The files of the kernel in a folder, in the order that its `files.rs` states: a debug build
/// tries a change of the kernel without a build.
#[cfg(debug_assertions)]
fn sources_in(folder: &std::path::Path) -> Option<Vec<Source>> {
    let texts = texts_in(folder)?;
    Some(texts.into_iter().map(|(name, text)| (name.into(), text.into_bytes().into())).collect())
}

/// The names and the texts of the files of a folder, in that order.
#[cfg(debug_assertions)]
pub(crate) fn texts_in(folder: &std::path::Path) -> Option<Vec<(String, String)>> {
    let list = std::fs::read_to_string(folder.join("files.rs")).ok()?;
    let names = list.lines().filter_map(|line| line.trim().strip_prefix('"')?.strip_suffix("\","));
    names
        .map(|name| Some((name.to_owned(), std::fs::read_to_string(folder.join(name)).ok()?)))
        .collect()
}

/// Pushes the names of options as a list.
fn push_names(stack: Stack, options: &[SettingInfo]) {
    stack.new_table(options.len(), 0);
    let names = stack.top();
    for (number, option) in options.iter().enumerate() {
        stack.push_bytes(option.name.as_bytes());
        stack.set_element(names, number + 1);
    }
}

/// Fills the kernel with what Rust gives it: natives, names of options, and constants.
fn publish(stack: Stack, publication: &Publication) {
    stack.reserve(16);
    push_global(stack);
    let kernel = stack.top();
    stack.new_table(0, publication.natives.len());
    for (number, name) in publication.natives.iter().enumerate() {
        stack.push_function(publication.trampoline, number);
        stack.set_field(kernel + 1, name);
    }
    stack.set_field(kernel, "rawNative");
    push_names(stack, &publication.server_options);
    stack.set_field(kernel, "serverOptions");
    push_names(stack, &publication.s3_server_options);
    stack.set_field(kernel, "s3ServerOptions");
    stack.new_table(0, publication.server_options.len());
    for option in &publication.server_options {
        for former in option.former {
            stack.push_bytes(option.name.as_bytes());
            stack.set_field(kernel + 1, former);
        }
    }
    stack.set_field(kernel, "formerServerOptions");
    stack.push_number(publication.seed);
    stack.set_field(kernel, "seed");
    stack.push_bytes(memory::MESSAGE);
    stack.set_field(kernel, "memoryMessage");
    stack.push_bytes(memory::EXPLANATION.as_bytes());
    stack.set_field(kernel, "memoryExplanation");
    // SAFETY: only the address is pushed; markup.lua calls it with what markup.rs asks for.
    unsafe {
        let escape: Escape = escape_into;
        ffi::lua_pushlightuserdata(stack.state(), escape as *mut std::ffi::c_void);
    }
    stack.set_field(kernel, "escapeMarkup");
    stack.pop(1);
}

/// The definitions of combinators: names, options by the kind of their values, former options, and
/// which options are secret.
fn combinators(lua: &Lua) -> mlua::Result<mlua::Table> {
    let list = lua.create_table()?;
    for definition in runnel_store::combinators() {
        let (options, former) = (lua.create_table()?, lua.create_table()?);
        let secret = lua.create_table()?;
        for info in definition.infos() {
            options.raw_set(info.name, info.kind.name())?;
            secret.raw_set(info.name, info.is_secret)?;
            for name in info.former {
                former.raw_set(*name, info.name)?;
            }
        }
        let row = lua.create_table()?;
        row.raw_set("name", definition.class)?;
        row.raw_set("kind", definition.class)?;
        row.raw_set("aliases", definition.aliases)?;
        row.raw_set("options", options)?;
        row.raw_set("former", former)?;
        row.raw_set("secret", secret)?;
        list.raw_push(row)?;
    }
    Ok(list)
}

fn push_global(stack: Stack) {
    // SAFETY: a plain look-up in the globals, which holds the kernel while it is loaded.
    unsafe {
        ffi::lua_getfield(stack.state(), ffi::LUA_GLOBALSINDEX, c"KERNEL".as_ptr());
    }
}

fn slots(stack: Stack) -> Result<KernelSlots, String> {
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
    let word = |word: &str| -> Slot {
        stack.push_bytes(word.as_bytes());
        stack.keep()
    };
    let slots = KernelSlots {
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
        get: word(Verb::Get.name()),
        keys: word("_keys"),
        map: word("_map"),
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
    watchdog::set_deadline_error(stack.keep());
    stack.pop(1);
    Ok(slots)
}
