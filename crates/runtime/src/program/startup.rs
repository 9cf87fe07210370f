//! Starting an isolate: the engine, the kernel, the limits, the watchdog.
#![allow(unsafe_code)]

use crate::engine::memory::Accounts;
use crate::engine::watchdog::{self, Watchdog};
use crate::host::Host;
use crate::isolate::{Engine, Isolate, Limits};
use crate::kernel::{self, Publication};
use crate::natives;
use mlua::{Lua, LuaOptions, StdLib};
use std::rc::Rc;

impl Isolate {
    /// Makes the isolate of this thread. A thread has at most one.
    ///
    /// # Errors
    /// A sentence that says why the engine could not be set up; among others when it was built
    /// without the hook that time slices need.
    pub fn new(host: Rc<dyn Host>, limits: Limits) -> Result<Isolate, String> {
        let lua = engine();
        let main = kernel::main_stack(&lua);
        main.prepare();
        let publication = Publication {
            natives: natives::names(),
            trampoline: natives::trampoline,
            server_options: host.server_options(),
            s3_server_options: host.s3_server_options(),
            seed: natives::seed(),
        };
        let slots = kernel::load(&lua, main, publication)?;
        let accounts =
            Accounts::open(main.state(), lua.used_memory(), limits.memory, watchdog::fire);
        let watchdog = Watchdog::start(main.state()).map_err(|error| error.to_string())?;
        Ok(Isolate::of_engine(Engine { main: main.state(), slots, accounts, watchdog, lua }, host))
    }
}

fn engine() -> Lua {
    // SAFETY: programs never reach Lua's own libraries: the compiler emits only calls of the
    // kernel. The kernel itself needs `debug` (metatables of basic types, traces) and `jit`.
    unsafe { Lua::unsafe_new_with(StdLib::ALL, LuaOptions::default()) }
}
