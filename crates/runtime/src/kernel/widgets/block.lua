-- The script's variables that a block reads, found in its compiled form: their names are constants of the block and
-- of the blocks in it. A constant that only happens to be spelled like a variable costs an observer and no more.
local K = ...
local type, pcall, pairs, setmetatable, dump = type, pcall, pairs, setmetatable, string.dump
local find, char = string.find, string.char

-- A text of n bytes in compiled code begins with n + 5 (LuaJIT, lj_bcdump.h); a name is shorter than 123 bytes.
local STRING, LONGEST = 5, 122
-- Blocks that are called through variables, within each other.
local DEPTH = 8

local function namesIn(code, found, depth)
  local function look(name)
    if found[name] ~= nil or #name > LONGEST or not find(code, char(#name + STRING) .. name, 1, true) then return end
    found[name] = true
    local value = K.variables[name]
    if type(value) ~= "function" or depth >= DEPTH then return end
    local ok, inner = pcall(dump, value)
    if ok then namesIn(inner, found, depth + 1) end
  end
  local names = {} -- an observed variable is known as declared
  for name in pairs(K.variables) do names[#names + 1] = name end
  for name in pairs(K.declared) do names[#names + 1] = name end
  for i = 1, #names do look(names[i]) end
end

local known = setmetatable({}, { __mode = "k" })

-- References to the variables, as a Lua table.
function K.variablesRead(block)
  local list = known[block]
  if list then return list end
  list = {}
  local ok, code = pcall(dump, block)
  if ok then
    local found = {}
    namesIn(code, found, 0)
    for name in pairs(found) do list[#list + 1] = K.reference("var", name) end
  end
  known[block] = list
  return list
end
