-- Native windows: trees of widgets as JSON for the process that shows them, changes as frames, and what the user
-- does as events (docs/design/windows.md).
local K = ...
local type, rawget, ipairs, pairs, error, setmetatable = type, rawget, ipairs, pairs, error, setmetatable
local native, classes = K.native, K.classes

-- A record in JSON, with its keys in order; what is nil is left out.
local function record(...)
  local keys, map, n, given = {}, {}, 0, { ... }
  for i = 1, select("#", ...), 2 do
    if given[i + 1] ~= nil then
      n = n + 1
      keys[n], map[given[i]] = given[i], given[i + 1]
    end
  end
  return K.dictionary(keys, map, n)
end
local function list(values) return K.array(values, #values) end

-- The properties that the host gets for each kind of widget. Children and rows have messages of their own.
local shown = {
  Window = { "title" }, Label = { "value" }, Button = { "title" }, MenuItem = { "title" }, Menu = { "title" }, Separator = {},
  TextField = { "value", "placeholder", "editable" }, TextView = { "value", "placeholder", "editable" },
  NumberField = { "value", "placeholder", "editable", "min", "max" },
  Checkbox = { "title", "value" }, Slider = { "value", "min", "max", "step" }, Progress = { "value", "max" },
  PopUp = { "items", "value" }, Table = { "value", "editable" }, Image = { "data" }, Canvas = { "svg" },
  VStack = { "spacing" }, HStack = { "spacing" }, Grid = { "spacing" }, Scroll = {},
}
-- The property that holds what is inside.
local inner = { Window = "children", VStack = "children", HStack = "children", Grid = "rows", Scroll = "view", Menu = "items" }

local function bytesOf(data)
  if data == nil then return "" end
  local bytes = type(data) == "table" and data._isData and K.bytesOf(data, "data") or K.str(data)
  return classes.String._methods.base64(bytes)
end

-- The value of a property as the host gets it.
local function wired(widget, name)
  local value = widget[K.mangle(name)](widget)
  local kind = widget._view
  if name == "items" then
    local texts = {}
    for i = 1, #value do texts[i] = K.str(value:at_(i - 1)) end
    return list(texts)
  end
  if kind == "Label" then return K.str(value) end
  if name == "data" then return bytesOf(value) end
  if name == "svg" then return K.str(value) end
  return value
end

-- Building ----------------------------------------------------------------------------------------

local build

local function nodesOf(self, widgets)
  local nodes = {}
  for _, one in ipairs(widgets) do
    if not one:hidden() then nodes[#nodes + 1] = build(self, one) end
  end
  return list(nodes)
end

-- The nodes inside a widget. Those that stay keep their ids, so that the host keeps them as they are.
local function contents(self, widget, held)
  held.inside = {}
  local function nodes(widgets)
    for _, one in ipairs(widgets) do held.inside[#held.inside + 1] = one end
    return nodesOf(self, widgets)
  end
  if widget._view ~= "Grid" then return nodes(widget:_inside()) end
  local rows = {}
  for i, row in ipairs(widget:_rowsInside()) do rows[i] = nodes(row) end
  return list(rows)
end

-- No property of the widget, nor of those inside, is followed any more.
local function forget(self, widget)
  local held = self.held[widget]
  if not held then return end
  self.held[widget] = nil
  for _, stop in ipairs(held.stops) do stop() end
  for _, one in ipairs(held.inside) do forget(self, one) end
end

-- The value is sent when the events of now are over, if it is another one than the host has.
local function mark(self, widget, name, read, isAlways)
  local slot = self.ids[widget] .. "." .. name
  if not self.dirty[slot] then self.order[#self.order + 1] = slot end
  self.dirty[slot] = { widget = widget, name = name, read = read, isAlways = isAlways }
  self:schedule()
end

local function markContents(self, widget)
  local held = self.held[widget]
  if not held then return end
  mark(self, widget, widget._view == "Grid" and "rows" or "children", function()
    for _, one in ipairs(held.inside) do forget(self, one) end
    return contents(self, widget, held)
  end, true)
end

-- Among others that are stacked, a frame is a size only.
local function frameOf(widget)
  local frame = widget:frame()
  if frame == nil then return {} end
  local parent = rawget(widget, "_parent")
  local isPlaced = parent and parent:isPlaced()
  return { x = isPlaced and frame:x() or nil, y = isPlaced and frame:y() or nil, width = frame:width(), height = frame:height() }
end

local menuNodes

-- A menu is sent anew as a whole.
local function followMenu(self, held, widget)
  for name in pairs(widget._properties) do
    held.stops[#held.stops + 1] = K.watchProperty(widget, name, function()
      local window = K.rootWidget(widget)
      if not self.held[window] then return end
      mark(self, window, "menu", function() return menuNodes(self, window) end, true)
    end)
  end
end

local function followAll(self, held, widget)
  local function watch(name, update) held.stops[#held.stops + 1] = K.watchProperty(widget, name, update) end
  local function follow(name, slot, read, isAlways)
    watch(name, function() mark(self, widget, slot, read, isAlways) end)
  end
  for _, name in ipairs(shown[widget._view] or {}) do
    follow(name, name, function() return wired(widget, name) end)
  end
  if widget._properties.selection then follow("selection", "value", function() return widget:value() end) end
  follow("enabled", "enabled", function() return widget:enabled() end)
  follow("label", "label", function() return K.accessibleName(widget) end)
  watch("hidden", function()
    local parent = rawget(widget, "_parent")
    if parent then markContents(self, parent) end
  end)
  watch("frame", function()
    for _, name in ipairs { "x", "y", "width", "height" } do
      mark(self, widget, name, function() return frameOf(widget)[name] end)
    end
  end)
  local property = inner[widget._view]
  if property then watch(property, function() markContents(self, widget) end) end
  if widget._view == "Table" then
    follow("items", "rows", function() return record("count", #widget:items()) end, true)
  end
end

local function columnTitles(widget)
  local titles = {}
  for i, one in ipairs(widget:_columns()) do titles[i] = record("title", one.title) end
  return list(titles)
end

function menuNodes(self, window)
  local held, nodes = self.held[window], {}
  for i, menu in ipairs(window:_menus()) do
    held.inside[#held.inside + 1] = menu
    nodes[i] = build(self, menu)
  end
  return list(nodes)
end

-- Pixels of a slider or a progress bar that has no frame, at least.
local SHORTEST = 160

-- What only some kinds have.
local function addParts(self, held, widget, node)
  local kind = widget._view
  if inner[kind] then
    node:at_put_(kind == "Grid" and "rows" or "children", contents(self, widget, held))
  end
  if kind == "Table" then
    node:at_put_("columns", columnTitles(widget))
    node:at_put_("rows", record("count", #widget:items()))
  elseif kind == "MenuItem" then
    node:at_put_("key", widget:shortcut())
  elseif (kind == "Slider" or kind == "Progress") and widget:frame() == nil then
    node:at_put_("width", SHORTEST)
  elseif kind == "Canvas" then
    node:at_put_("moves", K.givenProperty(widget, "move") ~= nil)
  elseif kind == "Window" and #widget:_menus() > 0 then
    node:at_put_("menu", menuNodes(self, widget))
  end
end

function build(self, widget)
  forget(self, widget)
  local id = self.ids[widget]
  if not id then
    id = self.count + 1
    self.count, self.ids[widget], self.widgets[id] = id, id, widget
  end
  local held, kind = { id = id, stops = {}, inside = {}, sent = {} }, widget._view
  self.held[widget] = held
  local node = record("id", id, "kind", kind)
  local function set(name, value)
    if value == nil then return end
    node:at_put_(name, value)
    held.sent[name] = K.json(value)
  end
  if widget._isControl and kind ~= "Label" or widget:label() ~= "" then set("label", K.accessibleName(widget)) end
  set("enabled", widget:enabled())
  for name, value in pairs(frameOf(widget)) do set(name, value) end
  for _, name in ipairs(shown[kind] or {}) do set(name, wired(widget, name)) end
  addParts(self, held, widget, node)
  if kind == "MenuItem" or kind == "Menu" then followMenu(self, held, widget) else followAll(self, held, widget) end
  return node
end

-- Sending -----------------------------------------------------------------------------------------

local Session = {}
Session.__index = Session

local function send(self, value, n) native.windowSend(self.host, K.json(K.array(value, n or #value))) end

-- One frame with the present values of what has changed. What the user types in is left out until its events are
-- handled, so the host may take every value as newer than all it has told.
local function flush(self)
  local order, dirty = self.order, self.dirty
  self.order, self.dirty, self.isScheduled = {}, {}, false
  local frame, n = { 0, "", record("ack", self.received) }, 3
  for _, slot in ipairs(order) do
    local one = dirty[slot]
    local held = self.held[one.widget]
    if held and not self.typing[one.widget] then
      local value = one.read()
      local text = not one.isAlways and K.json(K.orNull(value))
      if one.isAlways or held.sent[one.name] ~= text then
        held.sent[one.name] = text
        frame[n + 1], frame[n + 2], n = slot, K.orNull(value), n + 2
      end
    end
  end
  if n == 3 then return end
  self.seq = self.seq + 1
  frame[1] = self.seq
  send(self, frame, n)
end

function Session:schedule()
  if self.isScheduled or not self.host then return end
  self.isScheduled = true
  K.fork(function() return K.alone(function() flush(self) end) end)
end

-- Events ------------------------------------------------------------------------------------------

local function valueOf(event, value)
  if event == "point" or event == "move" then
    local place = K.point(value:at_(0), value:at_(1))
    if event == "point" and value:at_(2) == 3 then event = "secondary" end
    return event, place
  end
  if event == "edit" then return event, { value:at_(0), value:at_(1), value:at_(2) } end
  return event, value
end

local function cells(self, widget, id, range)
  local first = range:at_(0)
  local rows = widget:_cells(first, range:at_(1))
  for i = 1, #rows do rows[i] = list(rows[i]) end
  self.seq = self.seq + 1
  send(self, { self.seq, id .. ".cells", list { first, list(rows) } })
end

local function closed(self, window)
  if not self.held[window] then return end
  forget(self, window)
  for i, one in ipairs(self.windows) do
    if one == window then
      table.remove(self.windows, i)
      break
    end
  end
  self.closed(window)
end

local function handle(self, message)
  local first = message:at_(0)
  if first == "closed" then
    local window = self.widgets[message:at_(1)]
    return window and closed(self, window)
  end
  if type(first) ~= "number" then return end
  self.received = first
  local widget, event = self.widgets[tonumber(message:at_(1))], message:at_(2)
  if not widget or not self.held[widget] then return end
  local value = message:at_(3)
  local id = self.held[widget].id
  if event == "want" then
    K.fork(function() return K.alone(function() cells(self, widget, id, value) end) end)
    return
  end
  if not widget._isControl or not widget:enabled() or event == "release" then return end
  event, value = valueOf(event, value)
  -- What the user typed is not sent back.
  if widget._properties.value and (event == "input" or event == "action") then
    self.held[widget].sent.value = K.json(K.orNull(value))
  end
  self.typing[widget] = true
  K.queueEvent(widget, event, value, function()
    self.typing[widget] = nil
    if widget._properties.value and self.held[widget] then
      mark(self, widget, "value", function() return wired(widget, "value") end)
    end
  end)
end

-- Opening and running -----------------------------------------------------------------------------

local function open(self, window)
  local node = build(self, window)
  self.windows[#self.windows + 1] = window
  if self.host then return send(self, { "open", node }) end
  self.host = native.windowOpen(K.json(node))
end
K.openInSession = open

-- A process with native windows, which shows this one; raises `unsupported` where there are none. `whenClosed` gets
-- each window that is closed.
function K.openNative(window, whenClosed)
  local self = setmetatable({
    held = {}, ids = setmetatable({}, { __mode = "k" }), widgets = setmetatable({}, { __mode = "v" }), dirty = {}, order = {}, typing = {}, windows = {}, count = 0, seq = 0,
    received = 0, isScheduled = false, host = false, closed = whenClosed,
  }, Session)
  local ok, failure = K.try(open, self, window)
  if ok then return self end
  forget(self, window)
  error(failure, 0)
end

function K.closeInSession(self, window)
  if not self.held[window] then return end
  send(self, { "close", self.ids[window] })
  closed(self, window)
end

-- Handles events until the last window is closed.
function K.runSession(self)
  while #self.windows > 0 do
    local text = native.windowNext(self.host)
    if text == nil then break end
    local ok, failure = K.try(handle, self, native.parseJSON(text))
    if not ok then
      if not K.catchable(failure) then error(failure, 0) end
      K.alone(function() error(failure, 0) end)
    end
  end
  native.windowClose(self.host)
end
