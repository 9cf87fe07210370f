-- A connection: what `a → b` answers. It forwards what it does not know to its sending end, so a
-- pipeline that was joined by an arrow can be written to, and it can stand on the left again.
local K = ...
local type, rawget, setmetatable = type, rawget, setmetatable
local Object = K.classes.Object

for _, key in ipairs { "_links", "_undo", "_linked", "_sink", "_number", "_link" } do K.nilKeys[key] = true end

--- What an arrow, `a → b`, answers. It stands for its sending end: a message that it does not understand goes there.
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
  --- Connection -<any> source
  --- The end that sends.
  --- > n := 1. link := ref:n → { :new | new }. link source stringValue ⇒ 'var:n'
  ["source"] = function(self) return self._source end,
  --- Connection -<any> target
  --- The end that receives.
  --- > list := #MutableArray[]. pipe := { :n | n * 2 } → list. pipe writeObject: 4. pipe target ⇒ [8]
  ["target"] = function(self) return self._target end,
  --- Connection -<String> connector
  --- How the ends are joined: `stream`, `repeat`, `send`, `source`, `act`, `target`, `set`, or the operator of a
  --- constraint.
  --- > list := #MutableArray[]. pipe := { :n | n * 2 } → list. pipe connector ⇒ 'stream'
  ["connector"] = function(self) return self._connector end,
  --- Connection -<Boolean> isConnected
  --- Whether the connection stands. One that gave its elements once, as an array does, is over.
  --- > list := #MutableArray[]. pipe := { :n | n * 2 } → list. pipe isConnected ⇒ true
  ["isConnected"] = isConnected,
  --- Connection -<self> disconnect
  --- Ends this connection and no other one.
  --- > list := #MutableArray[]. pipe := { :n | n * 2 } → list. pipe disconnect. pipe isConnected ⇒ false
  ["disconnect"] = disconnect,
  --- Connection -<String> description
  --- Connection -<String> stringValue
  --- The names of both ends, with the arrow between them.
  --- > list := #MutableArray[]. pipe := { :n | n * 2 } → list. pipe description ⇒ 'a block → a MutableArray'
  ["description"] = function(self)
    return K.endName(self._source) .. " → " .. K.endName(self._target)
  end,
  ["stringValue"] = function(self) return self:description() end,
  --- Connection -<Dictionary> ports
  --- The ports of the sending end.
  --- > list := #MutableArray[]. pipe := { :n | n * 2 } → list. pipe ports keys ⇒ ['OUT', 'IN']
  ["ports"] = function(self) return self._source:ports() end,
  --- Connection -<Port> portFor:<String>selector
  --- The port of the sending end for a message with one argument.
  --- > list := #MutableArray[]. pipe := { :n | n * 2 } → list. (pipe portFor: #writeObject:) value: 4. list ⇒ [8]
  ["portFor:"] = function(self, selector) return self._source:portFor_(selector) end,
  --- Connection -<Port> actionFor:<String>selector
  --- The port of the sending end for a message with one argument or none.
  --- > list := #MutableArray[]. pipe := { :n | n * 2 } → list. (pipe actionFor: #close) key ⇒ 'close'
  ["actionFor:"] = function(self, selector) return self._source:actionFor_(selector) end,
  --- Connection -<Boolean> isStream
  --- Whether the sending end is a stream.
  --- > list := #MutableArray[]. pipe := { :n | n * 2 } → list. pipe isStream ⇒ true
  ["isStream"] = function(self) return self._isStream end,
  --- Connection -<any> writeObject:<any?>object
  --- Writes an object to the sending end.
  --- > list := #MutableArray[]. pipe := { :n | n * 2 } → list. pipe writeObject: 4. list ⇒ [8]
  ["writeObject:"] = function(self, object)
    local source = self._source
    return source:writeObject_(object)
  end,
  --- Connection -<any> doesNotUnderstand:<Message>message
  --- Sends the message to the sending end.
  --- > list := #MutableArray[]. pipe := { :n | n * 2 } → list. pipe target: stdout. pipe isConnected ⇒ false
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
  --- Connection -<Boolean> respondsTo:<String>selector
  --- Connection -<Boolean> respondsToSelector:<String>selector
  --- Whether the connection or its sending end has a method for the selector.
  --- > list := #MutableArray[]. pipe := { :n | n * 2 } → list. pipe respondsTo: 'close' ⇒ true
  ["respondsTo:"] = function(self, selector)
    return Object._methods.respondsTo_(self, selector) or self._source:respondsTo_(selector)
  end,
  --- Connection -<Boolean> isKindOf:<Class>class
  --- Connection -<Boolean> isKindOfClass:<Class>class
  --- Whether the connection or its sending end is an instance of the class or of a class below it.
  --- > list := #MutableArray[]. pipe := { :n | n * 2 } → list. pipe isKindOf: Filter ⇒ true
  ["isKindOf:"] = function(self, class)
    return K.isKind(self, class) or K.isKind(self._source, class)
  end,
}
methods["respondsToSelector:"], methods["isKindOfClass:"] = methods["respondsTo:"], methods["isKindOf:"]
K.methods(Connection, methods)
