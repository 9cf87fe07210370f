-- The session of a view: frames to a client over a WebSocket, events from it.
--
-- A page's own address, opened as a WebSocket with the protocol `live.runnel`, runs its `get` again.
-- The element that it answers becomes a view, unless the client comes back to one that still waits.
local K = ...
local type = type
local native, try = K.native, K.try

-- Frames that a view keeps for a client that comes back, and seconds that it waits for one.
local RING, PATIENCE = 64, 30
-- Views that wait for their clients, of one isolate.
local MOST_WAITING = 1000

local waiting, waitingCount = {}, 0

local function tellFailure(view, raised)
  view:tell("error", "Something went wrong. Please try again.")
  K.reportError("an event of a page failed: ", raised)
end

local function numberOf(text)
  if type(text) == "number" then return text end
  local number = type(text) == "string" and tonumber((string.gsub(text, ",", ".")))
  return number or nil
end

-- Assigns what a user entered in a field.
function K.enterField(slot, value)
  local reference = slot.value
  if slot.field == "boolean" then value = value == true or value == "on" or value == "true"
  elseif type(value) ~= "string" then return
  elseif slot.field == "number" then
    local number = numberOf(value)
    if number == nil and value ~= "" then return end
    value = number
  end
  -- The field shows it already.
  slot.sent = K.json(slot.field == "boolean" and value or (value == nil and "" or K.str(value)))
  reference:setValue_(value)
end

local function run(view, address, name, value)
  local slot = view:find(address)
  if not slot then return end
  if slot.kind == "event" then
    if slot.name == name then slot.block(value) end
  elseif slot.field and (name == "input" or name == "change") then
    K.enterField(slot, value)
  end
end

-- One event, with its number in the view: what came before is not done again.
local function receive(view, n, address, name, value)
  if type(n) ~= "number" or type(address) ~= "string" or type(name) ~= "string" then return end
  if n <= view.heard then return end
  view.heard = n
  view.holds = true
  local ok, raised = try(function() run(view, address, name, value) end)
  view.holds = false
  if not ok then
    if not K.catchable(raised) then error(raised, 0) end
    tellFailure(view, raised)
  end
  view:markBlocks()
  view:tell("ack", n)
  K.wakeView(view)
end

local View = K.viewMethods

-- Sends a frame. A client that reads slowly is waited for: until then its slots are only marked.
function View:send(parts)
  self.seq = self.seq + 1
  local frame = "[" .. self.seq .. "," .. parts .. "]"
  self.ring[self.seq % RING] = frame
  local socket = self.socket
  if not socket or native.socketOffer(socket, frame, false) then return end
  self.slow = true
  native.fork(function()
    try(function() return native.socketSend(socket, frame, false) end)
    if self.socket == socket then self.slow = false end
    if #self.dirty > 0 or self.control then K.wakeView(self) end
  end, nil, false, true)
end

-- The whole of a view for a client that shows another state of it.
local function sendAll(view, text, isSame)
  view:tell("view", view.token)
  if not isSame then
    local body = string.match(text, "<body[^>]*>(.*)</body>") or text
    view:tell("page", body)
    view:flush()
    return
  end
  local parts = {}
  for _, slot in ipairs(view.root) do
    local json = K.wholeSlot(slot)
    if json then parts[#parts + 1] = '"' .. slot:address() .. '",' .. json end
  end
  parts[#parts + 1] = '"",' .. K.json(view.control)
  view.control = nil
  view:send(table.concat(parts, ","))
end

local function open(socket, element, print)
  local view = K.newView(true)
  view.token, view.ring, view.socket = K.randomToken(16), {}, socket
  local text, own = view:write(element)
  sendAll(view, text, own == print)
  return view
end

-- The view that a client comes back to, with the frames that it missed sent again.
local function resume(socket, token, seq)
  local view = waiting[token]
  if not view or type(seq) ~= "number" or seq > view.seq or view.seq - seq >= RING then return nil end
  waiting[token], waitingCount = nil, waitingCount - 1
  view.socket, view.slow = socket, false
  for n = seq + 1, view.seq do native.socketSend(socket, view.ring[n % RING], false) end
  view:tell("ack", view.heard)
  K.wakeView(view)
  return view
end

-- Keeps a view for a client that lost its connection.
local function keep(view)
  view.socket, view.slow = nil, true
  if waitingCount >= MOST_WAITING then return view:close() end
  waiting[view.token], waitingCount = view, waitingCount + 1
  native.fork(function()
    try(native.sleep, PATIENCE)
    if waiting[view.token] ~= view or view.socket then return end
    waiting[view.token], waitingCount = nil, waitingCount - 1
    view:close()
  end, nil, false, true)
end

local function converse(socket, element)
  local hello = native.socketNext(socket)
  if hello == nil then return end
  hello = K.parseJSON(hello)
  if type(hello) ~= "table" or not hello._isArray or hello[1] ~= "hello" then return end
  local view = type(hello[2]) == "string" and resume(socket, hello[2], hello[3]) or open(socket, element, hello[4])
  local ok, failure = try(function()
    while true do
      local message = native.socketNext(socket)
      if message == nil then return end
      message = K.parseJSON(message)
      if type(message) == "table" and message._isArray then
        receive(view, message[1], message[2], message[3], message[4])
      end
    end
  end)
  if view.socket == socket then keep(view) end
  if not ok then error(failure, 0) end
end

-- The answer to a handshake: a socket that carries the view.
local Session = K.newClass("LiveSession", K.classes.WebSocket)
K.methods(Session, {
  ["description"] = function() return "the session of a live page" end,
})
K.nilKeys._element = true

function K.openLive(element)
  local session = Session:new()
  session._element = element
  session.i_opened = function() converse(session._native, session._element) end
  return session
end
