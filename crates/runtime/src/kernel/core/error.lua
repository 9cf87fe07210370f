-- Errors: the class, raising, and Lua's own errors in the words of programs.
--
-- A raised error is always a table of class Error: kind, message, trace, plus whatever its maker
-- adds. `K.throw` raises; the trace is taken where it is raised.
local K = ...
local error, xpcall, pcall, type, rawequal, rawget, setmetatable =
  error, xpcall, pcall, type, rawequal, rawget, setmetatable
local sub, byte = string.sub, string.byte

local Error = K.newClass("Error", K.classes.Object)
Error._methods._isError = true
K.alias("NSException", Error)
for _, name in ipairs { "kind", "message", "reference", "detail", "status", "headers", "fields" } do K.ivar(Error, name) end
for _, key in ipairs {
  "_trace", "_temporary", "_native", "_uncatchable", "_isBig", "_equalsPlain", "_keyText", "_original",
  "_over", "_program", "_side", "_isError",
} do K.nilKeys[key] = true end

function K.newError(kind, message, fields)
  local err = fields or {}
  err.i_kind, err.i_message = kind, message
  return setmetatable(err, Error._methods)
end

function K.throw(kind, message, fields)
  local err = K.newError(kind, message, fields)
  err._trace = K.traceback(2)
  error(err, 0)
end
local throw = K.throw

-- The frames of the program, innermost first: a list of { place, line }. Kernel frames left out.
function K.traceback(level)
  local frames, at = {}, (level or 1) + 1
  local getinfo = debug.getinfo
  while #frames < 64 do
    local info = getinfo(at, "Sl")
    if not info then break end
    local source = info.source
    -- "@": the program's own chunks; the main function only calls the groups of statements.
    if info.currentline > 0 and byte(source) == 64 and info.what ~= "main" then
      frames[#frames + 1] = { sub(source, 2), info.currentline }
    end
    at = at + 1
  end
  return frames
end

-- Raises an Error object as it is, with a trace when it has none.
function K.raise(err)
  if type(err) == "table" and rawget(err, "_trace") == nil then err._trace = K.traceback(2) end
  error(err, 0)
end

-- LuaJIT's own messages, in words about programs.
local friends = {
  { "stack overflow", "recursion", "the recursion is too deep", "does the method that calls itself come to an end?" },
  { K.memoryMessage, "memory", K.memoryExplanation, "work on parts, or on a stream" },
  { "string length overflow", "memory", "a text became too long", "work on parts, or on a stream" },
  { "attempt to compare", "typeError", "these two cannot be compared", "compare numbers with numbers and texts with texts" },
  { "attempt to perform arithmetic", "typeError", "arithmetic needs numbers", nil },
  { "attempt to concatenate", "typeError", "this cannot be joined to a text", nil },
  { "attempt to call", "typeError", "this is not a block, it cannot be called", nil },
  { "attempt to index", "typeError", "this has no parts", nil },
  { "bad argument", "typeError", "an argument is of the wrong kind", nil },
  { "attempt to yield across", "failed", "waiting is not possible inside this callback", nil },
}

function K.fromLua(text, trace)
  local err
  for _, friend in ipairs(friends) do
    if string.find(text, friend[1], 1, true) then
      err = K.newError(friend[2], friend[3], { i_hint = friend[4], i_detail = text })
      break
    end
  end
  if not err then err = K.newError("failed", (string.gsub(text, "^%S-:%d+: ", "")), { i_detail = text }) end
  err._trace = trace
  return err
end

-- The handler of every protected call: makes an Error of what was raised, where it was raised.
local function handler(raised)
  if type(raised) == "table" then return raised end
  local ok, trace = pcall(K.traceback, 2)
  return K.fromLua(tostring(raised), ok and trace or {})
end
K.handler = handler

-- The handler is not asked when memory ran out, or when there was no stack left for it.
local function asRaised(value)
  if type(value) == "string" then return K.fromLua(value, {}) end
  return value
end
K.asRaised = asRaised

-- Runs a block under protection: whether it came to its end, and its value or what was raised.
local function try(block, a, b)
  local ok, value = xpcall(block, handler, a, b)
  if ok then return true, value end
  return false, asRaised(value)
end
K.try = try

-- Leaving a method from a block in it: `^` ------------------------------------------------------

function K.home(body)
  local token = {}
  local ok, value = try(body, token)
  if ok then return value end
  token.left = true
  if rawequal(value, token) then return token.value end
  error(value, 0)
end

function K.leave(token, value)
  if token.left then
    throw("returned", "this block returns from a method that has already returned",
      { i_hint = "use `^` only while the method is still running" })
  end
  token.value = value
  error(token, 0)
end

-- Ends the whole script with a value.
function K.endScript(value)
  error({ _end = true, value = value }, 0)
end
