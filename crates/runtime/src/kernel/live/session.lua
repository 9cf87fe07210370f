-- The session of a view: frames to a client, events from it.
--
-- A page's own address, opened as a WebSocket with the protocol `live.runnel`, runs its `get` again.
-- The element that it answers becomes a view, unless the client comes back to a view that still waits.
-- Where no WebSocket comes through, frames are server-sent events, and events are posted.
--
-- A transport has `offer`, which does not wait and answers whether the frame was taken, and `send`, which waits for room.
local K = ...
local type, setmetatable = type, setmetatable
local native, try, live = K.native, K.try, K.live

-- Frames that a view keeps for a client that comes back, and seconds that it waits for one.
local RING, PATIENCE = 64, 30
-- Views that wait for their clients, of one isolate.
local MOST_WAITING = 1000

-- The longest time that the block of an event may run.
local LONGEST = K.duration(30)

local waiting, waitingCount = {}, 0

-- Views with a client, by token: for what comes as a request of its own.
local open = setmetatable({}, { __mode = "v" })
function K.openView(token) return open[token] end
local within = K.classes.Block._methods.timeout_

local function tellFailure(view, raised)
  view:tell("error", "Something went wrong. Please try again.")
  K.reportError("an event of a page failed: ", raised)
end

-- Assigns what a user entered in a field.
function K.enterField(slot, value)
  local reference = slot.value
  if slot.field == "boolean" then value = value == true or value == "on" or value == "true"
  elseif type(value) ~= "string" then return
  elseif slot.field == "number" then
    local number = K.numberEntered(value)
    if number == nil and value ~= "" then return end
    value = number
  end
  -- The field shows it already.
  slot.sent = K.json(slot.field == "boolean" and value or (value == nil and "" or K.str(value)))
  reference:setValue_(value)
end

-- Handles an event that a browser would have sent (live/rules.lua).
local function run(view, address, name, value)
  local slot = view:find(address)
  if not slot then return end
  local isEvent = slot.kind == "event"
  if isEvent and slot.name ~= name or not isEvent and not (slot.field and (name == "input" or name == "change")) then return end
  local problem, counts, isTyped = live.admit(view, slot, name, value)
  if problem then
    if isEvent and name == "submit" then view:tell("error", problem) end
    -- What was typed stays, and the browser says what is wrong with it. A choice is shown as it is.
    if slot.field and not isTyped then
      slot.sent = nil
      view:mark(slot)
    end
  elseif isEvent then
    within(function() slot.block(counts) end, LONGEST)
  else
    K.enterField(slot, counts)
  end
end

local View = K.viewMethods

-- Ends a view whose authority has ended: its client loads the page again, which asks from the start.
function View:expel()
  local transport, token = self.transport, self.token
  open[token] = nil
  if waiting[token] then waiting[token], waitingCount = nil, waitingCount - 1 end
  self.transport = nil
  self:close()
  if not transport then return end
  transport:offer("[" .. self.seq + 1 .. ',"",{"reload":true}]')
  transport:expel()
end

-- Flushes a view in a fiber with the request of its connection, so that its blocks see who asks there and not whose
-- event has changed something.
local function watch(view)
  local transport, authority = view.transport, view.authority
  if not authority then return end
  view.wake = authority:watch(function() return view.transport == transport and not view.closed end, function()
    if not view.isMarked then return false end
    view.isMarked = false
    K.alone(function() view:flush() end)
    return true
  end, function() view:expel() end)
end

-- Whether a request of its own may use a view.
local function isOf(view) return not view.authority or view.authority:isProven() end
local function expectOf(view)
  if not isOf(view) then
    K.throw("unauthorized", "this view is not of this session", { i_hint = "load the page again", _side = "request" })
  end
end

-- The block of an event, for what comes as a request of its own: whether the view has it.
function K.eventIn(view, address, fields)
  expectOf(view)
  local slot = view:find(address)
  -- Forms, and files: all others are messages.
  if not slot or slot.kind ~= "event" or slot.name ~= "submit" and slot.name ~= "upload" then return false end
  local counts = K.expectAdmitted(view, slot, slot.name, fields)
  within(function() slot.block(counts) end, LONGEST)
  view:markBlocks()
  return true
end

-- Handles one event in a fiber of its own: what has begun is done, although the connection breaks meanwhile. Numbers
-- up to the last handled one are duplicates of a resumed connection, which may have forked before this one began.
local function handle(view, n, address, name, value)
  if n <= view.heard then return end
  view.heard, view.busy = n, true
  local ok, raised = try(function() run(view, address, name, value) end)
  view.busy = nil
  if not ok then
    if not K.catchable(raised) then error(raised, 0) end
    tellFailure(view, raised)
  end
  view:markBlocks()
  view:tell("ack", n)
  K.wakeView(view)
end

local function receive(view, n, address, name, value)
  -- The event before it may still run for a connection that the client gave up.
  while view.busy do native.sleep(0.01) end
  native.join(native.fork(function() handle(view, n, address, name, value) end, nil, false, true))
end

-- Sends a frame. A client that reads slowly is waited for: until then its slots are only marked.
function View:send(parts, isWhole)
  local seq = self.seq + 1
  self.seq = seq
  -- The text of many views is one: only their numbers differ.
  if not isWhole then
    local ring = self.ring
    if not ring then
      ring = {}
      self.ring = ring
    end
    ring[seq % RING] = parts
  end
  local transport, frame = self.transport, "[" .. seq .. "," .. parts .. "]"
  if not transport or transport:offer(frame) then return end
  self.slow = true
  native.fork(function()
    try(transport.send, transport, frame)
    if self.transport == transport then self.slow = false end
    if self.dirty or self.control then K.wakeView(self) end
  end, nil, false, true)
end

-- The whole of a view for a client that shows another state of it.
local function sendAll(view, text, print, isSame)
  view:tell("view", view.token)
  if not isSame then
    view:tell("page", string.match(text, "<body[^>]*>(.*)</body>") or text)
    view:tell("f", print)
    -- The head has slots, too: of texts, such as the title.
    for _, slot in ipairs(view.root) do
      if slot.kind == "attribute" and not slot.entry then view:mark(slot) end
    end
    return view:flush()
  end
  local parts = {}
  for _, slot in ipairs(view.root) do
    local json = K.wholeSlot(slot)
    if json then parts[#parts + 1] = '"' .. slot:address() .. '",' .. json end
  end
  parts[#parts + 1] = '"",' .. K.json(view.control)
  view.control = nil
  view:send(table.concat(parts, ","), true)
end

local function begin(transport, element, print, authority)
  local view = K.newView(true)
  view.authority = authority
  view.token, view.transport = K.randomToken(16), transport
  open[view.token] = view
  local text, own = view:write(element)
  sendAll(view, text, own, own == print)
  view.first = view.seq
  watch(view)
  return view
end

-- Keeps a view for a client that lost its connection.
local function keep(view)
  view.transport, view.slow = nil, true
  if waitingCount >= MOST_WAITING then return view:close() end
  waiting[view.token], waitingCount = view, waitingCount + 1
  native.fork(function()
    try(native.sleep, PATIENCE)
    if waiting[view.token] ~= view or view.transport then return end
    waiting[view.token], waitingCount = nil, waitingCount - 1
    view:close()
  end, nil, false, true)
end

-- The view that a client comes back to, with the frames that it missed sent again. Its old connection may
-- still look open here: the client knows before the server that a network is gone.
local function resume(transport, token, seq, authority)
  local view = open[token]
  if not view or view.closed or type(seq) ~= "number" or seq < view.first or seq > view.seq or view.seq - seq >= RING
    or not isOf(view) then
    return nil
  end
  if waiting[token] then waiting[token], waitingCount = nil, waitingCount - 1 end
  local old = view.transport
  -- What changes while the missed frames are sent is marked, so that no frame overtakes them.
  view.transport, view.slow = transport, true
  -- Guards are asked of this request from now on.
  view.authority = authority
  if old then old:close() end
  local ok, raised = try(function()
    for n = seq + 1, view.seq do transport:send("[" .. n .. "," .. view.ring[n % RING] .. "]") end
  end)
  if not ok then
    if view.transport == transport then keep(view) end
    error(raised, 0)
  end
  if view.transport == transport then view.slow = false end
  view:tell("ack", view.heard)
  watch(view)
  K.wakeView(view)
  return view
end

-- The view for the first message of a client: `["hello", token, seq, fingerprint]`; nil if it is none.
local function greet(transport, text, element, authority)
  local hello = native.liveMessage(text)
  if hello == nil or hello[1] ~= "hello" then return nil end
  return type(hello[2]) == "string" and resume(transport, hello[2], hello[3], authority)
    or begin(transport, element, hello[4], authority)
end

-- What is no event within the limits is left out.
local function hear(view, text)
  local message = native.liveMessage(text)
  if message == nil or message[1] == "hello" then return end
  local value = message[4]
  if rawequal(value, K.NULL) then value = nil end
  receive(view, message[1], message[2], message[3], value)
end

-- WebSockets --------------------------------------------------------------------------------------------

local Socket = {}
Socket.__index = Socket
function Socket:offer(frame) return native.socketOffer(self.socket, frame, false) end
function Socket:send(frame) return native.socketSend(self.socket, frame, false) end
function Socket:close() native.socketClose(self.socket) end
function Socket:expel() native.socketExpel(self.socket) end

local function converse(socket, element, authority)
  local transport = setmetatable({ socket = socket }, Socket)
  local first = native.socketNext(socket)
  local view = type(first) == "string" and greet(transport, first, element, authority)
  if not view then return end
  element, first = nil, nil
  local ok, failure = try(function()
    while true do
      local message = native.socketNext(socket)
      -- The client may have come back meanwhile: it sends again what has no acknowledgement.
      if message == nil or view.transport ~= transport then return end
      if view.authority and not view.authority:holds() then return view:expel() end
      if type(message) == "string" then hear(view, message) end
    end
  end)
  if view.transport == transport then keep(view) end
  if not ok then error(failure, 0) end
end

--- The connection of a live page to its server.
local Session = K.newClass("LiveSession", K.classes.WebSocket)
K.methods(Session, {
  --- As in Object.
  ["description"] = function() return "the session of a live page" end,
})

local function socketSession(element, authority)
  local session = Session:new()
  session.i_opened = function(self)
    local page = element
    element, self.i_opened = nil, nil
    converse(self._native, page, authority)
  end
  native.socketOpensHere(K.beginSocket(session)._native)
  return session
end

-- Server-sent events --------------------------------------------------------------------------------------

-- Frames that wait in a stream, and seconds after which an empty line keeps it open.
local MOST_FRAMES, QUIET = 64, 20

local function newStream()
  local queue, sleeper, closed = {}, nil, false
  local stream = {}
  function stream:offer(frame)
    if #queue >= MOST_FRAMES then return false end
    queue[#queue + 1] = frame
    if sleeper then native.cancel(sleeper) end
    return true
  end
  function stream:send(frame)
    while not closed and not self:offer(frame) do native.sleep(0.05) end
  end
  -- Writes frames until the client is gone.
  function stream.run(put)
    while true do
      while #queue > 0 do
        local frames = queue
        queue = {}
        for i = 1, #frames do put("data: " .. frames[i] .. "\n\n") end
      end
      if closed then return end
      sleeper = native.fork(function() native.sleep(QUIET) end, nil, true)
      local ok = try(native.join, sleeper)
      sleeper = nil
      if ok then put(":\n\n") end
    end
  end
  function stream:close()
    closed = true
    if sleeper then native.cancel(sleeper) end
  end
  stream.expel = stream.close
  return stream
end

local function eventSession(element, hello, authority)
  return K.writtenContent(function(put)
    local stream = newStream()
    local view = greet(stream, hello, element, authority)
    if not view then return end
    local ok, failure = try(stream.run, put)
    stream:close()
    if view.transport == stream then keep(view) end
    if not ok then error(failure, 0) end
  end, "text/event-stream")
end

-- An event that a client posts: `runnel-view` names its view. Answers whether it was one.
function K.postedEvent(message)
  local token = native.exchange("header", "runnel-view")
  if token == nil then return false end
  local view = open[token]
  if not view then
    K.throw("gone", "this view is not open here", { i_hint = "load the page again" })
  end
  expectOf(view)
  hear(view, message)
  return true
end

-- The answer to a client that asks for the session of a page: over a WebSocket, or over events that
-- begin with the client's first message.
function K.openLive(element, hello, authority)
  if type(hello) == "string" then return eventSession(element, hello, authority) end
  return socketSession(element, authority)
end
