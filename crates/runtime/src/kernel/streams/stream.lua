-- Write streams: objects are written one by one and passed on to a target.
-- A stream's `_target` is another stream, an array that collects, a mutable string, a reference, a
-- block, anything that takes `writeObject:`; false for streams that end the chain.
local K = ...
local type, setmetatable = type, setmetatable
local Object = K.classes.Object

local WriteStream = K.newClass("WriteStream", Object)
K.alias("MPWWriteStream", WriteStream)
K.method(WriteStream, "_isStream", true)
for _, field in ipairs { "_target", "_sink", "_started" } do
  K.nilKeys[field] = true
  K.method(WriteStream, field, false)
end

-- What collects when nothing else was given, remembered as such: a pipeline replaces it by its own.
-- Subclasses may answer another kind.
local defaults = setmetatable({}, { __mode = "k" })
K.classMethods(WriteStream, {
  ["defaultTarget"] = function()
    local target = K.mutableArray {}
    defaults[target] = true
    return target
  end,
})

local function make(class)
  local stream = setmetatable({ _target = class:defaultTarget() }, class._methods)
  return stream:init()
end

local function targetOf(self) return self._target or nil end

local function setTarget(self, target)
  self._target = target == nil and false or target
  return self
end

local function isStream(value) return type(value) == "table" and value._isStream end
K.isStream = isStream

-- Chains are walked at most this far, so that a ring of streams is an error rather than a hang.
local LONGEST = 10000

-- The last stream of the chain that begins here.
local function lastStream(self)
  local stream = self
  for _ = 1, LONGEST do
    local target = stream:target()
    if not isStream(target) then return stream end
    stream = target
  end
  K.throw("tooLarge", "the streams form a ring")
end
K.lastStream = lastStream

local function finalTarget(self)
  local last = lastStream(self)
  local target = last:target()
  if target == nil then return last end
  return target
end

local function setFinalTarget(self, target)
  -- A stream that ends the chain, such as stdout, is replaced rather than extended.
  local stream = self
  for _ = 1, LONGEST do
    local following = stream:target()
    if not isStream(following) or following:target() == nil then break end
    stream = following
  end
  stream:setTarget_(target)
  return self
end

-- Whether what comes out at the end of the stream only goes to where it went by default.
function K.endsByDefault(stream)
  if not isStream(stream) then return false end
  local target = lastStream(stream):target()
  return target ~= nil and defaults[target] == true
end

-- Passes an object on; nil is ignored.
local function forward(self, object)
  if object == nil then return end
  local target = self._target
  if target then target:writeObject_(object) end
end

local function writeAll(self, objects)
  local list = K.elementsOf(objects, "writeAll:")
  for i = 1, #list do
    local value = list[i]
    if value ~= K.NULL then self:writeObject_(value) end
  end
  return self
end

-- Tells the streams behind this one.
local function cascade(selector)
  return function(self)
    local target = self._target
    if isStream(target) then target[selector](target) end
    return self
  end
end

local function insertStream(self, stream)
  setFinalTarget(stream, self:target())
  self:setTarget_(stream)
  return self
end

-- What the target holds after one object was written and the stream closed.
local function processed(self, object)
  self:writeObject_(object)
  self:close()
  return self:finalTarget()
end

K.methods(WriteStream, {
  ["initWithTarget:"] = function(self, target) return setTarget(self:init(), target) end,
  ["target"] = targetOf, ["setTarget:"] = setTarget, ["target:"] = setTarget,
  ["finalTarget"] = finalTarget, ["setFinalTarget:"] = setFinalTarget,
  ["forward:"] = forward,
  ["writeObject:"] = forward, ["add:"] = function(self, object)
    return self:writeObject_(object)
  end,
  ["writeAll:"] = writeAll, ["writeObjects:"] = writeAll, ["addAll:"] = writeAll,
  ["insertStream:"] = insertStream,
  ["flush"] = cascade("flush"), ["close"] = cascade("close"),
  ["flushLocal"] = function() end,
  ["process:"] = processed,
  ["result"] = finalTarget, ["contents"] = finalTarget,
  ["isStream"] = function() return true end,
})
K.classMethods(WriteStream, {
  ["new"] = make, ["stream"] = make,
  ["alloc"] = function(class)
    return setmetatable({ _target = class:defaultTarget() }, class._methods)
  end,
  ["streamWithTarget:"] = function(class, target) return make(class):setTarget_(target) end,
  ["on:"] = function(class, target) return make(class):setTarget_(target) end,
  ["process:"] = function(class, object) return processed(class:stream(), object) end,
})

-- A block takes what is written to it as its argument.
K.methods(K.classes.Block, {
  ["writeObject:"] = function(self, object) return self(object) end,
})

-- Byte streams ----------------------------------------------------------------------------------

-- Text goes to `_sink` (a table with `write(text)`), or to the target: a mutable string unless
-- another was given.
local ByteStream = K.newClass("ByteStream", WriteStream)
K.alias("MPWByteStream", ByteStream)
K.classMethods(ByteStream, {
  ["defaultTarget"] = function() return K.mutableText("") end,
})

function K.byteStream(sink)
  return setmetatable({ _sink = sink, _target = false }, ByteStream._methods)
end

local function put(self, text)
  local sink = self._sink
  if sink then
    sink.write(text)
  elseif self._target then
    self._target:writeObject_(text)
  end
end

-- An object may write itself: `writeOnByteStream:`.
local function print(self, value)
  if type(value) == "table" and K.understands(value, "writeOnByteStream_") then
    value:writeOnByteStream_(self)
  else
    put(self, K.str(value))
  end
end

local function println(self, value)
  if type(value) == "table" then
    print(self, value)
    put(self, "\n")
  else
    put(self, K.str(value) .. "\n")
  end
end

local function newline(self) return put(self, "\n") end

K.methods(ByteStream, {
  ["print:"] = print, ["show:"] = print, ["writeString:"] = print, ["appendString:"] = print,
  ["writeObject:"] = function(self, object)
    if object ~= nil then print(self, object) end
  end,
  ["println:"] = println, ["writeLine:"] = println,
  ["println"] = newline, ["writeNewline"] = newline, ["newline"] = newline, ["nl"] = newline,
    ["cr"] = newline,
  ["space"] = function(self) return put(self, " ") end,
  ["tab"] = function(self) return put(self, "\t") end,
  ["writeTab"] = function(self) return put(self, "\t") end,
  ["writeData:"] = function(self, data) return put(self, K.bytesOf(data, "writeData:")) end,
  ["printFormat:"] = function(self, pattern)
    return put(self, K.format(K.expectText(pattern, "printFormat:"), {}, 0))
  end,
  ["printFormat:with:"] = function(self, pattern, value)
    return put(self, K.expectText(pattern, "printFormat:with:"):format_(value))
  end,
  ["stringValue"] = function(self)
    return self._target and K.str(self._target) or K.str(nil)
  end,
  ["flush"] = function(self)
    local sink = self._sink
    if sink and sink.flush then sink.flush() end
    return self
  end,
  ["close"] = function(self) return self:flush() end,
})

local function standard(fd)
  return K.byteStream { write = function(text) K.native.write(fd, text) end }
end
K.stdout, K.stderr = standard(1), standard(2)
