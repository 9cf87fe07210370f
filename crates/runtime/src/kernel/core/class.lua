-- Classes: what they are, how they get methods and variables, the class of a value.
--
-- A class is a table: `_name`, `_super`, `_methods` (the metatable of its instances, flattened:
-- it holds the inherited methods too), `_own` (what it defines itself), `_meta` (the same for
-- messages to the class), `_metaOwn`, `_subs`, `_ivars` (ordered names), `_types`, `_marks`
-- (definitions/contract.lua).
local K = ...
local type, getmetatable, setmetatable, rawget, rawset = type, getmetatable, setmetatable, rawget, rawset
local find, sub = string.find, string.sub
local mangle = K.mangle

K.classes = {}
local classes = K.classes

local nilKeys = {} -- fields that may be absent without being a message
K.nilKeys = nilKeys
-- Fields that are observed in some object, by key: what is called with the object after a write
-- (observing/field.lua). Empty unless something is observed.
local observedFields = {}
K.observedFields = observedFields
-- What an absent method answers: message.lua adds `__index`.
local missing = {}
K.missing = missing

local function propagate(class, field, own, name, method)
  rawset(class[field], name, method)
  -- How literals make instances is found anew (literal.lua).
  rawset(class, "_shapes", false)
  rawset(class, "_makes", false)
  for _, sub in ipairs(class._subs) do
    if rawget(sub[own], name) == nil then propagate(sub, field, own, name, method) end
  end
end

-- Adds (or replaces) a method; subclasses without their own get it too.
function K.method(class, name, method)
  rawset(class._own, name, method)
  propagate(class, "_methods", "_own", name, method)
end

-- Adds a method to the class itself.
function K.classMethod(class, name, method)
  rawset(class._metaOwn, name, method)
  propagate(class, "_meta", "_metaOwn", name, method)
end

local function flatten(into, from)
  for name, method in pairs(from) do
    if type(name) == "string" and sub(name, 1, 2) ~= "__" and name ~= "_class" then
      into[name] = method
    end
  end
end

-- Makes a class; `super` is a class or nil for the root. Registers it under its name.
function K.newClass(name, super)
  local class = {
    _name = name, _super = super, _own = {}, _metaOwn = {}, _subs = {}, _ivars = {}, _types = {}, _marks = {},
  }
  local methods, meta = { _class = class }, { }
  if super then
    flatten(methods, super._methods)
    flatten(meta, super._meta)
    for i, ivar in ipairs(super._ivars) do class._ivars[i] = ivar end
    for ivar, kind in pairs(super._types) do class._types[ivar] = kind end
    for ivar, marks in pairs(super._marks) do class._marks[ivar] = marks end
    -- Of its own: a variable that is declared below is none of the superclass.
    if rawget(super, "_fits") then
      class._fits = {}
      for key, fit in pairs(super._fits) do class._fits[key] = fit end
      methods._fits = class._fits
    end
    super._subs[#super._subs + 1] = class
  end
  methods.__index, methods.__class = methods, class
  meta.__index, meta._isClass = meta, true
  class._methods, class._meta = setmetatable(methods, missing), setmetatable(meta, missing)
  classes[name] = class
  return setmetatable(class, meta)
end

-- Setters that only store: literals need not call them.
K.plainSetters = setmetatable({}, { __mode = "k" })

-- Declares an instance variable with its accessors, which may be given. The kind is a type name or
-- nil.
function K.ivar(class, name, kind, get, set)
  local key = K.ivarKey(name)
  nilKeys[key] = true
  for _, existing in ipairs(class._ivars) do
    if existing == name then class._types[name] = kind or class._types[name] return end
  end
  local function declare(in_class)
    in_class._ivars[#in_class._ivars + 1] = name
    in_class._types[name] = kind
    for _, sub in ipairs(in_class._subs) do declare(sub) end
  end
  declare(class)
  local getter, setter = mangle(name), mangle(K.setterName(name))
  if rawget(class._own, getter) == nil then K.method(class, getter, get or function(self) return self[key] end) end
  if rawget(class._own, setter) == nil then
    set = set or function(self, value)
      self[key] = value
      if observedFields[key] then observedFields[key](self) end
    end
    K.plainSetters[set] = true
    K.method(class, setter, set)
  end
end

-- Methods by selector: K.methods(class, { ["at:put:"] = function … }). Kernel files use this.
function K.methods(class, list)
  for selector, method in pairs(list) do K.method(class, mangle(selector), method) end
end

function K.classMethods(class, list)
  for selector, method in pairs(list) do K.classMethod(class, mangle(selector), method) end
end

-- Another name for a class. The first one in the original's style (`NSString`, `MPWDictStore`,
-- `STSystem`) is what `className` answers.
function K.alias(name, class)
  classes[name] = class
  local prefix = find(name, "^NS%u") or find(name, "^MPW%u") or find(name, "^ST%u")
  if prefix and not rawget(class, "_original") then class._original = name end
end

-- The class of any value.
local typeClasses = {} -- Lua type name → class, filled by the files that define them
K.typeClasses = typeClasses
function K.classOf(value)
  local kind = type(value)
  if kind == "table" then
    local class = rawget(value, "_name") and rawget(value, "_methods") and classes.Class
    if class then return class end
    local meta = getmetatable(value)
    return meta and rawget(meta, "_class") or classes.Object
  end
  return typeClasses[kind]
end
local classOf = K.classOf

function K.isClass(value)
  return type(value) == "table" and rawget(value, "_methods") ~= nil
end

-- Whether the value's class is the class or below it.
function K.isKind(value, class)
  local at = classOf(value)
  while at do
    if at == class then return true end
    at = at._super
  end
  return false
end

function K.isSubclass(class, of)
  while class do
    if class == of then return true end
    class = class._super
  end
  return false
end

function K.typeMetatable(kind, class, sample)
  typeClasses[kind] = class
  debug.setmetatable(sample, class._methods)
end

--- The root of all classes: each value except nil understands its messages, and so do classes.
local Object = K.newClass("Object")
K.alias("NSObject", Object)
--- The class of all classes.
K.newClass("Class", Object)

--- The class of nil, the missing value: nil answers nil to every message that is not listed here.
local Nil = K.newClass("Nil", nil)
K.typeClasses["nil"] = Nil
-- The class itself answers what classes answer: its name, for one.
Object._subs[#Object._subs + 1] = Nil

local function nothing() return nil end
local nilMethods = Nil._own
debug.setmetatable(nil, {
  _class = Nil,
  __index = function(_, key)
    if type(key) ~= "string" then return nil end
    return rawget(nilMethods, key) or nothing
  end,
})
