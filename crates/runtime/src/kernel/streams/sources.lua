-- Sources that produce over time, filters that take time, commands of the system as filters, and
-- copies of operations between stores.
local K = ...
local type, rawset = type, rawset
local throw = K.throw
local classes = K.classes
local Source, Filter = K.classes.Source, K.classes.Filter

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
  --- -<any> run
  --- Runs the source until it has no more objects, closes it and answers the final target with the results.
  --- > #Timer{ interval: 1 millisecond, count: 2 } run ⇒ [1, 2]
  ["run"] = run,
  --- -<any> run:<Duration|Number>time
  --- Runs the source for a time, a Duration or a Number of seconds, closes it and answers the final target with the
  --- results.
  --- > (FixedValueSource values: [1, 2]) run: 1 second ⇒ [1, 2]
  ["run:"] = function(self, time)
    self._stopped, self._writing = false, false
    if type(time) == "number" then time = K.duration(time) end
    local ok, failure = K.try(classes.Block._methods.timeout_, function() self:produce() end, time)
    if not ok and failure.i_kind ~= "timeout" then error(failure, 0) end
    self:close()
    return self:finalTarget()
  end,
  --- -<self> start
  --- -<self> runInThread
  --- Runs the source in a fiber of its own until it has no more objects or gets `stop`, and answers it. The fiber ends
  --- with the program.
  --- > #Timer{ interval: 1 second } start; isRunning ⇒ true
  ["start"] = start, ["runInThread"] = start,
  --- -<self> stop
  --- Stops the source after the object that it is writing, and answers it.
  --- > (#Timer{ interval: 1 second } start; stop; yourself) isRunning ⇒ false
  ["stop"] = function(self)
    self._stopped = true
    -- A target that stops the source while it writes to it lets that write end.
    if self._task and not self._writing then self._task:cancel() end
    self._task = nil
    return self
  end,
  --- -<Boolean> isRunning
  --- Answers whether the source runs in a fiber that `start` made.
  --- > #Timer{ interval: 1 second } isRunning ⇒ false
  ["isRunning"] = function(self) return self._task ~= nil and not self._task:isDone() end,
})

--- A source that writes 1, 2, 3, …, one number after each interval, until its `count`.
local Timer = plain(K.newClass("Timer", Source))
--- -<any> interval
--- -<nothing> setInterval:<Duration>interval
--- The time before each number. Without it running the timer is a `nilValue` error.
--- > #Timer{ interval: 5 milliseconds, count: 2 } run ⇒ [1, 2]
K.ivar(Timer, "interval")
--- -<any> count
--- -<nothing> setCount:<Number>count
--- The last number that the timer writes; nil for a timer without end.
--- > #Timer{ interval: 1 millisecond, count: 3 } run ⇒ [1, 2, 3]
K.ivar(Timer, "count")
K.methods(Timer, {
  --- As in Source.
  ["produce"] = function(self)
    if self.i_interval == nil then
      throw("nilValue", "a Timer has no interval", { i_hint = "give it one: `#Timer{ interval: 1 second }`" })
    end
    K.secondsOf(self.i_interval, "interval:")
    local tick, most = 0, self.i_count and K.expectInteger(self.i_count, "count")
    while not most or tick < most do
      K.wait(self.i_interval)
      tick = tick + 1
      if self._stopped or not emit(self, tick) then return end
    end
  end,
})
K.classMethods(Timer, {
  --- +<self> interval:<Duration>interval
  --- Answers a new timer without end for an interval.
  --- > (Timer interval: 1 second) interval ⇒ 1 second
  ["interval:"] = function(class, interval)
    local timer = class:new()
    timer.i_interval = interval
    return timer
  end,
})

--- A source of the changes of a file or below a folder: `#FileChanges{ path: 'notes' }`. It runs until it gets `stop`.
local FileChanges = plain(K.newClass("FileChanges", Source))
K.alias("MPWFileChangesStream", FileChanges)
K.alias("FileChangesStream", FileChanges)
--- -<any> path
--- -<nothing> setPath:<String|Reference>path
--- The path of the file or folder, or a reference to it. Without it running the source is a `nilValue` error.
--- > #FileChanges{ path: 'notes' } path ⇒ 'notes'
K.ivar(FileChanges, "path")
K.methods(FileChanges, {
  --- As in Source.
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
  --- +<self> path:<String|Reference>path
  --- Answers a new source of the changes of a file or below a folder.
  --- > (FileChanges path: 'notes') path ⇒ 'notes'
  ["path:"] = function(class, path)
    local source = class:new()
    source.i_path = path
    return source
  end,
})

-- The references below a folder, depth first: `ref:file:notes directoryStream`.
local DEEPEST = 100 -- folders within each other
--- A source of references to all files and folders below a folder, depth first, at most 100 levels deep.
local Directory = plain(K.newClass("DirectoryStream", Source))
K.alias("MPWDirectoryEnumerationStream", Directory)
--- -<any> reference
--- -<nothing> setReference:<Reference>reference
--- The reference to the folder. Without it running the source is a `nilValue` error.
--- > ref:file:notes directoryStream reference path ⇒ 'notes'
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
  --- As in Source.
  ["produce"] = function(self)
    if self.i_reference == nil then
      throw("nilValue", "a DirectoryStream has no reference", { i_hint = "write `ref:file:folder directoryStream`" })
    end
    visit(self, self.i_reference, 1)
  end,
})
K.methods(K.classes.Reference, {
  --- -<DirectoryStream> directoryStream
  --- Answers a source of references to all files and folders below this one, depth first.
  --- > (ref:file:notes directoryStream → stdline) run
  ["directoryStream"] = function(self)
    local source = Directory:new()
    source.i_reference = self
    return source
  end,
})

-- Filters ------------------------------------------------------------------------------------------

--- Counts the objects that are written to it, and passes on their number when it is closed.
local CountingFilter = K.newClass("CountingFilter", Filter)
K.alias("MPWCountingFilter", CountingFilter)
K.methods(CountingFilter, {
  --- As in Object.
  ["init"] = function(self)
    self._arrived = 0
    return self
  end,
  --- -<nothing> writeObject:<any>object
  --- -<nothing> ! <any>object
  --- Counts the object, except nil, and drops it.
  --- > (CountingFilter new writeAll: ['a', 'b']) count ⇒ 2
  ["writeObject:"] = function(self, object)
    if object ~= nil then self._arrived = self._arrived + 1 end
  end,
  --- -<Number> count
  --- Answers the number of objects since the filter was made or closed.
  --- > CountingFilter new count ⇒ 0
  ["count"] = function(self) return self._arrived end,
  --- -<self> close
  --- Passes on the number of objects, begins again with 0, and closes the streams behind.
  --- > (CountingFilter new writeAll: ['a', 'b']; close) target ⇒ [2]
  ["close"] = function(self)
    self:forward_(self._arrived)
    self._arrived = 0
    return classes.WriteStream._methods.close(self)
  end,
})

--- Passes each object on after a time. The writer waits, so that no queue grows; a Queue before it with `async: true`
--- waits instead. `Delay` is its short name.
local Delay = K.newClass("DelayStream", Filter)
K.alias("MPWDelayStream", Delay)
K.methods(Delay, {
  --- -<nothing> writeObject:<any>object
  --- -<nothing> ! <any>object
  --- Waits for the delay, then passes the object on; without a delay at once.
  --- > #Delay{ delay: 1 millisecond } process: 'a' ⇒ ['a']
  ["writeObject:"] = function(self, object)
    if self.i_delay ~= nil then K.wait(self.i_delay) end
    self:forward_(object)
  end,
})
K.classMethods(Delay, {
  --- +<self> delay:<Duration>time
  --- Answers a new stream with a delay.
  --- > (DelayStream delay: 1 millisecond) process: 'a' ⇒ ['a']
  ["delay:"] = function(class, time) return class:new():delay_(time) end,
})
--- -<any> delay
--- The time before each object is passed on, as it was set; nil for none.
--- > (DelayStream delay: 1 second) delay ⇒ 1 second
K.ivar(Delay, "delay")
local function setDelay(self, time)
  K.secondsOf(time, "delay:")
  self.i_delay = time
  return self
end
K.methods(Delay, {
  --- -<self> setDelay:<Duration>time
  --- -<self> delay:<Duration>time
  --- Sets the delay, and answers the stream. A number has no unit and is refused.
  --- > (DelayStream new delay: 5 seconds) delay ⇒ 5 seconds
  ["setDelay:"] = setDelay, ["delay:"] = setDelay,
  --- -<self> setSeconds:<Number>seconds
  --- Sets the delay as a Number of seconds, and answers the stream.
  --- > #Delay{ seconds: 0.001 } delay ⇒ 1 millisecond
  ["setSeconds:"] = function(self, seconds) return setDelay(self, K.duration(K.expectNumber(seconds, "seconds"))) end,
})
K.alias("Delay", Delay)

-- A queue that empties itself in a fiber of its own, so that the writer does not wait.
local Queue = K.classes.Queue
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
  --- -<self> setAsync:<Boolean>async
  --- -<self> setAsynchronous:<Boolean>async
  --- Sets whether the queue empties itself in a fiber of its own, false by default, and answers it.
  --- > #Queue{ async: true } isEmpty ⇒ true
  ["setAsync:"] = setAsync, ["setAsynchronous:"] = setAsync,
  --- -<self> makeAsynchronous
  --- Lets the queue empty itself in a fiber of its own, as `async: true` does, and answers it.
  --- > Queue new makeAsynchronous isEmpty ⇒ true
  ["makeAsynchronous"] = function(self) return setAsync(self, true) end,
  --- -<nothing> writeObject:<any>object
  --- -<nothing> ! <any>object
  --- Appends the object and, when the queue is asynchronous, starts the fiber that empties it; nil is ignored. An
  --- object beyond the capacity is a `tooLarge` error.
  --- > queue := Queue new. queue ! 'a'; writeObject: nil. queue count ⇒ 1
  ["writeObject:"] = function(self, object)
    write(self, object)
    if self._started and not self._draining then drain(self) end
  end,
  --- -<self> removeAll
  --- Drops all objects that wait, and answers the queue.
  --- > queue := Queue new. queue ! 'a'; removeAll. queue count ⇒ 0
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

--- Runs a command of the system when it is flushed or closed: each object is a line of its input, each line of its
--- output an object. The rules of `sh:` apply: no shell, a time limit, and an error for a status other than 0.
local External = K.newClass("CommandFilter", Filter)
K.alias("MPWExternalFilter", External)
K.methods(External, {
  --- -<nothing> writeObject:<any>object
  --- -<nothing> ! <any>object
  --- Adds the text of the object as a line of the command's input; nil is ignored. More than 64 MiB are a `tooLarge`
  --- error.
  --- > sorter := CommandFilter command: 'sort'. sorter ! 'b'; writeObject: 'a'; close. sorter target ⇒ ['a', 'b']
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
  --- -<nothing> runCommand
  --- Runs the command with the lines that are written, and passes on the lines of its output. `flush` and `close` send
  --- it.
  --- > shout := CommandFilter command: 'tr a-z A-Z'. shout ! 'a'; runCommand. shout target ⇒ ['A']
  ["runCommand"] = function(self)
    local lines = self._lines
    if not lines then return end
    self._lines, self._bytes = nil, nil
    local output = K.storePost(K.schemeNamed("sh"), self._command, table.concat(lines), "sh")
    for line in string.gmatch(K.bytesOf(output or "", "a command"), "([^\n]*)\n?") do
      if line ~= "" then self:forward_(line) end
    end
  end,
  --- -<self> flush
  --- Runs the command with the lines that are written since the last time, and passes on the lines of its output except
  --- empty ones. Without lines it does not run.
  --- > sorter := CommandFilter command: 'sort -r'. sorter ! 'a'; writeObject: 'b'; flush. sorter target ⇒ ['b', 'a']
  ["flush"] = function(self)
    self:runCommand()
    return classes.WriteStream._methods.flush(self)
  end,
  --- -<self> close
  --- Runs the command as `flush` does, and closes the streams behind.
  --- > shout := CommandFilter command: 'tr a-z A-Z'. shout ! 'a'; close. shout target ⇒ ['A']
  ["close"] = function(self)
    self:runCommand()
    return classes.WriteStream._methods.close(self)
  end,
  --- -<String> description
  --- Answers the word `command` and the command as a path of `sh:`.
  --- > (CommandFilter command: 'sort -r') description ⇒ 'command sort/-r'
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
  --- +<self> command:<String>command
  --- Answers a new filter for a program and its arguments, split at blanks. An empty command is an `invalid` error.
  --- > (CommandFilter command: 'sort -r') description ⇒ 'command sort/-r'
  ["command:"] = function(class, text) return command(class, words(K.expectText(text, "command:"))) end,
  --- +<self> command:<String>program arguments:<Collection>arguments
  --- Answers a new filter for a program and its arguments, each as it is. An empty argument is an `invalid` error.
  --- > (CommandFilter command: 'tr' arguments: ['a', 'b']) process: 'banana' ⇒ ['bbnbnb']
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
--- Repeats operations on one store, such as the writes in the log of its `logger`, on another store, its target.
local Copy = K.newClass("RESTCopyStream", Filter)
K.alias("MPWRESTCopyStream", Copy)
K.methods(Copy, {
  --- -<self> writeObject:<any>operation
  --- -<self> ! <any>operation
  --- Repeats an operation or a change on the target store: deletes the path, or stores the value that `source` has now.
  --- Reads do nothing. Another object is a `typeError`, a missing target a `nilValue` error.
  --- > RESTCopyStream new writeObject: 1 ⇒ error: a RESTCopyStream takes operations and changes, not a Number (1)
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
--- -<any> source
--- -<nothing> setSource:<any>store
--- The store that has the current values; nil to take them from the operations.
--- > RESTCopyStream new source ⇒ nil
K.ivar(Copy, "source")
