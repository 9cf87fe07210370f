-- `a → b`: finds the connector of the two ends and carries it out. Which connector it is, the table
-- of crates/view/src/ports.rs says; here is what each does.
local K = ...
local type, rawget, rawequal, setmetatable = type, rawget, rawequal, setmetatable
local native, throw = K.native, K.throw
local classes = K.classes
local Object = K.classes.Object

-- A class stands for an instance of it, a block for a filter that maps, a connection for its sending
-- end. A protocol stands for itself.
local function component(thing)
  if type(thing) == "function" then return K.mapFilter(thing) end
  thing = K.sendingEnd(thing)
  if K.isClass(thing) then
    if K.isSubclass(thing, classes.Protocol) then return thing end
    if K.isSubclass(thing, classes.Store) then return thing:store() end
    if K.isSubclass(thing, classes.WriteStream) then return thing:stream() end
    return thing:new()
  end
  return thing
end

-- Sources that join in their own way, once the ports fit: changes, standard input, a WebSocket.
local function joinsItself(thing)
  if not K.understands(thing, "connect_") or rawget(K.classOf(thing), "_program") then return false end
  return thing._isSocket or K.isKind(thing, classes.Changes) or K.isKind(thing, classes.StandardInput)
end

-- What takes the objects of a stream -------------------------------------------------------------------

--- The end of a connection that takes each object of its source: a block, a property or a method as a stream.
local Sink = K.newClass("ConnectionSink", Object)
K.nilKeys._write = true
K.methods(Sink, {
  --- As in Filter.
  ["writeObject:"] = function(self, object) self._write(object) end,
  --- -<nothing> setValue:<any?>object
  --- Writes an object, as `writeObject:` does.
  --- > { :n | n * 2 } → { :n | n }
  ["setValue:"] = function(self, object) self._write(object) end,
  --- As in Filter.
  ["close"] = function(self) return self end,
  --- As in Filter.
  ["flush"] = function(self) return self end,
})

local sinkOf

-- Each object goes to every element of the array.
local function branchingSink(array)
  local writers = {}
  for i = 1, #array do writers[i] = K.writerTo(sinkOf(component(array[i]))) end
  return function(object)
    for i = 1, #writers do writers[i](object) end
  end
end

-- What objects are written to at a receiving end.
function sinkOf(thing)
  if type(thing) == "function" then return thing end
  local write
  if K.isClass(thing) then
    write = function(object) thing:notify_(object) end
  elseif thing._isControl then
    write = function(object) thing:setValue_(object) end
  elseif thing._isDictionary or not K.understands(thing, "writeObject_") then
    local store = K.asStore(thing)
    write = function(object)
      if object == nil then return end
      if type(object) == "table" and object._isOperation then return object:applyTo_(store) end
      K.storePost(store, "", object)
    end
  elseif thing._isArray and K.isBranching(thing) then
    write = branchingSink(thing)
  end
  if not write then return thing end
  return setmetatable({ _write = write }, Sink._methods)
end

-- Streams ----------------------------------------------------------------------------------------------

local LONGEST = 10000 -- streams in a row

local function targetOf(stream)
  if K.understands(stream, "target") then return stream:target() end
  return rawget(stream, "_linked")
end

-- The last filter of the chain: what the program's own streams write to stays as it is.
local function lastOf(stream)
  local at = stream
  for _ = 1, LONGEST do
    local target = K.sendingEnd(targetOf(at))
    if target == nil or rawequal(target, K.stdline) or not K.isKind(target, classes.Filter) then return at end
    at = target
  end
  throw("tooLarge", "the streams form a ring")
end

local function refuseRing(last, sink)
  local at = sink
  for _ = 1, LONGEST do
    if at == nil or not K.isStream(at) then return end
    if rawequal(at, last) then
      throw("invalid", string.format("%s would be its own target", K.endName(last)),
        { i_hint = "connect it to a stream that does not lead back to it" })
    end
    at = K.sendingEnd(targetOf(at))
  end
end

-- The end of the left chain writes to the right end.
local function joinStream(connection, left, sink)
  local last = lastOf(left)
  refuseRing(last, sink)
  local before = targetOf(last)
  local byDefault = K.isStream(last) and before ~= nil and K.endsByDefault(last)
  last:setTarget_(sink)
  local knows = K.understands(last, "target")
  -- A stream has one target: what it wrote to before is no longer connected.
  if K.isStream(last) then last._links = nil end
  return K.linkConnection(connection, last, function()
    last:setTarget_(byDefault and before or nil)
  end, knows and function() return rawequal(last:target(), sink) end)
end

-- Elements are written once, in order; then nothing is connected any more.
local function writeElements(left, sink)
  if type(left) == "string" or left._isData or left._isText then return sink:writeObject_(left) end
  left:do_(function(element) sink:writeObject_(element) end)
end

local function joinOwn(connection, left, sink)
  if left:connect_(sink) == nil then return nil end
  local function stop()
    if left._isSocket then left._to = nil elseif K.understands(left, "stop") then left:stop() end
  end
  return K.linkConnection(connection, left, stop)
end

local function joinProtocol(connection, protocol, sink)
  local write = K.writerTo(sink)
  protocol:follow_(write)
  return K.linkConnection(connection, protocol, function()
    local followers = rawget(protocol, "_followers")
    for i = 1, #followers do
      if rawequal(followers[i], write) then return table.remove(followers, i) end
    end
  end)
end

local function joinLog(connection, logging, sink)
  logging:setLog_(sink)
  return K.linkConnection(connection, logging, function() logging:setLog_(nil) end,
    function() return rawequal(logging:log(), sink) end)
end

local function writeFrom(connection, left, right)
  local sink = sinkOf(right)
  if type(left) == "string" then
    writeElements(left, sink)
    return connection
  end
  if K.isClass(left) then return joinProtocol(connection, left, sink) end
  if left._isReference then return K.linkConnection(connection, left, K.followReference(left, sink)) end
  if left._isControl then return K.linkConnection(connection, left, K.followControl(left, sink)) end
  if left._isStore then return joinLog(connection, left, sink) end
  if K.holdsElements(left) then
    -- A table shows all of them.
    if not K.isClass(right) and right._isControl then right:setValue_(left) else writeElements(left, sink) end
    return connection
  end
  if joinsItself(left) then return joinOwn(connection, left, sink) end
  return joinStream(connection, left, sink)
end

-- Stores -----------------------------------------------------------------------------------------------

-- What a combinator asks after it was disconnected.
local Missing = K.newClass("MissingStore", K.classes.Store)
local function missing(self)
  throw("nilValue", self._of .. " has no source", { i_hint = "connect it: `combinator → store`" })
end
for _, name in ipairs { "at:", "at:put:", "at:post:", "merge:at:", "deleteAt:", "childrenOfReference:" } do
  K.method(Missing, K.mangle(name), missing)
end

-- Where each kind of store holds what it is connected to, and how it lets go.
local function sourceField(left)
  if left._isServer then return "i_scheme" end
  return K.isKind(left, classes.Route) and "i_otherwise" or "i_source"
end

local function unlinkStore(left, held)
  if K.isKind(left, classes.Sequence) then
    local kept = {}
    for i = 1, #left.i_stores do
      if not rawequal(left.i_stores[i], held) then kept[#kept + 1] = left.i_stores[i] end
    end
    return left:setStores_(K.array(kept, #kept))
  end
  local field = sourceField(left)
  if left._isServer then
    if rawget(left, "_server") then left:setScheme_(classes.SiteMap:store()) end
  elseif rawget(left, "_inner") then
    left[field] = setmetatable({ _of = K.nameOf(left) }, Missing._methods)
    K.combinatorChanged(left)
  end
  left[field] = nil
end

local function holds(left, held)
  if not K.isKind(left, classes.Sequence) then return rawequal(rawget(left, sourceField(left)), held) end
  for i = 1, #(left.i_stores or {}) do
    if rawequal(left.i_stores[i], held) then return true end
  end
  return false
end

-- The right store becomes the source of the left one, or what the server serves. The left end itself
-- is answered: it is what programs serve and install.
local function joinStore(connection, left, right)
  if left._isServer then left:setScheme_(right) else left:setSource_(right) end
  local held = rawget(left, sourceField(left))
  if K.isKind(left, classes.Sequence) then held = left.i_stores[#left.i_stores] end
  K.linkConnection(connection, left, function() unlinkStore(left, held) end,
    function() return holds(left, held) end)
  left._link = connection
  return left
end

-- A port as the left end: its message is sent once, with the right end as the argument.
local function joinPort(connection, port, right)
  local owner, key = port.i_owner, port.i_key
  port:value_(right)
  -- A property is taken back; other messages cannot be.
  local name = string.match(key, "^set(%u.*):$")
  name = name and string.lower(string.sub(name, 1, 1)) .. string.sub(name, 2)
  local getter = name and K.mangle(name)
  local reads = getter and K.understands(owner, getter)
  return K.linkConnection(connection, port, function()
    if reads then port:value_(nil) end
  end, reads and function() return rawequal(owner[getter](owner), right) end)
end

-- Deciding ---------------------------------------------------------------------------------------------

local carryOut = { stream = writeFrom, ["repeat"] = writeFrom, send = writeFrom, act = writeFrom,
  target = writeFrom, source = joinStore, set = joinPort }

local NONE = { "", "" }
local function ask(left, right, output, input, leftInput, rightOutput)
  return native.connector(
    K.endName(left), output[1], output[2], leftInput[1], leftInput[2],
    K.endName(right), rightOutput[1], rightOutput[2], input[1], input[2])
end

-- The connector of two ends: of several ports, the first pair that fits.
local function connectorOf(left, right)
  local outputs, inputs = K.portsIn(left, "OUT"), K.portsIn(right, "IN")
  local leftInput, rightOutput = K.portsIn(left, "IN")[1] or NONE, K.portsIn(right, "OUT")[1] or NONE
  for i = 1, #outputs do
    for j = 1, #inputs do
      local found = ask(left, right, outputs[i], inputs[j], leftInput, rightOutput)
      if #found == 1 then return found[1] end
    end
  end
  local found = ask(left, right, outputs[1] or NONE, inputs[1] or NONE, leftInput, rightOutput)
  throw("notConnected", found[1], { i_hint = found[2] })
end

-- `a → connector`, `connector → b`: half a connection waits for its other end.
local function joinConnector(left, right)
  local connector
  if type(right) == "table" and right._isConnector then
    connector = right
    connector:setSource_(component(left))
  else
    connector = left
    connector:setTarget_(component(right))
  end
  if connector:isComplete() then connector:connect() end
  return connector
end

local function isConnector(thing)
  return type(thing) == "table" and not K.isClass(thing) and thing._isConnector
    and not (thing._isConnection and thing:isComplete())
end

-- `store → server`, as programs of the original write it: the server comes last, and it is answered.
local function isBehindServer(left, right)
  if type(right) ~= "table" or K.isClass(right) or not right._isServer or type(left) ~= "table" or left._isServer then
    return false
  end
  local port = K.portsIn(left, "IN")[1]
  return left._isReference or port ~= nil and port[1] == "store"
end

-- `store → cache → server`: the store is the source of what the server serves and that has none.
local function joinBehindServer(left, server)
  local served, before = server.i_scheme, server
  for _ = 1, LONGEST do
    if type(served) ~= "table" or K.isClass(served) or not K.isKind(served, classes.MappingStore) then break end
    before, served = served, rawget(served, "i_source")
    if served == nil then
      K.connect(before, left)
      return server
    end
  end
  K.connect(server, left)
  return server
end

function K.connect(source, target)
  if K.isClass(source) and K.isSubclass(source, classes.Connector) then source = source:new() end
  if K.isClass(target) and K.isSubclass(target, classes.Connector) then target = target:new() end
  if isConnector(target) or isConnector(source) then return joinConnector(source, target) end
  local left, right = component(source), component(target)
  -- A class of the program may connect in its own way, and a table takes records all at once.
  if type(left) == "table" and K.understands(left, "connect_") and not joinsItself(left) then
    local result = left:connect_(right)
    if result ~= nil then return result end
  end
  if isBehindServer(left, right) then return joinBehindServer(left, right) end
  local connector = connectorOf(left, right)
  local connection = K.newConnection(left, right, connector)
  return carryOut[connector](connection, left, right) or connection
end

-- Stores and servers answer themselves: what they are connected to is asked of them.
local function linkOf(self) return self._link or nil end
local linked = {
  --- MappingStore -<Connection?> connection
  --- HTTPServer -<Connection?> connection
  --- The connection to the source; nil while there is none.
  --- > (#JSONConverter{} → #DictStore{ a: 1 }) connection description ⇒ 'a JSONConverter → a DictStore'
  ["connection"] = linkOf,
  --- MappingStore -<String?> connector
  --- HTTPServer -<String?> connector
  --- `source`, how the store or server is joined to its source; nil while there is none.
  --- > (#JSONConverter{} → #DictStore{ a: 1 }) connector ⇒ 'source'
  ["connector"] = function(self) return linkOf(self):connector() end,
  --- MappingStore -<Boolean> isConnected
  --- HTTPServer -<Boolean> isConnected
  --- Whether the connection to the source stands.
  --- > (#JSONConverter{} → #DictStore{ a: 1 }) isConnected ⇒ true
  ["isConnected"] = function(self)
    local link = linkOf(self)
    return link ~= nil and link:isConnected()
  end,
  --- MappingStore -<self> disconnect
  --- HTTPServer -<self> disconnect
  --- Ends the connection to the source: reading and writing is an error then.
  --- > cache := #Cache{ } → #DictStore{ a: 1 }. cache disconnect. cache at: 'a' ⇒ error: a Cache has no source
  ["disconnect"] = function(self)
    local link = linkOf(self)
    if link then link:disconnect() end
    return self
  end,
}
K.methods(classes.MappingStore, linked)
--- MappingStore -<any> target
--- The source, which the store asks; nil while there is none.
--- > (#Cache{ } → #DictStore{ a: 1 }) target at: 'a' ⇒ 1
K.methods(classes.MappingStore, { ["target"] = function(self) return self:source() end })
K.nilKeys._link, K.nilKeys._of = true, true
K.linkMethods = linked -- for the server, whose file comes later
