-- Inserting many rows at once: `table insertAll: tasks`. All or none of them are there afterwards.
-- The store works on one batch while the program makes the next one.
local K = ...
local type, rawget, setmetatable, floor = type, rawget, setmetatable, math.floor
local native, throw, try, error = K.native, K.throw, K.try, error
local NULL = K.NULL
local Table = K.classes.Table

-- Values that a batch holds; as many rows as have about that many together.
local BATCH = 8192

local function rowsOfBatch(self, first)
  local fields = 1
  if type(first) == "table" then
    fields = first._isDictionary and first._n or #K.classOf(first)._ivars
  end
  return math.max(1, floor(BATCH / math.max(1, fields)))
end

-- An insertion that begins with the first record: its fields are those of all.
local Insertion = { }
Insertion.__index = Insertion

local function insertion(self, expected)
  return setmetatable({ table = self, expected = expected, batch = {}, n = 0, rows = 1, count = 0 }, Insertion)
end

local function flush(self)
  if self.n == 0 then return end
  if not self.native then
    local class, place = self.table.i_class, self.table
    self.native = native.insertBegin(place._native, "", nil, self.batch, class and class:instanceVariables(), "id",
      self.expected)
  end
  native.insertBatch(self.native, self.batch, 1, self.n)
  self.count, self.n = self.count + self.n, 0
end

local function add(self, record)
  local n = self.n + 1
  if n == 1 and self.count == 0 then self.rows = rowsOfBatch(self.table, record) end
  if record == nil then throw("nilValue", "nil is no record to insert") end
  self.batch[n] = record
  self.n = n
  if n >= self.rows then flush(self) end
end

-- Runs a producer that adds records; ends the insertion, or gives it up when the producer fails.
local function inserting(self, expected, produce, source, block)
  local into = insertion(self, expected)
  local ok, failure = try(function() produce(into, source, block) end)
  if ok then
    local last
    ok, last = try(flush, into)
    if ok then
      if not into.native then return 0 end
      return native.insertEnd(into.native)
    end
    failure = last
  end
  if into.native then native.insertAbort(into.native) end
  error(failure, 0)
end

-- The elements of an array lie there already: they are read from it, batch by batch.
local function fromArray(into, list)
  local n = #list
  if n == 0 then return end
  into.batch, into.n = list, 0
  local class = into.table.i_class
  into.native = native.insertBegin(into.table._native, "", nil, list, class and class:instanceVariables(), "id", n)
  local size = rowsOfBatch(into.table, list[1])
  for from = 1, n, size do
    native.insertBatch(into.native, list, from, math.min(n, from + size - 1))
  end
end

local function each(into, source, block)
  if source._isInterval then
    local from, by = source._from, source._by
    for i = 0, source._count - 1 do add(into, block(from + i * by)) end
  elseif source._isArray then
    for i = 1, #source do
      local value = source[i]
      if value == NULL then value = nil end
      add(into, block(value))
    end
  else
    source:do_(function(value) add(into, block(value)) end)
  end
end

-- What a block that makes records writes to.
local Records = K.newClass("RecordStream", K.classes.WriteStream)
K.nilKeys._into = true
K.methods(Records, { ["writeObject:"] = function(self, record) add(self._into, record) return self end })
K.methods(Records, { ["forward:"] = function(self, record) add(self._into, record) return self end })

local function fromBlock(into, block)
  block(setmetatable({ _into = into, _target = false }, Records._methods))
end

-- Files, pages and other databases are read as a stream.
local function fromReference(self, source, mediaType)
  local store = K.nativeStore(rawget(source, "_store") or K.schemeNamed(source._scheme))
  return native.postFrom(self._native, "", nil, store, source._path, source._scheme, mediaType)
end

local function insertAll(self, source)
  if type(source) == "function" then return inserting(self, nil, fromBlock, source) end
  if type(source) ~= "table" then
    throw("typeError", "insertAll: expects records, rows, a file or a block, got " .. K.nameOf(source))
  end
  if source._isReference then return fromReference(self, source) end
  if source._isRows then
    source = K.contentOf(source)
    local inner = rawget(source, "_native")
    if inner then return native.postRows(self._native, "", nil, nil, inner) end
  end
  if source._isTable then return insertAll(self, source:select()) end
  if source._isStream and source.do_ == nil then throw("typeError", "this stream cannot be read from") end
  if not source._isArray and source._isCollection then source = source:asArray() end
  if source._isArray then return inserting(self, #source, fromArray, K.storedAll(self, source)) end
  return inserting(self, nil, each, source, function(record) return record end)
end

-- Columns: an interval, an array that is taken round and round, or one value for every row.
local function insertColumns(self, columns)
  if type(columns) ~= "table" or not columns._isDictionary then
    throw("typeError", "insertColumns: expects a dictionary of columns, got " .. K.nameOf(columns))
  end
  local names, list, count = {}, {}, nil
  columns:keysAndValuesDo_(function(name, column)
    local length
    if type(column) == "table" and column._isInterval then
      length = column._count
      list[#list + 1] = K.array { true, column._from, column._by }
    elseif type(column) == "table" and column._isArray then
      local values = { false }
      for i = 1, #column do values[i + 1] = column[i] end
      list[#list + 1] = K.array(values)
      if #column == 0 then throw("invalid", "the column " .. K.str(name) .. " has no values") end
    else
      list[#list + 1] = K.array { false, column == nil and NULL or column }
    end
    names[#names + 1] = K.str(name)
    if length and count and length ~= count then
      throw("invalid", string.format("the column %s has %s numbers, another one has %s", K.str(name), K.str(length),
        K.str(count)))
    end
    count = count or length
  end)
  if not count then
    for i = 1, #list do count = math.max(count or 0, #list[i] - 1) end
  end
  if not count or #names == 0 then throw("invalid", "insertColumns: needs at least one column") end
  return native.insertColumns(self._native, "", nil, K.array(names), count, unpack(list, 1, #list))
end

K.insertAll = insertAll

local inserters = {
  ["insertAll:"] = insertAll, ["addAll:"] = insertAll, ["writeAll:"] = insertAll,
  -- `table insertAll: (1 to: 1000) collect: { :i | #Task{ … } }`: no more than a batch is in memory.
  ["insertAll:collect:"] = function(self, source, block)
    K.expectBlock(block, "insertAll:collect:")
    if type(source) ~= "table" or not (source._isCollection or source._isTable) then
      throw("typeError", "insertAll:collect: expects a collection, got " .. K.nameOf(source))
    end
    local expected
    if source._isInterval then expected = source._count elseif source._isArray then expected = #source end
    return inserting(self, expected, each, source, block)
  end,
  ["insertColumns:"] = insertColumns,
  ["insertCSV:"] = function(self, source) return fromReference(self, source, "text/csv") end,
  ["insertJSON:"] = function(self, source) return fromReference(self, source, "application/json") end,
  ["insertJSONLines:"] = function(self, source) return fromReference(self, source, "application/x-ndjson") end,
}
K.methods(Table, inserters)
K.inserters = inserters

-- `ref:file:books.csv → table`, `records → table`: all of them at once. To other targets these
-- connect as they always do.
local connection = {
  ["connect:"] = function(self, target)
    local into = type(target) == "table" and target._isTable and target or K.searchTarget(target)
    if not into then return nil end
    insertAll(into, self)
    return self
  end,
}
K.methods(K.classes.Reference, connection)
K.methods(K.classes.Array, connection)
K.methods(K.classes.Rows, connection)
