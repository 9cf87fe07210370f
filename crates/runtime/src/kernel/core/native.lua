-- Natives: functions of Rust. `K.native.name(...)` answers the value, raises the error, or waits
-- without holding up other fibers.
local K = ...
local yield, type, pairs = coroutine.yield, type, pairs

-- What a coroutine yields to its driver when it waits (see fiber.rs).
local WAITS = 2

K.native = {}
local function settle(state, value)
  if state == nil then state, value = yield(WAITS) end
  if state then return value end
  K.raise(value)
end
for name, raw in pairs(K.rawNative) do
  K.native[name] = function(...) return settle(raw(...)) end
end

-- What asks a store. Its errors are the program's affair: a client does not read their messages.
local function settleStore(state, value)
  if state == nil then state, value = yield(WAITS) end
  if state then return value end
  if type(value) == "table" and value._side == nil then value._side = "store" end
  K.raise(value)
end
-- What reads the request: its errors are the client's, limits of forms among them.
local exchange = K.rawNative.exchange
if exchange then
  function K.native.exchange(what, name)
    local state, value = exchange(what, name)
    if state then return value end
    if type(value) == "table" then value._side = "request" end
    K.raise(value)
  end
end
-- Content that is too large to be parsed is the client's affair, too.
local parseJSON = K.rawNative.parseJSON
if parseJSON then
  local function settleParsed(state, value)
    if state == nil then state, value = yield(WAITS) end
    if state then return value end
    if type(value) == "table" and value.i_kind == "tooLarge" then value._side = "request" end
    K.raise(value)
  end
  function K.native.parseJSON(text) return settleParsed(parseJSON(text)) end
end
-- What reads content while it arrives: its errors are the client's, but for a program that reads it twice.
local function settleArriving(state, value)
  if state == nil then state, value = yield(WAITS) end
  if state then return value end
  if type(value) == "table" and value._side == nil and value.i_kind ~= "failed" then value._side = "request" end
  K.raise(value)
end
for _, name in ipairs { "streamStart", "streamRead", "streamPiece", "requestParts", "nextPart" } do
  local raw = K.rawNative[name]
  if raw then K.native[name] = function(...) return settleArriving(raw(...)) end end
end
for _, name in ipairs {
  "get", "getAnswer", "put", "post", "postForm", "merge", "delete", "list", "entityTag", "putIf", "deleteIf", "lazyValue", "lazyText",
  "query", "queryAnswer", "run", "define", "differences", "begin", "commit", "rollBack", "copy", "watch", "database",
  "fetch", "openSocket", "answerRead", "answerPiece", "openContent", "updateAll", "getAll", "insertBegin", "insertFields", "insertBatch", "insertCells", "insertEnd", "insertColumns", "postFrom", "postRows",
} do
  local raw = K.rawNative[name]
  if raw then K.native[name] = function(...) return settleStore(raw(...)) end end
end
