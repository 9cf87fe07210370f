-- Types of variables: what a declaration says, as one neutral table, and the function that admits
-- values of it. Paths, documents and forms read the same tables.
--
-- A type is `{ kind, name, min, max, pattern, values, element, options, optional }`. `kind` is any, int,
-- float, decimal, bool, string, date, time, moment, uuid, email, url, bytes, file, image, enum, list, oneOf, or
-- class, whose `name` is looked up when a value comes: the class may be defined further down.
local K = ...
local type, floor, gsub, unpack = type, math.floor, string.gsub, unpack
local find, lower, concat = string.find, string.lower, table.concat
local NULL = K.NULL

local plainKinds = {
  int = "int", integer = "int", long = "int", nsinteger = "int",
  float = "float", double = "float", number = "float",
  decimal = "decimal", nsdecimalnumber = "decimal", bool = "bool", boolean = "bool",
  string = "string", text = "string", nsstring = "string",
  date = "date", datetime = "date", nsdate = "date", moment = "moment", time = "time",
  uuid = "uuid", email = "email", url = "url",
  bytes = "bytes", data = "bytes", nsdata = "bytes", file = "file", image = "image", any = "any", id = "any", object = "any",
}

-- The table of a declaration: a name, or a table as the compiler writes it.
function K.typeOf(declared)
  if type(declared) == "string" then
    local kind = plainKinds[lower(declared)]
    return { kind = kind or "class", name = declared }
  end
  local made = {}
  for key, value in pairs(declared) do made[key] = value end
  if made.kind ~= "enum" and made.kind ~= "list" and made.kind ~= "oneOf" then
    made.name = made.kind
    made.kind = plainKinds[lower(made.name)] or "class"
  end
  if made.element then made.element = K.typeOf(made.element) end
  if made.options then
    made.options = {}
    for i, option in ipairs(declared.options) do made.options[i] = K.typeOf(option) end
  end
  return made
end

-- The name that stands for a type where only the kind of a column matters.
function K.columnType(declared)
  if declared.kind == "enum" then return "string" end
  if declared.kind == "list" then return "Array" end
  if declared.kind == "oneOf" then return "any" end
  return declared.name
end

-- A class of the program, for a field that holds its objects. Classes of the kernel other than
-- arrays and dictionaries say nothing about values.
function K.valueClass(name)
  local class = K.classes[name]
  if not class then return nil end
  if K.isSubclass(class, K.classes.Array) or K.isSubclass(class, K.classes.Dictionary) then return class end
  return rawget(class, "_defined") and class or nil
end

-- The names of the variables that together name an object of a class: those with the mark `key`, or `id`.
function K.keysOfClass(class)
  local names, id = {}, nil
  for _, ivar in ipairs(class._ivars) do
    local marks = class._marks[ivar]
    if marks and marks.key then names[#names + 1] = ivar end
    if ivar == "id" then id = ivar end
  end
  if #names == 0 then names[1] = id end
  return names
end

-- The class of that name whose objects are rows with a key, which one value names.
function K.keyedClass(name)
  local class = K.classes[name]
  if not class or #class._ivars == 0 or K.isSubclass(class, K.classes.Collection) then return nil end
  return #K.keysOfClass(class) == 1 and class or nil
end

-- Whether a variable is named as a key, `author_id` or `authorId`: then it stays the key of the row that it refers to.
function K.isNamedAsKey(name) return string.find(name, "_id$") ~= nil or string.find(name, "%lId$") ~= nil end

-- The kind of the column of a variable, for natives: `json` for what is neither plain nor a key.
function K.columnKind(class, name)
  local declared = class._types[name] and class._marks[name] and class._marks[name].type
  if not declared then return class._types[name] or "any" end
  if declared.kind == "list" or declared.kind == "oneOf" then return "json" end
  if declared.kind ~= "class" then return class._types[name] end
  local keyed = K.keyedClass(declared.name)
  if keyed then return K.columnKind(keyed, K.keysOfClass(keyed)[1]) end
  return K.valueClass(declared.name) and "json" or "any"
end

-- Words -----------------------------------------------------------------------------------------

local words = {
  int = "an integer", float = "a number", bool = "true or false", string = "text", bytes = "bytes",
  decimal = "a decimal number, an integer or text such as '12.30'",
  date = "a date, or text such as '2026-11-21T05:30:00Z'",
  moment = "a moment, or text such as '2026-11-21T05:30:00Z'",
  time = "a time of day such as '17:45:30'", email = "an e-mail address such as 'ada@example.org'",
  uuid = "a UUID such as 'f81d4fae-7dec-41d0-a765-00a0c91e6bf6'", url = "a URL such as 'https://example.org/'",
  file = "a file", image = "an image such as a PNG or JPEG file", any = "any value", list = "an array",
}
local units = { string = " characters", email = " characters", url = " characters", bytes = " bytes", file = " bytes",
  image = " bytes", list = " elements", class = " elements" }

local function range(declared)
  local min, max, unit = declared.min, declared.max, units[declared.kind] or ""
  if min == nil and max == nil then return "" end
  min, max = min ~= nil and K.str(min) or nil, max ~= nil and K.str(max) or nil
  if min == max and unit ~= "" then return " of " .. min .. unit end
  if min and max then return (unit == "" and " from " or " of ") .. min .. " to " .. max .. unit end
  return " of at " .. (min and "least " .. min or "most " .. max) .. unit
end

-- What the values of a type are, in words: `an integer from 1 to 100`.
function K.typeWords(declared)
  local kind, base = declared.kind, nil
  if kind == "enum" then
    local texts = {}
    for i, text in ipairs(declared.values) do texts[i] = "'" .. text .. "'" end
    base = "one of " .. concat(texts, ", ")
  elseif kind == "oneOf" then
    local names = {}
    for i, option in ipairs(declared.options) do names[i] = K.typeWords(option) end
    base = concat(names, " or ")
  elseif kind == "class" then
    local class = K.valueClass(declared.name)
    base = class and K.articleOf(class._name) or "any value"
  else
    base = words[kind]
  end
  local limits = range(declared)
  -- A range says more than an example.
  if limits ~= "" then base = gsub(gsub(base, ",.*", ""), " such as .*", "") end
  local pattern = declared.pattern and " that matches /" .. declared.pattern .. "/" or ""
  local each = declared.element and ", each " .. K.typeWords(declared.element) or ""
  return base .. limits .. pattern .. each
end

-- A type as a program writes it between `<` and `>`.
function K.typeText(declared)
  local kind, text = declared.kind, nil
  if kind == "enum" then
    text = "'" .. concat(declared.values, "' '") .. "'"
  elseif kind == "oneOf" then
    local options = {}
    for i, option in ipairs(declared.options) do options[i] = K.typeText(option) end
    text = concat(options, " | ")
  elseif kind == "list" and declared.element then
    text = "[" .. K.typeText(declared.element) .. "]"
  else
    text = declared.name or kind
  end
  local min, max = declared.min, declared.max
  if min ~= nil or max ~= nil then
    text = text .. " " .. (min ~= nil and K.str(min) or "") .. ".." .. (max ~= nil and K.str(max) or "")
  end
  if declared.pattern then text = text .. " /" .. gsub(declared.pattern, "/", "\\/") .. "/" end
  return declared.optional and text .. "?" or text
end

-- What fits ---------------------------------------------------------------------------------------

-- For each kind: the value as a field holds it, or nil where it does not fit. What is converted:
-- a text that writes a date becomes one, and a text becomes bytes.
local function toDate(value)
  if type(value) == "string" then return K.parseDate(value) end
  return type(value) == "table" and value._isDate and value or nil
end

local function ofForm(form)
  return function(value)
    if type(value) == "table" and value._isText then value = value:_string() end
    return type(value) == "string" and K.native.hasForm(form, value) and value or nil
  end
end

-- A large integer, or the bytes of a size.
local function exactOf(value)
  if type(value) ~= "table" then return nil end
  if value._isSize then return value._bytes end
  return value._isBig and value or nil
end

local admits = {
  int = function(value)
    if type(value) ~= "number" then value = exactOf(value) end
    if type(value) ~= "number" then return value end
    if value == floor(value) and value - value == 0 then return value end
    return nil
  end,
  float = function(value)
    return type(value) == "number" and value or exactOf(value)
  end,
  bool = function(value)
    if value == true or value == false then return value end
    return nil
  end,
  string = function(value)
    return (type(value) == "string" or type(value) == "table" and value._isText) and value or nil
  end,
  bytes = function(value)
    if type(value) == "string" then return K.makeData(value) end
    return type(value) == "table" and value._isData and value or nil
  end,
  decimal = function(value)
    if type(value) == "number" then return value == floor(value) and value or nil end
    if type(value) == "string" then
      return (find(value, "^[+-]?%d+$") or find(value, "^[+-]?%d+%.%d+$")) and value or nil
    end
    return type(value) == "table" and (value._isBig or value._isDecimal) and value or nil
  end,
  date = toDate,
  moment = function(value)
    if type(value) == "string" and not K.native.hasForm("moment", value) then return nil end
    return toDate(value)
  end,
  time = ofForm("time"), uuid = ofForm("uuid"), email = ofForm("email"), url = ofForm("url"),
  -- What a form or a store calls a file: anything but a plain value.
  file = function(value) return type(value) == "table" and not value._isBig and value or nil end,
  image = function(value)
    if type(value) ~= "table" then return nil end
    local data = value
    if value._isDictionary then data = value._map.data elseif not value._isData then data = value.i_data end
    return type(data) == "table" and data._isData and data:imageType() and value or nil
  end,
}

-- Characters of a text in UTF-8.
local function characters(text)
  local _, continued = gsub(text, "[\128-\191]", "")
  return #text - continued
end
K.characters = characters

-- Whether a number or a length is within the range of a type: a function, or nil without a range.
local function within(declared)
  local min, max, kind = declared.min, declared.max, declared.kind
  if min == nil and max == nil then return nil end
  if kind == "decimal" then
    return function(value)
      local text = K.str(value)
      return (min == nil or K.native.compareDecimals(text, min) >= 0)
        and (max == nil or K.native.compareDecimals(text, max) <= 0)
    end
  end
  local least, most = min or -math.huge, max or math.huge
  if kind == "int" or kind == "float" then
    return function(value)
      if type(value) ~= "number" then value = K.bigToNumber(value) end
      return value >= least and value <= most
    end
  elseif kind == "bytes" then
    return function(value) return #value._bytes >= least and #value._bytes <= most end
  elseif kind == "list" or kind == "class" then
    return function(value) return #value >= least and #value <= most end
  elseif kind == "file" or kind == "image" then
    return function() return true end
  end
  return function(value)
    if type(value) == "table" then value = value:_string() end
    local size = #value
    if size <= most and size >= least * 4 then return true end
    size = characters(value)
    return size >= least and size <= most
  end
end

local admitter

local function admitEnumeration(declared)
  local known = {}
  for _, text in ipairs(declared.values) do known[text] = true end
  return function(value)
    if type(value) == "table" and value._isText then value = value:_string() end
    return type(value) == "string" and known[value] and value or nil
  end
end

local function admitList(declared)
  local inner, optional = declared.element and admitter(declared.element), declared.element and declared.element.optional
  return function(value)
    if type(value) ~= "table" or not value._isArray then return nil end
    if not inner then return value end
    local held
    for i = 1, #value do
      local element = value[i]
      local fit = NULL
      if element ~= NULL then fit = inner(element) elseif not optional then return nil end
      if fit == nil then return nil end
      if fit ~= element and not held then held = K.array({ unpack(value, 1, i - 1) }) end
      if held then held[i] = fit end
    end
    return held or value
  end
end

local function admitObject(declared)
  local name = declared.name
  return function(value)
    local wanted = K.valueClass(name)
    if not wanted or K.isKind(value, wanted) then return value end
    -- A row of another table is named by its key, too.
    if K.keyedClass(name) and (type(value) ~= "table" or value._isBig) then return value end
    return nil
  end
end

local function admitOneOf(declared)
  local inner = {}
  for i, option in ipairs(declared.options) do inner[i] = admitter(option) end
  return function(value)
    for i = 1, #inner do
      local held = inner[i](value)
      if held ~= nil then return held end
    end
    return nil
  end
end

local special = { enum = admitEnumeration, list = admitList, class = admitObject, oneOf = admitOneOf }

-- The function that answers a value other than nil as a field of the type holds it, or nil where it
-- does not fit.
function admitter(declared)
  local make = special[declared.kind]
  local admit = make and make(declared) or admits[declared.kind]
  if not admit then return function(value) return value end end
  local inRange, pattern = within(declared), declared.pattern
  if not inRange and not pattern then return admit end
  return function(value)
    local held = admit(value)
    if held == nil or inRange and not inRange(held) then return nil end
    if pattern and not K.native.matchesPattern(pattern, type(held) == "table" and held:_string() or held) then
      return nil
    end
    return held
  end
end
K.admitter = admitter

-- From data ---------------------------------------------------------------------------------------

-- The texts of an enumeration among the variables of a class.
local function textsOf(class, name)
  local marks = class._marks[name]
  local declared = marks and marks.type
  return declared and declared.kind == "enum" and declared.values or nil
end

-- The variable that tells classes apart: an enumeration in each of them, with different texts.
local function discriminator(classes)
  for _, name in ipairs(classes[1]._ivars) do
    local by, tells = {}, true
    for _, class in ipairs(classes) do
      local texts = textsOf(class, name)
      for _, text in ipairs(texts or {}) do
        tells = tells and not by[text]
        by[text] = class
      end
      tells = tells and texts ~= nil
    end
    if tells then return name, by end
  end
  return nil
end

-- Whether a dictionary has the variables of a class, and nothing else.
local function fitsClass(class, dictionary, make)
  local keys, map = K.keysOf(dictionary), dictionary._map
  for i = 1, #keys do
    if not K.hasVariable(class, keys[i]) then return false end
  end
  for name, marks in pairs(class._marks) do
    local value = map[name]
    if value == nil or value == NULL then
      if marks.required and not marks.default then return false end
    else
      local reader = K.dataReader(marks.type, make)
      if reader then value = reader(value) end
      if admitter(marks.type)(value) == nil then return false end
    end
  end
  return true
end

-- The class of a one-of that a dictionary is meant for, or nil.
local function chosen(classes, dictionary, make)
  local name, by = discriminator(classes)
  if name then return by[dictionary._map[name]] end
  for _, class in ipairs(classes) do
    local ok, fits = K.try(function() return fitsClass(class, dictionary, make) end)
    if ok and fits then return class end
  end
  return nil
end

local function isData(value) return type(value) == "table" and value._isDictionary end

-- The function that makes what a field holds of parsed data, or nil where data stays as it is.
-- `make(class, dictionary)` makes objects.
function K.dataReader(declared, make)
  local kind = declared.kind
  if kind == "date" or kind == "moment" then
    return function(value)
      if type(value) == "string" then return K.parseDate(value) or value end
      return value
    end
  elseif kind == "file" or kind == "image" then
    return function(value)
      if isData(value) then return K.formFile(value, kind == "image") end
      return value
    end
  elseif kind == "class" then
    local class = K.valueClass(declared.name)
    if not class or class._methods._isDictionary or class._methods._isArray or #class._ivars == 0 then return nil end
    return function(value)
      if isData(value) then return make(class, value) end
      return value
    end
  elseif kind == "list" then
    local inner = declared.element and K.dataReader(declared.element, make)
    if not inner then return nil end
    return function(value)
      if type(value) ~= "table" or not value._isArray then return value end
      local list = {}
      for i = 1, #value do list[i] = value[i] == NULL and NULL or inner(value[i]) end
      return K.array(list, #value)
    end
  elseif kind == "oneOf" then
    local classes = {}
    for _, option in ipairs(declared.options) do
      local class = option.kind == "class" and K.valueClass(option.name)
      if class and not class._methods._isDictionary then classes[#classes + 1] = class end
    end
    if #classes == 0 then return nil end
    return function(value)
      local class = isData(value) and chosen(classes, value, make)
      if class then return make(class, value) end
      return value
    end
  end
  return nil
end

-- For natives ---------------------------------------------------------------------------------------

-- A dictionary of pairs; what is nil or false is left out.
local function record(pairsOf)
  local keys, map, n = {}, {}, 0
  for i = 1, #pairsOf, 2 do
    local value = pairsOf[i + 1]
    if value ~= NULL then
      n = n + 1
      keys[n], map[pairsOf[i]] = pairsOf[i], value
    end
  end
  return K.dictionary(keys, map, n)
end
K.recordOf = record

local function orNull(value)
  if value == nil or value == false then return NULL end
  return value
end

-- A type as plain data (crates/store/src/value/contract/read.rs). `placeOf(class)` answers the
-- position of a class; where `whole` is set a class means an object, never its key.
function K.describeType(declared, placeOf, whole)
  local kind, name, class = declared.kind, NULL, NULL
  if kind == "class" then
    local known = K.valueClass(declared.name)
    local keyed = K.keyedClass(declared.name)
    if lower(declared.name) == "array" or known and known._methods._isArray then
      kind = "list"
    elseif lower(declared.name) == "dictionary" or known and known._methods._isDictionary then
      kind = "record"
    elseif known and keyed and not whole then
      kind, name, class = "key", keyed._types[K.keysOfClass(keyed)[1]] or "int", placeOf(known)
    elseif known then
      kind, class = "object", placeOf(known)
    else
      kind = "any"
    end
  end
  local values, options = NULL, NULL
  if declared.values then values = K.array({ unpack(declared.values) }) end
  if declared.options then
    local list = {}
    for i, option in ipairs(declared.options) do list[i] = K.describeType(option, placeOf, whole) end
    options = K.array(list)
  end
  return record {
    "kind", kind, "name", name, "min", orNull(declared.min), "max", orNull(declared.max),
    "pattern", orNull(declared.pattern), "values", values,
    "element", declared.element and K.describeType(declared.element, placeOf, whole) or NULL,
    "class", class, "options", options, "optional", orNull(declared.optional),
  }
end
