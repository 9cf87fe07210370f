-- Values from JSON text (RFC 8259): `K.parseJSON`. Whole numbers are exact, whatever their size.
local K = ...
local type = type
local NULL = K.NULL

-- The value of a JSON text. A null alone is nil; inside collections it is kept. The parser is that of
-- the stores (Rust).
function K.parseJSON(text)
  return K.native.parseJSON(K.bytesOf(text, "fromJSON"))
end

-- An instance whose instance variables come from the entries of a dictionary; a variable whose type
-- is a class is filled the same way, entries of other names are left out.
function K.fromDictionary(class, dictionary)
  local names, map, values = class._ivars, dictionary._map, {}
  local n = #names
  for i = 1, n do
    local value = map[names[i]]
    if value == NULL then value = nil end
    if type(value) == "table" then
      local wanted = class._types[names[i]]
      local kind = wanted and K.classes[wanted]
      if kind and value._isDictionary and not kind._methods._isDictionary then
        value = K.fromDictionary(kind, value)
      end
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
for _, class in ipairs { K.classes.String, K.classes.MutableString, K.classes.Data } do
  K.methods(class, { ["fromJSON"] = parsed, ["parseJSON"] = parsed, ["asJSONValue"] = parsed })
end
-- A value that a converter parsed already answers itself.
K.method(K.classes.Object, "parseJSON", function(self) return self end)
K.classMethods(K.classes.Object, {
  ["fromDictionary:"] = function(class, dictionary)
    if type(dictionary) ~= "table" or not dictionary._isDictionary then
      K.throw("typeError", "fromDictionary: expects a Dictionary, got " .. K.nameOf(dictionary))
    end
    return K.fromDictionary(class, dictionary)
  end,
  -- One instance, or an array of them, from a JSON text.
  ["fromJSON:"] = function(class, text)
    local value = K.parseJSON(text)
    if type(value) ~= "table" then return value end
    if value._isDictionary then return K.fromDictionary(class, value) end
    return value:collect_(function(entry) return class:fromDictionary_(entry) end)
  end,
})
