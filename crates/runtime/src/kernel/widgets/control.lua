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

--- Control -<any> theAction
--- Control -<self> setTheAction:<any>value
--- The handler of a press, a choice, or Return in a field: a block, a reference that is written, or the name of a
--- message for `target`.
--- > #Button{ theAction: 'save' } theAction ⇒ 'save'

--- Control -<any> target
--- Control -<self> setTarget:<any>value
--- The object that gets the message named by `theAction`.
--- > #Button{ target: 7 } target ⇒ 7

--- Control -<any> click
--- Control -<any> change
--- Control -<self> setClick:<any>value
--- Control -<self> setChange:<any>value
--- A handler of a press, a choice, or Return in a field, called beside `theAction`.
--- > #Button{ title: 'Save', click: { stdout println: 'saved' } } press

--- Control -<any> input
--- Control -<self> setInput:<any>value
--- The handler of each keystroke, and of each step of a slider.
--- > #TextField{ input: { :text | stdout println: text } }

--- A widget with which a user does something. Its handlers are blocks that get the value and the control.
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
  --- Control -<Block> onAction:<Block(value, control)>block
  --- Calls the block, too, with each value that the user commits. Answers a block that ends it.
  --- > seen := []. field := #TextField{}. field onAction: { :text | seen add: text }. field enter: 'x'. seen ⇒ [ 'x' ]
  ["onAction:"] = function(self, block) return self:_onAction(block) end,
  --- Control -<any> objectValue
  --- The value of the control, as `value`; nil for a control without one, such as a button.
  --- > #TextField{ value: 'a' } objectValue ⇒ 'a'
  ["objectValue"] = function(self)
    if not K.understands(self, "value") then return nil end
    return self:value()
  end,
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

--- TextField -<String> value
--- TextField -<String> stringValue
--- TextField -<String> text
--- TextField -<String> binding
--- TextField -<self> setValue:<any>value
--- TextField -<self> setStringValue:<any>value
--- TextField -<self> setText:<any>value
--- TextField -<self> setBinding:<any>value
--- The line in the field. A reference is written, too, when the user enters something.
--- > #TextField{ value: 'a' } value ⇒ 'a'

--- TextField -<String> placeholder
--- TextField -<self> setPlaceholder:<any>value
--- The text that an empty field shows.
--- > #TextField{ placeholder: 'Name' } placeholder ⇒ 'Name'

--- TextField -<Boolean> editable
--- TextField -<self> setEditable:<any>value
--- Whether the user can change the text.
--- > #TextField{} editable ⇒ true

--- TextView -<String> value
--- TextView -<String> stringValue
--- TextView -<String> text
--- TextView -<String> binding
--- TextView -<self> setValue:<any>value
--- TextView -<self> setStringValue:<any>value
--- TextView -<self> setText:<any>value
--- TextView -<self> setBinding:<any>value
--- The text in the field. A reference is written, too, when the user enters something.
--- > #TextView{ value: 'a' } value ⇒ 'a'

--- TextView -<String> placeholder
--- TextView -<self> setPlaceholder:<any>value
--- The text that an empty field shows.
--- > #TextView{ placeholder: 'Name' } placeholder ⇒ 'Name'

--- TextView -<Boolean> editable
--- TextView -<self> setEditable:<any>value
--- Whether the user can change the text.
--- > #TextView{} editable ⇒ true
local textual = { value = { "text", "" }, placeholder = { "text", "" }, editable = { "boolean", true } }
--- A field for a line of text.
local TextField = K.widgetClass("TextField", Control, "TextField", textual, { "NSTextField", "STTextField" })
--- A field for a text of several lines.
local TextView = K.widgetClass("TextView", Control, "TextView", textual, { "NSTextView" })
for _, one in ipairs { TextField, TextView } do
  K.propertyAlias(one, "stringValue", "value")
  K.propertyAlias(one, "text", "value")
  K.propertyAlias(one, "binding", "value")
end

--- NumberField -<Number?> value
--- NumberField -<self> setValue:<any>value
--- The number in the field; nil for an empty one. What is no number is an error.
--- > #NumberField{ value: '7' } value ⇒ 7

--- NumberField -<Number?> min
--- NumberField -<self> setMin:<any>value
--- The least number that is taken; nil for no limit.
--- > #NumberField{ min: 0 } min ⇒ 0

--- NumberField -<Number?> max
--- NumberField -<self> setMax:<any>value
--- The greatest number that is taken; nil for no limit.
--- > #NumberField{ max: 10 } max ⇒ 10

--- NumberField -<Number?> step
--- NumberField -<self> setStep:<any>value
--- The distance between two numbers; nil for none. Windows and browsers do not use it.
--- > #NumberField{ step: 5 } step ⇒ 5

--- NumberField -<String> placeholder
--- NumberField -<self> setPlaceholder:<any>value
--- The text that an empty field shows.
--- > #NumberField{ placeholder: 'Age' } placeholder ⇒ 'Age'

--- NumberField -<Boolean> editable
--- NumberField -<self> setEditable:<any>value
--- Whether the user can change the number.
--- > #NumberField{} editable ⇒ true

--- A field for a number. Input that is no number, or not within the limits, leaves the value as it is and calls no
--- handler.
local NumberField = K.widgetClass("NumberField", Control, "NumberField", {
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
  --- NumberField -<Boolean> isValid
  --- Whether the last input is a number within the limits; true before any input.
  --- > field := #NumberField{ max: 10 }. field enter: '11'. field isValid ⇒ false
  ["isValid"] = function(self) return rawget(self, "_seen") ~= false end,
})

--- Label -<any> value
--- Label -<any> text
--- Label -<any> ref
--- Label -<any> stringValue
--- Label -<any> binding
--- Label -<self> setValue:<any>value
--- Label -<self> setText:<any>value
--- Label -<self> setRef:<any>value
--- Label -<self> setStringValue:<any>value
--- Label -<self> setBinding:<any>value
--- What the label shows, as text.
--- > #Label{ value: 7 } value ⇒ 7

--- Shows a value. Texts, numbers, references and blocks among widgets become labels by themselves.
local Label = K.widgetClass("Label", Control, "Label", { value = { "any", "" } }, { "STLabel" })
for _, name in ipairs { "text", "ref", "stringValue", "binding" } do K.propertyAlias(Label, name, "value") end

--- Button -<String> title
--- Button -<self> setTitle:<any>value
--- The text on the button.
--- > #Button{ title: 'Save' } title ⇒ 'Save'

--- A button.
K.widgetClass("Button", Control, "Button", { title = { "text", "" } }, { "NSButton", "STButton" })
--- Checkbox -<String> title
--- Checkbox -<self> setTitle:<any>value
--- The text beside the box.
--- > #Checkbox{ title: 'Done' } title ⇒ 'Done'

--- Checkbox -<Boolean> value
--- Checkbox -<Boolean> ref
--- Checkbox -<self> setValue:<any>value
--- Checkbox -<self> setRef:<any>value
--- Whether the box is checked.
--- > box := #Checkbox{ title: 'Done' }. box press. box value ⇒ true

--- A box that is checked or not.
local Checkbox = K.widgetClass("Checkbox", Control, "Checkbox", {
  title = { "text", "" }, value = { "boolean", false },
}, { "STCheckbox" })
--- Slider -<Number?> value
--- Slider -<Number?> ref
--- Slider -<Number?> binding
--- Slider -<self> setValue:<any>value
--- Slider -<self> setRef:<any>value
--- Slider -<self> setBinding:<any>value
--- The number; 0 by default.
--- > slider := #Slider{}. slider moveTo: 5. slider value ⇒ 5

--- Slider -<Number?> min
--- Slider -<self> setMin:<any>value
--- The number at the start; 0 by default.
--- > #Slider{} min ⇒ 0

--- Slider -<Number?> max
--- Slider -<self> setMax:<any>value
--- The number at the end; 100 by default.
--- > #Slider{} max ⇒ 100

--- Slider -<Number?> step
--- Slider -<self> setStep:<any>value
--- The distance between two values; nil for any.
--- > #Slider{ step: 10 } step ⇒ 10

--- A number that a user moves between two limits.
local Slider = K.widgetClass("Slider", Control, "Slider", {
  value = { "number", 0 }, min = { "number", 0 }, max = { "number", 100 }, step = { "number" },
}, { "NSSlider" })
--- Progress -<Number?> value
--- Progress -<Number?> ref
--- Progress -<self> setValue:<any>value
--- Progress -<self> setRef:<any>value
--- How much is done; 0 by default.
--- > #Progress{ value: 0.5 } value ⇒ 0.5

--- Progress -<Number?> max
--- Progress -<Number?> maxRef
--- Progress -<self> setMax:<any>value
--- Progress -<self> setMaxRef:<any>value
--- The value of finished work; 1 by default.
--- > #Progress{} max ⇒ 1

--- Shows how much of a work is done.
local Progress = K.widgetClass("Progress", Control, "Progress", { value = { "number", 0 }, max = { "number", 1 } },
  { "ProgressIndicator", "NSProgressIndicator" })
K.propertyAlias(Progress, "ref", "value")
K.propertyAlias(Progress, "maxRef", "max")
K.propertyAlias(Slider, "ref", "value")
K.propertyAlias(Slider, "binding", "value")
K.propertyAlias(Checkbox, "ref", "value")

-- A choice of one of several items: `value` is its index, `selection` the item.
--- PopUp -<Array> items
--- PopUp -<self> setItems:<any>value
--- The items, shown as texts. A collection that is no array is copied; another value is an error.
--- > #PopUp{ items: [ 'tea', 'milk' ] } items count ⇒ 2

--- PopUp -<Number?> value
--- PopUp -<self> setValue:<any>value
--- The index of the chosen item, from 0; nil where `selection` is none of the items.
--- > #PopUp{ items: [ 'tea', 'milk' ], selection: 'milk' } value ⇒ 1

--- PopUp -<any> selection
--- PopUp -<self> setSelection:<any>value
--- The chosen item; nil without one.
--- > #PopUp{ items: [ 'tea', 'milk' ], value: 1 } selection ⇒ 'milk'

--- A choice of one of several items.
local PopUp = K.widgetClass("PopUp", Control, "PopUp", {
  items = { "list" }, value = { "number", 0 }, selection = { "any" },
}, { "NSPopUpButton" })

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
