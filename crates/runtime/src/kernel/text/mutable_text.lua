-- Mutable strings: text put together piece by piece. Everything a String answers, a mutable one
-- answers for its present text; both count as equal when their texts are.
local K = ...
local type, setmetatable = type, setmetatable
local String = K.classes.String

local MutableString = K.newClass("MutableString", String)
K.alias("NSMutableString", MutableString)
K.method(MutableString, "_isText", true)
K.method(MutableString, "_equalsPlain", true)

-- The pieces are joined when the text is asked for.
local function text(self)
  if self._pieces > 1 then
    self._parts, self._pieces = { K.joinTexts(self._parts, self._pieces, "") }, 1
  end
  return self._parts[1] or ""
end

local function append(self, value)
  local n = self._pieces + 1
  self._parts[n], self._pieces = K.str(value), n
  return self
end

local function set(self, value)
  self._parts, self._pieces = { K.str(value) }, 1
  return self
end

function K.mutableText(value)
  return setmetatable({ _parts = { value }, _pieces = 1 }, MutableString._methods)
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
  ["append:"] = append, ["appendString:"] = append, ["writeObject:"] = append, ["print:"] = append,
  ["writeString:"] = append,
  ["println:"] = function(self, value) return append(append(self, value), "\n") end,
  ["appendFormat:"] = function(self, pattern) return append(self, K.format(pattern, {}, 0)) end,
  ["appendFormat:with:"] = function(self, pattern, value)
    return append(self, K.expectText(pattern, "appendFormat:with:"):format_(value))
  end,
  ["setString:"] = set,
  ["insertString:atIndex:"] = insertAt, ["insert:at:"] = insertAt,
  ["deleteCharactersInRange:"] = function(self, range)
    local from, to = K.rangeOf(range, K.length(text(self)), "deleteCharactersInRange:")
    return splice(self, from, to, "")
  end,
  ["replaceCharactersInRange:withString:"] = function(self, range, new)
    local from, to = K.rangeOf(range, K.length(text(self)), "replaceCharactersInRange:withString:")
    return splice(self, from, to, K.str(new))
  end,
  ["replaceOccurrencesOfString:withString:"] = replaceAll,
  ["replaceAll:with:"] = replaceAll,
  ["at:put:"] = function(self, index, value)
    text(self):at_(index)
    splice(self, index, index + 1, K.str(value))
    return value
  end,
  ["removeAll"] = function(self) return set(self, "") end,
  ["isEqual:"] = function(self, other)
    if type(other) == "string" then return text(self) == other end
    return type(other) == "table" and other._isText == true and other:_string() == text(self)
  end,
  ["isNotEqualTo:"] = function(self, other) return not self:isEqual_(other) end,
  ["mutableCopy"] = function(self) return K.mutableText(text(self)) end,
  ["yourself"] = function(self) return self end,
  ["self"] = function(self) return self end,
  ["class"] = K.classOf,
  ["className"] = function(self) return K.classOf(self):className() end,
  ["isKindOf:"] = K.isKind, ["isKindOfClass:"] = K.isKind,
  ["isMemberOfClass:"] = function(self, class) return K.classOf(self) == class end,
  ["isIdenticalTo:"] = rawequal,
  ["ifNil:"] = function(self) return self end,
  ["if:"] = K.classes.Object._methods.if_,
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
  return setmetatable({ _parts = {}, _pieces = 0 }, class._methods)
end
K.classMethods(MutableString, {
  ["new"] = empty, ["alloc"] = empty, ["string"] = empty, ["stringWithCapacity:"] = empty,
  ["stringWithString:"] = function(class, value) return append(empty(class), value) end,
})

K.methods(String, { ["mutableCopy"] = function(text) return K.mutableText(text) end })
