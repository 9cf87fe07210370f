-- What a user does, as messages: tests of a window press its buttons and fill its fields, without a display.
local K = ...
local type, rawget, rawset, ipairs = type, rawget, rawset, ipairs
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
  local parent = rawget(self, "_parent")
  if not parent then return nil end
  local before
  for _, one in ipairs(parent:_inside()) do
    if one == self then break end
    before = one
  end
  return before and K.isKind(before, classes.Label) and K.str(before:value()) or nil
end

-- The accessible name.
function K.accessibleName(self)
  local label = self:label()
  if label ~= "" then return label end
  if self._properties.title then return K.readProperty(self, "title") end
  local text = textBefore(self)
  if text and text ~= "" then return text end
  if self._properties.placeholder then
    text = K.readProperty(self, "placeholder")
    if text ~= "" then return text end
  end
  local root = K.rootWidget(self)
  return root ~= self and root._properties.title and K.readProperty(root, "title") or ""
end

-- By key, accessible name, or the value of a label.
local function find(self, wanted)
  if K.isWidget(wanted) then return wanted end
  local byKey, byName, names, text = nil, nil, {}, K.str(wanted)
  K.eachWidget(self, function(one)
    local key = one:key()
    if byKey == nil and key ~= nil and K.eq(key, wanted) then byKey = one end
    if one ~= self and one._isControl and not K.isKind(one, classes.Label) then
      local name = K.accessibleName(one)
      if byName == nil and name == text then byName = one end
      names[#names + 1] = name
      if key ~= nil then names[#names + 1] = K.str(key) end
    end
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
local function only(self, what, ...)
  for _, name in ipairs { ... } do
    if K.isKind(self, classes[name]) then return end
  end
  throw("notAllowed", "a user cannot " .. what .. " " .. K.nameOf(self))
end
local function enter(self, value)
  only(self, "enter something in", "TextField", "TextView", "NumberField")
  user(self, "input", value)
  return user(self, "action", value)
end
local function toggle(self)
  if K.isKind(self, classes.Checkbox) then return user(self, "action", not self:value()) end
  only(self, "press", "Button", "MenuItem")
  return user(self, "action")
end
-- A number is the index, anything else one of the items.
local function choose(self, item)
  only(self, "choose from", "PopUp", "Table")
  if type(item) == "number" or item == nil then return user(self, "action", item) end
  local items = self:items()
  for i = 1, #items do
    local one = items:at_(i - 1)
    if K.eq(one, item) or K.str(one) == item then return user(self, "action", i - 1) end
  end
  throw("notFound", K.repr(item) .. " is no item of " .. K.nameOf(self))
end
local function move(self, value)
  only(self, "move", "Slider")
  user(self, "input", value)
  return user(self, "action", value)
end
local function pointing(event)
  return function(self, place)
    only(self, "point at", "Canvas")
    return user(self, event, place)
  end
end

K.methods(Control, {
  ["press"] = toggle,
  ["enter:"] = enter,
  -- As `enter:`, without Return.
  ["type:"] = function(self, value)
    only(self, "type in", "TextField", "TextView", "NumberField")
    return user(self, "input", value)
  end,
  ["choose:"] = choose, ["moveTo:"] = move, ["pointAt:"] = pointing("point"), ["secondaryPointAt:"] = pointing("secondary"),
  -- The text of a cell is replaced: row and column count from 0.
  ["enter:row:column:"] = function(self, text, row, at)
    only(self, "edit a cell of", "Table")
    if not self:editable() then throw("notAllowed", "this Table is not editable") end
    return user(self, "edit", { row, at, text })
  end,
  -- The text that a table shows there.
  ["textAtRow:column:"] = function(self, row, at)
    only(self, "read a cell of", "Table")
    local cells = self:_cells(row, 1)[1]
    return cells and cells[at + 1]
  end,
})
K.methods(Widget, {
  ["find:"] = find,
  ["press:"] = function(self, wanted) return toggle(find(self, wanted)) end,
  ["enter:in:"] = function(self, value, wanted) return enter(find(self, wanted), value) end,
  ["choose:in:"] = function(self, item, wanted) return choose(find(self, wanted), item) end,
  ["moveTo:in:"] = function(self, value, wanted) return move(find(self, wanted), value) end,
  ["shownText"] = function(self)
    local texts = {}
    K.eachWidget(self, function(one)
      if K.isKind(one, classes.Label) then texts[#texts + 1] = K.str(one:value()) end
    end)
    return table.concat(texts, "\n")
  end,
})
