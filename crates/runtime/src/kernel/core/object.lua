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
  "_isDuration", "_isEnumerator", "_isInterval", "_isPattern", "_isPeriod", "_isPoint", "_isSet", "_isSize", "_isStore",
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
  decimal = 9, text = 10, size = 11 }
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
  local reach = length <= 2 and 0 or length <= 4 and 1 or length <= 7 and 2 or 3
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

-- Operators are spelled as such.
local operators = {
  ["add:"] = "+", ["sub:"] = "-", ["mul:"] = "*", ["div:"] = "/", ["isLessThan:"] = "<",
  ["isGreaterThan:"] = ">", ["isLessThanOrEqualTo:"] = "≤", ["isGreaterThanOrEqualTo:"] = "≥",
  ["concat:"] = ",", ["pointWith:"] = "@",
}

-- Operators of other languages.
local foreignOperators = {
  ["&&"] = "write `a and: { b }`", ["||"] = "write `a or: { b }`", ["==="] = "write `a = b`",
  ["!=="] = "write `a ≠ b`", ["=>"] = "a block stands in braces: `{ :x | … }`",
}

-- Whether a value of any class understands the selector.
local function isKnown(selector)
  local name = mangle(selector)
  for _, class in pairs(K.classes) do
    if type(class) == "table" and type(class._methods) == "table" and class._methods[name] then return true end
  end
  return false
end

-- The two messages that a selector such as collect:select: was meant to be, or nil.
local function runTogether(value, selector)
  for at in string.gmatch(selector, "():") do
    local first, rest = sub(selector, 1, at), sub(selector, at + 1)
    if rest ~= "" and understandsName(value, mangle(first)) and isKnown(rest) then return first, rest end
  end
end

-- The shortest selector of the value that begins with the same keyword, or nil.
local function sameKeyword(known, selector)
  local keyword = (string.match(selector, "^[^:]+") or "") .. ":"
  local best
  for i = 1, #known do
    local one = known[i]
    if one ~= selector and sub(one, 1, #keyword) == keyword and (not best or #one < #best) then best = one end
  end
  return best
end

-- The next step for a selector the value does not understand, or nil.
function K.suggestion(value, selector)
  if foreignOperators[selector] then return foreignOperators[selector] end
  if operators[selector] or not string.find(selector, "^[%a_]") then return nil end
  local first, rest = runTogether(value, selector)
  if first then
    return "two messages run together: write `(… " .. first .. " …) " .. rest .. " …`, or a period between two statements"
  end
  local own, all = K.selectorsOf(value, true), K.selectorsOf(value, false)
  local near = sameKeyword(own, selector) or sameKeyword(all, selector)
    or K.nearest(selector, own) or K.nearest(selector, all)
  return near and ("did you mean " .. near .. "?") or nil
end

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
  --- Object -<Boolean> isEqual:<any?>other
  --- Object -<Boolean> = <any?>other
  --- Whether two values are equal. Texts, numbers and collections compare what they hold, other objects their identity.
  --- > [1, 2] = [1, 2] ⇒ true
  ["isEqual:"] = function(self, other) return rawequal(self, other) end,
  --- Object -<Boolean> isNotEqualTo:<any?>other
  --- Object -<Boolean> ≠ <any?>other
  --- Whether two values differ: the opposite of `=`.
  --- > 3 ≠ 4 ⇒ true
  ["isNotEqualTo:"] = function(self, other) return not K.eq(self, other) end,
  --- Object -<Boolean> isIdenticalTo:<any?>other
  --- Whether both are one and the same object, unlike `=`, which compares what they hold.
  --- > [1, 2] isIdenticalTo: [1, 2] ⇒ false
  ["isIdenticalTo:"] = function(self, other) return rawequal(self, other) end,
  --- Object -<Number> hash
  --- A number that is the same for equal values, within one run of a program.
  --- > 'ab' hash = 'ab' hash ⇒ true
  ["hash"] = function(self) return K.hash(self) end,
  --- Object -<String> stringValue
  --- Object -<String> asString
  --- Object -<String> displayString
  --- The value as text for people: what `println:` prints and texts contain. Texts are bare, unlike in `printString`.
  --- > ['a', 1] stringValue ⇒ '[a,1]'
  ["stringValue"] = function(self) return K.str(self) end,
  ["asString"] = function(self) return K.str(self) end,
  ["displayString"] = function(self) return K.str(self) end,
  --- Object -<String> printString
  --- Object -<String> debugDescription
  --- The value as text for programmers: texts are in quotes, unlike in `stringValue`.
  --- > ['a', 1] printString ⇒ '[''a'',1]'
  ["printString"] = function(self) return K.repr(self) end,
  ["debugDescription"] = function(self) return K.repr(self) end,
  --- Object -<Boolean> isNil
  --- Whether the value is nil.
  --- > 3 isNil ⇒ false
  ["isNil"] = function() return false end,
  --- Object -<Boolean> isNotNil
  --- Object -<Boolean> notNil
  --- Whether the value is other than nil.
  --- > 3 isNotNil ⇒ true
  ["isNotNil"] = function() return true end,
  ["notNil"] = function() return true end,
  --- Object -<any> ifNil:<Block()|Object?>fallback
  --- The value itself; of nil, the value of the block or the argument.
  --- > #{ port: 80 } at: 'port' | ifNil: 8080 ⇒ 80
  ["ifNil:"] = function(self) return self end,
  --- Object -<any> ifNotNil:<Block(value)|Object?>action
  --- The value of the block, which gets the receiver; of nil, nil. An argument other than a block is answered as it is.
  --- > 3 ifNotNil: { :n | n + 1 } ⇒ 4
  ["ifNotNil:"] = function(self, block) return K.valueOf(block, self) end,
  --- Object -<any> ifNil:<Block()|Object?>fallback ifNotNil:<Block(value)|Object?>action
  --- The value of the second block, which gets the receiver; of nil, the value of the first block.
  --- > 3 ifNil: { 0 } ifNotNil: { :n | n + 1 } ⇒ 4
  ["ifNil:ifNotNil:"] = function(self, _, block) return K.valueOf(block, self) end,
  --- Object -<any> ifNotNil:<Block(value)|Object?>action ifNil:<Block()|Object?>fallback
  --- The value of the first block, which gets the receiver; of nil, the value of the second block.
  --- > 3 ifNotNil: { :n | n + 1 } ifNil: { 0 } ⇒ 4
  ["ifNotNil:ifNil:"] = function(self, block) return K.valueOf(block, self) end,
  --- Object -<self?> if:<Block()|Boolean|Number?>condition
  --- The value itself where the condition holds, otherwise nil.
  --- > [ 'admin' if: 3 > 2, 'guest' if: 3 < 2 ] ⇒ [ 'admin', nil ]
  ["if:"] = function(self, condition)
    if type(condition) == "function" then condition = condition() end
    if K.truth(condition) then return self end
    return nil
  end,
  --- Object -<self?> unless:<Block()|Boolean|Number?>condition
  --- nil where the condition holds, otherwise the value itself: the opposite of `if:`.
  --- > 'guest' unless: 3 < 2 ⇒ 'guest'
  ["unless:"] = function(self, condition)
    if type(condition) == "function" then condition = condition() end
    if K.truth(condition) then return nil end
    return self
  end,
  --- Object -<Boolean> isKindOf:<Class>class
  --- Object -<Boolean> isKindOfClass:<Class>class
  --- Whether the value is an instance of the class or of a class below it.
  --- > 3 isKindOf: Object ⇒ true
  ["isKindOf:"] = isKindOf,
  ["isKindOfClass:"] = isKindOf,
  --- Object -<Boolean> isMemberOfClass:<Class>class
  --- Whether the value is an instance of exactly this class, unlike `isKindOf:`, which also accepts classes below it.
  --- > 3 isMemberOfClass: Object ⇒ false
  ["isMemberOfClass:"] = function(self, class) return classOf(self) == class end,
  --- Object -<Boolean> respondsTo:<String>selector
  --- Object -<Boolean> respondsToSelector:<String>selector
  --- Whether the value has a method for the selector.
  --- > 3 respondsTo: 'uppercase' ⇒ false
  ["respondsTo:"] = respondsTo,
  ["respondsToSelector:"] = respondsTo,
  --- Object -<any> perform:<String>selector
  --- Object -<any> performSelector:<String>selector
  --- Sends the message with this selector, which takes no argument, and answers its value.
  --- > 'abc' perform: 'uppercase' ⇒ 'ABC'
  ["perform:"] = perform,
  ["performSelector:"] = perform,
  --- Object -<any> perform:<String>selector with:<any?>argument
  --- Object -<any> performSelector:<String>selector withObject:<any?>argument
  --- Sends the message with this selector and one argument, and answers its value.
  --- > 3 perform: '+' with: 4 ⇒ 7
  ["perform:with:"] = performWith,
  ["performSelector:withObject:"] = performWith,
  --- Object -<any> perform:<String>selector with:<any?>first with:<any?>second
  --- Object -<any> performSelector:<String>selector withObject:<any?>first withObject:<any?>second
  --- Sends the message with this selector and two arguments, and answers its value.
  --- > 'a-b' perform: 'replace:with:' with: '-' with: '+' ⇒ 'a+b'
  ["perform:with:with:"] = performWithWith,
  ["performSelector:withObject:withObject:"] = performWithWith,
  --- Object -<any> perform:<String>selector withArguments:<Collection>arguments
  --- Sends the message with this selector and the elements of a collection as its arguments.
  --- > 3 perform: 'between:and:' withArguments: [1, 5] ⇒ true
  ["perform:withArguments:"] = performWithArguments,
  --- Object -<Boolean> isString
  --- Object -<Boolean> isNumber
  --- Object -<Boolean> isBoolean
  --- Object -<Boolean> isBlock
  --- Object -<Boolean> isCollection
  --- Object -<Boolean> isArray
  --- Object -<Boolean> isDictionary
  --- Object -<Boolean> isStream
  --- Whether the value is of the kind that the message names.
  --- > [1] isArray ⇒ true
  ["isString"] = never, ["isNumber"] = never, ["isBoolean"] = never, ["isBlock"] = never,
  ["isCollection"] = never, ["isArray"] = never, ["isDictionary"] = never, ["isStream"] = never,
  --- Object -<self> yourself
  --- Object -<self> self
  --- The value itself, as the last message of a cascade.
  --- > MutableArray new add: 3; add: 4; yourself ⇒ [3, 4]
  ["yourself"] = function(self) return self end,
  ["self"] = function(self) return self end,
  --- Object -<any> doesNotUnderstand:<Message>message
  --- Answers a message that no method answers: an error with a suggestion. A class of the program may answer something
  --- else.
  --- > 3 frobnicate ⇒ error: a Number (3) does not understand frobnicate
  ["doesNotUnderstand:"] = doesNotUnderstand,
  --- Object -<self> should:<any?>expected
  --- The value itself where it equals the argument; otherwise an error of the kind `expectation`, which shows of long
  --- values where they differ. For tests.
  --- > 3 + 4 should: 8 ⇒ error: expected 8 but got 7
  ["should:"] = function(self, expected)
    if K.eq(self, expected) then return self end
    throw("expectation", K.unexpected(K.repr(expected), K.repr(self)),
      { i_expected = expected, i_actual = self })
  end,
  --- Object -<self> shouldNot:<any?>unexpected
  --- The value itself where it differs from the argument; otherwise an error of the kind `expectation`. For tests.
  --- > 3 + 4 shouldNot: 7 ⇒ error: expected anything but 7
  ["shouldNot:"] = function(self, unexpected)
    if not K.eq(self, unexpected) then return self end
    throw("expectation", "expected anything but " .. K.repr(unexpected), { i_actual = self })
  end,
}
K.methods(Object, shared)
K.classMethods(Object, shared)

-- nil answers nil to everything else; what is expected of it must still be checked.
K.methods(K.classes.Nil, {
  --- -<Boolean> isNil
  --- Whether the value is nil: true.
  --- > nil isNil ⇒ true
  ["isNil"] = function() return true end,
  --- -<Boolean> isNotNil
  --- -<Boolean> notNil
  --- Whether the value is other than nil: false.
  --- > nil notNil ⇒ false
  ["isNotNil"] = function() return false end,
  ["notNil"] = function() return false end,
  --- -<any> ifNil:<Block()|Object?>fallback
  --- The value of the block, or the argument where it is no block.
  --- > nil ifNil: 8080 ⇒ 8080
  ["ifNil:"] = function(_, block) return K.valueOf(block) end,
  --- -<any> ifNotNil:<Block(value)|Object?>action
  --- nil: the block does not run.
  --- > nil ifNotNil: { :n | n + 1 } ⇒ nil
  ["ifNotNil:"] = function() return nil end,
  --- -<any> ifNil:<Block()|Object?>fallback ifNotNil:<Block(value)|Object?>action
  --- The value of the first block.
  --- > nil ifNil: { 0 } ifNotNil: { :n | n + 1 } ⇒ 0
  ["ifNil:ifNotNil:"] = function(_, block) return K.valueOf(block) end,
  --- -<any> ifNotNil:<Block(value)|Object?>action ifNil:<Block()|Object?>fallback
  --- The value of the second block.
  --- > nil ifNotNil: { :n | n + 1 } ifNil: { 0 } ⇒ 0
  ["ifNotNil:ifNil:"] = function(_, _, block) return K.valueOf(block) end,
  --- -<Boolean> isEqual:<any?>other
  --- -<Boolean> = <any?>other
  --- Whether the argument is nil, too.
  --- > nil = false ⇒ false
  ["isEqual:"] = function(_, other) return other == nil end,
  --- -<Boolean> isNotEqualTo:<any?>other
  --- -<Boolean> ≠ <any?>other
  --- Whether the argument is other than nil.
  --- > nil ≠ false ⇒ true
  ["isNotEqualTo:"] = function(_, other) return other ~= nil end,
  --- As in Object.
  ["should:"] = function(_, expected)
    if expected == nil then return nil end
    throw("expectation", "expected " .. K.repr(expected) .. " but got nil",
      { i_expected = expected })
  end,
  --- As in Object.
  ["shouldNot:"] = function(_, unexpected)
    if unexpected ~= nil then return nil end
    throw("expectation", "expected anything but nil")
  end,
  --- -<any> yourself
  --- Answers nil.
  --- > nil yourself ⇒ nil
  ["yourself"] = function() return nil end,
  -- By name as written out: `nil perform: 'not'` is true.
  --- As in Object.
  ["perform:"] = perform,
  --- As in Object.
  ["performSelector:"] = perform,
  --- As in Object.
  ["perform:with:"] = performWith,
  --- As in Object.
  ["performSelector:withObject:"] = performWith,
  --- As in Object.
  ["perform:with:with:"] = performWithWith,
  --- As in Object.
  ["performSelector:withObject:withObject:"] = performWithWith,
  --- As in Object.
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

--- Object -<self> required
--- The value itself; an error of the kind `notSet` where it is nil or an empty text. In a request, what a client left
--- out is an error of the kind `invalid`.
--- > ref:env:HOME value required notNil ⇒ true
K.methods(Object, { ["required"] = function(self) return self end })
--- Nil -<any> required
--- An error of the kind `notSet` that names the reference.
--- > nil required ⇒ error: nil is not set
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
  --- -<self> init
  --- Prepares a new object; `new` sends it and answers its value. A class of the program may define it.
  --- > Object new init description ⇒ 'an Object'
  ["init"] = function(self) return self end,
  --- -<Class> class
  --- The class of the value.
  --- > 3 class ⇒ Number
  ["class"] = classOf,
  --- -<String> className
  --- The name of the value's class, in the original's style where the class has such a name. The name of `class` is
  --- plain.
  --- > [3] className ⇒ 'NSArray'
  ["className"] = function(self) return classOf(self):className() end,
  --- -<Class?> superclass
  --- The class above the value's class; nil where it is Object.
  --- > 3 superclass ⇒ Object
  ["superclass"] = function(self) return classOf(self)._super end,
  --- -<String> description
  --- What the value is called in texts: its class with an article. A class of the program may define it.
  --- > Object new description ⇒ 'an Object'
  ["description"] = function(self) return K.articleOf(classOf(self)._name) end,
  --- -<self> copy
  --- A new object with the same variables; the values in them are shared, unlike in a `deepCopy`. Observers stay
  --- behind.
  --- > list := [1]. other := list copy. other add: 2. list ⇒ [1]
  ["copy"] = function(self)
    if type(self) ~= "table" then return self end
    local copy = {}
    for key, value in pairs(self) do copy[key] = value end
    return unobserved(copy, getmetatable(self))
  end,
  --- -<any> mutableCopy
  --- A copy that can be changed: a MutableString of a text, otherwise the same as `copy`.
  --- > Object new mutableCopy class ⇒ Object
  ["mutableCopy"] = function(self) return self:copy() end,
  --- -<self> deepCopy
  --- A copy that shares nothing that can be changed. An object that is reached twice is copied once.
  --- > list := [[1]]. other := list deepCopy. other at: 0 | add: 2. list ⇒ [[1]]
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
  --- +<self> new
  --- A new instance, prepared by `init`.
  --- > Object new class ⇒ Object
  ["new"] = new,
  --- +<self> alloc
  --- A new instance without `init`, which the program sends.
  --- > Object alloc init class ⇒ Object
  ["alloc"] = alloc,
  --- +<Class> class
  --- The class of classes: Class.
  --- > Number class ⇒ Class
  ["class"] = function() return K.classes.Class end,
  --- +<String> className
  --- The name of the class, in the original's style where it has such a name. `name` answers the plain one.
  --- > Array className ⇒ 'NSArray'
  ["className"] = function(class) return class._original or class._name end,
  --- +<String> name
  --- +<String> description
  --- The name of the class.
  --- > Array name ⇒ 'Array'
  ["name"] = function(class) return class._name end,
  ["description"] = function(class) return class._name end,
  --- +<Class?> superclass
  --- The class above; nil of Object.
  --- > Number superclass ⇒ Object
  ["superclass"] = function(class) return class._super end,
  --- +<Array> subclasses
  --- The classes directly below.
  --- > Array subclasses ⇒ [MutableArray]
  ["subclasses"] = function(class)
    local list = {}
    for i = 1, #class._subs do list[i] = class._subs[i] end
    return K.array(list)
  end,
  --- +<Class> copy
  --- The class itself.
  --- > Number copy ⇒ Number
  ["copy"] = function(class) return class end,
  --- +<Boolean> isSubclassOf:<Class>other
  --- +<Boolean> isSubclassOfClass:<Class>other
  --- +<Boolean> inheritsFrom:<Class>other
  --- Whether the class is the other one or below it.
  --- > Array isSubclassOf: Collection ⇒ true
  ["isSubclassOf:"] = inherits,
  ["isSubclassOfClass:"] = inherits,
  ["inheritsFrom:"] = inherits,
  --- +<Boolean> instancesRespondTo:<String>selector
  --- +<Boolean> instancesRespondToSelector:<String>selector
  --- Whether instances of the class have a method for the selector.
  --- > String instancesRespondTo: 'uppercase' ⇒ true
  ["instancesRespondTo:"] = function(class, selector)
    return rawget(class._methods, nameOf(selector)) ~= nil
  end,
  ["instancesRespondToSelector:"] = function(class, selector)
    return rawget(class._methods, nameOf(selector)) ~= nil
  end,
  --- +<Array> instanceVariables
  --- The names of the instance variables, those of the classes above first.
  --- > Message instanceVariables ⇒ ['selector', 'arguments']
  ["instanceVariables"] = function(class)
    local list = {}
    for i = 1, #class._ivars do list[i] = class._ivars[i] end
    return K.array(list)
  end,
  --- +<Array> selectors
  --- The selectors of the methods that the class defines itself, sorted.
  --- > Message selectors includes: 'arguments' ⇒ true
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
