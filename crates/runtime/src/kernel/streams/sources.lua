-- Sources that produce over time, filters that take time, commands of the system as filters, and
-- copies of operations between stores.
local K = ...
local type, rawset = type, rawset
local throw, define = K.throw, K.defineFilter
local classes = K.classes
local Source = classes.Source

for _, field in ipairs { "_task", "_lines", "_bytes", "_draining", "_command" } do
  K.nilKeys[field] = true
end

-- A program may use these plain names for classes of its own.
local function plain(class)
  rawset(class, "_plainName", true)
  return class
end

-- Running ------------------------------------------------------------------------------------------

local emit = K.emit

local function run(self)
  self._stopped, self._writing = false, false
  self:produce()
  self:close()
  return self:finalTarget()
end

local function start(self)
  self._task = K.fork(function()
    return K.alone(function() run(self) end)
  end)
  return self
end

K.methods(Source, {
  ["run"] = run,
  -- For a time, a duration or seconds; then it ends.
  ["run:"] = function(self, time)
    self._stopped, self._writing = false, false
    if type(time) == "number" then time = time * 1000 end
    local ok, failure = K.try(classes.Block._methods.timeout_, function() self:produce() end, time)
    if not ok and failure.i_kind ~= "timeout" then error(failure, 0) end
    self:close()
    return self:finalTarget()
  end,
  -- In a fiber of its own, until it has no more or gets `stop`.
  ["start"] = start, ["runInThread"] = start,
  ["stop"] = function(self)
    self._stopped = true
    -- A target that stops the source while it writes to it lets that write end.
    if self._task and not self._writing then self._task:cancel() end
    self._task = nil
    return self
  end,
  ["isRunning"] = function(self) return self._task ~= nil and not self._task:isDone() end,
})

-- Writes its tick number every interval: `#Timer{ interval: 1 second, count: 3 }`.
local Timer = plain(K.newClass("Timer", Source))
K.ivar(Timer, "interval")
K.ivar(Timer, "count")
K.methods(Timer, {
  ["produce"] = function(self)
    if self.i_interval == nil then
      throw("nilValue", "a Timer has no interval", { i_hint = "give it one: `#Timer{ interval: 1 second }`" })
    end
    local tick, most = 0, self.i_count and K.expectInteger(self.i_count, "count")
    while not most or tick < most do
      K.wait(self.i_interval)
      tick = tick + 1
      if self._stopped or not emit(self, tick) then return end
    end
  end,
})
K.classMethods(Timer, {
  ["interval:"] = function(class, interval)
    local timer = class:new()
    timer.i_interval = interval
    return timer
  end,
})

-- The changes below a folder or of a file: `#FileChanges{ path: 'notes' }`.
local FileChanges = plain(K.newClass("FileChanges", Source))
for _, alias in ipairs { "MPWFileChangesStream", "FileChangesStream" } do K.alias(alias, FileChanges) end
K.ivar(FileChanges, "path")
K.methods(FileChanges, {
  ["produce"] = function(self)
    local path = self.i_path
    if path == nil then
      throw("nilValue", "a FileChanges has no path", { i_hint = "give it one: `#FileChanges{ path: 'notes' }`" })
    end
    local reference = type(path) == "table" and path._isReference and path or K.reference("file", K.str(path))
    local changes = reference:changes()
    while true do
      local change = changes:next()
      if change == nil or not emit(self, change) then break end
    end
    changes:stop()
  end,
})
K.classMethods(FileChanges, {
  ["path:"] = function(class, path)
    local source = class:new()
    source.i_path = path
    return source
  end,
})

-- The references below a folder, depth first: `ref:file:notes directoryStream`.
local DEEPEST = 100 -- folders within each other
local Directory = plain(K.newClass("DirectoryStream", Source))
K.alias("MPWDirectoryEnumerationStream", Directory)
K.ivar(Directory, "reference")
local function visit(self, reference, depth)
  if depth > DEEPEST then throw("invalid", "the folder is deeper than 100 levels") end
  local children = reference:children()
  for i = 1, #children do
    if not emit(self, children[i]) or not visit(self, children[i], depth + 1) then return false end
  end
  return true
end
K.methods(Directory, {
  ["produce"] = function(self)
    if self.i_reference == nil then
      throw("nilValue", "a DirectoryStream has no reference", { i_hint = "write `ref:file:folder directoryStream`" })
    end
    visit(self, self.i_reference, 1)
  end,
})
K.methods(classes.Reference, {
  ["directoryStream"] = function(self)
    local source = Directory:new()
    source.i_reference = self
    return source
  end,
})

-- Filters ------------------------------------------------------------------------------------------

-- Counts the objects, and writes their number when it is closed.
define("CountingFilter", "MPWCountingFilter", {
  ["init"] = function(self)
    self._arrived = 0
    return self
  end,
  ["writeObject:"] = function(self, object)
    if object ~= nil then self._arrived = self._arrived + 1 end
  end,
  ["count"] = function(self) return self._arrived end,
  ["close"] = function(self)
    self:forward_(self._arrived)
    self._arrived = 0
    return classes.WriteStream._methods.close(self)
  end,
})

-- Passes each object on after a time. The writer waits, so no queue grows.
local Delay = define("DelayStream", "MPWDelayStream", {
  ["writeObject:"] = function(self, object)
    if self.i_delay ~= nil then K.wait(self.i_delay) end
    self:forward_(object)
  end,
}, {
  ["delay:"] = function(class, time) return class:new():delay_(time) end,
})
K.ivar(Delay, "delay")
local function setDelay(self, time)
  K.secondsOf(time, "delay")
  self.i_delay = time
  return self
end
K.methods(Delay, { ["setDelay:"] = setDelay, ["delay:"] = setDelay,
  ["setSeconds:"] = function(self, seconds) return setDelay(self, K.expectNumber(seconds, "seconds") * 1000) end })
K.alias("Delay", Delay)

-- A queue that empties itself in a fiber of its own, so that the writer does not wait.
local Queue = classes.Queue
local write = Queue._methods.writeObject_
local function drain(self)
  self._draining = true
  K.fork(function()
    return K.alone(function()
      local ok, failure = K.try(function()
        while not self._stopped do
          local object = self:nextObject()
          if object == nil then break end
          self:forward_(object)
        end
      end)
      self._draining = false
      if not ok then error(failure, 0) end
    end)
  end)
end
local function setAsync(self, async)
  self._started = K.truth(async)
  return self
end
K.methods(Queue, {
  ["setAsync:"] = setAsync, ["setAsynchronous:"] = setAsync,
  ["makeAsynchronous"] = function(self) return setAsync(self, true) end,
  ["writeObject:"] = function(self, object)
    write(self, object)
    if self._started and not self._draining then drain(self) end
  end,
  -- Drops what waits.
  ["removeAll"] = function(self)
    self._items, self._from = {}, 1
    if self._seen then self._seen = {} end
    return self
  end,
})

-- Commands -----------------------------------------------------------------------------------------

-- The most that a command gets to read, as the scheme `sh:` allows.
local MOST_INPUT = 67108864 -- 64 MiB

-- One part of a path of `sh:`.
local function segment(word)
  if word == "" then
    throw("invalid", "an argument of a command is empty", { i_hint = "leave it out, or run it by `sh:sh/-c/…`" })
  end
  return (string.gsub(K.encodeSegment(word), "?", "%%3F"))
end

-- Runs a command of the system: each object is a line of its input, each line of its output is an
-- object. It runs when the stream is flushed or closed, by the rules of `sh:`.
local External = define("CommandFilter", "MPWExternalFilter", {
  ["writeObject:"] = function(self, object)
    if object == nil then return end
    local line = K.str(object) .. "\n"
    local bytes = (self._bytes or 0) + #line
    if bytes > MOST_INPUT then
      throw("tooLarge", self:description() .. " gets at most 64 MiB to read",
        { i_hint = "flush the stream more often" })
    end
    local lines = self._lines or {}
    lines[#lines + 1] = line
    self._lines, self._bytes = lines, bytes
  end,
  ["runCommand"] = function(self)
    local lines = self._lines
    if not lines then return end
    self._lines, self._bytes = nil, nil
    local output = K.storePost(K.schemeNamed("sh"), self._command, table.concat(lines), "sh")
    for line in string.gmatch(K.bytesOf(output or "", "a command"), "([^\n]*)\n?") do
      if line ~= "" then self:forward_(line) end
    end
  end,
  ["flush"] = function(self)
    self:runCommand()
    return classes.WriteStream._methods.flush(self)
  end,
  ["close"] = function(self)
    self:runCommand()
    return classes.WriteStream._methods.close(self)
  end,
  ["description"] = function(self) return "command " .. K.str(self._command) end,
})
local function command(class, words)
  local list = K.elementsOf(words, "command:arguments:")
  if #list == 0 or K.str(list[1]) == "" then
    throw("invalid", "a command is empty", { i_hint = "name a program: `'!sort -n'`" })
  end
  local filter, parts = class:new(), {}
  for i = 1, #list do parts[i] = segment(K.str(list[i])) end
  filter._command = table.concat(parts, "/")
  return filter
end
local function words(text)
  local list = {}
  for word in string.gmatch(text, "%S+") do list[#list + 1] = word end
  return K.array(list, #list)
end
K.classMethods(External, {
  -- `CommandFilter command: 'sort -n'`: split at blanks; no shell looks at it.
  ["command:"] = function(class, text) return command(class, words(K.expectText(text, "command:"))) end,
  ["command:arguments:"] = function(class, program, arguments)
    local list = { K.expectText(program, "command:arguments:") }
    local more = K.elementsOf(arguments, "command:arguments:")
    for i = 1, #more do list[i + 1] = more[i] end
    return command(class, K.array(list, #list))
  end,
})
K.textStreams[33] = function(text) return command(External, words(string.sub(text, 2))) end -- !command

-- Operations ---------------------------------------------------------------------------------------

-- Repeats operations of one store in another one: `#RESTCopyStream{ source: a, target: b }`.
local Copy = define("RESTCopyStream", "MPWRESTCopyStream", {
  ["writeObject:"] = function(self, operation)
    if type(operation) ~= "table" or not operation._isOperation then
      throw("typeError", "a RESTCopyStream takes operations and changes, not " .. K.nameOf(operation))
    end
    local target = self._target
    if not target then
      throw("nilValue", "a RESTCopyStream has no target", { i_hint = "give it a store: `copy → store`" })
    end
    target = K.asStore(target)
    if operation.i_verb == "GET" then return self end
    if self.i_source == nil or operation.i_verb == "DELETE" then
      operation:applyTo_(target)
      return self
    end
    local path = operation.i_path or K.pathOf(operation.i_reference)
    local value = K.storeGet(K.asStore(self.i_source), path)
    if value == nil then K.storeDelete(target, path) else K.storePutAt(target, path, value) end
    return self
  end,
})
K.ivar(Copy, "source")
