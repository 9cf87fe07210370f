-- The ends of constraints: how one is read and written, by the shortest way that the kind of its
-- reference allows, and whether it is telling its observers just now.
local K = ...
local type, rawget, rawequal = type, rawget, rawequal
local variables, variableHubs = K.variables, K.variableHubs

local isTelling = K.isTelling

local function never() return false end

local function isVariable(reference)
  local scheme = reference._scheme
  return (scheme == "var" or scheme == "default") and rawget(reference, "_store") == nil and not K.defaultStore
end

-- A variable of the script.
local function variableAccess(name)
  return function() return variables[name] end, function(value) variables[name] = value end, function()
    return isTelling(variableHubs[name])
  end
end

-- Copies a value to a variable of the script, unless that is where the change began.
function K.copier(name)
  return function(value)
    local hub = variableHubs[name]
    if hub and (rawequal(hub._last, value) or hub._fiber and isTelling(hub)) then return end
    variables[name] = value
  end
end

local function localIsTelling(cell)
  return function() return isTelling(cell()) end
end

-- The one step from an object or a dictionary.
local function stepIsTelling(object, name)
  local key = K.ivarKey(K.str(name))
  return function()
    local own = rawget(object, "_hubs")
    local hub = own and own[key]
    if not hub then
      own = rawget(object, "_entryHubs")
      hub = own and own.entries[name]
    end
    return isTelling(hub)
  end
end

-- Answers what reads, what writes, what says whether this fiber is telling the end's observers, and
-- whether neither can wait or fail; the name of a variable of the script.
function K.accessOf(reference)
  local get, object = rawget(reference, "_get"), rawget(reference, "_object")
  if not get and isVariable(reference) and not string.find(reference._path, "/", 1, true) then
    local read, write, tells = variableAccess(reference._path)
    return read, write, tells, true, reference._path
  end
  local function write(value) reference:setValue_(value) end
  local cell = rawget(reference, "_cell")
  if cell and not string.find(reference._path, "/", 1, true) then
    return get, rawget(reference, "_set"), localIsTelling(cell), true
  end
  local tells = never
  if type(object) == "table" and not string.find(reference._path, "/", 1, true) then
    tells = stepIsTelling(object, rawget(reference, "_key") or reference._path)
  elseif not get and not isVariable(reference) and not rawget(reference, "_observe") then
    local store, path = reference:store(), reference._path
    tells = function() return K.isStoreTelling(store, path) end
  end
  return get or function() return reference:value() end, write, tells
end
