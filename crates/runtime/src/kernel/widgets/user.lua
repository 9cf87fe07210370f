-- What a user does, as messages: tests of a window press its buttons and fill its fields, without a display.
local K = ...
local type, rawget, ipairs = type, rawget, ipairs
local throw = K.throw
local Widget, Control, classes = K.classes.Widget, K.classes.Control, K.classes

-- Widgets in a window, outermost first; the menus come last.
local MOST_WIDGETS = 10000
local function each(widget, visit, depth, count)
  count.n = count.n + 1
  if depth > 100 or count.n > MOST_WIDGETS then
    throw("invalid", string.format("a window has at most %d widgets, 100 levels deep", MOST_WIDGETS))
  end
  visit(widget)
  for _, inner in ipairs(widget:_inside()) do each(inner, visit, depth + 1, count) end
  if widget._menus then
    for _, menu in ipairs(widget:_menus()) do each(menu, visit, depth + 1, count) end
  end
end
K.nilKeys._menus = true
function K.eachWidget(widget, visit) each(widget, visit, 0, { n = 0 }) end

-- The text that stands before a control in its row or stack names it, where it has no label.
local function textBefore(self)
  local before = rawget(self, "_before")
  return before and K.isKind(before, classes.Label) and K.str(before:value()) or nil
end

-- The accessible name.
function K.accessibleName(self)
  local label = self:label()
  if label ~= "" then return label end
  if self._properties.title then return K.readProperty(self, "title") end
  if self._view == "Scroll" then
    local inside = self:_inside()[1]
    if inside then return K.accessibleName(inside) end
  end
  local text = textBefore(self)
  if text and text ~= "" then return text end
  if self._properties.placeholder then
    text = K.readProperty(self, "placeholder")
    if text ~= "" then return text end
  end
  local root = K.rootWidget(self)
  return root ~= self and root._properties.title and K.readProperty(root, "title") or ""
end

local function is(self, names)
  for _, name in ipairs(names) do
    if K.isKind(self, classes[name]) then return true end
  end
  return false
end

local fields, buttons, choices = { "TextField", "TextView", "NumberField" }, { "Button", "MenuItem", "Checkbox" }, { "PopUp", "Table" }
local sliders, drawings, tables = { "Slider" }, { "Canvas" }, { "Table" }

-- By key or accessible name; of those with the same name the first with which the user can do that.
local function find(self, wanted, kinds)
  if K.isWidget(wanted) then return wanted end
  local byKey, byName, names, text = nil, nil, {}, K.str(wanted)
  K.eachWidget(self, function(one)
    local key = one:key()
    if byKey == nil and key ~= nil and K.eq(key, wanted) then byKey = one end
    if key ~= nil then names[#names + 1] = K.str(key) end
    if one == self or not one._isControl or K.isKind(one, classes.Label) or kinds and not is(one, kinds) then return end
    local name = K.accessibleName(one)
    if byName == nil and name == text then byName = one end
    names[#names + 1] = name
  end)
  local found = byKey or byName
  if found then return found end
  local near = K.nearest(text, names)
  throw("notFound", "there is no control `" .. text .. "` in " .. K.nameOf(self),
    { i_hint = near and "did you mean `" .. near .. "`?" or "its key or its label finds it" })
end

local function user(self, event, value)
  K.userEvent(self, event, value)
  return self
end
local function only(self, what, kinds)
  if not is(self, kinds) then throw("notAllowed", "a user cannot " .. what .. " " .. K.nameOf(self)) end
end
local function enter(self, value)
  only(self, "enter something in", fields)
  user(self, "input", value)
  return user(self, "action", value)
end
local function press(self)
  only(self, "press", buttons)
  if K.isKind(self, classes.Checkbox) then return user(self, "action", not self:value()) end
  return user(self, "action")
end
-- A number is the index, anything else one of the items.
local function choose(self, item)
  only(self, "choose from", choices)
  if type(item) == "number" or item == nil then return user(self, "action", item) end
  local items = self:items()
  for i = 1, #items do
    local one = items:at_(i - 1)
    if K.eq(one, item) or K.str(one) == item then return user(self, "action", i - 1) end
  end
  throw("notFound", K.repr(item) .. " is no item of " .. K.nameOf(self))
end
local function move(self, value)
  only(self, "move", sliders)
  user(self, "input", value)
  return user(self, "action", value)
end
local function pointing(event)
  return function(self, place)
    only(self, "point at", drawings)
    return user(self, event, place)
  end
end

K.methods(Control, {
  --- -<self> press
  --- Presses a button or a menu item, or toggles a checkbox, as a user does. A disabled one is an error.
  --- > n := 0. #Button{ click: { n := n + 1 } } press. n ⇒ 1
  ["press"] = press,
  --- -<self> enter:<any>value
  --- Types a text into a field and Return, as a user does.
  --- > field := #TextField{}. field enter: 'x'. field value ⇒ 'x'
  ["enter:"] = enter,
  --- -<self> type:<any>value
  --- Types a text into a field, without Return: only `input` is handled.
  --- > field := #TextField{}. field type: 'x'. field value ⇒ 'x'
  ["type:"] = function(self, value)
    only(self, "type in", fields)
    return user(self, "input", value)
  end,
  --- -<self> choose:<any>item
  --- Chooses an item of a pop-up or a table: a number is its index, anything else the item or its text. Nil chooses
  --- none.
  --- > list := #PopUp{ items: [ 'tea', 'milk' ] }. list choose: 'milk'. list value ⇒ 1
  ["choose:"] = choose,
  --- -<self> moveTo:<any>value
  --- Moves a slider to a number, as a user does.
  --- > slider := #Slider{}. slider moveTo: 5. slider value ⇒ 5
  ["moveTo:"] = move,
  --- -<self> pointAt:<any>point
  --- Presses the first button at a point of a canvas.
  --- > seen := nil. #Canvas{ point: { :at | seen := at } } pointAt: 3 @ 4. seen ⇒ 3 @ 4
  ["pointAt:"] = pointing("point"),
  --- -<self> secondaryPointAt:<any>point
  --- Presses the second button at a point of a canvas.
  --- > seen := nil. #Canvas{ secondary: { :at | seen := at } } secondaryPointAt: 3 @ 4. seen ⇒ 3 @ 4
  ["secondaryPointAt:"] = pointing("secondary"),
  --- -<self> enter:<any>text row:<Number>row column:<Number>column
  --- Replaces the text of a cell of an editable table, as a user does. Rows and columns count from 0.
  --- > { :table | table enter: 'Grace' row: 0 column: 0. table textAtRow: 0 column: 0 }
  ["enter:row:column:"] = function(self, text, row, at)
    only(self, "edit a cell of", tables)
    if not self:editable() then throw("notAllowed", "this Table is not editable") end
    return user(self, "edit", { row, at, text })
  end,
  --- -<String?> textAtRow:<Number>row column:<Number>column
  --- The text that a table shows in a cell; nil outside. Rows and columns count from 0.
  --- > #Table{ items: [ #{ a: 1 } ] } textAtRow: 0 column: 0 ⇒ '1'
  ["textAtRow:column:"] = function(self, row, at)
    only(self, "read a cell of", tables)
    local cells = self:_cells(row, 1)[1]
    return cells and cells[at + 1]
  end,
})
K.methods(Widget, {
  --- -<Widget> find:<any>name
  --- The widget inside with that `key`, or the control with that accessible name. None is an error.
  --- > (#VStack[ 'Age', #NumberField{ value: 36 } ] find: 'Age') value ⇒ 36
  ["find:"] = function(self, wanted) return find(self, wanted) end,
  --- -<self> press:<any>name
  --- Presses the button, menu item or checkbox of that name or key inside, as `press`.
  --- > n := 0. #VStack[ #Button{ title: 'Up', click: { n := n + 1 } } ] press: 'Up'. n ⇒ 1
  ["press:"] = function(self, wanted)
    press(find(self, wanted, buttons))
    return self
  end,
  --- -<self> enter:<any>value in:<any>name
  --- Enters a text in the field of that name or key inside, as `enter:`.
  --- > name := #TextField{}. #VStack[ 'Name', name ] enter: 'Ada' in: 'Name'. name value ⇒ 'Ada'
  ["enter:in:"] = function(self, value, wanted)
    enter(find(self, wanted, fields), value)
    return self
  end,
  --- -<self> choose:<any>item in:<any>name
  --- Chooses an item in the pop-up or table of that name or key inside, as `choose:`.
  --- > tea := #PopUp{ label: 'Tea', items: [ 'no', 'yes' ] }. #VStack[ tea ] choose: 'yes' in: 'Tea'. tea value ⇒ 1
  ["choose:in:"] = function(self, item, wanted)
    choose(find(self, wanted, choices), item)
    return self
  end,
  --- -<self> moveTo:<any>value in:<any>name
  --- Moves the slider of that name or key inside, as `moveTo:`.
  --- > speed := #Slider{ label: 'Speed' }. #VStack[ speed ] moveTo: 5 in: 'Speed'. speed value ⇒ 5
  ["moveTo:in:"] = function(self, value, wanted)
    move(find(self, wanted, sliders), value)
    return self
  end,
  --- -<String> shownText
  --- The texts of the labels inside, one a line.
  --- > #VStack[ 'Name', 'Age' ] shownText ⇒ 'Name\nAge'
  ["shownText"] = function(self)
    local texts = {}
    K.eachWidget(self, function(one)
      if K.isKind(one, classes.Label) then texts[#texts + 1] = K.str(one:value()) end
    end)
    return table.concat(texts, "\n")
  end,
})
