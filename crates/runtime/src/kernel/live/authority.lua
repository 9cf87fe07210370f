-- Authority: the session and the guards for which a view or a WebSocket was opened.
--
-- Both outlive their request, and the right to them may end before they do: by a log-out, a new password, a
-- deleted user, a changed role. So an event, a resume and a flush ask again, all of them here. Guards are asked by
-- running the handler up to the last guard that it passed: whatever a guard reads is read again.
local K = ...
local try, native = K.try, K.native
local running = coroutine.running

-- Seconds for which an answer counts, between two questions about an unused one, and between two looks whether a
-- connection that nothing can end is still open.
local FRESH, TICK, LOOK = 1, 0.45, 20

-- Fibers that count the guards they pass; those with a limit end at that guard.
local counting, active = setmetatable({}, { __mode = "k" }), 0
local PASSED = {}

-- A handler has passed a guard.
function K.passGuard()
  local state = active > 0 and counting[running() or 1]
  if state then
    state.count = state.count + 1
    if state.count == state.limit then error(PASSED, 0) end
  end
end

-- Requests whose guards in front are asked again, by fibers of their own.
local asking = 0

-- Whether the present fiber asks again: that is not a use of the session.
function K.isAskedAgain()
  if active == 0 then return false end
  local state = counting[running() or 1]
  return state and state.limit ~= nil or asking > 0 and native.exchange("outlived", "") ~= nil
end

-- Whether it asks for a page or a WebSocket that is only open: a user counts for a moment then.
function K.isOfOpenPage()
  if not K.isAskedAgain() then return false end
  local state = counting[running() or 1]
  return not (state and state.isOfRequest)
end

local function counted(limit, body, isOfRequest)
  local fiber, state = running() or 1, { count = 0, limit = limit, isOfRequest = isOfRequest }
  counting[fiber], active = state, active + 1
  local ok, value = try(body)
  counting[fiber], active = nil, active - 1
  return ok, value, state.count
end

-- What a request proves (accounts/visitor.lua); nil in a program without accounts.
function K.live.provenIdentity() return nil end
-- Tells it to what keeps the answer of a request.
function K.live.tellUsers() end

local Authority = {}
Authority.__index = Authority

-- Opens a page or a WebSocket: whether a path answered, its answer, and its authority; nil where nothing can end.
function K.openWithAuthority(object, path, reference)
  local found
  local function ask()
    local answer
    found, answer = K.tryPath(object, "get", path, nil, reference, false)
    return answer
  end
  local ok, answer, guards = counted(nil, ask)
  if not ok then error(answer, 0) end
  local identity, inFront = K.live.provenIdentity(), native.guardsInFront()
  if not identity and guards + inFront == 0 then return found, answer end
  return found, answer, setmetatable({
    identity = identity, guards = guards, inFront = inFront, ask = ask, asked = native.now(),
    revision = native.accountsRevision(false), mayEnd = guards + inFront > 0 or identity ~= nil and identity ~= "",
  }, Authority)
end

-- Asks each `#Guard` in front of the scheme.
local function asksInFront()
  asking, active = asking + 1, active + 1
  local ok, isAdmitted = try(native.askGuardsInFront)
  asking, active = asking - 1, active - 1
  return ok and isAdmitted
end

-- Whether the request being answered has this authority now.
function Authority:isProven()
  -- The limit of a number that is never reached: asking does not use the session.
  local ok, identity = counted(-1, function() return K.live.provenIdentity() end)
  if not ok or identity ~= self.identity then return false end
  if self.inFront > 0 and not asksInFront() then return false end
  if self.guards == 0 then return true end
  local _, raised = counted(self.guards, self.ask)
  return rawequal(raised, PASSED)
end

-- The same for the connection that has opened it, remembered for a second.
function Authority:holds()
  local now, revision = native.now(), native.accountsRevision(false)
  if not self.mayEnd or self.revision == revision and now < self.asked + FRESH then return true end
  if not self:isProven() then return false end
  self.asked, self.revision = now, revision
  return true
end

-- Whether a request may get the answer that is kept of an equal one: asks the guards that were passed then.
function K.readmit(object, verb, path, query, value, guards)
  local reference = K.requestReference(path, query)
  if guards > 0 then
    local function ask() return K.tryPath(object, verb, path, value, reference, false) end
    local ok, raised = counted(guards, ask, true)
    if not rawequal(raised, PASSED) then
      if not ok then error(raised, 0) end
      K.throw("denied", "the guards of this handler are others than those of its answer")
    end
  end
  counted(-1, K.live.tellUsers, true)
end

-- Waits for some seconds, or until `wake` is called.
local function newPause(seconds)
  local sleeper
  local pause = {}
  function pause.wait()
    sleeper = native.fork(function() native.sleep(seconds) end, nil, true)
    try(native.join, sleeper)
    sleeper = nil
  end
  function pause.wake()
    if sleeper then native.cancel(sleeper) end
  end
  return pause
end

-- Watches what a connection has opened, in a fiber with its request: `isOpen()`, `work()` while it has its authority, and
-- `expel()` once that has ended. Answers what wakes it for work.
function Authority:watch(isOpen, work, expel)
  local pause = newPause(self.mayEnd and TICK or LOOK)
  native.fork(function()
    while isOpen() do
      -- Asked each time: what was remembered for a second may have ended on another machine a second ago.
      if self.mayEnd and native.now() >= self.asked + TICK then self.asked = 0 end
      if not self:holds() then return expel() end
      if not work() then pause.wait() end
    end
  end, nil, false, true)
  return pause.wake
end
