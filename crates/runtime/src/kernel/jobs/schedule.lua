-- Schedules: jobs that are posted again and again, once over all workers and machines. The database keeps the last
-- moment of each; who moves it on posts the job.
local K = ...
local type = type
local native, throw, own = K.native, K.throw, K.jobsOwn

-- The shortest interval in seconds.
local SHORTEST = 1
-- The longest sleep: clocks are set.
local LONGEST_SLEEP = 60

-- A function from a moment to the next one.
local function momentsOf(when, zone)
  if type(when) == "table" and when._isDuration then
    local seconds = when._seconds
    if seconds < SHORTEST then throw("invalid", "every: takes no less than " .. SHORTEST .. " second") end
    if zone ~= nil then throw("invalid", "zone: is for schedules such as '0 6 * * 1-5', not for durations") end
    return function(moment) return (math.floor(moment / seconds) + 1) * seconds end
  end
  local schedule = K.expectText(when, "every:")
  zone = zone == nil and "UTC" or K.expectText(zone, "zone:")
  return function(moment) return native.cronNext(schedule, zone, moment) end
end

-- Posts the job of a moment, unless another worker did.
local function postAt(queue, moment, now)
  local jobs = queue._jobs
  K.transaction(jobs.i_database, function()
    if own.run(jobs, "advance", queue.i_name, now, moment) == 0 then return end
    own.post(jobs, queue.i_name, { K.recordOf { "moment", K.date(moment):stringValue() } })
  end)
end

local function follow(worker, queue, next)
  local name, jobs = queue.i_name, queue._jobs
  own.run(jobs, "schedule", name, native.now())
  while not worker._isStopped do
    local now = native.now()
    local last = own.run(jobs, "moment", name)[1]
    local due = next(last and last:at_("moment") or now)
    -- Moments that passed while nothing ran are made up for by one job.
    if due <= now then
      postAt(queue, due, now)
    else
      native.sleep(math.min(due - now, LONGEST_SLEEP))
    end
  end
end

-- `jobs:report every: '0 6 * * 1-5' zone: 'Europe/Berlin' do: { … }`
local function every(queue, when, zone, block)
  local next = momentsOf(when, zone)
  local ok, fault = K.try(next, native.now())
  if not ok then
    fault.i_hint = "its fields are minute, hour, day of the month, month, day of the week: '0 6 * * 1-5'"
    error(fault, 0)
  end
  local worker = own.worker(queue, block)
  native.fork(function()
    local pause = 1
    while not worker._isStopped do
      local ok, fault = K.try(function() follow(worker, queue, next) end)
      if ok then return end
      if not K.catchable(fault) then error(fault, 0) end
      K.reportError("error: the schedule of " .. queue.i_name .. " could not be followed: ", fault)
      native.sleep(pause)
      pause = math.min(pause * 2, LONGEST_SLEEP)
    end
  end, nil, false, true)
  return worker
end

K.methods(own.Queue, {
  --- JobQueue -<JobWorker> every:<Duration|String>schedule do:<Block(value, job)>block
  --- Posts a job again and again, once over all workers and machines, and runs the block for it. A schedule is a
  --- duration of 1 second or more, or five fields of cron, in UTC. The value has the `moment` of the job.
  --- > { :report | report every: '0 6 * * 1-5' do: { stdout println: 'report' } }
  ["every:do:"] = function(self, when, block) return every(self, when, nil, block) end,
  --- JobQueue -<JobWorker> every:<String>schedule zone:<String?>zone do:<Block(value, job)>block
  --- The same as `every:do:` with the five fields of cron in a time zone; a duration takes none.
  --- > { :report | report every: '0 6 * * 1-5' zone: 'Europe/Berlin' do: { stdout println: 'report' } }
  ["every:zone:do:"] = function(self, when, zone, block) return every(self, when, zone, block) end,
})
