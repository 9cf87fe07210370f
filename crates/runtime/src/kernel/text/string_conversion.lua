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
  ["intValue"] = intValue, ["integerValue"] = intValue, ["longValue"] = intValue,
  ["longLongValue"] = intValue,
  ["floatValue"] = floatValue, ["doubleValue"] = floatValue,
  ["boolValue"] = boolValue,
  ["asNumber"] = asNumber, ["numberValue"] = asNumber,
  ["asInteger"] = function(text)
    local number = asNumber(text)
    if type(number) == "number" then return number:intValue() end
    return number
  end,
  ["asFloat"] = function(text)
    local number = asNumber(text)
    return number and number:floatValue()
  end,
  ["isNumber"] = function() return false end,
  ["isNumeric"] = function(text) return asNumber(text) ~= nil end,
  ["isString"] = function() return true end,
  ["componentsSeparatedByString:"] = function(text, separator)
    return K.array(K.split(text, expectText(separator, "componentsSeparatedByString:")))
  end,
  ["split:"] = function(text, separator)
    if type(separator) == "table" and separator._isPattern then
      return K.array(separator:_separated(text))
    end
    return K.array(K.split(text, expectText(separator, "split:")))
  end,
  ["lines"] = function(text) return K.array(lines(text)) end,
  ["words"] = function(text) return K.array(words(text)) end,
  ["repeated:"] = repeated,
  ["padLeft:"] = function(text, width) return padding(text, width, " ", "padLeft:") .. text end,
  ["padLeft:with:"] = function(text, width, filler)
    return padding(text, width, filler, "padLeft:with:") .. text
  end,
  ["padRight:"] = function(text, width) return text .. padding(text, width, " ", "padRight:") end,
  ["padRight:with:"] = function(text, width, filler)
    return text .. padding(text, width, filler, "padRight:with:")
  end,
  ["format:"] = formatWith,
  ["formatWith:"] = formatWith,
  ["format:with:"] = function(text, a, b) return K.format(text, { a, b }, 2) end,
  ["stringByAppendingFormat:"] = function(text, pattern)
    return text .. K.format(pattern, {}, 0)
  end,
  ["stringByAppendingPathComponent:"] = appendPathComponent,
  ["pathComponents"] = function(path)
    local list = {}
    if byte(path) == 47 then list[1] = "/" end
    for part in string.gmatch(path, "[^/]+") do list[#list + 1] = part end
    return K.array(list)
  end,
  ["lastPathComponent"] = lastComponent,
  ["deletingLastPathComponent"] = withoutLastComponent,
  ["stringByDeletingLastPathComponent"] = withoutLastComponent,
  ["pathExtension"] = extension,
  ["stringByDeletingPathExtension"] = withoutExtension,
  ["deletingPathExtension"] = withoutExtension,
  ["stringByAppendingPathExtension:"] = function(path, kindOf)
    return path .. "." .. expectText(kindOf, "stringByAppendingPathExtension:")
  end,
  ["urlEncoded"] = urlEncoded, ["urlDecoded"] = urlDecoded,
  ["stringByRemovingPercentEncoding"] = urlDecoded,
  ["codePoint"] = function(text) return K.codePoint(text) end,
  ["asciiValue"] = function(text) return K.codePoint(text) end,
  ["isLetter"] = isLetter,
  ["isDigit"] = kind("%d"),
  ["isAlphanumeric"] = function(text)
    if text == "" or K.hasNone(text, "%W") then return text ~= "" end
    return isLetter(K.pieces(text, function(piece) return (gsub(piece, "%d", "")) end))
  end,
  ["isWhitespace"] = kind("%s"), ["isSpace"] = kind("%s"),
  ["isUppercase"] = function(text) return text ~= text:lowercase() and text == text:uppercase() end,
  ["isLowercase"] = function(text) return text ~= text:uppercase() and text == text:lowercase() end,
  ["isVowel"] = function(text) return #text == 1 and find(text, "[aeiouAEIOU]") ~= nil end,
})
K.classMethods(String, {
  ["new"] = function() return "" end,
  ["alloc"] = function() return "" end,
  ["string"] = function() return "" end,
  ["stringWithString:"] = function(_, text) return expectText(text, "stringWithString:") end,
  ["stringWithFormat:"] = function(_, pattern)
    return K.format(expectText(pattern, "stringWithFormat:"), {}, 0)
  end,
  ["stringWithFormat:with:"] = function(_, pattern, value)
    return formatWith(expectText(pattern, "stringWithFormat:with:"), value)
  end,
  ["stringWithFormat:with:with:"] = function(_, pattern, a, b)
    return K.format(expectText(pattern, "stringWithFormat:with:with:"), { a, b }, 2)
  end,
  ["newline"] = function() return "\n" end,
  ["tab"] = function() return "\t" end,
  ["cr"] = function() return "\r" end,
})

K.methods(K.classes.Number, {
  ["format:"] = function(self, pattern) return K.format(pattern, { self }, 1) end,
  ["asCharacter"] = function(self) return K.character(self) end,
})
