-- Data: bytes. A String of the language is UTF-8 text; what is not text is Data.
local K = ...
local type, setmetatable, floor = type, setmetatable, math.floor
local byte, sub, find, format, gsub, char =
  string.byte, string.sub, string.find, string.format, string.gsub, string.char
local concat = table.concat
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
  local i, n = 1, #text
  if not find(text, "[\128-\255]") then return true end
  while i <= n do
    local a, more, least, most = byte(text, i), 0, 0x80, 0xBF
    if a >= 0x80 then
      if a >= 0xC2 and a <= 0xDF then more = 1
      elseif a >= 0xE0 and a <= 0xEF then
        more = 2
        if a == 0xE0 then least = 0xA0 elseif a == 0xED then most = 0x9F end
      elseif a >= 0xF0 and a <= 0xF4 then
        more = 3
        if a == 0xF0 then least = 0x90 elseif a == 0xF4 then most = 0x8F end
      else
        return false
      end
      local b = byte(text, i + 1)
      if not b or b < least or b > most then return false end
      for j = i + 2, i + more do
        local c = byte(text, j)
        if not c or c < 0x80 or c > 0xBF then return false end
      end
    end
    i = i + more + 1
  end
  return true
end

-- Base 64 (RFC 4648, section 4) -----------------------------------------------------------------

local ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
local values = {}
for i = 1, 64 do values[byte(ALPHABET, i)] = i - 1 end

local function encode(bytes)
  local out, n = {}, 0
  for i = 1, #bytes, 3 do
    local a, b, c = byte(bytes, i, i + 2)
    local group = a * 65536 + (b or 0) * 256 + (c or 0)
    n = n + 1
    local first, second = floor(group / 262144), floor(group / 4096) % 64
    local third, fourth = floor(group / 64) % 64, group % 64
    out[n] = sub(ALPHABET, first + 1, first + 1) .. sub(ALPHABET, second + 1, second + 1)
      .. (b and sub(ALPHABET, third + 1, third + 1) or "=")
      .. (c and sub(ALPHABET, fourth + 1, fourth + 1) or "=")
  end
  return concat(out)
end

local function decode(text)
  text = gsub(gsub(text, "%s+", ""), "=+$", "")
  if find(text, "[^%w+/]") or #text % 4 == 1 then throw("invalid", "this is not base 64") end
  local out, n = {}, 0
  for i = 1, #text, 4 do
    local a, b, c, d = byte(text, i, i + 3)
    local group = values[a] * 262144 + values[b] * 4096 + (c and values[c] or 0) * 64 + (d
      and values[d] or 0)
    n = n + 1
    local all = char(floor(group / 65536), floor(group / 256) % 256, group % 256)
    out[n] = d and all or c and sub(all, 1, 2) or sub(all, 1, 1)
  end
  return concat(out)
end

local function hex(bytes)
  return (gsub(bytes, ".", function(one) return format("%02x", byte(one)) end))
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
    return K.data(concat(out))
  end,
})
