-- Widgets in a browser: each answers `asHtml`, elements that the views of `std/widgets.st` make.
local K = ...
local type, rawget, ipairs = type, rawget, ipairs
local classes = K.classes
local Widget, Control = classes.Widget, classes.Control

local function view(self)
  local views = K.standard("widgets.st")._views
  return views:at_(self._view)(self)
end
K.method(Widget, "asHtml", view)
-- What a server answers for a widget: a window is a page of its own, others stand in one.
function K.pageOfWidget(self)
  if not K.isKind(self, classes.Window) then
    local window = classes.Window:new()
    K.putProperty(window, "children", K.array { self })
    self = window
  end
  local page = K.standard("widgets.st")._views:at_("page")
  return page(self, K.classes.Raw:text_(K.native.standardFile and K.native.standardFile("widgets.css") or ""))
end

-- Where all views of a container have frames, they are placed by them.
local function isPlaced(self)
  local list = self:_inside()
  for _, one in ipairs(list) do
    if one:frame() == nil then return false end
  end
  return #list > 0
end
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
  ["accessibleName"] = K.accessibleName,
  ["htmlChildren"] = function(self) local list = self:_inside() return K.array(list, #list) end,
  ["htmlRows"] = function(self)
    local rows = self:_rowsInside()
    for i = 1, #rows do rows[i] = K.array(rows[i], #rows[i]) end
    return K.array(rows, #rows)
  end,
  ["isPlaced"] = isPlaced,
  ["placedStyle"] = function(self)
    local width, height = extent(self)
    return string.format("width:%gpx;height:%gpx", width, height)
  end,
  -- A frame's origin is the bottom left, as in the original.
  ["frameStyle"] = function(self)
    local frame = self:frame()
    if frame == nil then return nil end
    local parent = rawget(self, "_parent")
    if parent and isPlaced(parent) then
      return string.format("left:%gpx;bottom:%gpx;width:%gpx;height:%gpx", frame:x(), frame:y(), frame:width(), frame:height())
    end
    return string.format("width:%gpx;height:%gpx", frame:width(), frame:height())
  end,
  -- A property that may change is shown through its reference.
  ["live:"] = function(self, name) return K.propertyReference(self, name) end,
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
