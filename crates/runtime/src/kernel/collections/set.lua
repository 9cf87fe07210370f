-- Sets: elements without repetition, compared by value, in the order in which they came.
local K = ...
local type, setmetatable = type, setmetatable
local NULL = K.NULL

local Set = K.newClass("Set", K.classes.Collection)
for _, name in ipairs { "NSSet", "NSMutableSet", "OrderedSet", "NSOrderedSet", "MutableSet" } do
  K.alias(name, Set)
end
K.method(Set, "_isSet", true)

-- `_members` is a dictionary from each element to itself.
local function add(self, value)
  if value == nil then value = NULL end
  local members = self._members
  if members._map[K.key(value)] == nil then members:at_put_(value, value) end
  return self
end

local function addAll(self, others)
  local list = K.elementsOf(others, "addAll:")
  for i = 1, #list do add(self, list[i]) end
  return self
end

local function empty()
  return setmetatable({ _members = K.newDictionary() }, Set._methods)
end

-- A set of the elements of a Lua table.
function K.set(list)
  local set = empty()
  for i = 1, #list do add(set, list[i]) end
  return set
end

local function includes(self, value)
  if value == nil then value = NULL end
  return self._members._map[K.key(value)] ~= nil
end

local function remove(self, value)
  if value == nil then value = NULL end
  self._members:removeKey_(value)
  return self
end

local function filtered(self, block, wanted)
  return K.set(K.filtered(self, block, wanted))
end

local function copy(self) return K.set(self:_elements()) end

local function union(self, others) return addAll(copy(self), others) end

K.method(Set, "_plus", union)

local function isSubset(self, others)
  local list = self:_elements()
  others = K.set(K.elementsOf(others, "isSubsetOf:"))
  for i = 1, #list do
    if not includes(others, list[i]) then return false end
  end
  return true
end

local function keep(self, others, wanted)
  others = K.set(K.elementsOf(others, "intersection:"))
  return filtered(self, function(value) return includes(others, value) end, wanted)
end

local function become(self, other)
  self._members = other._members
  return self
end

K.method(Set, "_elements", function(self) return self._members:_elements() end)
K.methods(Set, {
  ["add:"] = add, ["addObject:"] = add, ["writeObject:"] = add,
  ["addAll:"] = addAll, ["addObjectsFromArray:"] = addAll, ["unionSet:"] = addAll,
  ["remove:"] = remove, ["removeObject:"] = remove,
  ["removeAll"] = function(self)
    self._members = K.newDictionary()
    return self
  end,
  ["removeAllObjects"] = function(self) return self:removeAll() end,
  ["minusSet:"] = function(self, others) return become(self, keep(self, others, false)) end,
  ["intersectSet:"] = function(self, others) return become(self, keep(self, others, true)) end,
  ["includes:"] = includes, ["containsObject:"] = includes, ["contains:"] = function(self, value)
    if type(value) == "function" then return self:anySatisfy_(value) end
    return includes(self, value)
  end,
  ["count"] = function(self) return self._members._n end,
  ["anyObject"] = function(self) return self:first() end,
  ["select:"] = function(self, block) return filtered(self, block, true) end,
  ["filter:"] = function(self, block) return filtered(self, block, true) end,
  ["reject:"] = function(self, block) return filtered(self, block, false) end,
  ["union:"] = union, ["setByAddingObjectsFromArray:"] = union,
    ["setByAddingObjectsFromSet:"] = union,
  ["concat:"] = function(self, value) return add(copy(self), value) end,
  ["setByAddingObject:"] = function(self, value) return add(copy(self), value) end,
  ["intersection:"] = function(self, others) return keep(self, others, true) end,
  ["difference:"] = function(self, others) return keep(self, others, false) end,
  ["withoutAll:"] = function(self, others) return keep(self, others, false) end,
  ["isSubsetOf:"] = isSubset, ["isSubsetOfSet:"] = isSubset,
  ["intersectsSet:"] = function(self, others) return keep(self, others, true):count() > 0 end,
  ["copy"] = copy, ["mutableCopy"] = copy, ["asSet"] = copy,
  ["isEqual:"] = function(self, other)
    return type(other) == "table" and other._isSet == true and self:count() == other:count()
      and isSubset(self, other)
  end,
})
K.method(Set, "_writeText", function(self, parts, quoted, path, depth)
  K.array(self:_elements()):_writeText(parts, quoted, path, depth)
end)
K.method(Set, "_keyText", function(self, depth)
  local list, texts = self:_elements(), {}
  for i = 1, #list do texts[i] = K.keyText(list[i], (depth or 0) + 1) end
  table.sort(texts)
  return "S" .. #list .. "{" .. table.concat(texts, ",")
end)
K.method(Set, "_frozen", copy)

local function fromCollection(_, others) return addAll(empty(), others) end
K.classMethods(Set, {
  ["new"] = empty, ["alloc"] = empty, ["set"] = empty, ["setWithCapacity:"] = empty,
  ["with:"] = function(_, a) return add(empty(), a) end,
  ["setWithObject:"] = function(_, a) return add(empty(), a) end,
  ["with:with:"] = function(_, a, b) return add(add(empty(), a), b) end,
  ["withAll:"] = fromCollection, ["setWithArray:"] = fromCollection,
    ["setWithSet:"] = fromCollection,
  ["fromArray:"] = fromCollection,
})

local function asSet(self) return K.set(self:_elements()) end
K.methods(K.classes.Collection, { ["asSet"] = asSet, ["asOrderedSet"] = asSet })
K.methods(K.classes.String, { ["asSet"] = asSet })
