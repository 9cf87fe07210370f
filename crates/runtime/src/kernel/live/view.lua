-- Views: a page that a browser shows, and what it follows.
--
-- A view holds the scopes of its page. A scope holds slots by number; a slot knows what it shows and what
-- it follows. Changes mark slots; one fiber for all views of the isolate writes marked slots again and
-- sends what differs, one frame for each view. A client that reads slowly gets the latest values once it
-- has read (live/session.lua).
local K = ...
local type, rawget, setmetatable, pairs, ipairs = type, rawget, setmetatable, pairs, ipairs
local try = K.try

-- Topics: references that slots show --------------------------------------------------------------------

-- A topic is a reference with the slots that follow it: it is observed once for all of them.
local topics = {}
local Topic = {}
Topic.__index = Topic

local schedule

local function keyOf(reference)
  -- A variable of a block, or a property of an object, is the same only as the same object.
  if rawget(reference, "_get") then return reference, reference end
  return rawget(reference, "_store") or "named", reference:stringValue()
end

-- The topic of a reference, which is observed from now on.
local function topicOf(reference)
  local store, key = keyOf(reference)
  local known = topics[store]
  if not known then
    known = { count = 0 }
    topics[store] = known
  end
  local topic = known[key]
  if topic then return topic end
  topic = setmetatable({
    slots = {}, count = 0, reference = reference, text = false, changes = 0, store = store, key = key,
  }, Topic)
  topic.stop = K.observe(reference, function()
    topic.text, topic.changes = false, topic.changes + 1
    for one in pairs(topic.slots) do schedule(one) end
  end)
  known[key], known.count = topic, known.count + 1
  return topic
end

function Topic:join(slot)
  self.slots[slot], self.count = true, self.count + 1
end

function Topic:leave(slot)
  self.slots[slot], self.count = nil, self.count - 1
  if self.count > 0 then return end
  self.stop()
  local known = topics[self.store]
  known[self.key], known.count = nil, known.count - 1
  if known.count == 0 then topics[self.store] = nil end
end

-- Slots and scopes -----------------------------------------------------------------------------------------

local Scope, Slot, View = {}, {}, {}
Scope.__index, Slot.__index, View.__index = Scope, Slot, View

function Scope:add(n, slot)
  slot.number, slot.scope, slot.view = n, self, self.view
  self[n] = setmetatable(slot, Slot)
  slot:follow {}
  return slot
end

local function newScope(view, parent, item)
  return setmetatable({ view = view, parent = parent, item = item }, Scope)
end

local function close(scope)
  for _, slot in ipairs(scope) do slot:close() end
end

-- The address of a slot: the numbers on the way to it.
function Slot:address()
  local known = self.at
  if known then return known end
  local parts, slot = { self.number }, self
  while slot.scope.parent do
    if slot.scope.item then table.insert(parts, 1, slot.scope.item.id) end
    slot = slot.scope.parent
    table.insert(parts, 1, slot.number)
  end
  known = table.concat(parts, ".")
  self.at = known
  return known
end

function Slot:newScope() return newScope(self.view, self) end

-- The scope of what is in the slot, empty.
function Slot:renew()
  if self.inner then close(self.inner) end
  if self.kind == "list" then return self:newScope() end
  self.inner = newScope(self.view, self)
  return self.inner
end

function Slot:drop(scope) close(scope) end

-- Most slots follow the one reference that they show.
function Slot:followOne(topic)
  if self.topic == topic then return end
  topic:join(self)
  self:unfollow()
  self.topic = topic
end

function Slot:unfollow()
  local topic, following = self.topic, self.following
  self.topic, self.following = nil, nil
  if topic then topic:leave(self) end
  for one in pairs(following or {}) do one:leave(self) end
end

-- Follows these references, and the reference that the slot shows, instead of those before.
function Slot:follow(references)
  -- A view without a connection lives for one form only: it follows nothing.
  if not self.view.session then return end
  if self.reference and #references == 0 and not self.names then return self:followOne(topicOf(self.reference)) end
  local old, new = self.following or {}, {}
  if self.topic then old[self.topic], self.topic = true, nil end
  local function add(reference)
    local topic = topicOf(reference)
    if new[topic] then return end
    new[topic] = true
    if not old[topic] then topic:join(self) end
  end
  for i = 1, #references do
    if K.observable(references[i]) then
      -- What cannot tell of changes is read again after events only.
      local ok, raised = try(add, references[i])
      if not ok and not K.catchable(raised) then error(raised, 0) end
    end
  end
  for name in string.gmatch(self.names or "", "%S+") do add(K.reference("var", name)) end
  if self.reference then add(self.reference) end
  self.following = new
  for topic in pairs(old) do
    if not new[topic] then topic:leave(self) end
  end
end

function Slot:close()
  self.gone = true
  self:unfollow()
  if self.inner then close(self.inner) end
  for _, item in ipairs(self.items or {}) do close(item.scope) end
end

-- Runs what writes the slot, and follows the references that it reads.
function Slot:tracked(write)
  if not self.view.session then return write() end
  local value, more
  local _, references = K.tracked(function() value, more = write() end)
  self:follow(references)
  return value, more
end

-- What a slot shows ----------------------------------------------------------------------------------------

local function written(slot, fill)
  return (K.livePart(K.newLivePart(slot:renew()), fill))
end

local function attributeJSON(slot)
  local text = slot:tracked(function() return K.attributeText(slot.entry, K.slotValue(slot.value)) end)
  if text == nil then return "null" end
  return K.json(text)
end

-- The JSON of what a slot shows now.
local function shown(slot)
  local kind = slot.kind
  if kind == "reference" then
    return K.json(written(slot, function(buffer) K.child(buffer, slot.reference:value()) end))
  elseif kind == "block" then
    return K.json(slot:tracked(function() return written(slot, slot.write) end))
  end
  if slot.entry then return attributeJSON(slot) end
  local value = slot:tracked(function() return K.slotValue(slot.value) end)
  return K.json(value == nil and "" or K.str(value))
end

-- The same for many views: a plain value is rendered once for its topic.
local function shared(slot)
  local topic = slot.topic
  if not topic then return shown(slot) end
  if topic.text then return topic.text end
  local changes = topic.changes
  local value = slot.reference:value()
  local kind = type(value)
  if kind == "table" and value ~= K.NULL then return shown(slot) end
  local text = K.json(value == nil and "" or K.escapeHTML(kind == "boolean" and "" or K.str(value)))
  -- A change while it was read makes it old.
  if topic.changes == changes then topic.text = text end
  return text
end

-- What to send for a slot after a change; nil if it shows the same as before.
local function update(slot)
  if slot.kind == "event" then return nil end
  if slot.kind == "list" then return K.refreshList(slot) end
  local json
  if slot.kind == "reference" then json = shared(slot) else json = shown(slot) end
  if json == slot.sent then return nil end
  slot.sent = json
  return json
end

-- The whole of a slot, for a client that may show something else.
function K.wholeSlot(slot)
  if slot.kind == "event" then return nil end
  if slot.kind == "list" then return K.wholeList(slot) end
  slot.sent = slot.kind == "reference" and shared(slot) or shown(slot)
  return slot.sent
end

-- Sending ------------------------------------------------------------------------------------------------------

local marked, running = {}, false

-- Marks a slot whose value may have changed, and schedules a flush of its view.
function schedule(slot)
  if slot.gone then return end
  local view = slot.view
  local dirty = view.dirty
  if not dirty then
    dirty = {}
    view.dirty = dirty
  end
  if dirty[slot] then return end
  dirty[slot] = true
  dirty[#dirty + 1] = slot
  K.wakeView(view)
end

local function flushAll()
  while #marked > 0 do
    local views = marked
    marked = {}
    for i = 1, #views do
      local view = views[i]
      view.isMarked = false
      K.alone(function() view:flush() end)
    end
  end
  running = false
end

function K.wakeView(view)
  if view.isMarked or view.slow then return end
  view.isMarked = true
  if view.wake then return view.wake() end
  marked[#marked + 1] = view
  if running then return end
  running = true
  -- It belongs to no request.
  K.native.fork(flushAll, nil, false, true)
end

function View:flush()
  if self.closed then return end
  local dirty, parts = self.dirty, {}
  self.dirty = nil
  for i = 1, #(dirty or {}) do
    local slot = dirty[i]
    if not slot.gone then
      local ok, json = try(update, slot)
      if not ok then
        if not K.catchable(json) then error(json, 0) end
        K.reportError("a live slot failed: ", json)
      elseif json then
        parts[#parts + 1] = '"' .. slot:address() .. '",' .. json
      end
    end
  end
  local control = self.control
  if control then
    parts[#parts + 1] = '"",' .. K.json(control)
    self.control = nil
  end
  if #parts > 0 then self:send(table.concat(parts, ",")) end
end

-- Tells the client something beside the slots: see the wire protocol.
function View:tell(key, value)
  local control = self.control or K.dictionary({}, {}, 0)
  control:at_put_(key, value)
  self.control = control
end

-- Blocks may read anything: after an event of their own view they are written again.
local function markBlocks(scope)
  for _, slot in ipairs(scope) do
    if slot.kind == "block" or (slot.kind == "attribute" and type(slot.value) == "function") then schedule(slot) end
    if slot.inner and slot.kind ~= "block" then markBlocks(slot.inner) end
    for _, item in ipairs(slot.items or {}) do markBlocks(item.scope) end
  end
end
function View:markBlocks() markBlocks(self.root) end
function View:mark(slot) schedule(slot) end

-- The slot at an address; nil if there is none.
function View:find(address)
  local scope, slot = self.root, nil
  for part in string.gmatch(address, "%d+") do
    local n = tonumber(part)
    if slot and slot.kind == "list" then
      scope = nil
      for _, item in ipairs(slot.items) do
        if item.id == n then scope = item.scope end
      end
      slot = nil
    else
      if slot then scope = slot.inner end
      slot = scope and scope[n]
      if not slot then return nil end
    end
    if not slot and not scope then return nil end
  end
  return slot
end

function View:close()
  if self.closed then return end
  self.closed = true
  close(self.root)
end

-- A page written into a view. Answers its text, and the fingerprint of what is not in slots.
function View:write(element)
  local buffer = K.openMarkup()
  buffer.live = true
  buffer.page = true
  local page = K.livePage(buffer)
  page.scope = self.root
  K.appendMarkup(buffer, element)
  local print = K.fingerprint(buffer)
  buffer.live = false
  self.text = K.finished(buffer)
  return self.text, print
end

K.viewMethods = View

-- `session`: whether it follows what it shows.
function K.newView(session)
  local view = setmetatable({ session = session, seq = 0, heard = 0 }, View)
  view.root = newScope(view)
  return view
end
