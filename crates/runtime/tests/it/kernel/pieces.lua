-- Work on large texts in pieces, beside the plain way to do the same. Gets the kernel table; raises at
-- the first surprise.
local K = ...
local String = K.classes.String._methods
local random, sub, byte, find, concat = math.random, string.sub, string.byte, string.find, table.concat

local function check(got, expected, what)
  if got ~= expected then
    local function shown(value) return type(value) == "string" and #value > 60 and #value .. " bytes" or tostring(value) end
    error(what .. ": expected " .. shown(expected) .. " but got " .. shown(got), 2)
  end
end

-- Random text of a few signs, so that parts of it repeat; `size` bytes or a little more.
local function text(signs, size)
  local parts, n, length = {}, 0, 0
  while length < size do
    n = n + 1
    parts[n] = signs[random(#signs)]
    length = length + #parts[n]
  end
  return concat(parts)
end

local function send(receiver, selector, ...) return receiver[K.mangle(selector)](receiver, ...) end

-- The plain ways -----------------------------------------------------------------------------------

local function plainSplit(whole, separator)
  local parts, from = {}, 1
  while true do
    local at, to = find(whole, separator, from, true)
    if not at then break end
    parts[#parts + 1], from = sub(whole, from, at - 1), to + 1
  end
  parts[#parts + 1] = sub(whole, from)
  return parts
end

local function plainCharacters(whole)
  local list = {}
  for char in string.gmatch(whole, "[%z\1-\127\194-\244][\128-\191]*") do list[#list + 1] = char end
  return list
end

local function plainReverse(whole)
  local list = plainCharacters(whole)
  local out = {}
  for i = #list, 1, -1 do out[#out + 1] = list[i] end
  return concat(out)
end

-- The sizes lie around where a piece ends.
local sizes = { 0, 1, 300, 65535, 65536, 65537, 131072, 200000 }
local ascii = { "a", "b", " ", ",", "\n", "ab", "%", "'", "Aa" }
local letters = { "a", "é", "ß", " ", "日本", "😀", "Σ", "\n", "x" }

for _, signs in ipairs { ascii, letters } do
  for _, size in ipairs(sizes) do
    local whole = text(signs, size)
    local what = (signs == ascii and "ascii " or "letters ") .. size
    local separators = { ",", "ab", "a a", signs[2], string.rep(signs[1], 300), sub(whole, 65530, 65541), "nothing" }
    for _, separator in ipairs(separators) do
      if separator ~= "" and (signs == ascii or K.isUtf8(separator)) then
        local expected = plainSplit(whole, separator)
        local parts = K.split(whole, separator)
        check(#parts, #expected, what .. " split at " .. separator)
        for i = 1, #parts do check(parts[i], expected[i], what .. " part") end
        check(send(whole, "replace:with:", separator, "<>"), concat(expected, "<>"), what .. " replace")
        check(send(whole, "contains:", separator), #expected > 1, what .. " contains")
      end
    end
    local list = plainCharacters(whole)
    check(send(whole, "length"), #list, what .. " length")
    check(send(whole, "reversed"), plainReverse(whole), what .. " reversed")
    for _ = 1, 20 do
      if #list > 0 then
        local from = random(#list)
        local to = math.min(#list, from + random(2000))
        check(K.slice(whole, from - 1, to), concat(list, "", from, to), what .. " slice")
        check(K.characterAt(whole, from - 1), list[from], what .. " character")
        local part = concat(list, "", from, to)
        local at = send(whole, "indexOf:", part)
        check(K.slice(whole, at, at + to - from + 1), part, what .. " found")
        check(at <= from - 1, true, what .. " first")
        check(send(whole, "lastIndexOf:", part) >= from - 1, true, what .. " last")
      end
    end
    check(send(send(whole, "uppercase"), "uppercase"), send(whole, "uppercase"), what .. " upper")
    check(send(send(whole, "urlEncoded"), "urlDecoded"), whole, what .. " url")
    check(find(send(whole, "urlEncoded"), "[^%w%-._~%%]"), nil, what .. " escaped")
    check(send(whole, "trimmed"), string.match(whole, "^%s*(.*%S)") or "", what .. " trimmed")
    check(K.repr(whole), "'" .. string.gsub(whole, "'", "''") .. "'", what .. " quoted")
    check(K.isUtf8(whole), true, what .. " UTF-8")
    check(K.isUtf8(whole .. "\233"), false, what .. " no UTF-8")
    check(K.parseJSON(K.json(whole)), whole, what .. " JSON")
    local lines = send(whole, "lines")
    check(concat(lines, "\n") .. (byte(whole, -1) == 10 and "\n" or ""), whole, what .. " lines")
  end
end

-- Cases outside ASCII, and where white space does not help to cut.
for _, size in ipairs(sizes) do
  local whole = string.rep("ä", size)
  check(send(whole, "uppercase"), string.rep("Ä", size), "upper " .. size)
  check(send(string.rep("Ä", size), "lowercase"), whole, "lower " .. size)
  local word = string.rep("a", size)
  check(send(word .. " b", "capitalized"), (size > 0 and "A" or "") .. sub(word, 2) .. " B", "capitalized " .. size)
end

-- Bytes.
for _, size in ipairs { 0, 1, 2, 3, 49151, 49152, 49153, 49154, 150000 } do
  local parts = {}
  for i = 1, size do parts[i] = string.char(random(0, 255)) end
  local bytes = concat(parts)
  local data = K.data(bytes)
  local hex = send(data, "hex")
  check(hex, (string.gsub(bytes, ".", function(one) return string.format("%02x", byte(one)) end)), "hex")
  check(send(hex, "hexDecoded")._bytes, bytes, "hexDecoded")
  local digits = send(data, "base64")
  check(#digits, math.ceil(size / 3) * 4, "length of base64")
  check(send(digits, "base64Decoded")._bytes, bytes, "base64Decoded")
  check(send(string.gsub(digits, "%w%w%w%w%w", "%0\r\n"), "base64Decoded")._bytes, bytes, "base64 in lines")
  check(send(send(data, "base64url"), "base64urlDecoded")._bytes, bytes, "base64url")
end
for _, wrong in ipairs { "Z", "Zg?w", string.rep("A", 60000) .. "?" } do
  local ok, err = pcall(send, wrong, "base64Decoded")
  check(not ok and err.i_kind, "invalid", "no base64")
end

-- Joining and sorting many.
for _, n in ipairs { 0, 1, 1023, 1024, 1025, 5000 } do
  local list, numbers = {}, {}
  for i = 1, n do list[i], numbers[i] = "t" .. i, random(n) end
  check(send(K.array(list), "join:", ", "), concat(list, ", "), "join " .. n)
  local sorted = send(K.array(numbers), "sorted")
  table.sort(numbers)
  check(concat(sorted, " "), concat(numbers, " "), "sorted " .. n)
end

-- Patterns that tried all ways to match would not end within hours.
local many = 1000000
check(send(string.rep(" ", many) .. "x", "trimmed"), "x", "trimmed spaces")
check(send("x" .. string.rep(" ", many) .. "x", "trimmed"), "x" .. string.rep(" ", many) .. "x", "inner spaces")
check(send(string.rep("1", many) .. "x", "asNumber"), nil, "no number")
check(send(string.rep("a", many) .. "/b", "lastPathComponent"), "b", "path")
check(send(string.rep("/", many) .. "b", "stringByDeletingPathExtension"), string.rep("/", many) .. "b", "slashes")
check(send(string.rep("a", many), "contains:", string.rep("a", many / 2) .. "b"), false, "nearly a part")
for number, expected in pairs { ["1e3"] = 1000, ["1.e3"] = 1000, ["1.5e3"] = 1500, ["-.5"] = -0.5, [" 12 "] = 12 } do
  check(send(number, "asNumber"), expected, number)
end
check(send("1.5e3x", "floatValue"), 1500, "floatValue")

-- Texts so large that they are put together in memory of their size.
do
  local list = {}
  for i = 1, 3000 do list[i] = string.rep(string.char(97 + i % 26), 800 + i % 7) end
  assert(K.joinTexts(list, 3000, "--") == table.concat(list, "--"), "join of large texts")
  assert(K.joinTexts(list, 2999, "") == table.concat(list, "", 1, 2999), "join without separator")
end
