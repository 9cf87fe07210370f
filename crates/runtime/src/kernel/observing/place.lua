-- Paths from a value, `object/property/…`: what their last step names is observed, and each step on
-- the way, since a new value there has other parts.
local K = ...
local type, rawget, rawequal, error, setmetatable = type, rawget, rawequal, error, setmetatable

function K.pathParts(path)
  local parts = {}
  for part in string.gmatch(path, "[^/]+") do parts[#parts + 1] = K.decodeSegment(part) end
  return parts
end

-- What a place holds may be a collection: its own changes are changes of the place.
local Inside = {}
Inside.__index = Inside

local function isCollection(value)
  return type(value) == "table" and not K.isClass(value) and (value._isArray or value._isDictionary or value._isSet)
end

function K.newInside(update) return setmetatable({ update = update }, Inside) end

-- The place holds this value now.
function Inside.enter(inside, value)
  if rawequal(value, inside.value) then return end
  if inside.entry then K.unobserve(inside.entry) end
  inside.entry, inside.value = nil, nil
  if isCollection(value) then
    inside.entry, inside.value = K.collectionHub(value):add(function() return inside.update(value) end), value
  end
end

function Inside.leave(inside) inside:enter(nil) end

-- Observes one step of a path: answers an entry that `K.unobserve` ends or a function that ends it,
-- and whether that covers the rest of the path.
local function observeStep(chain, at, holder, update, moved)
  local name = chain.parts[at]
  if type(holder) == "table" and not K.isClass(holder) then
    if K.isDictionaryView(holder) then holder = holder.i_dictionary end
    -- A message to a collection computes something of its elements.
    if chain.isPartial and isCollection(holder) then return nil, true end
    if holder._isDictionary then return K.entryHub(holder, name):add(update, moved) end
    if holder._isStore then
      return K.observeStore(holder, table.concat(chain.parts, "/", at), nil, update), true
    end
    if holder._isControl and name == "value" then
      local reference = holder:valueReference()
      return reference._observe(reference, update)
    end
    if K.hasVariable(K.classOf(holder), name) then return K.fieldHub(holder, name):add(update, moved) end
    local hub = holder._isArray and K.entryHub(holder, name)
    if hub then return hub:add(update, moved) end
  end
  -- What an expression computes of it changes with it.
  if chain.isPartial then return nil, true end
  K.cannotObserve(chain.name, string.format("`%s` of %s is computed", K.str(name), K.nameOf(holder)),
    "observe what it is computed from")
end

local function stop(observation)
  if type(observation) == "function" then return observation() end
  if observation then K.unobserve(observation) end
end

local function valueOf(holder, name)
  if holder == nil then return nil end
  if type(holder) == "table" and not K.isClass(holder) and holder._isStore then return nil end
  return K.property(holder, name)
end

K.nilKeys._isControl = true

local Chain = {}
Chain.__index = Chain

-- Observes the path from a step on.
local function follow(chain, from)
  local values, last = chain.values, #chain.parts
  chain.covered = false
  for at = from, last do
    local holder = values[at - 1]
    if holder == nil then
      values[at] = nil
    else
      local function moved() chain:moved(at) end
      chain.observations[at], chain.covered = observeStep(chain, at, holder, moved, moved)
      if chain.covered then return chain.inside:enter(holder) end
      values[at] = valueOf(holder, chain.parts[at])
    end
  end
  chain.inside:enter(values[last])
end

local function unfollow(chain, from)
  for at = from, #chain.parts do
    stop(chain.observations[at])
    chain.observations[at], chain.values[at] = nil, nil
  end
end

-- A step has another value; perhaps what the path ends with is the same.
function Chain.moved(chain, at)
  if chain.ended then return end
  local values, last = chain.values, #chain.parts
  local before, covered = values[last], chain.covered
  if at > 0 then values[at] = valueOf(values[at - 1], chain.parts[at]) end
  if at < last then
    unfollow(chain, at + 1)
    follow(chain, at + 1)
  else
    chain.inside:enter(values[last])
  end
  if not covered and not chain.covered and K.sameValue(before, values[last]) then return end
  chain.update(not chain.covered and values[last] or nil)
end

-- Observes a path from a value. `base` is the hub of the variable that holds the value, with
-- `read` to read it; without one the value stays. `isPartial` ends the path where something is computed.
function K.observePath(value, parts, update, name, base, read, isPartial)
  local chain = setmetatable({ parts = parts, name = name, values = {}, observations = {}, update = update }, Chain)
  chain.isPartial = isPartial
  chain.inside = K.newInside(update)
  chain.values[0] = value
  local ok, raised = K.try(follow, chain, 1)
  if not ok then
    unfollow(chain, 1)
    error(raised, 0)
  end
  local function moved()
    chain.values[0] = read()
    chain:moved(0)
  end
  local entry = base and base:add(moved, moved)
  return function()
    if chain.ended then return end
    chain.ended = true
    unfollow(chain, 1)
    chain.inside:leave()
    stop(entry)
  end
end
