-- The object model: classes, messages, nil, truth, arithmetic, errors.
-- Loaded first. Every kernel file is a chunk that gets the kernel table `K`.
--
-- Messages are Lua methods: `recv at: k put: v` is `recv:at_put_(k, v)`. `K.mangle` says how a
-- selector becomes a Lua name (the compiler does the same). Names that begin with one underscore
-- (`_class`) are internal fields: no selector mangles to them. Instance variables are fields
-- `i_NAME`.
--
-- A class is a table: `_name`, `_super`, `_methods` (the metatable of its instances, flattened:
-- it holds the inherited methods too), `_own` (what it defines itself), `_meta` (the same for
-- messages to the class), `_metaOwn`, `_subs`, `_ivars` (ordered names), `_types`, `_marks` (contract.lua).
local K = ...
local type, getmetatable, setmetatable, rawget, rawset, rawequal =
  type, getmetatable, setmetatable, rawget, rawset, rawequal
local floor, huge = math.floor, math.huge
-- Strings of the language get a metatable of their own (text.lua), so kernel code never writes
-- `s:find(…)`: it calls Lua's string functions by name.
local find, gsub, sub, byte, format = string.find, string.gsub, string.sub, string.byte, string.format

K.classes = {}
local classes = K.classes

-- Selectors ------------------------------------------------------------------------------------

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

-- In a function of its own: one that makes closures is not compiled by LuaJIT's tracer, and this
-- way the look-up below is.
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
local mangle = K.mangle

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

-- Errors ---------------------------------------------------------------------------------------

-- A raised error is always a table of class Error: kind, message, trace, plus whatever its maker
-- adds. `K.throw` raises; the trace is taken where it is raised.
local Error

function K.newError(kind, message, fields)
  local err = fields or {}
  err.i_kind, err.i_message = kind, message
  return setmetatable(err, Error._methods)
end

function K.throw(kind, message, fields)
  local err = K.newError(kind, message, fields)
  err._trace = K.traceback(2)
  error(err, 0)
end
local throw = K.throw

-- Turns whatever `pcall` caught into an Error (Lua's own run-time errors are strings).
function K.asError(raised)
  if type(raised) == "table" and getmetatable(raised) then return raised end
  return K.fromLua(tostring(raised))
end

-- The frames of the program, innermost first: a list of { place, line }. Kernel frames left out.
function K.traceback(level)
  local frames, at = {}, (level or 1) + 1
  local getinfo = debug.getinfo
  while #frames < 64 do
    local info = getinfo(at, "Sl")
    if not info then break end
    local source = info.source
    -- "@": the program's own chunks; the main function only calls the groups of statements.
    if info.currentline > 0 and byte(source) == 64 and info.what ~= "main" then
      frames[#frames + 1] = { sub(source, 2), info.currentline }
    end
    at = at + 1
  end
  return frames
end

-- Classes --------------------------------------------------------------------------------------

local nilKeys = {} -- fields that may be absent without being a message
K.nilKeys = nilKeys
local understands -- set below: what an absent method answers

local missing = { __index = function(_, key) return understands(key) end }

local function propagate(class, field, own, name, method)
  rawset(class[field], name, method)
  rawset(class, "_shapes", false) -- how literals make instances is found anew (literal.lua)
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
  for event, handler in pairs(K.events or {}) do methods[event] = handler end
  class._methods, class._meta = setmetatable(methods, missing), setmetatable(meta, missing)
  classes[name] = class
  return setmetatable(class, meta)
end

-- Setters that only store: literals need not call them.
K.plainSetters = setmetatable({}, { __mode = "k" })

-- Declares an instance variable with its accessors, which may be given. The kind is a type name or
-- nil.
function K.ivar(class, name, kind, get, set)
  local key = "i_" .. gsub(name, "[^%w]", escape)
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
    set = set or function(self, value) self[key] = value end
    K.plainSetters[set] = true
    K.method(class, setter, set)
  end
end

-- The field of an instance variable.
function K.ivarKey(name)
  return "i_" .. gsub(name, "[^%w]", escape)
end

-- The selector that sets a property: `setTitle:` for `title`.
function K.setterName(name)
  return "set" .. string.upper(sub(name, 1, 1)) .. sub(name, 2) .. ":"
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

local Object = K.newClass("Object")
K.alias("NSObject", Object)
K.newClass("Class", Object)
Error = K.newClass("Error", Object)
Error._methods._isError = true
K.alias("NSException", Error)
for _, name in ipairs { "kind", "message", "reference", "detail", "status", "headers", "fields" } do K.ivar(Error, name) end
for _, key in ipairs {
  "_trace", "_temporary", "_native", "_uncatchable", "_isBig", "_equalsPlain", "_keyText", "_original",
  "_over", "_program", "_side", "_isError",
} do nilKeys[key] = true end

-- Messages nobody understands --------------------------------------------------------------------

local refusals = {}

-- Apart from `understands`: LuaJIT's tracer does not compile functions that make closures.
local function newRefusal(key)
  local function refusal(self, ...)
    return self:doesNotUnderstand_(K.newMessage(K.selector(key), key, ...))
  end
  refusals[key] = refusal
  return refusal
end

-- What an absent method answers: a function that sends `doesNotUnderstand:`. Internal fields and
-- instance variables that were never set are nil.
function understands(key)
  if nilKeys[key] then return nil end
  local refusal = refusals[key]
  if refusal then return refusal end
  if type(key) ~= "string" then return nil end
  if K.isInternal(key) then return nil end
  if find(key, "^i_%w") and sub(key, -1) ~= "_" then return nil end
  return newRefusal(key)
end

function K.newMessage(selector, name, ...)
  local message = setmetatable({ i_selector = selector, _selectorName = name }, classes.Message._methods)
  local arguments = { ... }
  -- What the compiler adds for stores is no argument: there are as many as colons.
  local _, colons = gsub(selector, ":", "")
  if colons > 0 then arguments[colons + 1] = nil end
  message.i_arguments = K.array and K.array(arguments)
  return message
end
local Message = K.newClass("Message", Object)
K.ivar(Message, "selector")
K.ivar(Message, "arguments")

function K.typeMetatable(kind, class, sample)
  typeClasses[kind] = class
  debug.setmetatable(sample, class._methods)
end

-- nil: any message answers nil, except what is defined here.
local Nil = K.newClass("Nil", nil)
K.methods(Nil, {
  ["isNil"] = function() return true end,
  ["isNotNil"] = function() return false end,
  ["notNil"] = function() return false end,
  ["ifNil:"] = function(_, block) return K.valueOf(block) end,
  ["ifNotNil:"] = function() return nil end,
  ["ifNil:ifNotNil:"] = function(_, block) return K.valueOf(block) end,
  ["ifNotNil:ifNil:"] = function(_, _, block) return K.valueOf(block) end,
  ["isEqual:"] = function(_, other) return other == nil end,
  ["isNotEqualTo:"] = function(_, other) return other ~= nil end,
})
typeClasses["nil"] = Nil
local function nothing() return nil end
local nilMethods = Nil._own
debug.setmetatable(nil, {
  _class = Nil,
  __index = function(_, key)
    if type(key) ~= "string" then return nil end
    return rawget(nilMethods, key) or nothing
  end,
})
function K.nilMethodAdded() end -- nil's own methods are looked up at each message

-- Truth ----------------------------------------------------------------------------------------

-- true or false: what `ifTrue:` looks at. nil is false, numbers are true unless 0.
function K.truth(value)
  if value == true then return true end
  if value == false or value == nil then return false end
  if type(value) == "number" then return value ~= 0 end
  return K.truthSlow(value)
end

function K.truthSlow(value)
  if type(value) == "table" and value._isBig then return true end
  K.refuse(value, "ifTrue:", "only true, false and numbers can be asked")
end

-- Arithmetic -----------------------------------------------------------------------------------
-- One number: integers are exact. A sum or product of two integers that leaves ±(2^53 - 1) becomes
-- a big integer; anything with a fraction, an exponent or beyond that as a float stays a float.

-- Results up to 2^53 - 1 are exact for certain: 2^53 itself may be the rounding of a larger one.
local LIMIT, abs = 9007199254740991, math.abs

local function integral(x)
  return x == floor(x) and x <= 9007199254740992 and x >= -9007199254740992
end
K.integral = integral

local function slow(name, a, b)
  if a == nil then return nil end
  if a == true then a = 1 elseif a == false then a = 0 end
  return a[name](a, b)
end

-- Refuses an order comparison with nil on a side; `other` is the other side.
function K.refuseNil(other)
  local noun = "a number"
  if type(other) == "string" or type(other) == "table" and other._isText then
    noun = "a text"
  elseif type(other) == "table" and not other._isBig then
    noun = K.nameOf(other)
  end
  throw("typeError", "nil is not " .. noun,
    { i_hint = "compare when there is a value: `ifNotNil:`, or give a default with `ifNil:`" })
end

local function compared(name, a, b)
  if a == nil then K.refuseNil(b) end
  -- Objects of the program may know what nil means to them.
  if b == nil and type(a) ~= "table" then K.refuseNil(a) end
  return slow(name, a, b)
end

function K.add(a, b)
  if type(a) == "number" and type(b) == "number" then
    local r = a + b
    if abs(r) <= LIMIT then return r end
    if integral(a) and integral(b) then return K.bigAdd(a, b) end
    return r
  end
  -- `+` and `add:` are one message, but adding to a collection changes it and a sum never does.
  if type(a) == "table" then
    local plus = a._plus
    if plus then return plus(a, b) end
  end
  return slow("add_", a, b)
end

function K.sub(a, b)
  if type(a) == "number" and type(b) == "number" then
    local r = a - b
    if abs(r) <= LIMIT then return r end
    if integral(a) and integral(b) then return K.bigSub(a, b) end
    return r
  end
  return slow("sub_", a, b)
end

function K.mul(a, b)
  if type(a) == "number" and type(b) == "number" then
    local r = a * b
    if abs(r) <= LIMIT then return r end
    if integral(a) and integral(b) then return K.bigMul(a, b) end
    return r
  end
  return slow("mul_", a, b)
end

function K.div(a, b)
  if type(a) == "number" and type(b) == "number" and b ~= 0 then return a / b end
  -- `/` and `div:` are one message, except that numbers divide exactly with the one and round
  -- down with the other: what tells them apart has a method `_over`.
  if a == nil then return nil end
  if type(a) ~= "table" then return K.divide(a, b) end
  local over = a._over
  if over then return over(a, b) end
  return a:div_(b)
end

function K.lt(a, b)
  if type(a) == "number" and type(b) == "number" then return a < b end
  return compared("isLessThan_", a, b)
end

function K.gt(a, b)
  if type(a) == "number" and type(b) == "number" then return a > b end
  return compared("isGreaterThan_", a, b)
end

function K.le(a, b)
  if type(a) == "number" and type(b) == "number" then return a <= b end
  return compared("isLessThanOrEqualTo_", a, b)
end

function K.ge(a, b)
  if type(a) == "number" and type(b) == "number" then return a >= b end
  return compared("isGreaterThanOrEqualTo_", a, b)
end

-- Order comparisons between query brackets: false with nil, as in a database.
function K.queryLt(a, b) return a ~= nil and b ~= nil and K.lt(a, b) end
function K.queryGt(a, b) return a ~= nil and b ~= nil and K.gt(a, b) end
function K.queryLe(a, b) return a ~= nil and b ~= nil and K.le(a, b) end
function K.queryGe(a, b) return a ~= nil and b ~= nil and K.ge(a, b) end

function K.queryCompare(receiver, name, a, b)
  if receiver == nil or a == nil or b == nil and name == "between_and_" then return false end
  return receiver[name](receiver, a, b)
end

function K.eq(a, b)
  if rawequal(a, b) then return true end
  if type(a) == "table" then return a:isEqual_(b) end
  -- Big integers and mutable strings may equal plain values.
  if type(b) == "table" and a ~= nil and b._equalsPlain then return b:isEqual_(a) end
  return false
end

function K.ne(a, b)
  if type(a) == "table" then return a:isNotEqualTo_(b) end
  return not K.eq(a, b)
end

-- Calls: blocks and what stands for a block -------------------------------------------------------

-- The value of a block, or of anything else itself: `ifNil: 3` and `ifNil: { 3 }`.
function K.valueOf(thing, ...)
  if type(thing) == "function" then return thing(...) end
  return thing
end

-- Sends a message by selector with a list of arguments.
function K.perform(receiver, selector, ...)
  local name = mangle(selector)
  return receiver[name](receiver, ...)
end

-- Refuses a message in words. `why` may be nil.
function K.refuse(receiver, selector, why)
  throw("doesNotUnderstand", format("%s does not understand %s%s",
    K.nameOf(receiver), selector, why and " (" .. why .. ")" or ""))
end

-- What to call a value in an error message: its class, or nil, with its value when short.
function K.nameOf(value)
  if value == nil then return "nil" end
  if K.isClass(value) then return "the class " .. value._name end
  local class = classOf(value)
  local name = class and class._name or type(value)
  local article = find(name, "^[AEIOU]") and "an " or "a "
  if type(value) == "number" or type(value) == "boolean" then
    return article .. name .. " (" .. K.str(value) .. ")"
  end
  if type(value) == "string" and #value <= 40 then return article .. name .. " ('" .. value .. "')" end
  return article .. name
end
