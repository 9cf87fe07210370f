-- Mutable strings: text put together piece by piece. Everything a String answers, a mutable one
-- answers for its present text; both count as equal when their texts are.
local K = ...
local type, setmetatable, floor, str = type, setmetatable, math.floor, K.str
local newBuffer = require("string.buffer").new
local String = K.classes.String

--- A text that can be changed, put together piece by piece. It understands the messages of String for its present text,
--- and equals a String with the same characters.
local MutableString = K.newClass("MutableString", String)
K.alias("NSMutableString", MutableString)
K.method(MutableString, "_isText", true)
K.method(MutableString, "_equalsPlain", true)

-- A text is either whole (`_whole`) or in a buffer of the engine, which takes appended pieces without making a text of
-- each, and becomes whole when the text is asked for.
local function text(self)
  local whole = self._whole
  if not whole then
    local pieces = self._pieces
    whole = pieces:tostring()
    pieces:free()
    self._whole, self._pieces = whole, false
  end
  return whole
end

local function begin(self)
  local pieces = newBuffer()
  pieces:put(self._whole)
  self._whole, self._pieces = false, pieces
  return pieces
end

local function append(self, value)
  local pieces = self._pieces or begin(self)
  if type(value) == "string" then
    pieces:put(value)
  elseif type(value) == "number" and value ~= 0 and value == floor(value) and value < 1e14 and value > -1e14 then
    pieces:put(value) -- writes such numbers as `K.str` does
  else
    -- Its description may ask for this text.
    value = str(value)
    pieces = self._pieces or begin(self)
    pieces:put(value)
  end
  return self
end

local function set(self, value)
  self._whole, self._pieces = str(value), false
  return self
end

function K.mutableText(value)
  return setmetatable({ _whole = value, _pieces = false }, MutableString._methods)
end

for name, method in pairs(String._methods) do
  if type(method) == "function" and not K.isInternal(name) then
    K.method(MutableString, name, function(self, a, b, c) return method(text(self), a, b, c) end)
  end
end
K.method(MutableString, "_string", text)
K.method(MutableString, "_elements", function(self) return text(self):_elements() end)

local function splice(self, from, to, new)
  local whole = text(self)
  return set(self, K.slice(whole, 0, from) .. new .. K.slice(whole, to, #whole))
end

local function expectPosition(self, index)
  local size = K.length(text(self))
  index = K.expectInteger(index, "insertString:atIndex:")
  if index < 0 or index > size then K.outOfRange(index, size + 1) end
  return index
end

local function insertAt(self, value, index)
  index = expectPosition(self, index)
  return splice(self, index, index, K.str(value))
end

local function replaceAll(self, old, new)
  return set(self, text(self):replace_with_(old, new))
end

K.methods(MutableString, {
  --- -<self> append:<any?>value
  --- -<self> appendString:<any?>value
  --- -<self> writeObject:<any?>value
  --- -<self> print:<any?>value
  --- -<self> writeString:<any?>value
  --- Adds the `stringValue` of a value at the end and answers the text itself, unlike `,`, which answers a new String.
  --- > 'ab' mutableCopy append: 'c'; append: 4 ⇒ 'abc4'
  ["append:"] = append, ["appendString:"] = append, ["writeObject:"] = append, ["print:"] = append,
  ["writeString:"] = append,
  --- -<self> println:<any?>value
  --- Adds the `stringValue` of a value and a line feed at the end.
  --- > 'a' mutableCopy println: 'b' | lines ⇒ ['ab']
  ["println:"] = function(self, value) return append(append(self, value), "\n") end,
  --- -<self> appendFormat:<String>format
  --- Adds a format without values at the end, in which `%%` is a percent sign.
  --- > '5' mutableCopy appendFormat: ' %%' ⇒ '5 %'
  ["appendFormat:"] = function(self, pattern) return append(self, K.format(pattern, {}, 0)) end,
  --- -<self> appendFormat:<String>format with:<any?>values
  --- Adds a format for one value, or for the elements of an array, at the end, as in `format:` of String.
  --- > 'no. ' mutableCopy appendFormat: '%03d' with: 7 ⇒ 'no. 007'
  ["appendFormat:with:"] = function(self, pattern, value)
    return append(self, K.expectText(pattern, "appendFormat:with:"):format_(value))
  end,
  --- -<self> setString:<any?>value
  --- Replaces the whole text by the `stringValue` of a value.
  --- > 'ab' mutableCopy setString: 'c' ⇒ 'c'
  ["setString:"] = set,
  --- -<self> insertString:<any?>value atIndex:<Number>position
  --- -<self> insert:<any?>value at:<Number>position
  --- Inserts the `stringValue` of a value before a position. A position beyond the end is an error.
  --- > 'ad' mutableCopy insert: 'bc' at: 1 ⇒ 'abcd'
  ["insertString:atIndex:"] = insertAt, ["insert:at:"] = insertAt,
  --- -<self> deleteCharactersInRange:<Interval>range
  --- Removes the characters at the positions of an interval. A position outside of the text is an error.
  --- > 'abcd' mutableCopy deleteCharactersInRange: (1 to: 2) ⇒ 'ad'
  ["deleteCharactersInRange:"] = function(self, range)
    local from, to = K.rangeOf(range, K.length(text(self)), "deleteCharactersInRange:")
    return splice(self, from, to, "")
  end,
  --- -<self> replaceCharactersInRange:<Interval>range withString:<any?>value
  --- Replaces the characters at the positions of an interval by the `stringValue` of a value.
  --- > 'abcd' mutableCopy replaceCharactersInRange: (1 to: 2) withString: '-' ⇒ 'a-d'
  ["replaceCharactersInRange:withString:"] = function(self, range, new)
    local from, to = K.rangeOf(range, K.length(text(self)), "replaceCharactersInRange:withString:")
    return splice(self, from, to, K.str(new))
  end,
  --- -<self> replaceOccurrencesOfString:<String|Pattern>old withString:<Block(match)|Object?>new
  --- -<self> replaceAll:<String|Pattern>old with:<Block(match)|Object?>new
  --- Replaces each occurrence in place, unlike `replace:with:`, which answers a new String.
  --- > text := 'a-b' mutableCopy. text replaceAll: '-' with: '+'. text ⇒ 'a+b'
  ["replaceOccurrencesOfString:withString:"] = replaceAll,
  ["replaceAll:with:"] = replaceAll,
  --- -<any> at:<Number>position put:<any?>value
  --- Replaces the character at a position by the `stringValue` of a value, and answers the value.
  --- > text := 'abc' mutableCopy. text at: 1 put: '-'. text ⇒ 'a-c'
  ["at:put:"] = function(self, index, value)
    text(self):at_(index)
    splice(self, index, index + 1, K.str(value))
    return value
  end,
  --- -<self> removeAll
  --- Removes all characters.
  --- > 'abc' mutableCopy removeAll isEmpty ⇒ true
  ["removeAll"] = function(self) return set(self, "") end,
  --- As in String.
  ["isEqual:"] = function(self, other)
    if type(other) == "string" then return text(self) == other end
    return type(other) == "table" and other._isText == true and other:_string() == text(self)
  end,
  --- As in Object.
  ["isNotEqualTo:"] = function(self, other) return not self:isEqual_(other) end,
  --- -<MutableString> mutableCopy
  --- Another MutableString with the same text. `copy` answers a String.
  --- > text := 'a' mutableCopy. text mutableCopy append: 'b'. text ⇒ 'a'
  ["mutableCopy"] = function(self) return K.mutableText(text(self)) end,
  --- As in Object.
  ["yourself"] = function(self) return self end,
  --- As in Object.
  ["self"] = function(self) return self end,
  --- As in Object.
  ["class"] = K.classOf,
  --- As in Object.
  ["className"] = function(self) return K.classOf(self):className() end,
  --- As in Object.
  ["isKindOf:"] = K.isKind, ["isKindOfClass:"] = K.isKind,
  --- As in Object.
  ["isMemberOfClass:"] = function(self, class) return K.classOf(self) == class end,
  --- As in Object.
  ["isIdenticalTo:"] = rawequal,
  --- As in Object.
  ["ifNil:"] = function(self) return self end,
  --- As in Object.
  ["if:"] = K.classes.Object._methods.if_,
  --- As in Object.
  ["unless:"] = K.classes.Object._methods.unless_,
})
-- These look their message up in the receiver itself.
for _, selector in ipairs {
  "perform:", "performSelector:", "perform:with:", "performSelector:withObject:",
  "perform:with:with:",
  "performSelector:withObject:withObject:", "perform:withArguments:", "respondsTo:",
  "respondsToSelector:", "doesNotUnderstand:", "ifNotNil:", "ifNil:ifNotNil:", "ifNotNil:ifNil:",
} do
  local name = K.mangle(selector)
  K.method(MutableString, name, K.classes.Object._methods[name])
end

local function empty(class)
  return setmetatable({ _whole = "", _pieces = false }, class._methods)
end
K.classMethods(MutableString, {
  --- +<self> new
  --- +<self> alloc
  --- +<self> string
  --- An empty text that can be changed.
  --- > MutableString new append: 'a' ⇒ 'a'

  --- +<self> stringWithCapacity:<Number>capacity
  --- An empty text that can be changed. The capacity has no effect.
  --- > MutableString stringWithCapacity: 100 | count ⇒ 0
  ["new"] = empty, ["alloc"] = empty, ["string"] = empty, ["stringWithCapacity:"] = empty,
  --- +<self> stringWithString:<any?>value
  --- A text that can be changed and begins with the `stringValue` of a value.
  --- > MutableString stringWithString: 'ab' | append: 'c' ⇒ 'abc'
  ["stringWithString:"] = function(class, value) return append(empty(class), value) end,
})

--- String -<MutableString> mutableCopy
--- A MutableString with the same text.
--- > 'ab' mutableCopy append: 'c' ⇒ 'abc'
K.methods(String, { ["mutableCopy"] = function(text) return K.mutableText(text) end })
