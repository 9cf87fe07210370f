-- Selectors: how they become Lua names, and back.
--
-- Messages are Lua methods: `recv at: k put: v` is `recv:at_put_(k, v)`. `K.mangle` says how a
-- selector becomes a Lua name, by the rules of `crates/compile/src/names.rs`. Names that begin with
-- one underscore (`_class`) are internal fields: no selector mangles to them. Instance variables are
-- fields `i_NAME`.
local K = ...
-- Strings of the language get a metatable of their own (text/string.lua), so kernel code never
-- writes `s:find(…)`: it calls Lua's string functions by name.
local find, gsub, sub, byte, format = string.find, string.gsub, string.sub, string.byte, string.format

local reserved = {}
for word in string.gmatch([[and break do else elseif end false for function goto if in local nil not
  or repeat return then true until while]], "%a+") do reserved[word] = true end

-- Whether a Lua name is an internal field rather than a selector.
function K.isInternal(name)
  return find(name, "^_%l") ~= nil and not reserved[sub(name, 2)]
end

local function escape(char)
  if char == "_" then return "_2" end
  if char == "-" then return "_0" end
  if char == "." then return "_1" end
  return format("_x%02x", byte(char))
end

local binary = {
  ["+"] = "add:", ["-"] = "sub:", ["*"] = "mul:", ["/"] = "div:", ["="] = "isEqual:",
  ["×"] = "mul:", ["÷"] = "div:",
  ["=="] = "isEqual:", ["≠"] = "isNotEqualTo:", ["~="] = "isNotEqualTo:", ["!="] = "isNotEqualTo:",
  ["<"] = "isLessThan:", [">"] = "isGreaterThan:", ["≤"] = "isLessThanOrEqualTo:",
  ["<="] = "isLessThanOrEqualTo:", ["≥"] = "isGreaterThanOrEqualTo:",
  [">="] = "isGreaterThanOrEqualTo:", [","] = "concat:", ["@"] = "pointWith:",
  ["!"] = "writeObject:", ["!!"] = "sendmsg:", ["%"] = "mod:", ["&"] = "and:",
}

local mangled, spelled = {}, {}

local function manglePart(part)
  return gsub(sub(part, 1, -2), "[^%w]", escape) .. "_"
end

-- Apart from the look-up below: LuaJIT's tracer does not compile functions that make closures.
local function mangleNew(selector)
  local name
  local spelling = binary[selector] or selector
  if find(spelling, ":", 1, true) then
    name = gsub(spelling, "[^:]*:", manglePart)
  elseif find(spelling, "^[%a_\128-\255]") then
    name = reserved[spelling] and "_" .. spelling or gsub(spelling, "[^%w]", escape)
  else
    name = "op" .. gsub(spelling, "[^%w]", escape) .. "_"
  end
  mangled[selector] = name
  spelled[name] = spelled[name] or spelling
  return name
end

-- The Lua name of a selector such as `at:put:`, `count`, `+`.
function K.mangle(selector)
  return mangled[selector] or mangleNew(selector)
end

-- The selector of a Lua name, for messages to people.
function K.selector(name)
  if spelled[name] then return spelled[name] end
  if find(name, "^_%l") and reserved[sub(name, 2)] then return sub(name, 2) end
  local text = gsub(name, "_2", "\1")
  if find(name, "^op_[x0]") then text = sub(text, 3, -2) end -- a binary operator without a word
  text = gsub(text, "_x(%x%x)", function(hex) return string.char(tonumber(hex, 16)) end)
  text = gsub(gsub(text, "_0", "-"), "_1", ".")
  text = gsub(gsub(text, "_", ":"), "\1", "_")
  return text
end

-- The field of an instance variable.
function K.ivarKey(name)
  return "i_" .. gsub(name, "[^%w]", escape)
end

-- The selector that sets a property: `setTitle:` for `title`.
function K.setterName(name)
  return "set" .. string.upper(sub(name, 1, 1)) .. sub(name, 2) .. ":"
end
