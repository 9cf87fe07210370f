-- Widgets that hold others: windows, stacks, grids; pictures, drawings, menus.
local K = ...
local type, rawget, rawset, ipairs = type, rawget, rawset, ipairs
local throw = K.throw
local Widget, Control = K.classes.Widget, K.classes.Control

--- Container -<Array> children
--- Container -<self> setChildren:<any>value
--- The widgets inside, in order: also texts, numbers, references and blocks, which are shown as labels. A block makes
--- them again when what it reads changes.
--- > #VStack{ children: [ 'Name', #TextField{} ] } children count ⇒ 2

--- Container -<Number?> spacing
--- Container -<self> setSpacing:<any>value
--- The distance between the widgets inside, in pixels; nil for the usual one.
--- > #HStack{ spacing: 4 } spacing ⇒ 4

--- A widget with others inside.
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
K.classMethods(Container, {
  --- Container +<self> fromArray:<Array>widgets
  --- A container with these widgets inside: `#VStack[ … ]` sends it.
  --- > #VStack[ 'Name', #TextField{} ] children count ⇒ 2
  ["fromArray:"] = fromList,
})

--- Shows widgets below each other.
K.widgetClass("VStack", Container, "VStack", {}, { "VBox" })
--- Shows widgets beside each other.
K.widgetClass("HStack", Container, "HStack", {}, { "HBox" })

--- Grid -<Array> rows
--- Grid -<self> setRows:<any>value
--- The rows, each an array of widgets, texts, numbers, references and blocks.
--- > #Grid{ rows: [ [ 'Name', #TextField{} ] ] } rows count ⇒ 1

--- Grid -<Number?> spacing
--- Grid -<self> setSpacing:<any>value
--- The distance between rows and columns, in pixels; nil for the usual one.
--- > #Grid{ spacing: 4 } spacing ⇒ 4

--- Shows rows of widgets in columns: `#Grid[ [ a, b ], [ c, d ] ]`.
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
K.classMethods(Grid, {
  --- Grid +<self> fromArray:<Array>rows
  --- A grid of these rows: `#Grid[ … ]` sends it.
  --- > #Grid[ [ 'Name', #TextField{} ], [ 'Age', #NumberField{} ] ] rows count ⇒ 2
  ["fromArray:"] = function(class, list)
    local grid = class:new()
    K.putProperty(grid, "rows", list)
    return grid
  end,
})

--- Scroll -<any> view
--- Scroll -<self> setView:<any>value
--- The widget inside.
--- > #Scroll{ view: #TextView{} } view class ⇒ TextView

--- An area that scrolls the widget inside.
local Scroll = K.widgetClass("Scroll", Widget, "Scroll", { view = { "any" } }, { "NSScrollView" })
K.method(Scroll, "_inside", function(self)
  local view = self:view()
  return view == nil and {} or widgets(self, { view })
end)

--- Window -<String> title
--- Window -<self> setTitle:<any>value
--- The title of the window.
--- > #Window{ title: 'Hello' } title ⇒ 'Hello'

--- Window -<Array> views
--- Window -<Array> view
--- Window -<self> setViews:<any>value
--- Window -<self> setView:<any>value
--- The widgets inside: another name of `children`.
--- > #Window{ views: [ #Button{ title: 'OK' } ] } views count ⇒ 1

--- Window -<any> menu
--- Window -<self> setMenu:<any>value
--- A Menu, or an array of them; nil for none.
--- > #Window{} menu ⇒ nil

--- Window -<Array> dialogs
--- Window -<self> setDialogs:<any>value
--- The windows that are open beside this one.
--- > #Window{} dialogs ⇒ []

--- Window -<any> closed
--- Window -<self> setClosed:<any>value
--- The block that runs, with the window, when the window is closed.
--- > #Window{ closed: { :window | stdout println: 'bye' } }

--- A window, or a page in a browser.
local Window = K.widgetClass("Window", Container, "Window", {
  title = { "text", "" }, menu = { "menu" }, dialogs = { "list" }, closed = { "handler" },
}, { "NSWindow" })
K.propertyAlias(Window, "views", "children")
K.propertyAlias(Window, "view", "children")

K.methods(Widget, {
  --- -<Boolean> isPlaced
  --- Whether the widgets inside stand where their frames say: whether all of them have a frame.
  --- > #VStack[ #Button{ title: 'OK' } ] isPlaced ⇒ false
  ["isPlaced"] = function(self)
    if rawget(self, "_isPlaced") == nil then self:_inside() end
    return rawget(self, "_isPlaced") == true
  end,
  --- -<Scroll> inScrollView:<Rectangle?>frame
  --- The widget in an area of that size which scrolls.
  --- > (#TextView{} inScrollView: (0 @ 0 extent: 300 @ 200)) view class ⇒ TextView
  ["inScrollView:"] = function(self, frame)
    local scroll = Scroll:new()
    K.putProperty(scroll, "view", self)
    if frame ~= nil then K.putProperty(scroll, "frame", frame) end
    return scroll
  end,
})

--- Image -<any> data
--- Image -<any> value
--- Image -<self> setData:<any>value
--- Image -<self> setValue:<any>value
--- The bytes or the text of the picture, such as `file:logo.png`; nil for none.
--- > #Image{ data: '<svg/>' } data ⇒ '<svg/>'

--- A picture: PNG, JPEG, GIF, WebP or SVG.
K.widgetClass("Image", Widget, "Image", { data = { "any" } }, { "NSImageView" })

K.propertyAlias(K.classes.Image, "value", "data")

--- Canvas -<any> svg
--- Canvas -<any> value
--- Canvas -<self> setSvg:<any>value
--- Canvas -<self> setValue:<any>value
--- The drawing: SVG as text or as an element.
--- > #Canvas{} svg ⇒ ''

--- Canvas -<any> point
--- Canvas -<self> setPoint:<any>value
--- The handler of a press of the first button, called with the point.
--- > #Canvas{ point: { :at | stdout println: at } }

--- Canvas -<any> secondary
--- Canvas -<self> setSecondary:<any>value
--- The handler of a press of the second button, called with the point; native windows only.
--- > #Canvas{ secondary: { :at | stdout println: at } }

--- Canvas -<any> move
--- Canvas -<self> setMove:<any>value
--- The handler of each movement over the drawing, called with the point; native windows only.
--- > #Canvas{ move: { :at | stdout println: at } }

--- A drawing in SVG, and where the user points. The size is that of its frame.
local Canvas = K.widgetClass("Canvas", Control, "Canvas", {
  svg = { "any", "" }, point = { "handler" }, secondary = { "handler" }, move = { "handler" },
}, { "MPWCanvasView" })
K.propertyAlias(Canvas, "value", "svg")
-- A point with 3 for the second button is of its own event.
K.method(Canvas, "_taken", function() end)
K.method(Canvas, "_eventValue", function(_, _, value) return value end)

--- MenuItem -<String> title
--- MenuItem -<self> setTitle:<any>value
--- The text of the item.
--- > #MenuItem{ title: 'Close' } title ⇒ 'Close'

--- MenuItem -<String> shortcut
--- MenuItem -<self> setShortcut:<any>value
--- The key that chooses the item, such as `Ctrl+W`; empty for none.
--- > #MenuItem{} shortcut ⇒ ''

--- An item of a menu: `#MenuItem{ title: 'Close', click: { … } }`.
K.widgetClass("MenuItem", Control, "MenuItem", { title = { "text", "" }, shortcut = { "text", "" } },
  { "NSMenuItem" })
--- A line between the items of a menu.
K.widgetClass("Separator", Widget, "Separator", {}, {})
--- Menu -<String> title
--- Menu -<self> setTitle:<any>value
--- The title of the menu.
--- > #Menu{ title: 'File' } title ⇒ 'File'

--- Menu -<Array> items
--- Menu -<self> setItems:<any>value
--- The items: MenuItem, Separator, and menus below.
--- > #Menu{ items: [ #Separator{} ] } items count ⇒ 1

--- A menu of a window: `#Menu{ title: 'File', items: [ #MenuItem{ … } ] }`.
local Menu = K.widgetClass("Menu", Widget, "Menu", { title = { "text", "" }, items = { "list" } }, { "NSMenu" })
K.method(Menu, "_inside", function(self) return widgets(self, self:items()) end)
K.classMethods(Menu, {
  --- Menu +<self> fromArray:<Array>items
  --- A menu of these items, without a title: `#Menu[ … ]` sends it.
  --- > #Menu[ #MenuItem{ title: 'Close' } ] items count ⇒ 1
  ["fromArray:"] = function(class, list)
    local menu = class:new()
    K.putProperty(menu, "items", list)
    return menu
  end,
})
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
