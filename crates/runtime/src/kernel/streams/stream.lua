-- Write streams: objects are written one by one and passed on to a target.
-- A stream's `_target` is another stream, an array that collects, a mutable string, a reference, a
-- block, anything that takes `writeObject:`; false for streams that end the chain.
local K = ...
local type, setmetatable = type, setmetatable
local Object = K.classes.Object

--- A stream to which objects are written one by one, and which passes them on to its target: another stream, an array,
--- a reference, a block, or anything else that takes `writeObject:`. A new stream collects in an array. nil is not
--- passed on.
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
  --- +<any> defaultTarget
  --- Answers a new target for an instance without one: a MutableArray that collects. Subclasses may answer another one.
  --- > WriteStream defaultTarget ⇒ []
  ["defaultTarget"] = function()
    local target = K.mutableArray {}
    defaults[target] = true
    return target
  end,
})

local function make(class)
  local target = class:defaultTarget()
  local stream = setmetatable({ _target = target }, class._methods)
  -- A class of the program may set itself up when it gets its target, as in the original.
  if stream.initWithTarget_ ~= WriteStream._own.initWithTarget_ then return stream:initWithTarget_(target) end
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
  --- -<self> initWithTarget:<any>target
  --- Initializes the stream with a target and answers it. A class may override it to set itself up; `new` sends it
  --- then.
  --- > (WriteStream alloc initWithTarget: [1]) target ⇒ [1]
  ["initWithTarget:"] = function(self, target) return setTarget(self:init(), target) end,
  --- -<any> target
  --- Answers the target of the stream; nil for one that ends the chain, such as `stdout`. `finalTarget` follows the
  --- chain.
  --- > stream := WriteStream new. stream writeObject: 1. stream target ⇒ [1]
  ["target"] = targetOf,
  --- -<self> setTarget:<any>target
  --- -<self> target:<any>target
  --- Replaces the target and answers the stream; without a target (nil) objects are dropped.
  --- > list := []. stream := WriteStream new. stream setTarget: list; writeObject: 1. list ⇒ [1]
  ["setTarget:"] = setTarget, ["target:"] = setTarget,
  --- -<any> finalTarget
  --- -<any> result
  --- -<any> contents
  --- Answers the target at the end of the chain of streams, or the last stream when it has none. Streams that form a
  --- ring are a `tooLarge` error.
  --- > pipe := (MapFilter block: { :n | n + 1 }) → WriteStream. pipe writeObject: 1. pipe finalTarget ⇒ [2]
  ["finalTarget"] = finalTarget, ["result"] = finalTarget, ["contents"] = finalTarget,
  --- -<self> setFinalTarget:<any>target
  --- Replaces the target at the end of the chain of streams and answers the stream, as the arrow `→` does.
  --- > list := []. pipe := WriteStream new. pipe setFinalTarget: list; writeObject: 1. list ⇒ [1]
  ["setFinalTarget:"] = setFinalTarget,
  --- -<nothing> forward:<any>object
  --- Passes an object on to the target; nil is ignored. In a filter `^object` sends this message.
  --- > stream := WriteStream new. stream forward: 1. stream target ⇒ [1]
  ["forward:"] = forward,
  --- -<nothing> writeObject:<any>object
  --- -<nothing> add:<any>object
  --- -<nothing> ! <any>object
  --- Writes an object to the stream, which does its work with it and passes results on to the target. nil is ignored.
  --- > stream := MapFilter block: { :n | n * 2 }. stream writeObject: 4. stream target ⇒ [8]
  ["writeObject:"] = forward, ["add:"] = function(self, object)
    return self:writeObject_(object)
  end,
  --- -<self> writeAll:<Collection>objects
  --- -<self> writeObjects:<Collection>objects
  --- -<self> addAll:<Collection>objects
  --- Writes each element of a collection except nil, and answers the stream.
  --- > (WriteStream new writeAll: [1, nil, 2]) target ⇒ [1, 2]
  ["writeAll:"] = writeAll, ["writeObjects:"] = writeAll, ["addAll:"] = writeAll,
  --- -<self> insertStream:<WriteStream>stream
  --- Puts another stream between this one and its target, and answers this one.
  --- > pipe := WriteStream new. pipe insertStream: (MapFilter block: 'uppercase'); writeObject: 'a'. pipe result ⇒ ['A']
  ["insertStream:"] = insertStream,
  --- -<self> flush
  --- Writes out what the stream and the streams behind it hold back, and answers the stream.
  --- > queue := Queue new. queue writeObject: 1; flush. queue target ⇒ [1]
  ["flush"] = cascade("flush"),
  --- -<self> close
  --- Ends the stream and the streams behind it, which write out their last results, and answers the stream.
  --- > counter := CountingFilter new. counter writeObject: 'a'; writeObject: 'b'; close. counter target ⇒ [2]
  ["close"] = cascade("close"),
  --- -<nothing> flushLocal
  --- Does nothing: a plain stream holds nothing back. Subclasses may write out what they hold, without the streams
  --- behind.
  --- > WriteStream new flushLocal ⇒ nil
  ["flushLocal"] = function() end,
  --- -<any> process:<any>object
  --- Writes one object, closes the stream and answers the final target with the results.
  --- > (MapFilter block: { :n | n + 1 }) process: 1 ⇒ [2]
  ["process:"] = processed,
  --- -<Boolean> isStream
  --- Answers true; any other object answers false.
  --- > stdout isStream ⇒ true
  ["isStream"] = function() return true end,
})
K.classMethods(WriteStream, {
  --- +<self> new
  --- +<self> stream
  --- Answers a stream that collects its results in the default target, an array unless the class has another one.
  --- > BytesToLines new target ⇒ []
  ["new"] = make, ["stream"] = make,
  --- +<self> alloc
  --- Answers a stream with the default target without sending it `init`; `new` does both.
  --- > WriteStream alloc target ⇒ []
  ["alloc"] = function(class)
    return setmetatable({ _target = class:defaultTarget() }, class._methods)
  end,
  --- +<self> streamWithTarget:<any>target
  --- +<self> on:<any>target
  --- Answers a new stream with a target.
  --- > list := []. (PrintLiner on: list) writeObject: 1; writeObject: 2. list count ⇒ 2
  ["streamWithTarget:"] = function(class, target) return make(class):setTarget_(target) end,
  ["on:"] = function(class, target) return make(class):setTarget_(target) end,
  --- +<any> process:<any>object
  --- Writes one object to a new stream, closes it and answers the final target with the results.
  --- > FlattenStream process: [1, [2, 3]] ⇒ [1, 2, 3]
  ["process:"] = function(class, object) return processed(class:stream(), object) end,
})

-- A block takes what is written to it as its argument.
K.methods(K.classes.Block, {
  --- -<any> writeObject:<any>object
  --- Evaluates the block with the object, as `value:` does, so that a block can be the target of a stream.
  --- > { :n | n + 1 } writeObject: 2 ⇒ 3
  ["writeObject:"] = function(self, object) return self(object) end,
})

-- Byte streams ----------------------------------------------------------------------------------

-- Text goes to `_sink` (a table with `write(text)`), or to the target: a mutable string unless
-- another was given.
--- A stream of text and bytes: `stdout`, `stderr` or a text in memory, which `ByteStream new` makes.
local ByteStream = K.newClass("ByteStream", WriteStream)
K.alias("MPWByteStream", ByteStream)
K.classMethods(ByteStream, {
  --- +<MutableString> defaultTarget
  --- Answers a new target for an instance without one: an empty MutableString.
  --- > ByteStream defaultTarget ⇒ ''
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
local function tab(self) return put(self, "\t") end

K.methods(ByteStream, {
  --- -<nothing> print:<any>value
  --- -<nothing> show:<any>value
  --- -<nothing> writeString:<any>value
  --- -<nothing> appendString:<any>value
  --- Writes the text of a value, `nil` for nil. An object with `writeOnByteStream:` writes itself.
  --- > out := ByteStream new. out print: 'a'; print: 1. out stringValue ⇒ 'a1'
  ["print:"] = print, ["show:"] = print, ["writeString:"] = print, ["appendString:"] = print,
  --- -<nothing> writeObject:<any>object
  --- -<nothing> ! <any>object
  --- Writes the text of an object. Unlike with `print:`, nil is ignored.
  --- > out := ByteStream new. out ! 'a'; writeObject: nil; writeObject: 2. out stringValue ⇒ 'a2'
  ["writeObject:"] = function(self, object)
    if object ~= nil then print(self, object) end
  end,
  --- -<nothing> println:<any>value
  --- -<nothing> writeLine:<any>value
  --- Writes the text of a value and a newline.
  --- > out := ByteStream new. out println: 'a'; println: 1. out stringValue ⇒ 'a\n1\n'
  ["println:"] = println, ["writeLine:"] = println,
  --- -<nothing> println
  --- -<nothing> writeNewline
  --- -<nothing> newline
  --- -<nothing> nl
  --- -<nothing> cr
  --- Writes a newline.
  --- > out := ByteStream new. out print: 'a'; nl. out stringValue ⇒ 'a\n'
  ["println"] = newline, ["writeNewline"] = newline, ["newline"] = newline, ["nl"] = newline,
  ["cr"] = newline,
  --- -<nothing> space
  --- Writes a space.
  --- > out := ByteStream new. out print: 'a'; space; print: 'b'. out stringValue ⇒ 'a b'
  ["space"] = function(self) return put(self, " ") end,
  --- -<nothing> tab
  --- -<nothing> writeTab
  --- Writes a tab.
  --- > out := ByteStream new. out tab. out stringValue ⇒ '\t'
  ["tab"] = tab, ["writeTab"] = tab,
  --- -<nothing> writeData:<Data|String>data
  --- Writes bytes as they are; another value than Data or a text is a `typeError`.
  --- > out := ByteStream new. out writeData: 'abc' asData. out stringValue ⇒ 'abc'
  ["writeData:"] = function(self, data) return put(self, K.bytesOf(data, "writeData:")) end,
  --- -<nothing> printFormat:<String>format
  --- Writes a format without values, in which `%%` stands for a percent sign.
  --- > out := ByteStream new. out printFormat: '100%%'. out stringValue ⇒ '100%'
  ["printFormat:"] = function(self, pattern)
    return put(self, K.format(K.expectText(pattern, "printFormat:"), {}, 0))
  end,
  --- -<nothing> printFormat:<String>format with:<any>value
  --- Writes a format with its value, or with several values from an Array, as `printf` of C does.
  --- > out := ByteStream new. out printFormat: '%d of %d' with: [2, 3]. out stringValue ⇒ '2 of 3'
  ["printFormat:with:"] = function(self, pattern, value)
    return put(self, K.expectText(pattern, "printFormat:with:"):format_(value))
  end,
  --- -<String> stringValue
  --- Answers the text that is written to a stream in memory; of another stream, such as `stdout`, its description.
  --- > out := ByteStream new. out print: 'a'. out stringValue ⇒ 'a'
  --- > stdout stringValue ⇒ 'a ByteStream'
  ["stringValue"] = function(self)
    return self._target and K.str(self._target) or self:description()
  end,
  --- -<self> flush
  --- Writes buffered output to its file or connection, and answers the stream.
  --- > ByteStream new flush stringValue ⇒ ''
  ["flush"] = function(self)
    local sink = self._sink
    if sink and sink.flush then sink.flush() end
    return self
  end,
  --- -<self> close
  --- Flushes the stream and answers it. It can still be written to.
  --- > out := ByteStream new. out print: 'a'; close. out stringValue ⇒ 'a'
  ["close"] = function(self) return self:flush() end,
})

local function standard(fd)
  return K.byteStream { write = function(text) K.native.write(fd, text) end }
end
K.stdout, K.stderr = standard(1), standard(2)
