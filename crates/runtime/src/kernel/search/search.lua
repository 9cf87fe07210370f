-- Search: `#SearchIndex{ … }` defines an index, `#Search{ … }` searches several at once, and an answer
-- knows its `total`, `allocations` and `ids`. What a definition says is only carried from here: the
-- command around the program reads it, and says what is wrong with it.
local K = ...
local type, rawget, setmetatable = type, rawget, setmetatable
local native, throw = K.native, K.throw
local classes = K.classes

for _, key in ipairs { "_isSearch", "_definition", "_searchOption" } do K.nilKeys[key] = true end

-- Definitions as plain data ------------------------------------------------------------------------

-- The name of the class of a literal, among its options.
local CLASS = "#"
local DEEPEST = 20

local plain

local function record(class, keys, values, n, depth)
  local names, map, count = {}, {}, 0
  if class then
    count = 1
    names[1], map[CLASS] = CLASS, class
  end
  for i = 1, n do
    local key, value = K.str(keys[i]), values[i]
    if value == nil then throw("nilValue", key .. " of " .. K.articleOf(class or "Dictionary") .. " is nil in its literal") end
    if map[key] == nil then
      count = count + 1
      names[count] = key
    end
    map[key] = plain(value, depth)
  end
  return K.dictionary(names, map, count)
end

function plain(value, depth)
  if depth > DEEPEST then throw("invalid", "this definition is nested too deeply") end
  if type(value) ~= "table" then return value end
  if K.isClass(value) then return record(value._name, {}, {}, 0, depth) end
  local option = value._searchOption and value._definition
  if option then return record(value._searchOption, option.keys, option.values, option.n, depth + 1) end
  if value._isDictionary then
    local keys, values, n = {}, {}, 0
    value:keysAndValuesDo_(function(key, one)
      n = n + 1
      keys[n], values[n] = key, one
    end)
    return record(nil, keys, values, n, depth + 1)
  end
  if value._isArray then
    local list = {}
    for i = 1, #value do list[i] = plain(value[i], depth + 1) end
    return K.array(list, #value)
  end
  return value
end

-- Parts of a definition. They only keep what their literal says. A program may have classes of these
-- names; the longer names still mean these.
for _, name in ipairs {
  "Category", "Near", "Place", "Attribute", "Tokenizer", "Substring", "Postfix", "Infix", "DoubleMetaphone",
  "Metaphone", "Soundex", "Logarithmic", "Constant",
} do
  local class = K.newClass(name, classes.Object)
  class._plainName = true
  K.alias("Search" .. name, class)
  K.method(class, "_searchOption", name)
  K.classMethod(class, "_literal", function(self, keys, values, n)
    return setmetatable({ _definition = { keys = keys, values = values, n = n } }, self._methods)
  end)
end

-- Indexes ------------------------------------------------------------------------------------------

-- What its literal says is handed on as it is; `without` is the option that has the stores.
local function told(without)
  return function(self, add)
    local definition = self._definition
    if not definition then return end
    for i = 1, definition.n do
      local key, value = K.str(definition.keys[i]), definition.values[i]
      if value == nil then throw("nilValue", key .. " of " .. K.nameOf(self) .. " is nil in its literal") end
      if key ~= without then add(key, plain(value, 0)) end
    end
  end
end

-- A literal opens what it defines: what is wrong with it is said where it stands.
local function literal(class, keys, values, n)
  local object = class:new()
  object._definition = { keys = keys, values = values, n = n }
  K.innerStore(object)
  return K.connected(object)
end

--- A full-text index of records: `#SearchIndex{ name: 'books', title: #Category{ } }`. A path is the id of a document.
local Index = K.nativeCombinator {
  name = "SearchIndex", kind = "made:searchIndex", super = classes.MappingStore,
  parts = function() return {}, {} end, more = told(nil),
}
--- Searches several indexes at once: `#Search{ indexes: [ books, films ] }`.
local Search = K.nativeCombinator {
  name = "Search", kind = "made:search", super = classes.MappingStore, more = told("indexes"),
  parts = function(self)
    local definition, list = self._definition, nil
    for i = 1, definition and definition.n or 0 do
      if K.str(definition.keys[i]) == "indexes" then list = definition.values[i] end
    end
    if type(list) ~= "table" or K.isClass(list) or not list._isArray then
      throw("typeError", "`indexes` of a Search must be an array of indexes",
        { i_hint = "write `#Search{ indexes: [ books, films ] }`" })
    end
    local stores, names = {}, {}
    for i = 1, #list do stores[i], names[i] = K.asStore(list[i]), "index" end
    return stores, names
  end,
}
K.alias("SearchSeveral", Search)

local function escaped(text)
  return (string.gsub(K.str(text), "[^%w%-._~]", function(letter) return string.format("%%%02X", string.byte(letter)) end))
end

local function search(self, text, ids, offset)
  local query = "?query=" .. escaped(text)
  if ids then query = query .. "&ids=" .. K.str(ids) end
  if offset then query = query .. "&offset=" .. K.str(offset) end
  return K.storeGet(self, query)
end

--- SearchIndex -<SearchAnswer> search:<any>text
--- Search -<SearchAnswer> search:<any>text
--- Searches for the words of a text, and answers the first 20 documents. Every text is a query: none is an error.
--- > { :books | (books search: 'title:emma') ids }

--- SearchIndex -<SearchAnswer> search:<any>text ids:<Number?>count
--- Search -<SearchAnswer> search:<any>text ids:<Number?>count
--- The same as `search:` with the number of documents to answer, at most 100,000; 0 counts only.
--- > { :books | (books search: 'emma' ids: 0) total }

--- SearchIndex -<SearchAnswer> search:<any>text ids:<Number?>count offset:<Number?>skipped
--- Search -<SearchAnswer> search:<any>text ids:<Number?>count offset:<Number?>skipped
--- The same as `search:ids:` without the first documents.
--- > index := #SearchIndex{ name: 'c', title: #{} }. (index search: 'emma' ids: 10 offset: 10) ids ⇒ []

--- SearchIndex -<Number> count
--- Search -<Number> count
--- How many documents are indexed.
--- > #SearchIndex{ name: 'd', title: #{} } count ⇒ 0
for _, class in ipairs { Index, Search } do
  K.classMethod(class, "_literal", literal)
  K.method(class, "_isSearch", true)
  K.methods(class, {
    ["search:"] = search,
    ["search:ids:"] = search,
    ["search:ids:offset:"] = search,
    ["count"] = function(self)
      K.innerStore(self)
      return native.query(self._native, "", nil, {}, true)
    end,
  })
end
--- SearchIndex -<Number> size
--- SearchIndex -<Number> length
--- How many documents are indexed, as `count`.
--- > #SearchIndex{ name: 'e', title: #{} } size ⇒ 0
for _, selector in ipairs { "size", "length" } do K.method(Index, selector, Index._methods.count) end

-- Answers ------------------------------------------------------------------------------------------

--- The answer of a search: how many documents were found, which, and in which interpretations of the query.
local Answer = K.newClass("SearchAnswer", K.classes.Rows)
local loaded = classes.Rows._methods.asArray
local function field(name)
  return function(self) return loaded(self):at_(name) end
end
-- All of one element of the allocations, one after the other.
local function gathered(position)
  return function(self)
    local allocations, all, n = loaded(self):at_("allocations"), {}, 0
    for i = 1, #allocations do
      local list = allocations[i][position]
      for j = 1, type(list) == "table" and #list or 0 do
        n = n + 1
        all[n] = list[j]
      end
    end
    return K.array(all, n)
  end
end
K.methods(Answer, {
  --- -<Number> total
  --- How many documents all interpretations have together; a document counts in each.
  --- > (#SearchIndex{ name: 'f', title: #{} } search: 'emma') total ⇒ 0
  ["total"] = field("total"),
  --- -<Array> allocations
  --- The interpretations of the query, best first. Each is an array: the index, the score, the number of documents, the
  --- words with their categories, and the ids.
  --- > (#SearchIndex{ name: 'g', title: #{} } search: 'emma') allocations ⇒ []
  ["allocations"] = field("allocations"),
  --- -<Number> offset
  --- How many documents were skipped.
  --- > (#SearchIndex{ name: 'h', title: #{} } search: 'emma') offset ⇒ 0
  ["offset"] = field("offset"),
  --- -<Number> duration
  --- The duration of the search in seconds.
  --- > (#SearchIndex{ name: 'i', title: #{} } search: 'emma') duration
  ["duration"] = field("duration"),
  --- -<Dictionary?> facets
  --- Values of categories with their numbers of documents, where the query asks for `facets`; nil otherwise.
  --- > (#SearchIndex{ name: 'j', title: #{} } search: 'emma') facets ⇒ nil
  ["facets"] = field("facets"),
  --- -<Boolean> isComplete
  --- Whether the search was completed: false where it reached the limit of its work and answers what it found so far.
  --- > (#SearchIndex{ name: 'k', title: #{} } search: 'emma') isComplete ⇒ true
  ["isComplete"] = function(self) return loaded(self):at_("incomplete") ~= true end,
  --- -<Array> ids
  --- The ids of the documents of all interpretations, best first.
  --- > i := #SearchIndex{ name: 'l', t: #{} }. i insertAll: [ #{ id: 7, t: 'Emma' } ]. (i search: 'emma') ids ⇒ [ 7 ]
  ["ids"] = gathered(5),
  --- -<Array> documents
  --- The documents of all interpretations, where the query asks for `documents`; otherwise empty.
  --- > (#SearchIndex{ name: 'm', title: #{} } search: 'emma') documents ⇒ []
  ["documents"] = gathered(6),
  --- -<any> at:<String>key
  --- A member of the answer, as JSON has it: `allocations`, `offset`, `duration`, `total`, `facets`.
  --- > (#SearchIndex{ name: 'n', title: #{} } search: 'emma') at: 'total' ⇒ 0
  ["at:"] = function(self, key) return loaded(self):at_(key) end,
  --- -<Dictionary> value
  --- -<Dictionary> asDictionary
  --- The whole answer as a dictionary.
  --- > (#SearchIndex{ name: 'o', title: #{} } search: 'emma') asDictionary at: 'total' ⇒ 0
  ["value"] = loaded,
  ["asDictionary"] = loaded,
  --- As in Object.
  ["description"] = function(self) return K.json(loaded(self)) end,
  --- -<String> stringValue
  --- The answer as JSON.
  --- > (#SearchIndex{ name: 'p', title: #{} } search: 'emma') stringValue hasPrefix: '{"allocations":[]' ⇒ true
  ["stringValue"] = function(self) return K.json(loaded(self)) end,
})

-- Loading and following ----------------------------------------------------------------------------

-- What records can be put into: an index, or `search:books`, which reads as an empty answer.
local function recordTarget(self)
  K.innerStore(self)
  return self
end
for _, class in ipairs { Index, Search } do K.method(class, "_recordTarget", recordTarget) end
K.method(Answer, "_recordTarget", function(self)
  if not rawget(self, "_found") then return nil end
  return K.relativeStore(K.makeStore(self._store), self._path, self._scheme)
end)

-- The field that has the identifier of a record.
local function keyOf(index)
  local definition = index._definition
  for i = 1, definition and definition.n or 0 do
    if K.str(definition.keys[i]) == "key" then return K.str(definition.values[i]) end
  end
  return "id"
end

-- The records that a source answers all at once, as a table does; nil where it has them one by one.
local function recordsAt(source)
  local records = source:value()
  if type(records) ~= "table" then return nil end
  if records._isRows then records = records:asArray() end
  if not records._isArray or type(records[1]) == "string" then return nil end
  return records
end

-- The name of an index in messages and counts.
local function nameOf(index)
  local definition = index._definition
  for i = 1, definition and definition.n or 0 do
    if K.str(definition.keys[i]) == "name" then return K.str(definition.values[i]) end
  end
  return index:stringValue()
end

-- Puts what is at a reference; without a value nothing. Answers whether the index has it.
local function putFrom(index, name, reference)
  local there = false
  return K.deliver("search", nameOf(index), name, function()
    local value = reference:value()
    if value ~= nil then
      K.storePutAt(index, name, value)
      there = true
    end
  end) and there
end

-- Puts the records of a table, by themselves where one of them is not taken.
local function putRecords(index, records, key, there)
  local ok, fault = K.try(K.insertAll, index, records)
  if not ok and not K.isOfRecord(fault) then error(fault, 0) end
  for i = 1, #records do
    local record = records[i]
    local known, id = K.try(K.property, record, key)
    id = known and id ~= nil and K.str(id) or nil
    local isTaken = ok or K.deliver("search", nameOf(index), id or "number " .. i, K.insertAll, index, K.array { record })
    if id and isTaken then there[id] = true end
  end
end

-- Makes an index the same as a source. Answers whether there is anything at the source.
local function reload(index, source)
  local records, there, found = recordsAt(source), {}, true
  if records then
    putRecords(index, records, keyOf(index), there)
  else
    local children = source:children()
    found = #children > 0
    for i = 1, #children do
      local name = string.match(children[i]._path, "([^/]*)/*$")
      there[name] = putFrom(index, name, children[i])
    end
  end
  local names = K.storeList(index, "")
  for i = 1, names and #names or 0 do
    if not there[names[i]] then K.storeDelete(index, names[i]) end
  end
  return found
end

-- Schemes whose tables must exist: a wrong name is a mistake.
local DATABASES = { sqlite = true, postgres = true, postgresql = true }

-- Repeats changes of a source in an index: each by what follows the path of the source.
local function follower(changes, index)
  local source = changes._watched
  local base = (string.gsub((K.splitPath(source._path)), "^/+", ""))
  base = string.gsub(base, "/+$", "")
  return function(change)
    local path = (string.gsub(change.i_path, "^/+", ""))
    if base ~= "" and string.sub(path, 1, #base) == base then path = string.sub(path, #base + 1) end
    path = (string.gsub(path, "^/+", ""))
    if change.i_kind == "lost" or path == "" then return reload(index, source) end
    local isTaken = K.deliver("search", nameOf(index), path, function()
      local value = change:value()
      if value == nil then K.storeDelete(index, path) else K.storePutAt(index, path, value) end
    end)
    -- What is there no longer is found no longer.
    if not isTaken then K.try(K.storeDelete, index, path) end
  end
end
for _, class in ipairs { Index, Search, Answer } do
  K.method(class, "_follower", function(self, changes)
    local index = self:_recordTarget()
    return index and follower(changes, index)
  end)
end

--- SearchIndex -<Number> insertAll:<any>records
--- SearchIndex -<Number> addAll:<any>records
--- SearchIndex -<Number> writeAll:<any>records
--- Indexes records and answers how many: a collection of objects or dictionaries, rows, a reference of a file, or a
--- block that gets a stream to which it writes them. A record with the id of an indexed one replaces it.
--- > #SearchIndex{ name: 'q', title: #{} } insertAll: [ #{ id: 7, title: 'Emma' } ] ⇒ 1

--- SearchIndex -<Number> insertAll:<any>source collect:<Block(each)>block
--- Indexes the record that the block answers for each element of a collection, in batches, and answers how many.
--- > #SearchIndex{ name: 'r', title: #{} } insertAll: (1 to: 9) collect: { :n | #{ id: n, title: 'Emma' } } ⇒ 9

--- SearchIndex -<Number> insertColumns:<Dictionary>columns
--- Indexes records that are given as arrays of values, one for each field, all of the same length.
--- > { :books | books insertColumns: #{ id: [ 7, 8 ], title: [ 'Emma', 'Persuasion' ] } }

--- SearchIndex -<Number> insertCSV:<Reference>file
--- SearchIndex -<Number> insertJSON:<Reference>file
--- SearchIndex -<Number> insertJSONLines:<Reference>file
--- Indexes the records of a file in that format, whatever its name, and answers how many.
--- > { :books | books insertCSV: ref:file:books.txt }
K.methods(Index, K.inserters)
K.methods(Index, {
  --- SearchIndex -<Number> insert:<any>record
  --- Indexes one object or dictionary, and answers 1. `insertAll:` indexes many.
  --- > #SearchIndex{ name: 's', title: #{} } insert: #{ id: 7, title: 'Emma' } ⇒ 1
  ["insert:"] = function(self, record) return self:insertAll_(K.array { record }) end,
})

--- The connection of an index to its source: the answer of `follow:`.
local Following = K.newClass("SearchFollowing", K.classes.Object)
for _, key in ipairs { "_changes", "_claim", "_ended" } do K.nilKeys[key] = true end
K.methods(Following, {
  --- -<self> stop
  --- Ends the connection; the index keeps its documents.
  --- > { :index | (index follow: ref:sqlite:shop.db/books) stop }
  ["stop"] = function(self)
    self._ended, self._claim = true, nil
    if self._changes then self._changes:stop() end
    return self
  end,
})

-- Seconds between two looks whether the worker that follows a source has left.
local TAKING_OVER = 1

-- What all workers of a process have in common is followed by one of them. A store that the program
-- has made is each worker's own.
local function isCommon(source)
  if rawget(source, "_store") then return false end
  for _, name in ipairs(K.installed) do
    if name == source._scheme then return false end
  end
  return true
end

local function claim(index, source)
  local keys, map = { "source" }, { source = source:stringValue() }
  local ok, made = K.try(function()
    return native.combine(nil, "made:searchFollowing", K.dictionary(keys, map, 1), { K.nativeStore(index) },
      K.array({ "index" }, 1))
  end)
  if ok then return made end
  if type(made) == "table" and made.i_kind == "conflict" then return nil end
  error(made, 0)
end

local function begin(self, index, source)
  self._changes = source:changes()
  if not reload(index, source) and DATABASES[source._scheme] then
    throw("notFound", "there is nothing to follow at " .. source:stringValue())
  end
  self._changes:connect_(index)
end

K.methods(Index, {
  --- SearchIndex -<SearchFollowing> follow:<Reference>source
  --- Loads the records at a reference into the index, and repeats each change of them. One worker of the process does
  --- it for all. A database without the table is an error.
  --- > { :index | index follow: ref:sqlite:shop.db/books }
  ["follow:"] = function(self, source)
    if type(source) ~= "table" or not source._isReference then
      throw("typeError", "follow: expects a reference, got " .. K.nameOf(source))
    end
    local following = Following:new()
    local common = isCommon(source)
    if common then following._claim = claim(self, source) end
    if not common or following._claim then
      begin(following, self, source)
      return following
    end
    K.fork(function()
      return K.alone(function()
        while not following._ended do
          native.sleep(TAKING_OVER)
          following._claim = claim(self, source)
          if following._claim then return begin(following, self, source) end
        end
      end)
    end)
    return following
  end,
})

-- `ref:file:books.csv records → books`, `ref:file:plain.csv withColumns: [ 'id', 'title' ]` where the table
-- has no line with the names.
--- The records of a file or another store, one by one, for an index: `ref:file:books.csv records → books`.
local Source = K.newClass("RecordSource", K.classes.Object)
for _, key in ipairs { "_from", "_columns" } do K.nilKeys[key] = true end
local function recordsOf(reference, columns)
  if columns ~= nil and (type(columns) ~= "table" or not columns._isArray) then
    throw("typeError", "withColumns: expects an array of names, got " .. K.nameOf(columns))
  end
  return setmetatable({ _from = reference, _columns = columns }, Source._methods)
end
K.methods(K.classes.Reference, {
  --- -<RecordSource> records
  --- The records at the reference, by its media type, for an arrow to an index. The first line of a table names the
  --- columns.
  --- > { :books | ref:file:books.csv records → books }
  ["records"] = recordsOf,
  --- -<RecordSource> withColumns:<Array?>names
  --- The records of a table whose first line has no names: the names of its columns are given.
  --- > { :books | (ref:file:plain.csv withColumns: [ 'id', 'title' ]) → books }
  ["withColumns:"] = recordsOf,
})
K.methods(Source, {
  --- -<any> connect:<any>target
  --- Indexes the records: `→` sends it. Nil where the target takes none.
  --- > { :books | ref:file:books.csv records → books }
  ["connect:"] = function(self, target)
    local index = K.recordTarget(target)
    if index then
      local from, query = self._from, nil
      local columns = self._columns
      for i = 1, columns and #columns or 0 do
        query = (query and query .. "," or "columns=") .. escaped(columns[i])
      end
      local store = K.nativeStore(rawget(from, "_store") or K.schemeNamed(from._scheme))
      native.postFrom(index._native, "", nil, store, from._path, from._scheme, columns and "text/csv", query)
      return self
    end
    if self._columns == nil then return self._from:connect_(target) end
    return nil
  end,
})
