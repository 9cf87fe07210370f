-- Many rows by their keys: `table atAll: keys`, and `table updateAll: tasks`, which changes all or none of them, in
-- one trip to the store; and `table upsert: task`, which changes a row or inserts it.
local K = ...
local type, rawequal, ipairs, error, unpack = type, rawequal, ipairs, error, unpack
local native, throw = K.native, K.throw
local NULL = K.NULL
local Table = K.classes.DatabaseTable

-- Records that are changed at once: they are read without a pause.
local MOST = 10000

-- A record that a client sent obeys the class of the table, which `update:` asks.
local function refuseSent(list)
  for i = 1, #list do
    local record = list[i]
    if record == nil or rawequal(record, NULL) then throw("nilValue", "nil is no record to update") end
    if type(record) == "table" and record._sent then
      throw("invalid", string.format("record %d was sent by a client", i), { i_hint = "update: changes one record" })
    end
  end
end

local function updateAll(self, records)
  if type(records) == "function" or type(records) == "table" and records._isDictionary then
    throw("unsupported", "updateAll: with fields is for rows that a condition picks",
      { i_hint = "write books[{ … }] updateAll: …, or updateEveryRow: for all of them" })
  end
  if type(records) ~= "table" or not records._isCollection then
    throw("typeError", "updateAll: expects a collection of records, got " .. K.nameOf(records),
      { i_hint = "update: changes one record" })
  end
  local list = records._isArray and records or records:asArray()
  if #list > MOST then
    throw("tooLarge", string.format("updateAll: changes at most %d records, and these are %d", MOST, #list),
      { i_hint = "change them in parts, in a transaction: where all or none are to be changed" })
  end
  refuseSent(list)
  list = K.storedAll(self, list)
  local count = #list
  if count > 0 then native.updateAll(self._native, list, count) end
  return count
end

-- Rows that are read without a pause.
local PART = 500

-- Rows that were read together load their relations together.
local function readTogether(self, rows)
  if self.i_class and self._place and #K.relationsOfClass(self.i_class) > 0 then K.batchOf(self.i_class, self._place, rows) end
  return rows
end

-- The rows of these keys in their order, nil where there is none.
local function atAll(self, keys)
  if type(keys) ~= "table" or not keys._isCollection then
    throw("typeError", "atAll: expects a collection of keys, got " .. K.nameOf(keys), { i_hint = "at: reads one row" })
  end
  local list = keys._isArray and keys or keys:asArray()
  local count, paths = #list, {}
  for i = 1, count do
    local key = list[i]
    if rawequal(key, NULL) then throw("nilValue", "nil is no key") end
    paths[i] = K.rowPath(key)
  end
  if count <= PART then return readTogether(self, native.getAll(self._native, paths, 1, count)) end
  local all = {}
  for first = 1, count, PART do
    local part = native.getAll(self._native, paths, first, math.min(first + PART - 1, count))
    for i = 1, #part do all[first + i - 1] = part[i] end
  end
  return readTogether(self, K.array(all))
end

-- Upserts -------------------------------------------------------------------------------------------

-- The names by which an upsert finds the row: those of a unique index, or of the key.
local function uniqueNames(self, by)
  local class = self.i_class
  if not class then
    throw("unsupported", "upsert: is for a table of a class, which says what is unique", { i_hint = "database table: Book" })
  end
  if by == nil then return K.keysOfClass(class) end
  local names = type(by) == "string" and { by } or by
  for _, wanted in ipairs { K.keysOfClass(class), unpack(K.uniqueOfClass(class)) } do
    local same = #wanted == #names
    for i = 1, #wanted do same = same and wanted[i] == names[i] end
    if same then return wanted end
  end
  throw("invalid", string.format("upsert:by: %s of %s is not unique, so that it names no single row", K.str(by), class._name),
    { i_hint = "mark the variable: `var <string unique> name`" })
end

-- Changes the row that has the same unique fields, or inserts the record. Answers whether it was inserted.
local function upsert(self, object, by)
  if type(object) ~= "table" or object._isArray then
    throw("typeError", "upsert: expects one record, got " .. K.nameOf(object))
  end
  if object._sent then
    throw("invalid", "upsert: takes no record that a client sent", { i_hint = "name its fields: #{ name: newValue name }" })
  end
  local names = uniqueNames(self, by)
  local record, filter, sets = K.fieldsRecord(object), nil, {}
  for _, name in ipairs(names) do
    local value = record:at_(name)
    if value == nil or rawequal(value, NULL) then
      throw("invalid", string.format("upsert: the record has no %s, which names its row", name))
    end
    local equal = { "=", name, K.keyOfRow(value) }
    filter = filter and { "and", filter, equal } or equal
  end
  local keys = K.keysOf(record)
  for i = 1, record._n do
    local name, isName = K.str(keys[i]), false
    for _, other in ipairs(names) do isName = isName or other == name end
    if not isName then
      local value = record:at_(keys[i])
      sets[#sets + 1], sets[#sets + 2] = name, { "value", value == nil and NULL or K.keyOfRow(value) }
    end
  end
  local function change()
    if #sets == 0 then return native.query(self._native, "", nil, { filter = filter }, true) > 0 end
    return native.changeAll(self._native, "", nil, { filter = filter }, sets) > 0
  end
  if change() then return false end
  local ok, failure = K.try(function()
    -- Within a transaction, a savepoint: what fails in it does not end the transaction.
    if native.isInTransaction() then return K.transaction(self, function() self:insert_(object) end) end
    self:insert_(object)
  end)
  if ok then return true end
  -- Another writer inserted the row between the change and the insertion.
  local met = type(failure) == "table" and failure._isError and K.str(failure.i_kind) == "conflict"
  if not met or not change() then error(failure, 0) end
  return false
end

K.methods(Table, {
  --- -<Number> updateAll:<any>records
  --- Changes the rows of the records by their keys, all or none, in one trip to the database, and answers their number.
  --- Of an object the fields that are not nil change, of a dictionary all that it has. At most 10,000 records are
  --- changed at once.
  --- > books := ref:sqlite:shop.db/books table. books updateAll: [ #{ id: 1, stock: 9 }, #{ id: 2, stock: 4 } ]
  ["updateAll:"] = updateAll,
  --- -<Array> atAll:<any>keys
  --- The rows of several keys in the order of the keys, with nil where there is no row.
  --- > books := ref:sqlite:shop.db/books table. books atAll: [ 3, 1 ]
  ["atAll:"] = atAll,
  --- -<Boolean> upsert:<any>record
  --- Changes the fields that the record names in the row with its key, or inserts it. Answers whether it was inserted.
  --- The table has a class.
  --- > inserted := { :words | words upsert: #{ id: 1, count: 9 } }
  ["upsert:"] = upsert,
  --- -<Boolean> upsert:<any>record by:<String|Array>names
  --- Changes the row with the same unique fields, or inserts the record. Answers whether it was inserted. Names of
  --- fields that are not unique are an error.
  --- > inserted := { :words | words upsert: #{ text: 'sow', count: 1 } by: 'text' }
  ["upsert:by:"] = upsert,
})
