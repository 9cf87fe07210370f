-- Connections: `a → b`. What joins is found from the two ends: a stream writes to a target, a
-- combinator or a server gets a source, a reference is written to.
local K = ...
local type, rawget, setmetatable = type, rawget, setmetatable
local throw = K.throw
local classes = K.classes

-- A class stands for an instance of it, a block for a filter that maps.
local function component(thing)
  if type(thing) == "function" then return classes.MapFilter:filterWithBlock_(thing) end
  if K.isClass(thing) then
    if K.isSubclass(thing, classes.Store) then return thing:store() end
    if K.isSubclass(thing, classes.WriteStream) then return thing:stream() end
    return thing:new()
  end
  return thing
end

local function is(thing, name)
  return type(thing) == "table" and classes[name] ~= nil and K.isKind(thing, classes[name])
end

-- What each end can do. `role` is nil when it can do nothing.
local function outgoing(thing)
  if type(thing) ~= "table" then return type(thing) == "string" and "elements" or nil end
  if thing._isServer then return "server" end
  if thing._isReference then return "reference" end
  if thing._isStore then return thing:respondsToSelector_("setSource:") and "combinator" or nil end
  if is(thing, "Filter") then return "stream" end
  if is(thing, "Array") or is(thing, "Interval") or is(thing, "Enumerator") or is(thing, "Set") then return "elements" end
  if is(thing, "Rows") then return "elements" end
  if thing:respondsToSelector_("setTarget:") then return "stream" end
  return nil
end

local function storage(thing)
  return type(thing) == "table" and (thing._isStore or is(thing, "Dictionary") or K.hasPath(thing))
end

local function streaming(thing)
  return type(thing) == "table" and not storage(thing)
    and (thing._isReference or thing:respondsToSelector_("writeObject:"))
end

local function lastOf(stream)
  local at, steps = stream, 0
  while steps < 10000 do
    local target = at.target and at:target()
    if target == nil or not is(target, "Filter") then return at end
    at, steps = target, steps + 1
  end
  return at
end

local function write(elements, target)
  elements:do_(function(element) target:writeObject_(element) end)
end

function K.connect(source, target)
  local left, right = component(source), component(target)
  if type(left) == "table" and left.connect_ and left:respondsToSelector_("connect:") then
    local result = left:connect_(right)
    if result ~= nil then return result end
  end
  local role = outgoing(left)
  if role == "server" and (storage(right) or (type(right) == "table" and right._isReference)) then
    left:setScheme_(right)
    return left
  end
  if role == "combinator" and (storage(right) or (type(right) == "table" and right._isReference)) then
    left:setSource_(right)
    return left
  end
  -- `store → server`, as older scripts wrote it.
  if storage(left) and type(right) == "table" and right._isServer then
    right:setScheme_(left)
    return left
  end
  if role == "stream" and streaming(right) then
    lastOf(left):setTarget_(right)
    return left
  end
  if role == "reference" and streaming(right) then
    local value = left:value()
    if type(value) == "table" and outgoing(value) == "elements" then
      write(value, right)
    elseif value ~= nil then
      right:writeObject_(value)
    end
    return left
  end
  if role == "elements" and streaming(right) then
    -- A text is one thing, not a row of characters.
    if type(left) == "string" then right:writeObject_(left) else write(left, right) end
    return left
  end
  if role == "elements" and storage(right) then
    write(left, right)
    return left
  end
  throw("notConnected", string.format("%s and %s do not connect", K.nameOf(left), K.nameOf(right)),
    { i_hint = "the left side must give something that the right side can take" })
end
