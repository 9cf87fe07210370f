-- Types of instance variables: what fits them, inside a program and at its border. `K.typedIvar`
-- declares a variable whose setter, literals and assignments refuse other values; `K.contractOf`
-- tells native code what a class wants of content that a client sends.
--
-- A class has `_marks` (variable → its marks: required, readonly, unique, type, default, constant, doc) and
-- `_fits` (field → the function that checks a value and answers it, also a field of its instances).
local K = ...
local type, rawget, rawset, format, setmetatable = type, rawget, rawset, string.format, setmetatable
local throw, observedFields = K.throw, K.observedFields
local NULL = K.NULL

for _, key in ipairs { "_marks", "_fits", "_sent", "_sentKey", "_required", "_defaults", "_many", "_listsRows" } do K.nilKeys[key] = true end

-- What fits ---------------------------------------------------------------------------------------

local function misfit(class, name, declared, value)
  local found = K.nameOf(value)
  -- What is in an array says more than that it is one.
  if declared.kind == "list" and type(value) == "table" and value._isArray then
    found = K.str(value)
    if #found > 80 then found = "an Array of " .. #value .. " elements" end
  end
  throw("typeError", format("%s of %s is %s, not %s", name, class._name, K.typeWords(declared), found))
end

local function missing(class, name)
  throw("nilValue", format("%s of %s is required; it cannot be nil", name, class._name),
    { i_hint = "give it a value, or declare it without `required`" })
end
K.missingField = missing

-- The class that a field is declared with, where it is one of the program's: `var <Project> project`.
function K.referredClass(class, ivar)
  local kind = class._types[ivar]
  return kind and K.keyedClass(kind)
end

-- The class of the row that a variable answers; nil where it is named as a key.
function K.relatedClass(class, ivar)
  return not K.isNamedAsKey(ivar) and K.referredClass(class, ivar) or nil
end

-- The variables of a class that refer to another one.
local function fieldsThatRefer(class, other)
  local names = {}
  for _, name in ipairs(class._ivars) do
    if K.referredClass(class, name) == other then names[#names + 1] = name end
  end
  return names
end

-- What `+foreignKeys` of a class says of a variable, or nil.
local function foreignKey(class, name)
  if rawget(class._metaOwn, "foreignKeys") == nil then return nil end
  local said = class:foreignKeys()
  return type(said) == "table" and said._isDictionary and said:at_(name) or nil
end

-- The variables of a class that stand for the rows which refer to it, `var <[Book]> books`: by name, the other class, its
-- field that refers, and the key that it refers to. A problem is an error once the class has a table (`strict`).
function K.manyOfClass(class, strict)
  local known = rawget(class, "_many")
  if not known or known.count ~= #class._ivars then
    known = { count = #class._ivars, byName = {}, problem = false }
    local keys, isWhole = K.keysOfClass(class), true
    for _, name in ipairs(#keys == 1 and class._ivars or {}) do
      local declared = class._marks[name] and class._marks[name].type
      local element = declared and declared.kind == "list" and declared.element
      if element and element.kind == "class" then
        local other, field = K.keyedClass(element.name), nil
        isWhole = isWhole and K.classes[element.name] ~= nil
        local fields, said = other and fieldsThatRefer(other, class) or {}, foreignKey(class, name)
        for _, one in ipairs(fields) do
          if one == said or said == nil and #fields == 1 then field = one end
        end
        if field then
          known.byName[name] = { class = other, field = field, key = keys[1] }
        elseif said ~= nil or #fields > 1 then
          known.problem = said == nil and format("%s of %s: %s refers to it by %s", name, class._name, element.name,
              table.concat(fields, " and by "))
            or format("foreignKeys of %s: %s of %s does not refer to it", class._name, K.str(said), element.name)
          known.hint = format("say which: +foreignKeys { #{ %s: '%s' } }", name, fields[1] or "author")
        end
      end
    end
    -- A class that is defined later is looked up again.
    if isWhole then rawset(class, "_many", known) end
  end
  if strict and known.problem then throw("invalid", known.problem, { i_hint = known.hint }) end
  return known.byName
end

-- The variables of a class that its table has columns for.
function K.columnsOfClass(class)
  local many, names = K.manyOfClass(class), {}
  for _, name in ipairs(class._ivars) do
    if not many[name] then names[#names + 1] = name end
  end
  return names
end

-- The function that a field's values go through.
local function fitting(class, name, declared, required)
  local admit = K.admitter(declared)
  return function(value)
    if value == nil or value == NULL then
      if required then missing(class, name) end
      return nil
    end
    local held = admit(value)
    if held == nil then misfit(class, name, declared, value) end
    return held
  end
end

-- Declaring ---------------------------------------------------------------------------------------

-- Tells a class and those below it what fits a field.
local function declare(class, name, key, marks)
  class._marks[name] = marks
  local fits = rawget(class, "_fits")
  if not fits then
    fits = {}
    rawset(class, "_fits", fits)
    rawset(class._methods, "_fits", fits)
  end
  fits[key] = fitting(class, name, marks.type, marks.required)
  rawset(class, "_required", nil)
  rawset(class, "_defaults", nil)
  rawset(class, "_shapes", false)
  rawset(class, "_makes", false)
  for _, sub in ipairs(class._subs) do declare(sub, name, key, marks) end
end

-- The getter of a variable whose type is a class: the row of the key, once the object was read from a table with
-- others, which have a batch in common.
K.nilKeys._batch = true
local function relationGetter(name, key)
  return function(self)
    local value, batch = rawget(self, key), self._batch
    if batch == nil or value == nil then return value end
    return batch.related(batch, name, key, value)
  end
end

-- The getter of a list of a class: the rows that refer to this one, once it was read from a table.
local function manyGetter(name, key)
  return function(self)
    local value, batch = rawget(self, key), self._batch
    if value ~= nil or batch == nil then return value end
    return batch.many(batch, name, self)
  end
end

-- Declares an instance variable with a type and marks.
function K.typedIvar(class, name, kind, marks, get)
  local key = K.ivarKey(name)
  local function set(self, value)
    self[key] = self._fits[key](value)
    if observedFields[key] then observedFields[key](self) end
  end
  marks.type = K.typeOf(kind)
  if marks.type.kind == "class" and not K.isNamedAsKey(name) then get = relationGetter(name, key) end
  local element = marks.type.kind == "list" and marks.type.element
  if element and element.kind == "class" then
    get = manyGetter(name, key)
    K.method(class, "_listsRows", true)
  end
  local selector = K.mangle(K.setterName(name))
  local known = rawget(class._methods, selector)
  K.ivar(class, name, K.columnType(marks.type), get, set)
  -- Declared again: by a subclass, or at the prompt, where the variable had no type before.
  if known and K.plainSetters[known] then
    K.plainSetters[set] = true
    K.method(class, selector, set)
  end
  declare(class, name, key, marks)
  if marks.default then K.makesDefaults(class) end
end

-- Values of variables -------------------------------------------------------------------------------

-- The variables of a class that have a value from the beginning, in order.
function K.defaultsOf(class)
  local list = rawget(class, "_defaults")
  if not list then
    list = {}
    for _, name in ipairs(class._ivars) do
      local marks = class._marks[name]
      if marks and marks.default then list[#list + 1] = { name = name, key = K.ivarKey(name), marks = marks } end
    end
    rawset(class, "_defaults", list)
  end
  return list
end

-- The value of one, for an object of the class.
local function defaultValue(class, entry, object)
  return rawget(class, "_fits")[entry.key](entry.marks.default(object))
end
K.defaultValue = defaultValue

-- Sets the values of an object that was just made.
local function fill(object, class)
  local list = K.defaultsOf(class)
  for i = 1, #list do
    local entry = list[i]
    if rawget(object, entry.key) == nil then object[entry.key] = defaultValue(class, entry, object) end
  end
  return object
end

-- `new` of a class with such variables: they are set before `init`.
local function newFilled(class) return fill(setmetatable({}, class._methods), class):init() end
K.newFilled = newFilled

function K.makesDefaults(class)
  local new = rawget(class._meta, "new")
  if new == newFilled then return end
  if new == K.classes.Object._meta.new then
    K.classMethod(class, "new", newFilled)
  elseif not rawget(class, "_fillsNew") then
    rawset(class, "_fillsNew", true)
    K.classMethod(class, "new", function(made) return fill(new(made), made) end)
  end
end
K.nilKeys._fillsNew = true

-- The variables of a class whose value is made for each object; nil where there are none.
function K.computedDefaultsOf(class)
  if not class._marks then return nil end
  local list, computed = K.defaultsOf(class), nil
  for i = 1, #list do
    if not list[i].marks.constant then
      computed = computed or {}
      computed[#computed + 1] = list[i]
    end
  end
  return computed
end

-- A record for a table of the class with those values that it leaves out, which `list` has; and their
-- names, where there are any.
function K.filledRecord(class, dictionary, list)
  local copy, names = dictionary, nil
  for i = 1, #list do
    local entry = list[i]
    if dictionary._map[entry.name] == nil then
      if not names then copy, names = dictionary:mutableCopy(), K.array {} end
      copy:at_put_(entry.name, defaultValue(class, entry, nil))
      names[#names + 1] = entry.name
    end
  end
  return copy, names
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

-- One variable as plain data.
local function describeField(class, name, placeOf, strict)
  local marks = class._marks[name] or {}
  local default = NULL
  if marks.default and marks.constant then
    default = defaultValue(class, { key = K.ivarKey(name), marks = marks }, nil)
  end
  -- The table makes the keys of its rows.
  local many = K.manyOfClass(class)[name] ~= nil
  local numbered = strict and name == "id" and marks.type and (marks.type.kind == "int" or marks.type.kind == "uuid")
  return K.recordOf {
    "name", name, "type", K.describeType(marks.type or { kind = "any" }, placeOf),
    "required", marks.required or NULL, "readonly", (marks.readonly or numbered or many) or NULL, "unique", marks.unique or NULL,
    "default", default, "computed", marks.default and not marks.constant and true or NULL,
    "included", many or NULL, "about", marks.doc or NULL,
  }
end

-- Classes described together: a function that answers the position of a class, and a function that answers
-- the descriptions of all that were asked for, and of those that they refer to.
function K.describedClasses(strict)
  local places, list = {}, {}
  local function placeOf(class)
    if not places[class] then
      places[class] = #list
      list[#list + 1] = class
    end
    return places[class]
  end
  return placeOf, function()
    local described, at = {}, 1
    while list[at] do
      local one, fields = list[at], {}
      for i, name in ipairs(one._ivars) do fields[i] = describeField(one, name, placeOf, strict) end
      described[at] = K.recordOf { "name", one._name, "fields", K.array(fields) }
      at = at + 1
    end
    return K.array(described)
  end
end

-- What a border wants of content, as plain data: of a class, or of a type (`K.typeOf`). Options:
-- `strict` (each variable must come that is not optional and has no value), `dropUnknown`.
function K.contractOf(what, options)
  local placeOf, described = K.describedClasses(options and options.strict)
  local root = NULL
  if K.isClass(what) then placeOf(what) else root = K.describeType(what, placeOf, true) end
  options = options or {}
  return K.recordOf {
    "classes", described(), "strict", options.strict or NULL, "dropUnknown", options.dropUnknown or NULL,
    "root", root,
  }
end

-- Converters for a class take what it is now.
local converters = setmetatable({}, { __mode = "k" })
function K.followsClasses(converter, refresh) converters[converter] = refresh end
function K.classesChanged()
  for converter, refresh in pairs(converters) do refresh(converter) end
end
