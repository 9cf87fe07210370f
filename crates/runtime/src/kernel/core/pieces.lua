-- Long texts, worked on in pieces: joining, searching and splitting that a fiber can interrupt.
--
-- A fiber can be interrupted between two instructions, not within a call of C or of a native. So
-- what takes linear time works on pieces of a large text.
local K = ...
local type, find, sub, byte, concat = type, string.find, string.sub, string.byte, table.concat

local PIECE = 65536
K.PIECE = PIECE
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
function K.afterCharacter(text, to)
  local code = byte(text, to + 1)
  while code and code >= 128 and code < 192 do
    to = to - 1
    code = byte(text, to + 1)
  end
  return to
end

-- The first position of a part at or after a position.
function K.findText(text, part, from)
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

-- The parts of a text between the places where another stands, as a Lua table. With a `joint` they
-- are joined by it: what is then answered is one text.
local function split(text, separator, joint)
  if separator == "" then K.throw("typeError", "a String cannot be split at an empty String") end
  local parts, n, start, size = {}, 0, 1, #text
  local chunks, count = {}, 0
  local isLong = #separator >= 256
  -- The search goes through a window of the text, which begins after `base` bytes.
  local base, from, window = 0, 1, text
  if size > PIECE and not isLong then window = sub(text, 1, PIECE) end
  while true do
    local at
    if isLong then
      at = K.findText(window, separator, from)
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
