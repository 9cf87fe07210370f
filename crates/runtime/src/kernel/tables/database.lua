-- Databases: their tables, statements in their own language, migrations. A database is a native
-- store or a reference such as `sqlite:tasks.db`; both understand the same messages.
local K = ...
local type, setmetatable = type, setmetatable
local native, throw, place = K.native, K.throw, K.placeOfDatabase

-- Statements --------------------------------------------------------------------------------------

-- A statement whose text stands in the kernel, or is taken as it is: `computed:`.
local function compute(self, statement, parameters)
  local store, path, scheme = place(self)
  statement = K.expectText(statement, "computed:")
  if type(parameters) == "table" and parameters._isDictionary then
    return native.run(store, path, scheme, statement, K.array { parameters })
  end
  if type(parameters) == "table" and parameters._isCollection and not parameters._isArray then
    parameters = parameters:asArray()
  elseif parameters ~= nil and not (type(parameters) == "table" and parameters._isArray) then
    throw("typeError", "run:with: expects an array of parameters or a dictionary, got " .. K.nameOf(parameters),
      { i_hint = "write run: '… where id = ?' with: [ 7 ], or '… where id = :id' with: #{ id: 7 }" })
  end
  return native.run(store, path, scheme, statement, parameters)
end

local function run(self, statement, code)
  local text, values = K.sqlOf(statement, code, "run:")
  return compute(self, text, values)
end

local function written(statement, code, selector)
  local text, values = K.sqlOf(statement, code, selector)
  if values then
    throw("invalid", "`" .. selector .. "` has parameters in two places", { i_hint = "write each value as `{x}`, without `with:`" })
  end
  return text
end

local function runWith(self, statement, parameters, code)
  return compute(self, written(statement, code, "run:with:"), parameters)
end

-- The rows of a statement as objects of a class, whose variables are among its columns.
local function computeAs(self, statement, parameters, class)
  if not K.isClass(class) then throw("typeError", "run:as: expects a class, got " .. K.nameOf(class)) end
  local rows = compute(self, statement, parameters)
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

local function expectTarget(target, selector, example)
  if not (type(target) == "table" and target._isReference) then
    throw("typeError", selector .. " expects a reference, got " .. K.nameOf(target),
      { i_hint = string.format("name where the copy belongs: %s %s", selector, example) })
  end
end

-- A copy of the database at this moment, written to a reference of any store.
local function backup(self, target)
  expectTarget(target, "backup:", "ref:file:copy.db")
  local store, path, scheme = place(self)
  local targetStore, targetPath, targetScheme = place(target)
  native.backup(store, path, scheme, targetStore, targetPath, targetScheme)
  return self
end

-- The continuous backups of this program that run.
local running = {}
--- A continuous backup of a database to a folder in any store, as `backupContinuously:` answers it.
local ContinuousBackup = K.newClass("ContinuousBackup", K.classes.Object)
K.nilKeys._backup = true
--- -<any> database
--- The database that is backed up.
--- > { copies := ref:sqlite:shop.db backupContinuously: ref:file:copies/. copies database }
K.ivar(ContinuousBackup, "database")
--- -<Reference> target
--- The folder that the changes are shipped to.
--- > { copies := ref:sqlite:shop.db backupContinuously: ref:file:copies/. copies target }
K.ivar(ContinuousBackup, "target")

-- Ships the changes of the database into a folder of any store, from now on. What only shows a program ships nothing.
local function backupContinuously(self, target, options)
  expectTarget(target, "backupContinuously:", "ref:s3:backups/tasks/")
  if options ~= nil and not (type(options) == "table" and options._isDictionary) then
    throw("typeError", "with: expects a dictionary of options, got " .. K.nameOf(options))
  end
  local one = setmetatable({ i_database = self, i_target = target }, ContinuousBackup._methods)
  local store, path, scheme = place(self)
  local targetStore, targetPath, targetScheme = place(target)
  one._backup = native.backUp(store, path, scheme, targetStore, targetPath, targetScheme, K.optionTexts(options))
  running[#running + 1] = one
  return one
end

-- Those of one database.
local function backups(self)
  local list, store, path, scheme = {}, place(self)
  for i = 1, #running do
    local otherStore, otherPath, otherScheme = place(running[i].i_database)
    if otherStore == store and otherPath == path and otherScheme == scheme then list[#list + 1] = running[i] end
  end
  return K.array(list)
end

K.methods(ContinuousBackup, {
  --- -<Duration?> lag
  --- How old what is not yet shipped can be: everything that was committed before this time is in the target. It is nil
  --- before the first state, and where another process ships.
  --- > { copies := ref:sqlite:shop.db backupContinuously: ref:file:copies/. copies lag }
  ["lag"] = function(self)
    local seconds = self._backup and native.backupLag(self._backup)
    return seconds and K.duration(seconds) or nil
  end,
  --- -<Array> spans
  --- The times that can be restored, the oldest first, as records of `from`, `to` and the number of `states`.
  --- > { copies := ref:sqlite:shop.db backupContinuously: ref:file:copies/. copies spans }
  ["spans"] = function(self)
    local spans, list = self._backup and native.backupSpans(self._backup) or K.array {}, {}
    for i = 1, #spans do
      local span = spans[i]
      list[i] = K.recordOf {
        "from", K.date(span:at_("from") / 1e6), "to", K.date(span:at_("to") / 1e6), "states", span:at_("states"),
      }
    end
    return K.array(list)
  end,
  --- -<self> stop
  --- Ships what is left, and ends the backup.
  --- > { copies := ref:sqlite:shop.db backupContinuously: ref:file:copies/. copies stop }
  ["stop"] = function(self)
    for i = #running, 1, -1 do
      if running[i] == self then table.remove(running, i) end
    end
    if self._backup then native.stopBackup(self._backup) end
    return self
  end,
  --- -<String> description
  --- -<String> stringValue
  --- The target in words.
  --- > { copies := ref:sqlite:shop.db backupContinuously: ref:file:copies/. copies description }
  ["description"] = function(self)
    return string.format("continuous backup to %s", self.i_target:stringValue())
  end,
  ["stringValue"] = function(self) return self:description() end,
})

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
  --- Reference -<Store> keyValueStore:<String>name
  --- NativeStore -<Store> keyValueStore:<String>name
  --- The key-value store of this name in the database, which is made when it does not exist.
  --- > files := ref:sqlite::memory: keyValueStore: 'files'. files at: 'a/b' put: 'hi'. files at: 'a/b' ⇒ 'hi'
  ["keyValueStore:"] = keyValueStore,
  --- Reference -<any> run:<String>statement
  --- NativeStore -<any> run:<String>statement
  --- Runs an SQL statement that is written there; each `{x}` in it is a bound parameter. A read answers its
  --- rows, which are lazy; a write the number of rows that it changed. Computed SQL needs `computed:`.
  --- > ref:sqlite::memory: run: 'select 3 + 4 as sum' ⇒ [ #{ sum: 7 } ]
  --- > n := 4. ref:sqlite::memory: run: "select 3 + {n} as sum" ⇒ [ #{ sum: 7 } ]
  ["run:"] = run,
  --- Reference -<any> run:<String>statement with:<any>parameters
  --- NativeStore -<any> run:<String>statement with:<any>parameters
  --- Runs an SQL statement with bound parameters: an array for `?`, `?1` or `$1`, a dictionary for `:name`. Values
  --- never become part of the statement, so that SQL injection is impossible.
  --- > ref:sqlite::memory: run: 'select :a + 1 as b' with: #{ a: 6 } ⇒ [ #{ b: 7 } ]
  ["run:with:"] = runWith,
  --- Reference -<Array> run:<String>statement as:<Class>class
  --- NativeStore -<Array> run:<String>statement as:<Class>class
  --- Runs a statement that answers rows, and makes objects of the class of them; a column that the class lacks is an
  --- error.
  --- > objects := { :Book | ref:sqlite:shop.db run: 'select * from books' as: Book }
  ["run:as:"] = function(self, statement, class, code)
    local text, values = K.sqlOf(statement, code, "run:as:")
    return computeAs(self, text, values, class)
  end,
  --- Reference -<Array> run:<String>statement with:<any>parameters as:<Class>class
  --- NativeStore -<Array> run:<String>statement with:<any>parameters as:<Class>class
  --- Runs a statement that answers rows, with bound parameters, and makes objects of the class of them.
  --- > objects := { :Book | ref:sqlite:shop.db run: 'select * from books where id = ?' with: [ 7 ] as: Book }
  ["run:with:as:"] = function(self, statement, parameters, class, code)
    return computeAs(self, written(statement, code, "run:with:as:"), parameters, class)
  end,
  --- Reference -<any> computed:<String>statement
  --- NativeStore -<any> computed:<String>statement
  --- Runs an SQL statement that the program has put together, as it is. Values of others must never be in it.
  --- > table := 'books'. { ref:sqlite:shop.db computed: "delete from {table}" }
  ["computed:"] = function(self, statement) return compute(self, statement) end,
  --- Reference -<any> computed:<String>statement with:<any>parameters
  --- NativeStore -<any> computed:<String>statement with:<any>parameters
  --- Runs an SQL statement that the program has put together, with bound parameters as in `run:with:`.
  --- > ref:sqlite::memory: computed: 'select ', '? as n' with: [ 7 ] ⇒ [ #{ n: 7 } ]
  ["computed:with:"] = function(self, statement, parameters) return compute(self, statement, parameters) end,
  --- Reference -<Array> computed:<String>statement as:<Class>class
  --- NativeStore -<Array> computed:<String>statement as:<Class>class
  --- Runs a statement that the program has put together, and makes objects of the class of its rows.
  --- > objects := { :Book :sql | ref:sqlite:shop.db computed: sql as: Book }
  ["computed:as:"] = function(self, statement, class) return computeAs(self, statement, nil, class) end,
  --- Reference -<Array> computed:<String>statement with:<any>parameters as:<Class>class
  --- NativeStore -<Array> computed:<String>statement with:<any>parameters as:<Class>class
  --- Runs a statement that the program has put together, with bound parameters, and makes objects of its rows.
  --- > objects := { :Book :sql | ref:sqlite:shop.db computed: sql with: [ 7 ] as: Book }
  ["computed:with:as:"] = function(self, statement, parameters, class) return computeAs(self, statement, parameters, class) end,
  --- Reference -<any> transaction:<Block(transaction)>block
  --- NativeStore -<any> transaction:<Block(transaction)>block
  --- DatabaseTable -<any> transaction:<Block(transaction)>block
  --- Runs the block as a serializable transaction and answers its value: all that it writes is committed at its end, or
  --- nothing after an error or `rollback`. After a conflict the block runs again, at most 30 times. Within another one
  --- it is a savepoint.
  --- > ref:sqlite::memory: transaction: { ref:sqlite::memory: run: 'select 1 as n' | count } ⇒ 1
  ["transaction:"] = K.transaction,
  --- Reference -<any> transaction:<Block(transaction)>block isolation:<String>level
  --- NativeStore -<any> transaction:<Block(transaction)>block isolation:<String>level
  --- DatabaseTable -<any> transaction:<Block(transaction)>block isolation:<String>level
  --- Runs the block as a transaction with an isolation level: 'serializable', 'repeatable read' or 'read committed'.
  --- SQLite is serializable always.
  --- > ref:sqlite::memory: transaction: { 1 } isolation: 'read committed' ⇒ 1
  ["transaction:isolation:"] = K.transaction,
  --- Reference -<self> backup:<Reference>target
  --- NativeStore -<self> backup:<Reference>target
  --- Writes a copy of the database as of this moment to a reference of any store. Readers and writers continue.
  --- > { ref:sqlite:shop.db backup: ref:file:copy.db }
  ["backup:"] = backup,
  --- Reference -<ContinuousBackup> backupContinuously:<Reference>target
  --- NativeStore -<ContinuousBackup> backupContinuously:<Reference>target
  --- Ships the changes of the database to a folder in any store from now on, until the program ends. A target that
  --- cannot be used is an error.
  --- > copies := { ref:sqlite:shop.db backupContinuously: ref:s3:backups/shop/ }
  ["backupContinuously:"] = backupContinuously,
  --- Reference -<ContinuousBackup> backupContinuously:<Reference>target with:<Dictionary>options
  --- NativeStore -<ContinuousBackup> backupContinuously:<Reference>target with:<Dictionary>options
  --- Ships the changes of the database with the options `interval` (1 s), `keep` (24 h), `snapshotInterval` (1 h) and
  --- `maxLog` (1 GiB).
  --- > { ref:sqlite:shop.db backupContinuously: ref:file:copies/ with: #{ interval: 5 seconds, keep: 7 days } }
  ["backupContinuously:with:"] = backupContinuously,
  --- Reference -<Array> backups
  --- NativeStore -<Array> backups
  --- The continuous backups of the database that run in this program.
  --- > ref:sqlite::memory: backups ⇒ [ ]
  ["backups"] = backups,
  --- Reference -<self> vacuum
  --- NativeStore -<self> vacuum
  --- Rewrites the file without its unused pages, and gathers statistics for the planner of queries. It is an error in a
  --- transaction.
  --- > { ref:sqlite:shop.db vacuum }
  ["vacuum"] = vacuum,
  --- Reference -<Array> migrate:<any>steps
  --- NativeStore -<Array> migrate:<any>steps
  --- Applies the migrations that were not applied yet, each in a transaction, in the order of their names, and answers
  --- those names. The steps are a folder of `.sql` files, a dictionary of names and statements, or an array of
  --- references.
  --- > ref:sqlite::memory: migrate: #{ '1-pets': 'create table pets (id integer primary key)' } ⇒ [ '1-pets' ]
  ["migrate:"] = migrating("apply"),
  --- Reference -<Array> dryRunMigrate:<any>steps
  --- NativeStore -<Array> dryRunMigrate:<any>steps
  --- The names of the migrations that `migrate:` would apply. Their statements run and are rolled back.
  --- > ref:sqlite::memory: dryRunMigrate: #{ '2-cats': 'create table cats (id integer primary key)' } ⇒ [ '2-cats' ]
  ["dryRunMigrate:"] = migrating("dryRun"),
  --- Reference -<Array> migrateDown:<any>steps
  --- NativeStore -<Array> migrateDown:<any>steps
  --- Undoes the last migration with the statements below its line `-- down`, and answers its name.
  --- > { ref:sqlite:shop.db migrateDown: ref:file:migrations/ }
  ["migrateDown:"] = migrating("undo"),
  --- Reference -<Array> migrations:<any>steps
  --- NativeStore -<Array> migrations:<any>steps
  --- The migrations as records of the `name` and whether each was `applied`.
  --- > (ref:sqlite::memory: migrations: #{ '3-dogs': 'create table dogs (id int)' }) collect: 'applied' ⇒ [ false ]
  ["migrations:"] = migrations,
  --- Reference -<Array> differences:<Class>class
  --- NativeStore -<Array> differences:<Class>class
  --- The statements that make the existing table of a class what the class says, beyond what `table:` adds; empty
  --- without differences. A line that begins with `--` needs a decision. Nothing is changed.
  --- > statements := { :Book | ref:sqlite:shop.db differences: Book }
  ["differences:"] = function(self, class)
    local store, path, scheme = place(self)
    return K.differencesOf(store, path, scheme, class)
  end,
  --- Reference -<DatabaseTable> records:<String>name
  --- NativeStore -<DatabaseTable> records:<String>name
  --- The table of this name without a class: its rows are records. It is not made.
  --- > { (ref:sqlite:shop.db records: 'books') insert: #{ title: 'Emma' } }
  ["records:"] = function(self, name)
    local store, path, scheme = place(self)
    name = K.expectText(name, "records:")
    return K.recordsOf(store, path == "" and name or path .. "/" .. name, scheme)
  end,
}
K.methods(K.classes.NativeStore, messages)
K.methods(K.classes.NativeStore, {
  --- Reference -<DatabaseTable> table:<Class>class
  --- NativeStore -<DatabaseTable> table:<Class>class
  --- The table of a class, whose variables are the columns. It is made if it does not exist, and gets the columns and
  --- indexes that it lacks. In a store that is no database, rows are documents.
  --- > tasks := { :Task | (ref:sqlite:shop.db table: Task) insert: #{ title: 'sow' } }
  ["table:"] = function(self, class) return K.tableOf(self, "", nil, class) end,
  --- Reference -<DatabaseTable> table:<Class>class named:<String>name
  --- NativeStore -<DatabaseTable> table:<Class>class named:<String>name
  --- The table of a class under another name than the plural of the class.
  --- > tasks := { :Task | ref:sqlite:shop.db table: Task named: 'todo_items' }
  ["table:named:"] = function(self, class, name) return K.tableOf(self, K.expectText(name, "table:named:"), nil, class, "") end,
})

-- A table belongs to its database: what is said to it is said to that.
K.methods(K.classes.DatabaseTable, {
  --- -<any> database
  --- The database of the table.
  --- > books := ref:sqlite:shop.db/books table. books database
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
  --- -<DatabaseTable> table
  --- The table at a reference such as `sqlite:shop.db/books`, without a class: its rows are records. It is not made.
  --- > books := ref:sqlite:shop.db/books table. books[{ year < 1850 }] count
  ["table"] = function(self)
    local store, path, scheme = place(self)
    return K.recordsOf(store, path, scheme)
  end,
})
