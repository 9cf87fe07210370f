-- Workers: fibers that take the jobs of a queue and run a block for each.
--
-- In a transaction, which is the default, a batch of jobs and their end are committed together. The batch grows while
-- it is quick and shrinks when it is slow. A batch in which a job fails is rolled back and runs again
-- without that job; a job that was tried before runs alone, because it may have ended its process.
local K = ...
local type, rawget, setmetatable, error = type, rawget, setmetatable, error
local native, throw, take, own = K.native, K.throw, K.optionKinds, K.jobsOwn
local try, run = K.try, own.run

-- The largest batch.
local MOST_BATCH = 500
-- The seconds that a batch should take.
local BATCH_TIME = 0.05
-- Seconds between polls for the posts of other processes: on SQLite, and on PostgreSQL, which notifies.
local POLL = 0.5
local NOTIFIED_POLL = 5
-- The longest pause before the next attempt, in seconds.
local LONGEST_PAUSE = 3600
-- Seconds that the end of the program waits for running jobs, unless a server has a `stopTimeout`.
local STOP_TIME = 10
-- Workers of a program.
local MOST_WORKERS = 1000

--- Runs a block for each job of a queue: the answer of `worker:` and `every:do:`.
local Worker = K.newClass("JobWorker", K.classes.Object)
for _, key in ipairs { "_block", "_isStopped", "_together", "_batch", "_attempts", "_time", "_isAlive", "_running", "_ended" } do
  K.nilKeys[key] = true
end

local workers, stores, isStopping = {}, {}, false

function K.hasWorkers() return #workers > 0 end

-- One job -------------------------------------------------------------------------------------------

-- Seconds before the next attempt: twice as long each time, and not the same for all.
local function pauseAfter(attempt)
  return math.min(2 ^ attempt, LONGEST_PAUSE) * (0.5 + math.random() / 2)
end

local function failed(worker, job, fault)
  local queue = worker._queue
  local attempt, most = job.i_attempt, worker._attempts
  local isDead, pause = attempt >= most or job._unreadable ~= nil, pauseAfter(attempt)
  local after = isDead and "and is dead" or string.format("and runs again in %.1f s", pause)
  K.reportError(string.format("error: %s failed at attempt %d of %d %s: ", job:description(), attempt, most, after), fault)
  if worker._together and K.str(fault.i_kind) == "timeout" then
    K.predefined.stderr:println_("  help: give its worker `transaction: false`, or the database a longer `transactionTimeout`")
  end
  own.fail(queue._jobs, queue.i_name, job, isDead, isDead and 0 or pause, K.str(fault.i_kind) .. ": " .. K.str(fault.i_message))
end

-- Runs the block. A `^` in it is its end.
local function perform(worker, job)
  local ok, raised = try(worker._block, job.i_value, job)
  if not ok and not K.isReturn(raised) then error(raised, 0) end
end

-- A job outside of a transaction.
local function performAlone(worker, job)
  K.classes.Block._methods.timeout_(function() perform(worker, job) end, K.duration(worker._time))
  if not job._isFinished then own.finish(worker._queue._jobs, { job }, 1) end
end

-- Jobs in one transaction, as many as there is time for. Answers how many are done, and the position and the error of
-- the job that failed.
local function performTogether(worker, list, last)
  local jobs = worker._queue._jobs
  local done, at = 0, 0
  local ok, fault = try(K.transaction, jobs.i_database, function()
    local began = native.now()
    done, at = 0, 0
    for i = 1, last do
      at = i
      list[i]._isTogether = true
      perform(worker, list[i])
      done = i
      if native.now() - began > BATCH_TIME then break end
    end
    at = 0
    own.finish(jobs, list, done)
  end)
  if ok then return done end
  if not K.catchable(fault) then error(fault, 0) end
  return 0, at, fault
end

local function without(list, first)
  local rest = {}
  for i = first, #list do rest[#rest + 1] = list[i] end
  return rest
end

local function runTogether(worker, list)
  while #list > 0 and not isStopping do
    -- What was tried before may end the process again.
    local last = list[1].i_attempt > 1 and 1 or #list
    local done, at, fault = performTogether(worker, list, last)
    if fault and at == 0 then
      -- The commit failed, for all of them alike.
      for i = 1, last do failed(worker, list[i], fault) end
      done = last
    elseif fault then
      if at > 1 then
        local before = {}
        for i = 1, at - 1 do before[i] = list[i] end
        runTogether(worker, before)
      end
      failed(worker, list[at], fault)
      done = at
    end
    list = without(list, done + 1)
  end
end

local function runAlone(worker, list)
  for i = 1, #list do
    if isStopping then return end
    local ok, fault = try(performAlone, worker, list[i])
    if not ok then
      if not K.catchable(fault) then error(fault, 0) end
      failed(worker, list[i], fault)
    end
  end
end

-- Taking --------------------------------------------------------------------------------------------

-- Takes jobs that are due, the oldest first, and counts them. A job whose attempts are used up is dead: its process
-- ended each time.
local function takeJobs(worker, most)
  local queue = worker._queue
  local rows = run(queue._jobs, "take", queue.i_name, queue._jobs._owner, most)
  local list = {}
  for i = 1, #rows do list[i] = own.jobOf(queue, rows[i]) end
  table.sort(list, function(a, b)
    if a._due ~= b._due then return a._due < b._due end
    return a.i_id < b.i_id
  end)
  local taken = {}
  for i = 1, #list do
    if list[i]._unreadable then
      failed(worker, list[i], list[i]._unreadable)
    elseif list[i].i_attempt <= worker._attempts then
      taken[#taken + 1] = list[i]
    else
      local ended = K.newError("failed", "the process ended during each attempt")
      list[i].i_attempt = list[i].i_attempt - 1
      failed(worker, list[i], ended)
    end
  end
  return { jobs = taken, count = #list }
end

-- Says that the owner is alive, and frees the jobs of owners that are not.
local function beat(jobs)
  run(jobs, "live", jobs._owner, jobs.i_lease)
  jobs._isAlive = true
  local freed, seen = run(jobs, "free"), {}
  for i = 1, #freed do
    local queue = freed[i]:at_("queue")
    if not seen[queue] then native.wake(queue) end
    seen[queue] = true
  end
  run(jobs, "forget")
end

-- Takes a batch and runs it; answers how many jobs were taken.
local function work(worker)
  local batch = math.floor(worker._batch)
  local jobs = worker._queue._jobs
  if not jobs._isAlive then beat(jobs) end
  jobs._running = jobs._running + 1
  local ok, taken = try(takeJobs, worker, batch)
  local count = ok and taken.count or 0
  if count > 0 then
    local began = native.now()
    ok, taken = try(worker._together and runTogether or runAlone, worker, taken.jobs)
    jobs._ended = jobs._ended + count
    local isQuick = native.now() - began < BATCH_TIME
    if worker._together then
      worker._batch = isQuick and math.min(count == batch and batch * 2 or batch, MOST_BATCH) or math.max(1, batch / 2)
    end
  end
  jobs._running = jobs._running - 1
  if not ok then error(taken, 0) end
  return count
end

-- The fiber of a worker, until it is stopped.
local function loop(worker)
  local queue = worker._queue
  local jobs, name, pause = queue._jobs, queue.i_name, 1
  while not worker._isStopped and not isStopping do
    local seen = native.wakes(name)
    local ok, count = try(work, worker)
    if ok then
      pause = 1
      if count == 0 then
        local delay = run(jobs, "delay", name)[1]:at_("delay")
        local poll = jobs._dialect == "sqlite" and POLL or NOTIFIED_POLL
        -- Only a job that is due, or a post, needs another look with a lock.
        repeat
          local time = type(delay) == "number" and math.max(math.min(delay, poll), 0.001) or poll
          if native.awaitWake(name, seen, time) then break end
          if worker._isStopped or isStopping then return end
          local asked, rows = try(run, jobs, "delay", name)
          if not asked then break end
          delay = rows[1]:at_("delay")
        until type(delay) == "number" and delay <= 0
      end
    else
      if not K.catchable(count) then error(count, 0) end
      K.reportError("error: the queue " .. name .. " cannot be read: ", count)
      native.awaitWake(name, seen, pause)
      pause = math.min(pause * 2, 30)
    end
  end
end

-- Life ----------------------------------------------------------------------------------------------

local function keepAlive(jobs)
  while not isStopping do
    native.sleep(jobs.i_lease / 3)
    if isStopping then return end
    local ok, fault = try(beat, jobs)
    if not ok then
      if not K.catchable(fault) then error(fault, 0) end
      K.reportError("error: the lease of jobs could not be renewed: ", fault)
    end
  end
end

local function wakeAll()
  for i = 1, #workers do native.wake(workers[i]._queue.i_name) end
end

-- Wakes the workers when the database notifies of posts by other processes.
local function follow(jobs)
  local place = jobs._place
  local path = place[2] == "" and "runnel_job_owners" or place[2] .. "/runnel_job_owners"
  while not isStopping do
    local ok, watch = try(function() return native.watch(place[1], path, nil, place[3]) end)
    while ok and watch and native.nextChange(watch) ~= nil do wakeAll() end
    native.sleep(1)
  end
end

-- The first worker of a store of jobs makes it an owner.
local function startOwner(jobs)
  if jobs._owner then return end
  own.placeOf(jobs)
  jobs._owner, jobs._running, jobs._ended = K.randomToken(16), 0, 0
  stores[#stores + 1] = jobs
  K.detach(function() keepAlive(jobs) end)
  if jobs._dialect == "postgres" then K.detach(function() follow(jobs) end) end
end

-- Messages ------------------------------------------------------------------------------------------

local function bounded(least, most)
  return function(value, name, self)
    take.count(value, name, self)
    if value < least or value > most then
      throw("invalid", string.format("`%s` of a worker must lie from %d to %d", name, least, most))
    end
    return value
  end
end

local OPTIONS = {
  transaction = take.flag, attempts = bounded(1, 100), concurrency = bounded(1, 256),
  timeout = function(value, name, self)
    local seconds = take.seconds(value, name, self)
    if seconds <= 0 or seconds > 86400 then
      throw("invalid", "`timeout` of a worker must lie above 0 and up to one day")
    end
    return seconds
  end,
}

local function configured(worker, options)
  local given = K.readOptions(options, "a worker", worker, OPTIONS)
  worker._together = given.transaction ~= false
  worker._attempts, worker._time = given.attempts or 20, given.timeout or 600
  -- A batch shares one transaction; several would only meet each other.
  return given.concurrency or worker._together and 1 or 4
end

-- `jobs:mail worker: { :mail | … }`: runs the block for each job of the queue, from now on.
function own.worker(queue, block, options)
  K.expectBlock(block, "worker:")
  if #workers >= MOST_WORKERS then throw("tooLarge", "a program has at most " .. MOST_WORKERS .. " workers of jobs") end
  local worker = setmetatable({ _queue = queue, _block = block, _batch = 1 }, Worker._methods)
  local concurrency = configured(worker, options)
  startOwner(queue._jobs)
  workers[#workers + 1] = worker
  for _ = 1, concurrency do K.detach(function() loop(worker) end) end
  return worker
end

K.methods(Worker, {
  --- -<self> stop
  --- Takes no more jobs; a job that runs ends. The queue and its jobs stay.
  --- > { :mail | (mail worker: { :value | stdout println: value }) stop }
  ["stop"] = function(self)
    self._isStopped = true
    for i = #workers, 1, -1 do
      if workers[i] == self then table.remove(workers, i) end
    end
    native.wake(self._queue.i_name)
    return self
  end,
  --- As in Object.
  ["description"] = function(self) return "worker of " .. self._queue.i_name end,
})

K.methods(own.Queue, {
  --- JobQueue -<JobWorker> worker:<Block(value, job)>block
  --- Runs the block for each job of the queue from now on, in a transaction that also ends the job. A failed job runs
  --- again after 2, 4, 8, … seconds, in 20 attempts; then it is dead. The program does not end by itself any more.
  --- > { :mail | mail worker: { :value | stdout println: (value at: 'to') } }
  ["worker:"] = function(self, block) return own.worker(self, block) end,
  --- JobQueue -<JobWorker> worker:<Block(value, job)>block with:<Dictionary?>options
  --- The same as `worker:` with the options `transaction`, `attempts` (1 to 100), `concurrency` (1 to 256) and
  --- `timeout` (up to 1 day; for `transaction: false`). Another option is an error.
  --- > { :mail | mail worker: { :value | nil } with: #{ transaction: false, concurrency: 8 } }
  ["worker:with:"] = function(self, block, options) return own.worker(self, block, options) end,
})

--- -<Number> drain
--- Runs the jobs that are due until none is, and answers the number of attempts: for tests. Jobs for later stay.
--- > { :jobs | jobs drain }
K.method(K.classes.Jobs, "drain", function(self)
  startOwner(self)
  local before = self._ended
  repeat
    local found = 0
    for i = 1, #workers do
      local worker = workers[i]
      if worker and worker._queue._jobs == self then found = found + work(worker) end
    end
    local isBusy = self._running > 0
    if isBusy then native.sleep(0.001) end
  until found == 0 and not isBusy
  return self._ended - before
end)

-- For the end of the program: takes no more jobs and waits for those that run, for some seconds. What is cut runs again.
function K.stopJobs(patience)
  isStopping = true
  wakeAll()
  local deadline = native.now() + (patience or STOP_TIME)
  for i = 1, #stores do
    while stores[i]._running > 0 and native.now() < deadline do native.sleep(0.01) end
    try(function()
      run(stores[i], "leave", stores[i]._owner)
      run(stores[i], "left", stores[i]._owner)
    end)
  end
end
