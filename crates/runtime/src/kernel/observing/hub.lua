-- Observers of one place: a variable, a field of an object, an entry of a dictionary, a path of a
-- store. A hub exists while its place is observed.
--
-- `_list` of `_n` entries, of which `_count` are in use, `_last` the value that observers know,
-- `_name` for messages, `_ended` what is called after the last observer has ended; `_fiber` that is
-- telling the observers, `_depth` how often within itself.
--
-- Plain observers, `_plain`, only copy the value to another place: constraints between variables.
-- They neither wait nor fail, so a change floods all places that they join before other observers
-- are called.
local K = ...
local type, rawequal, xpcall, error, setmetatable = type, rawequal, xpcall, error, setmetatable
local running = coroutine.running
local handler, eq = K.handler, K.eq

function K.cannotObserve(name, why, hint)
  K.throw("unsupported", string.format("%s cannot tell of its changes: %s", name, why), { i_hint = hint })
end

local MOST_LEVELS = 64 -- changes of one place within each other
local Hub = {}
Hub.__index = Hub

function K.newHub(name, last, ended)
  return setmetatable({
    _list = {}, _n = 0, _plain = {}, _first = false, _count = 0, _fiber = false, _depth = 0, _name = name, _last = last, _ended = ended,
  }, Hub)
end

-- Whether two values are the same for observers. Objects of the program are the same only if they
-- are identical.
local function same(a, b)
  if rawequal(a, b) then return true end
  local kind = type(a)
  if kind == "number" then return a ~= a and b ~= b or type(b) == "table" and b._equalsPlain and eq(a, b) end
  if kind ~= "table" or type(b) ~= "table" or K.isClass(a) or K.isClass(b) then return false end
  if a._isArray or a._isDictionary or a._isBig or a._isText or a._isDate or a._isData or a._isDecimal
    or a._isDay or a._isTimeOfDay then return eq(a, b) end
  return false
end
K.sameValue = same

-- Entries that have ended leave the list: a new one, since the old one may be in use.
local function settle(hub)
  if hub._n <= 2 * (hub._count - #hub._plain) + 8 then return end
  local old, list, n = hub._list, {}, 0
  for i = 1, hub._n do
    local entry = old[i]
    if entry.hub then
      n = n + 1
      list[n] = entry
    end
  end
  hub._list, hub._n = list, n
end

local function report(hub, raised)
  K.reportError(string.format("error in an observer of %s: ", K.str(hub._name)), raised)
end

-- Apart from `tell`, because it ends a chain of changes that would never end by itself.
local function endless(hub)
  report(hub, K.newError("recursion", string.format("more than %d changes within each other", MOST_LEVELS)))
end

-- Calls what observes the place under protection: an error belongs to the observer, not to the write.
local function call(hub, entry)
  local ok, raised = xpcall(entry.update, handler)
  if ok then return true end
  raised = K.asRaised(raised)
  if not K.catchable(raised) then return false, raised end
  report(hub, raised)
  return true
end

-- Calls the observers that may wait or fail. An observer that is added meanwhile is not called.
local function callOthers(hub)
  local fiber, outer, depth = running() or 0, hub._fiber, 1
  if outer == fiber then
    depth = hub._depth + 1
    if depth > MOST_LEVELS then return endless(hub) end
  end
  hub._fiber, hub._depth = fiber, depth
  local list = hub._list
  local failed
  for i = 1, hub._n do
    local entry = list[i]
    if entry.hub then
      local ok, raised = call(hub, entry)
      if not ok then
        failed = raised
        break
      end
    end
  end
  hub._fiber, hub._depth = outer, depth - 1
  if failed then error(failed, 0) end
end

-- The places that a change has reached, in order; none outside of `flood`.
local wave, size = {}, 0

-- Apart from `flood`, for LuaJIT: most places have one plain observer, and a loop would end its trace.
local function rest(hub)
  local plain = hub._plain
  for i = 2, #plain do
    local entry = plain[i]
    if entry then entry.update() end
  end
end

local function flood()
  local at, others = 1, false
  repeat
    local hub = wave[at]
    local first = hub._first
    if first then
      first()
      if hub._plain[2] then rest(hub) end
    end
    if hub._n > 0 then others = true end
    at = at + 1
  until at > size
  return others
end

-- The other observers of all places that a change has reached. Each place counts as telling until
-- all are through: what they change does not come back.
local function callAll(reached)
  local fiber, outer = running() or 0, {}
  for i = 1, #reached do
    outer[i] = reached[i]._fiber
    reached[i]._fiber, reached[i]._depth = fiber, outer[i] == fiber and reached[i]._depth or 0
  end
  local ok, raised = true, nil
  for i = 1, #reached do
    if ok then ok, raised = xpcall(callOthers, handler, reached[i]) end
  end
  for i = 1, #reached do reached[i]._fiber = outer[i] end
  if not ok then error(raised, 0) end
end

-- Calls what observes the place.
local function tell(hub)
  if size > 0 then
    size = size + 1
    wave[size] = hub
    return
  end
  if not hub._first then return callOthers(hub) end
  size, wave[1] = 1, hub
  local ok, others = xpcall(flood, handler)
  local reached = wave
  if others or size > 64 then wave = {} end
  size = 0
  if not ok then error(others, 0) end
  if others then callAll(reached) end
end
Hub.tell = tell

-- Whether this fiber is telling the observers of a place.
function K.isTelling(hub)
  local fiber = hub and hub._fiber
  return fiber and fiber == (running() or 0) or false
end

-- An equal value took the place of the last one: observers of what is inside look there from now on.
local function replaced(hub)
  for _, entry in ipairs(hub._plain) do
    if entry.moved then entry.moved() end
  end
  local list = hub._list
  for i = 1, hub._n do
    local entry = list[i]
    if entry.hub and entry.moved then entry.moved() end
  end
end

-- The place has this value now.
function Hub.changed(hub, value)
  local last = hub._last
  if rawequal(last, value) then return end
  hub._last = value
  if type(value) == "table" and same(last, value) or value ~= value and last ~= last then return replaced(hub) end
  tell(hub)
end

-- `update` is called after a change, `moved` after an equal value took the place of the last one.
function Hub.add(hub, update, moved, isPlain)
  local entry = { update = update, moved = moved, hub = hub, isPlain = isPlain or false }
  hub._count = hub._count + 1
  if isPlain then
    hub._plain[#hub._plain + 1] = entry
    hub._first = hub._plain[1].update
  else
    local n = hub._n + 1
    hub._n, hub._list[n] = n, entry
  end
  return entry
end

local function removePlain(hub, ended)
  local plain = {}
  for _, entry in ipairs(hub._plain) do
    if entry ~= ended then plain[#plain + 1] = entry end
  end
  hub._plain = plain
  hub._first = plain[1] and plain[1].update or false
end

-- Ends one observer.
function K.unobserve(entry)
  local hub = entry.hub
  if not hub then return end
  entry.hub = nil
  hub._count = hub._count - 1
  if entry.isPlain then removePlain(hub, entry) end
  if hub._count == 0 and hub._ended then
    local ended = hub._ended
    hub._ended = nil
    ended(hub)
  else
    settle(hub)
  end
end
