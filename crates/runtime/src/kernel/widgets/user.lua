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
  ["press"] = press,
  ["enter:"] = enter,
  -- As `enter:`, without Return.
  ["type:"] = function(self, value)
    only(self, "type in", fields)
    return user(self, "input", value)
  end,
  ["choose:"] = choose, ["moveTo:"] = move, ["pointAt:"] = pointing("point"), ["secondaryPointAt:"] = pointing("secondary"),
  -- The text of a cell is replaced: row and column count from 0.
  ["enter:row:column:"] = function(self, text, row, at)
    only(self, "edit a cell of", tables)
    if not self:editable() then throw("notAllowed", "this Table is not editable") end
    return user(self, "edit", { row, at, text })
  end,
  -- The text that a table shows there.
  ["textAtRow:column:"] = function(self, row, at)
    only(self, "read a cell of", tables)
    local cells = self:_cells(row, 1)[1]
    return cells and cells[at + 1]
  end,
})
K.methods(Widget, {
  ["find:"] = function(self, wanted) return find(self, wanted) end,
  ["press:"] = function(self, wanted)
    press(find(self, wanted, buttons))
    return self
  end,
  ["enter:in:"] = function(self, value, wanted)
    enter(find(self, wanted, fields), value)
    return self
  end,
  ["choose:in:"] = function(self, item, wanted)
    choose(find(self, wanted, choices), item)
    return self
  end,
  ["moveTo:in:"] = function(self, value, wanted)
    move(find(self, wanted, sliders), value)
    return self
  end,
  ["shownText"] = function(self)
    local texts = {}
    K.eachWidget(self, function(one)
      if K.isKind(one, classes.Label) then texts[#texts + 1] = K.str(one:value()) end
    end)
    return table.concat(texts, "\n")
  end,
})
