-- Where markup is written: buffers, and what stands for the characters that mean something in it.
--
-- A buffer writes into memory that an engine's own buffer (`text`) has set aside. Its window says
-- where: `start` is the end of what `text` counts, `at` the place of the next byte, `limit` the end
-- of the memory. All of this is compiled together with the loop that writes, where a call of the
-- engine for each piece costs about half as much again as everything else.
--   `[1]`, `[2]`  address and length of a page that is done, until Rust has copied it (page.rs)
--   `live`        it is being sent: blocks run at once
--   `marks`       { place, writer, … }: what is run whenever the markup is written
--   `page`        true, or the state of the live parts (live/slot.lua), where it becomes a page of a
--                 browser; false where it becomes a text
--   `pending`     attributes of the tag being written that are live; `itemKey` the `key:` of an item
--   `taken`       bytes that were sent already; `moves` while the window does; `grown` when it is not
--                 the first, so that more than it was written
local K = ...

-- What the room `live/` adds to pages: it is loaded later.
local live = {}
K.live = live

local ffi = require("ffi")
local cast, copy, textAt, setmetatable, getmetatable, tonumber =
  ffi.cast, ffi.copy, ffi.string, setmetatable, getmetatable, tonumber
local numberText, tobit = K.numberText, bit.tobit

local Window = ffi.typeof("struct { uint8_t *start, *at, *limit; }")
local Address, Bytes = ffi.typeof("uintptr_t"), ffi.typeof("const char *")
local newText = require("string.buffer").new
local sample = newText()
local reserve, commit, reset, ref, skip =
  sample.reserve, sample.commit, sample.reset, sample.ref, sample.skip

-- Bytes that are set aside at once.
local ROOM = 4096

-- Ends the window: what was written counts as text.
local function settle(buffer)
  local window = buffer.window
  if window.start ~= nil then
    commit(buffer.text, window.at - window.start)
    window.start, window.at, window.limit = nil, nil, nil
  end
end

-- A window of at least that many bytes.
local function more(buffer, n)
  local window, text = buffer.window, buffer.text
  buffer.moves = true
  settle(buffer)
  if buffer.taken > 0 then
    skip(text, buffer.taken)
    buffer.taken = 0
  end
  buffer.grown = #text > 0
  local place, length = reserve(text, n > ROOM and n or ROOM)
  window.start, window.at, window.limit = place, place, place + length
  buffer.moves = false
  return place
end

local function put(buffer, text)
  local window, n = buffer.window, #text
  local at = window.at
  if at + n > window.limit then at = more(buffer, n) end
  copy(at, text, n)
  window.at = at + n
end
K.put = put

-- Buffers at rest, and the largest that is kept: it holds on to its memory.
local POOL, KEPT = 32, 65536
local pool, free = {}, 0

-- A page that is done, for Rust (see above).
local Written = {}
function K.isHandedOver(value) return getmetatable(value) == Written end

local function new()
  local buffer = { false, 0, text = newText(), window = Window() }
  buffer.live, buffer.marks, buffer.taken, buffer.moves, buffer.grown = false, false, 0, false, false
  buffer.page, buffer.pending, buffer.itemKey = false, false, nil
  setmetatable(buffer, Written)
  return buffer
end

local function open()
  local buffer = pool[free]
  if not buffer then return new() end
  pool[free] = nil
  free = free - 1
  -- Its fiber may have been interrupted before Rust has copied the page.
  if buffer[1] then return new() end
  return buffer
end
K.openMarkup = open

local function length(buffer)
  local window = buffer.window
  return #buffer.text + tonumber(window.at - window.start)
end
K.markupLength = length

-- Where what was not sent lies, and how much it is. The bytes stay until something is written.
local function empty(buffer)
  local window, taken = buffer.window, buffer.taken
  buffer.moves = true
  if not buffer.grown and taken == 0 then
    local start = window.start
    local n = tonumber(window.at - start)
    window.at = start
    return start, n
  end
  settle(buffer)
  local place, n = ref(buffer.text)
  reset(buffer.text)
  return place + taken, n - taken
end

-- Keeps an empty buffer for others.
local function rest(buffer, size)
  buffer.live, buffer.marks, buffer.taken, buffer.moves = false, false, 0, false
  buffer.page, buffer.pending, buffer.itemKey = false, false, nil
  if free < POOL and size <= KEPT then
    free = free + 1
    pool[free] = buffer
  end
end

-- The text of a buffer, which must not be used after that.
function K.finished(buffer)
  local place, n = empty(buffer)
  local text = textAt(place, n)
  -- A buffer that is being sent may get more text: it does not return to the pool.
  if not buffer.live then rest(buffer, n) end
  return text
end

-- What was written since it was asked the last time. The fiber that writes may have been interrupted
-- anywhere: nothing that it works with is changed but `taken`.
function K.takeMarkup(buffer)
  if buffer.moves or buffer[1] then return "" end
  local place, n = ref(buffer.text)
  local window, taken = buffer.window, buffer.taken
  n = n + tonumber(window.at - window.start)
  if n == taken then return "" end
  buffer.taken = n
  return textAt(place + taken, n - taken)
end

-- Leaves a page for Rust: its bytes lie in the buffer until Rust has copied them.
function K.handOver(buffer)
  local place, n = empty(buffer)
  buffer[1], buffer[2] = tonumber(cast(Address, place)), n
  rest(buffer, n)
  return buffer
end

-- Escaping ---------------------------------------------------------------------------------------

-- Rust escapes (markup.rs): `escapeInto(target, text, length)` answers how many bytes it wrote, at most
-- GROWTH for each.
local GROWTH, PART = 6, 4096
local escapeInto = cast("uint32_t (*)(uint8_t *, const char *, uint32_t)", K.escapeMarkup)
local scratch = ffi.new("uint8_t[?]", GROWTH * PART)

local function escape(text)
  local n = #text
  if n > PART then
    local buffer = open()
    K.putEscaped(buffer, text)
    return K.finished(buffer)
  end
  local written = escapeInto(scratch, text, n)
  if written == n then return text end
  return textAt(scratch, written)
end
K.escapeHTML = escape

-- Looking a text up costs less than looking through it: what was escaped lately is remembered, in
-- two generations of at most MOST texts of at most LONGEST bytes each.
local MOST, LONGEST = 4096, 200
local young, old, count = {}, {}, 0
local function remembered(text)
  local out = old[text] or escape(text)
  if count >= MOST then old, young, count = young, {}, 0 end
  count = count + 1
  young[text] = out
  return out
end

local function putLong(buffer, text)
  local bytes, n = cast(Bytes, text), #text
  for from = 0, n - 1, PART do
    local window = buffer.window
    local part = n - from < PART and n - from or PART
    local at = window.at
    if at + part * GROWTH > window.limit then at = more(buffer, part * GROWTH) end
    window.at = at + escapeInto(at, bytes + from, part)
  end
end

-- Writes a text, escaped.
function K.putEscaped(buffer, text)
  local out = young[text]
  if out then return put(buffer, out) end
  if #text > LONGEST then return putLong(buffer, text) end
  put(buffer, remembered(text))
end

-- The digits of small numbers, each in the bytes of one integer, and how many they are.
local SMALL = 1000
local Digits = ffi.typeof("uint32_t *")
local digits, widths = ffi.new("uint32_t[?]", SMALL), ffi.new("uint8_t[?]", SMALL)
for number = 0, SMALL - 1 do
  local text = tostring(number)
  widths[number] = #text
  copy(digits + number, text, #text)
end

-- Writes a number, which needs no escaping.
function K.putNumber(buffer, number)
  local small = tobit(number)
  if small ~= number or small < 0 or small >= SMALL then return put(buffer, numberText(number)) end
  local window = buffer.window
  local at = window.at
  if at + 4 > window.limit then at = more(buffer, 4) end
  cast(Digits, at)[0] = digits[small]
  window.at = at + widths[small]
end
