-- To-many relations: the rows of another table that refer to a row. `author books` is a query; rows that were read
-- together share its statement, with every condition and order that is put to it.
local K = ...
local type, rawget, rawequal, rawset, getmetatable = type, rawget, rawequal, rawset, getmetatable
local next, pairs, ipairs = next, pairs, ipairs
local concat, format = table.concat, string.format

-- Different queries over related rows that a result remembers.
local QUERIES = 20

K.nilKeys._many, K.nilKeys._beside = true, true

-- The rows that refer to a row of a batch, as a query. `_many` says of which row, so that others can share it.
local function manyRows(batch, name, row)
  local many = K.manyOfClass(batch.class)[name]
  local value = many and rawget(row, K.ivarKey(many.key))
  if value == nil then return nil end
  local base = { "=", many.field, value }
  local rows = K.rowsBeside(batch.place, many.class, { filter = base })
  rows._many = { batch = batch, name = name, many = many, key = value, base = base }
  return rows
end
K.readsMany(manyRows)

-- Data as text, the same for what means the same; nil where a value is more than plain. `base` is the same for all.
local function textOf(data, base)
  if rawequal(data, base) then return "*" end
  local kind = type(data)
  if kind == "string" then return format("%d:%s", #data, data) end
  if kind == "number" then return format("%.17g", data) end
  if kind == "boolean" or rawequal(data, K.NULL) then return data == true and "t" or data == false and "f" or "n" end
  if kind ~= "table" or getmetatable(data) ~= nil and not data._isArray then return nil end
  local parts = {}
  for i = 1, #data do
    parts[i] = textOf(data[i], base)
    if not parts[i] then return nil end
  end
  return "(" .. concat(parts, ",") .. ")"
end

-- The condition with another one in the place of `base`, which stands leftmost.
local function replaced(filter, base, other)
  if rawequal(filter, base) then return other end
  return { "and", replaced(filter[2], base, other), filter[3] }
end

-- The keys of rows, each once.
local function keysOf(rows, key)
  local keys, seen, ivar = {}, {}, K.ivarKey(key)
  for _, row in pairs(rows) do
    local value = rawget(row, ivar)
    if value ~= nil and not seen[K.key(value)] then
      seen[K.key(value)] = true
      keys[#keys + 1] = value
    end
  end
  return keys
end

-- Reads the rows that refer to these keys, or counts them: by key.
local function readAll(place, many, keys, query, base, isCount)
  local found = {}
  K.inParts(keys, function(part)
    for i = 1, #part do found[K.key(part[i])] = isCount and 0 or {} end
    local asked = {}
    for name, value in pairs(query) do asked[name] = value end
    asked.filter = replaced(query.filter, base, { "in", many.field, part })
    if isCount then
      local by = { "field", many.field }
      asked.sort, asked.group, asked.columns = nil, { by }, { "key", by, "n", { "count" } }
      local groups = K.rowsBeside(place, many.class, asked, true):asArray()
      for i = 1, #groups do found[K.key(groups[i]:at_("key"))] = groups[i]:at_("n") end
      return
    end
    local rows, field = K.rowsBeside(place, many.class, asked):asArray(), K.ivarKey(many.field)
    for i = 1, #rows do
      local list = found[K.key(rawget(rows[i], field))]
      list[#list + 1] = rows[i]
    end
  end)
  return found
end

-- The rows of a query over related rows, or their number, read for all rows of the result with one statement; nil where
-- the query is for one row alone.
function K.readTogether(rows, isCount)
  local of, query = rows._many, rows._query
  local batch = of and of.batch
  if not of or batch.single or query.limit or query.offset or query.fields or query.columns or query.many then return nil end
  local filter, order = textOf(query.filter, of.base), textOf(query.sort or {})
  if not filter or not order then return nil end
  local shared = batch.shared
  if not shared then
    shared = { count = 0 }
    batch.shared = shared
  end
  local slot = (isCount and "#" or "") .. of.name .. filter .. order
  if not shared[slot] then
    local first = next(batch.rows)
    if first == nil or next(batch.rows, first) == nil or shared.count >= QUERIES then return nil end
    shared.count = shared.count + 1
    shared[slot] = readAll(batch.place, of.many, keysOf(batch.rows, of.many.key), query, of.base, isCount)
  end
  local found = shared[slot][K.key(of.key)]
  if isCount or found == nil then return found end
  local copy = {}
  for i = 1, #found do copy[i] = found[i] end
  return K.array(copy)
end

-- Counts a statement for a single row, for the warning of N+1 statements.
function K.readAlone(rows)
  local of = rows._many
  if of then K.countAlone(of.batch, of.name) end
end

-- The rows of a list of paths to-one, from those of a result.
local function rowsAt(rows, class, path)
  for step in string.gmatch(path, "[^.]+") do
    local inner, ivar = {}, K.ivarKey(step)
    for i = 1, #rows do
      local value, batch = rawget(rows[i], ivar), rows[i]._batch
      local row = value ~= nil and batch.related(batch, step, ivar, value)
      if type(row) == "table" then inner[#inner + 1] = row end
    end
    rows, class = inner, K.relatedClass(class, step)
  end
  return rows, class
end

-- `authors include: 'books'`: the lists of related rows are set as variables of the rows.
function K.includeMany(list, class, place, entries)
  local done = {}
  for _, entry in ipairs(entries) do
    local path = entry.prefix .. "." .. entry.name
    if not done[path] then
      done[path] = true
      local rows, owner = rowsAt(list, class, entry.prefix)
      local many, within = K.manyOfClass(owner)[entry.name], {}
      for _, other in ipairs(entries) do
        if other.prefix .. "." .. other.name == path then within[#within + 1] = other.rest end
      end
      local base = {}
      local query = { filter = base }
      if #within > 0 then K.includeRelations(many.class, query, within) end
      local found = readAll(place, many, keysOf(rows, many.key), query, base)
      for i = 1, #rows do
        local value = rawget(rows[i], K.ivarKey(many.key))
        if value ~= nil then rawset(rows[i], K.ivarKey(entry.name), K.array(found[K.key(value)])) end
      end
    end
  end
end

-- A row as a record with the rows that were included: what a client gets. Without a row its record has no values, as the
-- database writes it.
local function recordOf(row, class)
  local record, batch = K.newDictionary(), row._batch
  local included = batch and batch.included or {}
  for _, name in ipairs(class._ivars) do
    local value, many = rawget(row, K.ivarKey(name)), K.manyOfClass(class)[name]
    if many and value ~= nil then
      local list = {}
      for i = 1, #value do list[i] = recordOf(value[i], many.class) end
      record:at_put_(name, K.array(list))
    elseif included[name] then
      local other = K.relatedClass(class, name)
      local found = value ~= nil and batch.related(batch, name, K.ivarKey(name), value)
      record:at_put_(name, recordOf(found or {}, other))
    elseif not many then
      record:at_put_(name, value == nil and K.NULL or value)
    end
  end
  return record
end

function K.includedRecords(list, class)
  local records = {}
  for i = 1, #list do records[i] = recordOf(list[i], class) end
  return K.array(records)
end
