-- JSON text from any value (RFC 8259): `K.json`. Objects write their instance variables, unless
-- they say otherwise with `jsonRepresentation`, `asDictionary` or `writeOnJSONStream:`.
local K = ...
local type, rawget, getmetatable, ipairs = type, rawget, getmetatable, ipairs
local find, gsub, format, byte, sub = string.find, string.gsub, string.format, string.byte,
  string.sub
local concat = table.concat
local throw, numberText = K.throw, K.numberText
local NULL = K.NULL

-- Arrays and objects inside each other.
local DEPTH = 128

local escapes = {
  ['"'] = '\\"', ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ["\b"] = "\\b",
  ["\f"] = "\\f",
}
local function escaped(char)
  return escapes[char] or format("\\u%04x", byte(char))
end

local UNPLAIN = '[%z\1-\31"\\]'
local function escapedPiece(text) return (gsub(text, UNPLAIN, escaped)) end

local function quote(text)
  if not K.hasNone(text, UNPLAIN) then text = K.pieces(text, escapedPiece, nil, 16384) end
  return '"' .. text .. '"'
end
K.jsonQuote = quote

local write

-- What an object writes for each instance variable: `"title":`, kept by class until it gets more.
local fieldsOf = setmetatable({}, { __mode = "k" })

local function fields(class)
  local known = fieldsOf[class]
  local many = class._ivars[1] and K.manyOfClass(class)
  if known and known.n == #class._ivars and known.many == many then return known end
  -- Related rows come last: they are written where they were read.
  local names, last = {}, {}
  for _, name in ipairs(class._ivars) do
    local list = many[name] and last or names
    list[#list + 1] = name
  end
  for _, name in ipairs(last) do names[#names + 1] = name end
  known = { n = #names, many = many }
  for i, name in ipairs(names) do
    known[i] = { key = K.ivarKey(name), isMany = many[name] ~= nil,
      text = (i > 1 and "," or "{") .. quote(name) .. ":" }
  end
  fieldsOf[class] = known
  return known
end

local function writeObject(out, n, object, depth)
  local methods = getmetatable(object)
  if rawget(methods, "writeOnJSONStream_") then
    local writer = K.classes.JSONWriter:new()
    object:writeOnJSONStream_(writer)
    out[n + 1] = writer:stringValue()
    return n + 1
  end
  if rawget(methods, "jsonRepresentation") then
    return write(out, n, object:jsonRepresentation(), depth + 1)
  end
  if rawget(methods, "asDictionary") then return write(out, n, object:asDictionary(), depth + 1) end
  local list = fields(K.classOf(object))
  for i = 1, list.n do
    local field = list[i]
    local value = rawget(object, field.key)
    if value ~= nil or not field.isMany then
      n = n + 1
      out[n] = field.text
      n = write(out, n, value, depth + 1)
    end
  end
  n = n + 1
  out[n] = list.n == 0 and "{}" or "}"
  return n
end

local function tooDeep()
  throw("invalid", "JSON goes " .. DEPTH .. " levels deep at most; does a value contain itself?")
end

-- Appends the text of a value to the list of n parts; answers the new n.
function write(out, n, value, depth)
  local kind = type(value)
  n = n + 1
  if kind == "string" then
    out[n] = quote(value)
    return n
  elseif kind == "number" then
    -- JSON has no infinities and nothing that is not a number.
    out[n] = value - value == 0 and numberText(value) or "null"
    return n
  elseif kind == "boolean" then
    out[n] = value and "true" or "false"
    return n
  elseif value == nil or value == NULL then
    out[n] = "null"
    return n
  elseif kind ~= "table" then
    throw("typeError", K.nameOf(value) .. " has no JSON form")
  end
  if depth > DEPTH then tooDeep() end
  if K.isClass(value) then
    out[n] = quote(value._name)
    return n
  end
  if value._json then return value:_json(out, n - 1, depth) end
  return writeObject(out, n - 1, value, depth)
end

K.method(K.classes.Collection, "_json", function(self, out, n, depth)
  local list = self:_elements()
  n = n + 1
  out[n] = "["
  for i = 1, #list do
    if i > 1 then
      n = n + 1
      out[n] = ","
    end
    n = write(out, n, list[i], depth + 1)
  end
  n = n + 1
  out[n] = "]"
  return n
end)

K.method(K.classes.Dictionary, "_json", function(self, out, n, depth)
  local keys, map = K.keysOf(self), self._map
  n = n + 1
  out[n] = "{"
  for i = 1, self._n do
    local key = keys[i]
    n = n + 1
    out[n] = (i > 1 and "," or "") .. quote(type(key) == "string" and key or K.str(key)) .. ":"
    n = write(out, n, map[key], depth + 1)
  end
  n = n + 1
  out[n] = "}"
  return n
end)

-- Kinds of values that are written as one plain value.
local function plain(class, convert)
  K.method(class, "_json", function(self, out, n, depth)
    return write(out, n, convert(self), depth)
  end)
end
plain(K.classes.Date, function(self) return self:description() end)
plain(K.classes.Duration, function(self) return self._seconds end)
plain(K.classes.ByteSize, function(self) return self._bytes end)
plain(K.classes.Day, function(self) return self._text end)
plain(K.classes.TimeOfDay, function(self) return self._text end)
plain(K.classes.Period, function(self) return self:description() end)
plain(K.classes.Pattern, function(self) return self._source end)
plain(K.classes.Match, function(self) return self:text() end)
plain(K.classes.MutableString, function(self) return self:_string() end)
plain(K.classes.Data, function(self)
  return K.isUtf8(self._bytes) and self._bytes or self:base64()
end)
plain(K.classes.Point, function(self)
  return K.literalDictionary({ "x", "y" }, { self.i_x, self.i_y }, 2)
end)
plain(K.classes.Rectangle, function(self)
  return K.literalDictionary({ "origin", "size" }, { self.i_origin, self.i_size }, 2)
end)
-- Numbers with all their digits.
for _, name in ipairs { "BigInteger", "Decimal" } do
  K.method(K.classes[name], "_json", function(self, out, n)
    out[n + 1] = self:description()
    return n + 1
  end)
end

-- The JSON text of a value. The native writer answers nil where it meets a value that only its
-- class knows how to write.
function K.json(value)
  local native = K.native.json
  local text = native and native(value)
  if text then return text end
  local out = {}
  return K.joinTexts(out, write(out, 0, value, 1), "")
end

-- The same, indented by two blanks for people. Works on the text, outside its strings.
function K.prettyJson(text)
  local out, n, level, at = {}, 0, 0, 1
  local chunks, count = {}, 0
  local function add(part)
    -- One part a character would take many times the memory of the text.
    if n == 4096 then
      count = count + 1
      chunks[count], n = concat(out, "", 1, n), 0
    end
    n = n + 1
    out[n] = part
  end
  while at <= #text do
    local char = sub(text, at, at)
    if char == '"' then
      local from = at
      repeat
        at = find(text, '["\\]', at + 1)
        local isEscape = byte(text, at) == 92
        if isEscape then at = at + 1 end
      until not isEscape
      add(sub(text, from, at))
    elseif (char == "[" or char == "{") and not find(text, "^[%]}]", at + 1) then
      level = level + 1
      add(char .. "\n" .. string.rep("  ", level))
    elseif (char == "]" or char == "}") and not find(sub(text, at - 1, at - 1), "[%[{]") then
      level = level - 1
      add("\n" .. string.rep("  ", level) .. char)
    elseif char == "," then
      add(",\n" .. string.rep("  ", level))
    elseif char == ":" then
      add(": ")
    else
      add(char)
    end
    at = at + 1
  end
  chunks[count + 1] = concat(out, "", 1, n)
  return K.joinTexts(chunks, count + 1, "")
end

local function toJson(self) return K.json(self) end
local messages = {
  --- Object -<String> asJSON
  --- Object -<String> toJSON
  --- Object -<String> JSONString
  --- Object -<String> jsonString
  --- The value as JSON (RFC 8259). An object writes its instance variables, or the value of its own
  --- `jsonRepresentation` or `asDictionary`. More than 128 levels are an error.
  --- > #{ id: 1, tags: ['a'] } asJSON ⇒ '{"id":1,"tags":["a"]}'
  ["asJSON"] = toJson, ["toJSON"] = toJson, ["JSONString"] = toJson, ["jsonString"] = toJson,
  --- Object -<String> asPrettyJSON
  --- The value as JSON in lines, indented by two blanks for each level.
  --- > [1] asPrettyJSON lines ⇒ ['[', '  1', ']']
  ["asPrettyJSON"] = function(self) return K.prettyJson(K.json(self)) end,
}
K.methods(K.classes.Object, messages)
-- Strings of either kind already have wrappers that see plain text.
K.methods(K.classes.MutableString, messages)
