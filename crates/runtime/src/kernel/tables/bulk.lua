-- All rows of a query at once: `books[{ stock = 0 }] removeAll`, `… updateAll: #{ stock: 9 }`; and what the database is
-- asked: `sql`, `explain`.
local K = ...
local type = type
local native, throw, NULL = K.native, K.throw, K.NULL
local Rows = K.classes.Rows

-- The rows that a query picks by conditions alone, as natives take them.
local function picked(self, selector, every)
  local query = self._query
  if not rawget(self, "_store") or not query then
    throw("unsupported", selector .. " needs rows of a table; these were read already",
      { i_hint = "send it to the query: `books[{ … }] " .. selector .. "`" })
  end
  if query.limit or query.offset or query.fields then
    throw("unsupported", selector .. " is for rows that conditions pick; these are cut by first:, skip: or columns:",
      { i_hint = "pick them by their keys: `ids ← rows collect: 'id'. books[{ ids includes: id }] " .. selector .. "`" })
  end
  if not query.filter and not every then
    throw("unsupported", selector .. " would change every row of the table, because the query has no condition",
      { i_hint = selector == "removeAll" and "removeEveryRow says so" or "updateEveryRow: says so" })
  end
  return { filter = query.filter, relations = query.relations }
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

local function asking(plan)
  return function(self)
    if not rawget(self, "_store") then throw("unsupported", "rows that were read have no statement") end
    return native.explain(self._store, self._path, self._scheme, self._query, plan)
  end
end

K.methods(Rows, {
  ["removeAll"] = removing("removeAll"), ["removeEveryRow"] = removing("removeEveryRow", true),
  ["updateAll:"] = updating("updateAll:"), ["updateEveryRow:"] = updating("updateEveryRow:", true),
  ["sql"] = asking(false), ["explain"] = asking(true),
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
