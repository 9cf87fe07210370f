-- Text that grows: what generated code calls for `text := text , part`, so that a loop of it takes linear
-- time. The variable holds the pieces, and whatever reads it joins them first.
--
--   text := ''.  1 to: 3 do: { :i | text := text , i , ';' }.  text
--   pieces       { "1;" } { "1;", "2;" } { "1;", "2;", "3;" }     "1;2;3;"
local K = ...
local type, getmetatable, setmetatable, select = type, getmetatable, setmetatable, select
local sub, concat = string.sub, table.concat

-- A text shorter than this is joined at once: copying it costs less than pieces.
local SHORT = 256
-- Pieces that become one, so that many small ones need little memory.
local MANY = 1024

-- n texts at 1..n, then `tail` short ones in `last`; `size` bytes in all.
local Pieces = {}

function K.isGrowing(value) return getmetatable(value) == Pieces end

local function joined(value)
  if getmetatable(value) ~= Pieces then return value end
  if value.tail > 0 then
    value.n = value.n + 1
    value[value.n], value.tail = concat(value.last, "", 1, value.tail), 0
  end
  if value.n > 1 then
    local whole = K.joinTexts(value, value.n, "")
    for i = value.n, 2, -1 do value[i] = nil end
    value[1], value.n = whole, 1
  end
  return value[1]
end
K.joined = joined

local function push(pieces, text)
  local tail = pieces.tail + 1
  pieces.last[tail], pieces.tail, pieces.size = text, tail, pieces.size + #text
  if tail == MANY then
    pieces.n = pieces.n + 1
    pieces[pieces.n], pieces.tail = concat(pieces.last, "", 1, tail), 0
  end
end

-- What stands in the variable before the parts are evaluated, and how long it is.
local function appending(value)
  if getmetatable(value) == Pieces then return value, value.size end
  return value, 0
end
K.appending = appending

local function appendOne(value, size, part)
  if getmetatable(value) == Pieces then
    -- What the parts did may have appended to the variable, too.
    if value.size ~= size then value = sub(joined(value), 1, size) end
  end
  if type(value) == "string" then
    if type(part) ~= "string" then part = K.str(part) end
    if #value + #part < SHORT then return value .. part, 0 end
    local pieces = setmetatable({ value, n = 1, size = #value, last = {}, tail = 0 }, Pieces)
    push(pieces, part)
    return pieces, pieces.size
  end
  if getmetatable(value) ~= Pieces then return K.concat(value, part), 0 end
  if type(part) ~= "string" then part = K.str(part) end
  push(value, part)
  return value, value.size
end

function K.append(value, size, ...)
  local n = select("#", ...)
  if n == 1 then return (appendOne(value, size, (...))) end
  for i = 1, n do value, size = appendOne(value, size, (select(i, ...))) end
  return value
end
