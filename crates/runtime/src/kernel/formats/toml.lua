-- TOML (1.0): configuration as dictionaries, and back.
local K = ...
local type, byte, sub, find, gsub, concat = type, string.byte, string.sub, string.find, string.gsub, table.concat
local throw, NULL = K.throw, K.NULL

-- Tables within each other that are written.
local DEEPEST = 64

-- Texts with the marks of the native parser become dates.
local function plain(value)
  if type(value) == "string" then
    if byte(value) ~= 0 then return value end
    local rest = sub(value, 3)
    if byte(value, 2) == 115 then return rest end -- s
    return rest:asDay() or rest:asTime() or find(rest, "[Zz+-]", 11) and rest:asDate() or rest
  end
  if type(value) ~= "table" then return value end
  if value._isArray then
    for i = 1, #value do value[i] = plain(value[i]) end
  elseif value._isDictionary then
    local keys = value:keys()
    for i = 1, #keys do value:at_put_(keys[i], plain(value:at_(keys[i]))) end
  end
  return value
end

K.methods(K.classes.String, {
  --- String -<Dictionary> parseTOML
  --- Answers the document as a Dictionary. Dates are a Date, a Day, a TimeOfDay, or a text where they have no zone. An
  --- error names the line. At most 16 MiB.
  --- > 'port = 80\n[db]\npath = "a.db"' parseTOML ⇒ #{ port: 80, db: #{ path: 'a.db' } }
  ["parseTOML"] = function(text) return plain(K.native.parseTOML(text)) end,
})

local function quoted(text) return (gsub(K.jsonQuote(text), "\127", "\\u007f")) end
local function keyText(key)
  key = K.str(key)
  if find(key, "^[%w_-]+$") then return key end
  return quoted(key)
end

local function isTable(value) return type(value) == "table" and value._isDictionary == true end
local function isTables(value)
  if type(value) ~= "table" or not value._isArray or #value == 0 then return false end
  for i = 1, #value do
    if not isTable(value[i]) then return false end
  end
  return true
end

local function tooDeep() throw("tooLarge", "TOML goes 64 levels deep at most") end

local function inline(value, depth)
  if depth > DEEPEST then tooDeep() end
  if type(value) == "string" then return quoted(value) end
  if type(value) == "boolean" then return value and "true" or "false" end
  if type(value) == "number" then
    if value ~= value then return "nan" end
    if value == math.huge then return "inf" end
    if value == -math.huge then return "-inf" end
    return K.str(value)
  end
  if value == nil or value == NULL then throw("typeError", "TOML has no nil") end
  if type(value) == "table" then
    if value._isDate or value._isDay or value._isTimeOfDay then return value:description() end
    if value._isText then return quoted(value:_string()) end
    if value._isDictionary then
      local parts, keys = {}, value:keys()
      for i = 1, #keys do
        local one = value:at_(keys[i])
        if one ~= nil then parts[#parts + 1] = keyText(keys[i]) .. " = " .. inline(one, depth + 1) end
      end
      return "{ " .. concat(parts, ", ") .. " }"
    end
    if value._isCollection then
      local parts, list = {}, value:_elements()
      for i = 1, #list do parts[i] = inline(list[i], depth + 1) end
      return "[" .. concat(parts, ", ") .. "]"
    end
    if value._isBig then
      throw("typeError", "TOML has no whole number beyond 64 bits: " .. value:description())
    end
    if value._isDecimal then return quoted(value:description()) end
  end
  throw("typeError", K.nameOf(value) .. " has no form in TOML")
end

-- The plain entries of a table come before its tables.
local function write(parts, value, path, depth)
  if depth > DEEPEST then tooDeep() end
  local keys, later = value:keys(), {}
  for i = 1, #keys do
    local one = value:at_(keys[i])
    if isTable(one) or isTables(one) then
      later[#later + 1] = keys[i]
    elseif one ~= nil then
      parts[#parts + 1] = keyText(keys[i]) .. " = " .. inline(one, depth) .. "\n"
    end
  end
  for _, key in ipairs(later) do
    local one, name = value:at_(key), path .. keyText(key)
    if isTable(one) then
      parts[#parts + 1] = (#parts > 0 and "\n" or "") .. "[" .. name .. "]\n"
      write(parts, one, name .. ".", depth + 1)
    else
      for i = 1, #one do
        parts[#parts + 1] = (#parts > 0 and "\n" or "") .. "[[" .. name .. "]]\n"
        write(parts, one[i], name .. ".", depth + 1)
      end
    end
  end
end

K.methods(K.classes.Dictionary, {
  --- Dictionary -<String> asTOML
  --- Answers the dictionary as a TOML document: entries, then a section for each inner dictionary and for each one in
  --- an Array. Leaves entries out whose value is nil.
  --- > #{ port: 80, db: #{ path: 'a.db' } } asTOML ⇒ 'port = 80\n\n[db]\npath = "a.db"\n'
  ["asTOML"] = function(self)
    local parts = {}
    write(parts, self, "", 1)
    return K.joinTexts(parts, #parts, "")
  end,
})
