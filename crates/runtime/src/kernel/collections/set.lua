-- Sets: elements without repetition, compared by value, in the order in which they came.
local K = ...
local type, setmetatable = type, setmetatable
local NULL = K.NULL

--- Elements without repetition, compared by value, in insertion order. `#Set[1, 2]` is the literal, `asSet` converts.
local Set = K.newClass("Set", K.classes.Collection)
K.alias("NSSet", Set)
K.alias("NSMutableSet", Set)
K.alias("OrderedSet", Set)
K.alias("NSOrderedSet", Set)
K.alias("MutableSet", Set)
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

local function empty(class)
  return setmetatable({ _members = K.newDictionary() }, (class or Set)._methods)
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

--- Set -<Set> + <Collection>others
--- Answers a new Set of the elements of both, as `union:` does.
--- > #Set[1, 2] + [2, 3] ⇒ #Set[1, 2, 3]
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
  --- -<self> add:<any>element
  --- -<self> addObject:<any>element
  --- -<self> writeObject:<any>element
  --- -<self> ! <any>element
  --- Adds the element unless an equal one is there, and answers the Set. The comma answers a new Set.
  --- > #Set[1] add: 2; add: 2; yourself ⇒ #Set[1, 2]
  ["add:"] = add, ["addObject:"] = add, ["writeObject:"] = add,
  --- -<self> addAll:<Collection>others
  --- -<self> addObjectsFromArray:<Collection>others
  --- -<self> unionSet:<Collection>others
  --- Adds all elements of another collection and answers the Set. `union:` answers a new Set.
  --- > #Set[1] addAll: [1, 2] ⇒ #Set[1, 2]
  ["addAll:"] = addAll, ["addObjectsFromArray:"] = addAll, ["unionSet:"] = addAll,
  --- -<self> remove:<any>element
  --- -<self> removeObject:<any>element
  --- Removes the element that equals the given one, if there is one, and answers the Set.
  --- > #Set[1, 2] remove: 1 ⇒ #Set[2]
  ["remove:"] = remove, ["removeObject:"] = remove,
  --- -<self> removeAll
  --- -<self> removeAllObjects
  --- Removes all elements and answers the Set.
  --- > #Set[1, 2] removeAll isEmpty ⇒ true
  ["removeAll"] = function(self)
    self._members = K.newDictionary()
    return self
  end,
  ["removeAllObjects"] = function(self) return self:removeAll() end,
  --- -<self> minusSet:<Collection>others
  --- Removes all elements that equal one of the given ones, and answers the Set. `difference:` answers a new Set.
  --- > #Set[1, 2, 3] minusSet: #Set[1] ⇒ #Set[2, 3]
  ["minusSet:"] = function(self, others) return become(self, keep(self, others, false)) end,
  --- -<self> intersectSet:<Collection>others
  --- Removes all elements that equal none of the given ones, and answers the Set. `intersection:` answers a new Set.
  --- > #Set[1, 2, 3] intersectSet: #Set[2, 3, 4] ⇒ #Set[2, 3]
  ["intersectSet:"] = function(self, others) return become(self, keep(self, others, true)) end,
  --- As in Collection.
  ["includes:"] = includes,
  --- As in Collection.
  ["containsObject:"] = includes,
  --- -<Boolean> contains:<any>element
  --- Answers whether an element equals the given one; for a block, whether the condition is true for at least one
  --- element.
  --- > #Set[1, 2] contains: 2 ⇒ true
  ["contains:"] = function(self, value)
    if type(value) == "function" then return self:anySatisfy_(value) end
    return includes(self, value)
  end,
  --- As in Collection.
  ["count"] = function(self) return self._members._n end,
  --- -<any> anyObject
  --- Answers an element, the first one; nil for an empty Set.
  --- > #Set[7] anyObject ⇒ 7
  ["anyObject"] = function(self) return self:first() end,
  --- -<Set> select:<Block(each)|String>condition
  --- -<Set> filter:<Block(each)|String>condition
  --- Answers a new Set of the elements for which the condition is true.
  --- > #Set[1, 2, 3] select: { :n | n odd } ⇒ #Set[1, 3]
  ["select:"] = function(self, block) return filtered(self, block, true) end,
  ["filter:"] = function(self, block) return filtered(self, block, true) end,
  --- -<Set> reject:<Block(each)|String>condition
  --- Answers a new Set of the elements for which the condition is false.
  --- > #Set[1, 2, 3] reject: { :n | n odd } ⇒ #Set[2]
  ["reject:"] = function(self, block) return filtered(self, block, false) end,
  --- -<Set> union:<Collection>others
  --- -<Set> setByAddingObjectsFromArray:<Collection>others
  --- -<Set> setByAddingObjectsFromSet:<Collection>others
  --- Answers a new Set of the elements of both collections. `addAll:` changes the receiver.
  --- > #Set[1, 2] union: [2, 3] ⇒ #Set[1, 2, 3]
  ["union:"] = union, ["setByAddingObjectsFromArray:"] = union,
    ["setByAddingObjectsFromSet:"] = union,
  --- -<Set> , <any>element
  --- -<Set> concat:<any>element
  --- -<Set> setByAddingObject:<any>element
  --- Answers a new Set with the element added as one element, also when it is a collection. `+` adds all elements.
  --- > #Set[1] , 2 ⇒ #Set[1, 2]
  ["concat:"] = function(self, value) return add(copy(self), value) end,
  ["setByAddingObject:"] = function(self, value) return add(copy(self), value) end,
  --- -<Set> intersection:<Collection>others
  --- Answers a new Set of the elements that equal one of the given ones.
  --- > #Set[1, 2, 3] intersection: [2, 3, 4] ⇒ #Set[2, 3]
  ["intersection:"] = function(self, others) return keep(self, others, true) end,
  --- -<Set> difference:<Collection>others
  --- -<Set> withoutAll:<Collection>others
  --- Answers a new Set of the elements that equal none of the given ones.
  --- > #Set[1, 2, 3] difference: [1] ⇒ #Set[2, 3]
  ["difference:"] = function(self, others) return keep(self, others, false) end,
  ["withoutAll:"] = function(self, others) return keep(self, others, false) end,
  --- -<Set> without:<any>element
  --- -<Set> copyWithout:<any>element
  --- Answers a new Set without the element. `remove:` changes the receiver.
  --- > #Set[1, 2] without: 1 ⇒ #Set[2]
  ["without:"] = function(self, value) return remove(copy(self), value) end,
  ["copyWithout:"] = function(self, value) return remove(copy(self), value) end,
  --- -<Boolean> isSubsetOf:<Collection>others
  --- -<Boolean> isSubsetOfSet:<Collection>others
  --- Answers whether each element equals one of the given ones; true for an empty Set.
  --- > #Set['read'] isSubsetOf: ['read', 'write'] ⇒ true
  ["isSubsetOf:"] = isSubset, ["isSubsetOfSet:"] = isSubset,
  --- -<Boolean> intersectsSet:<Collection>others
  --- Answers whether at least one element equals one of the given ones.
  --- > #Set['read'] intersectsSet: #Set['write'] ⇒ false
  ["intersectsSet:"] = function(self, others) return keep(self, others, true):count() > 0 end,
  --- -<Set> copy
  --- -<Set> mutableCopy
  --- -<Set> asSet
  --- Answers a new Set of the same elements. The elements are shared.
  --- > set := #Set[1]. other := set copy. other add: 2. set count ⇒ 1
  ["copy"] = copy, ["mutableCopy"] = copy, ["asSet"] = copy,
  --- -<Boolean> = <any>other
  --- -<Boolean> isEqual:<any>other
  --- Answers whether the other object is a Set with equal elements, in any order. An Array is not equal.
  --- > #Set[1, 2] = #Set[2, 1] ⇒ true
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

local function fromCollection(class, others) return addAll(empty(class), others) end
K.classMethods(Set, {
  --- +<self> new
  --- +<self> alloc
  --- +<self> set
  --- Answers an empty Set.
  --- > Set new isEmpty ⇒ true
  ["new"] = empty, ["alloc"] = empty, ["set"] = empty,
  --- +<Set> setWithCapacity:<Number>count
  --- Answers an empty Set. Ignores the capacity, because a Set grows as needed.
  --- > (Set setWithCapacity: 100) count ⇒ 0
  ["setWithCapacity:"] = empty,
  --- +<Set> with:<any>element
  --- +<Set> setWithObject:<any>element
  --- Answers a Set of one element.
  --- > Set with: 1 ⇒ #Set[1]
  ["with:"] = function(class, a) return add(empty(class), a) end,
  ["setWithObject:"] = function(class, a) return add(empty(class), a) end,
  --- +<Set> with:<any>first with:<any>second
  --- Answers a Set of two elements, or of one when they are equal.
  --- > Set with: 1 with: 2 ⇒ #Set[1, 2]
  ["with:with:"] = function(class, a, b) return add(add(empty(class), a), b) end,
  --- +<Set> withAll:<Collection>others
  --- +<Set> setWithArray:<Collection>others
  --- +<Set> setWithSet:<Collection>others
  --- +<Set> fromArray:<Collection>others
  --- Answers a Set of the different elements of a collection, as `asSet` of the collection does.
  --- > Set withAll: [1, 2, 1] ⇒ #Set[1, 2]
  ["withAll:"] = fromCollection, ["setWithArray:"] = fromCollection,
    ["setWithSet:"] = fromCollection,
  ["fromArray:"] = fromCollection,
})

local function asSet(self) return K.set(self:_elements()) end
K.methods(K.classes.Collection, {
  --- -<Set> asSet
  --- -<Set> asOrderedSet
  --- Answers a Set of the different elements, in the order in which they first occur.
  --- > [2, 1, 2] asSet ⇒ #Set[2, 1]
  ["asSet"] = asSet, ["asOrderedSet"] = asSet,
})
K.methods(K.classes.String, {
  --- -<Set> asSet
  --- Answers a Set of the different characters.
  --- > 'abba' asSet ⇒ #Set['a', 'b']
  ["asSet"] = asSet,
})
