-- Controls: widgets with which a user does something. What the user does is an event: `action` (Return, a
-- press, a choice), `input` (each keystroke, each step of a slider), and those of a canvas.
--
-- Events of one control are handled one after the other, those of different controls at the same time, so that
-- a handler that computes for long holds up its own control only.
local K = ...
local type, rawget, rawset, ipairs, setmetatable = type, rawget, rawset, ipairs, setmetatable
local throw = K.throw

-- Events of one control that wait for their handler. More are dropped; of `input` the latest waits only.
local MOST_EVENTS = 64

local Control = K.widgetClass("Control", K.classes.Widget, "Label", {
  theAction = { "handler" }, target = { "handler" }, change = { "handler" }, input = { "handler" }, click = { "handler" },
}, { "NSControl" })
K.method(Control, "_isControl", true)

-- A block, the name of a message for `target`, or a reference that is written.
local function call(self, handler, value)
  if type(handler) == "function" then return handler(value, self) end
  if K.isLiveReference(handler) then return handler:setValue_(value) end
  if type(handler) == "string" then
    local target = K.givenProperty(self, "target")
    if target == nil then
      throw("nilValue", "theAction of " .. K.nameOf(self) .. " is the name of a message, and there is no target",
        { i_hint = "give it a `target`, or a block: `theAction: { … }`" })
    end
    local name = K.mangle(handler)
    if string.find(handler, ":", 1, true) then return target[name](target, self) end
    return target[name](target)
  end
  if type(handler) == "table" and handler.writeObject_ then return handler:writeObject_(value) end
  throw("typeError", K.nameOf(self) .. " cannot call " .. K.nameOf(handler), { i_hint = "give it a block" })
end

-- Calls what handles the event, in this fiber.
local function fire(self, event, value)
  if event == "action" then
    for _, name in ipairs { "click", "theAction", "change" } do
      local handler = K.givenProperty(self, name)
      if handler ~= nil then call(self, handler, value) end
    end
    local actions = rawget(self, "_actions") or {}
    local copy = {}
    for i = 1, #actions do copy[i] = actions[i] end
    for i = 1, #copy do copy[i].block(value, self) end
  else
    local handler = K.givenProperty(self, event)
    if handler ~= nil then call(self, handler, value) end
  end
end

-- The window whose event is handled, by fiber: where another one opens.
local roots = setmetatable({}, { __mode = "k" })
local running = coroutine.running
function K.eventRoot() return roots[running() or 0] end

-- What the user did: the value that the control has from then on, then its handlers.
function K.userEvent(self, event, value)
  if not self:enabled() then
    throw("notAllowed", K.nameOf(self) .. " is disabled", { i_hint = "`enabled: true` allows events" })
  end
  self:_taken(event, value)
  local fiber = running() or 0
  roots[fiber] = K.rootWidget(self)
  local ok, failure = K.try(function() fire(self, event, self:_eventValue(event, value)) end)
  roots[fiber] = nil
  if not ok then error(failure, 0) end
  K.refreshWidgets(self)
end

-- What an event changes, and what its handlers get. Classes below have their own.
K.method(Control, "_taken", function(self, _, value)
  if value ~= nil and self._properties.value then K.putProperty(self, "value", value) end
end)
K.method(Control, "_eventValue", function(self, _, value)
  if self._properties.value then return self:value() end
  return value
end)

-- The same for a shell: in a fiber, in the order of the events. `after` is called when it has been handled.
function K.queueEvent(self, event, value, after)
  local queue = rawget(self, "_events")
  if queue then
    local last = queue[#queue]
    if event ~= "action" and last and last.event == event then
      last.value = value
      return
    end
    if #queue < MOST_EVENTS then queue[#queue + 1] = { event = event, value = value } end
    return
  end
  queue = { { event = event, value = value } }
  rawset(self, "_events", queue)
  K.fork(function()
    while #queue > 0 do
      local one = table.remove(queue, 1)
      K.alone(function() K.userEvent(self, one.event, one.value) end)
    end
    rawset(self, "_events", nil)
    after()
    K.native.flush()
  end)
end

K.methods(Control, {
  -- Calls the block with each value that the user commits; answers a block that ends it.
  ["onAction:"] = function(self, block) return self:_onAction(block) end,
  ["objectValue"] = function(self) return self:value() end,
})
K.method(Control, "_onAction", function(self, block)
  local entry, actions = { block = block }, rawget(self, "_actions")
  if not actions then
    actions = {}
    rawset(self, "_actions", actions)
  end
  actions[#actions + 1] = entry
  return function()
    for i = 1, #actions do
      if actions[i] == entry then return table.remove(actions, i) end
    end
  end
end)

-- Controls ----------------------------------------------------------------------------------------

local function class(name, kind, properties, aliases) return K.widgetClass(name, Control, kind, properties, aliases) end

local textual = { value = { "text", "" }, placeholder = { "text", "" }, editable = { "boolean", true } }
local TextField = class("TextField", "TextField", textual, { "NSTextField", "STTextField" })
local TextView = class("TextView", "TextView", textual, { "NSTextView" })
for _, one in ipairs { TextField, TextView } do
  K.propertyAlias(one, "stringValue", "value")
  K.propertyAlias(one, "text", "value")
  K.propertyAlias(one, "binding", "value")
end

local NumberField = class("NumberField", "NumberField", {
  value = { "number" }, min = { "number" }, max = { "number" }, step = { "number" }, placeholder = { "text", "" },
  editable = { "boolean", true },
}, { "STNumberField" })
-- What is no number leaves the value as it is, and calls no handler.
local function numberOf(value)
  if type(value) == "number" then return value end
  local text = K.str(value)
  if not string.find(text, "^%s*[-+]?%d*[.,]?%d*%s*$") or not string.find(text, "%d") then return nil end
  return tonumber((string.gsub(string.gsub(text, "%s", ""), ",", ".")))
end
K.method(NumberField, "_taken", function(self, _, value)
  local number = numberOf(value)
  local min, max = self:min(), self:max()
  rawset(self, "_seen", number ~= nil and not (min and number < min) and not (max and number > max))
  if self._seen then K.putProperty(self, "value", number) end
end)
K.methods(NumberField, {
  -- Whether what stands in the field is a number within its limits.
  ["isValid"] = function(self) return rawget(self, "_seen") ~= false end,
})

local Label = class("Label", "Label", { value = { "any", "" } }, { "STLabel" })
for _, name in ipairs { "text", "ref", "stringValue", "binding" } do K.propertyAlias(Label, name, "value") end

class("Button", "Button", { title = { "text", "" } }, { "NSButton", "STButton" })
local Checkbox = class("Checkbox", "Checkbox", { title = { "text", "" }, value = { "boolean", false } }, { "STCheckbox" })
local Slider = class("Slider", "Slider", {
  value = { "number", 0 }, min = { "number", 0 }, max = { "number", 100 }, step = { "number" },
}, { "NSSlider" })
local Progress = class("Progress", "Progress", { value = { "number", 0 }, max = { "number", 1 } },
  { "ProgressIndicator", "NSProgressIndicator" })
K.propertyAlias(Progress, "ref", "value")
K.propertyAlias(Progress, "maxRef", "max")
K.propertyAlias(Slider, "ref", "value")
K.propertyAlias(Slider, "binding", "value")
K.propertyAlias(Checkbox, "ref", "value")

-- A choice of one of several items: `value` is its index, `selection` the item.
local PopUp = class("PopUp", "PopUp", { items = { "list" }, value = { "number", 0 }, selection = { "any" } }, { "NSPopUpButton" })

local function itemAt(self, index)
  local items = self:items()
  if index == nil or index < 0 or index >= #items then return nil end
  return items:at_(index)
end
K.itemOfWidget = itemAt

-- An index and its item change together.
local function choose(self, index)
  K.putProperty(self, "value", index)
  if K.givenProperty(self, "selection") ~= nil then K.putProperty(self, "selection", itemAt(self, index)) end
end
K.chooseItem = choose

local function selected(self)
  local given = K.givenProperty(self, "selection")
  if given ~= nil then return K.readProperty(self, "selection") end
  return itemAt(self, self:value())
end
local function indexOf(self)
  if K.givenProperty(self, "selection") == nil then return K.readProperty(self, "value") end
  local items, wanted = self:items(), K.readProperty(self, "selection")
  for i = 1, #items do
    if K.eq(items:at_(i - 1), wanted) then return i - 1 end
  end
  return nil
end
K.method(PopUp, "selection", selected)
K.method(PopUp, "value", indexOf)
K.method(PopUp, "_taken", function(self, _, value) choose(self, value) end)
K.method(PopUp, "_eventValue", function(self) return self:selection() end)
