-- Values from JSON text (RFC 8259): `K.parseJSON`. Whole numbers are exact, whatever their size.
local K = ...
local type = type
local NULL = K.NULL

-- The value of a JSON text. A null alone is nil; inside collections it is kept. The parser is that of
-- the stores (Rust).
function K.parseJSON(text)
  return K.native.parseJSON(K.bytesOf(text, "fromJSON"))
end

-- How the variables of a class read data; made anew when the class has got more of them.
local plans = setmetatable({}, { __mode = "k" })
local function planOf(class)
  local plan = plans[class]
  if plan and plan.count == #class._ivars then return plan end
  plan = { count = #class._ivars, readers = {}, defaults = {} }
  plans[class] = plan
  for _, name in ipairs(class._ivars) do
    local marks = class._marks[name]
    plan.readers[name] = marks and K.dataReader(marks.type, K.fromDictionary)
  end
  for _, entry in ipairs(K.defaultsOf(class)) do plan.defaults[entry.name] = entry end
  return plan
end

-- An instance whose instance variables come from the entries of a dictionary; a variable whose type
-- is a class is filled the same way, entries of other names are left out.
function K.fromDictionary(class, dictionary)
  local names, map, values, plan = class._ivars, dictionary._map, {}, planOf(class)
  local n = #names
  for i = 1, n do
    local name = names[i]
    local value, reader = map[name], plan.readers[name]
    if value == NULL then
      value = nil
    elseif value == nil then
      local entry = plan.defaults[name]
      if entry then value = K.defaultValue(class, entry) end
    elseif reader then
      value = reader(value)
    end
    values[i] = value
  end
  local object = K.shaped(class, names, values, n)
  if object then
    object._sent, object._sentKey = dictionary._sent, dictionary._sent
    return object
  end
  object = class:new()
  object._sent, object._sentKey = dictionary._sent, dictionary._sent
  for i = 1, n do
    if map[names[i]] ~= nil then K.setDeclared(object, class, names[i], values[i]) end
  end
  K.complete(object)
  return object
end

local function parsed(self) return K.parseJSON(self) end
--- String -<any> fromJSON
--- String -<any> parseJSON
--- String -<any> asJSONValue
--- Data -<any> fromJSON
--- Data -<any> parseJSON
--- Data -<any> asJSONValue
--- The value of a JSON text (RFC 8259): objects become dictionaries, whole numbers stay exact, null is nil. A wrong
--- text is an error of the kind `invalid` with line and column.
--- > '{"id":1}' fromJSON ⇒ #{ id: 1 }
for _, class in ipairs { K.classes.String, K.classes.MutableString, K.classes.Data } do
  K.methods(class, { ["fromJSON"] = parsed, ["parseJSON"] = parsed, ["asJSONValue"] = parsed })
end
--- -<self> parseJSON
--- The value itself: a converter that parsed content answers values, and a handler may parse them once more.
--- > #{ id: 1 } parseJSON ⇒ #{ id: 1 }
K.method(K.classes.Object, "parseJSON", function(self) return self end)
K.classMethods(K.classes.Object, {
  --- +<self> fromDictionary:<Dictionary>dictionary
  --- An instance with the values of a dictionary: keys that name no instance variable are ignored, and a variable with
  --- the type of a class is made of a dictionary in the same way. A value of the wrong type is an error.
  --- > (Message fromDictionary: #{ selector: 'count', other: 1 }) selector ⇒ 'count'
  ["fromDictionary:"] = function(class, dictionary)
    if type(dictionary) ~= "table" or not dictionary._isDictionary then
      K.throw("typeError", "fromDictionary: expects a Dictionary, got " .. K.nameOf(dictionary))
    end
    return K.fromDictionary(class, dictionary)
  end,
  --- +<any> fromJSON:<String|Data>json
  --- An instance from a JSON object, or an array of instances from a JSON array, as in `fromDictionary:`.
  --- > (Message fromJSON: '{"selector":"count"}') selector ⇒ 'count'
  ["fromJSON:"] = function(class, text)
    local value = K.parseJSON(text)
    if type(value) ~= "table" then return value end
    if value._isDictionary then return K.fromDictionary(class, value) end
    return value:collect_(function(entry) return class:fromDictionary_(entry) end)
  end,
})
