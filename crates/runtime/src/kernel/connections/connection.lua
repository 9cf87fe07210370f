-- A connection: what `a → b` answers. It forwards what it does not know to its sending end, so a
-- pipeline that was joined by an arrow can be written to, and it can stand on the left again.
local K = ...
local type, rawget, setmetatable = type, rawget, setmetatable
local Object = K.classes.Object

for _, key in ipairs { "_links", "_undo", "_linked", "_sink", "_number", "_link" } do K.nilKeys[key] = true end

local Connection = K.newClass("Connection", Object)
for _, name in ipairs { "MPWConnection", "STConnection" } do K.alias(name, Connection) end
Connection._plainName = true -- a program may have a class of this name
K.method(Connection, "_isConnection", true)

-- Sending ends that have connections, for drawings. Weak: a connection lives as long as its ends.
local senders = setmetatable({}, { __mode = "k" })
local made = 0

-- `undo()` ends the connection; `linked()` says whether it still stands.
function K.newConnection(source, target, connector)
  made = made + 1
  return setmetatable({
    _source = source, _target = target, _connector = connector, _number = made,
    _isStream = type(source) == "table" and source._isStream or false,
  }, Connection._methods)
end

-- The connection stands: `holder` is what keeps it.
function K.linkConnection(connection, holder, undo, linked)
  connection._undo, connection._linked, connection._holder = undo, linked or false, holder
  local links = rawget(holder, "_links")
  if not links then
    links = {}
    holder._links = links
  end
  links[connection] = true
  senders[holder] = true
  return connection
end
K.nilKeys._holder = true

local function isConnected(self)
  if not self._undo then return false end
  local linked = self._linked
  return not linked or linked()
end

local function disconnect(self)
  local undo, holder = self._undo, self._holder
  if not undo then return self end
  local stands = isConnected(self)
  self._undo, self._linked, self._holder = nil, nil, nil
  local links = rawget(holder, "_links")
  if links then
    links[self] = nil
    if next(links) == nil then
      holder._links = nil
      senders[holder] = nil
    end
  end
  if stands then undo() end
  return self
end
K.disconnect = disconnect

-- The end that sends, for what needs the thing itself.
function K.sendingEnd(thing)
  while type(thing) == "table" and not K.isClass(thing) and thing._isConnection do thing = thing._source end
  return thing
end

-- All that stand, in the order in which they were made.
function K.connections()
  local list = {}
  for holder in pairs(senders) do
    for connection in pairs(rawget(holder, "_links") or {}) do
      if isConnected(connection) then list[#list + 1] = connection end
    end
  end
  table.sort(list, function(a, b) return a._number < b._number end)
  return list
end

local methods = {
  ["source"] = function(self) return self._source end,
  ["target"] = function(self) return self._target end,
  ["connector"] = function(self) return self._connector end,
  ["isConnected"] = isConnected,
  ["disconnect"] = disconnect,
  ["description"] = function(self)
    return K.endName(self._source) .. " → " .. K.endName(self._target)
  end,
  ["stringValue"] = function(self) return self:description() end,
  ["ports"] = function(self) return self._source:ports() end,
  ["portFor:"] = function(self, selector) return self._source:portFor_(selector) end,
  ["actionFor:"] = function(self, selector) return self._source:actionFor_(selector) end,
  ["isStream"] = function(self) return self._isStream end,
  ["writeObject:"] = function(self, object)
    local source = self._source
    return source:writeObject_(object)
  end,
  ["doesNotUnderstand:"] = function(self, message)
    local source, list = self._source, message:arguments()
    local _, count = string.gsub(message.i_selector, ":", "")
    local arguments = {}
    for i = 1, count do
      local value = list[i]
      if value ~= K.NULL then arguments[i] = value end
    end
    return source[message._selectorName](source, unpack(arguments, 1, count))
  end,
  ["respondsTo:"] = function(self, selector)
    return Object._methods.respondsTo_(self, selector) or self._source:respondsTo_(selector)
  end,
  ["isKindOf:"] = function(self, class)
    return K.isKind(self, class) or K.isKind(self._source, class)
  end,
}
methods["respondsToSelector:"], methods["isKindOfClass:"] = methods["respondsTo:"], methods["isKindOf:"]
K.methods(Connection, methods)
