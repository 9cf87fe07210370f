-- Server-sent events of other servers (HTML Standard, section 9.2): `ref:https://host/events events do: { … }`.
local K = ...
local type, rawset, tonumber = type, rawset, tonumber
local find, sub, match, byte, gsub = string.find, string.sub, string.match, string.byte, string.gsub
local native, throw, classes = K.native, K.throw, K.classes

-- The longest event, in bytes: a longer one is an error.
local LONGEST_EVENT = 1048576 -- 1 MiB
-- Seconds before a connection is opened again: unless the server says, at least, and at most; after failures
-- the wait doubles.
local RECONNECT = 3
local SHORTEST_RECONNECT = 0.01
local LONGEST_RECONNECT = 60

for _, key in ipairs { "_reference", "_options", "_lastId", "_retry", "_pieces", "_size" } do K.nilKeys[key] = true end

--- The server-sent events of another server: `ref:https://host/path events`. It reconnects after a disconnect.
local EventSource = K.newClass("EventSource", K.classes.Source)
rawset(EventSource, "_plainName", true)

local function isText(kind) return kind == "text/event-stream" end

-- The fields of an event that is being read.
local function newEvent() return { data = {}, n = 0, size = 0 } end

local function field(self, event, name, value)
  if name == "data" then
    event.n = event.n + 1
    event.data[event.n] = value
  elseif name == "event" then
    event.name = value
  elseif name == "id" then
    if not find(value, "%z") then self._lastId = value end
  elseif name == "retry" and find(value, "^%d+$") then
    self._retry = math.max(SHORTEST_RECONNECT, math.min(LONGEST_RECONNECT, tonumber(value) / 1000))
  end
end

-- Passes an event on; one without data is none. Answers whether the source continues.
local function dispatch(self, event)
  if event.n == 0 then return true end
  local made = classes.Event:new()
  made.i_name, made.i_data = event.name, table.concat(event.data, "\n")
  if self._lastId and self._lastId ~= "" then made.i_id = self._lastId end
  return K.emit(self, made)
end

-- Reads lines; answers whether the source continues.
local function readLines(self, reader)
  local event, rest, isFirst = newEvent(), "", true
  while true do
    local piece = native.answerPiece(reader)
    -- An event that the end has cut off is none.
    if piece == nil then return true end
    rest = rest .. piece
    if isFirst and #rest >= 3 then
      if sub(rest, 1, 3) == "\239\187\191" then rest = sub(rest, 4) end -- a byte order mark
      isFirst = false
    end
    local from = 1
    while true do
      local ending = find(rest, "[\r\n]", from)
      -- A carriage return at the end may be half of a pair.
      if not ending or byte(rest, ending) == 13 and ending == #rest then break end
      local line = sub(rest, from, ending - 1)
      from = byte(rest, ending) == 13 and byte(rest, ending + 1) == 10 and ending + 2 or ending + 1
      if line == "" then
        if not dispatch(self, event) then return false end
        event = newEvent()
      elseif byte(line) ~= 58 then -- a colon begins a comment
        event.size = event.size + #line
        local name, value = match(line, "^([^:]*):? ?(.*)$")
        field(self, event, name, value)
      end
    end
    rest = sub(rest, from)
    if event.size + #rest > LONGEST_EVENT then
      throw("tooLarge", "an event of the server has more than " .. LONGEST_EVENT .. " bytes", { _side = "store" })
    end
  end
end

-- Reads the events of an answer, and closes it; answers whether the source continues.
local function readEvents(self, answer)
  local reader = native.answerReader(native.answerBody(answer._answer))
  return classes.Block._methods.ensure_(function() return readLines(self, reader) end,
    function() native.answerClose(reader) end)
end
-- What the source asks with, from its second connection on with the id of the last event.
local function request(self)
  local headers = K.newDictionary()
  headers:at_put_("accept", "text/event-stream")
  headers:at_put_("cache-control", "no-store")
  if self._lastId and self._lastId ~= "" then headers:at_put_("last-event-id", self._lastId) end
  local options = K.newDictionary()
  options:at_put_("headers", headers)
  return options
end

-- Errors after which a new connection may help.
local function isPassing(failure) return failure._temporary == true end

local function produce(self)
  local failures, hasConnected = 0, false
  while not self._stopped do
    local ok, result = K.try(function()
      local answer = self._reference:fetch_(request(self))
      local status = answer:status()
      if status == 204 then return "over" end -- the server has no more
      if status ~= 200 or not isText(answer:mediaType()) then
        throw(status ~= 200 and "unavailable" or "unsupported", string.format("%s gives no events: status %s, %s",
          self._reference:stringValue(), K.str(status), answer:mediaType() or "no media type"), { _side = "store", _temporary = false })
      end
      failures, hasConnected = 0, true
      return readEvents(self, answer) and "again" or "over"
    end)
    if ok and result == "over" or self._stopped then return end
    if not ok then
      if not hasConnected or not isPassing(result) then error(result, 0) end
      failures = failures + 1
    end
    local wait = (self._retry or RECONNECT) * 2 ^ math.max(0, failures - 1)
    native.sleep(math.min(LONGEST_RECONNECT, wait))
  end
end

K.methods(EventSource, {
  --- -<nothing> produce
  --- Forwards each event until the server answers 204 or the reader stops. After a disconnect it connects again, after
  --- 3 s or the `retry` of the server, with `Last-Event-ID`. The first connection must succeed. Programs send `do:`
  --- instead.
  --- > ref:https://shop.example/events events do: { :event | stdout println: event data }
  ["produce"] = produce,
  --- -<String?> lastEventId
  --- The id of the last event that had one; nil before.
  --- > (ref:https://shop.example/events eventsAfter: '41') lastEventId ⇒ '41'
  ["lastEventId"] = function(self) return self._lastId or nil end,
  --- As in Object.
  ["description"] = function(self) return "the events of " .. self._reference:stringValue() end,
})

K.methods(K.classes.Reference, {
  --- -<EventSource> events
  --- The server-sent events at an HTTP reference. The connection opens with `do:` or an arrow.
  --- > ref:https://shop.example/events events do: { :event | stdout println: event name }
  ["events"] = function(self)
    local source = EventSource:new()
    source._reference = self
    return source
  end,
  --- -<EventSource> eventsAfter:<String>id
  --- The same as `events`, from the event after the one with this id, which the request names as `Last-Event-ID`.
  --- > (ref:https://shop.example/events eventsAfter: '41') do: { :event | stdout println: event data }
  ["eventsAfter:"] = function(self, id)
    local source = self:events()
    source._lastId = gsub(K.expectText(id, "eventsAfter:"), "[\r\n%z]", "")
    return source
  end,
})
