-- Widgets in a browser: each answers `asHtml`, elements that the views of `std/widgets.st` make.
local K = ...
local type, rawget, rawset, ipairs, setmetatable = type, rawget, rawset, ipairs, setmetatable
local classes = K.classes
local Widget, Control = K.classes.Widget, K.classes.Control
K.nilKeys._owner = true

local function view(self)
  local views = K.standard("widgets.st")._views
  return views:at_(self._view)(self)
end
--- -<Element> asHtml
--- The widget as an element of a page, which follows what it shows.
--- > #Label{ value: '<b>' } asHtml stringValue ⇒ '<output>&lt;b&gt;</output>'
K.method(Widget, "asHtml", view)
-- What a server answers for a widget: a window is a page of its own, others stand in one.
K.method(Widget, "_page", function(self)
  if not K.isKind(self, classes.Window) then
    local window = classes.Window:new()
    K.putProperty(window, "children", K.array { self })
    self = window
  end
  return K.standard("widgets.st")._views:at_("page")(self)
end)

local function extent(self)
  local frame = self:frame()
  if frame then return frame:size():x(), frame:size():y() end
  local width, height = 0, 0
  for _, one in ipairs(self:_inside()) do
    local inner = one:frame()
    if inner then
      width, height = math.max(width, inner:right()), math.max(height, inner:y() + inner:height())
    end
  end
  return width, height
end

-- For the views.
K.methods(Widget, {
  --- -<String> accessibleName
  --- What a screen reader says: the label, the title, the label that stands before, the placeholder, or the title of
  --- the window.
  --- > #Button{ title: 'Save' } accessibleName ⇒ 'Save'
  ["accessibleName"] = K.accessibleName,
  ["htmlChildren"] = function(self) local list = self:_inside() return K.array(list, #list) end,
  ["htmlRows"] = function(self)
    local rows = self:_rowsInside()
    for i = 1, #rows do rows[i] = K.array(rows[i], #rows[i]) end
    return K.array(rows, #rows)
  end,
  ["placedStyle"] = function(self)
    local width, height = extent(self)
    return string.format("width:%gpx;height:%gpx", width, height)
  end,
  -- A frame's origin is the bottom left, as in the original.
  ["frameStyle"] = function(self)
    local frame = self:frame()
    if frame == nil then return nil end
    local parent = rawget(self, "_parent")
    if parent and parent:isPlaced() then
      return string.format("left:%gpx;bottom:%gpx;width:%gpx;height:%gpx", frame:x(), frame:y(), frame:width(), frame:height())
    end
    return string.format("width:%gpx;height:%gpx", frame:width(), frame:height())
  end,
  -- Whether it stands beside another window.
  ["isDialog"] = function(self) return rawget(self, "_owner") ~= nil end,
  -- A table in it is a region already.
  ["isRegion"] = function(self)
    local one = self:_inside()[1]
    return one == nil or one._view ~= "Table"
  end,
  ["htmlName"] = function(self) return "w" .. K.hash(self) end,
  ["htmlWidth"] = function(self)
    local most = 1
    for _, row in ipairs(self:_rowsInside()) do most = math.max(most, #row) end
    return most
  end,
  ["htmlMenus"] = function(self) local list = self:_menus() return K.array(list, #list) end,
})

-- Properties that follow ------------------------------------------------------------------------------

-- The property as a reference, perhaps through a block that makes another value of it.
local function live(self, name, block)
  local reference = K.propertyReference(self, name)
  if not block then return reference end
  local arity = K.blockArity(block)
  local function get()
    if arity == 0 then return block() end
    return block(K.readProperty(self, name))
  end
  return setmetatable({
    _scheme = "var", _path = name, _get = get, _observe = rawget(reference, "_observe"),
  }, classes.Reference._methods)
end

K.methods(Widget, {
  ["live:"] = function(self, name) return live(self, name) end,
  ["live:with:"] = live,
  -- The same for what seldom changes: followed only where it is a reference or a block.
  ["slot:with:"] = function(self, name, block)
    local given = K.givenProperty(self, name)
    if type(given) == "function" or K.isLiveReference(given) or name == "dialogs" then return live(self, name, block) end
    return block()
  end,
  -- And for what has a default: followed where it was given.
  ["given:"] = function(self, name)
    if K.givenProperty(self, name) == nil then return nil end
    return live(self, name)
  end,
})

-- Pictures --------------------------------------------------------------------------------------------

local starts = { { "\137PNG", "png" }, { "\255\216", "jpeg" }, { "GIF8", "gif" }, { "RIFF", "webp" } }
-- An address of the picture itself. Scripts of an SVG do not run in an image.
local function imageSource(self)
  local data = self._view == "Canvas" and K.str(self:svg()) or self:data()
  if data == nil or data == "" then return nil end
  local bytes = type(data) == "table" and data._isData and K.bytesOf(data, "data") or K.str(data)
  local kind = "svg+xml"
  for _, one in ipairs(starts) do
    if string.sub(bytes, 1, #one[1]) == one[1] then kind = one[2] end
  end
  return K.rawText("data:image/" .. kind .. ";base64," .. classes.String._methods.base64(bytes))
end
K.methods(K.classes.Image, { ["imageSource"] = imageSource })
K.methods(K.classes.Canvas, {
  ["imageSource"] = imageSource,
  -- The place in a picture that a browser sends with a form; the origin is at the top left, as in SVG.
  ["userPoint:"] = function(self, fields)
    local function number(name) return tonumber(K.str(fields:at_(name) or "")) or 0 end
    K.userEvent(self, "point", K.point(number("at.x"), number("at.y")))
    return self
  end,
})

-- Tables ------------------------------------------------------------------------------------------------

-- Rows of a table that a page shows; buttons turn to others.
local ROWS = 200
K.nilKeys._first = true
local Table = K.classes.Table
local function firstOf(self)
  local first = rawget(self, "_first") or 0
  return math.max(0, math.min(first, #self:items() - 1))
end
K.methods(Table, {
  ["isSelectable"] = function(self)
    for _, name in ipairs { "value", "selection", "change", "theAction", "click" } do
      if K.givenProperty(self, name) ~= nil then return true end
    end
    return rawget(self, "_actions") ~= nil
  end,
  ["htmlTitles"] = function(self)
    local titles, isNamed = {}, false
    for i, one in ipairs(self:_columns()) do
      titles[i] = one.title
      isNamed = isNamed or one.title ~= ""
    end
    return isNamed and K.array(titles, #titles) or nil
  end,
  ["htmlItems"] = function(self)
    local rows = self:_cells(firstOf(self), ROWS)
    for i = 1, #rows do rows[i] = K.array(rows[i], #rows[i]) end
    return K.array(rows, #rows)
  end,
  ["htmlFirst"] = firstOf,
  ["htmlMore"] = function(self)
    local count, first = #self:items(), firstOf(self)
    if count <= ROWS then return nil end
    return string.format("%d–%d of %d", first + 1, math.min(first + ROWS, count), count)
  end,
  ["turnPage:"] = function(self, pages)
    rawset(self, "_first", math.max(0, firstOf(self) + pages * ROWS))
    K.notifyProperty(self, "items")
  end,
})

-- What the browser says the user did.
K.methods(Control, {
  ["user:with:"] = function(self, event, value)
    K.userEvent(self, event, value)
    return self
  end,
  ["user:"] = function(self, event)
    K.userEvent(self, event)
    return self
  end,
})
