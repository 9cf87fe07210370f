-- Queues of jobs: `scheme:jobs ← #Jobs{ database: database }`, `jobs:mail post: #{ to: 'ann@example.org' }`.
local K = ...
local type, setmetatable, rawset = type, setmetatable, rawset
local native, throw, take, own = K.native, K.throw, K.optionKinds, K.jobsOwn

-- Characters of the name of a queue, and of a unique key.
local LONGEST_NAME, LONGEST_KEY = 100, 200
-- Jobs that one message posts.
local MOST_POSTED = 10000
-- Seconds for which a worker is taken to be alive.
local LEASE = 30
-- Dead jobs that one message answers.
local MOST_SHOWN = 1000

--- A store of queues of jobs in a database: `scheme:jobs ← #Jobs{ database: database }`. A path is the name of a queue.
local Jobs = K.newClass("Jobs", K.classes.Store)
Jobs._plainName = true -- a program may have a class of this name
--- Jobs -<any> database
--- The database with the tables of the jobs; nil before it is set.
--- > #Jobs{} database ⇒ nil

--- Jobs -<Number> lease
--- The seconds after which the jobs of a process that was killed run again: 30 by default.
--- > #Jobs{ lease: 1 minute } lease ⇒ 60
for _, name in ipairs { "database", "lease" } do K.ivar(Jobs, name) end
for _, key in ipairs { "_owner", "_queue", "_jobs", "_isFinished", "_isTogether" } do K.nilKeys[key] = true end
rawset(Jobs._methods, "i_lease", LEASE)

--- A queue of jobs, such as `jobs:mail`: posts, workers, and the jobs that failed.
local Queue = K.newClass("JobQueue", K.classes.Object)
--- -<String> name
--- The name of the queue.
--- > scheme:jobs := #Jobs{ database: ref:sqlite::memory: }. jobs:mail name ⇒ 'mail'
K.ivar(Queue, "name")

--- A job, as its worker gets it, and as it is kept among the dead ones.
local Job = K.newClass("QueuedJob", K.classes.Object)
--- QueuedJob -<Number> id
--- The id of the job, as `post:` answered it.
--- > { :job | job id }

--- QueuedJob -<any> value
--- The value that was posted, read from JSON: an object is a dictionary.
--- > { :job | job value at: 'to' }

--- QueuedJob -<Number> attempt
--- The number of the attempt, from 1; of a dead job the number of its attempts.
--- > { :job | job attempt > 1 }

--- QueuedJob -<String?> error
--- The error of the last failed attempt; nil before one failed.
--- > { :job | job error }
for _, name in ipairs { "id", "value", "attempt", "error" } do K.ivar(Job, name) end
own.Queue = Queue

function own.jobOf(queue, row)
  local reason, posted = row:at_("error"), row:at_("posted")
  local job = { i_id = row:at_("id"), i_attempt = row:at_("attempts"), _queue = queue, _posted = posted, _due = row:at_("due") }
  job.i_error = reason ~= K.NULL and reason or nil
  -- What another program wrote may be no JSON: that is a fault of this job alone.
  local ok, value = K.try(K.parseJSON, row:at_("payload"))
  if ok then job.i_value = value else job._unreadable = value end
  return setmetatable(job, Job._methods)
end

-- The queue of a path.
function K.queueOf(self, name)
  if #name > LONGEST_NAME or not string.find(name, "^[%w_.-]+$") then
    throw("invalid", string.format("'%s' is no name of a queue", string.sub(name, 1, LONGEST_NAME)),
      { i_hint = "use letters, digits, `-`, `_` and `.`" })
  end
  return setmetatable({ i_name = name, _jobs = self }, Queue._methods)
end

local function nameIn(reference) return (string.gsub(K.splitPath(K.pathOf(reference)), "^/+", "")) end

local function noPut(_, reference)
  throw("notAllowed", "a queue of jobs takes no assignment",
    { i_hint = "write `jobs:" .. nameIn(reference) .. " post: …`" })
end

K.methods(Jobs, {
  --- -<nothing> setDatabase:<any>database
  --- Sets the database, SQLite or PostgreSQL, and creates the tables of the jobs in it.
  --- > #Jobs{ database: 'shop.db' } ⇒ error: `database` of Jobs must be a database, not a String ('shop.db')
  ["setDatabase:"] = function(self, database)
    local isDatabase = type(database) == "table" and not K.isClass(database)
      and (database._isReference or database._isStore and rawget(database, "_native"))
    if not isDatabase then
      throw("typeError", "`database` of Jobs must be a database, not " .. K.nameOf(database),
        { i_hint = "write `#Jobs{ database: ref:sqlite:shop.db }`" })
    end
    self.i_database = database
    own.placeOf(self)
    self:_showPage()
  end,
  --- -<nothing> setLease:<Duration>time
  --- Sets the lease of running jobs, from 1 second to 1 hour; a number counts seconds.
  --- > #Jobs{ lease: 2 hours } ⇒ error: `lease` of Jobs must lie from 1 second to 1 hour
  ["setLease:"] = function(self, value)
    local seconds = take.seconds(value, "lease", self)
    if seconds < 1 or seconds > 3600 then throw("invalid", "`lease` of Jobs must lie from 1 second to 1 hour") end
    self.i_lease = seconds
  end,
  --- -<JobQueue> at:<any>reference
  --- The queue of a name: `jobs:mail` sends it. Names have letters, digits, `-`, `_` and `.`, at most 100 characters.
  --- > (#Jobs{} at: ref:mail) name ⇒ 'mail'
  ["at:"] = function(self, reference) return K.queueOf(self, nameIn(reference)) end,
  --- -<nothing> at:<any>reference put:<any>value
  --- An error: a queue takes no assignment. `post:` adds a job.
  --- > #Jobs{} at: ref:mail put: 3 ⇒ error: a queue of jobs takes no assignment
  ["at:put:"] = noPut,
  --- -<Number> at:<any>reference post:<any>value
  --- Posts a job to the queue of a name, as `post:` of the queue does, and answers its id.
  --- > { :jobs | jobs at: ref:mail post: 7 }
  ["at:post:"] = function(self, reference, value) return K.queueOf(self, nameIn(reference)):post_(value) end,
  --- As in Store.
  ["childrenOfReference:"] = function(self, reference)
    if nameIn(reference) ~= "" then return nil end
    return own.run(self, "names"):collect_(function(row) return row:at_("queue") end)
  end,
})

-- Posting -------------------------------------------------------------------------------------------

-- The moment or the delay of a job that does not run at once.
local function whenOf(after, at)
  if after ~= nil then
    local seconds = K.secondsOf(after, "after:")
    if seconds < 0 then throw("invalid", "after: takes no negative duration") end
    return nil, seconds
  end
  if at == nil then return nil, 0 end
  if type(at) ~= "table" or not at.timeIntervalSince1970 then
    throw("typeError", "at: expects a Date, got " .. K.nameOf(at), { i_hint = "a duration belongs to `after:`" })
  end
  return at:timeIntervalSince1970(), 0
end

-- Answers the id of the job; nil where one of the same unique key is not done yet.
local function post(self, value, after, at, unique)
  local moment, delay = whenOf(after, at)
  if unique ~= nil then
    unique = K.expectText(unique, "unique:")
    if #unique > LONGEST_KEY then throw("tooLarge", "a unique key has at most " .. LONGEST_KEY .. " bytes") end
  end
  if value == nil then value = K.NULL end
  local rows = own.post(self._jobs, self.i_name, { value }, moment, delay, unique)
  return rows[1] and rows[1]:at_("id")
end

local function count(state)
  return function(self) return own.run(self._jobs, "count", self.i_name, state)[1]:at_("count") end
end

local function dead(self)
  return own.run(self._jobs, "dead", self.i_name, MOST_SHOWN):collect_(function(row) return own.jobOf(self, row) end)
end

-- Puts dead jobs back to the waiting ones.
local function retry(queue, list)
  local ok, fault = K.try(function() return own.run(queue._jobs, "retry", queue.i_name, own.idsOf(list)) end)
  if not ok then
    if K.str(fault.i_kind) ~= "conflict" then error(fault, 0) end
    throw("conflict", "a job with the same unique key waits already", { i_hint = "delete the dead one" })
  end
  K.afterTransaction("job " .. queue.i_name, function() native.wake(queue.i_name) end)
  return fault
end

local function remove(queue, list) return own.run(queue._jobs, "remove", queue.i_name, own.idsOf(list)) end

K.methods(Queue, {
  --- -<Number> post:<any>value
  --- Posts a job for a worker, and answers its id. The value is anything that JSON has, of at most 65,536 bytes. In a
  --- transaction the post is part of it.
  --- > { :mail | mail post: #{ to: 'ann@example.org' } }
  ["post:"] = function(self, value) return post(self, value) end,
  --- -<Number> post:<any>value after:<Duration>delay
  --- Posts a job that runs after a delay, and answers its id; a number counts seconds. A negative delay is an error.
  --- > { :mail | mail post: 7 after: 5 minutes }
  ["post:after:"] = function(self, value, after) return post(self, value, after) end,
  --- -<Number> post:<any>value at:<Date>moment
  --- Posts a job that runs at a moment, and answers its id. A moment that has passed runs it at once.
  --- > { :mail | mail post: 7 at: 1 hour fromNow }
  ["post:at:"] = function(self, value, at) return post(self, value, nil, at) end,
  --- -<Number?> post:<any>value unique:<String>key
  --- Posts a job unless one with the same key waits or runs in the queue: then the answer is nil. A key has at most 200
  --- bytes.
  --- > { :mail | mail post: #{ to: 'ann@example.org' } unique: 'welcome-7' }
  ["post:unique:"] = function(self, value, key) return post(self, value, nil, nil, key) end,
  --- -<Number?> post:<any>value after:<Duration>delay unique:<String>key
  --- Posts a job after a delay, as `post:after:`, unless one with the same key waits or runs: then the answer is nil.
  --- > { :mail | mail post: 7 after: 1 hour unique: 'reminder-8' }
  ["post:after:unique:"] = function(self, value, after, key) return post(self, value, after, nil, key) end,
  --- -<Number?> post:<any>value at:<Date>moment unique:<String>key
  --- Posts a job for a moment, as `post:at:`, unless one with the same key waits or runs: then the answer is nil.
  --- > { :mail | mail post: 7 at: 1 hour fromNow unique: 'reminder-8' }
  ["post:at:unique:"] = function(self, value, at, key) return post(self, value, nil, at, key) end,
  --- -<Number> postAll:<any>values
  --- Posts a job for each of at most 10,000 elements, in one statement, and answers how many.
  --- > scheme:jobs := #Jobs{ database: ref:sqlite::memory: }. jobs:b postAll: [ 1, 2, 3 ] ⇒ 3
  ["postAll:"] = function(self, values)
    local list = K.elementsOf(values, "postAll:")
    if #list > MOST_POSTED then
      throw("tooLarge", string.format("postAll: takes at most %d jobs, not %d", MOST_POSTED, #list),
        { i_hint = "post them in parts" })
    end
    return #list == 0 and 0 or #own.post(self._jobs, self.i_name, list)
  end,
  --- -<Number> waiting
  --- How many jobs wait: those for later, too.
  --- > scheme:jobs := #Jobs{ database: ref:sqlite::memory: }. jobs:c post: 7. jobs:c waiting ⇒ 1
  ["waiting"] = count("waiting"),
  --- -<Number> running
  --- How many jobs run, in all processes.
  --- > { :mail | mail running }
  ["running"] = count("running"),
  --- -<Array> dead
  --- The jobs that failed in all of their attempts, the newest 1,000, each a QueuedJob.
  --- > scheme:jobs := #Jobs{ database: ref:sqlite::memory: }. jobs:d dead ⇒ []
  ["dead"] = dead,
  --- -<Number> retryDead
  --- Puts dead jobs, at most the newest 1,000, back to the waiting ones, with attempts from 1, and answers how many. A
  --- conflict where one with the same unique key waits.
  --- > { :mail | mail retryDead }
  ["retryDead"] = function(self) return retry(self, dead(self)) end,
  --- -<Number> deleteDead
  --- Deletes dead jobs, at most the newest 1,000, and answers how many.
  --- > { :mail | mail deleteDead }
  ["deleteDead"] = function(self) return remove(self, dead(self)) end,
  --- -<QueuedJob?> at:<Number>id
  --- The job of an id: waiting, running or dead; nil when it is done.
  --- > scheme:jobs := #Jobs{ database: ref:sqlite::memory: }. (jobs:e at: (jobs:e post: 7)) value ⇒ 7
  ["at:"] = function(self, id)
    local row = own.run(self._jobs, "find", self.i_name, id)[1]
    return row and own.jobOf(self, row)
  end,
  --- As in Object.
  ["stringValue"] = function(self) return "queue " .. self.i_name end,
  --- As in Object.
  ["description"] = function(self) return "queue " .. self.i_name end,
})

K.methods(Job, {
  --- -<String> queue
  --- The name of the job's queue.
  --- > { :job | job queue }
  ["queue"] = function(self) return self._queue.i_name end,
  --- -<Date> posted
  --- When the job was posted, by the clock of the database.
  --- > { :job | job posted }
  ["posted"] = function(self) return K.date(self._posted) end,
  --- -<Boolean> retry
  --- Puts a dead job back to the waiting ones, with attempts from 1. False where it is not dead.
  --- > { :queue | (queue at: 7) retry }
  ["retry"] = function(self) return retry(self._queue, { self }) > 0 end,
  --- -<Boolean> delete
  --- Deletes a job that does not run. False where it runs or is done.
  --- > scheme:jobs := #Jobs{ database: ref:sqlite::memory: }. (jobs:f at: (jobs:f post: 7)) delete ⇒ true
  ["delete"] = function(self) return remove(self._queue, { self }) > 0 end,
  --- -<any> complete:<Block()>block
  --- Runs the block in a transaction that also ends the job, and answers its value. For workers with `transaction:
  --- false`; in other workers, and a second time, an error.
  --- > { :order :job | job complete: { ref:sqlite:shop.db run: 'update stock set n = n - 1' } }
  ["complete:"] = function(self, block)
    K.expectBlock(block, "complete:")
    if self._isFinished then throw("invalid", "this job is complete already") end
    if self._isTogether then
      throw("invalid", "this job is in a transaction already",
        { i_hint = "`complete:` is for workers with `transaction: false`" })
    end
    local jobs = self._queue._jobs
    local value = K.transaction(jobs.i_database, function()
      local value = block()
      own.finish(jobs, { self }, 1)
      return value
    end)
    self._isFinished = true
    return value
  end,
  --- As in Object.
  ["description"] = function(self) return string.format("job %d of %s", self.i_id, self._queue.i_name) end,
  --- As in Object.
  ["stringValue"] = function(self) return self:description() end,
})

-- Deletes the first jobs of a list, which are done; an error where they are another worker's by now.
function own.finish(jobs, list, last)
  local changed = own.run(jobs, "finish", jobs._owner, own.idsOf(list, 1, last))
  if changed ~= last then
    throw("lostLease", "the lease of the job has ended, and another worker runs it",
      { i_hint = "give the Jobs a longer `lease:`", _temporary = true })
  end
end
