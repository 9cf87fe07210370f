-- Rules of classes, and what is wrong with objects: `validate`, and the check of objects that a
-- converter makes of a client's content.
local K = ...
local type, rawget, unpack, setmetatable = type, rawget, unpack, setmetatable
local NULL = K.NULL

K.nilKeys._rules = true

-- Problems that are reported together, as natives do (crates/store/src/value/contract.rs).
local MOST_PROBLEMS = 20

-- `refuse { … } message: '…' at: #field`, `check: #field { … } message: '…'`: both functions get
-- the object and the values of the variables.
function K.rule(class, names, condition, message, field, refuses)
  local rules = rawget(class, "_rules")
  if not rules then
    rules = {}
    class._rules = rules
  end
  local keys = {}
  for i, name in ipairs(names) do keys[i] = K.ivarKey(name) end
  rules[#rules + 1] = {
    keys = keys, condition = condition, message = message, field = field, refuses = refuses,
  }
end

local function add(problems, pointer, message)
  if #problems < MOST_PROBLEMS then problems[#problems + 1] = { pointer, message } end
end

-- Adds what the rules of an object's class find; the pointer is that of the object.
local function applyRules(object, pointer, problems)
  local class = K.classOf(object)
  while class do
    for _, rule in ipairs(rawget(class, "_rules") or {}) do
      local values, n = {}, #rule.keys
      for i = 1, n do values[i] = rawget(object, rule.keys[i]) end
      -- Nothing to check where the variable is nil: `required` says that it must not be.
      if rule.refuses or values[1] ~= nil then
        local answer = rule.condition(object, unpack(values, 1, n))
        local holds = answer ~= nil and answer ~= false
        if holds == rule.refuses then
          local at = rule.field and pointer .. "/" .. rule.field or pointer
          add(problems, at, K.str(rule.message(object, unpack(values, 1, n))))
        end
      end
    end
    class = class._super
  end
end

-- Whether objects of a class, or those in its variables, have rules; looked up once for each class.
local reached = setmetatable({}, { __mode = "k" })
function K.forgetRules() reached = setmetatable({}, { __mode = "k" }) end

local reaches

local function typeReaches(declared)
  if declared.kind == "class" then
    local class = K.valueClass(declared.name)
    return class ~= nil and reaches(class)
  end
  if declared.element then return typeReaches(declared.element) end
  for _, option in ipairs(declared.options or {}) do
    if typeReaches(option) then return true end
  end
  return false
end

function reaches(class)
  if reached[class] ~= nil then return reached[class] end
  reached[class] = false -- what leads back here adds nothing
  local found, above = false, class
  while above do
    found = found or rawget(above, "_rules") ~= nil
    above = above._super
  end
  for _, marks in pairs(class._marks) do found = found or typeReaches(marks.type) end
  reached[class] = found
  return found
end

-- The rules of an object, and of the objects in its variables.
local function applyAll(value, pointer, problems, depth)
  if type(value) ~= "table" or value._isBig or K.isClass(value) or depth > 128 then return end
  if value._isArray then
    for i = 1, #value do applyAll(value[i], pointer .. "/" .. (i - 1), problems, depth + 1) end
    return
  end
  local class = K.classOf(value)
  if not reaches(class) then return end
  for _, name in ipairs(class._ivars) do
    applyAll(rawget(value, K.ivarKey(name)), pointer .. "/" .. name, problems, depth + 1)
  end
  applyRules(value, pointer, problems)
end

-- Raises what was found in a client's content, if anything.
function K.refuseProblems(problems)
  if #problems == 0 then return end
  local fields, said = {}, {}
  for i, problem in ipairs(problems) do
    fields[i] = K.dictionary({ "pointer", "message" }, { pointer = problem[1], message = problem[2] }, 2)
    said[i] = problem[2]
  end
  K.throw("unprocessable", table.concat(said, "; "), { i_fields = K.array(fields), _side = "request" })
end

-- Checks what a converter has made of a client's content, before a handler gets it.
function K.admitSent(value)
  if value._isDictionary or not rawget(value, "_sent") then return end
  local problems = {}
  applyAll(value, "", problems, 0)
  K.refuseProblems(problems)
end

-- The same for a dictionary that becomes a row of a table; its types are the store's affair.
function K.admitRecord(class, dictionary)
  if not reaches(class) then return end
  local ok, object = K.try(function() return K.fromDictionary(class, dictionary) end)
  if not ok then return end
  local problems = {}
  applyAll(object, "", problems, 0)
  K.refuseProblems(problems)
end

-- What is wrong with an object -------------------------------------------------------------------------

local inspect

local function inspectValue(value, declared, label, pointer, problems, depth)
  if type(value) == "table" and not value._isBig and not K.isClass(value) then
    if value._isArray and declared.kind == "list" and declared.element then
      for i = 1, #value do
        local element, place = value[i], "/" .. (i - 1)
        if element == NULL then
          if not declared.element.optional then
            add(problems, pointer .. place, label .. place .. " is " .. K.typeWords(declared.element) .. ", not nil")
          end
        else
          inspectValue(element, declared.element, label .. place, pointer .. place, problems, depth)
        end
      end
      -- Its elements were looked at one by one; here it is about how many they are.
      declared = { kind = "list", min = declared.min, max = declared.max }
    elseif rawget(K.classOf(value), "_defined") then
      inspect(value, pointer, problems, depth + 1)
    end
  end
  if K.admitter(declared)(value) == nil then
    add(problems, pointer, label .. " is " .. K.typeWords(declared) .. ", not " .. K.nameOf(value))
  end
end

function inspect(object, pointer, problems, depth)
  if depth > 128 then return end
  local class = K.classOf(object)
  for _, name in ipairs(class._ivars) do
    local marks, value = class._marks[name], rawget(object, K.ivarKey(name))
    if marks and value == nil then
      if marks.required then add(problems, pointer .. "/" .. name, name .. " is required") end
    elseif marks then
      inspectValue(value, marks.type, name, pointer .. "/" .. name, problems, depth)
    end
  end
  applyRules(object, pointer, problems)
end

K.methods(K.classes.Object, {
  --- -<Array> validate
  --- What is wrong with the variables of an object and the objects in them, by their types and the rules of their
  --- classes: at most 20 dictionaries with `pointer` and `message`; empty where nothing is.
  --- > #Message{ selector: 'count' } validate ⇒ []
  ["validate"] = function(self)
    local problems, list = {}, {}
    if type(self) == "table" and not K.isClass(self) then inspect(self, "", problems, 0) end
    for i, problem in ipairs(problems) do
      list[i] = K.dictionary({ "pointer", "message" }, { pointer = problem[1], message = problem[2] }, 2)
    end
    return K.array(list, #list)
  end,
})
