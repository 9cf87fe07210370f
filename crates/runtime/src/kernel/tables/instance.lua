-- Instances of records: what a store read for a class becomes an object of it.
local K = ...
local type, ipairs, setmetatable, throw = type, ipairs, setmetatable, K.throw

-- The value of a field, as its declared type wants it.
function K.fieldValue(value, kind)
  if kind == "date" and type(value) == "string" then return K.parseDate(value) or value end
  return value
end

-- What instances of a class are made with: which fields there are, and how those are read that are
-- more than plain values. Made anew when the class has got more instance variables.
local plans = setmetatable({}, { __mode = "k" })
local instance

local function planOf(class)
  local plan = plans[class]
  if plan and plan.count == #class._ivars then return plan end
  plan = { count = #class._ivars, keys = {}, readers = {} }
  plans[class] = plan
  for _, ivar in ipairs(class._ivars) do
    local marks = class._marks[ivar]
    plan.keys[ivar] = K.ivarKey(ivar)
    plan.readers[ivar] = marks and K.dataReader(marks.type, instance)
  end
  return plan
end

local NULL = K.NULL

function instance(class, record)
  local plan = planOf(class)
  local object = class:new()
  if record._sent then object._sent, object._sentKey = true, record._map.id end
  local names, map = K.keysOf(record), record._map
  for i = 1, record._n do
    local name = names[i]
    local key = plan.keys[name]
    if not key then throw("invalid", string.format("%s has no field `%s`", class._name, K.str(name))) end
    local value, reader = map[name], plan.readers[name]
    if value == NULL then
      value = nil
    elseif reader then
      value = reader(value)
    end
    object[key] = value
  end
  return object
end

-- For Rust (values/instances.rs): how a record becomes an instance without `new`, as a list of the methods and
-- of name, key and reader of each field; nil where `new` or `init` do anything of their own.
function K.instancePlan(name)
  local class, object = K.classes[name], K.classes.Object
  if not class or class._meta.new ~= object._meta.new or class._methods.init ~= object._methods.init then return nil end
  local plan = planOf(class)
  local list = { class._methods }
  for _, ivar in ipairs(class._ivars) do
    local n = #list
    list[n + 1], list[n + 2], list[n + 3] = ivar, plan.keys[ivar], plan.readers[ivar] or false
  end
  return list
end

-- A record that was read for a class becomes an instance of it. Fields that the class does not
-- have are an error; they would be lost otherwise.
function K.instantiate(record, name)
  local class = K.classes[name]
  if not class or type(record) ~= "table" then return record end
  if record._isArray then
    for i = 1, #record do
      local one = record[i]
      if type(one) == "table" and one._isDictionary then record[i] = instance(class, one) end
    end
    return record
  end
  if not record._isDictionary then return record end
  return instance(class, record)
end
