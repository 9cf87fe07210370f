-- Native windows: trees of widgets as JSON for the process that shows them, changes as frames, and what the user
-- does as events (docs/design/windows.md).
local K = ...
local type, rawget, rawset, ipairs, pairs = type, rawget, rawset, ipairs, pairs
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

-- What the host is told of each kind, by the name of the property; children and rows are told apart.
local shown = {
  Window = { "title" }, Label = { "value" }, Button = { "title" }, MenuItem = { "title", "shortcut" }, Menu = { "title" },
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

local function visible(self, widgets)
  local nodes = {}
  for _, one in ipairs(widgets) do
    local id = build(self, one)
    if not one:hidden() then nodes[#nodes + 1] = id end
  end
  return nodes
end

local function contents(self, widget)
  if widget._view == "Grid" then
    local rows = {}
    for i, row in ipairs(widget:_rowsInside()) do rows[i] = list(visible(self, row)) end
    return list(rows)
  end
  return list(visible(self, widget:_inside()))
end

local function slotOfContents(widget) return widget._view == "Grid" and "rows" or "children" end

-- What stands in the widget is no longer shown.
local function forget(self, widget)
  local held = self.held[widget]
  if not held then return end
  self.held[widget] = nil
  self.widgets[held.id] = nil
  for _, stop in ipairs(held.stops) do stop() end
  for _, one in ipairs(held.inside) do forget(self, one) end
end

local function mark(self, slot, widget, read)
  if not self.dirty[slot] then self.order[#self.order + 1] = slot end
  self.dirty[slot] = { widget = widget, read = read }
  self:schedule()
end

-- Follows a property: its value is sent when the events of now are over, if it is another one than the host has.
local function follow(self, held, widget, name, slot, read)
  held.stops[#held.stops + 1] = K.watchProperty(widget, name, function() mark(self, slot, widget, read) end)
end

local function frameOf(widget)
  local frame = widget:frame()
  if frame == nil then return nil end
  return { x = frame:x(), y = frame:y(), width = frame:width(), height = frame:height() }
end

local function followAll(self, held, widget)
  local id = held.id
  for _, name in ipairs(shown[widget._view] or {}) do
    follow(self, held, widget, name, id .. "." .. name, function() return wired(widget, name) end)
  end
  if widget._properties.selection then
    follow(self, held, widget, "selection", id .. ".value", function() return widget:value() end)
  end
  follow(self, held, widget, "enabled", id .. ".enabled", function() return widget:enabled() end)
  follow(self, held, widget, "label", id .. ".label", function() return K.accessibleName(widget) end)
  follow(self, held, widget, "hidden", id .. ".hidden", function()
    local parent = rawget(widget, "_parent")
    if parent and self.held[parent] then self.renew(parent) end
  end)
  local property = inner[widget._view]
  if property then follow(self, held, widget, property, id .. "." .. property, function() self.renew(widget) end) end
  if widget._view == "Table" then
    local function rows() return record("count", #widget:items()) end
    follow(self, held, widget, "items", id .. ".rows", rows)
  end
end

local function columnTitles(widget)
  local titles = {}
  for i, one in ipairs(widget:_columns()) do titles[i] = record("title", one.title) end
  return list(titles)
end

function build(self, widget)
  forget(self, widget)
  self.count = self.count + 1
  local id, kind = self.count, widget._view
  local held = { id = id, stops = {}, inside = {} }
  self.held[widget], self.widgets[id] = held, widget
  local node = record("id", id, "kind", kind)
  local function set(name, value)
    if value == nil then return end
    node:at_put_(name, value)
    self.sent[id .. "." .. name] = K.json(value)
  end
  set("label", K.accessibleName(widget))
  set("enabled", widget:enabled())
  for name, value in pairs(frameOf(widget) or {}) do set(name, value) end
  for _, name in ipairs(shown[kind] or {}) do set(name, wired(widget, name)) end
  if inner[kind] then
    held.inside = widget:_inside()
    node:at_put_(slotOfContents(widget), contents(self, widget))
  end
  if kind == "Table" then
    set("columns", columnTitles(widget))
    set("rows", record("count", #widget:items()))
  end
  if widget._menus then
    local menus = widget:_menus()
    for i, menu in ipairs(menus) do
      held.inside[#held.inside + 1] = menu
      menus[i] = build(self, menu)
    end
    if #menus > 0 then node:at_put_("menu", list(menus)) end
  end
  followAll(self, held, widget)
  return node
end

-- Sending -----------------------------------------------------------------------------------------

local Session = {}
Session.__index = Session
setmetatable(Session, { __index = function() return nil end })

local function send(self, value) native.windowSend(self.host, K.json(list(value))) end

-- One frame with the present values of what has changed.
local function flush(self)
  local order, dirty = self.order, self.dirty
  self.order, self.dirty, self.isScheduled = {}, {}, false
  local frame = { 0 }
  for _, slot in ipairs(order) do
    local one = dirty[slot]
    if self.held[one.widget] and not self.typing[one.widget] then
      local value = one.read()
      local text = K.json(value)
      if self.sent[slot] ~= text or value ~= nil and one.widget._view == "Table" and string.find(slot, "rows$") then
        if not string.find(slot, "%.%a*hidden$") and value ~= K.skip then
          self.sent[slot] = text
          frame[#frame + 1], frame[#frame + 2] = slot, K.orNull(value)
        end
      end
    end
  end
  for _, pair in ipairs(self.renewed) do
    frame[#frame + 1], frame[#frame + 2] = pair[1], pair[2]
  end
  self.renewed = {}
  if #frame > 1 then
    self.seq = self.seq + 1
    frame[1] = self.seq
    send(self, frame)
  end
end
K.skip = {}

function Session:schedule()
  if self.isScheduled then return end
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

local function closed(self, id)
  local window = self.widgets[id]
  if not window then return end
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
  if first == "closed" then return closed(self, message:at_(1)) end
  if type(first) ~= "number" then return end
  local widget, event = self.widgets[tonumber(message:at_(1))], message:at_(2)
  if not widget then return end
  local value = #message > 3 and message:at_(3) or nil
  if value == K.NULL then value = nil end
  local id = self.held[widget].id
  if event == "want" then
    K.fork(function() return K.alone(function() cells(self, widget, id, value) end) end)
    return
  end
  if not widget._isControl or not widget:enabled() then return end
  event, value = valueOf(event, value)
  -- What the user typed is not sent back while more may follow.
  if widget._properties.value and event ~= "edit" then self.sent[id .. ".value"] = K.json(value) end
  self.typing[widget] = true
  K.queueEvent(widget, event, value, function()
    self.typing[widget] = nil
    if widget._properties.value and self.held[widget] then
      mark(self, id .. ".value", widget, function() return wired(widget, "value") end)
    end
  end)
end

-- Opening and running -----------------------------------------------------------------------------

local function newSession()
  local self = setmetatable({
    held = {}, widgets = {}, sent = {}, dirty = {}, order = {}, typing = {}, windows = {}, renewed = {}, count = 0, seq = 0,
    isScheduled = false,
  }, Session)
  -- The widgets inside have changed.
  self.renew = function(widget)
    local held = self.held[widget]
    for _, one in ipairs(held.inside) do forget(self, one) end
    held.inside = widget:_inside()
    self.renewed[#self.renewed + 1] = { held.id .. "." .. slotOfContents(widget), contents(self, widget) }
    return nil
  end
  return self
end

local function open(self, window)
  local node = build(self, window)
  local size = frameOf(window)
  if size then node:at_put_("width", size.width) node:at_put_("height", size.height) end
  self.windows[#self.windows + 1] = window
  if self.host then return send(self, { "open", node }) end
  self.host = native.windowOpen(K.json(node))
end

-- A process with native windows, which shows this one; raises `unsupported` where there are none. `whenClosed` gets
-- each window that is closed.
function K.openNative(window, whenClosed)
  local self = newSession()
  self.closed = whenClosed
  open(self, window)
  return self
end
K.openInSession = open

function K.closeInSession(self, window)
  local held = self.held[window]
  if held then
    send(self, { "close", held.id })
    closed(self, held.id)
  end
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
