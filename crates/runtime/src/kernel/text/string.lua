-- Strings: immutable UTF-8. Positions and lengths that programs see count characters.
local K = ...
local type, floor = type, math.floor
local find, sub, byte, upper, lower, gsub = string.find, string.sub, string.byte, string.upper,
  string.lower, string.gsub
local throw, expectText = K.throw, K.expectText
local PIECE, pieces, joinTexts, findText, split, afterCharacter =
  K.PIECE, K.pieces, K.joinTexts, K.findText, K.split, K.afterCharacter

local String = K.newClass("String", K.classes.Object)
K.alias("NSString", String)
K.alias("Symbol", String)
K.typeMetatable("string", String, "")

-- Characters ------------------------------------------------------------------------------------

-- Programs walk one string after the other, so facts about the last one are cached: whether it is
-- ASCII (a character is a byte), and otherwise where each character starts.
local lastText, lastAscii = "", true
local lastStarts, lastStartsText = { 1 }, nil
local lastMarks, lastMarksText = { 1 }, nil

local function isAscii(text)
  if text ~= lastText then
    local ascii
    if #text <= 256 then ascii = not find(text, "[\128-\255]") else ascii = K.native.isAscii(text) end
    lastText, lastAscii = text, ascii
  end
  return lastAscii
end

-- The byte positions at which the characters of a short text start, and one past the end.
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

-- Characters between two marks of a long text.
local BETWEEN = 1024

-- The byte positions at which each 1024th character of a long text starts, and how many characters it
-- has.
local function marks(text)
  if text == lastMarksText then return lastMarks end
  local native, list, n, at, size = K.native, { 1 }, 1, 1, #text
  while true do
    local after = native.charactersOn(text, at, BETWEEN)
    if after > size then break end
    n = n + 1
    list[n], at = after, after
  end
  list.count = (n - 1) * BETWEEN + native.countCharacters(text, at, size)
  lastMarks, lastMarksText = list, text
  return list
end

local function length(text)
  if isAscii(text) then return #text end
  if #text > PIECE then return marks(text).count end
  return #starts(text) - 1
end
K.length = length

-- The byte position of a character counted from 0; one past the end for what lies behind it.
local function startOf(text, index)
  if #text <= PIECE then return starts(text)[index + 1] or #text + 1 end
  local known = marks(text)
  if index >= known.count then return #text + 1 end
  local mark = floor(index / BETWEEN)
  if index == mark * BETWEEN then return known[mark + 1] end
  return K.native.charactersOn(text, known[mark + 1], index - mark * BETWEEN)
end

-- The characters from one position up to, but not including, another.
local function slice(text, from, to)
  if isAscii(text) then return sub(text, from + 1, to) end
  local n = length(text)
  if from < 0 then from = 0 end
  if to > n then to = n end
  if from >= to then return "" end
  return sub(text, startOf(text, from), startOf(text, to) - 1)
end
K.slice = slice

-- The position of the character that a byte belongs to.
local function positionOf(text, bytePosition)
  if isAscii(text) then return bytePosition - 1 end
  local at = #text > PIECE and marks(text) or starts(text)
  local low, high = 1, #at
  while low < high do
    local middle = floor((low + high + 1) / 2)
    if at[middle] <= bytePosition then low = middle else high = middle - 1 end
  end
  if #text <= PIECE then return low - 1 end
  return (low - 1) * BETWEEN + K.native.countCharacters(text, at[low], bytePosition) - 1
end
K.positionOf = positionOf

local function characterAt(text, index)
  if type(index) ~= "number" or index ~= floor(index) then
    throw("typeError", "a position in a String is a whole number, not " .. K.nameOf(index))
  end
  local n = length(text)
  if index < 0 or index >= n then K.outOfRange(index, n, "an empty String") end
  if lastAscii then return sub(text, index + 1, index + 1) end
  return sub(text, startOf(text, index), startOf(text, index + 1) - 1)
end
K.characterAt = characterAt

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
  local n, from = 0, 1
  for to = 1, #text do
    local code = byte(text, to + 1)
    if not code or code < 128 or code >= 192 then
      n = n + 1
      list[n], from = sub(text, from, to), to + 1
    end
  end
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

local function isPattern(value) return type(value) == "table" and value._isPattern end

local function replace(text, old, new)
  if isPattern(old) then return old:_replacedIn(text, new) end
  old = expectText(old, "replace:with:")
  if old == "" or not findText(text, old, 1) then return text end
  return split(text, old, K.str(new))
end

local function indexOf(text, part)
  if isPattern(part) then return part:_positionIn(text) end
  local at = findText(text, expectText(part, "indexOf:"), 1)
  return at and positionOf(text, at)
end

local function lastIndexOf(text, part)
  local at = K.native.findLastText(text, expectText(part, "lastIndexOf:"))
  return at and positionOf(text, at)
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
  if isPattern(part) then return part:_foundIn(text) end
  return findText(text, expectText(part, "contains:"), 1) ~= nil
end

-- Case ------------------------------------------------------------------------------------------

-- Where white space ends, else a character.
local function afterSpace(text, to, from)
  for at = to, from, -1 do
    local code = byte(text, at)
    if code == 32 or code == 10 then return at end
  end
  return afterCharacter(text, to)
end

-- Letters outside ASCII are the natives' business.
local function uppercase(text)
  if isAscii(text) then return pieces(text, upper) end
  return pieces(text, K.native.uppercase, afterSpace)
end

local function lowercase(text)
  if isAscii(text) then return pieces(text, lower) end
  return pieces(text, K.native.lowercase, afterSpace)
end

local function capitalizedWord(text)
  return uppercase(slice(text, 0, 1)) .. lowercase(slice(text, 1, #text))
end

local function isSpace(code) return code == 32 or code and code >= 9 and code <= 13 end

-- Where white space ends; a word is not cut.
local function afterWord(text, to, from)
  for at = to, from, -1 do
    if isSpace(byte(text, at)) then return at end
  end
  while to < #text and not isSpace(byte(text, to + 1)) do to = to + 1 end
  return to
end

local function capitalized(text)
  local function words(piece) return (gsub(piece, "[^%s%-]+", capitalizedWord)) end
  return pieces(text, words, afterWord, 4096)
end

local function trimmed(text)
  local from, to = 1, #text
  while isSpace(byte(text, from)) do from = from + 1 end
  while to > from and isSpace(byte(text, to)) do to = to - 1 end
  return sub(text, from, to)
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

local function reversedPiece(text)
  if not find(text, "[\128-\255]") then return string.reverse(text) end
  local list = characters(text)
  local n = #list
  for i = 1, floor(n / 2) do list[i], list[n + 1 - i] = list[n + 1 - i], list[i] end
  return joinTexts(list, n, "")
end

local function reversed(text)
  if #text <= PIECE then return reversedPiece(text) end
  local parts, n, to = {}, 0, #text
  while to > 0 do
    local before = math.max(0, to - PIECE)
    if before > 0 then before = afterCharacter(text, before) end
    n = n + 1
    parts[n], to = reversedPiece(sub(text, before + 1, to)), before
  end
  return joinTexts(parts, n, "")
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
  ["indexOf:"] = indexOf, ["lastIndexOf:"] = lastIndexOf,
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
