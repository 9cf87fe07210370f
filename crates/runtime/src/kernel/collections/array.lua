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

-- Lexicographic: the first difference decides, otherwise the shorter one comes first.
local function compare(self, other)
  if type(other) ~= "table" or not other._isArray then
    if other == nil then K.refuseNil(self) end
    throw("typeError", K.nameOf(self) .. " cannot be compared with " .. K.nameOf(other))
  end
  local n, m = #self, #other
  for i = 1, n < m and n or m do
    local way = K.order(self[i], other[i])
    if way ~= 0 then return way end
  end
  return n == m and 0 or n < m and -1 or 1
end

K.methods(Array, {
  --- -<Number> compare:<Array>other
  --- Answers -1, 0 or 1: the first elements that differ decide, otherwise the shorter Array comes first. So a key block
  --- that answers an Array sorts by several keys.
  --- > [1, 2] compare: [1, 3] ⇒ -1
  --- > [[2, 1], [1, 5], [1, 2]] sorted ⇒ [[1, 2], [1, 5], [2, 1]]
  ["compare:"] = compare,
  --- -<Boolean> isLessThan:<Array>other
  --- Answers whether the Array comes first, as `compare:` decides.
  --- > [1, 2] < [1, 3] ⇒ true
  ["isLessThan:"] = function(self, other) return compare(self, other) < 0 end,
  --- -<Boolean> > <Array>other
  --- -<Boolean> isGreaterThan:<Array>other
  --- Answers whether the other Array comes first, as `compare:` decides.
  --- > [1, 2] > [1, 3] ⇒ false
  ["isGreaterThan:"] = function(self, other) return compare(self, other) > 0 end,
  --- -<Boolean> ≤ <Array>other
  --- -<Boolean> isLessThanOrEqualTo:<Array>other
  --- Answers whether the Array comes first or both are equal.
  --- > [1, 2] ≤ [1, 2] ⇒ true
  ["isLessThanOrEqualTo:"] = function(self, other) return compare(self, other) <= 0 end,
  --- -<Boolean> ≥ <Array>other
  --- -<Boolean> isGreaterThanOrEqualTo:<Array>other
  --- Answers whether the other Array comes first or both are equal.
  --- > [1, 2] ≥ [1, 2] ⇒ true
  ["isGreaterThanOrEqualTo:"] = function(self, other) return compare(self, other) >= 0 end,
  --- -<any> at:<Number|Interval>index
  --- -<any> objectAtIndex:<Number|Interval>index
  --- Answers the element at the position, counted from 0; for an Interval of positions a new Array of them. Another
  --- position is an `outOfRange` error.
  --- > ['a', 'b', 'c'] at: 1 ⇒ 'b'
  --- > ['a', 'b', 'c'] at: (1 to: 2) ⇒ ['b', 'c']
  ["at:"] = at, ["objectAtIndex:"] = at,
  --- -<any> at:<any>index ifAbsent:<any>alternative
  --- Answers the element at the position, otherwise the alternative: a block's value, or the argument itself.
  --- > ['a'] at: 5 ifAbsent: 'none' ⇒ 'none'
  ["at:ifAbsent:"] = function(self, index, absent)
    local value
    if type(index) == "number" then value = rawget(self, index + 1) end
    if value == nil then return K.valueOf(absent) end
    if value == NULL then return nil end
    return value
  end,
  --- -<any> at:<Number>index put:<any>value
  --- Replaces the element at a position that exists, and answers the value. Another position is an `outOfRange` error;
  --- `add:` appends.
  --- > list := ['a', 'b']. list at: 1 put: 'c'. list ⇒ ['a', 'c']
  ["at:put:"] = put,
  --- -<any> replaceObjectAtIndex:<Number>index withObject:<any>value
  --- Replaces the element at the position and answers the value, as `at:put:` does.
  --- > list := ['a']. list replaceObjectAtIndex: 0 withObject: 'b'. list ⇒ ['b']
  ["replaceObjectAtIndex:withObject:"] = put,
  --- -<any> setObject:<any>value atIndexedSubscript:<Number>index
  --- Replaces the element at the position and answers the value, as `at:put:` does.
  --- > list := ['a']. list setObject: 'b' atIndexedSubscript: 0. list ⇒ ['b']
  ["setObject:atIndexedSubscript:"] = function(self, value, index)
    return put(self, index, value)
  end,
  --- -<Number> count
  --- Answers the number of elements.
  --- > ['a', nil] count ⇒ 2
  ["count"] = function(self) return #self end,
  --- -<Array> subarrayWithRange:<Interval>range
  --- Answers a new Array of the elements at the positions of the Interval, both ends included. Positions outside are an
  --- `outOfRange` error.
  --- > ['a', 'b', 'c'] subarrayWithRange: (1 to: 2) ⇒ ['b', 'c']
  ["subarrayWithRange:"] = function(self, range)
    return part(self, K.rangeOf(range, #self, "subarrayWithRange:"))
  end,
  --- -<Array> from:<Number>first to:<Number>last
  --- Answers a new Array of the elements from one position to another, both included. It is empty when `last` is before
  --- `first`; positions outside are an `outOfRange` error.
  --- > ['a', 'b', 'c'] from: 1 to: 2 ⇒ ['b', 'c']
  ["from:to:"] = function(self, from, to)
    return part(self, K.rangeOf(K.interval(from, to, 1), #self, "from:to:"))
  end,
  --- -<Array> copyFrom:<Number>first to:<Number>last
  --- Answers a new Array of the elements from one position to another, as `from:to:` does.
  --- > ['a', 'b', 'c'] copyFrom: 0 to: 1 ⇒ ['a', 'b']
  ["copyFrom:to:"] = function(self, from, to)
    return part(self, K.rangeOf(K.interval(from, to, 1), #self, "copyFrom:to:"))
  end,
  --- -<Array> from:<Number>first
  --- Answers a new Array of the elements from a position to the end. The count itself as position gives an empty Array.
  --- > ['a', 'b', 'c'] from: 1 ⇒ ['b', 'c']
  ["from:"] = function(self, from)
    local n = #self
    return part(self, expectPosition(self, from, n + 1, "from:") - 1, n)
  end,
  --- -<self> add:<any>element
  --- -<self> addObject:<any>element
  --- -<self> writeObject:<any>element
  --- -<self> push:<any>element
  --- -<self> addLast:<any>element
  --- -<self> ! <any>element
  --- Appends the element to this Array and answers the Array. The comma appends to a copy.
  --- > list := [1]. list add: 2; add: 3. list ⇒ [1, 2, 3]
  ["add:"] = append, ["addObject:"] = append, ["writeObject:"] = append, ["push:"] = append,
  ["addLast:"] = append,
  --- -<self> addFirst:<any>element
  --- Inserts the element before all others and answers the Array.
  --- > [2, 3] addFirst: 1 ⇒ [1, 2, 3]
  ["addFirst:"] = function(self, value) return insertAt(self, value, 0) end,
  --- -<self> addAll:<Collection>others
  --- -<self> addObjectsFromArray:<Collection>others
  --- Appends all elements of another collection to this Array and answers it. `+` answers a new Array.
  --- > [1] addAll: (2 to: 4) ⇒ [1, 2, 3, 4]
  ["addAll:"] = appendAll, ["addObjectsFromArray:"] = appendAll,
  --- -<self> insertObject:<any>element atIndex:<Number>index
  --- -<self> insert:<any>element at:<Number>index
  --- -<self> add:<any>element at:<Number>index
  --- Inserts the element before the one at the position and answers the Array. The count itself as position appends; a
  --- position beyond it is an `outOfRange` error.
  --- > ['a', 'c'] insert: 'b' at: 1 ⇒ ['a', 'b', 'c']
  ["insertObject:atIndex:"] = insertAt, ["insert:at:"] = insertAt, ["add:at:"] = insertAt,
  --- -<any> removeObjectAtIndex:<Number>index
  --- -<any> removeAt:<Number>index
  --- Removes the element at the position and answers it. A position outside is an `outOfRange` error.
  --- > list := ['a', 'b', 'c']. list removeAt: 1. list ⇒ ['a', 'c']
  ["removeObjectAtIndex:"] = removeAt, ["removeAt:"] = removeAt,
  --- -<self> removeObject:<any>element
  --- -<self> remove:<any>element
  --- Removes all elements that equal the given one and answers the Array. `without:` answers a new Array.
  --- > [1, 2, 1] remove: 1 ⇒ [2]
  ["removeObject:"] = removeEqual, ["remove:"] = removeEqual,
  --- -<any> removeLast
  --- -<any> removeLastObject
  --- -<any> pop
  --- Removes the last element and answers it. An empty Array is an `outOfRange` error.
  --- > stack := [1, 2]. stack pop ⇒ 2
  ["removeLast"] = removeLast, ["removeLastObject"] = removeLast, ["pop"] = ending("pop"),
  --- -<any> removeFirst
  --- Removes the first element and answers it. An empty Array is an `outOfRange` error.
  --- > queue := ['a', 'b']. queue removeFirst ⇒ 'a'
  ["removeFirst"] = removeFirst,
  --- -<self> removeAll
  --- -<self> removeAllObjects
  --- Removes all elements and answers the Array.
  --- > [1, 2] removeAll ⇒ []
  ["removeAll"] = removeAll, ["removeAllObjects"] = removeAll,
  --- -<self> removeAll:<Collection>unwanted
  --- Removes all elements that equal one of the given ones, and answers the Array. `withoutAll:` answers a new Array.
  --- > [1, 2, 3, 1] removeAll: [1, 3] ⇒ [2]
  ["removeAll:"] = function(self, unwanted)
    local kept = self:withoutAll_(unwanted)
    removeAll(self)
    return appendAll(self, kept)
  end,
  --- -<self> setArray:<Collection>others
  --- Replaces all elements by those of another collection and answers the Array.
  --- > [1, 2, 3] setArray: ['a'] ⇒ ['a']
  ["setArray:"] = function(self, others)
    local list = K.elementsOf(others, "setArray:")
    local n = #list
    for i = 1, n do self[i] = list[i] end
    for i = #self, n + 1, -1 do self[i] = nil end
    return self
  end,
  --- -<self> swap:<Number>first with:<Number>second
  --- Exchanges the elements at two positions and answers the Array.
  --- > ['a', 'b', 'c'] swap: 0 with: 2 ⇒ ['c', 'b', 'a']
  ["swap:with:"] = function(self, a, b)
    local n = #self
    a, b = expectPosition(self, a, n, "swap:with:"), expectPosition(self, b, n, "swap:with:")
    self[a], self[b] = self[b], self[a]
    return self
  end,
  --- -<self> sort
  --- Sorts the elements of this Array in place by their natural order, and answers it. `sorted` answers a new Array.
  --- > list := [3, 1, 2]. list sort. list ⇒ [1, 2, 3]
  ["sort"] = K.sortInPlace,
  --- -<self> sort:<Block(each)|Block(a, b)|String|Array>order
  --- Sorts this Array in place and answers it. The order is a key, a comparison, a property or several, as in
  --- `sorted:`.
  --- > [3, 1, 2] sort: { :a :b | a > b } ⇒ [3, 2, 1]
  ["sort:"] = K.sortInPlace,
  --- -<Array> , <any>element
  --- -<Array> concat:<any>element
  --- -<Array> arrayByAddingObject:<any>element
  --- -<Array> copyWith:<any>element
  --- Answers a new Array with the element appended as one element, also when it is a collection. `+` appends all
  --- elements.
  --- > [1, 2] , 3 ⇒ [1, 2, 3]
  --- > [1] , [2] ⇒ [1, [2]]
  ["concat:"] = appended, ["arrayByAddingObject:"] = appended, ["copyWith:"] = appended,
  --- -<Array> copy
  --- Answers a new Array of the same elements. The elements are shared; `deepCopy` copies them too.
  --- > list := [1]. other := list copy. other add: 2. list ⇒ [1]
  ["copy"] = copyWith(methods),
  --- As in Collection.
  ["asArray"] = copyWith(methods),
  --- -<MutableArray> mutableCopy
  --- -<MutableArray> asMutableArray
  --- Answers a new MutableArray of the same elements. Its comma appends in place.
  --- > [1, 2] mutableCopy ⇒ [1, 2]
  ["mutableCopy"] = copyWith(mutableMethods), ["asMutableArray"] = copyWith(mutableMethods),
  --- -<Boolean> = <any>other
  --- -<Boolean> isEqual:<any>other
  --- -<Boolean> isEqualToArray:<any>other
  --- Answers whether the other object is an Array with equal elements in the same order. A Set or Interval is not
  --- equal.
  --- > [1, 'a'] = [1, 'a'] ⇒ true
  ["isEqual:"] = equal, ["isEqualToArray:"] = equal,
  --- -<Boolean> isArray
  --- Answers true; any other object answers false.
  --- > [1] isArray ⇒ true
  ["isArray"] = function() return true end,
})
K.methods(MutableArray, {
  --- -<MutableArray> , <any>element
  --- -<MutableArray> concat:<any>element
  --- Answers a new MutableArray with the element appended; `add:` appends to the receiver.
  --- > list := MutableArray new. list , 1. list ⇒ []
  ["concat:"] = function(self, value) return append(self:mutableCopy(), value) end,
})
-- `a + b`: a new array of the elements of both.
--- Array -<Array> + <Collection>others
--- Answers a new Array of the elements of both collections. `addAll:` changes the Array; the comma appends one element.
--- > [1, 2] + [3] ⇒ [1, 2, 3]
K.method(Array, "_plus", function(self, other)
  if type(other) ~= "table" or not other._isCollection then
    K.operandError("add_", self, other, "append one element with a comma")
  end
  return self:addedAll_(other)
end)

-- Random order (Fisher and Yates).
K.methods(Array, {
  --- -<Array> shuffled
  --- Answers a new Array of the same elements in random order; every order has the same probability.
  --- > [3, 1, 2] shuffled sorted ⇒ [1, 2, 3]
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
  --- +<self> new
  --- +<self> array
  --- +<self> alloc
  --- Answers an empty Array or, sent to MutableArray, an empty MutableArray. `[ ]` is the literal.
  --- > Array new ⇒ []
  ["new"] = empty, ["array"] = empty, ["alloc"] = empty,
  --- +<self> new:<Number>count
  --- Answers an Array of `count` nil elements, at most 16,777,216; a larger count is a `tooLarge` error.
  --- > Array new: 2 ⇒ [nil, nil]
  ["new:"] = function(class, n)
    n = K.expectInteger(n, "new:")
    if n < 0 then throw("outOfRange", "new: expects a count from 0 on, got " .. K.str(n)) end
    if n > 16777216 then throw("tooLarge", "new: makes an Array of at most 16777216 elements") end
    local list = {}
    for i = 1, n do list[i] = NULL end
    return setmetatable(list, class._methods)
  end,
  --- +<self> new:<Number>count withAll:<any>element
  --- Answers an Array with the same element `count` times, at most 16,777,216 times; a larger count is a `tooLarge`
  --- error.
  --- > Array new: 3 withAll: 0 ⇒ [0, 0, 0]
  ["new:withAll:"] = function(class, n, value)
    n = K.expectInteger(n, "new:withAll:")
    if n < 0 then throw("outOfRange", "new:withAll: expects a count from 0 on, got " .. K.str(n)) end
    if n > 16777216 then
      throw("tooLarge", "new:withAll: makes an Array of at most 16777216 elements")
    end
    local list = {}
    if value == nil then value = NULL end
    for i = 1, n do list[i] = value end
    return setmetatable(list, class._methods)
  end,
  --- +<self> arrayWithCapacity:<Number>count
  --- Answers an empty Array. Ignores the capacity, because an Array grows as needed; `new:` fills with nil.
  --- > (Array arrayWithCapacity: 100) count ⇒ 0
  ["arrayWithCapacity:"] = empty,
  --- +<self> with:<any>element
  --- +<self> arrayWithObject:<any>element
  --- Answers an Array of one element.
  --- > Array with: 1 ⇒ [1]
  ["with:"] = function(class, a) return append(empty(class), a) end,
  ["arrayWithObject:"] = function(class, a) return append(empty(class), a) end,
  --- +<self> with:<any>first with:<any>second
  --- Answers an Array of two elements.
  --- > Array with: 1 with: 2 ⇒ [1, 2]
  ["with:with:"] = function(class, a, b) return append(append(empty(class), a), b) end,
  --- +<self> with:<any>first with:<any>second with:<any>third
  --- Answers an Array of three elements.
  --- > Array with: 1 with: 2 with: 3 ⇒ [1, 2, 3]
  ["with:with:with:"] = function(class, a, b, c)
    return append(append(append(empty(class), a), b), c)
  end,
  --- +<self> arrayWithArray:<Collection>others
  --- +<self> withAll:<Collection>others
  --- +<self> arrayWithObjects:<Collection>others
  --- Answers an Array of the elements of another collection.
  --- > Array withAll: (1 to: 3) ⇒ [1, 2, 3]
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
