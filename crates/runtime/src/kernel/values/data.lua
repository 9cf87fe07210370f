-- Data: bytes. A String of the language is UTF-8 text; what is not text is Data.
local K = ...
local type, setmetatable = type, setmetatable
local byte, sub, gsub, char = string.byte, string.sub, string.gsub, string.char
local throw = K.throw

--- A sequence of bytes, such as the content of a file: `'text' asData`, `#Data[ 1, 2, 255 ]`. `append:` changes it. A
--- String is always UTF-8 text; what is not text is Data.
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
  --- -<Number> count
  --- -<Number> length
  --- -<Number> size
  --- -<Number> byteCount
  --- How many bytes the data has.
  --- > 'naïve' asData count ⇒ 6
  ["length"] = size, ["count"] = size, ["size"] = size, ["byteCount"] = size,
  --- -<Boolean> isEmpty
  --- Whether the data has no bytes.
  --- > Data new isEmpty ⇒ true
  ["isEmpty"] = function(self) return self._bytes == "" end,
  --- -<Boolean> notEmpty
  --- Whether the data has bytes.
  --- > 'abc' asData notEmpty ⇒ true
  ["notEmpty"] = function(self) return self._bytes ~= "" end,
  --- -<Number> at:<Number>index
  --- The byte at a position from 0, as a number from 0 to 255. An error outside the data.
  --- > 'abc' asData at: 0 ⇒ 97
  ["at:"] = function(self, index)
    index = K.expectInteger(index, "at:")
    if index < 0 or index >= #self._bytes then K.outOfRange(index, #self._bytes, "empty Data") end
    return byte(self._bytes, index + 1)
  end,
  --- -<Array> bytes
  --- All bytes as numbers from 0 to 255.
  --- > 'abc' asData bytes ⇒ [97, 98, 99]
  ["bytes"] = function(self)
    local list, bytes = {}, self._bytes
    for i = 1, #bytes do list[i] = byte(bytes, i) end
    return K.array(list)
  end,
  --- -<String> stringValue
  --- -<String> asString
  --- The bytes as text. An error if they are not UTF-8.
  --- > 'abc' asData stringValue ⇒ 'abc'
  ["stringValue"] = text, ["asString"] = text,
  --- -<self> asData
  --- The data itself.
  --- > 'abc' asData asData count ⇒ 3
  ["asData"] = function(self) return self end,
  --- -<Data> , <Data|String>other
  --- -<Data> concat:<Data|String>other
  --- New Data: the bytes of the receiver, followed by those of the other.
  --- > 'ab' asData , 'c' ⇒ 'abc' asData
  ["concat:"] = function(self, other) return K.data(self._bytes .. bytesOf(other, ",")) end,
  --- -<self> append:<Data|String>other
  --- -<self> appendData:<Data|String>other
  --- -<self> ! <Data|String>other
  --- -<self> writeObject:<Data|String>other
  --- Adds bytes to the end of the data and answers the data. `,` makes new Data instead.
  --- > data := Data new. data append: 'ab'; append: 'c'. data ⇒ 'abc' asData
  ["append:"] = append, ["appendData:"] = append, ["writeObject:"] = append,
  --- -<Data> subdataWithRange:<Interval>range
  --- New Data with the bytes at these positions from 0, both ends included. An error outside the data.
  --- > 'abcdef' asData subdataWithRange: (1 to: 3) ⇒ 'bcd' asData
  ["subdataWithRange:"] = part,
  --- -<Boolean> hasPrefix:<Data|String>prefix
  --- Whether the data begins with these bytes.
  --- > 'abc' asData hasPrefix: 'ab' ⇒ true
  ["hasPrefix:"] = function(self, prefix)
    prefix = bytesOf(prefix, "hasPrefix:")
    return sub(self._bytes, 1, #prefix) == prefix
  end,
  --- -<String> hex
  --- The bytes as hexadecimal digits in lower case. `hexDecoded` reads them.
  --- > 'hello' asData hex ⇒ '68656c6c6f'
  ["hex"] = function(self) return hex(self._bytes) end,
  --- -<String> base64
  --- The bytes in base 64 (RFC 4648) with padding. `base64Decoded` reads it.
  --- > 'hello?>' asData base64 ⇒ 'aGVsbG8/Pg=='
  ["base64"] = function(self) return encode(self._bytes) end,
  --- -<Number|BigInteger> intValue
  --- The whole number that the bytes write as text. An error if they are not UTF-8.
  --- > '42' asData intValue ⇒ 42
  ["intValue"] = function(self) return text(self):intValue() end,
  --- -<Array> lines
  --- The lines of the bytes as text. An error if they are not UTF-8.
  --- > 'abc' asData lines ⇒ ['abc']
  ["lines"] = function(self) return text(self):lines() end,
  --- -<Boolean> = <any>other
  --- -<Boolean> isEqual:<any>other
  --- Whether the other is Data with the same bytes. A text is never equal. To compare secrets see `isSecret:`.
  --- > 'abc' asData = #Data[97, 98, 99] ⇒ true
  ["isEqual:"] = function(self, other)
    return type(other) == "table" and other._isData == true and other._bytes == self._bytes
  end,
  --- -<Data> copy
  --- -<Data> mutableCopy
  --- New Data with the same bytes.
  --- > data := 'ab' asData. data copy append: 'c'. data ⇒ 'ab' asData
  ["copy"] = function(self) return K.data(self._bytes) end,
  ["mutableCopy"] = function(self) return K.data(self._bytes) end,
  --- -<String> description
  --- The bytes as text if they are UTF-8, otherwise how many they are.
  --- > #Data[0, 255] description ⇒ 'Data of 2 bytes'
  ["description"] = function(self)
    if K.isUtf8(self._bytes) then return self._bytes end
    return "Data of " .. #self._bytes .. " bytes"
  end,
})
K.method(Data, "_keyText", function(self) return "D" .. #self._bytes .. ":" .. self._bytes end)
K.method(Data, "_frozen", function(self) return K.data(self._bytes) end)
K.methods(K.classes.String, {
  --- -<String> base64
  --- The UTF-8 bytes of the text in base 64 (RFC 4648) with padding.
  --- > 'hello?>' base64 ⇒ 'aGVsbG8/Pg=='
  ["base64"] = encode,
  --- -<Data> base64Decoded
  --- The bytes that the text writes in base 64. Blanks and missing padding are allowed; any other text is an error.
  --- > 'aGVsbG8/Pg==' base64Decoded ⇒ 'hello?>' asData
  ["base64Decoded"] = function(self) return K.data(decode(self)) end,
  --- -<String> hex
  --- The UTF-8 bytes of the text as hexadecimal digits in lower case.
  --- > 'hello' hex ⇒ '68656c6c6f'
  ["hex"] = hex,
})
K.classMethods(Data, {
  --- +<Data> new
  --- +<Data> alloc
  --- +<Data> data
  --- Data without bytes.
  --- > Data new count ⇒ 0
  ["new"] = function() return K.data("") end,
  ["alloc"] = function() return K.data("") end,
  ["data"] = function() return K.data("") end,
  --- +<Data> fromArray:<Array>list
  --- Data with these bytes, each a whole number from 0 to 255. `#Data[ … ]` means the same.
  --- > Data fromArray: [97, 98] ⇒ 'ab' asData
  ["fromArray:"] = function(_, list)
    list = K.elementsOf(list, "fromArray:")
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

--- String -<Data> asData
--- Number -<Data> asData
--- BigInteger -<Data> asData
--- Boolean -<Data> asData
--- The UTF-8 bytes of the value as text.
--- > 'abc' asData bytes ⇒ [97, 98, 99]
local function asData(self) return K.data(K.str(self)) end
for _, name in ipairs { "String", "Number", "BigInteger", "Boolean" } do
  K.methods(K.classes[name], { ["asData"] = asData })
end
