-- What every value answers: identity, description, class questions, performing by name.
local K = ...
local type, rawget, rawequal, getmetatable, setmetatable =
  type, rawget, rawequal, getmetatable, setmetatable
local sub, gsub, lower, byte = string.sub, string.gsub, string.lower, string.byte
local Object = K.classes.Object
local mangle, throw, classOf = K.mangle, K.throw, K.classOf

-- Kinds that other kernel files ask for by a field, such as `_isArray`. Object has them as false,
-- so that asking a value that is not of the kind finds something at once.
for _, flag in ipairs {
  "_isArray", "_isBig", "_isCollection", "_isData", "_isDate", "_isDay", "_isDecimal", "_isDictionary",
  "_isDuration", "_isEnumerator", "_isInterval", "_isPattern", "_isPeriod", "_isPoint", "_isSet", "_isStore",
  "_isStream", "_isText", "_isTimeOfDay", "_json",
  "_equalsPlain", "_elements", "_frozen", "_keyText", "_literal",
  "_over", "_plus", "_reverse", "_writeText",
} do
  K.nilKeys[flag] = true
  K.method(Object, flag, false)
  K.classMethod(Object, flag, false)
end

-- The numbers by which native code tells kinds apart (value.rs); 0 for all others.
K.kinds = { array = 1, dictionary = 2, big = 3, data = 4, null = 5, element = 6, class = 7, date = 8,
  decimal = 9, text = 10 }
K.method(Object, "_kind", 0)
K.classMethod(Object, "_kind", K.kinds.class)

-- Understanding ---------------------------------------------------------------------------------

-- The table a message to the value is looked up in; nil for nil.
local function methodsOf(value)
  if type(value) == "table" then return getmetatable(value) end
  local class = K.typeClasses[type(value)]
  return value ~= nil and class and class._methods or nil
end
K.methodsOf = methodsOf

-- Whether the value has a method with this Lua name.
function K.understands(value, name)
  local methods = methodsOf(value)
  return methods ~= nil and rawget(methods, name) ~= nil
end
local understandsName = K.understands

-- How many single edits (insert, delete, replace, swap of neighbours) lie between two words:
-- optimal string alignment, given up above `reach`.
local function distance(a, b, reach)
  local n, m = #a, #b
  if n - m > reach or m - n > reach then return reach + 1 end
  local before, last, row = {}, {}, {}
  for j = 0, m do last[j] = j end
  for i = 1, n do
    row[0] = i
    local best = i
    for j = 1, m do
      local replaced = byte(a, i) == byte(b, j) and 0 or 1
      local least = math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + replaced)
      if i > 1 and j > 1 and byte(a, i) == byte(b, j - 1) and byte(a, i - 1) == byte(b, j) then
        least = math.min(least, before[j - 2] + 1)
      end
      row[j] = least
      if least < best then best = least end
    end
    if best > reach then return reach + 1 end
    before, last, row = last, row, before
  end
  return last[m]
end

-- The known name nearest to a wrong one, or nil when none is near enough to be meant.
function K.nearest(wrong, known)
  local length = #wrong
  local reach = length <= 2 and 1 or length <= 5 and 2 or 3
  local folded, best, bestFar = lower(wrong), nil, nil
  for i = 1, #known do
    local name = known[i]
    if name ~= wrong and #name <= 60 then
      local far = distance(folded, lower(name), reach)
      if far <= reach and far < #name
        and (not best or far < bestFar or far == bestFar and name < best) then
        best, bestFar = name, far
      end
    end
  end
  return best
end

-- The selectors the value understands, sorted; `own` leaves out what Object has anyway.
function K.selectorsOf(value, own)
  local list, base = {}, Object._methods
  if K.isClass(value) then base = Object._meta end
  for name, method in pairs(methodsOf(value) or {}) do
    if type(method) == "function" and type(name) == "string" and sub(name, 1, 2) ~= "__"
      and not K.isInternal(name)
      and not (own and rawget(base, name) == method) then
      list[#list + 1] = K.selector(name)
    end
  end
  table.sort(list)
  return list
end

-- "did you mean …?" for a selector the value does not understand, or nil.
function K.suggestion(value, selector)
  local near = K.nearest(selector, K.selectorsOf(value, true))
    or K.nearest(selector, K.selectorsOf(value, false))
  return near and ("did you mean " .. near .. "?") or nil
end

-- Operators are spelled as such.
local operators = {
  ["add:"] = "+", ["sub:"] = "-", ["mul:"] = "*", ["div:"] = "/", ["isLessThan:"] = "<",
  ["isGreaterThan:"] = ">", ["isLessThanOrEqualTo:"] = "≤", ["isGreaterThanOrEqualTo:"] = "≥",
  ["concat:"] = ",", ["pointWith:"] = "@",
}

local function doesNotUnderstand(self, message)
  local selector = type(message) == "table" and rawget(message, "i_selector") or K.str(message)
  local spelled = operators[selector]
  throw("doesNotUnderstand", K.nameOf(self) .. " does not understand "
    .. (spelled and spelled .. " (" .. selector .. ")" or selector),
    { i_hint = K.suggestion(self, selector) })
end

-- What instances and classes share --------------------------------------------------------------

local function argumentList(arguments)
  if type(arguments) ~= "table" or not arguments._elements then
    throw("typeError", "perform:withArguments: expects an Array of arguments, got "
      .. K.nameOf(arguments))
  end
  local list = arguments:_elements()
  local out = {}
  for i = 1, #list do
    local value = list[i]
    if value ~= K.NULL then out[i] = value end
  end
  return out, #list
end

local function nameOf(selector)
  if type(selector) ~= "string" then selector = K.expectText(selector, "perform:") end
  return mangle(selector)
end
local function perform(self, selector)
  return self[nameOf(selector)](self)
end
local function performWith(self, selector, argument)
  return self[nameOf(selector)](self, argument)
end
local function performWithWith(self, selector, first, second)
  return self[nameOf(selector)](self, first, second)
end
local function performWithArguments(self, selector, arguments)
  local list, n = argumentList(arguments)
  return self[nameOf(selector)](self, unpack(list, 1, n))
end

local function respondsTo(self, selector) return understandsName(self, nameOf(selector)) end

local function isKindOf(self, class) return K.isKind(self, class) end

local function never() return false end

local shared = {
  ["isEqual:"] = function(self, other) return rawequal(self, other) end,
  ["isNotEqualTo:"] = function(self, other) return not K.eq(self, other) end,
  ["isIdenticalTo:"] = function(self, other) return rawequal(self, other) end,
  ["hash"] = function(self) return K.hash(self) end,
  ["stringValue"] = function(self) return K.str(self) end,
  ["asString"] = function(self) return K.str(self) end,
  ["displayString"] = function(self) return K.str(self) end,
  ["printString"] = function(self) return K.repr(self) end,
  ["debugDescription"] = function(self) return K.repr(self) end,
  ["isNil"] = function() return false end,
  ["isNotNil"] = function() return true end,
  ["notNil"] = function() return true end,
  ["ifNil:"] = function(self) return self end,
  ["ifNotNil:"] = function(self, block) return K.valueOf(block, self) end,
  ["ifNil:ifNotNil:"] = function(self, _, block) return K.valueOf(block, self) end,
  ["ifNotNil:ifNil:"] = function(self, block) return K.valueOf(block, self) end,
  ["if:"] = function(self, condition)
    if type(condition) == "function" then condition = condition() end
    if K.truth(condition) then return self end
    return nil
  end,
  ["unless:"] = function(self, condition)
    if type(condition) == "function" then condition = condition() end
    if K.truth(condition) then return nil end
    return self
  end,
  ["isKindOf:"] = isKindOf,
  ["isKindOfClass:"] = isKindOf,
  ["isMemberOfClass:"] = function(self, class) return classOf(self) == class end,
  ["respondsTo:"] = respondsTo,
  ["respondsToSelector:"] = respondsTo,
  ["perform:"] = perform,
  ["performSelector:"] = perform,
  ["perform:with:"] = performWith,
  ["performSelector:withObject:"] = performWith,
  ["perform:with:with:"] = performWithWith,
  ["performSelector:withObject:withObject:"] = performWithWith,
  ["perform:withArguments:"] = performWithArguments,
  ["isString"] = never, ["isNumber"] = never, ["isBoolean"] = never, ["isBlock"] = never,
  ["isCollection"] = never, ["isArray"] = never, ["isDictionary"] = never, ["isStream"] = never,
  ["yourself"] = function(self) return self end,
  ["self"] = function(self) return self end,
  ["doesNotUnderstand:"] = doesNotUnderstand,
  ["should:"] = function(self, expected)
    if K.eq(self, expected) then return self end
    throw("expectation", "expected " .. K.repr(expected) .. " but got " .. K.repr(self),
      { i_expected = expected, i_actual = self })
  end,
  ["shouldNot:"] = function(self, unexpected)
    if not K.eq(self, unexpected) then return self end
    throw("expectation", "expected anything but " .. K.repr(unexpected), { i_actual = self })
  end,
}
K.methods(Object, shared)
K.classMethods(Object, shared)

-- nil answers nil to everything else; what is expected of it must still be checked.
K.methods(K.classes.Nil, {
  ["isNil"] = function() return true end,
  ["isNotNil"] = function() return false end,
  ["notNil"] = function() return false end,
  ["ifNil:"] = function(_, block) return K.valueOf(block) end,
  ["ifNotNil:"] = function() return nil end,
  ["ifNil:ifNotNil:"] = function(_, block) return K.valueOf(block) end,
  ["ifNotNil:ifNil:"] = function(_, _, block) return K.valueOf(block) end,
  ["isEqual:"] = function(_, other) return other == nil end,
  ["isNotEqualTo:"] = function(_, other) return other ~= nil end,
  ["should:"] = function(_, expected)
    if expected == nil then return nil end
    throw("expectation", "expected " .. K.repr(expected) .. " but got nil",
      { i_expected = expected })
  end,
  ["shouldNot:"] = function(_, unexpected)
    if unexpected ~= nil then return nil end
    throw("expectation", "expected anything but nil")
  end,
  ["yourself"] = function() return nil end,
  -- By name as written out: `nil perform: 'not'` is true.
  ["perform:"] = perform, ["performSelector:"] = perform,
  ["perform:with:"] = performWith, ["performSelector:withObject:"] = performWith,
  ["perform:with:with:"] = performWithWith, ["performSelector:withObject:withObject:"] = performWithWith,
  ["perform:withArguments:"] = performWithArguments,
})

-- Required values -------------------------------------------------------------------------------

local missingHints = {
  env = "set it before the program starts, as in `%s=… runnel program.st`",
  query = "the request needs it after the `?`", header = "the request needs this header",
  cookie = "the request needs this cookie", form = "the form needs this field",
  body = "the request needs a body",
}

-- `env:TOKEN required`: the value; an error that names the reference where it is nil or empty. What
-- a client left out is `invalid`.
function K.required(value, name, scheme)
  local kind = type(value)
  if kind == "table" and not (value._isText and value:_string() == "") then return value:required() end
  if value ~= nil and value ~= "" and kind ~= "table" then return value end
  local hint = missingHints[scheme]
  throw(hint and scheme ~= "env" and "invalid" or "notSet", name .. " is not set",
    { i_hint = string.format(hint or "give it a value first", (gsub(name, "^[^:]*:", ""))) })
end

K.methods(Object, { ["required"] = function(self) return self end })
K.methods(K.classes.Nil, { ["required"] = function() return K.required(nil, "a required value", "") end })

-- What observers keep in an object is not copied (observing/field.lua).
local OBSERVERS = { _hubs = true, _entryHubs = true, _links = true }
local function unobserved(copy, kind)
  copy._hubs, copy._entryHubs, copy._links = nil, nil, nil
  -- A table inside an object has no class.
  return setmetatable(copy, kind and (rawget(kind, "_unobserved") or kind))
end

-- Instances -------------------------------------------------------------------------------------

K.methods(Object, {
  ["init"] = function(self) return self end,
  ["class"] = classOf,
  ["className"] = function(self) return classOf(self):className() end,
  ["superclass"] = function(self) return classOf(self)._super end,
  ["description"] = function(self) return K.articleOf(classOf(self)._name) end,
  ["copy"] = function(self)
    if type(self) ~= "table" then return self end
    local copy = {}
    for key, value in pairs(self) do copy[key] = value end
    return unobserved(copy, getmetatable(self))
  end,
  ["mutableCopy"] = function(self) return self:copy() end,
  ["deepCopy"] = function(self) return K.deepCopy(self) end,
})

-- A copy that shares nothing mutable; what is reached twice is copied once.
function K.deepCopy(value, seen)
  if type(value) ~= "table" or K.isClass(value) or value == K.NULL then return value end
  seen = seen or {}
  if seen[value] then return seen[value] end
  local copy = {}
  seen[value] = copy
  for key, inner in pairs(value) do
    if not OBSERVERS[key] then copy[key] = K.deepCopy(inner, seen) end
  end
  return unobserved(copy, getmetatable(value))
end

-- Classes ---------------------------------------------------------------------------------------

local function new(class)
  return setmetatable({}, class._methods):init()
end

local function alloc(class)
  return setmetatable({}, class._methods)
end

local function inherits(class, other)
  while class do
    if class == other then return true end
    class = class._super
  end
  return false
end

K.classMethods(Object, {
  ["new"] = new,
  ["alloc"] = alloc,
  ["class"] = function() return K.classes.Class end,
  ["className"] = function(class) return class._original or class._name end,
  ["name"] = function(class) return class._name end,
  ["description"] = function(class) return class._name end,
  ["superclass"] = function(class) return class._super end,
  ["subclasses"] = function(class)
    local list = {}
    for i = 1, #class._subs do list[i] = class._subs[i] end
    return K.array(list)
  end,
  ["copy"] = function(class) return class end,
  ["isSubclassOf:"] = inherits,
  ["isSubclassOfClass:"] = inherits,
  ["inheritsFrom:"] = inherits,
  ["instancesRespondTo:"] = function(class, selector)
    return rawget(class._methods, nameOf(selector)) ~= nil
  end,
  ["instancesRespondToSelector:"] = function(class, selector)
    return rawget(class._methods, nameOf(selector)) ~= nil
  end,
  ["instanceVariables"] = function(class)
    local list = {}
    for i = 1, #class._ivars do list[i] = class._ivars[i] end
    return K.array(list)
  end,
  ["selectors"] = function(class)
    local list = {}
    for name, method in pairs(class._own) do
      if type(method) == "function" and not K.isInternal(name) then
        list[#list + 1] = K.selector(name)
      end
    end
    table.sort(list)
    return K.array(list)
  end,
})

-- Keys by value ---------------------------------------------------------------------------------

-- Dictionaries and sets compare keys by value. Numbers, strings and booleans are their own keys;
-- values with a `_keyText` (big integers, points, dates, arrays …) are replaced by one frozen copy
-- for each text; any other object is a key by identity.
local canonical = setmetatable({}, { __mode = "v" })

function K.key(value)
  local kind = type(value)
  if kind == "string" or kind == "boolean" then return value end
  if kind == "number" then
    if value == value then return value end
    throw("typeError", "a number that is not a number (nan) cannot be a key")
  end
  if value == nil then throw("nilValue", "nil cannot be a key") end
  if kind ~= "table" then return value end
  if value._isText then return value:_string() end
  local keyText = value._keyText
  if not keyText then return value end
  local text = keyText(value)
  local known = canonical[text]
  if known == nil then
    known = value._frozen and value:_frozen() or value
    canonical[text] = known
  end
  return known
end

-- A text that is the same for equal values, and different for different ones.
function K.keyText(value, depth)
  local kind = type(value)
  if kind == "string" then return "s" .. #value .. ":" .. value end
  if kind == "number" then return "n" .. K.str(value) end
  if kind == "boolean" then return value and "t" or "f" end
  if value == nil or value == K.NULL then return "0" end
  if kind == "table" and value._keyText then return value:_keyText((depth or 0) + 1) end
  return "#" .. K.hash(value)
end

-- A number that is the same for equal values.
local hashes, nextHash = setmetatable({}, { __mode = "k" }), 0
function K.hash(value)
  if type(value) == "number" then return value end
  if type(value) == "string" then
    local hash = 5381
    for i = 1, #value do hash = (hash * 33 + byte(value, i)) % 4294967296 end
    return hash
  end
  if type(value) == "boolean" then return value and 1 or 0 end
  if value == nil then return 0 end
  value = K.key(value)
  local hash = hashes[value]
  if not hash then
    nextHash = nextHash + 1
    hash, hashes[value] = nextHash, nextHash
  end
  return hash
end
