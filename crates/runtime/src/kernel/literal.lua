-- Object literals `#Class{ key: value }` and `#Class[ … ]`.
local K = ...
local type, rawget, setmetatable = type, rawget, setmetatable
local throw = K.throw

-- A new instance whose keys are set one by one; `connectComponents` may replace it.
function K.object(class, keys, values, n)
  if not K.isClass(class) then
    throw("typeError", "a literal #Class{…} needs a class, not " .. K.nameOf(class))
  end
  if class._literal then return class:_literal(keys, values, n) end
  local object = class:new()
  K.fillObject(object, keys, values, n)
  return K.connected(object)
end

-- Sets the keys of a literal on an object: by setter, instance variable, or `at:put:`.
function K.fillObject(object, keys, values, n)
  local class = K.classOf(object)
  local takesKeys = rawget(class._methods, "at_put_") ~= nil
  for i = 1, n do
    local key, value = keys[i], values[i]
    if value == nil then
      throw("nilValue", K.str(key) .. " of " .. K.nameOf(object) .. " is nil in its literal")
    end
    if not K.setDeclared(object, class, key, value) then
      if takesKeys then object:at_put_(key, value) else K.unknownProperty(object, key) end
    end
  end
  return object
end

-- What an object that was just filled stands for.
function K.connected(object)
  if type(object) ~= "table" then return object end
  if not rawget(K.methodsOf(object), "connectComponents") then return object end
  local replacement = object:connectComponents()
  if replacement == nil then return object end
  return replacement
end

-- `#Class[ … ]`: elements is a Lua table of n values.
function K.literalArray(class, elements, n)
  if not K.isClass(class) then
    throw("typeError", "a literal #Class[…] needs a class, not " .. K.nameOf(class))
  end
  return class:fromArray_(K.array(elements, n))
end

K.classMethods(K.classes.Object, {
  ["fromArray:"] = function(class)
    throw("typeError", class._name .. " cannot be made from an Array: #" .. class._name .. "[…]")
  end,
})
K.classMethods(K.classes.Array, {
  ["fromArray:"] = function(class, list) return setmetatable(list, class._methods) end,
})
K.classMethods(K.classes.Dictionary, {
  ["fromArray:"] = function(_, list) return list:asDictionary() end,
})

-- Classes whose instances are plain values.
local function single(keys, values, n, accepted)
  local value = values[1]
  if n ~= 1 or not accepted[keys[1]] then
    throw("unknownProperty", "a literal of a plain value has one key, such as " .. accepted[1])
  end
  if value == nil then throw("nilValue", K.str(keys[1]) .. " is nil in its literal") end
  return value
end

local numberKeys = { "intValue", intValue = true, floatValue = true, doubleValue = true,
  value = true }
K.classMethod(K.classes.Number, "_literal", function(_, keys, values, n)
  local value = single(keys, values, n, numberKeys)
  if keys[1] == "intValue" then return value:intValue() end
  return K.expectNumber(value, K.str(keys[1]))
end)
local textKeys = { "stringValue", stringValue = true, value = true, string = true }
K.classMethod(K.classes.String, "_literal", function(_, keys, values, n)
  return K.str(single(keys, values, n, textKeys))
end)
