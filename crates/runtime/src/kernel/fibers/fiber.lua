-- Fibers: blocks that run at the same time, waiting for them, jobs.
local K = ...
local yield, error, xpcall, type, getmetatable = coroutine.yield, error, xpcall, type, getmetatable
local setmetatable, rawget = setmetatable, rawget
local try, Block = K.try, K.classes.Block

-- What a coroutine yields to its driver.
local DONE = 1

-- The function of every coroutine of the pool.
function K.worker(f, a, b, c, d, e, g)
  while true do
    local ok, value, more = xpcall(f, K.handler, a, b, c, d, e, g)
    if not ok then value = K.asRaised(value) end
    f, a, b, c, d, e, g = yield(DONE, ok, value, more)
  end
end

function K.deadlineError()
  local err = K.newError("timeout", "the request took longer than its deadline", { _uncatchable = true })
  err.i_hint = "look for a loop that does not end, or give the server a longer `timeout`"
  err._trace = K.trace()
  return err
end

-- Fibers of the program --------------------------------------------------------------------------

--- A block that runs at the same time as the rest of the program: what `fork` answers.
local Fiber = K.newClass("Fiber", K.classes.Object)
K.nilKeys._task = true

-- An error that a block raised in its own fiber, on its way to the waiting fiber: unchanged, with its class,
-- its kind and its trace. An error that no handler may take goes the other way, as text.
local Raised = {}

-- A fiber that is awaited where it was started shares the transaction of the waiting fiber.
-- `failed` gets the error of a fiber that is not awaited.
local function start(block, milliseconds, awaited, failed)
  return K.native.fork(function()
    local ok, value = try(block)
    if ok then return value end
    if not K.catchable(value) then error(value, 0) end
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
  local lines = { what .. K.str(raised.i_message) }
  for _, place in ipairs(K.framesOf(rawget(raised, "_trace"))) do
    lines[#lines + 1] = "  " .. place
  end
  K.predefined.stderr:println_(table.concat(lines, "\n"))
end

K.reportError = report

-- Errors of fibers that nothing has joined yet. After a time, or at the end of the program, they
-- are reported: an error must not vanish because no line of the program asks for it.
local JOIN_TIME = 1 -- seconds
local unjoined, forkFailed = {}, false
K.nilKeys._isJoined = true

local function reportUnjoined(fiber)
  local raised = unjoined[fiber]
  unjoined[fiber] = nil
  if raised then
    forkFailed = true
    report("error in a fiber that nothing joins: ", raised)
  end
end

-- For Rust: reports what is left; answers a text when a fork of this program failed unjoined.
function K.reportForks()
  while next(unjoined) do reportUnjoined((next(unjoined))) end
  return forkFailed and "failed" or nil
end

function K.fork(block, milliseconds)
  local fiber = setmetatable({}, Fiber._methods)
  fiber._task = start(block, milliseconds, false, function(raised)
    if fiber._isJoined then return end
    unjoined[fiber] = raised
    -- Detached: it outlives the request that started the fiber.
    local ok = try(function()
      K.native.fork(function()
        try(K.native.sleep, JOIN_TIME)
        reportUnjoined(fiber)
      end, nil, false, true)
    end)
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
  --- -<any> value
  --- Waits for the fiber and answers the value of its block, or raises the error that the block raised.
  --- > { 3 + 4 } fork value ⇒ 7
  ["value"] = join,
  --- -<any> join
  --- The same as `value`.
  --- > { 3 + 4 } fork join ⇒ 7
  ["join"] = join,
  --- -<self> cancel
  --- Ends the fiber where it waits; `value` then raises an error of the kind `cancelled`.
  --- > fiber := { runLoop runFor: 60 } fork. fiber cancel. { fiber value } onError: { :e | e kind } ⇒ 'cancelled'
  ["cancel"] = function(self)
    self._isJoined = true
    K.native.cancel(self._task)
    return self
  end,
  --- -<Boolean> isDone
  --- Whether the fiber has ended. This does not wait.
  --- > fiber := { 3 } fork. fiber value. fiber isDone ⇒ true
  ["isDone"] = function(self) return K.native.isDone(self._task) end,
})

-- Runs a block after those that were started before under the same key: sequentially, in order.
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
  --- -<Fiber> fork
  --- -<Fiber> async
  --- Runs the block in a fiber of its own and does not wait for it. An error that nothing joins within 1 second is
  --- written to standard error.
  --- > { 3 + 4 } fork value ⇒ 7
  ["fork"] = function(block) return K.fork(block) end,
  ["async"] = function(block) return K.fork(block) end,
  --- -<any> timeout:<Duration>time
  --- The value of the block. When it takes longer than the time, it is cancelled and raises an error of the kind `timeout`.
  --- > { runLoop runFor: 60 } timeout: 5 milliseconds ⇒ error: the deadline passed while waiting
  ["timeout:"] = within,
  --- -<any> timeout:<Duration>time onError:<Block(error)|Object?>handler
  --- Like `timeout:`, but the handler, which gets the error, answers for a block that takes too long or raises an
  --- error.
  --- > { runLoop runFor: 60 } timeout: 5 milliseconds onError: 'late' ⇒ 'late'
  ["timeout:onError:"] = function(block, time, on)
    local ok, value = try(within, block, time)
    if ok then return value end
    if not K.catchable(value) then error(value, 0) end
    return K.valueOf(on, value)
  end,
})

-- The results of blocks that run concurrently, at most `most` of them, in order. The first
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
  if not K.catchable(value) then error(value, 0) end
  report("error: ", value)
end

K.alone = alone

-- A block in a detached fiber: without a deadline, and not cancelled with the one that forks it; its error is reported.
function K.detach(block) K.native.fork(function() return alone(block) end, nil, false, true) end

-- After a time, once; every time, until it is cancelled: an error of one time is not the end.
function K.after(time, block)
  K.secondsOf(time, "after:")
  return K.fork(function() K.wait(time) return alone(block) end)
end

function K.every(time, block)
  K.secondsOf(time, "every:")
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
--- What `onceEvery:do:` answers: a block that one of the workers runs again and again.
local Job = K.newClass("Job", Fiber)
K.nilKeys._job = true
local jobs = {}

function K.onceEvery(time, block)
  K.secondsOf(time, "onceEvery:")
  local place = K.framesOf(K.trace())[1]
  local name = place or "-"
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

--- -<self> cancel
--- Ends the job in all workers.
--- > job := context onceEvery: 1 hour do: { 3 }. job cancel class ⇒ Job
K.method(Job, "cancel", function(self)
  K.native.endJob(self._job)
  return Fiber._methods.cancel(self)
end)

--- What `concurrently` answers for an array of values: the next message runs its block in a fiber for each element.
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
  --- -<Array> collect:<Block(each)>transform
  --- The values of the block for each element, in the order of the elements. The first error cancels the other fibers
  --- and propagates.
  --- > [1, 2, 3] concurrently collect: { :n | n * n } ⇒ [1, 4, 9]
  ["collect:"] = function(self, block) return K.concurrently(each(self._list, block), self._most) end,
  --- -<Array> do:<Block(each)>action
  --- Evaluates the block for each element, waits for all, and answers the array. The first error cancels the other
  --- fibers and propagates.
  --- > [1, 2] concurrently do: { :n | n * n } ⇒ [1, 2]
  ["do:"] = function(self, block)
    K.concurrently(each(self._list, block), self._most)
    return self._list
  end,
})

-- The default of `concurrently`: how many fibers run at once.
local MOST = 64

local function concurrent(list, most)
  if #list > 0 and type(list[1]) == "function" then return K.concurrently(list, most) end
  return setmetatable({ _list = list, _most = most }, Concurrent._methods)
end

K.methods(K.classes.Array, {
  --- -<any> concurrently
  --- The values of an array of blocks that run at the same time, at most 64 at once, in their order. Of an array of
  --- values, also an empty one, a Concurrent for `collect:` and `do:`.
  --- > [ { 1 + 2 }, { 3 + 4 } ] concurrently ⇒ [3, 7]
  ["concurrently"] = function(self) return concurrent(self, MOST) end,
  --- -<any> concurrently:<Number>limit
  --- Like `concurrently`, with at most this number of fibers at once, 1 or more.
  --- > [1, 2, 3] concurrently: 2 | collect: { :n | n * n } ⇒ [1, 4, 9]
  --- > [1, 2, 3] concurrently: 0 ⇒ error: concurrently: needs at least 1 fiber, not 0
  ["concurrently:"] = function(self, most)
    most = K.expectInteger(most, "concurrently:")
    if most < 1 then K.throw("outOfRange", "concurrently: needs at least 1 fiber, not " .. K.str(most)) end
    return concurrent(self, most)
  end,
})
