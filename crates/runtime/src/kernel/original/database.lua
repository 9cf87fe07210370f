-- Databases as the original's programs open them: `MPWStreamQLite` and `MPWSQLTable`.
local K = ...
local type, setmetatable = type, setmetatable
local throw = K.throw
local classes = K.classes
local Object = classes.Object

local function quoted(name) return '"' .. string.gsub(name, '"', '""') .. '"' end

--- A database of SQLite in a file, for programs of the original. New programs write `ref:sqlite:tasks.db`.
local Database = K.newClass("StreamQLite", Object)
K.alias("MPWStreamQLite", Database)
--- -<String?> path
--- -<nothing> setPath:<String>path
--- The path of the file.
--- > #StreamQLite{ path: 'tasks.db' } path ⇒ 'tasks.db'
K.ivar(Database, "path")
K.nilKeys._classes = true

local function referenceOf(self)
  if self.i_path == nil then throw("nilValue", "a StreamQLite has no path", { i_hint = "write `initWithPath: 'tasks.db'`" }) end
  return K.reference("sqlite", K.str(self.i_path))
end

--- A table of a `StreamQLite`. New programs write `ref:sqlite:tasks.db table: Task`.
local Table = K.newClass("SQLTable", Object)
K.alias("MPWSQLTable", Table)
--- SQLTable -<StreamQLite?> db
--- SQLTable -<nothing> setDb:<StreamQLite>db
--- The database of the table.
--- > #SQLTable{ db: #StreamQLite{ path: 'tasks.db' } } db path ⇒ 'tasks.db'

--- SQLTable -<String?> name
--- SQLTable -<nothing> setName:<String>name
--- The name of the table.
--- > #SQLTable{ name: 'tasks' } name ⇒ 'tasks'

--- SQLTable -<Class?> tableClass
--- SQLTable -<nothing> setTableClass:<Class>class
--- The class of the rows; without it they are records.
--- > #SQLTable{ name: 'tasks' } tableClass ⇒ nil
for _, name in ipairs { "db", "name", "tableClass" } do K.ivar(Table, name) end

local function table(db, name, class)
  return setmetatable({ i_db = db, i_name = name, i_tableClass = class }, Table._methods)
end

-- Settings of a connection belong to the pool here.
local function isSetting(statement) return string.find(statement, "^%s*[Pp][Rr][Aa][Gg][Mm][Aa]%s") ~= nil end

local function compute(self, statement, values)
  statement = string.gsub(K.expectText(statement, "computed:"), "[%s;]+$", "")
  if isSetting(statement) then return K.array {} end
  return referenceOf(self):computed_with_(statement, values)
end

local function query(self, statement, code)
  local text, values = K.sqlOf(statement, code, "query:")
  return compute(self, text, values)
end

local function itself(self) return self end
K.methods(Database, {
  --- -<self> initWithPath:<String>path
  --- Sets the path of the file, and answers the database.
  --- > (StreamQLite alloc initWithPath: 'tasks.db') path ⇒ 'tasks.db'
  ["initWithPath:"] = function(self, path)
    self.i_path = K.str(path)
    return self
  end,
  --- -<self> open
  --- -<self> close
  --- -<self> enableWAL
  --- The database itself: connections open when they are needed, with a write-ahead log.
  --- > #StreamQLite{ path: 'tasks.db' } open path ⇒ 'tasks.db'
  ["open"] = itself, ["close"] = itself, ["enableWAL"] = itself,
  --- -<any> query:<String>statement
  --- -<any> exec:<String>statement
  --- Runs an SQL statement, as `run:` of a reference does. A PRAGMA does nothing: connections have settings that are
  --- safe for several writers and a crash. The statement is written there; each `{x}` in it is a bound parameter.
  --- > #StreamQLite{ path: ':memory:' } query: 'select 3 + 4 as sum;' ⇒ [ #{ sum: 7 } ]
  ["query:"] = query, ["exec:"] = query,
  --- -<any> computed:<String>statement
  --- Runs an SQL statement that the program has put together, as it is.
  --- > #StreamQLite{ path: ':memory:' } computed: 'select ', '7 as n' ⇒ [ #{ n: 7 } ]
  ["computed:"] = function(self, statement) return compute(self, statement) end,
  --- -<Dictionary> tables
  --- The tables of the database by name.
  --- > #StreamQLite{ path: ':memory:' } tables at: 'missing' ⇒ nil
  ["tables"] = function(self)
    local tables = K.newDictionary()
    local rows = compute(self, "select name from sqlite_master where type = 'table' and name not like 'sqlite|_%' escape '|'")
    rows:do_(function(row)
      local name = row:at_("name")
      tables:at_put_(name, table(self, name, self._classes and self._classes[name]))
    end)
    return tables
  end,
})

local function databaseOf(self)
  if self.i_db == nil or self.i_name == nil then
    throw("nilValue", "an SQLTable needs a database and a name", { i_hint = "write `#SQLTable{ db: db, name: 'tasks' }`" })
  end
  return referenceOf(self.i_db), K.str(self.i_name)
end

-- The table as this language has it.
local function rowsOf(self, class)
  local database, name = databaseOf(self)
  class = class or self.i_tableClass
  if class == nil then return database:records_(name) end
  return database:table_named_(class, name)
end

local function schemaOf(self)
  local database, name = databaseOf(self)
  return database:computed_with_("select name, type from pragma_table_info(?)", K.array { name }):asArray()
end

local OPERATORS = { ["="] = true, ["=="] = true, ["<"] = true, [">"] = true, ["<="] = true, [">="] = true, ["<>"] = true,
  ["!="] = true }

-- The column, the operator and the value of one comparison. The value is never a part of the statement.
local function comparison(self, condition)
  local column, operator, value = string.match(K.expectText(condition, "selectWhere:"), "^%s*([%w_]+)%s*([<>=!]+)%s*(.-)%s*$")
  local isKnown = false
  if column then
    schemaOf(self):do_(function(each) isKnown = isKnown or each:at_("name") == column end)
  end
  if not isKnown or not OPERATORS[operator] then
    throw("invalid", "selectWhere: expects a comparison of a column, got '" .. K.str(condition) .. "'",
      { i_hint = "write `selectWhere: \"id = {id}\"`, or query brackets: `table[{ id = 7 }]`" })
  end
  local inner = string.match(value, "^'(.*)'$") or string.match(value, '^"(.*)"$')
  return column, operator, inner or tonumber(value) or value
end

K.methods(Table, {
  --- -<self> create
  --- Makes the table if it does not exist: with the columns that `sqlForCreate` of its class answers, such as
  --- `'( id INTEGER PRIMARY KEY )'`, or with those of the variables of the class.
  --- > { :Task | #SQLTable{ db: #StreamQLite{ path: 'tasks.db' }, tableClass: Task, name: 'tasks' } create }
  ["create"] = function(self)
    local database, name = databaseOf(self)
    local class = self.i_tableClass
    if class == nil then throw("nilValue", "the table " .. name .. " has no class to be created from") end
    self.i_db._classes = self.i_db._classes or {}
    self.i_db._classes[name] = class
    if K.understands(class, "sqlForCreate") then
      local columns = string.gsub(K.str(class:sqlForCreate()), "[%s;]+$", "")
      database:computed_("create table if not exists " .. quoted(name) .. " " .. columns)
    else
      rowsOf(self)
    end
    return self
  end,
  --- -<any> insert:<any>rows
  --- Inserts an object or a record, or all of an array in one transaction.
  --- > { :task | #SQLTable{ db: #StreamQLite{ path: 'tasks.db' }, name: 'tasks' } insert: task }
  ["insert:"] = function(self, rows)
    local isList = type(rows) == "table" and not K.isClass(rows) and rows._isArray
    local first = rows
    if isList then first = rows[1] end
    local class = K.classOf(first)
    local objects = rowsOf(self, class and rawget(class, "_program") and class or nil)
    if isList then return objects:insertAll_(rows) end
    return objects:insert_(rows)
  end,
  --- -<Rows> select
  --- All rows, as objects of the class or as records.
  --- > { #SQLTable{ db: #StreamQLite{ path: 'tasks.db' }, name: 'tasks' } select }
  ["select"] = function(self) return rowsOf(self):select() end,
  --- -<Array> selectWhere:<String>condition
  --- The rows for which one comparison of a column with a value holds: `"id = {id}"`. The value is a parameter of the
  --- statement, whatever it contains; another condition is an error.
  --- > { #SQLTable{ db: #StreamQLite{ path: 'tasks.db' }, name: 'tasks' } selectWhere: 'id = 7' }
  ["selectWhere:"] = function(self, condition)
    local database, name = databaseOf(self)
    local column, operator, value = comparison(self, condition)
    local statement = string.format("select * from %s where %s %s ?", quoted(name), quoted(column), operator)
    if self.i_tableClass == nil then return database:computed_with_(statement, K.array { value }):asArray() end
    return database:computed_with_as_(statement, K.array { value }, self.i_tableClass)
  end,
  --- -<Number> count
  --- How many rows the table has.
  --- > { #SQLTable{ db: #StreamQLite{ path: 'tasks.db' }, name: 'tasks' } count }
  ["count"] = function(self)
    local database, name = databaseOf(self)
    return database:computed_("select count(*) as n from " .. quoted(name)):asArray():first():at_("n")
  end,
  --- -<Array> schema
  --- The columns as records of `name` and `type`, for `instanceVariableDescriptions` of a `ClassDefinition`.
  --- > #SQLTable{ db: #StreamQLite{ path: ':memory:' }, name: 'missing' } schema ⇒ []
  ["schema"] = schemaOf,
  --- -<self> createEncoderMethodForClass:<Class>class
  --- The table itself: classes need no encoder here.
  --- > SQLTable stream createEncoderMethodForClass: Object | class ⇒ SQLTable
  ["createEncoderMethodForClass:"] = itself,
})
K.classMethods(Table, {
  --- +<SQLTable> stream
  --- A new table without a database.
  --- > SQLTable stream db ⇒ nil
  ["stream"] = function(class) return class:new() end,
})

--- All tables of a database as a store: a path is a table, and a row below it by its key.
local Scheme = K.newClass("SQLiteScheme", classes.MappingStore)
K.alias("MPWSqliteScheme", Scheme)
K.methods(Scheme, {
  --- -<nothing> setPath:<String|Reference>path
  --- Sets the file of the database: a path, or a reference to a file.
  --- > (#SQLiteScheme{ path: ':memory:' }) at: 'missing'
  ["setPath:"] = function(self, path)
    if type(path) == "table" and path._isReference then path = path:path() end
    self:setSource_(K.reference("sqlite", K.str(path)):asScheme())
  end,
})

-- Classes that are made while the program runs ------------------------------------------------------

--- A class that a program makes while it runs, such as one for each table of a database.
local Definition = K.newClass("ClassDefinition", Object)
K.alias("STClassDefinition", Definition)
--- ClassDefinition -<String?> name
--- ClassDefinition -<nothing> setName:<String>name
--- The name of the class.
--- > #ClassDefinition{ name: 'Artist' } name ⇒ 'Artist'

--- ClassDefinition -<String?> superclassName
--- ClassDefinition -<nothing> setSuperclassName:<String>name
--- The name of its superclass; nil for `Object`.
--- > #ClassDefinition{ name: 'Artist' } superclassName ⇒ nil

--- ClassDefinition -<Array?> instanceVariableDescriptions
--- ClassDefinition -<nothing> setInstanceVariableDescriptions:<Array>variables
--- The variables: names, or records with a `name`.
--- > #ClassDefinition{ instanceVariableDescriptions: [ 'title' ] } instanceVariableDescriptions ⇒ ['title']
for _, name in ipairs { "name", "superclassName", "instanceVariableDescriptions" } do K.ivar(Definition, name) end

-- The most variables of such a class.
local MOST_VARIABLES = 1000

local function define(self)
  local name = K.expectText(self.i_name, "setName:")
  if not string.find(name, "^%u[%w_]*$") then
    throw("invalid", "a class cannot be named '" .. name .. "'", { i_hint = "a name begins with a capital" })
  end
  local former = K.classes[name]
  if former and not rawget(former, "_program") then throw("conflict", "there is a class " .. name .. " already") end
  local class = former or K.newClass(name, K.classNamed(self.i_superclassName or "Object"))
  class._program = true
  local variables = self.i_instanceVariableDescriptions or {}
  if #variables > MOST_VARIABLES then throw("tooLarge", "a class has at most 1,000 variables") end
  for i = 1, #variables do
    local variable = variables[i]
    if type(variable) == "table" and variable._isDictionary then variable = variable:at_("name") end
    K.ivar(class, K.expectText(variable, "setInstanceVariableDescriptions:"))
  end
  return K.defined(class)
end

K.methods(Definition, {
  --- -<Class> defineClass
  --- Makes the class, or adds variables to a class of the program with its name, and answers it. A name of a class of
  --- Runnel is an error.
  --- > #ClassDefinition{ name: 'Album', instanceVariableDescriptions: [ 'title' ] } defineClass new title ⇒ nil
  ["defineClass"] = define,
  --- -<Class> classToDefine
  --- The class of this name. One that does not exist is an error.
  --- > #ClassDefinition{ name: 'Array' } classToDefine ⇒ Array
  ["classToDefine"] = function(self) return K.classNamed(K.expectText(self.i_name, "setName:")) end,
})
