-- Relations: a variable whose type is a class with a table. `book author` reads the row that the variable refers to, for
-- all rows of a result with one statement: rows that were read together share a batch. In a query the path
-- `author.name` is a join.
local K = ...
local type, rawget, rawequal, setmetatable, pairs, ipairs = type, rawget, rawequal, setmetatable, pairs, ipairs
local native, throw, NULL, unpack = K.native, K.throw, K.NULL, unpack

-- Keys that one statement asks for.
local KEYS = 1000

-- The variables of a class that refer to rows, or that rows may refer to.
function K.relationsOfClass(class)
  local known = rawget(class, "_relations")
  if known and known.count == #class._ivars then return known end
  known = { count = #class._ivars }
  for _, ivar in ipairs(class._ivars) do
    local marks = class._marks[ivar]
    if marks and marks.type and marks.type.kind == "class" and K.relatedClass(class, ivar) then known[#known + 1] = ivar end
    -- Its element may be a class that is defined later.
    local element = marks and marks.type and marks.type.element
    if element and element.kind == "class" then known[#known + 1] = ivar end
  end
  rawset(class, "_relations", known)
  return known
end

-- The name that a class gives its table, or an empty text.
function K.namedTable(class)
  if rawget(class._metaOwn, "tableName") == nil then return "" end
  return K.expectText(class:tableName(), "tableName")
end

-- The columns that a class names, by variable; nil where it names none.
function K.columnNamesOf(class)
  if rawget(class._meta, "columnNames") == nil then return end
  local answered, names, known = class:columnNames(), {}, {}
  if type(answered) ~= "table" or not answered._isDictionary then
    throw("typeError", string.format("columnNames of the class %s answers no dictionary", class._name),
      { i_hint = "+columnNames { #{ title: 'task_title' } }" })
  end
  for _, name in ipairs(K.columnsOfClass(class)) do known[name] = true end
  local variables = answered:keys()
  for i = 1, #variables do
    local name = K.expectText(variables[i], "columnNames")
    local column = K.expectText(answered:at_(name), "columnNames")
    if not known[name] then
      throw("invalid", string.format("columnNames of %s names %s, which is no variable of it", class._name, name),
        { i_hint = "the keys are variables, and the values their columns" })
    end
    if column == "" or string.find(column, "\0", 1, true) then
      throw("invalid", string.format("columnNames of %s gives %s no name of a column", class._name, name),
        { i_hint = "a name has at least one character, and no NUL" })
    end
    names[name] = column
  end
  return names
end

-- The name of the table of a class.
local function tableNameOf(class) return native.tableName(class._name, K.namedTable(class)) end

-- The table of a class for a query: behind its name the variables that have other columns, with these.
local function relatedTableOf(class)
  local names, parts = K.columnNamesOf(class), { tableNameOf(class) }
  if not names then return parts[1] end
  for _, name in ipairs(K.columnsOfClass(class)) do
    if names[name] then
      parts[#parts + 1] = name
      parts[#parts + 1] = names[name]
    end
  end
  return table.concat(parts, "\0")
end

-- The key that stands for a row: an object's `id`, or what is a key already. A key of several variables
-- is an array.
function K.keyOfRow(value)
  if type(value) ~= "table" or value._isBig or value._isArray then return value end
  local class = K.classOf(value)
  if class._types == nil or #class._ivars == 0 then return value end
  local names, parts = K.keysOfClass(class), {}
  for i, name in ipairs(names) do
    parts[i] = rawget(value, K.ivarKey(name))
    if parts[i] == nil then
      throw("invalid", string.format("%s has no %s yet, so that nothing can refer to it", K.nameOf(value), name),
        { i_hint = "insert it first" })
    end
  end
  if #names == 0 then return value end
  return #names == 1 and parts[1] or K.array(parts)
end

-- Two objects of one row are equal, and so are an object and the key of its row: as in the database.
local function isSameRow(self, other)
  if rawequal(self, other) then return true end
  local class = K.classOf(self)
  local ivar = K.ivarKey(K.keysOfClass(class)[1])
  local key = rawget(self, ivar)
  if key == nil then return false end
  if type(other) ~= "table" or other._isBig then return K.eq(key, other) end
  return K.classOf(other) == class and K.eq(key, rawget(other, ivar))
end

-- Makes the objects of a class with one key compare so, unless the class says how.
function K.comparesRows(class)
  if #K.keysOfClass(class) ~= 1 or rawget(class._own, "isEqual_") ~= nil then return end
  K.method(class, "isEqual_", isSameRow)
  K.method(class, "_equalsPlain", true)
end

-- The values of a condition on a variable that refers to rows: an object stands for its key.
-- Empty are texts and related rows.
function K.keyedCondition(class, data)
  if type(data) ~= "table" then return data end
  local word, field, value = data[1], data[2], data[3]
  if word == "empty" then
    if class and K.manyOfPath(class, field) then return { "not", { "any", field, false } } end
    return { "or", { "=", field, "" }, { "=", field, NULL } }
  end
  if word == "none" then
    local many, prefix = K.manyOfPath(class, field)
    local none = { "not", { "any", field, value } }
    if not many or prefix == "" then return none end
    -- Where no row leads to the list, there is no list that could have none.
    return { "and", { "≠", prefix .. many.key, NULL }, none }
  end
  if word == "and" or word == "or" then
    return { word, K.keyedCondition(class, field), K.keyedCondition(class, value) }
  end
  if word == "not" then return { word, K.keyedCondition(class, field) } end
  if not class or word == "test" or word == "match" or word == "any" or type(value) ~= "table" or value._isBig then return data end
  local owner, name = K.fieldOfPath(class, field)
  if not owner or not K.referredClass(owner, name) then return data end
  if word ~= "in" then return { word, field, K.keyOfRow(value) } end
  local keys = {}
  for i = 1, #value do keys[i] = K.keyOfRow(value[i]) end
  return { word, field, K.array(keys) }
end

-- The names that a class method answers, which have to be variables of the class; nil without the method.
function K.declaredNames(class, selector)
  if rawget(class._meta, selector) == nil then return NULL end
  local names = class[selector](class)
  if type(names) ~= "table" or not names._isArray then
    throw("typeError", string.format("%s of the class %s answers no array of field names", selector, class._name))
  end
  local known = {}
  for _, name in ipairs(K.columnsOfClass(class)) do known[name] = true end
  for i = 1, #names do
    if not known[K.expectText(names[i], selector)] then
      throw("invalid", string.format("%s of %s names %s, which is no variable of it", selector, class._name, names[i]))
    end
  end
  return names
end

-- The names of the variables whose words `search:` finds; nil where the class declares none.
function K.fullTextOfClass(class)
  local names = K.declaredNames(class, "fullText")
  return names ~= NULL and names or nil
end

-- Paths ---------------------------------------------------------------------------------------------

local function untranslatedPath(path, problem)
  throw("notTranslated", string.format("`%s` cannot run in the database: %s", string.gsub(path, "%.", " "), problem),
    { i_hint = "`asArray` before it reads the rows, and the rest runs in the program" })
end

-- The class that a variable refers to, or the error that it is no relation.
local function related(class, name, path)
  local declared = false
  for _, ivar in ipairs(class._ivars) do declared = declared or ivar == name end
  local other = declared and K.relatedClass(class, name)
  if other then return other end
  local problem = K.manyOfClass(class)[name]
    and string.format("%s of %s are many rows; anySatisfy: asks for one that meets a condition", name, class._name)
    or declared and K.referredClass(class, name)
    and string.format("%s of %s is named as a key, which has no fields", name, class._name)
    or declared and string.format("%s of %s refers to no table", name, class._name)
    or string.format("%s has no variable %s", class._name, name)
  untranslatedPath(path, problem)
end

-- Writes where related rows are into what asks for them: table, field and key, then the joins of its own condition.
local function placeRelated(class, data, at)
  local path = data[2]
  local many, prefix = K.manyOfPath(class, path)
  if not many then untranslatedPath(path, string.format("%s of %s is no list of related rows", path, class._name)) end
  local inner = {}
  if data[3] then
    data[3] = K.keyedCondition(many.class, data[3])
    K.addRelations(many.class, inner, data[3])
  end
  if at == 5 then K.addRelations(many.class, inner, data[4]) end
  data[at] = { relatedTableOf(many.class), many.field, prefix .. many.key, unpack(inner.relations or {}) }
end

-- Adds the joins that the paths of a condition or an expression need to a query of a class.
function K.addRelations(class, query, data)
  K.eachField(data, function(path)
    path = string.gsub(path, "^%-", "")
    if not string.find(path, ".", 1, true) then return end
    if not class then
      throw("notTranslated", string.format("`%s` cannot run in the database: records have no relations", (string.gsub(path, "%.", " "))),
        { i_hint = "make the table of a class: `database table: Book`" })
    end
    local known, list, owner, prefix = {}, {}, class, nil
    for i, text in ipairs(query.relations or {}) do
      list[i] = text
      if i % 3 == 1 then known[text] = true end
    end
    for step in string.gmatch(path, "([^.]+)%.") do
      owner = related(owner, step, path)
      prefix = prefix and prefix .. "." .. step or step
      if not known[prefix] then
        known[prefix] = true
        local n = #list
        list[n + 1], list[n + 2], list[n + 3] = prefix, relatedTableOf(owner), K.keysOfClass(owner)[1]
      end
    end
    query.relations = list
  end, function(asking, at)
    if not class then untranslatedPath(asking[2], "records have no relations") end
    placeRelated(class, asking, at)
  end)
  return query
end

-- Loading -------------------------------------------------------------------------------------------

-- How rows are asked for: set by the file of rows, which is loaded later.
local rowsOf
function K.readsRelations(with) rowsOf = with end

-- How the table of a class is defined: set by the file of tables, which is loaded later.
local tableOf
function K.definesRelated(with) tableOf = with end

-- What rows that were read together share: where their table is, and what was loaded for them. The rows themselves
-- are held weakly, so that one row does not hold all others.
local weak = { __mode = "v" }

-- The rows of a query over the table of a class, in the database of a place: objects of the class, or records. Columns
-- that the class does not know are not read.
function K.rowsBeside(place, class, query, asRecords)
  local database, base, scheme = place[1], place[2], place[3]
  local name = tableNameOf(class)
  K.comparesRows(class)
  local at = base == "" and name or base .. "/" .. name
  local inner
  if K.columnNamesOf(class) then
    -- Only its definition knows the columns. The place keeps it.
    place.defined = place.defined or {}
    inner = place.defined[class] or tableOf(database, at, scheme, class, base)
    place.defined[class] = inner
  else
    inner = K.relativeStore(database, at, scheme)
  end
  local rows = rowsOf(inner._native, "", nil, not asRecords and class or nil, query, place)
  rows._beside = not asRecords
  return rows
end

-- Calls `read` with at most `KEYS` keys.
function K.inParts(keys, read)
  for first = 1, #keys, KEYS do
    local part = {}
    for i = first, math.min(first + KEYS - 1, #keys) do part[#part + 1] = keys[i] end
    read(K.array(part))
  end
end

-- The rows of a class with these keys, by key.
local function rowsByKey(place, class, keys)
  local key, found = K.keysOfClass(class)[1], {}
  K.inParts(keys, function(part)
    local rows = K.rowsBeside(place, class, { filter = { "in", key, part } }):asArray()
    for i = 1, #rows do found[K.key(rawget(rows[i], K.ivarKey(key)))] = rows[i] end
  end)
  return found
end

-- Single rows of one relation that a fiber loads before the log has a warning.
local ALONE = 10
-- By fiber, how often each relation was loaded for a row that was read alone; the relations that were logged.
local alone, logged = setmetatable({}, { __mode = "k" }), {}

-- The N+1 problem: rows that are read one by one load their relations one by one.
function K.countAlone(batch, name)
  local fiber = coroutine.running() or K
  local counts = alone[fiber]
  if not counts then
    counts = {}
    alone[fiber] = counts
  end
  local relation = batch.class._name .. " " .. name
  counts[relation] = (counts[relation] or 0) + 1
  if counts[relation] < ALONE or logged[relation] then return end
  logged[relation] = true
  local place = K.framesOf(K.trace())[1]
  native.warn(string.format("N+1 statements: %s was read %d times for a single row%s; read the rows with one query, or with atAll:",
    relation, ALONE, place and ", at " .. place or ""))
end

-- Loads the relation of all rows of a batch.
local function load(batch, class, name, ivar)
  if batch.single then K.countAlone(batch, name) end
  local keys, seen = {}, {}
  for _, row in pairs(batch.rows) do
    local value = rawget(row, ivar)
    if value ~= nil and type(value) ~= "boolean" and (type(value) ~= "table" or value._isBig) then
      local key = K.key(value)
      if not seen[key] then
        seen[key] = true
        keys[#keys + 1] = value
      end
    end
  end
  batch.loaded[name] = rowsByKey(batch.place, class, keys)
end

-- The row that a variable of a row in a batch refers to; a value that is no key is itself.
local function relatedRow(batch, name, ivar, value)
  local other = K.relatedClass(batch.class, name)
  if not other or type(value) == "boolean" or type(value) == "table" and not value._isBig then return value end
  local key, known = K.key(value), batch.loaded[name]
  -- A key that was set since is loaded with the others; one without a row is asked for once.
  if not known or known[key] == nil then
    load(batch, other, name, ivar)
    known = batch.loaded[name]
    if known[key] == nil then known[key] = false end
  end
  return known[key] or nil
end

-- How the rows that refer to a row are asked for: set by the file of related rows.
local manyRows
function K.readsMany(with) manyRows = with end

-- Says of the rows of a list, or of one row, that they were read together.
function K.batchOf(class, place, list, single)
  local batch = { class = class, place = place, rows = setmetatable({}, weak), loaded = {}, related = relatedRow,
    many = manyRows }
  if single then
    batch.rows[1], list._batch, batch.single = list, batch, true
    return
  end
  for i = 1, #list do
    local row = list[i]
    if type(row) == "table" and not row._isDictionary and row ~= NULL then
      batch.rows[i], row._batch = row, batch
    end
  end
end

-- Reading with the rows -----------------------------------------------------------------------------

-- The paths of `include:` that lead over to-one relations alone; those that do not become entries of `query.many`: the
-- path before the list of rows, the list, and the paths within its rows.
local function splitPaths(class, query, paths)
  local plain, many = {}, {}
  for i, entry in ipairs(query.many or {}) do many[i] = entry end
  for i = 1, #paths do
    local path, owner, prefix = string.gsub(K.expectText(paths[i], "include:"), " ", "."), class, ""
    local rest = path
    while owner and rest do
      local step, behind = string.match(rest, "^([^.]+)%.?(.*)$")
      if K.manyOfClass(owner)[step] then
        many[#many + 1] = { prefix = prefix, name = step, rest = behind ~= "" and behind or nil }
        path = prefix
        break
      end
      owner = related(owner, step, path)
      prefix = prefix == "" and step or prefix .. "." .. step
      rest = behind ~= "" and behind or nil
    end
    if path ~= "" then plain[#plain + 1] = path end
  end
  if #many > 0 then query.many = many end
  return plain
end

-- `books include: [ 'author', 'author country' ]`: the related rows are joined, so that one statement reads all of them.
-- As JSON they are records in the record. The query has the fields of all; `include` holds the paths.
function K.includeRelations(class, query, paths)
  if not class then throw("unsupported", "include: is for a table of a class, which says what its variables refer to") end
  paths = splitPaths(class, query, paths)
  if #paths == 0 then return query end
  local included, fields = {}, {}
  for i = 1, #(query.include or {}) do included[i] = query.include[i] end
  for i = 1, #paths do
    local path = paths[i]
    for prefix in string.gmatch(path .. ".", "()%.") do
      local part, known = string.sub(path, 1, prefix - 1), false
      for _, other in ipairs(included) do known = known or other == part end
      if not known then included[#included + 1] = part end
    end
  end
  -- The fields of a record stand side by side: those of an included row in the place of its key.
  local function add(owner, prefix)
    for _, ivar in ipairs(K.columnsOfClass(owner)) do
      local path, inner = prefix .. ivar, nil
      for _, other in ipairs(included) do inner = inner or other == path and related(owner, ivar, path) end
      if inner then
        K.addRelations(class, query, path .. ".x")
        add(inner, path .. ".")
      else
        fields[#fields + 1] = path
      end
    end
  end
  add(class, "")
  for _, path in ipairs(included) do K.addRelations(class, query, path .. ".x") end
  query.fields, query.include = fields, included
  return query
end

-- Makes objects of records in which the records of included relations stand.
function K.instantiateIncluded(list, class, place, included, prefix)
  prefix = prefix or ""
  local inner = {}
  for _, path in ipairs(included) do
    local name = string.match(path, "^" .. string.gsub(prefix, "%.", "%%.") .. "([^.]+)$")
    if name then inner[#inner + 1] = name end
  end
  local found = {}
  for _, name in ipairs(inner) do
    local other, rows, keys = K.referredClass(class, name), {}, {}
    local key = K.keysOfClass(other)[1]
    for i = 1, #list do
      local record = list[i]:at_(name)
      local value = record:at_(key)
      if value ~= nil and not keys[K.key(value)] then
        keys[K.key(value)] = true
        rows[#rows + 1] = record
      end
      list[i]:at_put_(name, value == nil and NULL or value)
    end
    rows = K.instantiateIncluded(K.array(rows), other, place, included, prefix .. name .. ".")
    found[name] = {}
    for i = 1, #rows do found[name][K.key(rawget(rows[i], K.ivarKey(key)))] = rows[i] end
  end
  list = K.instantiate(list, class._name)
  if #K.relationsOfClass(class) > 0 and #list > 0 then
    K.batchOf(class, place, list)
    local batch = list[1]._batch
    batch.included = {}
    for name, rows in pairs(found) do batch.loaded[name], batch.included[name] = rows, true end
  end
  return list
end
