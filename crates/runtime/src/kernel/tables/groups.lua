-- Groups of rows: `books groupBy: { :book | book year }`. What is computed of each group runs in the database; as a
-- dictionary of keys and rows they are read.
local K = ...
local type, rawget, setmetatable = type, rawget, setmetatable
local throw, NULL = K.throw, K.NULL

-- Of `_rows`, by the expression `_by`: `_having` and `_order` are data about groups, `_limit` a number.
--- Groups of the rows of a query (`GROUP BY`), as `groupBy:` answers them. As a dictionary of keys and arrays they read
--- their rows.
local Groups = K.newClass("RowGroups", K.classes.Object)
for _, key in ipairs { "_having", "_order", "_limit", "_rows", "_by", "_block" } do K.nilKeys[key] = true end
K.method(Groups, "_isCollection", true)

local function untranslated(selector, data)
  local reason = type(data) == "string" and string.byte(data) == 63 and string.sub(data, 2)
    or "its block is not written here"
  throw("notTranslated", string.format("%s of groups cannot run in the database: %s", selector, reason),
    { i_hint = "`asArray` before groupBy: reads the rows, and the rest runs in the program" })
end

local function groupsOf(rows, by, block)
  return setmetatable({ _rows = rows, _by = by, _block = block }, Groups._methods)
end

local function changed(self, name, value)
  local copy = groupsOf(self._rows, self._by, self._block)
  copy._having, copy._order, copy._limit = self._having, self._order, self._limit
  copy[name] = value
  return copy
end

-- Expressions of a group: `group key` and `group count` are fields to the compiler. Nil where there is another field.
local function expression(self, data)
  if type(data) == "string" then data = { "field", data } end
  local word = data[1]
  if word == "field" then
    if data[2] == "key" then return self._by end
    if data[2] == "count" or data[2] == "size" then return { "count" } end
    return nil
  end
  if word == "value" then return data end
  if word == "sum" or word == "average" or word == "min" or word == "max" or word == "countDistinct" then return data end
  local left = expression(self, data[2])
  if not left or data[3] == nil then return left and { word, left } end
  local right = expression(self, data[3])
  return right and { word, left, right }
end

-- A condition of a group, from the same data.
local function condition(self, data)
  local word = data[1]
  if word == "and" or word == "or" then
    local left, right = condition(self, data[2]), condition(self, data[3])
    return left and right and { word, left, right }
  end
  if word == "not" then
    local inner = condition(self, data[2])
    return inner and { "not", inner }
  end
  if word == "empty" then return condition(self, { "or", { "=", data[2], "" }, { "=", data[2], NULL } }) end
  if word == "in" or word == "any" or word == "none" then return nil end
  local computed = word == "test" or word == "match"
  local left = expression(self, computed and data[3] or { "field", data[2] })
  local right = expression(self, computed and data[4] or { "value", data[3] })
  if not left or not right then return nil end
  if computed then return { word, data[2], left, right } end
  local isText = word == "hasPrefix" or word == "hasSuffix" or word == "contains" or word == "containsString"
  return { isText and "match" or "test", word, left, right }
end

local function evaluated(data)
  if type(data) == "function" then return data() end
  return data
end

-- How the values of a column are read: what the database carries as text becomes what the class declares.
local function reader(class, data)
  local kind = K.expressionKind(class, data)
  if (data[1] == "sum" or data[1] == "average") and kind == "decimal" then
    return function(value) return type(value) == "string" and K.decimalFromText(value) or value end
  end
  if kind == "date" then return function(value) return K.fieldValue(value, kind) end end
end

-- Asks for columns of each group: names and expressions, one after the other.
local function ask(self, columns)
  local rows, query = self._rows, {}
  local class = rows._of
  for key, value in pairs(rows._query) do query[key] = value end
  query.sort, query.group, query.columns = self._order, { self._by }, columns
  query.having, query.limit = self._having, self._limit
  K.addRelations(class, query, self._by)
  for i = 2, #columns, 2 do K.addRelations(class, query, columns[i]) end
  if self._having then K.addRelations(class, query, self._having) end
  for _, key in ipairs(self._order or {}) do K.addRelations(class, query, key[1]) end
  local list = K.rowsOf(rows._store, rows._path, rows._scheme, nil, query):asArray()
  for i = 1, #columns, 2 do
    local read = reader(class, columns[i + 1])
    for j = 1, read and #list or 0 do
      local value = list[j]:at_(columns[i])
      if value ~= nil then list[j]:at_put_(columns[i], read(value)) end
    end
  end
  return list
end

local function collect(self, block, data)
  if type(block) == "string" then data = { "field", block } end
  data = evaluated(data)
  if data == nil or type(data) == "string" and string.byte(data) == 63 then
    untranslated("collect:", "?what its block answers is nothing that a database computes")
  end
  if type(data) == "table" and data[1] == "record" then
    local columns = {}
    for i = 2, #data, 2 do
      local computed = expression(self, data[i + 1])
      if not computed then untranslated("collect:", "?a group has no single " .. K.str(data[i + 1][2])) end
      columns[i - 1], columns[i] = data[i], computed
    end
    return ask(self, columns)
  end
  local computed = expression(self, data)
  if not computed then untranslated("collect:", "?a group has no single " .. K.str(data[2] or data)) end
  local list = ask(self, { "value", computed })
  for i = 1, #list do
    local value = list[i]:at_("value")
    if value == nil then value = NULL end
    list[i] = value
  end
  return list
end

local function picking(selector, wanted)
  return function(self, _, data)
    data = evaluated(data)
    local having = type(data) == "table" and condition(self, data)
    if not having then untranslated(selector, data) end
    if not wanted then having = { "not", having } end
    if self._having then having = { "and", self._having, having } end
    return changed(self, "_having", having)
  end
end

local function sorted(self, block, data)
  if type(block) == "string" then data = block end
  data = evaluated(data)
  local descending = type(data) == "string" and string.byte(data) == 45
  if descending then data = string.sub(data, 2) end
  if data == nil or type(data) == "string" and string.byte(data) == 63 then untranslated("sorted:", data) end
  local by = expression(self, data)
  if not by then untranslated("sorted:", "?a group has no single " .. K.str(data[2] or data)) end
  return changed(self, "_order", { { by, descending } })
end

local function loaded(self)
  local groups = self._rows:asArray():groupBy_(self._block)
  if self._having or self._order or self._limit then
    throw("notTranslated", "what was chosen of the groups is not read as rows", { i_hint = "`collect:` asks for values of them" })
  end
  return groups
end

local function text(self)
  if self._having or self._order or self._limit then return "a RowGroups" end
  return K.str(loaded(self))
end

K.methods(Groups, {
  --- -<Array> collect:<Block(group)|String>block
  --- -<Array> map:<Block(group)|String>block
  --- Values of each group, computed in the database: its `key`, its `count`, sums and other aggregates, or a record of
  --- those. A block that the database cannot run is an error.
  --- > books := ref:sqlite:shop.db/books table. (books groupBy: 'year') collect: { :g | #{ year: g key, n: g count } }
  ["collect:"] = collect, ["map:"] = collect,
  --- -<RowGroups> select:<Block(group)>condition
  --- -<RowGroups> where:<Block(group)>condition
  --- -<RowGroups> filter:<Block(group)>condition
  --- The groups that meet a condition on their key and aggregates (`HAVING`).
  --- > books := ref:sqlite:shop.db/books table. ((books groupBy: 'year') select: { :g | g count > 1 }) keys
  ["select:"] = picking("select:", true), ["where:"] = picking("where:", true), ["filter:"] = picking("filter:", true),
  --- -<RowGroups> reject:<Block(group)>condition
  --- The groups that do not meet a condition on their key and aggregates.
  --- > books := ref:sqlite:shop.db/books table. ((books groupBy: 'year') reject: { :g | g count > 1 }) keys
  ["reject:"] = picking("reject:", false),
  --- -<RowGroups> sorted:<Block(group)|String>order
  --- The groups in the order of a value: 'key', 'count', with `-` in front for the largest first, or a block that
  --- computes it.
  --- > books := ref:sqlite:shop.db/books table. ((books groupBy: 'year') sorted: '-count') keys
  ["sorted:"] = sorted,
  --- -<RowGroups> first:<Number>count
  --- At most this many groups from the beginning.
  --- > books := ref:sqlite:shop.db/books table. (((books groupBy: 'year') sorted: '-count') first: 3) keys
  ["first:"] = function(self, number) return changed(self, "_limit", K.expectInteger(number, "first:")) end,
  --- -<Array> keys
  --- The value that the rows of each group share, in the order of the first rows of the groups.
  --- > books := ref:sqlite:shop.db/books table. (books groupBy: 'year') keys
  ["keys"] = function(self) return collect(self, "key") end,
  --- -<Number> count
  --- -<Number> size
  --- How many groups there are.
  --- > books := ref:sqlite:shop.db/books table. (books groupBy: 'year') count
  ["count"] = function(self) return #collect(self, "key") end,
  ["size"] = function(self) return #collect(self, "key") end,
  --- -<Boolean> isEmpty
  --- Whether there is no group.
  --- > books := ref:sqlite:shop.db/books table. (books groupBy: 'year') isEmpty
  ["isEmpty"] = function(self) return #collect(self, "key") == 0 end,
  --- -<Dictionary> asDictionary
  --- The groups as a dictionary of keys and arrays of rows; this reads the rows. It is an error after `select:`,
  --- `sorted:` and `first:`.
  --- > books := ref:sqlite:shop.db/books table. (books groupBy: 'year') asDictionary at: 1815
  ["asDictionary"] = loaded,
  --- -<String> description
  --- -<String> stringValue
  --- The dictionary of the groups as text; this reads the rows. After `select:`, `sorted:` and `first:` it is the name
  --- of the class.
  --- > books := ref:sqlite:shop.db/books table. (books groupBy: 'year') description
  ["description"] = text,
  ["stringValue"] = text,
})
K.method(Groups, "_json", function(self, out, n)
  out[n + 1] = K.json(loaded(self))
  return n + 1
end)

-- What else a dictionary understands, groups do: their rows are read for it.
rawset(Groups, "_standsFor", K.classes.Dictionary)
for name, method in pairs(K.classes.Dictionary._methods) do
  local ofAll = rawget(K.classes.Object._methods, name) == method
  if type(method) == "function" and not ofAll and rawget(Groups._own, name) == nil and string.find(name, "^%a") then
    K.method(Groups, name, function(self, a, b, c)
      local groups = loaded(self)
      return groups[name](groups, a, b, c)
    end)
  end
end

-- Of rows --------------------------------------------------------------------------------------------

local function groupBy(self, block, data)
  local by = K.groupedBy(self, block, data, "groupBy:")
  if not by then return self:asArray():groupBy_(block) end
  return groupsOf(self, by, block)
end

-- The different values of a column, in the order of the rows.
local function distinct(self, block, data)
  local by = K.groupedBy(self, block, data, "distinct:")
  if not by then return self:asArray():distinct_(block) end
  return groupsOf(self, by, block):keys()
end

K.methods(K.classes.Rows, {
  --- -<RowGroups|Dictionary> groupBy:<Block(row)|String>value
  --- DatabaseTable -<RowGroups|Dictionary> groupBy:<Block(row)|String>value
  --- -<RowGroups|Dictionary> groupedBy:<Block(row)|String>value
  --- DatabaseTable -<RowGroups|Dictionary> groupedBy:<Block(row)|String>value
  --- The rows in groups with the same value of a field or an expression (`GROUP BY`), as a query. Rows that were read,
  --- or cut by `first:`, become a dictionary of keys and arrays.
  --- > books := ref:sqlite:shop.db/books table. (books groupBy: 'year') collect: { :g | g count }
  ["groupBy:"] = groupBy, ["groupedBy:"] = groupBy,
  --- -<Array> distinct:<Block(row)|String>value
  --- DatabaseTable -<Array> distinct:<Block(row)|String>value
  --- The different values of a field or an expression, in the order of the rows; nil is one of them.
  --- > rows := ref:sqlite::memory: run: 'select 1 as n union select 2'. rows distinct: 'n' ⇒ [ 1, 2 ]
  ["distinct:"] = distinct,
})
