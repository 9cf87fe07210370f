-- Arrays: elements 1..n of a Lua table, positions 0..n-1 for programs; nil is kept as K.NULL.
local K = ...
local type, rawget, setmetatable, getmetatable = type, rawget, setmetatable,
  getmetatable
local insert, remove = table.insert, table.remove
local throw, eq = K.throw, K.eq
local NULL = K.NULL

local Array, MutableArray = K.classes.Array, K.classes.MutableArray
K.method(Array, "_isArray", true)
K.method(Array, "_kind", K.kinds.array)
local methods, mutableMethods = Array._methods, MutableArray._methods

K.method(Array, "_elements", function(self) return self end)

-- Long literals are put together from parts.
function K.appendAll(whole, part)
  local n = #whole
  for i = 1, #part do whole[n + i] = part[i] end
  return whole
end

-- Positions -------------------------------------------------------------------------------------

local function outOfRange(self, index)
  if type(index) ~= "number" then
    throw("typeError", "a position in an Array is a whole number, not " .. K.nameOf(index))
  end
  K.outOfRange(index, #self)
end

local function part(self, from, to)
  local out = {}
  for i = from + 1, to do out[i - from] = self[i] end
  return setmetatable(out, methods)
end

local function at(self, index)
  local value = type(index) == "number" and rawget(self, index + 1)
  if value == NULL then return nil end
  if value or value == false and type(index) == "number" then return value end
  if type(index) == "table" and index._isInterval then
    return part(self, K.rangeOf(index, #self, "at:"))
  end
  outOfRange(self, index)
end

local function put(self, index, value)
  if type(index) ~= "number" or rawget(self, index + 1) == nil then outOfRange(self, index) end
  if value == nil then self[index + 1] = NULL else self[index + 1] = value end
  return value
end

local function expectPosition(self, index, count, selector)
  index = K.expectInteger(index, selector)
  if index < 0 or index >= count then K.outOfRange(index, count) end
  return index + 1
end

-- Changing --------------------------------------------------------------------------------------

local function append(self, value)
  if value == nil then value = NULL end
  self[#self + 1] = value
  return self
end

local function appendAll(self, others)
  local list = K.elementsOf(others, "addAll:")
  local n, m = #self, #list
  for i = 1, m do self[n + i] = list[i] end
  return self
end

local function insertAt(self, value, index)
  insert(self, expectPosition(self, index, #self + 1, "insertObject:atIndex:"), value == nil
    and NULL or value)
  return self
end

local function removeAt(self, index)
  local value = remove(self, expectPosition(self, index, #self, "removeAt:"))
  if value == NULL then return nil end
  return value
end

-- Removes every element that equals the given one; answers the array.
local function removeEqual(self, unwanted)
  local kept, n = 0, #self
  if unwanted == nil then unwanted = NULL end
  for i = 1, n do
    local value = self[i]
    if not eq(value, unwanted) then
      kept = kept + 1
      self[kept] = value
    end
  end
  for i = n, kept + 1, -1 do self[i] = nil end
  return self
end

local function removeAll(self)
  for i = #self, 1, -1 do self[i] = nil end
  return self
end

local function ending(selector, position)
  return function(self)
    local n = #self
    if n == 0 then throw("outOfRange", selector .. ": the Array is empty") end
    local value = remove(self, position or n)
    if value == NULL then return nil end
    return value
  end
end
local removeLast, removeFirst = ending("removeLast"), ending("removeFirst", 1)

local function appended(self, value)
  local n, out = #self, {}
  for i = 1, n do out[i] = self[i] end
  out[n + 1] = value == nil and NULL or value
  return setmetatable(out, methods)
end

local function copyWith(kind)
  return function(self)
    local out = {}
    for i = 1, #self do out[i] = self[i] end
    return setmetatable(out, kind)
  end
end

local function equal(self, other)
  if rawequal(self, other) then return true end
  if type(other) ~= "table" or not other._isArray or #self ~= #other then return false end
  for i = 1, #self do
    if not eq(self[i], other[i]) then return false end
  end
  return true
end

K.methods(Array, {
  ["at:"] = at, ["objectAtIndex:"] = at,
  ["at:ifAbsent:"] = function(self, index, absent)
    local value = type(index) == "number" and rawget(self, index + 1)
    if value == nil then return K.valueOf(absent) end
    if value == NULL then return nil end
    return value
  end,
  ["at:put:"] = put,
  ["replaceObjectAtIndex:withObject:"] = put,
  ["setObject:atIndexedSubscript:"] = function(self, value, index)
    return put(self, index, value)
  end,
  ["count"] = function(self) return #self end,
  ["subarrayWithRange:"] = function(self, range)
    return part(self, K.rangeOf(range, #self, "subarrayWithRange:"))
  end,
  ["from:to:"] = function(self, from, to)
    return part(self, K.rangeOf(K.interval(from, to, 1), #self, "from:to:"))
  end,
  ["copyFrom:to:"] = function(self, from, to)
    return part(self, K.rangeOf(K.interval(from, to, 1), #self, "copyFrom:to:"))
  end,
  ["from:"] = function(self, from)
    local n = #self
    return part(self, expectPosition(self, from, n + 1, "from:") - 1, n)
  end,
  ["add:"] = append, ["addObject:"] = append, ["writeObject:"] = append, ["push:"] = append,
  ["addLast:"] = append,
  ["addFirst:"] = function(self, value) return insertAt(self, value, 0) end,
  ["addAll:"] = appendAll, ["addObjectsFromArray:"] = appendAll,
  ["insertObject:atIndex:"] = insertAt, ["insert:at:"] = insertAt, ["add:at:"] = insertAt,
  ["removeObjectAtIndex:"] = removeAt, ["removeAt:"] = removeAt,
  ["removeObject:"] = removeEqual, ["remove:"] = removeEqual,
  ["removeLast"] = removeLast, ["removeLastObject"] = removeLast, ["pop"] = removeLast,
  ["removeFirst"] = removeFirst,
  ["removeAll"] = removeAll, ["removeAllObjects"] = removeAll,
  ["removeAll:"] = function(self, unwanted)
    local kept = self:withoutAll_(unwanted)
    removeAll(self)
    return appendAll(self, kept)
  end,
  ["setArray:"] = function(self, others)
    local list = K.elementsOf(others, "setArray:")
    local n = #list
    for i = 1, n do self[i] = list[i] end
    for i = #self, n + 1, -1 do self[i] = nil end
    return self
  end,
  ["swap:with:"] = function(self, a, b)
    local n = #self
    a, b = expectPosition(self, a, n, "swap:with:"), expectPosition(self, b, n, "swap:with:")
    self[a], self[b] = self[b], self[a]
    return self
  end,
  ["sort"] = K.sortInPlace, ["sort:"] = K.sortInPlace,
  ["concat:"] = appended, ["arrayByAddingObject:"] = appended, ["copyWith:"] = appended,
  ["copy"] = copyWith(methods), ["asArray"] = copyWith(methods),
  ["mutableCopy"] = copyWith(mutableMethods), ["asMutableArray"] = copyWith(mutableMethods),
  ["isEqual:"] = equal, ["isEqualToArray:"] = equal,
  ["isArray"] = function() return true end,
})
K.methods(MutableArray, { ["concat:"] = append })
-- `a + b`: a new array of the elements of both.
K.method(Array, "_plus", function(self, other)
  if type(other) ~= "table" or not other._isCollection then
    K.operandError("add_", self, other, "append one element with a comma")
  end
  return self:addedAll_(other)
end)

-- Random order (Fisher and Yates).
K.methods(Array, {
  ["shuffled"] = function(self)
    local out = self:asArray()
    for i = #out, 2, -1 do
      local j = math.random(i)
      out[i], out[j] = out[j], out[i]
    end
    return out
  end,
})

-- Text and keys ---------------------------------------------------------------------------------

K.method(Array, "_writeText", function(self, parts, quoted, path, depth)
  parts[#parts + 1] = "["
  for i = 1, #self do
    if i > 1 then parts[#parts + 1] = "," end
    local value = self[i]
    if value == NULL then value = nil end
    K.writeText(parts, value, quoted, path, depth)
  end
  parts[#parts + 1] = "]"
end)

K.method(Array, "_keyText", function(self, depth)
  if (depth or 0) > 64 then
    throw("tooLarge", "an Array nested deeper than 64 levels cannot be a key")
  end
  local parts = { "a" .. #self }
  for i = 1, #self do parts[i + 1] = K.keyText(self[i], depth) end
  return table.concat(parts, ",")
end)
-- What stands in a dictionary as the key: a copy that later changes do not reach.
K.method(Array, "_frozen", copyWith(methods))

-- Making ----------------------------------------------------------------------------------------

local function empty(class) return setmetatable({}, class._methods) end
local function from(class, others)
  return appendAll(setmetatable({}, class._methods), others)
end

K.classMethods(Array, {
  ["new"] = empty, ["array"] = empty, ["alloc"] = empty,
  ["new:"] = function(class, n)
    n = K.expectInteger(n, "new:")
    if n > 16777216 then throw("tooLarge", "new: makes an Array of at most 16777216 elements") end
    local list = {}
    for i = 1, n do list[i] = NULL end
    return setmetatable(list, class._methods)
  end,
  ["new:withAll:"] = function(class, n, value)
    n = K.expectInteger(n, "new:withAll:")
    if n > 16777216 then
      throw("tooLarge", "new:withAll: makes an Array of at most 16777216 elements")
    end
    local list = {}
    if value == nil then value = NULL end
    for i = 1, n do list[i] = value end
    return setmetatable(list, class._methods)
  end,
  ["arrayWithCapacity:"] = empty,
  ["with:"] = function(class, a) return append(empty(class), a) end,
  ["arrayWithObject:"] = function(class, a) return append(empty(class), a) end,
  ["with:with:"] = function(class, a, b) return append(append(empty(class), a), b) end,
  ["with:with:with:"] = function(class, a, b, c)
    return append(append(append(empty(class), a), b), c)
  end,
  ["arrayWithArray:"] = from, ["withAll:"] = from, ["arrayWithObjects:"] = from,
})

-- Subscripts ------------------------------------------------------------------------------------

-- `r[index]`
function K.at(self, index)
  if type(self) == "table" then
    if type(index) == "number" then
      local kind = getmetatable(self)
      if kind == methods or kind == mutableMethods then
        local value = rawget(self, index + 1)
        if value == NULL then return nil end
        if value ~= nil then return value end
      end
    end
    return self:at_(index)
  end
  if type(self) == "string" then return K.characterAt(self, index) end
  if self == nil then return nil end
  return self:at_(index)
end

-- `r[index] := value`
function K.atPut(self, index, value)
  if type(index) == "number" and type(self) == "table" and value ~= nil then
    local kind = getmetatable(self)
    if (kind == methods or kind == mutableMethods) and rawget(self, index + 1) ~= nil then
      self[index + 1] = value
      return value
    end
  end
  return self:at_put_(index, value)
end

-- `r[{ condition }]`; the data for stores that translate the condition is not needed here. `names`
-- are the variables from outside that the block reads by their bare names, if any.
function K.query(self, block, data, names)
  if type(self) == "table" then
    if self._isArray then return setmetatable(K.filtered(self, block, true), methods) end
    if rawget(getmetatable(self), "query_with_") then
      return self:query_with_(block, data, names)
    end
  end
  return self:select_(block)
end

-- `a , b`
function K.concat(a, b)
  if type(a) == "string" and type(b) == "string" then return a .. b end
  return a:concat_(b)
end
