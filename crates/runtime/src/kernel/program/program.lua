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

-- The port of the command is for a server that has none of its own.
local function givePort(server)
  local port = K.predefined.servePort
  if server.i_port == nil then
    server.i_port = port
  elseif port ~= nil and port ~= server.i_port then
    native.write(3, string.format("warning: the program serves at port %s, so `--port %s` is not used\n",
      K.str(server.i_port), K.str(port))
      .. "  help: leave `port:` out of the program, so that the command can choose\n")
  end
end

-- Starts the server that a program ends with: it must have something to serve. A server that was
-- started before and stopped stays so.
local function startLast(server)
  if rawget(server, "_wasStarted") then return end
  givePort(server)
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
  if #servers > 0 or K.isFollowing() or K.hasWorkers() or K.hasFollowers()
    or K.hasStreamFollowers() then return "serving" end
end

-- Before the end: jobs that run are waited for.
function entries.stopJobs()
  local patience
  for i = 1, #servers do
    local time = servers[i].i_stopTimeout
    if time ~= nil then patience = math.max(patience or 0, K.secondsOf(time, "stopTimeout:")) end
  end
  K.stopStreams(patience)
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
  local ok, raised = K.try(tests[number].body)
  K.stopTestClients()
  if not ok then error(raised, 0) end
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

-- The messages that each class defines itself, one a line: class, side, selector, and who defined it.
function entries.messageList()
  local list = {}
  local function add(class, side, own)
    for name, method in pairs(own) do
      local selector = K.selector(name)
      if type(method) == "function" and not K.isInternal(name) and not string.find(selector, "^[_:]") then
        local source = debug.getinfo(method, "S").source
        local origin = (source == "=[C]" or string.find(source, "^=kernel/")) and "kernel" or "program"
        list[#list + 1] = table.concat({ class._name, side, selector, origin }, " ")
      end
    end
  end
  for name, class in pairs(K.classes) do
    if name == class._name then
      add(class, "-", class._own)
      add(class, "+", class._metaOwn)
    end
  end
  return table.concat(list, "\n")
end

-- The classes of the value of a variable or a predefined name, from its own one up, after the side: `-` for an instance,
-- `+` for a class.
function entries.classesOf(name)
  local value = K.variables[name]
  if value == nil then value = K.predefined[name] end
  if value == nil then value = K.classes[name] end
  if value == nil then return nil end
  local side, at = "-", K.classOf(value)
  if K.isClass(value) then side, at = "+", value end
  local list = { side }
  while at do
    list[#list + 1] = at._name
    at = at._super
  end
  return table.concat(list, " ")
end

-- Predefined names --------------------------------------------------------------------------------

--- The class of `shell`: commands of the system, and the end of the program.
local Shell = K.newClass("Shell", Object)
K.methods(Shell, {
  --- -<nothing> runInteractiveLoop
  --- Opens the prompt inside the running program, until the end of the input.
  --- > shell runInteractiveLoop
  ["runInteractiveLoop"] = function() native.interact() end,
  --- -<nothing> exit
  --- Ends the program with the exit status 0; no handler catches it.
  --- > shell exit
  ["exit"] = function() error(K.newError("exit", "exit", { _exit = 0, _uncatchable = true }), 0) end,
  --- -<nothing> exit:<Number>status
  --- Ends the program with an exit status; no handler catches it.
  --- > shell exit: 3
  ["exit:"] = function(_, status) error(K.newError("exit", "exit", { _exit = status, _uncatchable = true }), 0) end,
  --- -<String> run:<String>command
  --- Runs a command of the system that is written there and answers its standard output. Each `{x}` in it is quoted: it
  --- is one argument, or a part of one. An exit status other than 0 is an error of the kind `failed`.
  --- > shell run: 'date -u'
  --- > name := 'it is; ls'. shell run: "echo {name}" ⇒ 'it is; ls\n'
  ["run:"] = function(_, command, code) return native.shell(K.shellOf(command, code, "run:")) end,
  --- -<String> computed:<String>command
  --- Runs a command that the program has put together, as it is. Values of others must never be in it.
  --- > options := '-u'. shell computed: "date {options}"
  ["computed:"] = function(_, command) return native.shell(K.expectText(command, "computed:")) end,
})

--- The class of `context`: the running program, its timers and variables.
local Context = K.newClass("Context", Object)
K.methods(Context, {
  --- -<Framework> loadFramework:<String>name
  --- The framework with this name, for scripts of the original.
  --- > context loadFramework: 'Foundation'
  ["loadFramework:"] = function(_, name) return K.framework(name) end,
  --- -<Reference> bindingForString:<String>text
  --- The reference that a text spells, such as `file:notes.txt`; a text without a scheme is a variable.
  --- > context bindingForString: 'env:HOME' | stringValue ⇒ 'env:HOME'
  ["bindingForString:"] = function(_, text)
    local scheme, path = string.match(text, "^([%a_][%w_]*):(.*)$")
    return K.reference(scheme or "var", scheme and path or text)
  end,
  --- -<Fiber> after:<Duration>time do:<Block()>action
  --- Runs the block once in a fiber, after a time. It can be written without `context`.
  --- > job := context after: 1 milliseconds do: { 7 }. job value ⇒ 7
  ["after:do:"] = function(_, time, block) return K.after(time, block) end,
  --- -<Fiber> every:<Duration>time do:<Block()>action
  --- Runs the block in a fiber after each time, until `cancel`. An error of one time is written to
  --- standard error and is not the end.
  --- > ticker := context every: 1 hour do: { 7 }. ticker cancel isDone
  ["every:do:"] = function(_, time, block) return K.every(time, block) end,
  --- -<Job> onceEvery:<Duration>time do:<Block()>action
  --- Like `every:do:`, but in one worker only; another one takes over when that worker has ended.
  --- > job := context onceEvery: 1 hour do: { 7 }. job cancel class ⇒ Job
  ["onceEvery:do:"] = function(_, time, block) return K.onceEvery(time, block) end,
  --- -<any> evaluateScriptString:<String>source
  --- Compiles and runs a text that is written there as a program, and answers the value of its last statement.
  --- > context evaluateScriptString: '3 + 4' ⇒ 7
  ["evaluateScriptString:"] = function(_, source, code)
    local text = K.writtenText(source, code, "evaluateScriptString:", "programs", "refused")
    if type(text) ~= "string" then K.writtenText(source, nil, "evaluateScriptString:", "programs", "refused") end
    return native.compile(text, "evaluated")(K)
  end,
  --- -<any> computed:<String>source
  --- Compiles and runs a text that the program has put together as a program.
  --- > context computed: '3 + ', '4' ⇒ 7
  ["computed:"] = function(_, source) return native.compile(K.expectText(source, "computed:"), "evaluated")(K) end,
  --- -<nothing> bindValue:<any?>value toVariableNamed:<String>name
  --- Sets the variable of the program with this name.
  --- > context bindValue: 7 toVariableNamed: 'limit'. context valueOfVariableNamed: 'limit' ⇒ 7
  ["bindValue:toVariableNamed:"] = function(_, value, name) K.variables[name] = value end,
  --- -<any> valueOfVariableNamed:<String>name
  --- The value of the variable of the program with this name; nil where there is none.
  --- > context valueOfVariableNamed: 'unheardOf' ⇒ nil
  ["valueOfVariableNamed:"] = function(_, name) return K.variables[name] end,
})

-- Waits for a Duration, or for a number of seconds.
function K.pause(time)
  if type(time) ~= "number" then
    if type(time) ~= "table" or not time._isDuration then
      K.throw("typeError", "runFor: expects a Duration or a number of seconds, got " .. K.nameOf(time))
    end
    time = K.secondsOf(time, "runFor:")
  end
  native.sleep(time)
end

--- The class of `runLoop`: it waits while timers, fibers and connections run.
local RunLoop = K.newClass("RunLoop", Object)
K.methods(RunLoop, {
  --- -<nothing> run
  --- -<nothing> runInteractiveLoop
  --- Opens the prompt inside the running program, until the end of the input.
  --- > runLoop run
  ["run"] = function() native.interact() end,
  ["runInteractiveLoop"] = function() native.interact() end,
  --- -<nothing> run:<Duration|Number>time
  --- -<nothing> runFor:<Duration|Number>time
  --- Waits for a Duration, or for a number of seconds as in Objective-Smalltalk; other fibers run meanwhile.
  --- > runLoop runFor: 1 milliseconds. 'later' ⇒ 'later'
  ["run:"] = function(_, seconds) K.pause(seconds) end,
  ["runFor:"] = function(_, seconds) K.pause(seconds) end,
})

--- The class of `stdin`: standard input, line by line.
local Input = K.newClass("StandardInput", Object)
K.methods(Input, {
  --- -<String?> nextObject
  --- -<String?> readLine
  --- The next line without its line break; nil at the end of the input.
  --- > stdin readLine
  ["nextObject"] = function() return native.readLine() end,
  ["readLine"] = function() return native.readLine() end,
  --- -<self> run
  --- The input itself. A connection, `stdin → filter`, reads all of it at once, so nothing is left to run.
  --- > (stdin → { :line | line uppercase } → stdout) run
  ["run"] = function(self) return self end,
  --- -<nothing> do:<Block(line)>action
  --- Evaluates the block for each line, until the end of the input.
  --- > stdin do: { :line | stdout println: line uppercase }
  ["do:"] = function(_, block)
    while true do
      local line = native.readLine()
      if line == nil then return nil end
      block(line)
    end
  end,
  --- -<Array> lines
  --- All lines up to the end of the input.
  --- > stdin lines
  ["lines"] = function(self)
    local lines = {}
    self:do_(function(line) lines[#lines + 1] = line end)
    return K.array(lines, #lines)
  end,
  --- -<String> stringValue
  --- The input up to its end, without the last line break.
  --- > stdin stringValue fromJSON
  ["stringValue"] = function(self) return table.concat(self:lines(), "\n") end,
  --- -<self> connect:<any>target
  --- Writes each line to the target by `writeObject:`, until the end of the input: what `stdin → filter` does.
  --- > stdin connect: stdout
  ["connect:"] = function(self, target)
    self:do_(function(line) target:writeObject_(line) end)
    return self
  end,
})

-- Lines come from the standard input without their breaks: what a connection writes here gets one again.
local rawOutput = K.byteStream { write = function(text) native.write(1, text) end }
function rawOutput.writeObject_(_, object)
  if object ~= nil then K.stdout:println_(object) end
end

local context = setmetatable({}, Context._methods)
for name, value in pairs {
  --- name stdout
  --- Standard output, a stream: `println:` writes a line, and filters write to it.
  --- > stdout println: 'sow'
  stdout = K.stdout,
  --- name rawstdout
  --- Standard output for bytes of a connection; other objects get a line.
  --- > 'sow' → rawstdout
  rawstdout = rawOutput,
  --- name stdline
  --- Standard output, a line for each object that it gets.
  --- > [ 1, 2 ] → stdline
  stdline = K.stdline,
  --- name stderr
  --- Standard error, a stream.
  --- > stderr println: 'no seeds'
  stderr = K.stderr,
  --- name stdin
  --- Standard input, line by line.
  --- > stdin do: { :line | stdout println: line uppercase }
  stdin = setmetatable({}, Input._methods),
  --- name context
  --- The running program: its timers and variables.
  --- > context after: 1 milliseconds do: { 7 } | value ⇒ 7
  context = context,
  --- name shell
  --- Commands of the system, and the end of the program.
  --- > shell exit: 3
  shell = setmetatable({}, Shell._methods),
  --- name runLoop
  --- Waits while timers, fibers and connections run.
  --- > runLoop runFor: 1 milliseconds. 'later' ⇒ later
  runLoop = setmetatable({}, RunLoop._methods),
  --- name newline
  --- The line feed, a String.
  --- > newline count ⇒ 1
  newline = "\n",
  --- name tab
  --- The tabulator, a String.
  --- > tab count ⇒ 1
  tab = "\t",
  --- name π
  --- The ratio of the circumference of a circle to its diameter.
  --- > π > 3 ⇒ true
  ["π"] = math.pi,
} do
  K.predefine(name, value)
end
--- name args
--- The arguments of the command line behind the program, an array.
--- > args count ⇒ 0

--- name refs
--- The arguments of the command line as references, an array.
--- > refs count ⇒ 0

--- name argv0
--- The path of the program, a String.
--- > stdout println: argv0

--- name last
--- The last value at the prompt.
--- > last isNil ⇒ true

--- name servePort
--- The port of `runnel serve --port`; nil without it.
--- > servePort ⇒ nil
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
--- scheme form
--- A field of the form that was sent, a text or an uploaded file; `form:` is all fields.
--- > scheme FormPage { /add { post { "added {form:title}" } } }
--- > #FormPage{}

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
--- scheme query
--- A parameter of the query, decoded; the first of repeated ones.
--- > scheme Greeter { /greet { get { "Hello {query:name}!" } } }
--- > #Greeter{}
--- > GET /greet?name=Ada → 200 Hello Ada!

--- scheme header
--- A header of the request; the name is case-insensitive.
--- > scheme Agents { /agent { get { header:X-Agent ifNil: { 'unknown' } } } }
--- > #Agents{}
--- > GET /agent → 200 unknown

--- scheme cookie
--- A cookie of the request.
--- > scheme Themes { /theme { get { cookie:theme ifNil: { 'light' } } } }
--- > #Themes{}
--- > GET /theme → 200 light
for _, what in ipairs { "query", "header", "cookie" } do
  scheme(what, { ["at:"] = function(_, reference) return native.exchange(what, trimmed(reference)) end })
end
--- scheme body
--- The content of the request as text; `body:json` is its value, and `body:stream` the content as it arrives.
--- > scheme Echo { /echo { post { body: } } }
--- > #Echo{}
--- > POST /echo {"a":1} → 200 {"a":1}
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
--- scheme parts
--- `parts:stream` is the parts of a form as they arrive, for large uploads.
--- > scheme Uploads { /add { post streamed { parts:stream do: { :part | part field } } } }
--- > #Uploads{}

-- `parts:stream`: the parts of a form, one after another.
scheme("parts", {
  ["at:"] = function(_, reference)
    if trimmed(reference) ~= "stream" then
      K.throw("invalid", "the parts of a form are `parts:stream`", { i_hint = "`form:name` is a field of a form" })
    end
    return K.requestParts()
  end,
})
--- scheme request
--- The request itself: `request:method`, `request:path`, `request:id`, `request:peer`.
--- > scheme Asked { /method { get { request:method } } }
--- > #Asked{}
--- > GET /method → 200 GET
scheme("request", { ["at:"] = function(_, reference) return native.exchange(trimmed(reference), "") end })
--- scheme response
--- The response: `response:status` is its status code, any other name a header; nil removes it.
--- > scheme Made { /made { get { response:status ← 201. 'made' } } }
--- > #Made{}
--- > GET /made → 201 made
scheme("response", {
  ["at:put:"] = function(_, reference, value)
    local name = string.gsub(trimmed(reference), "^header/", "")
    if name == "early-hints" then
      -- The links of a page: one, or an array.
      local links = type(value) == "table" and value._isArray and value or { value }
      for position = 1, #links do native.respond(name, K.str(links[position])) end
      return value
    end
    native.respond(name, name == "status" and value or K.str(value))
    return value
  end,
  -- nil takes a status or a header back.
  ["deleteAt:"] = function(_, reference)
    native.respond(string.gsub(trimmed(reference), "^header/", ""), nil)
  end,
})
--- scheme class
--- A class by its name.
--- > class:String name ⇒ String
scheme("class", { ["at:"] = function(_, reference) return K.classNamed(trimmed(reference)) end })
--- scheme framework
--- A framework by its name, for scripts of the original.
--- > framework:Foundation load
scheme("framework", { ["at:"] = function(_, reference) return K.framework(trimmed(reference)) end })
--- scheme template
--- A template of `object` by its name.
--- > class Person { var name. }
--- > object Adult : #Person{ name: 'nobody' }.
--- > template:Adult isNil ⇒ false
scheme("template", { ["at:"] = function(_, reference) return K.classNamed(trimmed(reference)) end })
--- scheme protocol
--- A protocol by its name: it is notified, and passes notifications on.
--- > protocol TitleDidChange { -titleDidChange. }
--- > protocol:TitleDidChange isNil ⇒ false
scheme("protocol", { ["at:"] = function(_, reference) return K.classNamed(trimmed(reference)) end })

-- References `ref:scheme:x`, `ref:class:x` of the compiler's own schemes.
--- scheme scheme
--- The store of a scheme; an assignment makes the scheme.
--- > scheme:notes ← #MutableDictionary{}.
--- > notes:today ← 'work'.
--- > notes:today ⇒ work
scheme("scheme", {
  ["at:"] = function(_, reference) return K.schemeNamed(trimmed(reference)) end,
  ["at:put:"] = function(_, reference, value) K.installScheme(trimmed(reference), value) return value end,
})
