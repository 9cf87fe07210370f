-- Strings: immutable UTF-8. Positions and lengths that programs see count characters.
local K = ...
local type, floor = type, math.floor
local find, sub, byte, upper, lower, gsub = string.find, string.sub, string.byte, string.upper,
  string.lower, string.gsub
local concat = table.concat
local throw = K.throw

local String = K.newClass("String", K.classes.Object)
K.alias("NSString", String)
K.alias("Symbol", String)
K.typeMetatable("string", String, "")

-- Characters ------------------------------------------------------------------------------------

-- Programs walk one string at a time, so what was learnt of the last one is kept: whether it is
-- ASCII (a character is a byte), and otherwise where each character starts.
local lastText, lastAscii = "", true
local lastStarts, lastStartsText = { 1 }, nil

local function isAscii(text)
  if text ~= lastText then
    lastText, lastAscii = text, not find(text, "[\128-\255]")
  end
  return lastAscii
end

-- The byte positions at which the characters start, and one past the end.
local function starts(text)
  if text == lastStartsText then return lastStarts end
  local list, n = {}, 0
  for i = 1, #text do
    local code = byte(text, i)
    if code < 128 or code >= 192 or i == 1 then
      n = n + 1
      list[n] = i
    end
  end
  list[n + 1] = #text + 1
  lastStarts, lastStartsText = list, text
  return list
end

local function length(text)
  if isAscii(text) then return #text end
  return #starts(text) - 1
end
K.length = length

-- The characters from one position up to, but not including, another.
local function slice(text, from, to)
  if isAscii(text) then return sub(text, from + 1, to) end
  local at = starts(text)
  local n = #at - 1
  if from < 0 then from = 0 end
  if to > n then to = n end
  if from >= to then return "" end
  return sub(text, at[from + 1], at[to + 1] - 1)
end
K.slice = slice

-- The position of the character that a byte belongs to.
local function positionOf(text, bytePosition)
  if isAscii(text) then return bytePosition - 1 end
  local at = starts(text)
  local low, high = 1, #at
  while low < high do
    local middle = floor((low + high + 1) / 2)
    if at[middle] <= bytePosition then low = middle else high = middle - 1 end
  end
  return low - 1
end

function K.outOfRange(index, count, what)
  if count == 0 then
    throw("outOfRange", "index " .. K.str(index) .. " is outside " .. (what or "an empty Array"))
  end
  throw("outOfRange", "index " .. K.str(index) .. " is outside 0.." .. K.str(count - 1))
end

local function characterAt(text, index)
  if type(index) ~= "number" or index ~= floor(index) then
    throw("typeError", "a position in a String is a whole number, not " .. K.nameOf(index))
  end
  local n = length(text)
  if index < 0 or index >= n then K.outOfRange(index, n, "an empty String") end
  if lastAscii then return sub(text, index + 1, index + 1) end
  local at = starts(text)
  return sub(text, at[index + 1], at[index + 2] - 1)
end
K.characterAt = characterAt

-- The text of an argument that must be one.
local function expectText(value, selector)
  if type(value) == "string" then return value end
  if type(value) == "table" and value._isText then return value:_string() end
  throw("typeError", selector .. " expects a String, got " .. K.nameOf(value))
end
K.expectText = expectText

local function expectPosition(text, value, selector)
  local at, n = K.expectInteger(value, selector), length(text)
  if at < 0 or at > n then K.outOfRange(at, n + 1) end
  return at
end

local function characters(text)
  local list = {}
  if isAscii(text) then
    for i = 1, #text do list[i] = sub(text, i, i) end
    return list
  end
  local at = starts(text)
  for i = 1, #at - 1 do list[i] = sub(text, at[i], at[i + 1] - 1) end
  return list
end

-- The character of a code point.
function K.character(code)
  code = K.expectInteger(code, "asCharacter")
  local char = string.char
  if code < 0 or code > 0x10FFFF or code >= 0xD800 and code < 0xE000 then
    throw("outOfRange", K.str(code) .. " is not a character code")
  end
  if code < 0x80 then return char(code) end
  local low = 0x80 + code % 64
  if code < 0x800 then return char(0xC0 + floor(code / 64), low) end
  local middle = 0x80 + floor(code / 64) % 64
  if code < 0x10000 then return char(0xE0 + floor(code / 4096), middle, low) end
  return char(0xF0 + floor(code / 262144), 0x80 + floor(code / 4096) % 64, middle, low)
end

-- The code of the character at a byte position; bytes that are not UTF-8 count as themselves.
function K.codePoint(text, i)
  local a, b, c, d = byte(text, i or 1, (i or 1) + 3)
  if not a or a < 0xC2 or not b then return a end
  if a < 0xE0 then return (a - 0xC0) * 64 + b - 0x80 end
  if a < 0xF0 and c then return (a - 0xE0) * 4096 + (b - 0x80) * 64 + c - 0x80 end
  if d then return (a - 0xF0) * 262144 + (b - 0x80) * 4096 + (c - 0x80) * 64 + d - 0x80 end
  return a
end

-- Searching and replacing -----------------------------------------------------------------------

-- The parts of a text between the places where another stands, as a Lua table.
local function split(text, separator)
  if separator == "" then throw("typeError", "a String cannot be split at an empty String") end
  local parts, n, from = {}, 0, 1
  while true do
    local at, to = find(text, separator, from, true)
    n = n + 1
    if not at then
      parts[n] = sub(text, from)
      return parts
    end
    parts[n] = sub(text, from, at - 1)
    from = to + 1
  end
end
K.split = split

local function replace(text, old, new)
  old = expectText(old, "replace:with:")
  if old == "" or not find(text, old, 1, true) then return text end
  return concat(split(text, old), K.str(new))
end

local function indexOf(text, part)
  local at = find(text, expectText(part, "indexOf:"), 1, true)
  return at and positionOf(text, at)
end

local function lastIndexOf(text, part)
  part = expectText(part, "lastIndexOf:")
  for at = #text - #part + 1, 1, -1 do
    if sub(text, at, at + #part - 1) == part then return positionOf(text, at) end
  end
  return nil
end

local function hasPrefix(text, prefix)
  prefix = expectText(prefix, "hasPrefix:")
  return sub(text, 1, #prefix) == prefix
end

local function hasSuffix(text, suffix)
  suffix = expectText(suffix, "hasSuffix:")
  return suffix == "" or sub(text, -#suffix) == suffix
end

local function contains(text, part)
  return find(text, expectText(part, "contains:"), 1, true) ~= nil
end

-- Where a part stands, as an Interval of positions, or nil.
local function rangeOf(text, part)
  local at = indexOf(text, part)
  return at and K.interval(at, at + length(part) - 1, 1)
end

-- Case ------------------------------------------------------------------------------------------

-- Letters outside ASCII are the natives' business.
local function uppercase(text)
  if isAscii(text) then return upper(text) end
  return K.native.uppercase and K.native.uppercase(text) or upper(text)
end

local function lowercase(text)
  if isAscii(text) then return lower(text) end
  return K.native.lowercase and K.native.lowercase(text) or lower(text)
end

local function capitalizedWord(text)
  return uppercase(slice(text, 0, 1)) .. lowercase(slice(text, 1, #text))
end

local function capitalized(text)
  return (gsub(text, "[^%s%-]+", capitalizedWord))
end

local function trimmed(text)
  return (gsub(gsub(text, "^%s+", ""), "%s+$", ""))
end

-- Order -----------------------------------------------------------------------------------------

local function comparison(compare)
  return function(text, other)
    if type(other) ~= "string" then
      if type(other) ~= "table" or not other._isText then
        if other == nil then K.refuseNil(text) end
        throw("typeError", K.nameOf(text) .. " cannot be compared with " .. K.nameOf(other))
      end
      other = other:_string()
    end
    return compare(text, other)
  end
end

local function reversed(text)
  if isAscii(text) then return string.reverse(text) end
  local list = characters(text)
  local n = #list
  for i = 1, floor(n / 2) do list[i], list[n + 1 - i] = list[n + 1 - i], list[i] end
  return concat(list)
end

local function joined(text, other) return text .. K.str(other) end
local function itself(text) return text end
local function itsLength(text) return length(text) end

K.methods(String, {
  ["length"] = itsLength, ["count"] = itsLength, ["size"] = itsLength,
  ["byteCount"] = function(text) return #text end,
  ["isEmpty"] = function(text) return text == "" end,
  ["notEmpty"] = function(text) return text ~= "" end,
  ["isNotEmpty"] = function(text) return text ~= "" end,
  ["at:"] = characterAt,
  ["characterAtIndex:"] = characterAt,
  ["at:put:"] = function()
    throw("typeError", "a String cannot be changed; ask it for a mutableCopy")
  end,
  ["first"] = function(text) if text ~= "" then return slice(text, 0, 1) end end,
  ["last"] = function(text) if text ~= "" then return slice(text, length(text) - 1, #text) end end,
  ["first:"] = function(text, n)
    return slice(text, 0, math.max(0, K.expectInteger(n, "first:")))
  end,
  ["last:"] = function(text, n)
    local size = length(text)
    return slice(text, math.max(0, size - K.expectInteger(n, "last:")), size)
  end,
  ["allButFirst"] = function(text) return slice(text, 1, #text) end,
  ["allButLast"] = function(text) return slice(text, 0, math.max(0, length(text) - 1)) end,
  ["substringFromIndex:"] = function(text, from)
    return slice(text, expectPosition(text, from, "substringFromIndex:"), #text)
  end,
  ["from:"] = function(text, from)
    return slice(text, expectPosition(text, from, "from:"), #text)
  end,
  ["substringToIndex:"] = function(text, to)
    return slice(text, 0, expectPosition(text, to, "substringToIndex:"))
  end,
  ["from:to:"] = function(text, from, to)
    return slice(text, expectPosition(text, from, "from:to:"), expectPosition(text, to,
      "from:to:") + 1)
  end,
  ["copyFrom:to:"] = function(text, from, to)
    return slice(text, expectPosition(text, from, "copyFrom:to:"), expectPosition(text, to,
      "copyFrom:to:") + 1)
  end,
  ["substringWithRange:"] = function(text, range)
    local from, to = K.rangeOf(range, length(text), "substringWithRange:")
    return slice(text, from, to)
  end,
  ["uppercaseString"] = uppercase, ["uppercase"] = uppercase, ["asUppercase"] = uppercase,
  ["lowercaseString"] = lowercase, ["lowercase"] = lowercase, ["asLowercase"] = lowercase,
  ["capitalizedString"] = capitalized, ["capitalized"] = capitalized,
  ["trimmed"] = trimmed, ["trim"] = trimmed, ["stringByTrimmingWhitespace"] = trimmed,
  ["concat:"] = joined,
  ["stringByAppendingString:"] = function(text, other)
    return text .. expectText(other, "stringByAppendingString:")
  end,
  ["hasPrefix:"] = hasPrefix, ["startsWith:"] = hasPrefix, ["beginsWith:"] = hasPrefix,
  ["hasSuffix:"] = hasSuffix, ["endsWith:"] = hasSuffix,
  ["contains:"] = contains, ["containsString:"] = contains, ["includesSubstring:"] = contains,
  ["includes:"] = contains,
  ["indexOf:"] = indexOf, ["lastIndexOf:"] = lastIndexOf, ["rangeOfString:"] = rangeOf,
  ["replace:with:"] = replace, ["stringByReplacingOccurrencesOfString:withString:"] = replace,
  ["copyReplaceAll:with:"] = replace, ["replaceAll:with:"] = replace,
  ["isLessThan:"] = comparison(function(a, b) return a < b end),
  ["isGreaterThan:"] = comparison(function(a, b) return a > b end),
  ["isLessThanOrEqualTo:"] = comparison(function(a, b) return a <= b end),
  ["isGreaterThanOrEqualTo:"] = comparison(function(a, b) return a >= b end),
  ["compare:"] = comparison(function(a, b) return a < b and -1 or a > b and 1 or 0 end),
  ["caseInsensitiveCompare:"] = comparison(function(a, b)
    a, b = lowercase(a), lowercase(b)
    return a < b and -1 or a > b and 1 or 0
  end),
  ["isEqual:"] = function(text, other) return K.eq(text, other) end,
  ["isEqualToString:"] = function(text, other) return K.eq(text, other) end,
  ["sameAs:"] = function(text, other)
    return lowercase(text) == lowercase(expectText(other, "sameAs:"))
  end,
  ["max:"] = function(text, other) return K.lt(text, other) and other or text end,
  ["min:"] = function(text, other) return K.gt(text, other) and other or text end,
  ["add:"] = function(text, other)
    throw("typeError", K.nameOf(text) .. " cannot add " .. K.nameOf(other), {
      i_hint = "join texts with a comma, or convert with asNumber",
    })
  end,
  ["description"] = itself, ["stringValue"] = itself, ["asString"] = itself, ["asSymbol"] = itself,
  ["copy"] = itself,
  ["mutableCopy"] = function(text) return K.mutableText(text) end,
  ["asArray"] = function(text) return K.array(characters(text)) end,
  ["characters"] = function(text) return K.array(characters(text)) end,
  ["do:"] = function(text, block)
    local list = characters(text)
    K.expectBlock(block, "do:")
    for i = 1, #list do block(list[i]) end
  end,
  ["reversed"] = reversed, ["reverse"] = reversed,
})
-- Collection messages that end with an array see the characters.
K.method(String, "_elements", characters)
