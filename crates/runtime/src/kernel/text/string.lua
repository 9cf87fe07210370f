-- Strings: immutable UTF-8. Positions and lengths that programs see count characters.
local K = ...
local type, floor = type, math.floor
local find, sub, byte, upper, lower, gsub = string.find, string.sub, string.byte, string.upper,
  string.lower, string.gsub
local throw, expectText = K.throw, K.expectText
local PIECE, pieces, joinTexts, findText, split, afterCharacter =
  K.PIECE, K.pieces, K.joinTexts, K.findText, K.split, K.afterCharacter

--- A text: immutable UTF-8. Positions and lengths count characters, from 0.
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

-- The characters between two positions, both included; none where the second is less.
local function between(text, from, to, selector)
  from, to = K.expectInteger(from, selector), K.expectInteger(to, selector)
  if to < from then return "" end
  local n = length(text)
  if from < 0 or from >= n then K.outOfRange(from, n, "an empty String") end
  if to >= n then K.outOfRange(to, n) end
  return slice(text, from, to + 1)
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
  if type(new) == "function" then
    local parts = split(text, old)
    for i = 2, #parts do parts[i] = K.str(new(old)) .. parts[i] end
    return joinTexts(parts, #parts, "")
  end
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
  --- -<Number> length
  --- -<Number> count
  --- -<Number> size
  --- How many characters the text has, unlike `byteCount`.
  --- > 'naïve' count ⇒ 5
  ["length"] = itsLength, ["count"] = itsLength, ["size"] = itsLength,
  --- -<Number> byteCount
  --- How many bytes the text has in UTF-8.
  --- > 'naïve' byteCount ⇒ 6
  ["byteCount"] = function(text) return #text end,
  --- -<Boolean> isEmpty
  --- Whether the text has no characters.
  --- > '' isEmpty ⇒ true
  ["isEmpty"] = function(text) return text == "" end,
  --- -<Boolean> notEmpty
  --- -<Boolean> isNotEmpty
  --- Whether the text has characters.
  --- > 'a' notEmpty ⇒ true
  ["notEmpty"] = function(text) return text ~= "" end,
  ["isNotEmpty"] = function(text) return text ~= "" end,
  --- -<String> at:<Number>position
  --- -<String> characterAtIndex:<Number>position
  --- The character at a position, as a text. A position outside of the text is an error.
  --- > 'abc' at: 1 ⇒ 'b'
  ["at:"] = characterAt,
  ["characterAtIndex:"] = characterAt,
  --- -<nothing> at:<Number>position put:<String>character
  --- An error, because a text does not change: ask it for a `mutableCopy`.
  --- > 'abc' mutableCopy at: 0 put: 'x'; yourself ⇒ 'xbc'
  ["at:put:"] = function()
    throw("typeError", "a String cannot be changed; ask it for a mutableCopy")
  end,
  --- -<String?> first
  --- The first character; nil of an empty text.
  --- > 'abc' first ⇒ 'a'
  ["first"] = function(text) if text ~= "" then return slice(text, 0, 1) end end,
  --- -<String?> last
  --- The last character; nil of an empty text.
  --- > 'abc' last ⇒ 'c'
  ["last"] = function(text) if text ~= "" then return slice(text, length(text) - 1, #text) end end,
  --- -<String> first:<Number>count
  --- The first characters: all of them where the text is shorter.
  --- > 'abc' first: 2 ⇒ 'ab'
  ["first:"] = function(text, n)
    return slice(text, 0, math.max(0, K.expectInteger(n, "first:")))
  end,
  --- -<String> last:<Number>count
  --- The last characters: all of them where the text is shorter.
  --- > 'abc' last: 2 ⇒ 'bc'
  ["last:"] = function(text, n)
    local size = length(text)
    return slice(text, math.max(0, size - K.expectInteger(n, "last:")), size)
  end,
  --- -<String> allButFirst
  --- The text without its first character; an empty text stays empty.
  --- > 'abc' allButFirst ⇒ 'bc'
  ["allButFirst"] = function(text) return slice(text, 1, #text) end,
  --- -<String> allButLast
  --- The text without its last character; an empty text stays empty.
  --- > 'abc' allButLast ⇒ 'ab'
  ["allButLast"] = function(text) return slice(text, 0, math.max(0, length(text) - 1)) end,
  --- -<String> substringFromIndex:<Number>position
  --- -<String> from:<Number>position
  --- The characters from a position to the end. A position beyond the end is an error.
  --- > 'abc' from: 1 ⇒ 'bc'
  ["substringFromIndex:"] = function(text, from)
    return slice(text, expectPosition(text, from, "substringFromIndex:"), #text)
  end,
  ["from:"] = function(text, from)
    return slice(text, expectPosition(text, from, "from:"), #text)
  end,
  --- -<String> substringToIndex:<Number>position
  --- The characters before a position, unlike in `from:to:`, which includes the last position.
  --- > 'abc' substringToIndex: 2 ⇒ 'ab'
  ["substringToIndex:"] = function(text, to)
    return slice(text, 0, expectPosition(text, to, "substringToIndex:"))
  end,
  --- -<String> from:<Number>first to:<Number>last
  --- -<String> copyFrom:<Number>first to:<Number>last
  --- The characters from the first to the last position, both included. A position beyond the end is an error.
  --- > 'abcd' from: 1 to: 2 ⇒ 'bc'
  ["from:to:"] = function(text, from, to) return between(text, from, to, "from:to:") end,
  ["copyFrom:to:"] = function(text, from, to) return between(text, from, to, "copyFrom:to:") end,
  --- -<String> substringWithRange:<Interval>range
  --- The characters at the positions of an interval. A position outside of the text is an error.
  --- > 'abcd' substringWithRange: (1 to: 2) ⇒ 'bc'
  ["substringWithRange:"] = function(text, range)
    local from, to = K.rangeOf(range, length(text), "substringWithRange:")
    return slice(text, from, to)
  end,
  --- -<String> uppercase
  --- -<String> uppercaseString
  --- -<String> asUppercase
  --- The text in capital letters; one letter may become two.
  --- > 'straße' uppercase ⇒ 'STRASSE'
  ["uppercaseString"] = uppercase, ["uppercase"] = uppercase, ["asUppercase"] = uppercase,
  --- -<String> lowercase
  --- -<String> lowercaseString
  --- -<String> asLowercase
  --- The text in small letters.
  --- > 'RuNNeL' lowercase ⇒ 'runnel'
  ["lowercaseString"] = lowercase, ["lowercase"] = lowercase, ["asLowercase"] = lowercase,
  --- -<String> capitalized
  --- -<String> capitalizedString
  --- The text with a capital letter at the start of each word and small letters elsewhere.
  --- > 'hello big-WORLD' capitalized ⇒ 'Hello Big-World'
  ["capitalizedString"] = capitalized, ["capitalized"] = capitalized,
  --- -<String> trimmed
  --- -<String> trim
  --- -<String> stringByTrimmingWhitespace
  --- The text without white space at its two ends.
  --- > ' a b ' trimmed ⇒ 'a b'
  ["trimmed"] = trimmed, ["trim"] = trimmed, ["stringByTrimmingWhitespace"] = trimmed,
  --- -<String> , <any?>other
  --- -<String> concat:<any?>other
  --- The text with the `stringValue` of the other value at its end.
  --- > 'n = ' , 3 ⇒ 'n = 3'
  ["concat:"] = joined,
  --- -<String> stringByAppendingString:<String>other
  --- The text with another text at its end. Another value is an error, unlike for `,`.
  --- > 'a' stringByAppendingString: 'b' ⇒ 'ab'
  ["stringByAppendingString:"] = function(text, other)
    return text .. expectText(other, "stringByAppendingString:")
  end,
  --- -<Boolean> hasPrefix:<String>prefix
  --- -<Boolean> startsWith:<String>prefix
  --- -<Boolean> beginsWith:<String>prefix
  --- Whether the text begins with another one.
  --- > '/api/users' hasPrefix: '/api/' ⇒ true
  ["hasPrefix:"] = hasPrefix, ["startsWith:"] = hasPrefix, ["beginsWith:"] = hasPrefix,
  --- -<Boolean> hasSuffix:<String>suffix
  --- -<Boolean> endsWith:<String>suffix
  --- Whether the text ends with another one.
  --- > 'page.html' hasSuffix: '.html' ⇒ true
  ["hasSuffix:"] = hasSuffix, ["endsWith:"] = hasSuffix,
  --- -<Boolean> contains:<String|Pattern>part
  --- -<Boolean> containsString:<String|Pattern>part
  --- -<Boolean> includesSubstring:<String|Pattern>part
  --- -<Boolean> includes:<String|Pattern>part
  --- Whether the part stands in the text, or the pattern matches somewhere in it.
  --- > 'order 17' contains: /\d+/ ⇒ true
  ["contains:"] = contains, ["containsString:"] = contains, ["includesSubstring:"] = contains,
  ["includes:"] = contains,
  --- -<Number?> indexOf:<String|Pattern>part
  --- The position of the first occurrence; nil where there is none.
  --- > 'banana' indexOf: 'an' ⇒ 1

  --- -<Number?> lastIndexOf:<String>part
  --- The position of the last occurrence of a text; nil where there is none.
  --- > 'banana' lastIndexOf: 'an' ⇒ 3
  ["indexOf:"] = indexOf, ["lastIndexOf:"] = lastIndexOf,
  --- -<String> replace:<String|Pattern>old with:<Block(match)|Object?>new
  --- -<String> stringByReplacingOccurrencesOfString:<String|Pattern>old withString:<Block(match)|Object?>new
  --- -<String> copyReplaceAll:<String|Pattern>old with:<Block(match)|Object?>new
  --- -<String> replaceAll:<String|Pattern>old with:<Block(match)|Object?>new
  --- The text with each occurrence replaced. For a pattern, `$1` and `$name` in the new text are groups, and a block
  --- gets each Match; for a text it gets that text each time.
  --- > 'a-b-c' replace: '-' with: '+' ⇒ 'a+b+c'
  --- > n := 0. 'a-b-c' replace: '-' with: { n := n + 1. n } ⇒ 'a1b2c'
  --- > 'a1b22' replace: /\d+/ with: { :match | match text count } ⇒ 'a1b2'
  ["replace:with:"] = replace, ["stringByReplacingOccurrencesOfString:withString:"] = replace,
  ["copyReplaceAll:with:"] = replace, ["replaceAll:with:"] = replace,
  --- -<Boolean> isLessThan:<String>other
  --- Whether the text comes before the other one in the order of bytes. Another value is an error.
  --- > 'a' < 'b' ⇒ true
  ["isLessThan:"] = comparison(function(a, b) return a < b end),
  --- -<Boolean> > <String>other
  --- -<Boolean> isGreaterThan:<String>other
  --- Whether the text comes after the other one in the order of bytes. Another value is an error.
  --- > 'a' > 'b' ⇒ false
  ["isGreaterThan:"] = comparison(function(a, b) return a > b end),
  --- -<Boolean> ≤ <String>other
  --- -<Boolean> isLessThanOrEqualTo:<String>other
  --- Whether the text is the other one or comes before it in the order of bytes. Another value is an error.
  --- > 'a' ≤ 'b' ⇒ true
  ["isLessThanOrEqualTo:"] = comparison(function(a, b) return a <= b end),
  --- -<Boolean> ≥ <String>other
  --- -<Boolean> isGreaterThanOrEqualTo:<String>other
  --- Whether the text is the other one or comes after it in the order of bytes. Another value is an error.
  --- > 'a' ≥ 'b' ⇒ false
  ["isGreaterThanOrEqualTo:"] = comparison(function(a, b) return a >= b end),
  --- -<Number> compare:<String>other
  --- Answers -1 where the text comes before the other one in the order of bytes, 0 where both are equal, otherwise 1.
  --- > 'a' compare: 'b' ⇒ -1
  ["compare:"] = comparison(function(a, b) return a < b and -1 or a > b and 1 or 0 end),
  --- -<Number> caseInsensitiveCompare:<String>other
  --- The same as `compare:` of both texts in small letters.
  --- > 'A' caseInsensitiveCompare: 'a' ⇒ 0
  ["caseInsensitiveCompare:"] = comparison(function(a, b)
    a, b = lowercase(a), lowercase(b)
    return a < b and -1 or a > b and 1 or 0
  end),
  --- -<Boolean> = <any?>other
  --- -<Boolean> isEqual:<any?>other
  --- -<Boolean> isEqualToString:<any?>other
  --- Whether the other value is the same text; a MutableString counts with its present text.
  --- > 'abc' = 'abc' mutableCopy ⇒ true
  ["isEqual:"] = function(text, other) return K.eq(text, other) end,
  ["isEqualToString:"] = function(text, other) return K.eq(text, other) end,
  --- -<Boolean> sameAs:<String>other
  --- Whether both texts are equal in small letters.
  --- > 'GET' sameAs: 'get' ⇒ true
  ["sameAs:"] = function(text, other)
    return lowercase(text) == lowercase(expectText(other, "sameAs:"))
  end,
  --- -<String> max:<String>other
  --- The text that comes later in the order of bytes.
  --- > 'a' max: 'b' ⇒ 'b'
  ["max:"] = function(text, other) return K.lt(text, other) and other or text end,
  --- -<String> min:<String>other
  --- The text that comes earlier in the order of bytes.
  --- > 'a' min: 'b' ⇒ 'a'
  ["min:"] = function(text, other) return K.gt(text, other) and other or text end,
  --- -<nothing> + <any?>other
  --- -<nothing> add:<any?>other
  --- An error: texts are joined by a comma, and `asNumber` makes a number of one.
  --- > 'a' + 'b' ⇒ error: a String ('a') cannot add a String ('b')
  ["add:"] = function(text, other)
    throw("typeError", K.nameOf(text) .. " cannot add " .. K.nameOf(other), {
      i_hint = "join texts with a comma, or convert with asNumber",
    })
  end,
  --- -<String> description
  --- -<String> stringValue
  --- -<String> asString
  --- -<String> asSymbol
  --- -<String> copy
  --- The text itself; of a MutableString, its present text.
  --- > 'abc' asString ⇒ 'abc'
  ["description"] = itself, ["stringValue"] = itself, ["asString"] = itself, ["asSymbol"] = itself,
  ["copy"] = itself,
  --- -<Array> characters
  --- -<Array> asArray
  --- The characters, each as a text.
  --- > 'abc' characters ⇒ ['a', 'b', 'c']
  ["asArray"] = function(text) return K.array(characters(text)) end,
  ["characters"] = function(text) return K.array(characters(text)) end,
  --- -<nothing> do:<Block(character)>action
  --- Evaluates the block for each character.
  --- > list := []. 'abc' do: { :one | list add: one }. list ⇒ ['a', 'b', 'c']
  ["do:"] = function(text, block)
    local list = characters(text)
    K.expectBlock(block, "do:")
    for i = 1, #list do block(list[i]) end
  end,
  --- -<String> reversed
  --- -<String> reverse
  --- The characters from the last to the first.
  --- > 'abc' reversed ⇒ 'cba'
  ["reversed"] = reversed, ["reverse"] = reversed,
})
-- Collection messages that end with an array see the characters.
K.method(String, "_elements", characters)
