-- All rows of a query at once: `books[{ stock = 0 }] removeAll`, `… updateAll: #{ stock: 9 }`, or those that it answers,
-- `(mails first: 10) takeAll`, `… updateAll: #{ stock: 9 } returning: 'title'`; and what the database is asked: `sql`,
-- `explain`.
local K = ...
local type, ipairs = type, ipairs
local native, throw, NULL = K.native, K.throw, K.NULL
local Rows = K.classes.Rows

local hints = {
  removeAll = "removeEveryRow says so", takeAll = "say how many at once: (rows first: 1000) takeAll",
}

-- The rows that a query picks by conditions and a number, as natives take them.
local function picked(self, selector, every)
  local query = self._query
  if not rawget(self, "_store") or not query then
    throw("unsupported", selector .. " needs rows of a table; these were read already",
      { i_hint = "send it to the query: `books[{ … }] " .. selector .. "`" })
  end
  if query.offset or query.fields or query.many then
    throw("unsupported", selector .. " is for rows that conditions and first: pick; these are cut by skip:, columns: or include:",
      { i_hint = "pick them by their keys: `ids ← rows collect: 'id'. books[{ ids includes: id }] " .. selector .. "`" })
  end
  if not query.filter and not query.limit and not every then
    throw("unsupported", selector .. " would change every row of the table, because the query has no condition",
      { i_hint = hints[selector] or "updateEveryRow: says so" })
  end
  return { filter = query.filter, relations = query.relations, limit = query.limit, sort = query.limit and query.sort }
end

local function removing(selector, every)
  return function(self)
    return native.changeAll(self._store, self._path, self._scheme, picked(self, selector, every), nil)
  end
end

-- Fields and their expressions: of a dictionary, or of the block that computes one from the row.
local function assignments(self, changes, data, selector)
  local sets = {}
  if type(changes) == "table" and changes._isDictionary then
    if changes._sent then
      throw("invalid", selector .. " takes no record that a client sent", { i_hint = "name the fields that it may set" })
    end
    local keys = K.keysOf(changes)
    for i = 1, changes._n do
      local value = changes:at_(keys[i])
      if value == nil then value = NULL else value = K.keyOfRow(value) end
      sets[#sets + 1], sets[#sets + 2] = K.str(keys[i]), { "value", value }
    end
  elseif type(changes) == "function" then
    if type(data) == "function" then data = data() end
    if type(data) ~= "table" or data[1] ~= "record" then
      local reason = type(data) == "string" and string.byte(data) == 63 and string.sub(data, 2)
        or "its block answers no dictionary of fields"
      throw("notTranslated", string.format("%s cannot run in the database: %s", selector, reason),
        { i_hint = "write { :row | #{ stock: row stock - 1 } }" })
    end
    for i = 2, #data do sets[i - 1] = data[i] end
    for i = 2, #sets, 2 do
      K.eachField(sets[i], function(path)
        if string.find(path, ".", 1, true) then
          throw("notTranslated", selector .. " computes from the fields of the row itself, not of related ones")
        end
      end)
    end
  else
    throw("typeError", string.format("%s expects a dictionary of fields, or a block that answers one, got %s", selector,
      K.nameOf(changes)))
  end
  if #sets == 0 then throw("invalid", selector .. " names no field to set") end
  return sets
end

local function updating(selector, every)
  return function(self, changes, data)
    local query = picked(self, selector, every)
    return native.changeAll(self._store, self._path, self._scheme, query, assignments(self, changes, data, selector))
  end
end

-- Changed rows that are answered ----------------------------------------------------------------------

-- The names of fields by which the answer is ordered: those of the query, then the key. Nil where there are others.
local function orderOf(self)
  local names = {}
  for i, key in ipairs(self._query.sort or {}) do
    if type(key) ~= "string" or string.find(key, ".", 1, true) then
      throw("notTranslated", "rows that are changed and answered are sorted by fields of their own",
        { i_hint = "sort the answer: `rows takeAll sorted: { :a :b | … }`" })
    end
    names[i] = key
  end
  for _, key in ipairs(self._of and K.keysOfClass(self._of) or {}) do names[#names + 1] = key end
  return names
end

-- What is asked for beside the fields of the answer.
local function fieldsWith(wanted, order)
  local names, known = {}, {}
  local function add(name)
    if not known[name] then
      known[name] = true
      names[#names + 1] = name
    end
  end
  for _, name in ipairs(wanted) do add(name) end
  for _, name in ipairs(order) do add((string.gsub(name, "^%-", ""))) end
  return names
end

-- Changes rows and answers them, in the order of the query.
local function answered(self, query, sets, wanted)
  local order = orderOf(self)
  query.fields = fieldsWith(wanted, order)
  local list = native.changeAll(self._store, self._path, self._scheme, query, sets)
  return #order > 0 and list:sorted_(K.array(order)) or list
end

-- All fields of a row.
local function everyField(self) return self._of and K.columnsOfClass(self._of) or { "*" } end

-- Objects of the class, or records.
local function rowsOf(self, list)
  local class = self._of
  if not class then return list end
  list = K.instantiate(list, class._name)
  if self._place and #K.relationsOfClass(class) > 0 then K.batchOf(class, self._place, list) end
  return list
end

local function takeAll(self)
  return rowsOf(self, answered(self, picked(self, "takeAll"), nil, everyField(self)))
end

-- `returning: 'title'` answers values, `[ 'id', 'title' ]` records, and `'*'` the rows.
local function returning(selector, every)
  return function(self, changes, fields, data)
    local query = picked(self, selector, every)
    local sets = assignments(self, changes, data, selector)
    if fields == "*" then return rowsOf(self, answered(self, query, sets, everyField(self))) end
    local isList = type(fields) == "table" and fields._isArray
    local names = {}
    for i, name in ipairs(isList and fields or { fields }) do names[i] = K.expectText(name, "returning:") end
    local list = answered(self, query, sets, names)
    for i = 1, #list do
      local record, values = list[i], {}
      for j, name in ipairs(names) do
        local value = K.fieldValue(record:at_(name), self._of and self._of._types[name])
        values[2 * j - 1], values[2 * j] = name, value
        if value == nil then values[2 * j] = NULL end
      end
      list[i] = values[2]
      if isList then list[i] = K.newDictionary() end
      for j = 1, isList and #values or 0, 2 do list[i]:at_put_(values[j], values[j + 1]) end
    end
    return list
  end
end

local function asking(plan)
  return function(self)
    if not rawget(self, "_store") then throw("unsupported", "rows that were read have no statement") end
    return native.explain(self._store, self._path, self._scheme, self._query, plan)
  end
end

K.methods(Rows, {
  --- -<Number> removeAll
  --- DatabaseTable -<Number> removeAll
  --- Deletes the rows of the query with one statement, and answers their number. Without a condition and `first:` it is
  --- an error: `removeEveryRow` says that all rows are meant.
  --- > books := ref:sqlite:shop.db/books table. books[{ year < 1850 }] removeAll
  ["removeAll"] = removing("removeAll"),
  --- -<Number> removeEveryRow
  --- DatabaseTable -<Number> removeEveryRow
  --- Deletes the rows of the query, also those of a query without a condition, and answers their number.
  --- > books := ref:sqlite:shop.db/books table. books removeEveryRow
  ["removeEveryRow"] = removing("removeEveryRow", true),
  --- -<Number> updateAll:<Dictionary|Block(row)>changes
  --- Changes the rows of the query with one statement, and answers their number. The changes are a dictionary of
  --- fields, or a block that answers one, computed from the row as it was. Without a condition it is an error.
  --- > books := ref:sqlite:shop.db/books table. books[{ stock > 0 }] updateAll: { :book | #{ stock: book stock - 1 } }
  ["updateAll:"] = updating("updateAll:"),
  --- -<Number> updateEveryRow:<Dictionary|Block(row)>changes
  --- DatabaseTable -<Number> updateEveryRow:<Dictionary|Block(row)>changes
  --- Changes the rows of the query as `updateAll:` does, also those of a query without a condition, and answers their
  --- number.
  --- > books := ref:sqlite:shop.db/books table. books updateEveryRow: #{ stock: 0 }
  ["updateEveryRow:"] = updating("updateEveryRow:", true),
  --- -<Array> takeAll
  --- DatabaseTable -<Array> takeAll
  --- Deletes the rows of the query and answers them, in its order, with one statement: each row is taken once, also by
  --- several processes. Without a condition and `first:` it is an error.
  --- > jobs := ref:sqlite:shop.db/jobs table. ((jobs sorted: 'id') first: 10) takeAll
  ["takeAll"] = takeAll,
  --- -<Array> updateAll:<Dictionary|Block(row)>changes returning:<String|Array>fields
  --- Changes the rows of the query as `updateAll:` does, and answers the values of a field, records of several, or for
  --- '*' the rows.
  --- > books := ref:sqlite:shop.db/books table. books[{ stock = 1 }] updateAll: #{ stock: 0 } returning: [ 'id' ]
  ["updateAll:returning:"] = returning("updateAll:"),
  --- -<Array> updateEveryRow:<Dictionary|Block(row)>changes returning:<String|Array>fields
  --- DatabaseTable -<Array> updateEveryRow:<Dictionary|Block(row)>changes returning:<String|Array>fields
  --- Changes the rows as `updateEveryRow:` does, and answers the values of a field, records of several, or for '*' the
  --- rows.
  --- > books := ref:sqlite:shop.db/books table. books updateEveryRow: #{ stock: 0 } returning: 'id'
  ["updateEveryRow:returning:"] = returning("updateEveryRow:", true),
  --- -<Dictionary> sql
  --- DatabaseTable -<Dictionary> sql
  --- The SQL of the query: its `statement` and its `parameters`. The query does not run.
  --- > books := ref:sqlite:shop.db/books table. books[{ year < 1850 }] sql at: 'statement'
  ["sql"] = asking(false),
  --- -<String> explain
  --- DatabaseTable -<String> explain
  --- The plan of the database for the query (`EXPLAIN`). The query does not run.
  --- > books := ref:sqlite:shop.db/books table. books[{ year < 1850 }] explain
  ["explain"] = asking(true),
})

-- Messages that change an array would change a copy of the rows, and the table not.
for _, selector in ipairs {
  "add:", "addObject:", "push:", "addLast:", "addFirst:", "addAll:", "addObjectsFromArray:", "insertObject:atIndex:",
  "insert:at:", "add:at:", "at:put:", "removeObjectAtIndex:", "removeAt:", "removeObject:", "remove:", "removeLast",
  "removeLastObject", "pop", "removeFirst", "removeAllObjects", "removeAll:", "setArray:", "swap:with:", "sort", "sort:",
} do
  K.method(Rows, K.mangle(selector), function()
    throw("unsupported", string.format("%s does not change the rows of a table", selector),
      { i_hint = "the table has insert:, removeAt: and updateAll:, a query removeAll and updateAll:; `asArray` makes a copy" })
  end)
end
