-- Natives: functions of Rust. `K.native.name(...)` answers the value, raises the error, or waits
-- without holding up other fibers.
local K = ...
local yield, error, type, rawget, pairs = coroutine.yield, error, type, rawget, pairs

-- What a coroutine yields to its driver when it waits (see fiber.rs).
local WAITS = 2

K.native = {}
local function settle(state, value)
  if state == nil then state, value = yield(WAITS) end
  if state then return value end
  K.raise(value)
end
K.settle = settle
for name, raw in pairs(K.rawNative) do
  K.native[name] = function(...) return settle(raw(...)) end
end

-- Raises an Error object as it is, with a trace when it has none.
function K.raise(err)
  if type(err) == "table" and rawget(err, "_trace") == nil then err._trace = K.traceback(2) end
  error(err, 0)
end
