-- Records as rows of cells in memory, which Rust reads without asking the engine for each value
-- (cells.rs). What writes a class's records is made for its fields: then LuaJIT compiles it together
-- with the block that makes them, and allocates no object that is dropped at once.
local K = ...
local ffi = require("ffi")
local cast, tonumber, loadstring, getmetatable, rawequal = ffi.cast, tonumber, loadstring, getmetatable, rawequal
local NULL = K.NULL

-- A number, or the place of a text; and what it is: the length of the text, or one of these.
local Cells = ffi.typeof("struct { union { double number; const char *text; }; int32_t kind; int32_t unused; }[?]")
local Address = ffi.typeof("uintptr_t")
local FIELD = [[
  do
    local value, cell = rawget(record, KEY), cells[at + PLACE]
    local kind = type(value)
    if kind == "string" then
      cell.text, cell.kind, texts[at + PLACE] = value, #value, value
    elseif kind == "number" then
      cell.number, cell.kind = value, -4
    elseif kind == "boolean" then
      if value then cell.kind = -3 else cell.kind = -2 end
    elseif rawequal(value, nil) or rawequal(value, NULL) then
      cell.kind = -1
    else
      return false
    end
  end
]]

-- Fields of a record that is written like this, and classes whose writers are remembered.
local FIELDS, MOST = 50, 200
local known, count = {}, 0

-- The function that writes a record with these fields of a class into cells, from a place on. It
-- answers false where it cannot: for records of other classes, for values that are no number, text or
-- truth, and where the field that is left out is there.
local function writer(methods, fields, leftOut)
  local code = { "local methods, NULL, rawget, rawequal, type, getmetatable = ...\n",
    "return function(cells, at, texts, record)\n if getmetatable(record) ~= methods then return false end\n" }
  if leftOut then
    code[#code + 1] = string.format("if rawget(record, %q) ~= nil then return false end\n", K.ivarKey(leftOut))
  end
  for i, name in ipairs(fields) do
    local key = string.format("%q", K.ivarKey(name))
    code[#code + 1] = string.gsub(FIELD, "%u%u%u+", { KEY = key, PLACE = tostring(i - 1) })
  end
  code[#code + 1] = "return true\nend"
  return loadstring(table.concat(code), "=cells")(methods, NULL, rawget, rawequal, type, getmetatable)
end

local function writerOf(methods, fields, leftOut)
  local key = table.concat(fields, ",") .. "/" .. (leftOut or "")
  local ofClass = known[methods]
  if ofClass and ofClass[key] then return ofClass[key] end
  if count >= MOST then known, count = {}, 0 end
  count = count + 1
  local made = writer(methods, fields, leftOut)
  known[methods] = known[methods] or {}
  known[methods][key] = made
  return made
end

-- Memory for one insertion is kept for the next one.
local spare, spareSize = nil, 0

-- Cells for `rows` records like the first; nil for records that cells cannot hold.
function K.cells(first, fields, leftOut, rows)
  local methods = getmetatable(first)
  if first._isDictionary or #fields > FIELDS then return nil end
  if rawequal(leftOut, NULL) then leftOut = nil end
  local size = rows * #fields
  local memory = spareSize >= size and spare or Cells(size)
  spare, spareSize = nil, 0
  return {
    write = writerOf(methods, fields, leftOut), memory = memory, texts = {}, at = 0, width = #fields, size = size,
    address = tonumber(cast(Address, memory)),
  }
end

function K.releaseCells(cells)
  spare, spareSize = cells.memory, cells.size
end
