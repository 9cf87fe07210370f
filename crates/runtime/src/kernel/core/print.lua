-- How values read as text: `K.str` for people (strings bare), `K.repr` as a programmer would write
-- them (strings quoted).
local K = ...
local type, tostring, tonumber, floor = type, tostring, tonumber, math.floor
local format, gsub, find = string.format, string.gsub, string.find

-- Containers inside containers, deeper than this, print as an ellipsis.
local DEPTH = 40

local function numberText(x)
  if x == floor(x) and x < 1e14 and x > -1e14 then
    if x == 0 then return "0" end -- also for minus zero
    return tostring(x)
  end
  if x ~= x then return "nan" end
  if x == math.huge then return "inf" end
  if x == -math.huge then return "-inf" end
  if x == floor(x) and x <= 9007199254740992 and x >= -9007199254740992 then
    return format("%.0f", x)
  end
  local text = format("%.14g", x)
  if tonumber(text) ~= x then
    text = format("%.15g", x)
    if tonumber(text) ~= x then
      text = format("%.16g", x)
      if tonumber(text) ~= x then text = format("%.17g", x) end
    end
  end
  if find(text, "e", 1, true) then text = gsub(gsub(text, "e%+0*", "e"), "e%-0*", "e-") end
  return text
end

-- The shortest text that reads back as the same number: `3`, `0.1`, `1e20`.
K.numberText = numberText

local function quote(text)
  return "'" .. (find(text, "'", 1, true) and K.split(text, "'", "''") or text) .. "'"
end

local function described(value)
  if rawget(value, "_standIn") then return "a HigherOrder message without its message" end
  local text = value:description()
  if type(text) == "string" then return text end
  if type(text) == "table" and text._isText then return text:_string() end
  K.throw("typeError", "description of " .. K.nameOf(value) .. " must answer a String, not "
    .. K.nameOf(text))
end

-- Appends the text of a value to the list of parts. `path` holds the containers being printed.
local function write(parts, value, quoted, path, depth)
  local kind = type(value)
  if kind == "string" then
    parts[#parts + 1] = quoted and quote(value) or value
  elseif kind == "number" then
    parts[#parts + 1] = numberText(value)
  elseif kind == "boolean" then
    parts[#parts + 1] = value and "true" or "false"
  elseif value == nil then
    parts[#parts + 1] = "nil"
  elseif kind ~= "table" then
    parts[#parts + 1] = kind == "function" and "a Block" or "a " .. kind
  elseif value._writeText then
    if path[value] or depth > DEPTH then
      parts[#parts + 1] = "…"
    else
      path[value] = true
      value:_writeText(parts, quoted, path, depth + 1)
      path[value] = nil
    end
  elseif quoted and value._isText then
    parts[#parts + 1] = quote(value:_string())
  else
    parts[#parts + 1] = described(value)
  end
end
K.writeText = write

-- The text of a value, as `stringValue`, interpolation and printing use it.
function K.str(value)
  local kind = type(value)
  if kind == "string" then return value end
  if kind == "number" then return numberText(value) end
  if value == nil then return "nil" end
  if kind == "boolean" then return value and "true" or "false" end
  if kind == "table" and not value._writeText then return described(value) end
  local parts = {}
  write(parts, value, false, {}, 0)
  return K.joinTexts(parts, #parts, "")
end

-- The text of a value with strings in quotes, as `printString` and failed expectations use it.
function K.repr(value)
  local parts = {}
  write(parts, value, true, {}, 0)
  return K.joinTexts(parts, #parts, "")
end

-- A name of a class with its article: `an Array`, `a String`.
function K.articleOf(name)
  return (find(name, "^[AEIOU]") and "an " or "a ") .. name
end

-- What to call a value in an error message: its class, or nil, with its value when short.
function K.nameOf(value)
  if value == nil then return "nil" end
  if K.isClass(value) then return "the class " .. value._name end
  local class = K.classOf(value)
  local name = class and class._name or type(value)
  if type(value) == "number" or type(value) == "boolean" then
    return K.articleOf(name) .. " (" .. K.str(value) .. ")"
  end
  if type(value) == "string" and #value <= 40 then return K.articleOf(name) .. " ('" .. value .. "')" end
  return K.articleOf(name)
end

-- Refuses a message in words. `why` may be nil.
function K.refuse(receiver, selector, why)
  K.throw("doesNotUnderstand", format("%s does not understand %s%s",
    K.nameOf(receiver), selector, why and " (" .. why .. ")" or ""))
end

-- Bytes of two texts that are shown as a whole; of longer ones, bytes before and after the first difference.
local SHOWN, BEFORE, AFTER = 300, 40, 80

-- What is wrong where a text was expected and another one came.
function K.unexpected(expected, actual)
  if #expected + #actual <= SHOWN then return "expected " .. expected .. " but got " .. actual end
  local at, byte = 1, string.byte
  while at <= #expected and byte(expected, at) == byte(actual, at) do at = at + 1 end
  -- The part around the difference, without halves of characters.
  local function part(text)
    local first, last = math.max(1, at - BEFORE), math.min(#text, at + AFTER)
    while first > 1 and (byte(text, first) or 0) >= 128 and byte(text, first) < 192 do first = first - 1 end
    while last < #text and byte(text, last + 1) >= 128 and byte(text, last + 1) < 192 do last = last + 1 end
    return (first > 1 and "…" or "") .. string.sub(text, first, last) .. (last < #text and "…" or "")
  end
  return string.format("the values differ from character %d on\n  expected %s\n   but got %s", at, part(expected), part(actual))
end
