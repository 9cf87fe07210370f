/*
** Makes LuaJIT's interruption exact. Included before each of its files, and before none of others
** (.cargo/config.toml); cargo builds LuaJIT again only after `cargo clean -p mlua-sys`.
**
** A signal arms a hook while the compiler of traces may be at work (engine/watchdog.rs). LuaJIT's
** lua_sethook then marks the recording as aborted at any instruction: an error under way is counted
** twice, which leaves a value too many on the stack, or the recorder stays half stopped while other
** fibers run compiled code. Here arming leaves the recorder alone; the call of the hook, between two
** instructions, stops it wholly before the hook runs.
*/
#if !defined(__ASSEMBLER__) && defined(LUAJIT_ENABLE_CHECKHOOK) && defined(__has_include)
#if __has_include("lj_trace.h")
#include <string.h>
#define luajit_c  /* What luaconf.h defines for luajit.c alone. */
#include "lj_trace.h"

static inline void interrupt_recorder(global_State *g, const char *caller)
{
  jit_State *J = G2J(g);
  if (strcmp(caller, "lua_sethook") == 0 || !(J->state & LJ_TRACE_ACTIVE))
    return;
  J->state &= ~LJ_TRACE_ACTIVE;
  if (strcmp(caller, "callhook") == 0)
    lj_trace_ins(J, J->pc);  /* Drops the aborted recording. */
}

#undef lj_trace_abort
#define lj_trace_abort(g) interrupt_recorder((g), __func__)
#endif
#endif

/*
** GCC's unwinder takes a list of frames, LLVM's, which Rust links with musl, one of them: the second, after the one
** that is common to all. LuaJIT knows it of macOS alone.
*/
#if !defined(__ASSEMBLER__) && defined(RUNNEL_LLVM_UNWINDER)
extern void __register_frame(const void *);
extern void __deregister_frame(const void *);

static inline void register_second_frame(const void *list)
{
  __register_frame((const char *)list + 0x20);
}

static inline void deregister_second_frame(const void *list)
{
  __deregister_frame((const char *)list + 0x20);
}

#define __register_frame register_second_frame
#define __deregister_frame deregister_second_frame
#endif
