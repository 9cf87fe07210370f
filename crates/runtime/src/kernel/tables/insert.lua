-- Inserting many rows at once: `table insertAll: tasks`. All or none of them are there afterwards.
-- The store works on one batch while the program makes the next one.
local K = ...
local type, rawget, rawequal, setmetatable, floor = type, rawget, rawequal, setmetatable, math.floor
local native, throw, try, error = K.native, K.throw, K.try, error
local NULL = K.NULL
local Table = K.classes.DatabaseTable

-- Values that a batch holds; as many rows as have about that many together.
local BATCH = 8192

local function rowsOfBatch(self, first)
  local fields = 1
  if type(first) == "table" then
    fields = first._isDictionary and first._n or #K.classOf(first)._ivars
  end
  return math.max(1, floor(BATCH / math.max(1, fields)))
end

local function begin(self, first)
  if first == nil then throw("nilValue", "nil is no record to insert") end
  local class = self.table.i_class
  self.sent = type(first) == "table" and first._sent or false
  local keys = class and K.keysOfClass(class) or { "id" }
  local begun = native.insertBegin(self.table._native, "", nil, { first }, class and K.array(K.columnsOfClass(class)),
    keys[1] or "id", self.expected, self.sent and (self.filled or K.array {}) or nil)
  self.rows = rowsOfBatch(self.table, first)
  local fields = native.insertFields(begun)
  self.cells = K.cells(first, fields[1], fields[2], self.rows)
  self.native = begun
end

-- Passes the records in the cells on.
local function flushCells(self)
  local cells = self.cells
  if not cells or cells.at == 0 then return end
  local records = cells.at / cells.width
  cells.at = 0
  native.insertCells(self.native, cells.address, records)
  self.count = self.count + records
end

local function flush(self)
  flushCells(self)
  if self.n == 0 then return end
  native.insertBatch(self.native, self.batch, self.n, self.count)
  self.count, self.n = self.count + self.n, 0
end

-- A record that cannot be written into cells: it waits with those that follow, for Rust to read.
local function addObject(self, record)
  if record == nil then throw("nilValue", "nil is no record to insert") end
  if self.n == 0 then flushCells(self) end
  local n = self.n + 1
  self.batch[n] = record
  self.n = n
  if n >= self.rows then flush(self) end
end

-- What a client sent obeys the class of the table, which is known of all records from the first on.
local function refuseSent()
  throw("invalid", "a record that a client sent stands behind one of the program",
    { i_hint = "insert what clients sent by itself" })
end

local function add(self, record)
  if not self.native then begin(self, record) end
  if not self.sent and type(record) == "table" and rawget(record, "_sent") then refuseSent() end
  local cells = self.cells
  if cells and self.n == 0 then
    local at = cells.at
    if cells.write(cells.memory, at, cells.texts, record) then
      at = at + cells.width
      cells.at = at
      if at == cells.size then flushCells(self) end
      return
    end
  end
  addObject(self, record)
end

-- The same for a class with values that are made for each row. What the first record of a client leaves
-- out, none of its records may have: the program sets it.
local function addFilled(self, record)
  if type(record) ~= "table" or not record._isDictionary or record._ofInstance then return add(self, record) end
  if self.sent and self.filled then
    for i = 1, #self.filled do
      if record._map[self.filled[i]] ~= nil then
        throw("unprocessable", string.format("record %d has the field %s, which the first one does not have",
          self.count + self.n + 1, self.filled[i]))
      end
    end
  end
  local filled, names = K.filledRecord(self.table.i_class, record, self.computed)
  if not self.native then self.filled = names end
  add(self, filled)
end

-- An insertion that begins with the first record: its fields are those of all.
local function insertion(self, expected)
  local computed = self.i_class and K.computedDefaultsOf(self.i_class)
  return { table = self, expected = expected, batch = {}, n = 0, rows = 1, count = 0, computed = computed,
    add = computed and addFilled or add }
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
      if into.cells then K.releaseCells(into.cells) end
      return native.insertEnd(into.native)
    end
    failure = last
  end
  if into.native then native.insertAbort(into.native) end
  error(failure, 0)
end

local function fromArray(into, list)
  local add = into.add
  for i = 1, #list do
    local record = list[i]
    if rawequal(record, NULL) then record = nil end
    add(into, record)
  end
end

local function each(into, source, block)
  local add = into.add
  if source._isInterval then
    local from, by = source._from, source._by
    for i = 0, source._count - 1 do add(into, block(from + i * by)) end
  elseif source._isArray then
    for i = 1, #source do
      local value = source[i]
      if rawequal(value, NULL) then value = nil end
      add(into, block(value))
    end
  else
    source:do_(function(value) add(into, block(value)) end)
  end
end

--- A stream that inserts what is written to it, as the block of `insertAll:` gets it.
local Records = K.newClass("RecordStream", K.classes.WriteStream)
K.nilKeys._into = true
local function write(self, record)
  local into = self._into
  into.add(into, record)
  return self
end
--- -<self> writeObject:<any>record
--- Inserts a record with the others of the batch.
--- > books := ref:sqlite:shop.db/books table. books insertAll: { :out | out writeObject: #{ title: 'Emma' } }
K.methods(Records, { ["writeObject:"] = write })
--- -<self> forward:<any>record
--- Inserts a record with the others of the batch, where a connection leads to the stream.
--- > books := ref:sqlite:shop.db/books table. books insertAll: { :out | out forward: #{ title: 'Emma' } }
K.methods(Records, { ["forward:"] = write })

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
    source = source:_content()
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
  if columns._sent then throw("unprocessable", "insertColumns: takes no columns that a client sent") end
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
  --- DatabaseTable -<Number> insertAll:<any>records
  --- DatabaseTable -<Number> addAll:<any>records
  --- DatabaseTable -<Number> writeAll:<any>records
  --- Inserts all records or none, in batches, and answers their number. It takes objects or dictionaries in a
  --- collection, rows, a reference of a CSV or JSON file, or a block that writes records to its parameter. The first
  --- record determines the fields.
  --- > books := ref:sqlite:shop.db/books table. books insertAll: [ #{ title: 'Emma' }, #{ title: 'Nana' } ]
  ["insertAll:"] = insertAll, ["addAll:"] = insertAll, ["writeAll:"] = insertAll,
  --- DatabaseTable -<Number> insertAll:<any>source collect:<Block(each)>block
  --- Inserts what the block makes of each element, all or none, and answers their number. Only a batch of records is in
  --- memory at a time.
  --- > books := ref:sqlite:shop.db/books table. books insertAll: (1 to: 1000) collect: { :i | #{ title: "book {i}" } }
  ["insertAll:collect:"] = function(self, source, block)
    K.expectBlock(block, "insertAll:collect:")
    if type(source) ~= "table" or not (source._isCollection or source._isTable) then
      throw("typeError", "insertAll:collect: expects a collection, got " .. K.nameOf(source))
    end
    local expected
    if source._isInterval then expected = source._count elseif source._isArray then expected = #source end
    return inserting(self, expected, each, source, block)
  end,
  --- DatabaseTable -<Number> insertColumns:<Dictionary>columns
  --- Inserts rows that are made of columns, and answers their number: an interval, an array that repeats, or one value
  --- for every row. Intervals have the same length.
  --- > books := ref:sqlite:shop.db/books table. books insertColumns: #{ id: 1 to: 500, title: 'Untitled' }
  ["insertColumns:"] = insertColumns,
  --- DatabaseTable -<Number> insertCSV:<Reference>source
  --- Inserts the records of a CSV file with a header line, all or none, as a stream, and answers their number.
  --- > books := ref:sqlite:shop.db/books table. books insertCSV: ref:file:books.txt
  ["insertCSV:"] = function(self, source) return fromReference(self, source, "text/csv") end,
  --- DatabaseTable -<Number> insertJSON:<Reference>source
  --- Inserts the records of a JSON array, of at most 64 MiB, all or none, and answers their number.
  --- > books := ref:sqlite:shop.db/books table. books insertJSON: ref:file:books.txt
  ["insertJSON:"] = function(self, source) return fromReference(self, source, "application/json") end,
  --- DatabaseTable -<Number> insertJSONLines:<Reference>source
  --- Inserts the records of a file with one JSON object a line, all or none, as a stream, and answers their number.
  --- > books := ref:sqlite:shop.db/books table. books insertJSONLines: ref:file:books.txt
  ["insertJSONLines:"] = function(self, source) return fromReference(self, source, "application/x-ndjson") end,
}
K.methods(Table, inserters)
K.inserters = inserters

-- The table or index that a target of a connection stands for, if it takes records.
function K.recordTarget(target)
  if type(target) ~= "table" or K.isClass(target) then return nil end
  local into = target._recordTarget
  return into and into(target)
end
K.method(Table, "_recordTarget", function(self) return self end)

local connection = {
  --- Reference -<self?> connect:<any>target
  --- Array -<self?> connect:<any>target
  --- Rows -<self?> connect:<any>target
  --- Inserts all records into a table or an index; nil, and without effect, for another target. An arrow sends it.
  --- > books := ref:sqlite:shop.db/books table. ref:file:books.csv → books
  ["connect:"] = function(self, target)
    local into = K.recordTarget(target)
    if not into then return nil end
    insertAll(into, self)
    return self
  end,
}
K.methods(K.classes.Reference, connection)
K.methods(K.classes.Array, connection)
K.methods(K.classes.Rows, connection)
