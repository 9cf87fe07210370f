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

-- Pieces ----------------------------------------------------------------------------------------

-- A fiber can be interrupted between two instructions, not within a call of C or of a native. So
-- what takes linear time works on pieces of a large text.
local PIECE = 65536
-- Texts that are joined by one call, at most.
local JOINED = 1024

-- From this size on a text is put together in memory of that size: growing by doubling costs more.
local LARGE = 1048576

-- The texts 1..n of a short list as one.
local function joinFew(list, n, separator)
  local size = 0
  for i = 1, n do
    if type(list[i]) ~= "string" then return concat(list, separator, 1, n) end
    size = size + #list[i]
  end
  if size < LARGE then return concat(list, separator, 1, n) end
  return K.native.joinTexts(list, n, separator)
end

-- The texts 1..n of a list as one, with a separator or "" between them.
local function joinTexts(list, n, separator)
  if n <= JOINED then return joinFew(list, n, separator) end
  local parts, count = {}, 0
  for from = 1, n, JOINED do
    count = count + 1
    parts[count] = concat(list, separator, from, math.min(from + JOINED - 1, n))
  end
  return joinTexts(parts, count, separator)
end
K.joinTexts = joinTexts

-- What `work` makes of each piece of a text, joined. `cut` answers where a piece ends instead of at a
-- byte position; `size` is how long one is. Both can be left out.
local function pieces(text, work, cut, size)
  local length, from, n, parts = #text, 1, 0, {}
  size = size or PIECE
  if length <= size then return work(text) end
  while from <= length do
    local to = from + size - 1
    if to < length and cut then to = cut(text, to, from) end
    n = n + 1
    parts[n] = work(sub(text, from, to))
    from = to + 1
  end
  return joinTexts(parts, n, "")
end
K.pieces = pieces

-- Where the last whole character ends.
local function afterCharacter(text, to)
  local code = byte(text, to + 1)
  while code and code >= 128 and code < 192 do
    to = to - 1
    code = byte(text, to + 1)
  end
  return to
end

-- Where white space ends, else a character.
local function afterSpace(text, to, from)
  for at = to, from, -1 do
    local code = byte(text, at)
    if code == 32 or code == 10 then return at end
  end
  return afterCharacter(text, to)
end

-- The first position of a part at or after a position.
local function findText(text, part, from)
  -- The search of C takes longest for long parts that nearly match.
  if #text - from < PIECE and #part < 256 then return (find(text, part, from, true)) end
  return K.native.findText(text, part, from)
end

-- Whether no piece of a text has anything of a set of characters, such as `[^%d]`.
local function hasNone(text, set)
  if #text <= PIECE then return not find(text, set) end
  for from = 1, #text, PIECE do
    if find(sub(text, from, from + PIECE - 1), set) then return false end
  end
  return true
end
K.hasNone = hasNone

-- Characters ------------------------------------------------------------------------------------

-- Programs walk one string at a time, so what was learnt of the last one is kept: whether it is
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
  return sub(text, startOf(text, index), startOf(text, index + 1) - 1)
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

-- The parts of a text between the places where another stands, as a Lua table. With a `joint` they
-- are joined by it: what is then answered is one text.
local function split(text, separator, joint)
  if separator == "" then throw("typeError", "a String cannot be split at an empty String") end
  local parts, n, start, size = {}, 0, 1, #text
  local chunks, count = {}, 0
  local isLong = #separator >= 256
  -- The search goes through a window of the text, which begins after `base` bytes.
  local base, from, window = 0, 1, text
  if size > PIECE and not isLong then window = sub(text, 1, PIECE) end
  while true do
    local at
    if isLong then
      at = findText(window, separator, from)
    else
      at = find(window, separator, from, true)
    end
    if at then
      if joint and n == JOINED then
        count = count + 1
        chunks[count], n = concat(parts, joint, 1, n), 0
      end
      n = n + 1
      parts[n] = sub(text, start, base + at - 1)
      from = at + #separator
      start = base + from
    elseif base + #window >= size then
      parts[n + 1] = sub(text, start)
      if not joint then return parts end
      chunks[count + 1] = concat(parts, joint, 1, n + 1)
      return joinTexts(chunks, count + 1, joint)
    else
      -- A separator may begin in this window and end in the next.
      base = math.max(start - 1, base + #window - #separator + 1)
      window, from = sub(text, base + 1, base + PIECE), 1
    end
  end
end
K.split = split

local function replace(text, old, new)
  old = expectText(old, "replace:with:")
  if old == "" or not findText(text, old, 1) then return text end
  return split(text, old, K.str(new))
end
K.replaceText = replace

local function indexOf(text, part)
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
  return findText(text, expectText(part, "contains:"), 1) ~= nil
end

-- Where a part stands, as an Interval of positions, or nil.
local function rangeOf(text, part)
  local at = indexOf(text, part)
  return at and K.interval(at, at + length(part) - 1, 1)
end

-- Case ------------------------------------------------------------------------------------------

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
