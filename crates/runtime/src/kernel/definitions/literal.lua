-- Object literals `#Class{ key: value }` and `#Class[ … ]`.
local K = ...
local type, rawget, rawset, setmetatable, loadstring = type, rawget, rawset, setmetatable,
  loadstring
local throw = K.throw

-- Shapes ----------------------------------------------------------------------------------------
-- Where the class has no `init` of its own and every key only stores, an instance is made with all
-- its fields at once, by a function generated for these keys in this order: five times as fast as
-- storing them one by one. `_shapes` of a class is a tree over the keys; its leaves are at `LEAF`.

-- Nodes of such a tree; a program whose keys are computed goes the long way after these.
local MOST_SHAPES = 500
local LEAF = {}
-- Keys of one shape, for the generated function's sake.
local MOST_KEYS = 100

-- A nil in the literal of a class of the kernel: an option that was meant to be set.
local function nilIn(class, key)
  throw("nilValue", "`" .. K.str(key) .. "` of #" .. class._name .. "{ } is nil",
    { i_hint = "leave it out for its default, or give it a value" })
end

-- Whether a literal of the class may hold nil: the program's own classes have fields, those of the
-- kernel options.
local function takesNil(class)
  while class do
    if rawget(class, "_program") then return true end
    class = class._super
  end
  return false
end

-- The generated function gets the values, and `strict` when it makes a literal; or, for a literal whose keys are names
-- (`spread`), the values one by one.
local function maker(class, keys, n, spread)
  local methods = class._methods
  if n > MOST_KEYS or rawget(methods,
    "init") ~= K.classes.Object._methods.init then return false end
  local new = rawget(class._meta, "new")
  if new ~= K.classes.Object._meta.new and new ~= K.newFilled then return false end
  local names, fields, checks, fits, anyNil = {}, {}, {}, {}, takesNil(class)
  local parameters = {}
  for i = 1, n do
    local setter = rawget(methods, K.mangle(K.setterName(keys[i])))
    if not setter or not K.plainSetters[setter] then return false end
    local key = K.ivarKey(keys[i])
    local typed = rawget(class, "_fits")
    fits[i] = typed and typed[key] or false
    local value = spread and "v" .. i or "v[" .. i .. "]"
    fields[i] = key .. (fits[i] and "=fits[" .. i .. "](" .. value .. ")" or "=" .. value)
    checks[i] = anyNil and "" or "if " .. value .. "==nil then nilIn(class,names[" .. i .. "]) end"
    parameters[i] = value
    names[i] = keys[i]
  end
  local given = {}
  for i = 1, n do given[keys[i]] = true end
  -- Values of variables that the keys leave out: constants, and what is made for each object.
  local values, computed = {}, {}
  for _, entry in ipairs(K.defaultsOf(class)) do
    if not given[entry.name] then
      local at = #values + 1
      local value = "values[" .. at .. "]"
      if entry.marks.constant then
        values[at] = K.defaultValue(class, entry)
        fields[#fields + 1] = entry.key .. "=" .. value
      else
        values[at] = entry
        computed[#computed + 1] = "o." .. entry.key .. "=default(class," .. value .. ",o)"
      end
      given[entry.name] = true
    end
  end
  for _, name in ipairs(K.requiredOf(class)) do
    if not given[name] then return function() K.missingField(class, name) end end
  end
  local source = "local setmetatable,methods,nilIn,class,names,fits,values,default=... return function("
    .. (spread and table.concat(parameters, ",") .. ") " or "v,strict) if strict then ") .. table.concat(checks, " ")
    .. (spread and "" or " end") .. " local o=setmetatable({" .. table.concat(fields, ",")
    .. "},methods) " .. table.concat(computed, " ") .. " return o end"
  return loadstring(source, "=shape")(setmetatable, methods, nilIn, class, names, fits, values, K.defaultValue)
end

-- The node of the tree for these keys. Written out for the usual lengths: the tracer compiles a
-- chain of look-ups better than a short loop.
local function nodeOf(node, keys, n)
  if n == 0 then return node end
  node = node[keys[1]]
  if n == 1 or not node then return node end
  node = node[keys[2]]
  if n == 2 or not node then return node end
  node = node[keys[3]]
  if n == 3 or not node then return node end
  node = node[keys[4]]
  if n == 4 or not node then return node end
  for i = 5, n do
    node = node[keys[i]]
    if not node then return nil end
  end
  return node
end

local function newShape(class, keys, n)
  local root = rawget(class, "_shapes")
  if not root then
    root = { tree = {}, count = 0 }
    rawset(class, "_shapes", root)
  end
  local node = root.tree
  for i = 1, n do
    local key = keys[i]
    if type(key) ~= "string" then return false end
    local following = node[key]
    if not following then
      if root.count >= MOST_SHAPES then return false end
      root.count = root.count + 1
      following = {}
      node[key] = following
    end
    node = following
  end
  node[LEAF] = maker(class, keys, n)
  return node[LEAF]
end

-- The function that makes an instance from a list of values for these keys, or false.
local function shapeOf(class, keys, n)
  local root = rawget(class, "_shapes")
  local node = root and nodeOf(root.tree, keys, n)
  local make = node and node[LEAF]
  if make == nil or not node then return newShape(class, keys, n) end
  return make
end

-- An instance with a value for each key, where values may be absent; or false when the class must
-- be asked.
function K.shaped(class, keys, values, n)
  local make = shapeOf(class, keys, n)
  return make and make(values)
end

-- A new instance whose keys are set one by one; `connectComponents` may replace it.
function K.object(class, keys, values, n)
  if not K.isClass(class) then
    throw("typeError", "a literal #Class{…} needs a class, not " .. K.nameOf(class))
  end
  if class._literal then return class:_literal(keys, values, n) end
  local make = shapeOf(class, keys, n)
  if make then return K.connected(make(values, true)) end
  local object = class:new()
  K.fillObject(object, keys, values, n)
  return K.connected(K.complete(object))
end

-- Literals whose keys are names: `_makes` of a class has for each list of names what takes the values one by one, so
-- that no list of keys and of values is made.

local function anyLiteral(class, names, n)
  return function(...) return K.object(class, { unpack(names) }, { ... }, n) end
end

local function newMake(class, keys)
  local names, n = {}, 0
  for name in string.gmatch(keys, "[^,]+") do
    n = n + 1
    names[n] = name
  end
  if not K.isClass(class) then return anyLiteral(class, names, n) end
  local makes = rawget(class, "_makes") or { count = 0 }
  local plain = not class._literal and not rawget(class._methods, "connectComponents")
  local make = plain and maker(class, names, n, true) or anyLiteral(class, names, n)
  if makes.count < MOST_SHAPES then
    makes.count, makes[keys] = makes.count + 1, make
    rawset(class, "_makes", makes)
  end
  return make
end

-- What makes `#Class{ a: …, b: … }` of its values; `keys` is the text `a,b,`.
function K.make(class, keys)
  if type(class) == "table" then
    local makes = rawget(class, "_makes")
    local make = makes and makes[keys]
    if make then return make end
  end
  return newMake(class, keys)
end

-- Sets the keys of a literal on an object: by setter, instance variable, or `at:put:`.
function K.fillObject(object, keys, values, n)
  local class = K.classOf(object)
  local takesKeys = rawget(class._methods, "at_put_") ~= nil
  local anyNil = takesKeys or takesNil(class)
  for i = 1, n do
    local key, value = keys[i], values[i]
    if value == nil and not anyNil then nilIn(class, key) end
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
  local list = K.array(elements, n)
  if class._methods._isArray then return setmetatable(list, class._methods) end
  return class:fromArray_(list)
end

K.classMethods(K.classes.Object, {
  --- +<any> fromArray:<Array>elements
  --- What a literal `#Class[ … ]` stands for. A class of the program may define it; otherwise it is an error.
  --- > Message fromArray: [1] ⇒ error: Message cannot be made from an Array: #Message[…]
  ["fromArray:"] = function(class)
    throw("typeError", class._name .. " cannot be made from an Array: #" .. class._name .. "[…]")
  end,
})
K.classMethods(K.classes.Array, {
  --- +<self> fromArray:<Array>elements
  --- An array of this class with the elements.
  --- > MutableArray fromArray: [1, 2] ⇒ [1, 2]
  ["fromArray:"] = function(class, list) return class:withAll_(list) end,
})
K.classMethods(K.classes.Dictionary, {
  --- +<Dictionary> fromArray:<Array>pairs
  --- A dictionary from pairs of key and value.
  --- > Dictionary fromArray: [['a', 1], ['b', 2]] ⇒ #{ a: 1, b: 2 }
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
