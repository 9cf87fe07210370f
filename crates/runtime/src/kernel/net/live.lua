-- Streaming: content that a block writes, server-sent events, and WebSockets.
local K = ...
local type, rawget, error, setmetatable, string = type, rawget, error, setmetatable, string
local native, throw, try = K.native, K.throw, K.try
local Object = K.classes.Object

for _, key in ipairs { "_put", "_sources", "_to" } do K.nilKeys[key] = true end

-- Content that is written while it is read ------------------------------------------------------------

local Written = K.newClass("WrittenContent", Object)
K.methods(Written, { ["description"] = function() return "content that is written while it is read" end })

-- `write` is called for each reader, with a function that takes pieces of text.
local function written(write, mediaType)
  return setmetatable({ _native = native.written(write, mediaType) }, Written._methods)
end

K.writtenContent = written

-- For Rust: one reader.
function K.runWritten(write, pipe)
  write(function(text) native.pipeWrite(pipe, text) end)
end

K.methods(K.classes.Block, {
  -- `{ :out | out println: 'one'. … } streamed`: what the block writes is sent as it comes.
  ["streamed"] = function(block) return block:streamedAs_("text/plain; charset=utf-8") end,
  ["streamedAs:"] = function(block, mediaType)
    return written(function(put) block(K.byteStream { write = put }) end, K.expectText(mediaType, "streamedAs:"))
  end,
})

-- Server-sent events (the standard of HTML, section 9.2) ----------------------------------------------

local Event = K.newClass("Event", Object)
for _, name in ipairs { "name", "id", "data", "retry" } do K.ivar(Event, name) end

local function oneLine(value, what)
  local text = K.str(value)
  if string.find(text, "[\r\n%z]") then
    throw("invalid", string.format("the %s of an event is one line", what))
  end
  return text
end

local function textOf(value)
  if type(value) == "table" and not value._isText then return K.json(value) end
  return K.str(value)
end

local function eventText(value)
  local name, id, retry, data = nil, nil, nil, value
  if K.isKind(value, Event) then
    name, id, retry, data = value.i_name, value.i_id, value.i_retry, value.i_data
  elseif K.isKind(value, K.classes.Change) then
    name, id = value.i_kind, value:cursor()
    data = K.dictionary({ "kind", "path" }, { kind = value.i_kind, path = value.i_path }, 2)
  end
  local lines = {}
  if name ~= nil then lines[#lines + 1] = "event: " .. oneLine(name, "name") end
  if id ~= nil then lines[#lines + 1] = "id: " .. oneLine(id, "id") end
  if retry ~= nil then
    lines[#lines + 1] = string.format("retry: %d", K.secondsOf(retry, "retry") * 1000)
  end
  if data ~= nil then
    local text = string.gsub(string.gsub(textOf(data), "\r\n", "\n"), "\r", "\n")
    for line in string.gmatch(text .. "\n", "([^\n]*)\n") do lines[#lines + 1] = "data: " .. line end
  end
  return table.concat(lines, "\n") .. "\n\n"
end

-- Where a block writes its events.
local Events = K.newClass("EventStream", Object)
K.methods(Events, {
  ["writeObject:"] = function(self, value)
    if value ~= nil then self._put(eventText(value)) end
    return self
  end,
  ["add:"] = function(self, value) return self:writeObject_(value) end,
})

-- The elements of a source as events, after a first one, if there is one.
function K.eventsAfter(first, source)
  return written(function(put)
    local events = setmetatable({ _put = put }, Events._methods)
    events:writeObject_(first)
    if type(source) == "function" then return source(events) end
    source:do_(function(value) events:writeObject_(value) end)
  end, "text/event-stream")
end

-- Of a block, of the changes of a store or a reference, of whatever has elements.
local function eventsOf(source)
  if type(source) == "table" and not K.isClass(source) and (source._isReference or source._isStore) then
    source = source:changes()
  elseif type(source) ~= "function" and not source:respondsToSelector_("do:") then
    throw("unsupported", K.nameOf(source) .. " gives no events",
      { i_hint = "a block, an array, a store or its changes do" })
  end
  return K.eventsAfter(nil, source)
end

K.methods(Object, { ["asEvents"] = eventsOf })
K.methods(K.classes.Block, { ["asEvents"] = eventsOf })

-- WebSocket (RFC 6455) -----------------------------------------------------------------------------------

local WebSocket = K.newClass("WebSocket", Object)
rawset(WebSocket._methods, "_isSocket", true)
for _, name in ipairs { "opened", "received", "closed" } do K.ivar(WebSocket, name) end

local function begin(self)
  if rawget(self, "_native") == nil then self._native = native.socket() end
  return self
end

local function stopSources(self)
  local sources = self._sources or {}
  self._sources = nil
  for i = 1, #sources do sources[i]:stop() end
end

-- Text goes as text, data as bytes, everything else as JSON.
local function send(self, value, how)
  begin(self)
  local isData = type(value) == "table" and value._isData
  local text = isData and K.bytesOf(value, "send:") or textOf(value)
  local taken = how(self._native, text, isData or false)
  if not taken and not native.socketIsOpen(self._native) then stopSources(self) end
  return taken
end

K.methods(WebSocket, {
  ["init"] = begin,
  ["connectComponents"] = begin,
  -- Waits while the other side is slow. Answers whether the message was taken: not once it is closed.
  ["send:"] = function(self, value) return send(self, value, native.socketSend) end,
  -- Does not wait, and answers false too when the other side is slow.
  ["offer:"] = function(self, value) return send(self, value, native.socketOffer) end,
  ["writeObject:"] = function(self, value)
    if value ~= nil then send(self, value, native.socketSend) end
    return self
  end,
  -- The next message; nil after the last. For a block `opened:` that asks and waits for answers.
  ["next"] = function(self) return native.socketNext(self._native) end,
  ["do:"] = function(self, block)
    while true do
      local message = native.socketNext(self._native)
      if message == nil then return self end
      block(message)
    end
  end,
  ["close"] = function(self)
    native.socketClose(begin(self)._native)
    return self
  end,
  ["isOpen"] = function(self) return native.socketIsOpen(begin(self)._native) end,
  -- `socket → stream`: each message is written to it.
  ["connect:"] = function(self, target)
    if not target:respondsToSelector_("writeObject:") then return nil end
    self._to = target
    return self
  end,
  ["description"] = function() return "a WebSocket" end,
})
-- A source that is connected ends with the socket.
K.method(WebSocket, "_followed", function(self, source)
  self._sources = self._sources or {}
  table.insert(self._sources, source)
end)

-- For Rust: the conversation, from its opening to its end.
function K.runSocket(self)
  local ok, failure = try(function()
    if self.i_opened then self.i_opened(self) end
    while true do
      local message = native.socketNext(self._native)
      if message == nil then return end
      if self.i_received then self.i_received(message, self) end
      local to = self._to
      if to and K.isKind(to, K.classes.ByteStream) then to:println_(message)
      elseif to then to:writeObject_(message) end
    end
  end)
  native.socketClose(self._native)
  stopSources(self)
  if self.i_closed then self.i_closed(self) end
  if not ok then error(failure, 0) end
end
