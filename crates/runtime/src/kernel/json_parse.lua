-- Values from JSON text (RFC 8259): `K.parseJSON`. Whole numbers are exact, whatever their size.
local K = ...
local type, tonumber, setmetatable = type, tonumber, setmetatable
local byte, sub, find, match, gsub = string.byte, string.sub, string.find, string.match, string.gsub
local NULL = K.NULL

-- Arrays and objects inside each other.
local DEPTH = 128

local function failed(text, at, expected)
  local line, lineStart = 1, 1
  for newline in string.gmatch(sub(text, 1, at - 1), "()\n") do
    line, lineStart = line + 1, newline + 1
  end
  local found = at > #text and "the end" or "'" .. K.slice(sub(text, at, at + 15), 0, 1) .. "'"
  K.throw("invalid", "JSON, line " .. line .. ", column " .. at - lineStart + 1 .. ": expected "
    .. expected .. " but found " .. found)
end

local simple = {
  ['"'] = '"', ["\\"] = "\\", ["/"] = "/", b = "\b", f = "\f", n = "\n", r = "\r", t = "\t",
}

-- Pairs of surrogates make one character.
local function fromSurrogates(high, low)
  high, low = tonumber(high, 16), tonumber(low, 16)
  return K.character(0x10000 + (high - 0xD800) * 1024 + (low - 0xDC00))
end

local function fromEscape(hex)
  local code = tonumber(hex, 16)
  if code >= 0xD800 and code < 0xE000 then
    K.throw("invalid", "JSON: half a surrogate pair; characters beyond \\uffff need both halves")
  end
  return K.character(code)
end

local function unescape(text, from, to)
  local raw = sub(text, from, to)
  local at = 1
  while true do
    local escape = find(raw, "\\", at, true)
    if not escape then break end
    local kind = sub(raw, escape + 1, escape + 1)
    if kind == "u" then
      if not find(raw, "^%x%x%x%x", escape + 2) then
        failed(text, from + escape + 1, "four hex digits")
      end
      at = escape + 6
    elseif simple[kind] then
      at = escape + 2
    else
      failed(text, from + escape, "an escape such as \\n")
    end
  end
  -- Backslashes that stand for themselves are set aside first, so that what follows one is text.
  raw = gsub(raw, "\\\\", "\\u005c")
  raw = gsub(raw, "\\u([dD][89abAB]%x%x)\\u([dD][c-fC-F]%x%x)", fromSurrogates)
  raw = gsub(raw, '\\(["/bfnrt])', simple)
  return (gsub(raw, "\\u(%x%x%x%x)", fromEscape))
end

-- A string whose opening quote is at `at`; answers it and the place after it.
local function parseString(text, at)
  local stop = find(text, '["\\%c]', at + 1)
  local hasEscape = false
  while stop do
    local code = byte(text, stop)
    if code == 34 then
      if hasEscape then return unescape(text, at + 1, stop - 1), stop + 1 end
      return sub(text, at + 1, stop - 1), stop + 1
    elseif code == 92 then
      hasEscape = true
      stop = find(text, '["\\%c]', stop + 2)
    elseif code == 127 then
      stop = find(text, '["\\%c]', stop + 1)
    else
      failed(text, stop, "an escape instead of a control character")
    end
  end
  failed(text, #text + 1, "a closing quote")
end

local function parseNumber(text, at)
  local digits = match(text, "^-?%d+", at)
  if not digits then failed(text, at, "a digit") end
  local first = byte(digits) == 45 and 2 or 1
  if byte(digits, first) == 48 and #digits > first then
    failed(text, at + first, "no digit after a leading 0")
  end
  local stop = at + #digits
  local tail = match(text, "^%.%d+", stop) or ""
  local exponent = match(text, "^[eE][+-]?%d+", stop + #tail) or ""
  if tail == "" and exponent == "" then return K.integerFromText(digits), stop end
  local number = tonumber(digits .. tail .. exponent)
  if number - number ~= 0 then failed(text, at, "a number that a float can hold") end
  return number, stop + #tail + #exponent
end

local parseValue

local function parseArray(text, at, depth)
  local list, n = {}, 0
  at = find(text, "[^ \t\r\n]", at + 1) or #text + 1
  if byte(text, at) == 93 then return K.array(list), at + 1 end
  while true do
    local value
    value, at = parseValue(text, at, depth)
    n = n + 1
    list[n] = value
    at = find(text, "[^ \t\r\n]", at) or #text + 1
    local code = byte(text, at)
    if code == 93 then return K.array(list), at + 1 end
    if code ~= 44 then failed(text, at, "a comma or ]") end
    at = at + 1
  end
end

local function parseObject(text, at, depth)
  local keys, map, n = {}, {}, 0
  at = find(text, "[^ \t\r\n]", at + 1) or #text + 1
  if byte(text, at) == 125 then return K.newDictionary(), at + 1 end
  while true do
    if byte(text, at) ~= 34 then failed(text, at, "a key in double quotes") end
    local key, value
    key, at = parseString(text, at)
    at = find(text, "[^ \t\r\n]", at) or #text + 1
    if byte(text, at) ~= 58 then failed(text, at, "a colon") end
    value, at = parseValue(text, at + 1, depth)
    if map[key] == nil then
      n = n + 1
      keys[n] = key
    end
    map[key] = value
    at = find(text, "[^ \t\r\n]", at) or #text + 1
    local code = byte(text, at)
    if code == 125 then return K.dictionary(keys, map, n), at + 1 end
    if code ~= 44 then failed(text, at, "a comma or }") end
    at = find(text, "[^ \t\r\n]", at + 1) or #text + 1
  end
end

local words = { t = { "true", true }, f = { "false", false }, n = { "null", NULL } }

function parseValue(text, at, depth)
  at = find(text, "[^ \t\r\n]", at) or #text + 1
  local code = byte(text, at)
  if code == 34 then return parseString(text, at) end
  if code == 123 or code == 91 then
    if depth >= DEPTH then
      K.throw("tooLarge", "JSON goes " .. DEPTH .. " levels deep at most")
    end
    if code == 123 then return parseObject(text, at, depth + 1) end
    return parseArray(text, at, depth + 1)
  end
  if code == 45 or code and code >= 48 and code <= 57 then return parseNumber(text, at) end
  local word = words[sub(text, at, at)]
  if word and sub(text, at, at + #word[1] - 1) == word[1] then return word[2], at + #word[1] end
  failed(text, at, "a value")
end

-- The value of a JSON text. A null alone is nil; inside collections it is kept.
function K.parseJSON(text)
  text = K.bytesOf(text, "fromJSON")
  local native = K.native.parseJSON
  if native then return native(text) end
  local value, at = parseValue(text, 1, 0)
  at = find(text, "[^ \t\r\n]", at)
  if at then failed(text, at, "nothing more") end
  if value == NULL then return nil end
  return value
end

-- An instance whose instance variables come from the entries of a dictionary; a variable whose type
-- is a class is filled the same way, entries of other names are left out.
function K.fromDictionary(class, dictionary)
  local names, map, values = class._ivars, dictionary._map, {}
  local n = #names
  for i = 1, n do
    local value = map[names[i]]
    if value == NULL then value = nil end
    if type(value) == "table" then
      local wanted = class._types[names[i]]
      local kind = wanted and K.classes[wanted]
      if kind and value._isDictionary and not kind._methods._isDictionary then
        value = K.fromDictionary(kind, value)
      end
    end
    values[i] = value
  end
  local object = K.shaped(class, names, values, n)
  if object then
    object._sent, object._sentKey = dictionary._sent, dictionary._sent
    return object
  end
  object = class:new()
  object._sent, object._sentKey = dictionary._sent, dictionary._sent
  for i = 1, n do
    if map[names[i]] ~= nil then K.setDeclared(object, class, names[i], values[i]) end
  end
  K.complete(object)
  return object
end

local function parsed(self) return K.parseJSON(self) end
for _, class in ipairs { K.classes.String, K.classes.MutableString, K.classes.Data } do
  K.methods(class, { ["fromJSON"] = parsed, ["parseJSON"] = parsed, ["asJSONValue"] = parsed })
end
-- A value that a converter parsed already answers itself.
K.method(K.classes.Object, "parseJSON", function(self) return self end)
K.classMethods(K.classes.Object, {
  ["fromDictionary:"] = function(class, dictionary)
    if type(dictionary) ~= "table" or not dictionary._isDictionary then
      K.throw("typeError", "fromDictionary: expects a Dictionary, got " .. K.nameOf(dictionary))
    end
    return K.fromDictionary(class, dictionary)
  end,
  -- One instance, or an array of them, from a JSON text.
  ["fromJSON:"] = function(class, text)
    local value = K.parseJSON(text)
    if type(value) ~= "table" then return value end
    if value._isDictionary then return K.fromDictionary(class, value) end
    return value:collect_(function(entry) return class:fromDictionary_(entry) end)
  end,
})
