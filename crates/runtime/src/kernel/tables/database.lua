-- Databases: their tables, statements in their own language, migrations. A database is a native
-- store or a reference such as `sqlite:tasks.db`; both understand the same messages.
local K = ...
local type = type
local native, throw, place = K.native, K.throw, K.placeOfDatabase

-- Statements --------------------------------------------------------------------------------------

local function run(self, statement, parameters)
  local store, path, scheme = place(self)
  if type(parameters) == "table" and parameters._isDictionary then
    return native.run(store, path, scheme, K.expectText(statement, "run:"), K.array { parameters })
  end
  if type(parameters) == "table" and parameters._isCollection and not parameters._isArray then
    parameters = parameters:asArray()
  elseif parameters ~= nil and not (type(parameters) == "table" and parameters._isArray) then
    throw("typeError", "run:with: expects an array of parameters or a dictionary, got " .. K.nameOf(parameters),
      { i_hint = "write run: '… where id = ?' with: [ 7 ], or '… where id = :id' with: #{ id: 7 }" })
  end
  return native.run(store, path, scheme, K.expectText(statement, "run:"), parameters)
end

-- The rows of a statement as objects of a class, whose variables are among its columns.
local function runAs(self, statement, parameters, class)
  if not K.isClass(class) then throw("typeError", "run:as: expects a class, got " .. K.nameOf(class)) end
  local rows = run(self, statement, parameters)
  if type(rows) ~= "table" or not rows._isCollection then
    throw("unsupported", "run:as: is for a statement that answers rows; this one changed them", { i_hint = "write run:" })
  end
  local list = K.instantiate(rows:asArray(), class._name)
  local store, path, scheme = place(self)
  if #K.relationsOfClass(class) > 0 then K.batchOf(class, { store, path, scheme }, list) end
  return list
end

-- Migrations --------------------------------------------------------------------------------------

-- The statements of a step, and those below a line `-- down`, which undo it.
local function halves(text)
  local above, below = string.match("\n" .. text, "^(.-\n)%-%-[ \t]*down[ \t]*\r?\n(.*)$")
  if not above then return text end
  return string.sub(above, 2), below
end

-- The steps of a folder (its files that end in `.sql`, by name), of a dictionary (by key), or of an
-- array of files, as a list of name, statements and those that undo it.
local function stepsOf(source)
  local steps = {}
  local function add(name, statements)
    if statements == nil then throw("notFound", "the migration " .. name .. " cannot be read") end
    steps[#steps + 1] = K.array { name, halves(K.str(statements)) }
  end
  if type(source) == "table" and source._isReference then
    local names = source:childNames()
    if #names == 0 and not source:hasChildren() then
      throw("notFound", string.format("there are no migrations in %s", source:stringValue()),
        { i_hint = "name the folder that holds the .sql files" })
    end
    for i = 1, #names do
      if string.find(names[i], "%.sql$") then add(names[i], source:div_(names[i]):value()) end
    end
  elseif type(source) == "table" and source._isDictionary then
    source:keysAndValuesDo_(function(key, value) add(K.str(key), value) end)
  elseif type(source) == "table" and source._isArray then
    for i = 1, #source do add(source[i]:name(), source[i]:value()) end
  else
    throw("typeError", "migrate: expects a folder such as ref:file:migrations/, got " .. K.nameOf(source))
  end
  table.sort(steps, function(a, b) return a[1] < b[1] end)
  return K.array(steps)
end

local function migrating(act)
  return function(self, source)
    local store, path, scheme = place(self)
    return native.migrate(store, path, scheme, stepsOf(source), act)
  end
end

-- The steps as records of a name and whether it was applied.
local function migrations(self, source)
  local applied, list = {}, {}
  local names = migrating("list")(self, source)
  for i = 1, #names do applied[names[i]] = true end
  for i, step in ipairs(stepsOf(source)) do
    list[i] = K.recordOf { "name", step[1], "applied", applied[step[1]] or false }
  end
  return K.array(list)
end

-- Maintenance -------------------------------------------------------------------------------------

-- A copy of the database at this moment, written to a reference of any store.
local function backup(self, target)
  if not (type(target) == "table" and target._isReference) then
    throw("typeError", "backup: expects a reference, got " .. K.nameOf(target),
      { i_hint = "name where the copy belongs: backup: ref:file:copy.db" })
  end
  local store, path, scheme = place(self)
  local targetStore, targetPath, targetScheme = place(target)
  native.backup(store, path, scheme, targetStore, targetPath, targetScheme)
  return self
end

local function vacuum(self)
  native.vacuum(place(self))
  return self
end

-- Messages ----------------------------------------------------------------------------------------

-- The store of a name in the database, made when it does not exist.
local function keyValueStore(self, name)
  local store, path, scheme = place(self)
  name = K.expectText(name, "keyValueStore:")
  return native.keyValueStore(store, path == "" and name or path .. "/" .. name, scheme)
end

-- A store of that name in the database of a table of a class.
function K.storeBesideTable(table, name)
  local place = table._place
  if not place then
    throw("invalid", "a table of records does not say where its database is", { i_hint = "name the store: `store: …`" })
  end
  local database, path, scheme = place[1], place[2], place[3]
  return native.keyValueStore(database, path == "" and name or path .. "/" .. name, scheme)
end

local messages = {
  ["keyValueStore:"] = keyValueStore,
  ["run:"] = run, ["run:with:"] = run,
  ["run:as:"] = function(self, statement, class) return runAs(self, statement, nil, class) end,
  ["run:with:as:"] = runAs,
  ["transaction:"] = K.transaction, ["transaction:isolation:"] = K.transaction,
  ["backup:"] = backup,
  ["vacuum"] = vacuum,
  ["migrate:"] = migrating("apply"), ["dryRunMigrate:"] = migrating("dryRun"), ["migrateDown:"] = migrating("undo"),
  ["migrations:"] = migrations,
  ["differences:"] = function(self, class)
    local store, path, scheme = place(self)
    return K.differencesOf(store, path, scheme, class)
  end,
  ["records:"] = function(self, name)
    local store, path, scheme = place(self)
    name = K.expectText(name, "records:")
    return K.recordsOf(store, path == "" and name or path .. "/" .. name, scheme)
  end,
}
K.methods(K.classes.NativeStore, messages)
K.methods(K.classes.NativeStore, {
  ["table:"] = function(self, class) return K.tableOf(self, "", nil, class) end,
  ["table:named:"] = function(self, class, name) return K.tableOf(self, K.expectText(name, "table:named:"), nil, class, "") end,
})

-- A table belongs to its database: what is said to it is said to that.
K.methods(K.classes.Table, {
  ["database"] = function(self) return self.i_db end,
  ["transaction:"] = K.transaction, ["transaction:isolation:"] = K.transaction,
})

K.methods(K.classes.Reference, messages)
K.methods(K.classes.Reference, {
  ["table:"] = function(self, class)
    local store, path, scheme = place(self)
    return K.tableOf(store, path, scheme, class)
  end,
  ["table:named:"] = function(self, class, name)
    local store, path, scheme = place(self)
    return K.tableOf(store, path .. "/" .. K.expectText(name, "table:named:"), scheme, class, path)
  end,
  -- The rows at a reference such as `sqlite:tasks.db/tasks` as a table of records.
  ["table"] = function(self)
    local store, path, scheme = place(self)
    return K.recordsOf(store, path, scheme)
  end,
})
