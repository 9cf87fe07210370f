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

local Jobs = K.newClass("Jobs", K.classes.Store)
Jobs._plainName = true -- a program may have a class of this name
for _, name in ipairs { "database", "lease" } do K.ivar(Jobs, name) end
for _, key in ipairs { "_owner", "_queue", "_jobs", "_isFinished", "_isTogether" } do K.nilKeys[key] = true end
rawset(Jobs._methods, "i_lease", LEASE)

-- A queue: jobs of one name.
local Queue = K.newClass("JobQueue", K.classes.Object)
K.ivar(Queue, "name")

-- A job, as its worker sees it, and as it lies among the dead ones.
local Job = K.newClass("QueuedJob", K.classes.Object)
for _, name in ipairs { "id", "value", "attempt", "error" } do K.ivar(Job, name) end
own.Queue = Queue

function own.jobOf(queue, row)
  local reason, posted = row:at_("error"), row:at_("posted")
  local job = { i_id = row:at_("id"), i_attempt = row:at_("attempts"), _queue = queue, _posted = posted, _due = row:at_("due") }
  job.i_error = reason ~= K.NULL and reason or nil
  job.i_value = K.parseJSON(row:at_("payload"))
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
  ["setLease:"] = function(self, value)
    local seconds = take.seconds(value, "lease", self)
    if seconds < 1 or seconds > 3600 then throw("invalid", "`lease` of Jobs must lie from 1 second to 1 hour") end
    self.i_lease = seconds
  end,
  ["at:"] = function(self, reference) return K.queueOf(self, nameIn(reference)) end,
  ["at:put:"] = noPut,
  ["at:post:"] = function(self, reference, value) return K.queueOf(self, nameIn(reference)):post_(value) end,
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
  ["post:"] = function(self, value) return post(self, value) end,
  ["post:after:"] = function(self, value, after) return post(self, value, after) end,
  ["post:at:"] = function(self, value, at) return post(self, value, nil, at) end,
  ["post:unique:"] = function(self, value, key) return post(self, value, nil, nil, key) end,
  ["post:after:unique:"] = function(self, value, after, key) return post(self, value, after, nil, key) end,
  ["post:at:unique:"] = function(self, value, at, key) return post(self, value, nil, at, key) end,
  ["postAll:"] = function(self, values)
    local list = K.elementsOf(values, "postAll:")
    if #list > MOST_POSTED then
      throw("tooLarge", string.format("postAll: takes at most %d jobs, not %d", MOST_POSTED, #list),
        { i_hint = "post them in parts" })
    end
    return #list == 0 and 0 or #own.post(self._jobs, self.i_name, list)
  end,
  ["waiting"] = count("waiting"), ["running"] = count("running"),
  ["dead"] = dead,
  ["retryDead"] = function(self) return retry(self, dead(self)) end,
  ["deleteDead"] = function(self) return remove(self, dead(self)) end,
  ["at:"] = function(self, id)
    local row = own.run(self._jobs, "find", self.i_name, id)[1]
    return row and own.jobOf(self, row)
  end,
  ["stringValue"] = function(self) return "queue " .. self.i_name end,
  ["description"] = function(self) return "queue " .. self.i_name end,
})

K.methods(Job, {
  ["queue"] = function(self) return self._queue.i_name end,
  ["posted"] = function(self) return K.date(self._posted) end,
  ["retry"] = function(self) return retry(self._queue, { self }) > 0 end,
  ["delete"] = function(self) return remove(self._queue, { self }) > 0 end,
  -- What is written to the database of the jobs in the block is committed together with the end of the job.
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
  ["description"] = function(self) return string.format("job %d of %s", self.i_id, self._queue.i_name) end,
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
