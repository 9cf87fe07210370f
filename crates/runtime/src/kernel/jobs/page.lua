-- The page of the admin port about jobs: the queues, and the jobs of a queue that failed, with buttons. It never shows
-- what is in a job.
local K = ...
local native, own = K.native, K.jobsOwn

-- Failed jobs of a page.
local MOST_ROWS = 100

--- The page of the admin port about queues and failed jobs.
local Page = K.newClass("JobsPage", K.classes.Store)
K.nilKeys._pageOf, K.nilKeys._page = true, true

local function view(name, model)
  model[#model + 1] = "style"
  model[#model + 1] = K.storeGet(K.schemeNamed("std"), "design.css")
  return K.standard("jobs.st")._views:at_(name)(K.recordOf(model))
end

local function timeOf(seconds) return K.date(math.floor(seconds)):stringValue() end

-- `in 5 min`, or `now` for what is due.
local function nextOf(delay)
  if type(delay) ~= "number" then return "" end
  return delay <= 0 and "now" or "in " .. K.duration(math.ceil(delay)):stringValue()
end

local function queues(jobs)
  local list, rows = {}, own.run(jobs, "counts")
  local last
  for i = 1, #rows do
    local row = rows[i]
    local queue, state = row:at_("queue"), row:at_("state")
    if not last or last.queue ~= queue then
      last = { queue = queue, waiting = 0, running = 0, dead = 0, next = "" }
      list[#list + 1] = last
    end
    last[state] = row:at_("count")
    if state == "waiting" then last.next = nextOf(row:at_("delay")) end
  end
  for i, one in ipairs(list) do
    list[i] = K.recordOf { "queue", one.queue, "waiting", one.waiting, "next", one.next, "running", one.running, "dead", one.dead }
  end
  return view("queues", { "rows", K.array(list, #list) })
end

local function queue(jobs, name)
  local list, rows = {}, own.run(jobs, "failed", name, MOST_ROWS)
  for i = 1, #rows do
    local row = rows[i]
    list[i] = K.recordOf {
      "id", row:at_("id"), "state", row:at_("state"), "attempts", row:at_("attempts"),
      "posted", timeOf(row:at_("posted")), "due", timeOf(row:at_("due")), "error", row:at_("error"),
    }
  end
  return view("queue", { "queue", name, "rows", K.array(list, #list) })
end

K.methods(Page, {
  --- As in Store.
  ["at:"] = function(self)
    local name = native.exchange("query", "queue")
    if name == nil then return queues(self._pageOf) end
    return queue(self._pageOf, K.queueOf(self._pageOf, name).i_name)
  end,
  --- As in Store.
  ["at:post:"] = function(self)
    local named = K.queueOf(self._pageOf, native.exchange("query", "queue") or "")
    for _, what in ipairs { "retry", "delete" } do
      local id = tonumber(native.exchange("query", what) or "")
      -- A job that is gone needs no button.
      local job = id and named:at_(id)
      if job then job[what](job) end
    end
    native.respond("status", 303)
    native.respond("location", "?queue=" .. named.i_name)
    return nil
  end,
})

-- Adds the page to the admin ports of the program, once for each store of jobs.
K.method(K.classes.Jobs, "_showPage", function(jobs)
  if jobs._page then return end
  jobs._page = Page:new()
  jobs._page._pageOf = jobs
  native.adminPage("Jobs", jobs._page)
end)
