-- Rows: lazy content of a store. Handed back to a client they never become objects; asked by the
-- program they become an array. Rows of a table are a query that grows by messages and runs when
-- they are wanted: what picks or orders rows must be data that the store can run itself, and what
-- goes through all of them reads them.
local K = ...
local type, rawget, rawequal, setmetatable, select = type, rawget, rawequal, setmetatable, select
local native, throw = K.native, K.throw

-- Of the rows of a table: `_store`, `_path` and `_scheme` say where, `_of` of which class, and
-- `_query` has `filter`, `sort`, `limit`, `offset`, `fields`. `_native` is the content once it was
-- asked for; rows that came from elsewhere have only that. `_asked` is the place in the program, for the log.
--- Rows of a table or of a statement. Rows of a table are a query, which runs in the database when its result is
--- needed; they understand what an array understands, and are read for it.
local Rows = K.newClass("Rows", K.classes.Object)
for _, key in ipairs { "_isRows", "_loaded", "_query", "_of", "_path", "_found", "_place", "_asked" } do K.nilKeys[key] = true end
K.method(Rows, "_isRows", true)
K.method(Rows, "_isCollection", true)
local methods = Rows._methods

-- For Rust: content of a store that is lazy, perhaps of a class of its own.
function K.makeLazy(inner, name)
  local class = name and K.classes[name]
  if class and class._methods._isRows then return setmetatable({ _native = inner }, class._methods) end
  return setmetatable({ _native = inner }, methods)
end

-- The rows of a query. Nothing is asked yet.
function K.rowsOf(store, path, scheme, class, query, place)
  return setmetatable({ _store = store, _path = path, _scheme = scheme, _of = class, _query = query, _place = place }, methods)
end

local function copied(query)
  local copy = {}
  for key, value in pairs(query) do copy[key] = value end
  return copy
end

local function asked(self, count, ask)
  local query = self._query
  if self._beside and not count and not query.fields and not query.columns then
    query = copied(query)
    query.fields = K.columnsOfClass(self._of)
    return (ask or native.query)(self._store, self._path, self._scheme, query, count, self._asked)
  end
  return (ask or native.query)(self._store, self._path, self._scheme, self._query, count, self._asked)
end

-- The content, asked for now.
local function content(self)
  local inner = rawget(self, "_native")
  if inner or not rawget(self, "_store") then return inner end
  local rows = asked(self)
  inner = type(rows) == "table" and rawget(rows, "_native")
  if inner then
    self._native = inner
  else
    self._loaded = rows
  end
  return inner
end

-- The rows where they were read: by themselves, or together with those that refer to other rows of a result.
local function known(self)
  local list = rawget(self, "_loaded")
  if list == nil and rawget(self, "_many") then
    list = K.readTogether(self)
    self._loaded = list
  end
  return list
end

local function loaded(self)
  local list = known(self)
  if list then return list end
  K.readAlone(self)
  local inner, class = content(self), self._of
  local included = class and self._query.include
  if class and self._query.fields then class = nil end
  list = rawget(self, "_loaded")
  if not list then
    list = native.lazyValue(inner, class and class._name)
  elseif class then
    list = K.instantiate(list, class._name)
  end
  if included then list = K.instantiateIncluded(list, self._of, self._place, included) end
  if class and self._place and #K.relationsOfClass(class) > 0 then K.batchOf(class, self._place, list) end
  if self._query and self._query.many then K.includeMany(list, self._of, self._place, self._query.many) end
  self._loaded = list
  return list
end

K.readsRelations(K.rowsOf)

-- Rows that were found at a reference can be asked for more precisely there.
K.method(Rows, "_foundAt", function(rows, store, path, query, scheme)
  if query == nil then
    rows._store, rows._path, rows._scheme, rows._query, rows._found = store, path, scheme, {}, true
  end
end)

-- Rows that were read already.
local function read(list, class)
  return setmetatable({ _loaded = list, _of = class }, methods)
end

-- What a client gets: rows as of now, however long the program has had them. Nothing may run between
-- this and the end of the fiber.
function K.answerOf(rows)
  if not rawget(rows, "_store") then return rows:_content() end
  if rows._query.many then return K.includedRecords(loaded(rows), rows._of) end
  if rows._found then return native.get(rows._store, rows._path, nil, rows._scheme) end
  return asked(rows, nil, native.queryAnswer)
end

-- Rows for a store that takes content: `file:open.json ← tasks[{ done = false }]`.
local function contentOf(rows)
  if rows._query and rows._query.many then return K.includedRecords(loaded(rows), rows._of) end
  return content(rows) and rows or rows._loaded
end
K.method(Rows, "_content", contentOf)

-- Making queries ----------------------------------------------------------------------------------

local function with(self, query)
  local rows = K.rowsOf(self._store, self._path, self._scheme, self._of, query, self._place)
  rows._many, rows._beside, rows._asked = self._many, self._beside, self._asked
  return rows
end

local function untranslated(selector, reason)
  local hint = "`asArray` before it reads the rows, and the rest runs in the program"
  if type(reason) == "string" then
    throw("notTranslated", string.format("%s cannot run in the database: %s", selector, string.sub(reason, 2)),
      { i_hint = hint })
  end
  throw("notTranslated", string.format("the block of %s is not written here, so that it cannot run in the database",
    selector), { i_hint = hint })
end

-- Whether more can be asked of the store: rows that came without a query, or were read, cannot.
local function grows(self) return rawget(self, "_store") ~= nil end

-- What already leaves out rows by number must stay in order: the rest is done with the rows.
local function cut(self) return self._query.limit ~= nil or self._query.offset ~= nil end

-- A condition as data; `data` is what the compiler made of the block.
local function condition(block, data, selector)
  if type(data) == "function" then data = data() end
  if type(data) == "table" then return data end
  if type(block) == "string" then return { "=", block, true } end
  untranslated(selector, data)
end

local function filtered(self, filter)
  filter = K.keyedCondition(self._of, filter)
  local query = copied(self._query)
  query.filter = query.filter and { "and", query.filter, filter } or filter
  return with(self, K.addRelations(self._of, query, filter))
end

-- Only instances of a class say which messages are columns; records have whatever the table has.
local function isColumn(self, name)
  local class = self._of
  if not class then return not string.find(name, ".", 1, true) end
  class, name = K.fieldOfPath(class, name)
  if not class then return false end
  for _, ivar in ipairs(class._ivars) do
    if ivar == name then return K.manyOfClass(class)[name] == nil end
  end
  return false
end

-- The column that a block answers: its name, or nil.
local function column(self, block, data)
  if type(block) == "string" then return block end
  if type(data) ~= "string" or string.byte(data) == 63 then return nil end -- "?": a reason
  local name = string.gsub(data, "^%-", "")
  return isColumn(self, name) and data or nil
end

local function limited(self, count)
  local query = copied(self._query)
  query.limit = query.limit and math.min(query.limit, count) or count
  return with(self, query)
end

local function pickedInMemory(self, block, data, inMemory)
  local list = loaded(self)
  if type(data) == "function" then data = data() end
  if type(data) == "table" then block = function(row) return K.holdsFor(row, data) end end
  return read(list[inMemory](list, block), self._of)
end

local function picking(selector, wanted, inMemory)
  return function(self, block, data)
    if not grows(self) or cut(self) then return pickedInMemory(self, block, data, inMemory) end
    local filter = condition(block, data, selector)
    return filtered(self, wanted and filter or { "not", filter })
  end
end

-- Sort keys: a name, `'-name'` for the largest first, an array of those, or a block.
local function keysOf(self, by, data, selector)
  if type(by) == "table" and by._isArray then
    local keys = {}
    for i = 1, #by do keys[i] = K.expectText(by[i], selector) end
    return keys
  end
  local key = column(self, by, data)
  if key then return { key } end
  if type(data) == "function" then data = data() end
  if type(data) == "string" and string.byte(data) ~= 63 then return { data } end
  if type(data) ~= "table" or data[1] == "record" then untranslated(selector, data) end
  return { { data, false } }
end

local function sorted(selector)
  return function(self, by, data)
    if by == nil then throw("typeError", selector .. " of rows needs the name of a field", { i_hint = "write sorted: 'title'" }) end
    if not grows(self) or cut(self) then
      return read(loaded(self):sorted_(column(self, by, data) or by), self._of)
    end
    local keys = keysOf(self, by, data, selector)
    -- What was sorted before stays in that order where the new keys are equal.
    local before = self._query.sort
    for i = 1, before and #before or 0 do keys[#keys + 1] = before[i] end
    local query = copied(self._query)
    query.sort = K.array(keys)
    for i = 1, #keys do
      local key = keys[i]
      K.addRelations(self._of, query, type(key) == "table" and key[1] or key)
    end
    return with(self, query)
  end
end

local function size(number, selector)
  number = K.expectInteger(number, selector)
  if number < 0 then throw("outOfRange", selector .. " expects a count from 0 on, got " .. K.str(number)) end
  return number
end

local function count(self)
  if rawget(self, "_loaded") then return #self._loaded end
  if not grows(self) then return #loaded(self) end
  local query = self._query
  local together = K.readTogether(self, true)
  if together then return together end
  K.readAlone(self)
  if not cut(self) then return asked(self, true) end
  local all = asked(with(self, { filter = query.filter }), true)
  local rest = math.max(0, all - (query.offset or 0))
  return query.limit and math.min(query.limit, rest) or rest
end

local function first(self)
  if known(self) or not grows(self) then return loaded(self):first() end
  return loaded(limited(self, 1)):first()
end

local function any(self)
  local together = not rawget(self, "_loaded") and K.readTogether(self, true)
  if together then return together > 0 end
  return first(self) ~= nil
end

-- The values of one column, as an array.
local function columnValues(self, name)
  local query = K.addRelations(self._of, copied(self._query), name)
  query.fields = K.array { name }
  local class, field = self._of, name
  if class then class, field = K.fieldOfPath(class, name) end
  local kind = class and class._types[field]
  local list = loaded(with(self, query))
  for i = 1, #list do
    local value = K.fieldOfRow(list[i], name)
    if value == nil then value = K.NULL elseif kind then value = K.fieldValue(value, kind) end
    list[i] = value
  end
  return list
end

local function collect(self, block, data)
  local plain = grows(self) and not known(self) and not self._query.fields
  local name = plain and column(self, block, data)
  if name then return columnValues(self, name) end
  return loaded(self):collect_(column(self, block, data) or block)
end

-- The row with the largest or smallest value of a column.
local function extreme(selector, sign)
  local inMemory = string.gsub(selector, ":", "_")
  return function(self, block, data)
    local name = column(self, block, data)
    if not grows(self) or cut(self) or known(self) then return loaded(self)[inMemory](loaded(self), name or block) end
    if name then
      local query = copied(filtered(self, { "≠", name, K.NULL })._query)
      query.sort = K.array { sign .. name }
      return first(with(self, query))
    end
    local key = keysOf(self, block, data, selector)[1]
    local by = type(key) == "string" and { "field", key } or key[1]
    local query = copied(filtered(self, { "test", "≠", by, { "value", K.NULL } })._query)
    query.sort = { { by, sign == "-" } }
    return first(with(self, query))
  end
end

-- The expression that is summed in the database; nil where the rows have to be read.
local function summed(self, block, data)
  if not grows(self) or cut(self) or known(self) or self._query.fields then return nil end
  local by = column(self, block, data)
  if not by then
    if type(data) == "function" then data = data() end
    by = type(data) == "table" and data[1] ~= "record" and data or nil
  end
  local kind = by and K.expressionKind(self._of, by)
  if kind ~= "int" and kind ~= "float" and kind ~= "decimal" then return nil end
  return type(by) == "string" and { "field", by } or by, kind
end

-- One aggregate of all rows. The average of decimals is divided in the program, which does not round it.
local aggregate
function aggregate(self, name, by)
  local query = K.addRelations(self._of, { filter = self._query.filter, relations = self._query.relations }, by)
  local exact = K.expressionKind(self._of, by) == "decimal"
  if exact and name == "average" then
    local present = filtered(self, { "test", "≠", by, { "value", K.NULL } })
    local count = present:count()
    return count > 0 and K.div(aggregate(self, "sum", by), count) or nil
  end
  query.columns = { "value", { name, by } }
  local value = K.rowsOf(self._store, self._path, self._scheme, nil, query):first():at_("value")
  return exact and type(value) == "string" and K.decimalFromText(value) or value
end

-- A number from the values of one column: the database computes it where it can.
local function total(selector)
  local inMemory = string.gsub(selector, ":", "")
  return function(self, block, data)
    local by = summed(self, block, data)
    if by then return aggregate(self, inMemory, by) end
    local values = collect(self, block, data)
    return values[inMemory](values:select_(function(value) return value ~= nil end))
  end
end

local picked, unpicked = picking("select:", true, "select_"), picking("reject:", false, "reject_")

-- What a block or a name computes of each row, for the database; an error where it cannot.
local function computed(self, block, data, selector)
  local by = column(self, block, data)
  if by then return { "field", by } end
  if type(data) == "function" then data = data() end
  if type(data) == "string" and string.byte(data) ~= 63 then return { "field", data } end
  if type(data) ~= "table" or data[1] == "record" then untranslated(selector, data) end
  return data
end

-- What the database groups rows by; nil where the rows have to be read.
function K.groupedBy(self, block, data, selector)
  if not grows(self) or cut(self) or rawget(self, "_loaded") or self._query.fields then return nil end
  local by = computed(self, block, data, selector)
  K.addRelations(self._of, {}, by)
  return by
end

K.methods(Rows, {
  --- -<Array> asArray
  --- -<Array> allObjects
  --- -<Array> value
  --- The rows as an array of objects of the class, or of records; this runs the query, once. What follows runs in the
  --- program.
  --- > rows := ref:sqlite::memory: run: 'select 1 as n union select 2'. rows asArray count ⇒ 2
  ["asArray"] = loaded, ["allObjects"] = loaded, ["value"] = loaded,
  --- -<any> do:<Block(row)>block
  --- DatabaseTable -<any> do:<Block(row)>block
  --- Reads the rows and evaluates the block with each.
  --- > books := ref:sqlite:shop.db/books table. books do: { :book | stdout println: book }
  ["do:"] = function(self, block) return loaded(self):do_(block) end,
  --- -<Number> count
  --- -<Number> size
  --- -<Number> length
  --- DatabaseTable -<Number> count
  --- How many rows the query has, counted in the database (`COUNT`) unless the rows were read already.
  --- > rows := ref:sqlite::memory: run: 'select 1 as n union select 2'. rows count ⇒ 2
  ["count"] = count, ["size"] = count, ["length"] = count,
  --- -<Boolean> isEmpty
  --- DatabaseTable -<Boolean> isEmpty
  --- Whether there is no row. The database looks for one row only.
  --- > (ref:sqlite::memory: run: 'select 1 as n where false') isEmpty ⇒ true
  ["isEmpty"] = function(self) return not any(self) end,
  --- -<Boolean> notEmpty
  --- DatabaseTable -<Boolean> notEmpty
  --- -<Boolean> isNotEmpty
  --- DatabaseTable -<Boolean> isNotEmpty
  --- Whether there is a row. The database looks for one row only.
  --- > rows := ref:sqlite::memory: run: 'select 1 as n union select 2'. rows notEmpty ⇒ true
  ["notEmpty"] = any, ["isNotEmpty"] = any,
  --- -<Rows> select:<Block(row)|String>condition
  --- DatabaseTable -<Rows> select:<Block(row)|String>condition
  --- -<Rows> where:<Block(row)|String>condition
  --- DatabaseTable -<Rows> where:<Block(row)|String>condition
  --- -<Rows> filter:<Block(row)|String>condition
  --- DatabaseTable -<Rows> filter:<Block(row)|String>condition
  --- The rows that meet a condition, as a query (`WHERE`): a block whose condition the database can run, or the name
  --- of a field that is true. Other blocks are an error; `asArray` first runs them in the program.
  --- > books := ref:sqlite:shop.db/books table. (books select: { :book | book year < 1850 }) count
  ["select:"] = picked, ["where:"] = picked, ["filter:"] = picking("filter:", true, "select_"),
  --- -<Rows> reject:<Block(row)|String>condition
  --- DatabaseTable -<Rows> reject:<Block(row)|String>condition
  --- The rows that do not meet the condition, as a query; a comparison with nil does not hold.
  --- > books := ref:sqlite:shop.db/books table. (books reject: { :book | book year < 1850 }) count
  ["reject:"] = unpicked,
  --- -<any> detect:<Block(row)|String>condition
  --- DatabaseTable -<any> detect:<Block(row)|String>condition
  --- The first row that meets the condition, read with `LIMIT 1`; nil without one.
  --- > books := ref:sqlite:shop.db/books table. books detect: { :book | book title = 'Emma' }
  ["detect:"] = function(self, block, data) return picked(self, block, data):first() end,
  --- -<any> detect:<Block(row)|String>condition ifNone:<any>alternative
  --- DatabaseTable -<any> detect:<Block(row)|String>condition ifNone:<any>alternative
  --- The first row that meets the condition; without one the value of the alternative, which is evaluated if it is a
  --- block.
  --- > books := ref:sqlite:shop.db/books table. books detect: { :book | book year > 1850 } ifNone: { 'none' }
  ["detect:ifNone:"] = function(self, block, none, data)
    local found = picked(self, block, data):first()
    if found == nil then return K.valueOf(none) end
    return found
  end,
  --- -<Boolean> anySatisfy:<Block(row)|String>condition
  --- DatabaseTable -<Boolean> anySatisfy:<Block(row)|String>condition
  --- Whether a row meets the condition. In conditions it asks for related rows (`EXISTS`).
  --- > books := ref:sqlite:shop.db/books table. books anySatisfy: { :book | book year > 1850 }
  ["anySatisfy:"] = function(self, block, data) return picked(self, block, data):notEmpty() end,
  --- -<Boolean> noneSatisfy:<Block(row)|String>condition
  --- DatabaseTable -<Boolean> noneSatisfy:<Block(row)|String>condition
  --- Whether no row meets the condition; true of no rows.
  --- > books := ref:sqlite:shop.db/books table. books noneSatisfy: { :book | book year > 1850 }
  ["noneSatisfy:"] = function(self, block, data) return picked(self, block, data):isEmpty() end,
  --- -<Boolean> allSatisfy:<Block(row)|String>condition
  --- DatabaseTable -<Boolean> allSatisfy:<Block(row)|String>condition
  --- Whether every row meets the condition; true of no rows.
  --- > books := ref:sqlite:shop.db/books table. books allSatisfy: { :book | book year > 1800 }
  ["allSatisfy:"] = function(self, block, data) return unpicked(self, block, data):isEmpty() end,
  --- -<Number> countOf:<Block(row)|String>condition
  --- DatabaseTable -<Number> countOf:<Block(row)|String>condition
  --- -<Number> count:<Block(row)|String>condition
  --- DatabaseTable -<Number> count:<Block(row)|String>condition
  --- How many rows meet the condition, counted in the database.
  --- > books := ref:sqlite:shop.db/books table. books count: { :book | book year < 1850 }
  ["countOf:"] = function(self, block, data) return picked(self, block, data):count() end,
  ["count:"] = function(self, block, data) return picked(self, block, data):count() end,
  --- -<Rows> sorted:<Block|String|Array>order
  --- DatabaseTable -<Rows> sorted:<Block|String|Array>order
  --- -<Rows> sortedBy:<Block|String|Array>order
  --- DatabaseTable -<Rows> sortedBy:<Block|String|Array>order
  --- -<Rows> sortBy:<Block|String|Array>order
  --- DatabaseTable -<Rows> sortBy:<Block|String|Array>order
  --- The rows in an order, as a query: by a field, '-field' for the largest first, an array of those, or a block that
  --- computes a value of a row, or compares a field of two rows. Nil is the least value; equal rows keep their earlier
  --- order.
  --- > books := ref:sqlite:shop.db/books table. (books sorted: [ '-year', 'title' ]) first
  ["sorted:"] = sorted("sorted:"), ["sortedBy:"] = sorted("sortedBy:"), ["sortBy:"] = sorted("sortBy:"),
  --- -<any> first
  --- -<any> firstObject
  --- DatabaseTable -<any> first
  --- The first row, read with `LIMIT 1`; nil of no rows.
  --- > rows := ref:sqlite::memory: run: 'select 1 as n union select 2'. rows first ⇒ #{ n: 1 }
  ["first"] = first, ["firstObject"] = first,
  --- -<Rows> first:<Number>count
  --- DatabaseTable -<Rows> first:<Number>count
  --- At most this many rows from the beginning, as a query (`LIMIT`). What selects after it runs in the program, among
  --- these.
  --- > rows := ref:sqlite::memory: run: 'select 1 as n union select 2'. (rows first: 1) asArray ⇒ [ #{ n: 1 } ]
  ["first:"] = function(self, number)
    if not grows(self) then return read(loaded(self):first_(number), self._of) end
    return limited(self, size(number, "first:"))
  end,
  --- -<Rows> skip:<Number>count
  --- DatabaseTable -<Rows> skip:<Number>count
  --- The rows without this many at the beginning, as a query (`OFFSET`). What selects after it runs in the program.
  --- > rows := ref:sqlite::memory: run: 'select 1 as n union select 2'. (rows skip: 1) asArray ⇒ [ #{ n: 2 } ]
  ["skip:"] = function(self, number)
    if not grows(self) then return read(loaded(self):allButFirst_(number), self._of) end
    number = size(number, "skip:")
    local query = copied(self._query)
    query.offset = (query.offset or 0) + number
    if query.limit then query.limit = math.max(0, query.limit - number) end
    return with(self, query)
  end,
  --- -<Rows> columns:<Array|String>names
  --- DatabaseTable -<Rows> columns:<Array|String>names
  --- The rows as records of these fields alone, as a query. A path such as 'author.name' reads a field of a related
  --- row.
  --- > books := ref:sqlite:shop.db/books table. (books columns: [ 'id', 'title' ]) first: 20
  ["columns:"] = function(self, names)
    if not grows(self) then throw("unsupported", "these rows have no query that could name columns") end
    local query = copied(self._query)
    query.fields = type(names) == "string" and K.array { names } or names
    for i = 1, #query.fields do K.addRelations(self._of, query, query.fields[i]) end
    return with(self, query)
  end,
  --- -<Rows> search:<String>words
  --- DatabaseTable -<Rows> search:<String>words
  --- The rows whose texts contain all of the words, the best first. The class method `fullText` names the variables
  --- with these texts. It comes before `first:` and `skip:`.
  --- > found := { :books | (books search: 'rain night') first: 10 }
  ["search:"] = function(self, text)
    local class = self._of
    if not grows(self) or cut(self) then throw("notAllowed", "search: comes before first: and skip:, and before the rows are read") end
    local names = class and K.fullTextOfClass(class)
    if not names or #names == 0 then
      throw("notAllowed", (class and class._name or "a record") .. " declares no +fullText, which search: needs",
        { i_hint = "name variables that hold text in the class: +fullText { [ 'title' ] }" })
    end
    return filtered(self, { "search", names, K.expectText(text, "search:") })
  end,
  --- -<Array> forUpdate
  --- DatabaseTable -<Array> forUpdate
  --- Reads the rows and locks them until the transaction ends (`FOR UPDATE`): other transactions wait. It is an error
  --- outside of a transaction.
  --- > books := ref:sqlite:shop.db/books table. books transaction: { (books first: 10) forUpdate }
  ["forUpdate"] = function(self)
    if not grows(self) then throw("notAllowed", "only rows of a table are locked") end
    local query = copied(self._query)
    query.lock = true
    return loaded(with(self, query))
  end,
  --- -<Rows> include:<Array|String>paths
  --- DatabaseTable -<Rows> include:<Array|String>paths
  --- The rows together with related rows, as a query: to-one relations are joined, lists of rows are read with one more
  --- statement. A path such as 'author country' leads on. As JSON, included rows are records in the record.
  --- > page := { :books | (books include: [ 'author', 'tags' ]) first: 20 }
  ["include:"] = function(self, paths)
    if not grows(self) or self._query.fields and not self._query.include then
      throw("unsupported", "include: is for the rows of a table, before columns: and what reads them")
    end
    if type(paths) == "string" then paths = K.array { paths } end
    return with(self, K.includeRelations(self._of, copied(self._query), paths))
  end,
  --- -<Array> collect:<Block(row)|String>block
  --- DatabaseTable -<Array> collect:<Block(row)|String>block
  --- -<Array> map:<Block(row)|String>block
  --- DatabaseTable -<Array> map:<Block(row)|String>block
  --- The results of the block for each row. A field, or a block that answers one, reads that column alone; other blocks
  --- read the rows and run in the program.
  --- > rows := ref:sqlite::memory: run: 'select 1 as n union select 2'. rows collect: 'n' ⇒ [ 1, 2 ]
  ["collect:"] = collect, ["map:"] = collect,
  --- -<any> max:<Block(row)|String>value
  --- DatabaseTable -<any> max:<Block(row)|String>value
  --- The row with the largest value of a field or an expression; nil of no rows. Rows whose value is nil do not count.
  --- > rows := ref:sqlite::memory: run: 'select 1 as n union select 2'. rows max: 'n' ⇒ #{ n: 2 }
  ["max:"] = extreme("max:", "-"),
  --- -<any> min:<Block(row)|String>value
  --- DatabaseTable -<any> min:<Block(row)|String>value
  --- The row with the least value of a field or an expression; nil of no rows. Rows whose value is nil do not count.
  --- > rows := ref:sqlite::memory: run: 'select 1 as n union select 2'. rows min: 'n' ⇒ #{ n: 1 }
  ["min:"] = extreme("min:", ""),
  --- -<Number|Decimal> sum:<Block(row)|String>value
  --- DatabaseTable -<Number|Decimal> sum:<Block(row)|String>value
  --- The sum of a field or an expression, computed in the database for numbers; 0 of no rows. Nil does not count, and
  --- decimals are exact.
  --- > rows := ref:sqlite::memory: run: 'select 1 as n union select 2'. rows sum: 'n' ⇒ 3
  ["sum:"] = total("sum:"),
  --- -<any> average:<Block(row)|String>value
  --- DatabaseTable -<any> average:<Block(row)|String>value
  --- The average of a field or an expression, computed in the database for numbers; nil of no rows. Nil does not count.
  --- > rows := ref:sqlite::memory: run: 'select 1 as n union select 2'. rows average: 'n' ⇒ 1.5
  ["average:"] = total("average:"),
  --- -<String> description
  --- -<String> stringValue
  --- The rows as text; this reads them.
  --- > rows := ref:sqlite::memory: run: 'select 1 as n union select 2'. rows description ⇒ '[{n:1},{n:2}]'
  ["description"] = function(self) return K.str(loaded(self)) end,
  ["stringValue"] = function(self) return K.str(loaded(self)) end,
  --- -<Boolean> isEqual:<any>other
  --- Whether the other is the same rows, or an array or rows with equal elements in the same order; both are read.
  --- > rows := ref:sqlite::memory: run: 'select 1 as n union select 2'. rows isEqual: [ #{ n: 1 }, #{ n: 2 } ] ⇒ true
  ["isEqual:"] = function(self, other)
    if rawequal(self, other) then return true end
    if type(other) == "table" and other._isRows then other = loaded(other) end
    return K.eq(loaded(self), other)
  end,
})
K.method(Rows, "_elements", loaded)
-- Within something else that is written as JSON: the text comes from the store as it is.
K.method(Rows, "_json", function(self, out, n)
  if self._query and self._query.many then
    out[n + 1] = K.json(K.includedRecords(loaded(self), self._of))
    return n + 1
  end
  local inner = content(self)
  out[n + 1] = inner and native.lazyText(inner) or K.json(self._loaded)
  return n + 1
end)

-- Higher-order messages: `tasks select collect title` asks for a column, `tasks select reject done`
-- for a condition; what is no field goes to the rows in the program.
local function standIn(selector, ofField)
  local inMemory = K.mangle(selector)
  local known = setmetatable({}, {
    __index = function(cache, name)
      if type(name) ~= "string" or K.isInternal(name) and name ~= "_over" then return nil end
      local function message(proxy, ...)
        local rows = proxy._receiver
        if select("#", ...) == 0 and grows(rows) and isColumn(rows, K.selector(name)) and not cut(rows) then
          return ofField(rows, K.selector(name))
        end
        local list = loaded(rows)
        local row = list[1]
        -- The fields of a record are no messages.
        if select("#", ...) == 0 and type(row) == "table" and row._isDictionary and row._map[K.selector(name)] ~= nil then
          return list[inMemory .. "_"](list, K.selector(name))
        end
        local inner = list[inMemory](list)
        return inner[name](inner, ...)
      end
      cache[name] = message
      return message
    end,
  })
  local meta = { __index = known, _class = K.classes.HigherOrder }
  return function(self) return setmetatable({ _receiver = self, _standIn = true }, meta) end
end

K.methods(Rows, {
  --- -<any> collect
  --- DatabaseTable -<any> collect
  --- A stand-in whose next message is sent to each row: `rows collect title` answers an array, and reads that column
  --- alone.
  --- > books := ref:sqlite:shop.db/books table. books collect title
  ["collect"] = standIn("collect", function(rows, name) return columnValues(rows, name) end),
  --- -<any> select
  --- A stand-in whose next message is a condition on each row: `rows select done` answers the rows for which it is
  --- true. Of a table, `select` answers all rows instead.
  --- > books := ref:sqlite:shop.db/books table. (books rows select lent) count
  ["select"] = standIn("select", function(rows, name) return filtered(rows, { "=", name, true }) end),
  --- -<any> reject
  --- DatabaseTable -<any> reject
  --- A stand-in whose next message is a condition on each row: `rows reject done` answers the rows for which it is not
  --- true.
  --- > books := ref:sqlite:shop.db/books table. (books reject lent) count
  ["reject"] = standIn("reject", function(rows, name) return filtered(rows, { "not", { "=", name, true } }) end),
})

-- What else an array understands, rows do: they are read for it.
rawset(Rows, "_standsFor", K.classes.Array)
for name, method in pairs(K.classes.Array._methods) do
  local ofAll = rawget(K.classes.Object._methods, name) == method
  if type(method) == "function" and not ofAll and rawget(Rows._own, name) == nil and string.find(name, "^%a") then
    K.method(Rows, name, function(self, a, b, c)
      local list = loaded(self)
      return list[name](list, a, b, c)
    end)
  end
end

--- -<nothing> search:<String>words
--- An error: the words of an array have no index. `select:` goes through the elements.
--- > [ 'rain' ] search: 'rain' ⇒ error: search: needs a table of SQLite or PostgreSQL, and this is an array
K.method(K.classes.Array, K.mangle("search:"), function()
  throw("unsupported", "search: needs a table of SQLite or PostgreSQL, and this is an array",
    { i_hint = "select: { :one | one title contains: 'rain' } goes through the elements" })
end)

-- Records that show which columns a table without a class has, by store and path: read once.
local samples = setmetatable({}, { __mode = "k" })
local function sampleOf(self)
  if not grows(self) then return loaded(self):first() end
  local known = samples[self._store]
  if not known then
    known = {}
    samples[self._store] = known
  end
  local place = K.str(self._path) .. " " .. K.str(self._scheme)
  if known[place] == nil then known[place] = first(K.rowsOf(self._store, self._path, self._scheme, nil, { limit = 1 })) end
  return known[place]
end

-- Variables that a condition reads by bare names must not be fields of the rows.
local function refuseFields(self, names)
  K.refuseNames(names, self._of, function() return sampleOf(self) end)
end

-- `rows[{ done = false }]`
K.method(Rows, "query_with_", function(self, block, data, names)
  if names then refuseFields(self, names) end
  return picked(self, block, data)
end)
