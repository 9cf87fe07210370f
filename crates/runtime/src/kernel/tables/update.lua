-- Many rows by their keys: `table atAll: keys`, and `table updateAll: tasks`, which changes all or none of them, in
-- one trip to the store.
local K = ...
local type, rawequal = type, rawequal
local native, throw = K.native, K.throw
local NULL = K.NULL
local Table = K.classes.Table

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
  if self.i_class and self._place and #K.relationsOfClass(self.i_class) > 0 then K.batchOf(self._place, rows) end
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

K.methods(Table, { ["updateAll:"] = updateAll, ["atAll:"] = atAll })
