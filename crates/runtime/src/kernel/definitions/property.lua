-- Properties by name: what `var:object/name`, key paths and queries read and write.
local K = ...
local type, rawget, getmetatable, tonumber = type, rawget, getmetatable, tonumber
local find, byte = string.find, string.byte
local mangle, ivarKey, throw, observedFields = K.mangle, K.ivarKey, K.throw, K.observedFields

local function unknown(object, name)
  local near = K.nearest(K.str(name), K.selectorsOf(object, true))
  throw("unknownProperty", K.nameOf(object) .. " has no property " .. K.str(name),
    { i_hint = near and "did you mean " .. near .. "?" or nil })
end
K.unknownProperty = unknown

local function index(name)
  return type(name) == "string" and find(name, "^%d+$") and tonumber(name) or name
end

-- A dictionary's keys may be numbers where a path has only texts.
local function entry(dictionary, name)
  local value = dictionary:at_(name)
  if value == nil and type(name) == "string" and find(name, "^%-?%d+$") then
    return dictionary:at_(tonumber(name))
  end
  return value
end

-- Whether a class declares an instance variable.
local function hasVariable(class, name)
  local ivars = class._ivars
  for i = 1, #ivars do
    if ivars[i] == name then return true end
  end
  return false
end
K.hasVariable = hasVariable

-- A key of a dictionary, a position of an array, what a store has there, or the answer to a
-- unary message. Of nil: nil. A name that is none of these is an error.
function K.property(object, name)
  if object == nil then return nil end
  local methods = K.methodsOf(object)
  if type(object) == "table" then
    if object._isDictionary then return entry(object, name) end
    local own = object._property
    if own then return own(object, name) end
  end
  local first = type(name) == "string" and byte(name)
  if not first or first >= 48 and first <= 57 then
    if rawget(methods, "at_") then return object:at_(index(name)) end
    unknown(object, name)
  end
  local getter = mangle(name)
  if rawget(methods, getter) then return object[getter](object) end
  if type(object) == "table" then
    local value = rawget(object, ivarKey(name))
    if value ~= nil then return value end
    if K.isClass(object) then unknown(object, name) end
    if hasVariable(K.classOf(object), name) then return nil end
  end
  unknown(object, name)
end

-- Names between query brackets --------------------------------------------------------------------

-- Whether instances of a class of the program have a field: an instance variable, or a method
-- without arguments that the program defines.
local function declares(class, name)
  if hasVariable(class, name) then return true end
  local getter = mangle(name)
  while class and rawget(class, "_program") do
    if type(rawget(class._own, getter)) == "function" then return true end
    class = class._super
  end
  return false
end

-- Whether an element has a field of that name: a key of a dictionary, or what its class declares.
local function hasField(element, name)
  if type(element) ~= "table" or K.isClass(element) then return false end
  if element._isDictionary then return element._map[name] ~= nil end
  local class = getmetatable(element)._class
  return class ~= nil and declares(class, name)
end

local function ambiguous(name, owner)
  throw("ambiguous", string.format("`%s` is a variable and a field of %s: "
    .. "write `{ :each | each %s … }` for the field, `var:%s` for the variable", name, owner, name, name))
end

-- A variable that a query block reads by its bare name.
function K.outside(element, name, value)
  if hasField(element, name) then ambiguous(name, K.nameOf(element)) end
  return value
end

-- The same for elements that the block does not see, since the database picks them: they are of a
-- class, or like `sample()`.
function K.refuseNames(names, class, sample)
  local element = not class and sample()
  for i = 1, #names do
    local name = names[i]
    if class and declares(class, name) then
      ambiguous(name, K.articleOf(class._name))
    elseif element and hasField(element, name) then
      ambiguous(name, "the rows")
    end
  end
end

-- How a class takes a property: the Lua name of its setter, the field of an instance variable, or
-- nil. What was found is kept by class and name: a setter defined later keeps its name.
local ways = setmetatable({}, { __mode = "k" })

local function wayOf(class, name)
  local known = ways[class]
  if not known then
    known = {}
    ways[class] = known
  end
  local way = known[name]
  if way then return way end
  if type(name) ~= "string" then return nil end
  local setter = mangle(K.setterName(name))
  if rawget(class._methods, setter) then
    known[name] = setter
    return setter
  end
  for i = 1, #class._ivars do
    if class._ivars[i] == name then
      known[name] = ivarKey(name)
      return known[name]
    end
  end
  return nil
end

-- Sets what has a setter or an instance variable; answers whether there was one.
function K.setDeclared(object, class, name, value)
  local way = wayOf(class, name)
  if not way then return false end
  local setter = rawget(class._methods, way)
  if setter then
    setter(object, value)
  else
    object[way] = value
    if observedFields[way] then observedFields[way](object) end
  end
  return true
end

function K.setProperty(object, name, value)
  if object == nil then return nil end
  if type(object) ~= "table" then unknown(object, name) end
  if object._isDictionary then
    object:at_put_(name, value)
  elseif object._isArray then
    object:at_put_(index(name), value)
  elseif K.isClass(object) or not K.setDeclared(object, K.classOf(object), name, value) then
    unknown(object, name)
  end
  return value
end

local function steps(path)
  path = K.expectText(path, "valueForKeyPath:")
  return K.split(path, find(path, "/", 1, true) and "/" or ".")
end

-- The property at the end of a path such as `address.city` or `address/city`.
function K.propertyPath(object, path)
  local names = steps(path)
  for i = 1, #names do object = K.property(object, names[i]) end
  return object
end

function K.setPropertyPath(object, path, value)
  local names = steps(path)
  for i = 1, #names - 1 do object = K.property(object, names[i]) end
  return K.setProperty(object, names[#names], value)
end

local messages = {
  --- Object -<any> valueForKey:<any>name
  --- The property of this name: the entry of a dictionary, the element at a position, what a store holds, or the answer
  --- to a message without arguments. A name that is none of these is an error.
  --- > #{ title: 'Tea' } valueForKey: 'title' ⇒ 'Tea'
  ["valueForKey:"] = function(self, key) return K.property(self, key) end,
  --- Object -<any> setValue:<any?>value forKey:<any>name
  --- Sets the property of this name, the entry of a dictionary or the element at a position, and answers the value. A
  --- name without a setter or instance variable is an error.
  --- > tea := #{ title: 'Tea' }. tea setValue: 'Mate' forKey: 'title'. tea at: 'title' ⇒ 'Mate'
  ["setValue:forKey:"] = function(self, value, key) return K.setProperty(self, key, value) end,
  --- Object -<any> valueForKeyPath:<String>path
  --- The property at the end of a path of names between `.` or `/`; nil where a step is nil.
  --- > #{ from: #{ city: 'Rome' } } valueForKeyPath: 'from.city' ⇒ 'Rome'
  ["valueForKeyPath:"] = function(self, path) return K.propertyPath(self, path) end,
  --- Object -<any> setValue:<any?>value forKeyPath:<String>path
  --- Sets the property at the end of a path of names between `.` or `/`, and answers the value. Where a step before the
  --- last is nil, nothing is set.
  --- > order := #{ from: #{ city: 'Rome' } }. order setValue: 'Bari' forKeyPath: 'from.city' ⇒ 'Bari'
  ["setValue:forKeyPath:"] = function(self, value, path) return K.setPropertyPath(self, path, value) end,
}
K.methods(K.classes.Object, messages)
K.classMethods(K.classes.Object, messages)
