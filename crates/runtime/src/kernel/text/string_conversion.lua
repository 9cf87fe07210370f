-- Strings: numbers in text, pieces, formats, file paths, URL encoding, character kinds.
local K = ...
local type, tonumber, floor = type, tonumber, math.floor
local find, sub, match, gsub, byte, rep, format =
  string.find, string.sub, string.match, string.gsub, string.byte, string.rep, string.format
local concat = table.concat
local throw, expectText = K.throw, K.expectText
local String = K.classes.String

-- Numbers ---------------------------------------------------------------------------------------

-- The whole number a text begins with, or 0; digits beyond 2^53 stay exact.
local function intValue(text)
  local digits = match(text, "^%s*([+-]?%d+)")
  if not digits then return 0 end
  return K.integerFromText(digits)
end

local function floatValue(text)
  -- A pattern with two ways to match the same digits would take quadratic time.
  local digits = match(text, "^%s*([+-]?%d+[eE][+-]?%d+)")
    or match(text, "^%s*([+-]?%d+%.%d*[eE][+-]?%d+)") or match(text, "^%s*([+-]?%d*%.?%d+)")
    or match(text, "^%s*([+-]?%d+)")
  return digits and tonumber(digits) or 0
end

-- The number that the whole text spells, or nil.
local function asNumber(text)
  local digits = match(text, "^%s*([+-]?%d+)%s*$")
  if digits then return K.integerFromText(digits) end
  digits = match(text, "^%s*([+-]?%d+%.%d+)%s*$") or match(text, "^%s*([+-]?%.%d+)%s*$")
    or match(text, "^%s*([+-]?%d+[eE][+-]?%d+)%s*$")
    or match(text, "^%s*([+-]?%d+%.%d*[eE][+-]?%d+)%s*$")
  local number = digits and tonumber(digits)
  -- Beyond the largest number it is none.
  if number == math.huge or number == -math.huge then return nil end
  return number
end

local function boolValue(text)
  local first = match(text, "^%s*(.)")
  if not first then return false end
  if find(first, "[tTyY]") then return true end
  return intValue(text) ~= 0
end

-- Pieces ----------------------------------------------------------------------------------------

-- The lines of a text; a newline at the end ends the last line rather than beginning another.
local function lines(text)
  if text == "" then return {} end
  local list = K.split(text, "\n")
  if list[#list] == "" then list[#list] = nil end
  for i = 1, #list do
    if byte(list[i], -1) == 13 then list[i] = sub(list[i], 1, -2) end
  end
  return list
end
K.lines = lines

local function words(text)
  local list, n = {}, 0
  for word in string.gmatch(text, "%S+") do
    n = n + 1
    list[n] = word
  end
  return list
end

-- The longest text that repeating or padding makes: 256 MiB.
local LONGEST = 268435456

local function repeated(text, times)
  times = K.expectInteger(times, "repeated:")
  if times * #text > LONGEST then throw("tooLarge", "a String may have at most 256 MiB") end
  return rep(text, times)
end

local function padding(text, width, filler, selector)
  width, filler = K.expectInteger(width, selector), filler == nil and " " or expectText(filler,
    selector)
  local missing = width - K.length(text)
  if missing <= 0 or filler == "" then return "" end
  if missing > LONGEST then throw("tooLarge", "a String may have at most 256 MiB") end
  return K.slice(rep(filler, math.ceil(missing / K.length(filler))), 0, missing)
end

-- Formats ---------------------------------------------------------------------------------------

local function whole(value, selector)
  if type(value) == "string" then value = asNumber(value) or 0 end
  if type(value) == "table" and value._isBig then return value:description() end
  local number = K.expectNumber(value, selector)
  return format("%.0f", number >= 0 and floor(number) or math.ceil(number))
end

local function widened(text, flags, width)
  local missing = (tonumber(width) or 0) - K.length(text)
  if missing <= 0 then return text end
  if find(flags, "-", 1, true) then return text .. rep(" ", missing) end
  if find(flags, "0", 1, true) then
    local sign, digits = match(text, "^([+-]?)(.*)$")
    return sign .. rep("0", missing) .. digits
  end
  return rep(" ", missing) .. text
end

local function formatted(value, flags, width, precision, kind)
  if kind == "@" or kind == "s" then
    local text = K.str(value)
    if precision ~= "" then text = K.slice(text, 0, tonumber(sub(precision, 2)) or 0) end
    return widened(text, find(flags, "-", 1, true) and "-" or "", width)
  end
  if kind == "d" or kind == "i" or kind == "u" then
    local text = whole(value, "format:")
    if find(flags, "+", 1, true) and byte(text) ~= 45 then text = "+" .. text end
    return widened(text, flags, width)
  end
  if kind == "c" then return type(value) == "number" and K.character(value) or K.str(value) end
  flags = (find(flags, "-", 1, true) and "-" or "") .. (find(flags, "+", 1, true) and "+" or "")
    .. (find(flags, "0", 1, true) and "0" or "") .. (find(flags, "#", 1, true) and "#" or "")
  local number = type(value) == "string" and (asNumber(value) or 0) or K.expectNumber(value,
    "format:")
  if #width > 2 or #precision > 3 then
    throw("outOfRange", "a width in a format has at most two digits")
  end
  return format("%" .. flags .. width .. precision .. kind, number)
end

-- Text by a printf-like pattern: `%@` and `%s` take any value, `%d %f %g %e %x %o %c` numbers. A
-- loop rather than `gsub`, because a description may suspend the fiber.
function K.format(pattern, values, n)
  pattern = expectText(pattern, "format:")
  local parts, at, taken = {}, 1, 0
  while true do
    local from, to, flags, width, precision, letter =
      find(pattern, "%%([-+ #0]*)(%d*)(%.?%d*)[hlqzL]*(.)", at)
    if not from then break end
    parts[#parts + 1] = sub(pattern, at, from - 1)
    at = to + 1
    if letter == "%" then
      parts[#parts + 1] = "%"
    elseif not find("@sdiucfFgGeExXo", letter, 1, true) then
      throw("typeError", "the format '" .. pattern .. "' has an unknown part %" .. letter)
    else
      taken = taken + 1
      if taken > n then
        throw("outOfRange", "the format '" .. pattern .. "' needs more than " .. n .. " values")
      end
      local value = values[taken]
      if value == K.NULL then value = nil end
      parts[#parts + 1] = formatted(value, flags, width, precision, letter == "F" and "f" or letter)
    end
  end
  parts[#parts + 1] = sub(pattern, at)
  return concat(parts)
end

local function formatWith(text, values)
  if type(values) == "table" and values._isArray then return K.format(text, values, #values) end
  return K.format(text, { values }, 1)
end

-- File paths and URLs ---------------------------------------------------------------------------

-- Where a path ends without the slashes at its end.
local function endOf(path)
  local to = #path
  while byte(path, to) == 47 do to = to - 1 end
  return to
end

local function lastComponent(path)
  local to = endOf(path)
  if to == 0 then return path == "" and "" or "/" end
  local from = to
  while from > 1 and byte(path, from - 1) ~= 47 do from = from - 1 end
  return sub(path, from, to)
end

local function withoutLastComponent(path)
  local parent = match(path, "^(.*)/[^/]+/*$")
  if parent == nil then return "" end
  if parent == "" then return "/" end
  return parent
end

local function extension(path)
  return match(lastComponent(path), "^.+%.([^.]+)$") or ""
end

local function withoutExtension(path)
  local kind = extension(path)
  return kind == "" and path or sub(path, 1, endOf(path) - #kind - 1)
end

local function appendPathComponent(path, component)
  component = expectText(component, "stringByAppendingPathComponent:")
  if path == "" then return component end
  return sub(path, 1, endOf(path)) .. "/" .. gsub(component, "^/+", "")
end

-- What each byte is with and without its escape.
local escapes, meanings = {}, {}
for code = 0, 255 do
  local char, hex = string.char(code), format("%02x", code)
  local first, second = sub(hex, 1, 1), sub(hex, 2, 2)
  escapes[char] = "%" .. string.upper(hex)
  for _, digit in ipairs { first, string.upper(first) } do
    meanings[digit .. second], meanings[digit .. string.upper(second)] = char, char
  end
end
-- Bytes that are escaped in one call: about a millisecond.
local ESCAPED = 16384

-- RFC 3986, section 2.3: everything but unreserved characters is escaped.
local function urlEncoded(text)
  return K.pieces(text, function(piece) return (gsub(piece, "[^%w%-._~]", escapes)) end, nil, ESCAPED)
end

-- An escape is not cut.
local function afterEscape(text, to)
  if byte(text, to) == 37 then return to - 1 end
  if byte(text, to - 1) == 37 then return to - 2 end
  return to
end

local function urlDecoded(text)
  local function decoded(piece) return (gsub(gsub(piece, "%+", " "), "%%(%x%x)", meanings)) end
  return K.pieces(text, decoded, afterEscape, ESCAPED)
end

-- Whether a text has characters, and all of them are of a class such as `%d`.
local function kind(class)
  local others = "[^" .. class .. "]"
  return function(text) return text ~= "" and K.hasNone(text, others) end
end

-- A letter outside ASCII is one whose cases differ, which is right for the alphabets that have
-- cases.
local function isLetter(text)
  if K.hasNone(text, "[\128-\255]") then return text ~= "" and K.hasNone(text, "%A") end
  return K.hasNone(text, "[%z\1-@%[-`{-\127]") and text:uppercase() ~= text:lowercase()
end

K.methods(String, {
  --- -<Number|BigInteger> intValue
  --- -<Number|BigInteger> integerValue
  --- -<Number|BigInteger> longValue
  --- -<Number|BigInteger> longLongValue
  --- The whole number that the text begins with; 0 where there is none. `asInteger` answers nil instead.
  --- > '12 apples' intValue ⇒ 12
  ["intValue"] = intValue, ["integerValue"] = intValue, ["longValue"] = intValue,
  ["longLongValue"] = intValue,
  --- -<Number> floatValue
  --- -<Number> doubleValue
  --- The number that the text begins with; 0 where there is none. `asFloat` answers nil instead.
  --- > '3.5 kg' floatValue ⇒ 3.5
  ["floatValue"] = floatValue, ["doubleValue"] = floatValue,
  --- -<Boolean> boolValue
  --- Whether the text begins with `t`, `y` or a whole number other than 0, after white space.
  --- > ['yes' boolValue, '0' boolValue] ⇒ [true, false]
  ["boolValue"] = boolValue,
  --- -<Number|BigInteger?> asNumber
  --- -<Number|BigInteger?> numberValue
  --- The number that the whole text spells; nil where it spells none. White space around it is ignored.
  --- > ['12.5' asNumber, '12 apples' asNumber] ⇒ [12.5, nil]
  ["asNumber"] = asNumber, ["numberValue"] = asNumber,
  --- -<Number|BigInteger?> asInteger
  --- The number that the whole text spells, without its fraction; nil where it spells none.
  --- > '12.5' asInteger ⇒ 12
  ["asInteger"] = function(text)
    local number = asNumber(text)
    if type(number) == "number" then return number:intValue() end
    return number
  end,
  --- -<Number?> asFloat
  --- The number that the whole text spells, as a floating-point number; nil where it spells none.
  --- > '12.5' asFloat ⇒ 12.5
  ["asFloat"] = function(text)
    local number = asNumber(text)
    return number and number:floatValue()
  end,
  --- -<Boolean> isNumber
  --- Whether the value is a number: false, unlike `isNumeric`, which asks what the text spells.
  --- > '12' isNumber ⇒ false
  ["isNumber"] = function() return false end,
  --- -<Boolean> isNumeric
  --- Whether the whole text spells a number, so that `asNumber` answers one.
  --- > '12.5' isNumeric ⇒ true
  ["isNumeric"] = function(text) return asNumber(text) ~= nil end,
  --- -<Boolean> isString
  --- Whether the value is a text: true.
  --- > 'a' isString ⇒ true
  ["isString"] = function() return true end,
  --- -<Array> componentsSeparatedByString:<String>separator
  --- The parts between the occurrences of a text. An empty separator is an error.
  --- > 'a,b,,c' componentsSeparatedByString: ',' ⇒ ['a', 'b', '', 'c']
  ["componentsSeparatedByString:"] = function(text, separator)
    return K.array(K.split(text, expectText(separator, "componentsSeparatedByString:")))
  end,
  --- -<Array> split:<String|Pattern>separator
  --- The parts between the occurrences of a text or the matches of a pattern. An empty separator is an error.
  --- > 'a1b22c' split: /\d+/ ⇒ ['a', 'b', 'c']
  ["split:"] = function(text, separator)
    if type(separator) == "table" and separator._isPattern then
      return K.array(separator:_separated(text))
    end
    return K.array(K.split(text, expectText(separator, "split:")))
  end,
  --- -<Array> lines
  --- The lines, without LF or CRLF at their ends. A line break at the end of the text begins no further line.
  --- > 'a' , newline , 'b' , newline | lines ⇒ ['a', 'b']
  ["lines"] = function(text) return K.array(lines(text)) end,
  --- -<Array> words
  --- The parts between white space, none of them empty.
  --- > ' to be ' words ⇒ ['to', 'be']
  ["words"] = function(text) return K.array(words(text)) end,
  --- -<String> repeated:<Number>times
  --- The text so often in a row. A result above 256 MiB is an error; 0 and less give an empty text.
  --- > 'ab' repeated: 3 ⇒ 'ababab'
  ["repeated:"] = repeated,
  --- -<String> padLeft:<Number>width
  --- The text with blanks before it, up to a width in characters. A longer text stays as it is.
  --- > '7' padLeft: 3 ⇒ '  7'
  ["padLeft:"] = function(text, width) return padding(text, width, " ", "padLeft:") .. text end,
  --- -<String> padLeft:<Number>width with:<String>filler
  --- The text with the filler before it, up to a width in characters. A longer text stays as it is.
  --- > '7' padLeft: 3 with: '0' ⇒ '007'
  ["padLeft:with:"] = function(text, width, filler)
    return padding(text, width, filler, "padLeft:with:") .. text
  end,
  --- -<String> padRight:<Number>width
  --- The text with blanks after it, up to a width in characters. A longer text stays as it is.
  --- > '7' padRight: 3 ⇒ '7  '
  ["padRight:"] = function(text, width) return text .. padding(text, width, " ", "padRight:") end,
  --- -<String> padRight:<Number>width with:<String>filler
  --- The text with the filler after it, up to a width in characters. A longer text stays as it is.
  --- > '7' padRight: 3 with: '.' ⇒ '7..'
  ["padRight:with:"] = function(text, width, filler)
    return text .. padding(text, width, filler, "padRight:with:")
  end,
  --- -<String> format:<any?>values
  --- -<String> formatWith:<any?>values
  --- The text as a format for one value, or for the elements of an array: `%@` takes any value, `%d %f %x %e %g %c`
  --- numbers, with width and precision. Too few values are an error.
  --- > '%05.1f %@' format: [3.14159, 'rad'] ⇒ '003.1 rad'
  ["format:"] = formatWith,
  ["formatWith:"] = formatWith,
  --- -<String> format:<any?>first with:<any?>second
  --- The text as a format for two values.
  --- > '%d of %d' format: 3 with: 7 ⇒ '3 of 7'
  ["format:with:"] = function(text, a, b) return K.format(text, { a, b }, 2) end,
  --- -<String> stringByAppendingFormat:<String>format
  --- The text with a format without values at its end, in which `%%` is a percent sign.
  --- > '5' stringByAppendingFormat: ' %%' ⇒ '5 %'
  ["stringByAppendingFormat:"] = function(text, pattern)
    return text .. K.format(pattern, {}, 0)
  end,
  --- -<String> stringByAppendingPathComponent:<String>component
  --- The path with a component at its end, with one slash between them.
  --- > '/var/' stringByAppendingPathComponent: 'log' ⇒ '/var/log'
  ["stringByAppendingPathComponent:"] = appendPathComponent,
  --- -<Array> pathComponents
  --- The components of the path; a slash at its beginning is the first one.
  --- > '/var/log' pathComponents ⇒ ['/', 'var', 'log']
  ["pathComponents"] = function(path)
    local list = {}
    if byte(path) == 47 then list[1] = "/" end
    for part in string.gmatch(path, "[^/]+") do list[#list + 1] = part end
    return K.array(list)
  end,
  --- -<String> lastPathComponent
  --- The last component of the path; empty of an empty path.
  --- > '/var/log/app.txt' lastPathComponent ⇒ 'app.txt'
  ["lastPathComponent"] = lastComponent,
  --- -<String> deletingLastPathComponent
  --- -<String> stringByDeletingLastPathComponent
  --- The path without its last component; empty where it has only one.
  --- > '/var/log/app.txt' deletingLastPathComponent ⇒ '/var/log'
  ["deletingLastPathComponent"] = withoutLastComponent,
  ["stringByDeletingLastPathComponent"] = withoutLastComponent,
  --- -<String> pathExtension
  --- What follows the last point of the last component; empty where there is no point.
  --- > 'app.tar.gz' pathExtension ⇒ 'gz'
  ["pathExtension"] = extension,
  --- -<String> deletingPathExtension
  --- -<String> stringByDeletingPathExtension
  --- The path without its extension and the point before it.
  --- > '/var/log/app.txt' deletingPathExtension ⇒ '/var/log/app'
  ["stringByDeletingPathExtension"] = withoutExtension,
  ["deletingPathExtension"] = withoutExtension,
  --- -<String> stringByAppendingPathExtension:<String>extension
  --- The path with a point and an extension at its end.
  --- > 'app' stringByAppendingPathExtension: 'txt' ⇒ 'app.txt'
  ["stringByAppendingPathExtension:"] = function(path, kindOf)
    return path .. "." .. expectText(kindOf, "stringByAppendingPathExtension:")
  end,
  --- -<String> urlEncoded
  --- The text percent-encoded for a part of a URL (RFC 3986): all but letters, digits and `-._~` are escaped.
  --- > 'a b&c' urlEncoded ⇒ 'a%20b%26c'

  --- -<String> urlDecoded
  --- -<String> stringByRemovingPercentEncoding
  --- The text without percent-encoding; a `+` is a blank. A percent sign that begins no escape stays as it is.
  --- > 'a%20b+c' urlDecoded ⇒ 'a b c'
  ["urlEncoded"] = urlEncoded, ["urlDecoded"] = urlDecoded,
  ["stringByRemovingPercentEncoding"] = urlDecoded,
  --- -<Number?> codePoint
  --- -<Number?> asciiValue
  --- The Unicode code point of the first character; nil of an empty text.
  --- > 'é' codePoint ⇒ 233
  ["codePoint"] = function(text) return K.codePoint(text) end,
  ["asciiValue"] = function(text) return K.codePoint(text) end,
  --- -<Boolean> isLetter
  --- Whether the text has characters and all of them are letters.
  --- > 'é' isLetter ⇒ true
  ["isLetter"] = isLetter,
  --- -<Boolean> isDigit
  --- Whether the text has characters and all of them are digits from 0 to 9.
  --- > '2026' isDigit ⇒ true
  ["isDigit"] = kind("%d"),
  --- -<Boolean> isAlphanumeric
  --- Whether the text has characters and all of them are letters or digits.
  --- > 'a1' isAlphanumeric ⇒ true
  ["isAlphanumeric"] = function(text)
    if text == "" or K.hasNone(text, "%W") then return text ~= "" end
    return isLetter(K.pieces(text, function(piece) return (gsub(piece, "%d", "")) end))
  end,
  --- -<Boolean> isWhitespace
  --- -<Boolean> isSpace
  --- Whether the text has characters and all of them are white space of ASCII.
  --- > ' ' isWhitespace ⇒ true
  ["isWhitespace"] = kind("%s"), ["isSpace"] = kind("%s"),
  --- -<Boolean> isUppercase
  --- Whether the text has letters with cases and all of those are capitals.
  --- > 'HTTP/2' isUppercase ⇒ true
  ["isUppercase"] = function(text) return text ~= text:lowercase() and text == text:uppercase() end,
  --- -<Boolean> isLowercase
  --- Whether the text has letters with cases and all of those are small.
  --- > 'etag' isLowercase ⇒ true
  ["isLowercase"] = function(text) return text ~= text:uppercase() and text == text:lowercase() end,
  --- -<Boolean> isVowel
  --- Whether the text is one of the letters a, e, i, o, u, small or capital.
  --- > 'e' isVowel ⇒ true
  ["isVowel"] = function(text) return #text == 1 and find(text, "[aeiouAEIOU]") ~= nil end,
})
K.classMethods(String, {
  --- +<String> new
  --- +<String> alloc
  --- +<String> string
  --- An empty text.
  --- > String new ⇒ ''
  ["new"] = function() return "" end,
  ["alloc"] = function() return "" end,
  ["string"] = function() return "" end,
  --- +<String> stringWithString:<String>text
  --- The text of the argument, also of a MutableString. Another value is an error.
  --- > String stringWithString: 'abc' ⇒ 'abc'
  ["stringWithString:"] = function(_, text) return expectText(text, "stringWithString:") end,
  --- +<String> stringWithFormat:<String>format
  --- The text of a format without values, in which `%%` is a percent sign.
  --- > String stringWithFormat: '5 %%' ⇒ '5 %'
  ["stringWithFormat:"] = function(_, pattern)
    return K.format(expectText(pattern, "stringWithFormat:"), {}, 0)
  end,
  --- +<String> stringWithFormat:<String>format with:<any?>values
  --- The text of a format for one value, or for the elements of an array, as in `format:`.
  --- > String stringWithFormat: '%03d' with: 7 ⇒ '007'
  ["stringWithFormat:with:"] = function(_, pattern, value)
    return formatWith(expectText(pattern, "stringWithFormat:with:"), value)
  end,
  --- +<String> stringWithFormat:<String>format with:<any?>first with:<any?>second
  --- The text of a format for two values.
  --- > String stringWithFormat: '%d of %d' with: 3 with: 7 ⇒ '3 of 7'
  ["stringWithFormat:with:with:"] = function(_, pattern, a, b)
    return K.format(expectText(pattern, "stringWithFormat:with:with:"), { a, b }, 2)
  end,
  --- +<String> newline
  --- A line feed (LF).
  --- > String newline codePoint ⇒ 10
  ["newline"] = function() return "\n" end,
  --- +<String> tab
  --- A tabulator.
  --- > String tab codePoint ⇒ 9
  ["tab"] = function() return "\t" end,
  --- +<String> cr
  --- A carriage return (CR).
  --- > String cr codePoint ⇒ 13
  ["cr"] = function() return "\r" end,
})

K.methods(K.classes.Number, {
  --- -<String> format:<String>format
  --- The number as text by a format, such as `%.2f` or `%05d`.
  --- > 3.14159 format: '%.2f' ⇒ '3.14'
  ["format:"] = function(self, pattern) return K.format(pattern, { self }, 1) end,
  --- -<String> asCharacter
  --- The character with this Unicode code point. A number that is none is an error.
  --- > 233 asCharacter ⇒ 'é'
  ["asCharacter"] = function(self) return K.character(self) end,
})
