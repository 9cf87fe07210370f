-- Texts of requests as values of types: segments of paths, parameters, headers, cookies.
local K = ...
local tonumber, find, gsub = tonumber, string.find, string.gsub

local function integer(text)
  if not find(text, "^[+-]?%d+$") then return nil end
  return K.integerFromText((gsub(text, "^%+", "")))
end

local function number(text)
  if not find(text, "^[+-]?%d*%.?%d+[eE]?[+-]?%d*$") then return nil end
  return tonumber(text)
end

local truth = { ["true"] = true, ["1"] = true, ["false"] = false, ["0"] = false }

local readers = {
  int = integer,
  float = number,
  bool = function(text) return truth[text] end,
  decimal = function(text)
    if not find(text, "^[+-]?%d+%.?%d*$") then return nil end
    return K.decimalFromText(text)
  end,
  date = function(text) return K.parseDate(text) end,
  moment = function(text) return K.parseDate(text) end,
}

local reader

-- The first option that fits.
local function oneOf(declared)
  local inner = {}
  for i, option in ipairs(declared.options) do inner[i] = reader(option) end
  return function(text)
    for i = 1, #inner do
      local value = inner[i](text)
      if value ~= nil then return value end
    end
    return nil
  end
end

-- The function that answers the value of a type that a text stands for; nil where it stands for none.
function reader(declared)
  if declared.kind == "oneOf" then return oneOf(declared) end
  local read, admit = readers[declared.kind], K.admitter(declared)
  if declared.kind == "class" or declared.kind == "any" then return function(text) return text end end
  if not read then return admit end
  if declared.kind == "bool" then return read end
  -- A moment is admitted as the text that a client wrote.
  if declared.kind == "moment" then
    return function(text)
      if admit(text) == nil then return nil end
      return read(text)
    end
  end
  return function(text)
    local value = read(text)
    if value == nil then return nil end
    return admit(value)
  end
end
K.textReader = reader

local function byteOf(digits) return string.char(tonumber(digits, 16)) end
-- The text that a part of a query stands for (WHATWG URL, `application/x-www-form-urlencoded`).
local function decoded(text)
  if find(text, "+", 1, true) then text = gsub(text, "+", " ") end
  if find(text, "%", 1, true) then text = gsub(text, "%%(%x%x)", byteOf) end
  return text
end

-- The values of the named parameters of a query: name → text, or → list of texts where `lists` has it.
-- The first of several counts.
function K.queryTexts(query, wanted, lists)
  local found = {}
  if not query then return found end
  for pair in string.gmatch(query, "[^&]+") do
    local at = find(pair, "=", 1, true)
    local name = decoded(at and string.sub(pair, 1, at - 1) or pair)
    if wanted[name] then
      local text = at and decoded(string.sub(pair, at + 1)) or ""
      if lists[name] then
        local list = found[name] or {}
        list[#list + 1] = text
        found[name] = list
      elseif found[name] == nil then
        found[name] = text
      end
    end
  end
  return found
end
