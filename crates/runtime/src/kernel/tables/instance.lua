-- Instances of records: what a store read for a class becomes an object of it.
local K = ...
local type, ipairs, setmetatable, throw = type, ipairs, setmetatable, K.throw

-- The value of a field, as its declared type wants it.
function K.fieldValue(value, kind)
  if kind == "date" and type(value) == "string" then return K.parseDate(value) or value end
  return value
end

local dates = { date = true, Date = true, NSDate = true, datetime = true, time = true }

-- What instances of a class are made with: which fields there are, and which hold dates. Made
-- anew when the class has got more instance variables.
local plans = setmetatable({}, { __mode = "k" })
local function planOf(class)
  local plan = plans[class]
  if plan and plan.count == #class._ivars then return plan end
  plan = { count = #class._ivars, keys = {}, dates = {}, nested = {} }
  for _, ivar in ipairs(class._ivars) do
    plan.keys[ivar] = K.ivarKey(ivar)
    if dates[class._types[ivar]] then plan.dates[ivar] = true end
    local kind = class._types[ivar]
    local inner = kind and K.classes[kind]
    if inner and #inner._ivars > 0 and not K.isSubclass(inner, K.classes.Collection) then plan.nested[ivar] = inner end
  end
  plans[class] = plan
  return plan
end

local NULL = K.NULL

local instance
function instance(record, class, plan)
  local object = class:new()
  if record._sent then object._sent, object._sentKey = true, record._map.id end
  local names, map = K.keysOf(record), record._map
  for i = 1, record._n do
    local name = names[i]
    local key = plan.keys[name]
    if not key then throw("invalid", string.format("%s has no field `%s`", class._name, K.str(name))) end
    local value = map[name]
    if value == NULL then value = nil end
    if plan.dates[name] then value = K.fieldValue(value, "date") end
    local inner = plan.nested[name]
    if inner and type(value) == "table" and value._isDictionary then value = instance(value, inner, planOf(inner)) end
    object[key] = value
  end
  return object
end

-- A record that was read for a class becomes an instance of it. Fields that the class does not
-- have are an error; they would be lost otherwise.
function K.instantiate(record, name)
  local class = K.classes[name]
  if not class or type(record) ~= "table" then return record end
  local plan = planOf(class)
  if record._isArray then
    for i = 1, #record do
      if type(record[i]) == "table" and record[i]._isDictionary then record[i] = instance(record[i], class, plan) end
    end
    return record
  end
  if not record._isDictionary then return record end
  return instance(record, class, plan)
end
