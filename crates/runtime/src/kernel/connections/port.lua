-- Ports: what every kind of thing can give (OUT) and take (IN). The protocols of two ports decide
-- what joins them: crates/view/src/ports.rs holds that table.
local K = ...
local type, rawget, setmetatable = type, rawget, setmetatable
local gsub, match = string.gsub, string.match
local throw = K.throw
local classes = K.classes
local Object = K.classes.Object

for _, key in ipairs { "_isControl", "_isPort", "_isConnection", "_isConnector", "_onAction", "_isSource" } do
  K.nilKeys[key] = true
end

--- One output or input of an object: a message through which objects leave or enter.
local Port = K.newClass("Port", Object)
K.alias("MPWPort", Port)
Port._plainName = true -- a program may have a class of this name
--- Port -<String> direction
--- `OUT` or `IN`.
--- > ([] portFor: #add:) direction ⇒ 'IN'

--- Port -<String> protocol
--- What passes through the port: `stream`, `store`, `action` or `message`.
--- > ([] portFor: #add:) protocol ⇒ 'message'

--- Port -<any> owner
--- The object that the port belongs to.
--- > ([3] portFor: #add:) owner ⇒ [3]

--- Port -<String> key
--- The selector or property through which objects pass.
--- > ([] portFor: #add:) key ⇒ 'add:'
for _, name in ipairs { "direction", "protocol", "owner", "key" } do K.ivar(Port, name) end
K.method(Port, "_isPort", true)

local function port(direction, protocol, owner, key)
  return setmetatable({ i_direction = direction, i_protocol = protocol, i_owner = owner, i_key = key },
    Port._methods)
end

-- The first ends of several.
local NAMED = 3
local function branchNames(array)
  local names = {}
  for i = 1, math.min(#array, NAMED) do names[i] = K.endName(array[i]) end
  if #array > NAMED then names[NAMED + 1] = "…" end
  return "[ " .. table.concat(names, ", ") .. " ]"
end

-- What an end is called in errors and drawings.
local LONGEST_NAME = 40 -- characters of a text
function K.endName(thing)
  if thing == nil then return "nil" end
  if thing == K.stdout then return "stdout" end
  if thing == K.stderr then return "stderr" end
  if thing == K.stdline then return "stdline" end
  if type(thing) == "function" then return "a block" end
  if type(thing) == "string" and #thing > LONGEST_NAME then return "a String" end
  if type(thing) == "table" and not K.isClass(thing) then
    if thing._isReference then return "ref:" .. K.str(thing:stringValue()) end
    if thing._isPort then return thing:stringValue() end
    if thing._isConnection then return K.endName(thing._source) end
    if K.isKind(thing, classes.MapFilter) then return "a block" end
    if thing._isArray and K.isBranching(thing) then return branchNames(thing) end
  end
  return K.nameOf(thing)
end

-- Whether it is an instance of the named class.
local function is(thing, name) return K.isKind(thing, classes[name]) end

-- What holds elements and gives them once.
local function isElements(thing)
  if type(thing) == "string" then return true end
  return thing._isArray or thing._isInterval or thing._isEnumerator or thing._isSet or thing._isData
    or thing._isText or is(thing, "Rows")
end
K.holdsElements = isElements

local function isStorage(thing) return thing._isStore or thing._isDictionary or K.hasPath(thing) end

-- A dictionary is its own ports where it has them.
local function ownPort(thing, direction)
  local held = thing._isDictionary and thing:at_(direction) or nil
  if type(held) == "table" and not K.isClass(held) and held._isPort then return held end
end

local function understands(thing, selector) return K.understands(thing, K.mangle(selector)) end

-- Of classes, only protocols take part themselves; others stand for an instance.
local function isProtocol(class) return K.isSubclass(class, classes.Protocol) end

-- The outputs of a thing, each a protocol and a key; the first that fits is taken.
local function outputsOf(thing)
  if type(thing) == "function" then return { { "stream", "target" } } end
  if type(thing) == "string" then return { { "stream", "elements" } } end
  if type(thing) ~= "table" then return {} end
  if K.isClass(thing) then return isProtocol(thing) and { { "stream", "follow:" } } or {} end
  if thing._isPort then return { { thing.i_protocol, thing.i_key } } end
  if thing._isControl then return { { "action", "action" } } end
  if thing._isServer then return { { "store", "scheme" } } end
  if thing._isReference then return { { "stream", "changes" } } end
  if thing._isStore then
    if not understands(thing, "setSource:") then return {} end
    if is(thing, "LoggingStore") then return { { "store", "source" }, { "stream", "log" } } end
    return { { "store", "source" } }
  end
  if isElements(thing) then return { { "stream", "elements" } } end
  if is(thing, "ByteStream") and thing._sink then return {} end
  if understands(thing, "setTarget:") then return { { "stream", "target" } } end
  if understands(thing, "connect:") then return { { "stream", "connect:" } } end
  return {}
end

local inputsOf

-- An array whose elements all take something sends to each of them; any other one collects.
local MOST_BRANCHES = 1000
local function isBranching(array)
  if #array == 0 or #array > MOST_BRANCHES then return false end
  for i = 1, #array do
    local element = array[i]
    if type(element) == "string" or element == K.NULL then return false end
    if type(element) == "table" and not K.isClass(element) and (isElements(element)
      or element._isDictionary) then return false end
    if not K.isClass(element) and #inputsOf(element) == 0 then return false end
  end
  return true
end
K.isBranching = isBranching

function inputsOf(thing)
  if type(thing) == "function" then return { { "stream", "writeObject:" } } end
  if type(thing) ~= "table" then return {} end
  if K.isClass(thing) then return isProtocol(thing) and { { "stream", "notify:" } } or {} end
  if thing._isPort then return { { thing.i_protocol, thing.i_key } } end
  if thing._isControl then return { { "stream", "value" } } end
  if thing._isReference then return { { "stream", "value:" }, { "store", "asScheme" } } end
  if thing._isServer or thing._isSource then return {} end
  if thing._isStore or thing._isDictionary then return { { "store", "at:put:" } } end
  local inputs = {}
  if thing._isWidget or K.hasPath(thing) then inputs[1] = { "store", "at:put:" } end
  if understands(thing, "writeObject:") then inputs[#inputs + 1] = { "stream", "writeObject:" } end
  return inputs
end

-- One direction of a thing: what it says itself, else what its kind has.
local function portsIn(thing, direction)
  if type(thing) == "table" and not K.isClass(thing) then
    local own = ownPort(thing, direction)
    if own then return { { own.i_protocol, own.i_key } } end
  end
  return direction == "OUT" and outputsOf(thing) or inputsOf(thing)
end
K.portsIn = portsIn

-- Messages ------------------------------------------------------------------------------------------

-- How many arguments a selector takes.
local function colons(selector)
  local _, count = gsub(selector, ":", "")
  return count
end

-- A port through which one message goes to an object; `action` may go without an argument.
local function messagePort(owner, selector, protocol)
  selector = K.expectText(selector, "portFor:")
  if colons(selector) > 1 or protocol == "message" and colons(selector) == 0 then
    throw("invalid", "a port sends one argument, so `" .. selector .. "` cannot be one",
      { i_hint = "name a message with one colon, as in `port:stdout/println:`" })
  end
  if owner == nil then throw("nilValue", "a port for `" .. selector .. "` needs an object, not nil") end
  if not understands(owner, selector) then
    throw("doesNotUnderstand", K.endName(owner) .. " has no port `" .. selector
      .. "`: it does not understand the message", { i_hint = K.suggestion(owner, selector) })
  end
  return port("IN", protocol, owner, selector)
end

-- `port:stdout/println:` in generated code: `path` ends with the selector; before it, properties.
function K.portAt(owner, path)
  local before, selector = match(path, "^(.*)/([^/]*)$")
  if before then owner, path = K.walk(owner, before), selector end
  if path == "" then return owner:ports() end
  local name = K.mangle(path)
  if colons(path) == 0 and not K.understands(owner, name) then return owner:ports():at_(path) end
  return messagePort(owner, path, colons(path) == 0 and "action" or "message")
end

local function send(self, object)
  local owner, name = self.i_owner, K.mangle(self.i_key)
  return owner[name](owner, object)
end

K.methods(Port, {
  --- -<self> writeObject:<any?>object
  --- Sends the message of the port with the object as its argument. nil is ignored, but by an action.
  --- > list := []. list portFor: #add: | writeObject: 3. list ⇒ [3]
  ["writeObject:"] = function(self, object)
    if object ~= nil or self.i_protocol == "action" then send(self, object) end
    return self
  end,
  --- -<any> value:<any?>object
  --- Sends the message of the port with the object as its argument, also nil, and answers its value.
  --- > ('a-b' portFor: #split:) value: '-' ⇒ ['a', 'b']
  ["value:"] = send,
  --- -<String> stringValue
  --- The port as a reference is written, with the class of its owner.
  --- > ([] portFor: #add:) stringValue ⇒ 'port:an Array/add:'
  ["stringValue"] = function(self)
    return "port:" .. K.endName(self.i_owner) .. "/" .. K.str(self.i_key)
  end,
  --- -<String> description
  --- The direction, the protocol, the owner and the message of the port.
  --- > stdout ports at: 'IN' | description ⇒ 'IN stream of stdout `writeObject:`'
  ["description"] = function(self)
    return self.i_direction .. " " .. self.i_protocol .. " of " .. K.endName(self.i_owner)
      .. (self.i_key == "" and "" or " `" .. self.i_key .. "`")
  end,
})

-- The ports of an object: a dictionary with those of OUT and IN that exist.
local function ports(thing)
  local keys, map = {}, {}
  for _, direction in ipairs { "OUT", "IN" } do
    local first = portsIn(thing, direction)[1]
    if first then
      keys[#keys + 1] = direction
      map[direction] = port(direction, first[1], thing, first[2])
    end
  end
  return K.dictionary(keys, map, #keys)
end

local shared = {
  --- Object -<Dictionary> ports
  --- The output, `OUT`, and the input, `IN`, of the value, where it has them: what an arrow can join.
  --- > stdout ports keys ⇒ ['IN']
  --- > [Notification ports count, Number ports count] ⇒ [2, 0]
  ["ports"] = ports,
  --- Object -<Port> portFor:<String>selector
  --- An input that sends the message with each object as its argument. The selector has one colon; one that the value
  --- does not understand is an error.
  --- > list := []. [1, 2] → (list portFor: #add:). list ⇒ [1, 2]
  ["portFor:"] = function(self, selector) return messagePort(self, selector, "message") end,
  --- Object -<Port> actionFor:<String>selector
  --- Like `portFor:`, for controls: the selector may also have no colon, and the message is sent for each action.
  --- > list := [1, 2]. list actionFor: #removeAll | writeObject: nil. list ⇒ []
  ["actionFor:"] = function(self, selector) return messagePort(self, selector, "action") end,
}
K.methods(Object, shared)
K.classMethods(Object, shared)
K.method(classes.Source, "_isSource", true)
