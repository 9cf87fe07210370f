-- Fibers, errors, and leaving methods from inside blocks.
local K = ...
local yield, error, xpcall, pcall, type, getmetatable = coroutine.yield, error, xpcall, pcall, type, getmetatable
local setmetatable, rawget = setmetatable, rawget
local Error = K.classes.Error

-- What a coroutine yields to its driver.
local DONE = 1

-- LuaJIT's own messages, in words about programs.
local friends = {
  { "stack overflow", "recursion", "the recursion is too deep", "does the method that calls itself come to an end?" },
  { K.memoryMessage, "memory", K.memoryExplanation, "work on parts, or on a stream" },
  { "string length overflow", "memory", "a text became too long", "work on parts, or on a stream" },
  { "attempt to compare", "typeError", "these two cannot be compared", "compare numbers with numbers and texts with texts" },
  { "attempt to perform arithmetic", "typeError", "arithmetic needs numbers", nil },
  { "attempt to concatenate", "typeError", "this cannot be joined to a text", nil },
  { "attempt to call", "typeError", "this is not a block, it cannot be called", nil },
  { "attempt to index", "typeError", "this has no parts", nil },
  { "bad argument", "typeError", "an argument is of the wrong kind", nil },
  { "attempt to yield across", "failed", "waiting is not possible inside this callback", nil },
}

function K.fromLua(text, trace)
  local err
  for _, friend in ipairs(friends) do
    if string.find(text, friend[1], 1, true) then
      err = K.newError(friend[2], friend[3], { i_hint = friend[4], i_detail = text })
      break
    end
  end
  if not err then err = K.newError("failed", (string.gsub(text, "^%S-:%d+: ", "")), { i_detail = text }) end
  err._trace = trace
  return err
end

-- The handler of every protected call: makes an Error of what was raised, where it was raised.
local function handler(raised)
  if type(raised) == "table" then return raised end
  local ok, trace = pcall(K.traceback, 2)
  return K.fromLua(tostring(raised), ok and trace or {})
end
K.handler = handler

-- The handler is not asked when memory ran out, or when there was no stack left for it.
local function asRaised(value)
  if type(value) == "string" then return K.fromLua(value, {}) end
  return value
end

-- Runs a block under protection: whether it came to its end, and its value or what was raised.
local function try(block, a, b)
  local ok, value = xpcall(block, handler, a, b)
  if ok then return true, value end
  return false, asRaised(value)
end

K.try = try

-- The function of every coroutine of the pool.
function K.worker(f, a, b, c, d, e, g)
  while true do
    local ok, value, more = xpcall(f, handler, a, b, c, d, e, g)
    if not ok then value = asRaised(value) end
    f, a, b, c, d, e, g = yield(DONE, ok, value, more)
  end
end

function K.deadlineError()
  local err = K.newError("timeout", "the request took longer than its deadline", { _uncatchable = true })
  err.i_hint = "look for a loop that does not end, or give the server a longer `timeout`"
  err._trace = K.traceback(2)
  return err
end

-- Leaving a method from a block in it: `^` ------------------------------------------------------

function K.home(body)
  local token = {}
  local ok, value = try(body, token)
  if ok then return value end
  token.left = true
  if rawequal(value, token) then return token.value end
  error(value, 0)
end

function K.leave(token, value)
  if token.left then
    K.throw("returned", "this block returns from a method that has already returned",
      { i_hint = "use `^` only while the method is still running" })
  end
  token.value = value
  error(token, 0)
end

-- Ends the whole script with a value.
function K.endScript(value)
  error({ _end = true, value = value }, 0)
end

-- Whether a handler of the program may take it.
local function catchable(raised)
  return getmetatable(raised) ~= nil and not rawget(raised, "_uncatchable")
end

-- Errors in programs ------------------------------------------------------------------------------

local Block = K.classes.Block

-- Runs a block; hands an error that `takes` accepts to the handler. `error retry` in the handler
-- runs the block once more.
local function handled(block, on, takes)
  while true do
    local ok, value = try(block)
    if ok then return value end
    if not catchable(value) or not takes(value) then error(value, 0) end
    if type(on) ~= "function" then return on end
    local good, answer = try(on, value)
    if good then return answer end
    if type(answer) ~= "table" or rawget(answer, "_retry") ~= value then error(answer, 0) end
  end
end

local function any() return true end

K.methods(Block, {
  -- The value of the block, or what the handler answers when the block raises an error.
  ["onError:"] = function(block, on) return handled(block, on, any) end,
  -- Only for errors of a kind, or of a class of errors.
  ["on:do:"] = function(block, kind, on)
    return handled(block, on, function(value)
      return kind == value.i_kind or (K.isClass(kind) and K.isKind(value, kind))
    end)
  end,
  -- Runs the other block afterwards, whatever happens.
  ["ensure:"] = function(block, always)
    local ok, value = try(block)
    always()
    if ok then return value end
    error(value, 0)
  end,
  -- Tries again: the whole number of tries is the argument.
  ["retry:"] = function(block, times)
    local pause = 0.01
    for attempt = 1, times do
      local ok, value = try(block)
      if ok then return value end
      if attempt == times or not catchable(value) then error(value, 0) end
      K.native.sleep(pause * (0.5 + math.random()))
      pause = math.min(pause * 2, 5)
    end
  end,
})

-- What an error says to HTTP clients.
local function errorStatus(status)
  if type(status) == "number" and status >= 400 and status <= 599 and status % 1 == 0 then return status end
  K.throw("typeError", "the status of an error must be a whole number from 400 to 599, not " .. K.str(status))
end
local function checked(headers)
  if type(headers) == "table" and headers._isDictionary then return headers end
  K.throw("typeError", "the headers of an error must be a dictionary, not " .. K.nameOf(headers))
end
local function problems(fields)
  local list, n = {}, 0
  checked(fields):keysAndValuesDo_(function(name, message)
    local pointer = K.str(name)
    -- RFC 6901: a pointer begins with a slash.
    if string.byte(pointer, 1) ~= 47 then
      pointer = "/" .. string.gsub(string.gsub(pointer, "~", "~0"), "/", "~1")
    end
    n = n + 1
    list[n] = K.dictionary({ "pointer", "message" }, { pointer = pointer, message = K.str(message) }, 2)
  end)
  return K.array(list, n)
end

K.methods(Error, {
  ["description"] = function(self) return self.i_kind .. ": " .. tostring(self.i_message) end,
  ["signal"] = function(self)
    self._trace = K.traceback(1)
    -- A message that the program wrote is for clients, unlike that of a store that it asked.
    if rawget(self, "_side") == nil then self._side = "program" end
    error(self, 0)
  end,
  ["raise"] = function(self) return self:signal() end,
  -- In a handler: runs the block once more.
  ["retry"] = function(self) error({ _retry = self }, 0) end,
  ["isTemporary"] = function(self) return self._temporary == true end,
  ["hint"] = function(self) return rawget(self, "i_hint") end,
  ["trace"] = function(self)
    local lines = {}
    for i, place in ipairs(rawget(self, "_trace") or {}) do lines[i] = place[1] .. ":" .. place[2] end
    return K.array(lines, #lines)
  end,
})
K.classMethods(Error, {
  ["signal:"] = function(class, message)
    local err = setmetatable({ i_kind = "error", i_message = message }, class._methods)
    if class ~= Error then err.i_kind = class._name end
    return err:signal()
  end,
  ["kind:message:"] = function(class, kind, message)
    return setmetatable({ i_kind = kind, i_message = message }, class._methods)
  end,
  -- With headers of the HTTP response: a dictionary.
  ["kind:message:headers:"] = function(class, kind, message, headers)
    return setmetatable({ i_kind = kind, i_message = message, i_headers = checked(headers) }, class._methods)
  end,
  -- With what is wrong in the client's content: a dictionary from fields to messages.
  ["kind:message:fields:"] = function(class, kind, message, fields)
    return setmetatable({ i_kind = kind, i_message = message, i_fields = problems(fields) }, class._methods)
  end,
  -- With an HTTP status of its own.
  ["status:message:"] = function(class, status, message)
    return setmetatable({ i_kind = "error", i_message = message, i_status = errorStatus(status) }, class._methods)
  end,
  ["status:message:headers:"] = function(class, status, message, headers)
    local err = class:status_message_(status, message)
    err.i_headers = checked(headers)
    return err
  end,
})

-- Fibers of the program --------------------------------------------------------------------------

local Fiber = K.newClass("Fiber", K.classes.Object)
K.nilKeys._task = true

-- What a block raised in a fiber of its own, on its way to whoever waits: as it is, with its class,
-- its kind and its trace. An error that no handler may take goes the other way, as text.
local Raised = {}

-- A fiber that is awaited where it was started shares the transaction of the one that waits.
-- `failed` gets the error of one that is not.
local function start(block, milliseconds, awaited, failed)
  return K.native.fork(function()
    local ok, value = try(block)
    if ok then return value end
    if not catchable(value) then error(value, 0) end
    if failed then failed(value) end
    return setmetatable({ value = value }, Raised)
  end, milliseconds, awaited)
end

local function joined(task)
  local value = K.native.join(task)
  if type(value) == "table" and getmetatable(value) == Raised then error(value.value, 0) end
  return value
end

-- Writes an error that no handler takes, with the lines it came through, to standard error.
local function report(what, raised)
  local lines = { what .. tostring(raised.i_message) }
  for _, place in ipairs(rawget(raised, "_trace") or {}) do
    lines[#lines + 1] = "  " .. place[1] .. ":" .. place[2]
  end
  K.predefined.stderr:println_(table.concat(lines, "\n"))
end

-- Errors of fibers that nothing has joined yet. After a time, or at the end of the program, they
-- are reported: an error must not vanish because no line of the program asks for it.
local JOIN_TIME = 1 -- seconds
local unjoined = {}
K.nilKeys._isJoined = true

local function reportUnjoined(fiber)
  local raised = unjoined[fiber]
  unjoined[fiber] = nil
  if raised then
    K.forkFailed = true
    report("error in a fiber that nothing joins: ", raised)
  end
end

-- For Rust: reports what is left; answers a text when a fork of this program failed unjoined.
function K.reportForks()
  while next(unjoined) do reportUnjoined((next(unjoined))) end
  return K.forkFailed and "failed" or nil
end

function K.fork(block, milliseconds)
  local fiber = setmetatable({}, Fiber._methods)
  fiber._task = start(block, milliseconds, false, function(raised)
    if fiber._isJoined then return end
    unjoined[fiber] = raised
    -- Detached: it outlives the request that started the fiber.
    local ok = try(K.native.fork, function()
      try(K.native.sleep, JOIN_TIME)
      reportUnjoined(fiber)
    end, nil, false, true)
    if not ok then reportUnjoined(fiber) end
  end)
  return fiber
end

local function join(self)
  self._isJoined = true
  unjoined[self] = nil
  return joined(self._task)
end

K.methods(Fiber, {
  ["value"] = join,
  ["join"] = join,
  ["cancel"] = function(self)
    self._isJoined = true
    K.native.cancel(self._task)
    return self
  end,
  ["isDone"] = function(self) return K.native.isDone(self._task) end,
})

-- Runs a block after those that were started before under the same key: one at a time, in order.
local turns = {}
function K.inTurn(key, block)
  local before = turns[key]
  local task = start(function()
    if before then try(K.native.join, before) end
    before = nil
    return block()
  end, nil, true)
  turns[key] = task
  local ok, value = try(joined, task)
  if rawequal(turns[key], task) then turns[key] = nil end
  if ok then return value end
  K.native.cancel(task)
  error(value, 0)
end

-- Runs a block in a fiber that ends by a time, and waits for it.
local function within(block, time)
  local task = start(block, K.secondsOf(time, "timeout:") * 1000, true)
  local ok, value = try(joined, task)
  if ok then return value end
  K.native.cancel(task)
  error(value, 0)
end

K.methods(Block, {
  ["fork"] = function(block) return K.fork(block) end,
  ["async"] = function(block) return K.fork(block) end,
  ["timeout:"] = within,
  ["timeout:onError:"] = function(block, time, on)
    local ok, value = try(within, block, time)
    if ok then return value end
    if not catchable(value) then error(value, 0) end
    return K.valueOf(on, value)
  end,
})

-- The results of blocks that run at the same time, at most so many of them, in order. The first
-- error ends the others.
function K.concurrently(blocks, most)
  local count, started = #blocks, 0
  local results, tasks, places = {}, {}, {}
  local function run()
    while started < count or #tasks > 0 do
      while started < count and #tasks < most do
        started = started + 1
        tasks[#tasks + 1] = start(blocks[started], nil, true)
        places[#tasks] = started
      end
      local at = K.native.joinAny(tasks)
      local value = joined(tasks[at])
      results[places[at]] = value == nil and K.NULL or value
      table.remove(tasks, at)
      table.remove(places, at)
    end
  end
  local ok, failure = try(run)
  if not ok then
    for i = 1, #tasks do K.native.cancel(tasks[i]) end
    error(failure, 0)
  end
  return K.array(results, count)
end

function K.wait(time)
  K.native.sleep(K.secondsOf(time, "a wait"))
end

-- Runs a block that nothing joins: its error is reported at once.
local function alone(block)
  local ok, value = try(block)
  if ok then return value end
  if not catchable(value) then error(value, 0) end
  report("error: ", value)
end

K.alone = alone

-- After a time, once; every time, until it is cancelled: an error of one time is not the end.
function K.after(time, block)
  return K.fork(function() K.wait(time) return alone(block) end)
end

function K.every(time, block)
  return K.fork(function()
    while true do
      K.wait(time)
      alone(block)
    end
  end)
end

-- Every time in one of the workers: the first that comes to this line leads; another one takes
-- over at its next time once that worker has ended. All workers run the same program, so the place
-- in the source names the job.
local Job = K.newClass("Job", Fiber)
K.nilKeys._job = true
local jobs = {}

function K.onceEvery(time, block)
  K.secondsOf(time, "onceEvery:do:")
  local place = K.traceback(1)[1]
  local name = place and place[1] .. ":" .. place[2] or "-"
  jobs[name] = (jobs[name] or 0) + 1
  name = name .. " " .. jobs[name]
  K.native.leads(name)
  local job = K.fork(function()
    while true do
      K.wait(time)
      local leads = K.native.leads(name)
      if leads == nil then return end
      if leads then alone(block) end
    end
  end)
  job._job = name
  return setmetatable(job, Job._methods)
end

-- Ends it in all workers.
K.method(Job, "cancel", function(self)
  K.native.endJob(self._job)
  return Fiber._methods.cancel(self)
end)

-- `[ { … }, { … } ] concurrently`: the values of blocks that run at the same time. As a stand-in
-- it also takes `collect:` and `do:`, for one fiber an element.
local Concurrent = K.newClass("Concurrent", K.classes.Object)
K.nilKeys._list, K.nilKeys._most = true, true

local function each(list, block)
  local blocks = {}
  for i = 1, #list do
    local element = list[i]
    if element == K.NULL then element = nil end
    blocks[i] = function() return block(element) end
  end
  return blocks
end

K.methods(Concurrent, {
  ["collect:"] = function(self, block) return K.concurrently(each(self._list, block), self._most) end,
  ["do:"] = function(self, block)
    K.concurrently(each(self._list, block), self._most)
    return self._list
  end,
})

-- Fibers that `concurrently` runs at a time when no number is given.
local MOST = 64

K.methods(K.classes.Array, {
  ["concurrently"] = function(self)
    if #self > 0 and type(self[1]) == "function" then return K.concurrently(self, MOST) end
    return setmetatable({ _list = self, _most = MOST }, Concurrent._methods)
  end,
  ["concurrently:"] = function(self, most)
    if #self > 0 and type(self[1]) == "function" then return K.concurrently(self, most) end
    return setmetatable({ _list = self, _most = most }, Concurrent._methods)
  end,
})
