-- Types of instance variables: what fits them, inside a program and at its border. `K.typedIvar`
-- declares a variable whose setter, literals and assignments refuse other values; `K.contractOf`
-- tells native code what a class wants of content that a client sends.
--
-- A class has `_marks` (variable → its marks: required, readonly) and `_fits` (field → the function
-- that checks a value and answers it, also a field of its instances).
local K = ...
local type, rawget, rawset, floor, format = type, rawget, rawset, math.floor, string.format
local find, lower = string.find, string.lower
local throw, observedFields = K.throw, K.observedFields
local NULL = K.NULL

for _, key in ipairs { "_marks", "_fits", "_sent", "_sentKey", "_required" } do K.nilKeys[key] = true end

-- What fits ---------------------------------------------------------------------------------------

-- For each type: the value as the field holds it, or nil where it does not fit. What is converted:
-- a text that writes a date becomes one, and a text becomes bytes.
local admits = {
  int = function(value)
    if type(value) == "number" then
      if value == floor(value) and value - value == 0 then return value end
      return nil
    end
    return type(value) == "table" and value._isBig and value or nil
  end,
  float = function(value)
    return (type(value) == "number" or type(value) == "table" and value._isBig) and value or nil
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
  date = function(value)
    if type(value) == "string" then return K.parseDate(value) end
    return type(value) == "table" and value._isDate and value or nil
  end,
}

local words = {
  int = "an integer", float = "a number", bool = "true or false", string = "text", bytes = "bytes",
  decimal = "a decimal number, an integer or text such as '12.30'",
  date = "a date, or text such as '2026-11-21T05:30:00Z'",
}

local function misfit(class, name, wanted, value)
  throw("typeError", format("%s of %s is %s, not %s", name, class._name, wanted, K.nameOf(value)))
end

local function missing(class, name)
  throw("nilValue", format("%s of %s is required; it cannot be nil", name, class._name),
    { i_hint = "give it a value, or declare it without `required`" })
end
K.missingField = missing

-- A class of the program, for a field that holds its objects. Classes of the kernel other than
-- arrays and dictionaries say nothing about values.
local function classNamed(kind)
  local class = K.classes[kind]
  if not class then return nil end
  if K.isSubclass(class, K.classes.Array) or K.isSubclass(class, K.classes.Dictionary) then return class end
  return rawget(class, "_defined") and class or nil
end

-- The class that a field is declared with, where it is one of the program's: `var <Project> project`.
function K.referredClass(class, ivar)
  local kind = class._types[ivar]
  local referred = kind and K.classes[kind]
  if not referred or #referred._ivars == 0 or K.isSubclass(referred, K.classes.Collection) then return nil end
  for _, name in ipairs(referred._ivars) do
    if name == "id" then return referred end
  end
  return nil
end

-- The function that a field's values go through.
local function fitting(class, name, kind, required)
  local plain = K.native.fieldType(kind)
  if plain == "bool" then
    return function(value)
      if value == true or value == false then return value end
      if value ~= nil and value ~= NULL then misfit(class, name, words.bool, value) end
      if required then missing(class, name) end
      return nil
    end
  end
  if plain then
    local admit, wanted = admits[plain], words[plain]
    return function(value)
      if value == nil or value == NULL then
        if required then missing(class, name) end
        return nil
      end
      local held = admit(value)
      if held == nil then misfit(class, name, wanted, value) end
      return held
    end
  end
  return function(value)
    if value == nil or value == NULL then
      if required then missing(class, name) end
      return nil
    end
    local wanted = classNamed(kind)
    if not wanted or K.isKind(value, wanted) then return value end
    -- A row of another table is named by its key, too.
    if K.referredClass(class, name) and (type(value) ~= "table" or value._isBig) then return value end
    misfit(class, name, K.articleOf(wanted._name), value)
  end
end

-- Declaring ---------------------------------------------------------------------------------------

-- Tells a class and those below it what fits a field.
local function declare(class, name, key, kind, marks)
  class._marks[name] = marks
  local fits = rawget(class, "_fits")
  if not fits then
    fits = {}
    rawset(class, "_fits", fits)
    rawset(class._methods, "_fits", fits)
  end
  fits[key] = fitting(class, name, kind, marks.required)
  rawset(class, "_required", nil)
  rawset(class, "_shapes", false)
  for _, sub in ipairs(class._subs) do declare(sub, name, key, kind, marks) end
end

-- Declares an instance variable with a type and marks.
function K.typedIvar(class, name, kind, marks, get)
  local key = K.ivarKey(name)
  local function set(self, value)
    self[key] = self._fits[key](value)
    if observedFields[key] then observedFields[key](self) end
  end
  local selector = K.mangle(K.setterName(name))
  local known = rawget(class._methods, selector)
  K.ivar(class, name, kind, get, set)
  -- Declared again: by a subclass, or at the prompt, where the variable had no type before.
  if known and K.plainSetters[known] then
    K.plainSetters[set] = true
    K.method(class, selector, set)
  end
  declare(class, name, key, kind, marks)
end

-- The names of the required variables, in order.
function K.requiredOf(class)
  local list = rawget(class, "_required")
  if not list then
    list = {}
    for _, name in ipairs(class._ivars) do
      local marks = class._marks[name]
      if marks and marks.required then list[#list + 1] = name end
    end
    rawset(class, "_required", list)
  end
  return list
end

-- An object that a literal has made has its required variables.
function K.complete(object)
  if type(object) ~= "table" or K.isClass(object) then return object end
  local class = K.classOf(object)
  if not class._marks then return object end
  local list = K.requiredOf(class)
  for i = 1, #list do
    if rawget(object, K.ivarKey(list[i])) == nil then missing(class, list[i]) end
  end
  return object
end

-- For the border ----------------------------------------------------------------------------------

local function kindOf(class, name)
  local kind = class._types[name]
  if not kind then return "any" end
  local plain = K.native.fieldType(kind)
  if plain then return plain end
  local known = classNamed(kind)
  if lower(kind) == "array" or known and K.isSubclass(known, K.classes.Array) then return "list" end
  if known and K.isSubclass(known, K.classes.Dictionary) then return "record" end
  return "any", known
end

-- A class and those of its fields, as natives take them.
function K.contractOf(class)
  local places, list = { [class] = 0 }, { class }
  local described, at = {}, 1
  while list[at] do
    local one, fields = list[at], {}
    for i, name in ipairs(one._ivars) do
      local kind, inner = kindOf(one, name)
      local referred = K.referredClass(one, name)
      if inner and not places[inner] then
        places[inner] = #list
        list[#list + 1] = inner
      end
      if referred then kind = K.native.fieldType(referred._types.id or "int") or "any" end
      local marks = one._marks[name]
      fields[i] = K.array({ name, inner and not referred and "object" or kind, marks and marks.required or false,
        marks and marks.readonly or false, inner and places[inner] or NULL }, 5)
    end
    described[at] = K.array { one._name, K.array(fields) }
    at = at + 1
  end
  return K.array(described)
end

-- Converters for a class take what it is now.
local converters = setmetatable({}, { __mode = "k" })
function K.followsClasses(converter, refresh) converters[converter] = refresh end
function K.classesChanged()
  for converter, refresh in pairs(converters) do refresh(converter) end
end
