-- Tables: rows of items in columns. The items are a collection, or a reference to one; a row is shown when it is
-- wanted, so that a table of 100,000 items costs what is visible.
local K = ...
local type, rawget, rawset, ipairs = type, rawget, rawset, ipairs
local throw = K.throw
local Control = K.classes.Control

--- Table -<Array> items
--- Table -<Array> ref
--- Table -<self> setItems:<any>value
--- Table -<self> setRef:<any>value
--- The items, one for each row.
--- > #Table{ items: [ 'tea', 'milk' ] } items count ⇒ 2

--- Table -<any> columns
--- Table -<self> setColumns:<any>value
--- The columns: an array of names of properties, of Columns and of dictionaries with `title`, `value` and `set`; or a
--- class, whose variables they are. Nil takes those of the first item.
--- > #Table{ columns: [ 'name', 'age' ] } columns count ⇒ 2

--- Table -<Number?> value
--- The index of the chosen row, from 0; nil without one.
--- > #Table{ items: [ 'tea', 'milk' ] } value ⇒ nil

--- Table -<any> selection
--- Table -<self> setSelection:<any>value
--- The chosen item; nil without one.
--- > #Table{ items: [ 'tea', 'milk' ], value: 1 } selection ⇒ 'milk'

--- Table -<Boolean> editable
--- Table -<self> setEditable:<any>value
--- Whether the user can edit cells.
--- > #Table{} editable ⇒ false

--- Table -<any> edit
--- Table -<self> setEdit:<any>value
--- The handler of an edited cell, called with an array of row, column and text.
--- > #Table{ edit: { :cell | stdout println: cell } }

--- Table -<any> activate
--- Table -<self> setActivate:<any>value
--- The handler of a double click, or Return, on a row of a table that is not editable, called with the item; native
--- windows only.
--- > #Table{ activate: { :item | stdout println: item } }

--- Shows a collection in rows and columns, of which the user chooses a row. A table of a database is another class.
local Table = K.widgetClass("Table", Control, "Table", {
  items = { "list" }, columns = { "any" }, value = { "number" }, selection = { "any" }, editable = { "boolean", false },
  edit = { "handler" }, activate = { "handler" },
}, { "MPWTableView", "NSTableView" })
K.propertyAlias(Table, "ref", "items")

--- A column of a table: its title, what it shows of an item, and what editing a cell does.
local Column = K.newClass("Column", K.classes.Object)
Column._plainName = true
--- Column -<any> title
--- Column -<nothing> setTitle:<any>value
--- The title; nil for the name in `value`.
--- > #Column{ title: 'Name' } title ⇒ 'Name'

--- Column -<any> value
--- Column -<nothing> setValue:<any>value
--- What the column shows: a block that gets the item, or the name of a property.
--- > #Column{ value: 'name' } value ⇒ 'name'

--- Column -<any> set
--- Column -<nothing> setSet:<any>value
--- The block that gets the item and the new text of a cell; nil sets the property in `value`.
--- > #Column{ set: { :item :text | item setName: text } }
for _, name in ipairs { "title", "value", "set" } do K.ivar(Column, name) end

local function column(given)
  if type(given) == "table" and given._isDictionary then
    local map = given._map
    return { title = K.str(map.title or map.value or ""), value = map.value or map.title, set = map.set }
  end
  if K.isKind(given, Column) then
    return { title = K.str(given.i_title or given.i_value or ""), value = given.i_value or given.i_title, set = given.i_set }
  end
  return { title = K.str(given), value = K.str(given) }
end

-- The names of what a class or an item has, as columns.
local function columnsOf(thing)
  local list = {}
  if thing == nil then return list end
  if K.isClass(thing) then
    for i, name in ipairs(thing._ivars) do list[i] = column(name) end
    return list
  end
  if type(thing) == "table" and thing._isDictionary then
    thing:keysAndValuesDo_(function(key) list[#list + 1] = column(key) end)
    return list
  end
  local class = K.classOf(thing)
  if type(thing) == "table" and class and rawget(class, "_program") then return columnsOf(class) end
  if type(thing) == "table" and thing._isArray then
    for i = 1, #thing do list[i] = { title = "", value = i - 1 } end
    return list
  end
  return { { title = "" } }
end

-- The columns: given, else those of the class, else those of the first item.
K.method(Table, "_columns", function(self)
  local given = self:columns()
  if given == nil then
    local items = self:items()
    return columnsOf(#items > 0 and items:at_(0) or nil)
  end
  if K.isClass(given) then return columnsOf(given) end
  if type(given) ~= "table" or not given._isArray then
    throw("typeError", "columns of a Table must be an array or a class, not " .. K.nameOf(given),
      { i_hint = "write `columns: [ 'name', 'age' ]` or `columns: Person`" })
  end
  local list = {}
  for i = 1, #given do list[i] = column(given[i]) end
  return list
end)

-- The text of an item in a column.
local function cell(one, item)
  local what, value = one.value, item
  if type(what) == "function" then value = what(item)
  elseif type(what) == "number" then value = item:at_(what)
  elseif what ~= nil and what ~= "" then value = K.property(item, what) end
  if value == nil then return "" end
  return K.str(value)
end

-- The texts of rows: from the first, that many. More than this are not sent at once.
local MOST_ROWS = 1000
K.method(Table, "_cells", function(self, first, count)
  local items, columns, rows = self:items(), self:_columns(), {}
  first, count = math.max(first, 0), math.min(count, MOST_ROWS)
  for i = first, math.min(first + count, #items) - 1 do
    local row, item = {}, items:at_(i)
    for j = 1, #columns do row[j] = cell(columns[j], item) end
    rows[#rows + 1] = row
  end
  return rows
end)

local Popup = K.classes.PopUp
K.method(Table, "selection", Popup._methods.selection)
K.method(Table, "value", Popup._methods.value)
K.method(Table, "_taken", function(self, event, value)
  if event == "edit" then
    local row, at, text = value[1], value[2], value[3]
    local one, item = self:_columns()[at + 1], K.itemOfWidget(self, row)
    if one and item ~= nil then
      if one.set then one.set(item, text)
      elseif type(one.value) == "string" then K.setProperty(item, one.value, text) end
    end
    return K.notifyProperty(self, "items")
  end
  K.chooseItem(self, value)
end)
K.method(Table, "_eventValue", function(self, event, value)
  if event == "edit" then return K.array { value[1], value[2], value[3] } end
  return self:selection()
end)
-- A list of items that a program changes in place is shown again.
K.methods(Table, {
  --- Table -<self> reload
  --- Shows the items again, such as after the program changed them in place.
  --- > items := [ 'tea' ]. table := #Table{ items: items }. items add: 'milk'. table reload
  ["reload"] = function(self)
    K.notifyProperty(self, "items")
    return self
  end,
})

--- Table -<self> setValue:<any>value
--- Shows a collection as the items, and chooses the row of a number: `ref:tasks: → table` sends it.
--- > table := #Table{}. table setValue: [ 'tea', 'milk' ]. table items count ⇒ 2
K.method(Table, "setValue_", function(self, value)
  local isList = type(value) == "table" and not K.isClass(value) and value._isCollection
  K.putProperty(self, isList and "items" or "value", value)
  return self
end)
