-- Widgets that hold others: windows, stacks, grids; pictures, drawings, menus.
local K = ...
local type, rawget, rawset, ipairs = type, rawget, rawset, ipairs
local throw = K.throw
local Widget, Control = K.classes.Widget, K.classes.Control

local Container = K.widgetClass("Container", Widget, "VStack", { children = { "list" }, spacing = { "number" } })

-- A text, a number, a reference or a block among widgets is a label that shows it; an element stays.
local function asWidget(value, parent)
  if K.isWidget(value) then
    rawset(value, "_parent", parent)
    return value
  end
  local label = K.classes.Label:new()
  K.putProperty(label, "value", value)
  rawset(label, "_parent", parent)
  return label
end

-- The label of a child that is none itself, one for each child as long as it stays the same.
local function childOf(self, value, kept)
  if K.isWidget(value) then return asWidget(value, self) end
  local before = rawget(self, "_labels")
  local label = before and before[value] or asWidget(value, self)
  kept[value] = label
  return label
end
for _, key in ipairs { "_labels", "_before", "_isPlaced" } do K.nilKeys[key] = true end

local function widgets(self, list)
  local kept, out = {}, {}
  for i = 1, #list do
    local value = list[i]
    if value ~= nil and value ~= K.NULL and value ~= false and value ~= true then
      out[#out + 1] = childOf(self, value, kept)
    end
  end
  rawset(self, "_labels", kept)
  local isPlaced = #out > 0
  for i = 1, #out do
    rawset(out[i], "_before", out[i - 1])
    isPlaced = isPlaced and out[i]:frame() ~= nil
  end
  rawset(self, "_isPlaced", isPlaced)
  return out
end

-- The widgets inside, as a Lua table.
K.method(Widget, "_inside", function() return {} end)
K.method(Container, "_inside", function(self) return widgets(self, self:children()) end)

local function fromList(class, list)
  local object = class:new()
  K.putProperty(object, "children", list)
  return object
end
K.classMethods(Container, { ["fromArray:"] = fromList })

K.widgetClass("VStack", Container, "VStack", {}, { "VBox" })
K.widgetClass("HStack", Container, "HStack", {}, { "HBox" })

-- Rows of widgets in columns: `#Grid{ rows: [ [ a, b ], [ c, d ] ] }`.
local Grid = K.widgetClass("Grid", Widget, "Grid", { rows = { "list" }, spacing = { "number" } }, { "NSGridView" })
K.method(Grid, "_rowsInside", function(self)
  local rows, flat = self:rows(), {}
  local shape = {}
  for i = 1, #rows do
    local row = rows[i]
    if type(row) ~= "table" or K.isClass(row) or not row._isArray then row = { row } end
    shape[i] = #row
    for j = 1, #row do flat[#flat + 1] = K.isWidget(row[j]) and row[j] or (row[j] == K.NULL and "" or row[j]) end
  end
  local all, at, out = widgets(self, flat), 0, {}
  for i = 1, #shape do
    out[i] = {}
    for j = 1, shape[i] do out[i][j] = all[at + j] end
    at = at + shape[i]
  end
  return out
end)
K.method(Grid, "_inside", function(self)
  local list = {}
  for _, row in ipairs(self:_rowsInside()) do
    for _, one in ipairs(row) do list[#list + 1] = one end
  end
  return list
end)
K.classMethods(Grid, { ["fromArray:"] = function(class, list)
  local grid = class:new()
  K.putProperty(grid, "rows", list)
  return grid
end })

local Scroll = K.widgetClass("Scroll", Widget, "Scroll", { view = { "any" } }, { "NSScrollView" })
K.method(Scroll, "_inside", function(self)
  local view = self:view()
  return view == nil and {} or widgets(self, { view })
end)

local Window = K.widgetClass("Window", Container, "Window", {
  title = { "text", "" }, menu = { "menu" }, dialogs = { "list" }, closed = { "handler" },
}, { "NSWindow" })
K.propertyAlias(Window, "views", "children")
K.propertyAlias(Window, "view", "children")

K.methods(Widget, {
  -- Whether the widgets inside stand where their frames say: all of them have one.
  ["isPlaced"] = function(self)
    if rawget(self, "_isPlaced") == nil then self:_inside() end
    return rawget(self, "_isPlaced") == true
  end,
  -- The widget in an area of that size which scrolls.
  ["inScrollView:"] = function(self, frame)
    local scroll = Scroll:new()
    K.putProperty(scroll, "view", self)
    if frame ~= nil then K.putProperty(scroll, "frame", frame) end
    return scroll
  end,
})

-- A picture: `data` is PNG, JPEG or SVG; a file is read by the program: `#Image{ data: file:logo.png }`.
K.widgetClass("Image", Widget, "Image", { data = { "any" } }, { "NSImageView" })

K.propertyAlias(K.classes.Image, "value", "data")

-- A drawing in SVG, and where the user points. The size is that of its frame.
local Canvas = K.widgetClass("Canvas", Control, "Canvas", {
  svg = { "any", "" }, point = { "handler" }, secondary = { "handler" }, move = { "handler" },
}, { "MPWCanvasView" })
K.propertyAlias(Canvas, "value", "svg")
-- A point with 3 for the second button is of its own event.
K.method(Canvas, "_taken", function() end)
K.method(Canvas, "_eventValue", function(_, _, value) return value end)

-- Menus: `#Menu{ title: 'File', items: [ #MenuItem{ title: 'Close', click: { … } } ] }`.
K.widgetClass("MenuItem", Control, "MenuItem", { title = { "text", "" }, shortcut = { "text", "" } },
  { "NSMenuItem" })
-- A line between items.
K.widgetClass("Separator", Widget, "Separator", {}, {})
local Menu = K.widgetClass("Menu", Widget, "Menu", { title = { "text", "" }, items = { "list" } }, { "NSMenu" })
K.method(Menu, "_inside", function(self) return widgets(self, self:items()) end)
K.classMethods(Menu, { ["fromArray:"] = function(class, list)
  local menu = class:new()
  K.putProperty(menu, "items", list)
  return menu
end })
-- The menus of a window, as a Lua table.
K.method(Window, "_menus", function(self)
  local given = self:menu()
  if given == nil then return {} end
  local list = type(given) == "table" and given._isArray and given or { given }
  for i = 1, #list do
    if not K.isKind(list[i], Menu) then
      throw("typeError", "menu of a Window must be a Menu or an array of them, not " .. K.nameOf(list[i]))
    end
    rawset(list[i], "_parent", self)
  end
  return list
end)
