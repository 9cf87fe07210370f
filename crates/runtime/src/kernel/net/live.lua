-- Streaming: content that a block writes, server-sent events, and WebSockets.
local K = ...
local type, rawget, error, setmetatable, string = type, rawget, error, setmetatable, string
local native, throw, try = K.native, K.throw, K.try
local Object = K.classes.Object

for _, key in ipairs { "_put", "_sources", "_to", "_authority" } do K.nilKeys[key] = true end

-- Content that is written while it is read ------------------------------------------------------------

--- Content that a block writes while a client reads it: the answer of `streamed` and `asEvents`.
local Written = K.newClass("WrittenContent", Object)
K.methods(Written, {
  --- As in Object.
  ["description"] = function() return "content that is written while it is read" end,
})

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
  --- -<WrittenContent> streamed
  --- Content that the block writes to a stream while a client reads it, as `text/plain`. The block runs once for each
  --- reader.
  --- > { :out | out println: 'one'. out println: 'two' } streamed
  ["streamed"] = function(block) return block:streamedAs_("text/plain; charset=utf-8") end,
  --- -<WrittenContent> streamedAs:<String>mediaType
  --- The same as `streamed`, with another media type.
  --- > { :out | out println: 'id,title'. out println: '1,tea' } streamedAs: 'text/csv'
  ["streamedAs:"] = function(block, mediaType)
    return written(function(put) block(K.byteStream { write = put }) end, K.expectText(mediaType, "streamedAs:"))
  end,
})

-- Server-sent events (the standard of HTML, section 9.2) ----------------------------------------------

--- A server-sent event: `#Event{ name: 'order', data: #{ id: 7 } }`.
local Event = K.newClass("Event", Object)
--- Event -<any> name
--- Event -<nothing> setName:<any>value
--- The type of the event, one line, for which a client listens; nil for `message`.
--- > #Event{ name: 'order' } name ⇒ 'order'

--- Event -<any> id
--- Event -<nothing> setId:<any>value
--- The id of the event, one line. After a disconnect, clients send it as `Last-Event-ID`.
--- > #Event{ id: '41' } id ⇒ '41'

--- Event -<any> data
--- Event -<nothing> setData:<any>value
--- What the event says: text as it is, other values as JSON. Without it, clients only store the id.
--- > (#Event{ data: #{ id: 7 } } data) at: #id ⇒ 7

--- Event -<Duration?> retry
--- Event -<nothing> setRetry:<Duration>value
--- The time after which clients reconnect; a number counts seconds.
--- > #Event{ retry: 5 seconds } retry ⇒ 5 seconds
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
    lines[#lines + 1] = string.format("retry: %d", K.secondsOf(retry, "retry:") * 1000)
  end
  if data ~= nil then
    local text = string.gsub(string.gsub(textOf(data), "\r\n", "\n"), "\r", "\n")
    for line in string.gmatch(text .. "\n", "([^\n]*)\n") do lines[#lines + 1] = "data: " .. line end
  end
  return table.concat(lines, "\n") .. "\n\n"
end

--- The stream to which a block of `asEvents` writes its events.
local Events = K.newClass("EventStream", Object)
K.methods(Events, {
  --- -<self> writeObject:<any>value
  --- -<self> add:<any>value
  --- Sends an event: an Event with its name and id, a Change as its kind and path, text as it is, and other values as
  --- JSON. Nil sends nothing.
  --- > { :events | events add: #{ id: 7 } } asEvents
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

K.methods(Object, {
  --- -<WrittenContent> asEvents
  --- The elements as server-sent events, for a `get` handler to answer. A store and a reference send their changes. An
  --- error for a value without elements.
  --- > [ 'one', 'two' ] asEvents
  --- > ref:file:notes asEvents
  ["asEvents"] = eventsOf,
})
K.methods(K.classes.Block, {
  --- -<WrittenContent> asEvents
  --- What the block adds to the stream that it gets, as server-sent events. The block runs once for each client.
  --- > { :events | 3 timesRepeat: { events add: 'tick' } } asEvents
  ["asEvents"] = eventsOf,
})

-- WebSocket (RFC 6455) -----------------------------------------------------------------------------------

--- A WebSocket (RFC 6455): a `get` handler answers it, or a program opens one with `connect`.
local WebSocket = K.newClass("WebSocket", Object)
rawset(WebSocket._methods, "_isSocket", true)
--- WebSocket -<Block(socket)?> opened
--- WebSocket -<nothing> setOpened:<Block(socket)>value
--- The block that runs when the socket opens, before messages are received. It may converse with `next` and `send:`.
--- > #WebSocket{ opened: { :socket | socket send: 'hello' } }

--- WebSocket -<Block(message, socket)?> received
--- WebSocket -<nothing> setReceived:<Block(message, socket)>value
--- The block that runs for each message, in order: text as a String, a binary message as Data.
--- > #WebSocket{ received: { :message :socket | socket send: message } }

--- WebSocket -<Block(socket)?> closed
--- WebSocket -<nothing> setClosed:<Block(socket)>value
--- The block that runs when the socket is closed, for any cause.
--- > #WebSocket{ closed: { :socket | stdout println: 'bye' } }
for _, name in ipairs { "opened", "received", "closed" } do K.ivar(WebSocket, name) end

local function begin(self)
  if rawget(self, "_native") == nil then self._native = native.socket() end
  return self
end
K.beginSocket = begin

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
  --- As in Object.
  ["init"] = begin,
  ["connectComponents"] = begin,
  --- -<Boolean> send:<any>value
  --- Sends text as text, Data as bytes, and other values as JSON. Waits while the queue is full (64 messages or 256
  --- KiB). False where the socket is closed.
  --- > { :socket | socket send: #{ price: 12 } }
  ["send:"] = function(self, value) return send(self, value, native.socketSend) end,
  --- -<Boolean> offer:<any>value
  --- Sends as `send:` does, without waiting: false where the queue is full or the socket is closed. Suits broadcasts.
  --- > WebSocket new offer: 'price' ⇒ true
  ["offer:"] = function(self, value) return send(self, value, native.socketOffer) end,
  --- -<self> writeObject:<any>value
  --- Sends a value as `send:` does; nil sends nothing. Arrows to a socket write with it.
  --- > ref:file:notes changes → WebSocket new
  ["writeObject:"] = function(self, value)
    if value ~= nil then send(self, value, native.socketSend) end
    return self
  end,
  --- -<Data|String?> next
  --- Waits for the next message; nil after the last one. An error before the socket is open.
  --- > { :socket | socket send: 'who are you?'. socket next }
  ["next"] = function(self) return native.socketNext(self._native) end,
  --- -<self> do:<Block(message)>block
  --- Evaluates the block for each message, until the socket is closed.
  --- > ref:https://shop.example/live connectDo: { :socket | socket do: { :message | stdout println: message } }
  ["do:"] = function(self, block)
    while true do
      local message = native.socketNext(self._native)
      if message == nil then return self end
      block(message)
    end
  end,
  --- -<self> close
  --- Sends the queued messages and closes the socket.
  --- > socket := WebSocket new. socket close. socket isOpen ⇒ false
  ["close"] = function(self)
    native.socketClose(begin(self)._native)
    return self
  end,
  --- -<Boolean> isOpen
  --- Whether the socket accepts messages: also before its handshake.
  --- > WebSocket new isOpen ⇒ true
  ["isOpen"] = function(self) return native.socketIsOpen(begin(self)._native) end,
  --- -<self?> connect:<any>target
  --- Writes each message to a stream: `socket → stdout` sends it. Nil where the target takes no objects.
  --- > socket := WebSocket new. socket → stdout. socket
  ["connect:"] = function(self, target)
    if not target:respondsToSelector_("writeObject:") then return nil end
    self._to = target
    return self
  end,
  --- As in Object.
  ["description"] = function() return "a WebSocket" end,
})
-- A source that is connected ends with the socket.
K.method(WebSocket, "_followed", function(self, source)
  self._sources = self._sources or {}
  table.insert(self._sources, source)
end)

-- The request being answered opens a socket. The socket keeps it only where the authority is asked for again: it is
-- a large part of what an idle WebSocket holds.
function K.openSocketHere(self, authority)
  self._authority = authority
  if authority and authority.mayEnd then native.socketOpensHere(begin(self)._native) end
end

-- For Rust: the conversation, from its opening to its end.
function K.runSocket(self)
  local authority = self._authority
  if authority and authority.mayEnd then
    authority:watch(function() return native.socketIsOpen(self._native) end, function() return false end,
      function() native.socketExpel(self._native) end)
  end
  local ok, failure = try(function()
    if self.i_opened then self.i_opened(self) end
    while true do
      local message = native.socketNext(self._native)
      if message == nil then return end
      if authority and not authority:holds() then return native.socketExpel(self._native) end
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
