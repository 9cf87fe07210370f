-- Observers of one place: a variable, a field of an object, an entry of a dictionary, a path of a
-- store. A hub exists while its place is observed.
--
-- `_n` entries, of which `_count` are in use (an ended one is false until the list is compacted),
-- `_telling` how deep it is telling its observers, `_last` the value that they know, `_name` for
-- messages, `_ended` what is called after the last observer has ended.
local K = ...
local type, rawequal, xpcall, error, setmetatable = type, rawequal, xpcall, error, setmetatable
local handler, eq = K.handler, K.eq


function K.cannotObserve(name, why, hint)
  K.throw("unsupported", string.format("%s cannot tell of its changes: %s", name, why), { i_hint = hint })
end

local MOST_LEVELS = 64 -- changes of one place within each other
local Hub = {}
Hub.__index = Hub

function K.newHub(name, last, ended)
  return setmetatable({ _n = 0, _count = 0, _telling = 0, _name = name, _last = last, _ended = ended }, Hub)
end

-- Whether two values are the same for observers. Objects of the program are the same only if they
-- are identical.
local function same(a, b)
  if rawequal(a, b) then return true end
  local kind = type(a)
  if kind == "number" then return a ~= a and b ~= b or type(b) == "table" and b._isBig and eq(a, b) end
  if kind ~= "table" or type(b) ~= "table" or K.isClass(a) or K.isClass(b) then return false end
  if a._isArray or a._isDictionary or a._isBig or a._isText or a._isDate or a._isData then return eq(a, b) end
  return false
end
K.sameValue = same

local function compact(hub)
  local n = 0
  for i = 1, hub._n do
    local entry = hub[i]
    hub[i] = nil
    if entry then
      n = n + 1
      hub[n], entry.at = entry, n
    end
  end
  hub._n = n
end

local function settle(hub)
  if hub._telling == 0 and hub._n > 2 * hub._count + 8 then compact(hub) end
end

local function report(hub, raised)
  K.reportError(string.format("error in an observer of %s: ", K.str(hub._name)), raised)
end

local function failed(hub, raised)
  raised = K.asRaised(raised)
  if K.catchable(raised) then return report(hub, raised) end
  hub._telling = hub._telling - 1
  error(raised, 0)
end

-- Apart from `tell`, because it ends a chain of changes that would never end by itself.
local function endless(hub)
  if hub._endless then return end
  hub._endless = true
  report(hub, K.newError("recursion", string.format("more than %d changes within each other", MOST_LEVELS)))
end

-- Runs what observes the place. An observer that is added meanwhile is not told.
local function tell(hub)
  local telling = hub._telling
  if telling >= MOST_LEVELS then return endless(hub) end
  hub._telling = telling + 1
  local n = hub._n
  if n == 1 then
    -- Without a loop, so that a chain of changes is compiled as one trace.
    local entry = hub[1]
    if entry then
      local ok, raised = xpcall(entry.update, handler)
      if not ok then failed(hub, raised) end
    end
  else
    for i = 1, n do
      local entry = hub[i]
      if entry then
        local ok, raised = xpcall(entry.update, handler)
        if not ok then failed(hub, raised) end
      end
    end
  end
  telling = hub._telling - 1
  hub._telling = telling
  if telling == 0 then
    hub._endless = nil
    if hub._n > hub._count then settle(hub) end
  end
end
Hub.tell = tell

-- An equal value took the place of the last one: observers of what is inside look there from now on.
local function replaced(hub)
  for i = 1, hub._n do
    local entry = hub[i]
    if entry and entry.moved then entry.moved() end
  end
end

-- The place has this value now.
function Hub.changed(hub, value)
  local last = hub._last
  if rawequal(last, value) then return end
  hub._last = value
  if type(value) ~= "string" and same(last, value) then return replaced(hub) end
  tell(hub)
end

-- `update` is called after a change, `moved` after an equal value took the place of the last one.
function Hub.add(hub, update, moved)
  local n = hub._n + 1
  local entry = { update = update, moved = moved, at = n, hub = hub }
  hub._n, hub._count, hub[n] = n, hub._count + 1, entry
  return entry
end

-- Ends one observer.
function K.unobserve(entry)
  local hub = entry.hub
  if not hub then return end
  entry.hub = nil
  hub[entry.at] = false
  hub._count = hub._count - 1
  if hub._count == 0 and hub._ended then
    local ended = hub._ended
    hub._ended = nil
    ended(hub)
  else
    settle(hub)
  end
end
