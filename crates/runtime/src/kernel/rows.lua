-- Tables of databases, and rows that are read when they are wanted and not before.
local K = ...
local type, rawget, setmetatable = type, rawget, setmetatable
local native = K.native
local Store = K.classes.Store

-- Rows: lazy content of a store. Handed back to a client it never becomes objects; asked by the
-- program it becomes an array.
local Rows = K.newClass("Rows", K.classes.Object)
K.nilKeys._loaded, K.nilKeys._table, K.nilKeys._query, K.nilKeys._element = true, true, true, true

local function loaded(self)
  local list = rawget(self, "_loaded")
  if list then return list end
  list = native.lazyValue(self._native)
  if rawget(self, "_element") and list then list = K.instantiate(list, self._element) end
  self._loaded = list
  return list
end

function K.makeLazy(inner)
  return setmetatable({ _native = inner }, Rows._methods)
end

local function refined(self, change)
  if not rawget(self, "_table") then return nil end
  local query = {}
  for key, value in pairs(self._query) do query[key] = value end
  change(query)
  return K.runQuery(self._table, query)
end

-- A query on a table: filter, sort, limit, offset, fields.
function K.runQuery(tableStore, query)
  local rows = native.query(tableStore, "", query.filter, query.sort, query.limit, query.offset, query.fields, query.count)
  if type(rows) ~= "table" or not rawget(rows, "_native") then return rows end
  rows._table, rows._query, rows._element = tableStore, query, tableStore.i_class and tableStore.i_class._name
  return rows
end

local function both(query, filter)
  query.filter = query.filter and { "and", query.filter, filter } or filter
end

K.methods(Rows, {
  ["asArray"] = loaded,
  ["do:"] = function(self, block) return loaded(self):do_(block) end,
  ["count"] = function(self)
    return refined(self, function(query) query.count = true end) or #loaded(self)
  end,
  ["sorted:"] = function(self, key)
    local refinedRows = type(key) == "string" and rawget(self, "_loaded") == nil and refined(self, function(query)
      query.sort = K.array({ key }, 1)
    end)
    return refinedRows or loaded(self):sorted_(key)
  end,
  ["first:"] = function(self, count)
    return refined(self, function(query) query.limit = count end) or loaded(self):first_(count)
  end,
  ["skip:"] = function(self, count) return refined(self, function(query) query.offset = count end) end,
  ["columns:"] = function(self, names) return refined(self, function(query) query.fields = names end) end,
  ["select:"] = function(self, block, data)
    return data and refined(self, function(query) both(query, data) end) or loaded(self):select_(block)
  end,
  ["description"] = function(self) return K.str(loaded(self)) end,
  ["stringValue"] = function(self) return K.str(loaded(self)) end,
  ["isEqual:"] = function(self, other) return K.eq(loaded(self), other) end,
})
K.method(Rows, "_isCollection", true)
K.method(Rows, "_elements", loaded)

-- What an array understands, rows do: they are read for it.
for name, method in pairs(K.classes.Array._methods) do
  local ofAll = rawget(K.classes.Object._methods, name) == method
  if type(method) == "function" and not ofAll and rawget(Rows._own, name) == nil and string.find(name, "^%a") then
    K.method(Rows, name, function(self, a, b, c)
      local list = loaded(self)
      return list[name](list, a, b, c)
    end)
  end
end

-- A table of a database, with the class of its rows.
local Table = K.newClass("Table", Store)
K.alias("MPWSQLTable", Table)
for _, name in ipairs { "db", "name", "class", "tableClass" } do K.ivar(Table, name) end

-- What a class's instances look like to a store: names and types.
function K.shapeOf(class)
  local names, kinds = {}, {}
  for i, name in ipairs(class._ivars) do
    names[i] = name
    kinds[name] = class._types[name] or "any"
  end
  return K.dictionary(names, kinds, #names)
end

local Native = K.classes.NativeStore
K.methods(Native, {
  ["table:"] = function(self, class) return self:table_named_(class, "") end,
  ["table:named:"] = function(self, class, name)
    local inner = native.define(self, name, K.shapeOf(class), class._name)
    return setmetatable({ _native = inner._native, i_class = class, i_db = self }, Table._methods)
  end,
})

local function key(id) return K.str(id) end

K.methods(Table, {
  ["class"] = function(self) return K.classOf(self) end,
  ["select"] = function(self) return K.runQuery(self, {}) end,
  ["all"] = function(self) return K.runQuery(self, {}) end,
  ["select:"] = function(self, block, data) return K.query(self, block, data) end,
  ["where:"] = function(self, block, data) return K.query(self, block, data) end,
  ["sorted:"] = function(self, field) return K.runQuery(self, {}):sorted_(field) end,
  ["first:"] = function(self, count) return K.runQuery(self, { limit = count }) end,
  ["count"] = function(self) return K.runQuery(self, { count = true }) end,
  ["do:"] = function(self, block) return self:select():do_(block) end,
  ["collect:"] = function(self, block) return self:select():asArray():collect_(block) end,
  ["insert:"] = function(self, object) return native.post(self._native, "", nil, nil, object) end,
  ["at:"] = function(self, id)
    local row = native.get(self._native, type(id) == "table" and id._isReference and id._path or key(id))
    if row == nil then return nil end
    if type(row) == "table" and rawget(row, "_native") then return row end
    return row
  end,
  ["at:put:"] = function(self, id, object) native.put(self._native, K.pathOf(id), nil, nil, object) return object end,
  ["at:merge:"] = function(self, id, object) return native.merge(self._native, K.pathOf(id), nil, nil, object) end,
  ["merge:at:"] = function(self, object, id) return native.merge(self._native, K.pathOf(id), nil, nil, object) end,
  ["update:"] = function(self, object) return native.merge(self._native, key(object:id()), nil, nil, object) end,
  ["removeAt:"] = function(self, id) return native.delete(self._native, key(id)) end,
  ["deleteAt:"] = function(self, id) return native.delete(self._native, K.pathOf(id)) end,
})

-- `table[{ done = false }]`: what the compiler could turn into data runs in the database.
K.method(Table, "query_with_", function(self, block, data)
  if data then return K.runQuery(self, { filter = data }) end
  return self:select():asArray():select_(block)
end)
K.method(Rows, "query_with_", function(self, block, data) return self:select_(block, data) end)
