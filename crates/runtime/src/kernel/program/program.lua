-- The program as a whole: its arguments, its declared result, its tests, what is predefined.
local K = ...
local type, rawget, setmetatable = type, rawget, setmetatable
local native = K.native
local Object = K.classes.Object

K.entries = {}
local entries = K.entries

-- Runs compiled code; answers its value and the value's text. What the prompt would not show is
-- not its `last` either.
function entries.runProgram(chunk, silent)
  local ok, value = xpcall(chunk, K.handler, K)
  if not ok then
    if type(value) == "table" and rawget(value, "_end") then
      value = value.value
    else
      error(value, 0)
    end
  end
  if value ~= nil and not silent then K.predefined.last = value end
  if value == nil then return nil, nil end
  return value, K.str(value)
end

function K.setArgument(name, value, scheme)
  if scheme then value = K.reference(scheme, value) end
  K.variables[name] = value
  K.declared[name] = true
end

-- Servers -----------------------------------------------------------------------------------------

local servers = K.runningServers
local Server, rootOf, DEFAULT_PORT = K.classes.HTTPServer, K.rootOfServer, K.DEFAULT_PORT

-- Starts the server that a program ends with: it must have something to serve. A server that was
-- started before and stopped stays so.
local function startLast(server)
  if rawget(server, "_wasStarted") then return end
  if server.i_port == nil then server.i_port = K.predefined.servePort end
  rootOf(server)
  server:start()
end

-- A program that ends with a server, `#HTTPServer{ port: 8082 } → store`, means it to run, and one
-- that ends with a class of servers an instance of it.
function entries.startServer(value)
  if type(value) == "table" then
    if K.isClass(value) and K.isSubclass(value, Server) then value = value:new() end
    if not K.isClass(value) and value._isServer then startLast(value) end
    if K.isWidget(value) then K.runView(value) end
  end
  entries.warnUnstarted()
end

-- A server that was connected and never started gets a warning when nothing runs.
function entries.warnUnstarted()
  if #servers > 0 then return end
  for _, server in ipairs(K.knownServers()) do
    if not rawget(server, "_wasTried") then
      native.write(3, string.format("warning: the server for port %s was never started, so nothing is served\n",
        K.str(server.i_port or DEFAULT_PORT))
        .. "  help: end the program with the server, or send it `start`\n")
    end
  end
end

-- The declared result of a program is run.
function entries.runResult(value)
  value = K.sendingEnd(value)
  if value == nil then return end
  if type(value) == "table" then
    local isClass = K.isClass(value)
    if isClass and K.isSubclass(value, K.classes.Filter) then value, isClass = value:stream(), false end
    if isClass and K.isSubclass(value, Server) then value, isClass = value:new(), false end
    if isClass and K.isSubclass(value, K.classes.Store) then value, isClass = value:store(), false end
    if not isClass then
      if value._isServer then return startLast(value) end
      if value._isWidget then return K.runView(value) end
      if value._isStore then
        local server = Server:new()
        server.i_port = K.predefined.servePort
        server:setScheme_(value)
        server:start()
        return
      end
      if K.isKind(value, K.classes.Filter) then return K.runFilter(value) end
      if K.isKind(value, K.classes.Array) or K.isKind(value, K.classes.Interval) then
        value:do_(function(element) K.stdout:println_(element) end)
        return
      end
    end
  end
  K.stdout:println_(value)
end

-- Standard input, line by line, through a filter, to standard output.
function K.runFilter(filter)
  filter:setFinalTarget_(K.classes.PrintLiner and K.lineSink() or K.stdout)
  while true do
    local line = native.readLine()
    if line == nil then break end
    filter:writeObject_(line)
  end
  filter:close()
end

function K.lineSink()
  local sink = K.classes.Filter:new()
  sink.writeObject_ = function(_, object) K.stdout:println_(object) end
  return sink
end

-- Errors of forked fibers that nothing joined: a text when there were some.
function entries.reportForks() return K.reportForks() end

function entries.finish()
  K.reportForks()
  for i = #servers, 1, -1 do servers[i]:stop() end
  native.flush()
end

-- For graphs: a line for each connection, with the number and the name of its two ends. What stores
-- and servers are connected to is drawn as their sources.
local MOST_CONNECTIONS = 1000
function entries.connectionText()
  local lines, numbers, count = {}, {}, 0
  local function numbered(thing)
    local key = type(thing) == "table" and thing._isReference and thing:stringValue() or thing
    if not numbers[key] then
      count = count + 1
      numbers[key] = count
    end
    return numbers[key] .. "\t" .. string.gsub(K.endName(thing), "%c", " ")
  end
  for _, connection in ipairs(K.connections()) do
    if connection:connector() ~= "source" and #lines < MOST_CONNECTIONS then
      lines[#lines + 1] = numbered(connection:source()) .. "\t" .. numbered(connection:target()) .. "\t"
        .. connection:connector()
    end
  end
  return table.concat(lines, "\n")
end

function entries.servingText()
  if #servers > 0 or K.isFollowing() or K.hasWorkers() or K.hasFollowers() then return "serving" end
end

-- Before the end: jobs that run are waited for.
function entries.stopJobs()
  local patience
  for i = 1, #servers do
    local time = servers[i].i_stopTimeout
    if time ~= nil then patience = math.max(patience or 0, K.secondsOf(time, "stopTimeout")) end
  end
  K.stopJobs(patience)
end

-- Tests -------------------------------------------------------------------------------------------

local tests = {}
function K.test(name, line, body)
  tests[#tests + 1] = { name = name, line = line, body = body }
end

function entries.testList()
  local lines = {}
  for i, test in ipairs(tests) do lines[i] = test.line .. " " .. string.gsub(test.name, "%s+", " ") end
  return table.concat(lines, "\n")
end

function entries.runTest(number)
  tests[number].body()
end

-- The names below `scheme:path`, for completion; none when they cannot be told.
local MOST_CHILDREN = 1000
function entries.childList(text)
  local scheme, path = string.match(text, "^([^:]*):(.*)$")
  local names = K.reference(scheme, path):childNames()
  local list = {}
  for i = 1, math.min(#names, MOST_CHILDREN) do list[i] = K.str(names[i]) end
  return table.concat(list, "\n")
end

function entries.messageList()
  local seen, list = {}, {}
  for _, class in pairs(K.classes) do
    for name in pairs(class._own) do
      local selector = K.selector(name)
      if not seen[selector] and not string.find(selector, "^_") then
        seen[selector] = true
        list[#list + 1] = selector
      end
    end
  end
  table.sort(list)
  return table.concat(list, "\n")
end

-- Predefined names --------------------------------------------------------------------------------

local Shell = K.newClass("Shell", Object)
K.methods(Shell, {
  -- The prompt, inside the running program.
  ["runInteractiveLoop"] = function() native.interact() end,
  ["exit"] = function() error(K.newError("exit", "exit", { _exit = 0, _uncatchable = true }), 0) end,
  ["exit:"] = function(_, status) error(K.newError("exit", "exit", { _exit = status, _uncatchable = true }), 0) end,
  ["run:"] = function(_, command) return native.shell(command) end,
})

local Context = K.newClass("Context", Object)
K.methods(Context, {
  ["loadFramework:"] = function(_, name) return K.framework(name) end,
  ["bindingForString:"] = function(_, text)
    local scheme, path = string.match(text, "^([%a_][%w_]*):(.*)$")
    return K.reference(scheme or "var", scheme and path or text)
  end,
  -- `after: 5 seconds do: { … }` and `every: 1 minute do: { … }` are sent here.
  ["after:do:"] = function(_, time, block) return K.after(time, block) end,
  ["every:do:"] = function(_, time, block) return K.every(time, block) end,
  ["onceEvery:do:"] = function(_, time, block) return K.onceEvery(time, block) end,
  ["evaluateScriptString:"] = function(_, source)
    return native.compile(source, "evaluated")(K)
  end,
  ["bindValue:toVariableNamed:"] = function(_, value, name) K.variables[name] = value end,
  ["valueOfVariableNamed:"] = function(_, name) return K.variables[name] end,
})

-- Waits for a Duration, or for a number of seconds.
function K.pause(time)
  native.sleep(type(time) == "number" and time or K.secondsOf(time, "runFor:"))
end

local RunLoop = K.newClass("RunLoop", Object)
K.methods(RunLoop, {
  ["run"] = function() native.interact() end,
  ["runInteractiveLoop"] = function() native.interact() end,
  ["run:"] = function(_, seconds) K.pause(seconds) end,
  ["runFor:"] = function(_, seconds) K.pause(seconds) end,
})

-- Standard input: a source of lines.
local Input = K.newClass("StandardInput", Object)
K.methods(Input, {
  ["nextObject"] = function() return native.readLine() end,
  ["readLine"] = function() return native.readLine() end,
  ["do:"] = function(_, block)
    while true do
      local line = native.readLine()
      if line == nil then return nil end
      block(line)
    end
  end,
  ["lines"] = function(self)
    local lines = {}
    self:do_(function(line) lines[#lines + 1] = line end)
    return K.array(lines, #lines)
  end,
  ["stringValue"] = function(self) return table.concat(self:lines(), "\n") end,
  -- `stdin → filter`: each line is written to what it is connected to.
  ["connect:"] = function(self, target)
    self:do_(function(line) target:writeObject_(line) end)
    return self
  end,
})

local context = setmetatable({}, Context._methods)
for name, value in pairs {
  stdout = K.stdout,
  rawstdout = K.stdout,
  stdline = K.stdline,
  stderr = K.stderr,
  stdin = setmetatable({}, Input._methods),
  context = context,
  shell = setmetatable({}, Shell._methods),
  runLoop = setmetatable({}, RunLoop._methods),
  newline = "\n",
  tab = "\t",
  ["π"] = math.pi,
} do
  K.predefine(name, value)
end
for _, name in ipairs { "args", "refs", "argv0", "last", "servePort" } do K.predefinedNames[name] = true end
K.predefine("args", K.array({}, 0))
K.predefine("refs", K.array({}, 0))

-- The stores that are known by themselves -----------------------------------------------------------

local function scheme(name, methods)
  local class = K.newClass(string.upper(string.sub(name, 1, 1)) .. string.sub(name, 2) .. "Scheme", K.classes.Store)
  K.methods(class, methods)
  K.schemes[name] = class:new()
end

local function trimmed(reference) return (string.gsub(K.pathOf(reference), "^/+", "")) end

local function formValue(value)
  if type(value) ~= "table" then return value end
  if value._isArray then return value:collect_(formValue) end
  return K.formFile(value)
end
-- `form:photo`, `form:photo/data`, and `form:` for all fields.
scheme("form", {
  ["at:"] = function(_, reference)
    local path = trimmed(reference)
    local value = native.exchange("form", path)
    if path == "" then return value and value:collectValues_(formValue) end
    if value ~= nil then return formValue(value) end
    local name, part = string.match(path, "^(.+)/(%a+)$")
    if not name then return nil end
    local file = formValue(native.exchange("form", name))
    return type(file) == "table" and K.walk(file, part) or nil
  end,
})
for _, what in ipairs { "query", "header", "cookie" } do
  scheme(what, { ["at:"] = function(_, reference) return native.exchange(what, trimmed(reference)) end })
end
scheme("body", {
  ["at:"] = function(_, reference)
    local path = trimmed(reference)
    if path == "stream" then return K.requestStream() end
    local text = native.exchange("body", "")
    if text == nil and K.hasRequestStream() then
      K.throw("typeError", "the body of a `streamed` handler has not arrived", { i_hint = "read it by `body:stream`" })
    end
    if text == nil or path == "" or path == "text" then return text end
    local value = native.parseJSON(text)
    if path == "json" then return value end
    return K.walk(value, (string.gsub(path, "^json/", "")))
  end,
})
-- `parts:stream`: the parts of a form, one after another.
scheme("parts", {
  ["at:"] = function(_, reference)
    if trimmed(reference) ~= "stream" then
      K.throw("invalid", "the parts of a form are `parts:stream`", { i_hint = "`form:name` is a field of a form" })
    end
    return K.requestParts()
  end,
})
scheme("request", { ["at:"] = function(_, reference) return native.exchange(trimmed(reference), "") end })
scheme("response", {
  ["at:put:"] = function(_, reference, value)
    local name = string.gsub(trimmed(reference), "^header/", "")
    native.respond(name, name == "status" and value or K.str(value))
    return value
  end,
  -- nil takes a status or a header back.
  ["deleteAt:"] = function(_, reference)
    native.respond(string.gsub(trimmed(reference), "^header/", ""), nil)
  end,
})
scheme("class", { ["at:"] = function(_, reference) return K.classNamed(trimmed(reference)) end })
scheme("framework", { ["at:"] = function(_, reference) return K.framework(trimmed(reference)) end })
scheme("template", { ["at:"] = function(_, reference) return K.classNamed(trimmed(reference)) end })
scheme("protocol", { ["at:"] = function(_, reference) return K.classNamed(trimmed(reference)) end })

-- References `ref:scheme:x`, `ref:class:x` of the compiler's own schemes.
scheme("scheme", {
  ["at:"] = function(_, reference) return K.schemeNamed(trimmed(reference)) end,
  ["at:put:"] = function(_, reference, value) K.installScheme(trimmed(reference), value) return value end,
})
