-- Data: bytes. A String of the language is UTF-8 text; what is not text is Data.
local K = ...
local type, setmetatable = type, setmetatable
local byte, sub, gsub, char = string.byte, string.sub, string.gsub, string.char
local throw = K.throw

local Data = K.newClass("Data", K.classes.Object)
K.alias("NSData", Data)
K.alias("NSMutableData", Data)
K.method(Data, "_isData", true)
K.method(Data, "_kind", K.kinds.data)

function K.data(bytes)
  return setmetatable({ _bytes = bytes }, Data._methods)
end
K.makeData = K.data

-- The bytes of Data or of a text.
local function bytesOf(value, selector)
  if type(value) == "table" and value._isData then return value._bytes end
  return K.expectText(value, selector)
end
K.bytesOf = bytesOf

-- Whether bytes are UTF-8 (RFC 3629: no overlong forms, no surrogates, nothing beyond U+10FFFF).
function K.isUtf8(text)
  local at, size = 1, #text
  while at <= size do
    local on = K.native.utf8Until(text, at)
    if on == at then return false end
    at = on
  end
  return true
end

-- Base 64 and hexadecimal digits ----------------------------------------------------------------

-- Bytes that are encoded in one call: a multiple of three, and of four.
local PIECE = 49152

-- What a native makes of the pieces of bytes.
local function inPieces(name)
  return function(bytes)
    local work, size = K.native[name], #bytes
    if size <= PIECE then return work(bytes, 1, size) end
    local parts, n = {}, 0
    for from = 1, size, PIECE do
      n = n + 1
      parts[n] = work(bytes, from, from + PIECE - 1)
    end
    return K.joinTexts(parts, n, "")
  end
end
-- RFC 4648, section 4.
local encode, decodeDigits, hex = inPieces("base64"), inPieces("base64Decoded"), inPieces("hex")

local function decode(text)
  text = K.pieces(text, function(piece) return (gsub(piece, "%s+", "")) end)
  local to = #text
  while byte(text, to) == 61 do to = to - 1 end
  if to % 4 == 1 then throw("invalid", "this is not base 64") end
  return decodeDigits(sub(text, 1, to))
end

-- Messages --------------------------------------------------------------------------------------

local function size(self) return #self._bytes end

local function part(self, range)
  local from, to = K.rangeOf(range, #self._bytes, "subdataWithRange:")
  return K.data(sub(self._bytes, from + 1, to))
end

local function append(self, other)
  self._bytes = self._bytes .. bytesOf(other, "appendData:")
  return self
end

local function text(self)
  if K.isUtf8(self._bytes) then return self._bytes end
  throw("invalid", "these " .. #self._bytes .. " bytes are not UTF-8 text")
end

K.methods(Data, {
  ["length"] = size, ["count"] = size, ["size"] = size, ["byteCount"] = size,
  ["isEmpty"] = function(self) return self._bytes == "" end,
  ["notEmpty"] = function(self) return self._bytes ~= "" end,
  ["at:"] = function(self, index)
    index = K.expectInteger(index, "at:")
    if index < 0 or index >= #self._bytes then K.outOfRange(index, #self._bytes, "empty Data") end
    return byte(self._bytes, index + 1)
  end,
  ["bytes"] = function(self)
    local list, bytes = {}, self._bytes
    for i = 1, #bytes do list[i] = byte(bytes, i) end
    return K.array(list)
  end,
  ["stringValue"] = text, ["asString"] = text,
  ["asData"] = function(self) return self end,
  ["concat:"] = function(self, other) return K.data(self._bytes .. bytesOf(other, ",")) end,
  ["append:"] = append, ["appendData:"] = append, ["writeObject:"] = append,
  ["subdataWithRange:"] = part,
  ["hasPrefix:"] = function(self, prefix)
    prefix = bytesOf(prefix, "hasPrefix:")
    return sub(self._bytes, 1, #prefix) == prefix
  end,
  ["hex"] = function(self) return hex(self._bytes) end,
  ["base64"] = function(self) return encode(self._bytes) end,
  ["intValue"] = function(self) return text(self):intValue() end,
  ["lines"] = function(self) return text(self):lines() end,
  ["isEqual:"] = function(self, other)
    return type(other) == "table" and other._isData == true and other._bytes == self._bytes
  end,
  ["copy"] = function(self) return K.data(self._bytes) end,
  ["mutableCopy"] = function(self) return K.data(self._bytes) end,
  ["description"] = function(self)
    if K.isUtf8(self._bytes) then return self._bytes end
    return "Data of " .. #self._bytes .. " bytes"
  end,
})
K.method(Data, "_keyText", function(self) return "D" .. self._bytes end)
K.method(Data, "_frozen", function(self) return K.data(self._bytes) end)
K.methods(K.classes.String, {
  ["base64"] = encode,
  ["base64Decoded"] = function(self) return K.data(decode(self)) end,
  ["hex"] = hex,
})
K.classMethods(Data, {
  ["new"] = function() return K.data("") end,
  ["alloc"] = function() return K.data("") end,
  ["data"] = function() return K.data("") end,
  ["fromArray:"] = function(_, list)
    local out = {}
    for i = 1, #list do
      local value = K.expectInteger(list[i], "#Data[…]")
      if value < 0 or value > 255 then
        throw("outOfRange", "a byte is from 0 to 255, not " .. K.str(value))
      end
      out[i] = char(value)
    end
    return K.data(K.joinTexts(out, #out, ""))
  end,
})

local function asData(self) return K.data(K.str(self)) end
for _, name in ipairs { "String", "Number", "BigInteger", "Boolean" } do
  K.methods(K.classes[name], { ["asData"] = asData })
end
