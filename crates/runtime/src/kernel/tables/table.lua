-- Tables: collections of rows in a store, seen as a class or as plain records. `Table` is a widget.
local K = ...
local type, rawget, setmetatable, ipairs, next, unpack = type, rawget, setmetatable, ipairs, next, unpack
local native, throw, NULL = K.native, K.throw, K.NULL
local Store = K.classes.Store

--- A table of a database, or rows as documents in another store. `table:` makes one of a class, `records:` one of
--- records.
local Table = K.newClass("DatabaseTable", Store)
--- DatabaseTable -<any> db
--- The database of the table, as `database` answers it.
--- > books := ref:sqlite:shop.db/books table. books db

--- DatabaseTable -<String> name
--- The name of the table in its database.
--- > books := ref:sqlite:shop.db records: 'books'. books name ⇒ 'books'
for _, name in ipairs { "db", "name", "class" } do K.ivar(Table, name) end
for _, key in ipairs { "_keys", "_plan", "_place", "_tableName", "_ofInstance" } do K.nilKeys[key] = true end
K.method(Table, "_isTable", true)
K.nilKeys._isTable = true

-- From objects to rows ------------------------------------------------------------------------------

-- The names of the fields that refer to rows of another class.
local function referencesOf(class)
  local names = {}
  for _, ivar in ipairs(class and class._ivars or {}) do
    if K.referredClass(class, ivar) then names[#names + 1] = ivar end
  end
  return names
end

local keyOf = K.keyOfRow

-- The key of a record, of an object or of a dictionary of its fields; a key is itself.
local function keyOfRecord(self, record)
  if type(record) ~= "table" or not record._isDictionary then return keyOf(record) end
  local parts = {}
  for i, name in ipairs(self.i_class and K.keysOfClass(self.i_class) or { "id" }) do
    parts[i] = keyOf(record:at_(name))
    if parts[i] == nil then throw("invalid", string.format("the record has no %s, which names its row", name)) end
  end
  if #parts == 0 then return record end
  return #parts == 1 and parts[1] or K.array(parts)
end

-- The fields of an object or a dictionary as a dictionary of its own.
function K.fieldsRecord(object)
  if object._isDictionary then return object:mutableCopy() end
  local record = K.newDictionary()
  for _, ivar in ipairs(K.columnsOfClass(K.classOf(object))) do
    local value = rawget(object, K.ivarKey(ivar))
    if value ~= nil then record:at_put_(ivar, value) end
  end
  record._sent = object._sent
  return record
end

-- Whether rows refer to those of the table by variables of its class, which are no columns.
local function hasMany(self) return self.i_class ~= nil and next(K.manyOfClass(self.i_class)) ~= nil end

-- An object with its references as keys, for the store.
local function stored(self, object)
  local names = self._keys
  if not names or #names == 0 and not hasMany(self) or type(object) ~= "table" or object._isArray then return object end
  if object._isDictionary then
    local copy = object
    for _, name in ipairs(names) do
      local value = object:at_(name)
      if type(value) == "table" then
        if copy == object then copy = object:mutableCopy() end
        copy:at_put_(name, keyOf(value))
      end
    end
    return copy
  end
  local record = K.fieldsRecord(object)
  record._ofInstance = true
  return stored(self, record)
end

-- The elements of an array so; the array itself where there is nothing to do.
function K.storedAll(self, list)
  if not self._keys or #self._keys == 0 and not hasMany(self) then return list end
  local all = {}
  for i = 1, #list do all[i] = stored(self, list[i]) end
  return K.array(all)
end

-- Shapes ------------------------------------------------------------------------------------------

-- A key path of an index, or several: `'done'`, `[ 'done', 'title' ]`.
local function addIndexes(list, class, selector, unique)
  local name = K.mangle(selector)
  if rawget(class._meta, name) == nil then return end
  local declared = class[name](class)
  if type(declared) == "string" then declared = K.array { declared } end
  if type(declared) ~= "table" or not declared._isArray then
    throw("typeError", string.format("%s of the class %s answers no array of field names", selector, class._name))
  end
  for i = 1, #declared do
    local fields = declared[i]
    if type(fields) == "string" then fields = K.array { fields } end
    local parts = { unique }
    for j = 1, #fields do parts[j + 1] = K.expectText(fields[j], selector) end
    list[#list + 1] = K.array(parts)
  end
end

local namedTable = K.namedTable

local declaredNames = K.declaredNames

-- What clients of a server may ask of a table, as natives take it.
function K.servedLimits(class)
  local page = NULL
  if rawget(class._meta, "largestPage") ~= nil then
    page = class:largestPage()
    if type(page) ~= "number" or page < 1 or page > 1e9 or page % 1 ~= 0 then
      throw("invalid", "largestPage of " .. class._name .. " must be a whole number from 1 to 1000000000")
    end
  end
  return K.array { page, declaredNames(class, "filterable"), declaredNames(class, "sortable") }
end

-- What a field refers to, as natives take it; nothing where it refers to no class.
local function reference(class, name, marks)
  local referred = K.referredClass(class, name)
  if referred then
    return referred._name, namedTable(referred), marks.cascade and "cascade" or marks.nullify and "nullify" or ""
  end
  local declared = marks and marks.type
  local value = declared and declared.kind == "class" and K.valueClass(declared.name)
  if value and #K.keysOfClass(value) > 1 then
    local wrong = "%s of %s refers to %s, whose key has several variables"
    throw("invalid", string.format(wrong, name, class._name, value._name),
      { i_hint = "declare the variables of its key instead" })
  end
  local mark = marks and (marks.cascade and "cascade" or marks.nullify and "nullify")
  if mark then
    throw("invalid", string.format("%s of %s is `%s`, and refers to no class with a key", name, class._name, mark),
      { i_hint = "name the class: var <Project cascade> project" })
  end
end

-- The fields and indexes of a class, as natives take them.
local function shapeOf(class)
  local fields, indexes, columns = {}, {}, K.columnNamesOf(class) or {}
  K.manyOfClass(class, true)
  for i, name in ipairs(K.columnsOfClass(class)) do
    local marks = class._marks[name]
    fields[i] = K.array { name, K.columnKind(class, name), marks and marks.required or false,
      marks and marks.readonly or false, columns[name] or "", reference(class, name, marks) }
    if marks and marks.unique then indexes[#indexes + 1] = K.array { true, name } end
  end
  addIndexes(indexes, class, "indexes", false)
  addIndexes(indexes, class, "unique", true)
  local words = K.fullTextOfClass(class)
  if words then indexes[#indexes + 1] = K.array { "fullText", unpack(words) } end
  return K.array(fields), K.array(indexes)
end

-- The unique indexes of a class, as lists of names.
function K.uniqueOfClass(class)
  local _, indexes = shapeOf(class)
  local unique = {}
  for i = 1, #indexes do
    local index = indexes[i]
    if index[1] == true then
      local names = {}
      for j = 2, #index do names[j - 1] = index[j] end
      unique[#unique + 1] = names
    end
  end
  return unique
end

-- A place and a class as natives take them.
local function described(database, path, scheme, class)
  local fields, indexes = shapeOf(class)
  return database, path, scheme, class._name, fields, indexes, K.contractOf(class), K.array(K.keysOfClass(class)),
    namedTable(class), K.servedLimits(class)
end

-- The statements that make the table of a class what the class says, beyond those that `table:` runs.
function K.differencesOf(database, path, scheme, class)
  if not K.isClass(class) then throw("typeError", "differences: expects a class, got " .. K.nameOf(class)) end
  return native.differences(described(database, path, scheme, class))
end

-- For `runnel migrate generate`: the statements for the tables that the program has asked for, once
-- `compares` has been sent.
local compared
K.classMethod(Table, "compares", function() compared = {} end)
K.classMethod(Table, "differences", function()
  local lines = {}
  for i, step in ipairs(compared or {}) do
    lines[i] = string.find(step, "^%-%-") and step or step .. ";"
  end
  return table.concat(lines, "\n")
end)

-- The table of a class at a place, made if it is not there; `base` is the path of its database.
function K.tableOf(database, path, scheme, class, base)
  if not K.isClass(class) then
    throw("typeError", "table: expects a class, got " .. K.nameOf(class), { i_hint = "records: gives a table by its name" })
  end
  if compared then
    local steps = K.differencesOf(database, path, scheme, class)
    for i = 1, #steps do compared[#compared + 1] = steps[i] end
  end
  local inner = native.define(described(database, path, scheme, class))
  K.comparesRows(class)
  local place = { database, base or path, scheme }
  -- What a change feed calls it.
  local name = base and string.sub(path, base == "" and 1 or #base + 2) or native.tableName(class._name, namedTable(class))
  return setmetatable({ _native = inner._native, i_class = class, i_db = database, _keys = referencesOf(class), _place = place,
    _tableName = name, i_name = name }, Table._methods)
end

K.definesRelated(K.tableOf)

-- The table of that name as it is: its rows are records.
function K.recordsOf(database, path, scheme)
  local inner = K.relativeStore(database, path, scheme)
  return setmetatable({ _native = inner._native, i_db = database, i_name = string.match(path, "[^/]*$") },
    Table._methods)
end

-- Messages ----------------------------------------------------------------------------------------

local function rows(self)
  local made = K.rowsOf(self._native, "", nil, self.i_class, {}, self._place)
  -- A handler has ended when its rows are read.
  made._asked = native.programPlace()
  return made
end
K.allRows = rows

local function path(id)
  if type(id) == "number" then return K.str(id) end
  if type(id) == "table" then id = keyOf(id) end
  if type(id) == "table" and id._isArray then
    local parts = {}
    for i = 1, #id do parts[i] = K.encodeSegment(K.str(id[i])) end
    return table.concat(parts, "/")
  end
  if type(id) == "table" and id._isReference then return id._path end
  return K.encodeSegment(K.str(id))
end

K.rowPath = path

local function dated(self, row)
  local class = self.i_class
  if type(row) ~= "table" or not class then return row end
  if row._isDictionary then row = K.instantiate(row, class._name) end
  if self._place and not row._isDictionary and K.isKind(row, class) and #K.relationsOfClass(class) > 0 then
    K.batchOf(class, self._place, row, true)
  end
  return row
end

-- What was just inserted, and where: for who answers a client that posted it.
local places = setmetatable({}, { __mode = "k" })
function K.placeOf(object) return places[object] end

-- What a put has just created, for the same reader.
local created = setmetatable({}, { __mode = "k" })
function K.wasCreated(object) return created[object] end

-- Who made a record: `false` where the program may set each field in it, and nil where its mark
-- tells. An instance that a converter made of content obeys its class already, except for the key.
local function maker(self, object)
  if type(object) ~= "table" or not object._sent or object._isDictionary then return nil end
  if object._sentKey == nil and self.i_class and K.isKind(object, self.i_class) then return false end
  return nil
end

local function inserted(self, record, granted)
  local row = dated(self, native.post(self._native, "", nil, nil, record, granted))
  if type(row) == "table" and not row._isBig then
    local names, parts = self.i_class and K.keysOfClass(self.i_class) or { "id" }, {}
    for i, name in ipairs(names) do
      local part
      if row._isDictionary then part = row:at_(name) else part = rawget(row, K.ivarKey(name)) end
      parts[i] = part ~= nil and K.encodeSegment(K.str(part)) or nil
    end
    if #names > 0 and #parts == #names then places[row] = table.concat(parts, "/") end
  end
  return row
end

local function refuseArray(list)
  throw(list._sent and "unprocessable" or "invalid", "insert: takes one record, not an Array",
    { i_hint = "insertAll: inserts many" })
end

-- Related rows are not inserted with the row that they refer to.
local function refuseMany(self, object)
  if type(object) ~= "table" or not hasMany(self) then return end
  for name, many in pairs(K.manyOfClass(self.i_class)) do
    local value
    if object._isDictionary then value = object:at_(name) else value = rawget(object, K.ivarKey(name)) end
    if value ~= nil and value ~= K.NULL then
      throw(object._sent and "unprocessable" or "invalid", string.format("%s of %s are rows of another table, which refer to it by %s",
        name, self.i_class._name, many.field), { i_hint = "insert the row first, then those with insertAll:" })
    end
  end
end

-- A dictionary for a table of a class: with the values that are made for each row (constants are added
-- by the store), and within the rules of the class when a client sent it. Answers the names, too.
local function prepared(self, object)
  local class = self.i_class
  if not class or type(object) ~= "table" or not object._isDictionary then return object end
  if object._sent then K.admitRecord(class, object) end
  local computed = K.computedDefaultsOf(class)
  if not computed then return object end
  local filled, names = K.filledRecord(class, object, computed)
  return filled, object._sent and names or nil
end

local function insert(self, object)
  if object == nil then throw("unprocessable", "nil is no record to insert") end
  if type(object) == "table" and object._isArray then refuseArray(object) end
  refuseMany(self, object)
  local made, set = maker(self, object), nil
  object, set = prepared(self, object)
  if made == nil then made = set end
  return inserted(self, stored(self, object), made)
end

-- `insert: newValue with: #{ author: user }`: the program sets these fields, whatever the other
-- record says of them.
local function insertWith(self, object, more)
  if type(object) == "table" and object._isArray then refuseArray(object) end
  if type(object) ~= "table" then throw("unprocessable", K.nameOf(object) .. " is no record to insert") end
  if type(more) ~= "table" or not more._isDictionary then
    throw("typeError", "insert:with: expects a dictionary of fields, got " .. K.nameOf(more))
  end
  local sent = object._sent and maker(self, object) == nil
  local record, names = K.fieldsRecord(object), {}
  local keys = K.keysOf(more)
  for i = 1, more._n do
    names[i] = K.str(keys[i])
    local value = more:at_(keys[i])
    record:at_put_(names[i], value == nil and NULL or value)
  end
  local set
  record, set = prepared(self, record)
  if set then
    for i = 1, #set do names[#names + 1] = set[i] end
  end
  return inserted(self, stored(self, record), sent and K.array(names) or false)
end

local function put(self, id, object)
  if object == nil then
    native.delete(self._native, path(id))
    return nil
  end
  if type(object) == "table" and object._sent and object._isDictionary and self.i_class then
    K.admitRecord(self.i_class, object)
  end
  local new = native.put(self._native, path(id), nil, nil, stored(self, object), maker(self, object))
  if new == true and type(object) == "table" then created[object] = true end
  return object
end

local function merge(self, id, object)
  return native.merge(self._native, path(id), nil, nil, stored(self, object), maker(self, object))
end

--- The key of a row with `forUpdate`, for `at:` of a table.
local LockedKey = K.newClass("LockedKey", K.classes.Object)
--- -<String> description
--- The key and `forUpdate`.
--- > 1 forUpdate description ⇒ '1 forUpdate'
K.method(LockedKey, "description", function(self) return K.str(self._locks) .. " forUpdate" end)
--- -<LockedKey> forUpdate
--- The value as the key of a row to be locked until the transaction ends: `accounts at: 1 forUpdate`.
--- > accounts := ref:sqlite:shop.db/accounts table. accounts transaction: { accounts at: 1 forUpdate }
K.method(K.classes.Object, "forUpdate", function(self)
  return setmetatable({ _locks = self }, LockedKey._methods)
end)

local function locked(self, id)
  return dated(self, native.query(self._native, path(id), nil, { lock = true }))
end

K.methods(Table, {
  --- -<Class> class
  --- `DatabaseTable`; not the class of the rows.
  --- > books := ref:sqlite:shop.db/books table. books class
  ["class"] = function(self) return K.classOf(self) end,
  --- -<Rows> select
  --- -<Rows> all
  --- -<Rows> rows
  --- All rows, as a query that runs when its result is needed. A handler that answers it sends the rows as JSON.
  --- > books := ref:sqlite:shop.db/books table. books select collect title
  ["select"] = rows, ["all"] = rows, ["rows"] = rows,
  --- -<Array> asArray
  --- All rows as an array of objects of the class, or of records; this reads them.
  --- > books := ref:sqlite:shop.db/books table. books asArray count
  ["asArray"] = function(self) return rows(self):asArray() end,
  --- -<any> insert:<any>record
  --- -<any> add:<any>record
  --- Inserts an object or a dictionary of fields, and answers the row with its generated key. A record of a client must
  --- conform to the class; an array is an error, which `insertAll:` takes.
  --- > books := ref:sqlite:shop.db/books table. books insert: #{ title: 'Emma', year: 1815 }
  ["insert:"] = insert, ["add:"] = insert,
  --- -<any> insert:<any>record with:<Dictionary>fields
  --- Inserts a record of a client with fields that the program sets, whatever the record says of them, and answers the
  --- row.
  --- > sent := #{ title: 'Emma' }. books := ref:sqlite:shop.db/books table. books insert: sent with: #{ owner: 7 }
  ["insert:with:"] = insertWith,
  --- -<self> writeObject:<any>record
  --- Inserts a record and answers the table, so that a table is the target of a connection. `insert:` answers the row.
  --- > books := ref:sqlite:shop.db/books table. books writeObject: #{ title: 'Emma' }
  ["writeObject:"] = function(self, object)
    insert(self, object)
    return self
  end,
  --- -<Number> size
  --- -<Number> length
  --- How many rows the table has, as `count`.
  --- > books := ref:sqlite:shop.db/books table. books size
  ["size"] = function(self) return rows(self):count() end,
  ["length"] = function(self) return rows(self):count() end,
  --- -<any> inject:<any>start into:<Block(sum, row)>block
  --- Reads the rows and combines them with the block, as of an array.
  --- > books := ref:sqlite:shop.db/books table. books inject: 0 into: { :sum :book | sum + book pages }
  ["inject:into:"] = function(self, start, block) return rows(self):inject_into_(start, block) end,
  --- -<Set> asSet
  --- All rows as a set; this reads them.
  --- > books := ref:sqlite:shop.db/books table. books asSet count
  ["asSet"] = function(self) return rows(self):asSet() end,
  --- -<Rows> jsonRepresentation
  --- All rows: a table is JSON as its rows are, also within a dictionary.
  --- > books := ref:sqlite:shop.db/books table. books asJSON
  ["jsonRepresentation"] = function(self) return rows(self) end,
  --- -<any> at:<any>key
  --- The row with this key; nil without one. A key of several variables is an array. `at: key forUpdate` locks the row
  --- until the transaction ends.
  --- > books := ref:sqlite:shop.db/books table. books at: 7
  ["at:"] = function(self, id)
    if type(id) == "table" and rawget(id, "_locks") ~= nil then return locked(self, id._locks) end
    return dated(self, native.get(self._native, path(id)))
  end,
  --- -<any> at:<any>key put:<any>record
  --- Replaces the row with this key, or creates it, and answers the record; nil deletes the row. Fields that it lacks
  --- become nil.
  --- > books := ref:sqlite:shop.db/books table. books at: 7 put: #{ title: 'Emma', year: 1815 }
  ["at:put:"] = put,
  --- -<any> put:<any>record at:<any>key
  --- Replaces the row with this key, as `at:put:` does.
  --- > books := ref:sqlite:shop.db/books table. books put: #{ title: 'Emma' } at: 7
  ["put:at:"] = function(self, object, id) return put(self, id, object) end,
  --- -<nothing> at:<any>key merge:<any>fields
  --- Changes the named fields of the row with this key and keeps the others. It is an error where there is no such row.
  --- > books := ref:sqlite:shop.db/books table. books at: 7 merge: #{ lent: true }
  ["at:merge:"] = merge,
  --- -<nothing> merge:<any>fields at:<any>key
  --- Changes the named fields of the row with this key, as `at:merge:` does.
  --- > books := ref:sqlite:shop.db/books table. books merge: #{ lent: true } at: 7
  ["merge:at:"] = function(self, object, id) return merge(self, id, object) end,
  --- -<any> at:<any>path post:<any>record
  --- Posts a record below a path, as a store; in a table only the root takes records, which `insert:` does.
  --- > books := ref:sqlite:shop.db/books table. books at: '' post: #{ title: 'Emma' }
  ["at:post:"] = function(self, id, object)
    return dated(self, native.post(self._native, path(id), nil, nil, stored(self, object)))
  end,
  --- -<nothing> update:<any>record
  --- Changes the row that has the key of the record: of an object the fields that are not nil, of a dictionary all that
  --- it has. `updateAll:` changes many rows.
  --- > books := ref:sqlite:shop.db/books table. books update: #{ id: 7, lent: true }
  ["update:"] = function(self, object) return merge(self, keyOfRecord(self, object), object) end,
  --- -<Boolean> removeAt:<any>key
  --- -<Boolean> deleteAt:<any>key
  --- Deletes the row with this key, and answers whether there was one. A row to which others refer is an error.
  --- > books := ref:sqlite:shop.db/books table. books removeAt: 7
  ["removeAt:"] = function(self, id) return native.delete(self._native, path(id)) end,
  ["deleteAt:"] = function(self, id) return native.delete(self._native, path(id)) end,
  --- -<Boolean> remove:<any>record
  --- Deletes the row that has the key of the record, or this key, and answers whether there was one.
  --- > books := ref:sqlite:shop.db/books table. books remove: #{ id: 7 }
  ["remove:"] = function(self, object) return native.delete(self._native, path(keyOfRecord(self, object))) end,
  --- -<String> description
  --- What the table is, in words for logs and graphs.
  --- > books := ref:sqlite:shop.db/books table. books description
  ["description"] = function(self) return native.describe(self._native) end,
})

-- Messages that make a query of the table, and those that go through its rows.
for _, selector in ipairs {
  "select:", "where:", "filter:", "reject:", "detect:", "anySatisfy:", "allSatisfy:", "noneSatisfy:", "countOf:", "count:",
  "sorted:", "sortedBy:", "sortBy:", "first:", "skip:", "columns:", "collect:", "map:", "max:", "min:", "sum:",
  "average:", "do:", "first", "count", "isEmpty", "notEmpty", "isNotEmpty", "collect", "reject",
  "groupBy:", "groupedBy:", "distinct:", "union:", "intersection:", "difference:", "include:", "search:", "forUpdate", "removeAll", "takeAll",
  "removeEveryRow", "updateEveryRow:", "sql", "explain",
} do
  local name = K.mangle(selector)
  K.method(Table, name, function(self, a, b)
    local all = rows(self)
    return all[name](all, a, b)
  end)
end
K.method(Table, "updateEveryRow_returning_", function(self, changes, fields, data)
  return rows(self):updateEveryRow_returning_(changes, fields, data)
end)
K.method(Table, "detect_ifNone_", function(self, block, none, data) return rows(self):detect_ifNone_(block, none, data) end)
-- `table[{ done = false }]`: what the compiler could turn into data runs in the database.
K.method(Table, "query_with_", function(self, block, data, names)
  return rows(self):query_with_(block, data, names)
end)
