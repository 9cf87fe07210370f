-- Dictionaries: keys in the order in which they came, looked up by value.
--
-- `_keys` (array of keys), `_map` (key → value, K.NULL for nil), `_n` (how many). After a removal
-- `_keys` may hold holes (a table that is no value): `_holes` says how many, `_index` (key → place
-- in `_keys`) exists from the first removal until the next compaction. Reading `_keys` from
-- outside: `K.keysOf(dictionary)`.
--
-- Dictionaries of the same texts as keys in the same order, such as the records of a list in JSON, share
-- `_keys`: the list says so at 0. Such a dictionary gets a list of its own with the next change of its keys.
local K = ...
local type, setmetatable, rawequal = type, setmetatable, rawequal
local throw, eq, asBlock, yes = K.throw, K.eq, K.asBlock, K.yes
local NULL = K.NULL
local toKey = K.key

local Dictionary = K.classes.Dictionary
K.method(Dictionary, "_isDictionary", true)
K.method(Dictionary, "_kind", K.kinds.dictionary)
-- Absent in a dictionary that never lost a key.
K.method(Dictionary, "_holes", 0)
K.method(Dictionary, "_index", false)
K.method(Dictionary, "_unshared", false)
K.nilKeys._sent = true
local HOLE = setmetatable({}, {})

-- A dictionary from a list of keys and one of values, as a literal has them.
function K.literalDictionary(keys, values, n)
  local dictionary = K.newDictionary()
  for i = 1, n do
    dictionary:at_put_(keys[i], values[i])
  end
  return dictionary
end

-- Removes the holes. The keys get a new table, so that a loop over the old one continues.
local function compact(self)
  local old, keys, n = self._keys, {}, 0
  for i = 1, self._n + self._holes do
    local key = old[i]
    if key ~= HOLE then
      n = n + 1
      keys[n] = key
    end
  end
  self._keys, self._holes, self._index = keys, 0, false
  if self._unshared then self._unshared = false end
  return keys
end

-- The keys of its own, for a change: those that it shared until now are copied.
local function ownKeys(self)
  local keys = self._keys
  if not keys[0] then return keys end
  local own = {}
  for i = 1, self._n do own[i] = keys[i] end
  self._keys, self._unshared = own, own
  return own
end

-- The keys for the rest of a loop over shared ones: its own where the loop has changed them.
local function following(self, keys)
  return keys[0] and self._unshared or keys
end

-- The keys in order, without holes: not to be changed.
function K.keysOf(self)
  if self._holes > 0 then return compact(self) end
  return self._keys
end
local keysOf = K.keysOf

-- Reading and writing ---------------------------------------------------------------------------

local function at(self, key)
  local kind = type(key)
  if kind ~= "string" and kind ~= "number" then
    if key == nil then return nil end
    key = toKey(key)
  end
  local value = self._map[key]
  if value == NULL then return nil end
  return value
end

local function removeKey(self, key)
  if key == nil then return nil end
  key = toKey(key)
  local map = self._map
  local value = map[key]
  if value == nil then return nil end
  map[key] = nil
  local last, own = self._n + self._holes, ownKeys(self)
  if own[last] == key then
    own[last] = nil
    if self._index then self._index[key] = nil end
    self._n = self._n - 1
    return value
  end
  local index = self._index
  if not index then
    local keys = keysOf(self)
    index = {}
    for i = 1, self._n do index[keys[i]] = i end
    self._index = index
  end
  self._keys[index[key]] = HOLE
  index[key] = nil
  self._n, self._holes = self._n - 1, self._holes + 1
  -- Holes never outnumber keys by much, so that memory follows the count.
  if self._holes > self._n + 16 then compact(self) end
  return value
end

-- Storing nil keeps the key with nil.
local function put(self, key, value)
  local stored = value
  if value == nil then stored = NULL end
  local kind = type(key)
  if kind ~= "string" then key = toKey(key) end
  local map = self._map
  if map[key] == nil then
    local last = self._n + self._holes + 1
    ownKeys(self)[last] = key
    self._n = self._n + 1
    local index = self._index
    if index then index[key] = last end
  end
  map[key] = stored
  return value
end

local function removed(self, key)
  local value = removeKey(self, key)
  if value == NULL then return nil end
  return value
end

local function includesKey(self, key)
  return key ~= nil and self._map[toKey(key)] ~= nil
end

-- Enumerating -----------------------------------------------------------------------------------

-- The values in order, as a Lua table.
local function values(self)
  local keys, map, out = keysOf(self), self._map, {}
  for i = 1, self._n do out[i] = map[keys[i]] end
  return out
end
K.method(Dictionary, "_elements", values)

local function keysAndValuesDo(self, block)
  K.expectBlock(block, "keysAndValuesDo:")
  local keys, map = keysOf(self), self._map
  for i = 1, self._n do
    local key = keys[i]
    local value = map[key]
    if value ~= nil and key ~= HOLE then
      if value == NULL then value = nil end
      if key == NULL then key = nil end
      block(key, value)
      keys = following(self, keys)
    end
  end
end

local function valuesDo(self, block)
  if type(block) ~= "function" then block = asBlock(block, "do:") end
  local keys, map = keysOf(self), self._map
  for i = 1, self._n do
    local key = keys[i]
    local value = map[key]
    if value ~= nil and key ~= HOLE then
      if value == NULL then value = nil end
      if key == NULL then key = nil end
      block(value, key)
      keys = following(self, keys)
    end
  end
end

local function keysDo(self, block)
  K.expectBlock(block, "keysDo:")
  local keys = keysOf(self)
  for i = 1, self._n do
    local key = keys[i]
    if key ~= HOLE and key ~= nil then
      if key == NULL then key = nil end
      block(key)
      keys = following(self, keys)
    end
  end
end

-- The entries for which the block, given value and key, answers `wanted`.
local function filtered(self, block, wanted)
  block = asBlock(block, wanted and "select:" or "reject:")
  local keys, map, out = keysOf(self), self._map, K.newDictionary()
  for i = 1, self._n do
    local key = keys[i]
    local stored = map[key]
    local value = stored
    if value == NULL then value = nil end
    local shown = key
    if key == NULL then shown = nil end
    if yes(block(value, shown)) == wanted then put(out, key, stored) end
    keys = following(self, keys)
  end
  out._sent = self._sent
  return out
end

local function keyList(self)
  local keys, out = keysOf(self), {}
  for i = 1, self._n do out[i] = keys[i] end
  return out
end

-- The block gets value and key.
local function collect(self, block)
  block = asBlock(block, "collect:")
  local keys, map, out = keysOf(self), self._map, {}
  for i = 1, self._n do
    local key = keys[i]
    local value = map[key]
    if value == NULL then value = nil end
    if key == NULL then key = nil end
    value = block(value, key)
    if value == nil then value = NULL end
    out[i] = value
    keys = following(self, keys)
  end
  return K.array(out)
end

-- Another dictionary with the same keys and the block's values.
local function collectValues(self, block)
  block = asBlock(block, "collectValues:")
  local out = K.newDictionary()
  valuesDo(self, function(value, key)
    value = block(value, key)
    put(out, key == nil and NULL or key, value)
  end)
  out._sent = self._sent
  return out
end

-- Copies and comparison -------------------------------------------------------------------------

local function addAll(self, other)
  if type(other) ~= "table" or not other._isDictionary then
    throw("typeError", "addAll: expects a Dictionary, got " .. K.nameOf(other))
  end
  local keys, map = keysOf(other), other._map
  for i = 1, other._n do put(self, keys[i], map[keys[i]]) end
  if other._sent then self._sent = true end -- what a client sent stays that (contract.lua)
  return self
end

local function copy(self) return addAll(K.newDictionary(), self) end

local function equal(self, other)
  if rawequal(self, other) then return true end
  if type(other) ~= "table" or not other._isDictionary or self._n ~= other._n then return false end
  local keys, map, others = keysOf(self), self._map, other._map
  for i = 1, self._n do
    local value = others[keys[i]]
    if value == nil or not eq(map[keys[i]], value) then return false end
  end
  return true
end

local function keyAtValue(self, wanted)
  local keys, map = keysOf(self), self._map
  if wanted == nil then wanted = NULL end
  for i = 1, self._n do
    local key = keys[i]
    if eq(map[key], wanted) then
      if key == NULL then return nil end
      return key
    end
  end
  return nil
end

local function putFor(self, value, key) return put(self, key, value) end

local function keyArray(self) return K.array(keyList(self)) end
local function valueArray(self) return K.array(values(self)) end

K.methods(Dictionary, {
  --- -<any> at:<any>key
  --- -<any> objectForKey:<any>key
  --- -<any> get:<any>key
  --- -<any> valueForKey:<any>key
  --- Answers the value of the key; nil for an absent key. Keys compare by value, so `[1, 2]` finds an equal Array.
  --- > #{ anna: 31 } at: 'anna' ⇒ 31
  --- > #{ anna: 31 } at: 'ben' ⇒ nil
  ["at:"] = at, ["objectForKey:"] = at, ["get:"] = at,
  --- -<any> at:<any>key put:<any>value
  --- Stores the value under the key and answers the value. A new key comes last; a nil value keeps the key, a nil key
  --- is an error.
  --- > ages := #{ anna: 31 }. ages at: 'ben' put: 29. ages ⇒ #{ anna: 31, ben: 29 }
  ["at:put:"] = put,
  --- -<any> setObject:<any>value forKey:<any>key
  --- -<any> setValue:<any>value forKey:<any>key
  --- Stores the value under the key and answers the value, as `at:put:` does.
  --- > ages := #{ }. ages setObject: 31 forKey: 'anna'. ages ⇒ #{ anna: 31 }
  ["setObject:forKey:"] = putFor, ["setValue:forKey:"] = putFor,
  ["valueForKey:"] = at,
  --- -<any> at:<any>key ifAbsent:<any>alternative
  --- Answers the value of the key; for an absent key the alternative: a block's value, or the argument itself. Does not
  --- store it, unlike `at:ifAbsentPut:`.
  --- > #{ anna: 31 } at: 'ben' ifAbsent: 0 ⇒ 0
  ["at:ifAbsent:"] = function(self, key, absent)
    local value = key ~= nil and self._map[toKey(key)]
    if value == nil or key == nil then return K.valueOf(absent) end
    if value == NULL then return nil end
    return value
  end,
  --- -<any> at:<any>key ifAbsentPut:<any>value
  --- Answers the value of the key; for an absent key stores and answers the given one, or the value of the given block.
  --- > cache := #{ }. cache at: 'a' ifAbsentPut: { 3 }. cache ⇒ #{ a: 3 }
  ["at:ifAbsentPut:"] = function(self, key, absent)
    local value = self._map[toKey(key)]
    if value == nil then return put(self, key, K.valueOf(absent)) end
    if value == NULL then return nil end
    return value
  end,
  --- -<any> at:<any>key ifPresent:<any>block
  --- Answers the value of the block, which gets the value of the key; nil for an absent key.
  --- > #{ anna: 31 } at: 'anna' ifPresent: { :age | age + 1 } ⇒ 32
  ["at:ifPresent:"] = function(self, key, block)
    if not includesKey(self, key) then return nil end
    return K.valueOf(block, at(self, key))
  end,
  --- -<any> removeObjectForKey:<any>key
  --- -<any> removeKey:<any>key
  --- -<any> removeAt:<any>key
  --- Removes the key and answers its value; nil for an absent key.
  --- > ages := #{ anna: 31, ben: 29 }. ages removeKey: 'anna'. ages ⇒ #{ ben: 29 }
  ["removeObjectForKey:"] = removed, ["removeKey:"] = removed, ["removeAt:"] = removed,
  --- -<any> removeKey:<any>key ifAbsent:<any>alternative
  --- Removes the key and answers its value; for an absent key answers the alternative: a block's value, or the argument
  --- itself.
  --- > #{ anna: 31 } removeKey: 'ben' ifAbsent: 'unknown' ⇒ 'unknown'
  ["removeKey:ifAbsent:"] = function(self, key, absent)
    if not includesKey(self, key) then return K.valueOf(absent) end
    return removed(self, key)
  end,
  --- -<self> removeAll
  --- -<self> removeAllObjects
  --- Removes all keys and answers the dictionary.
  --- > ages := #{ anna: 31 }. ages removeAll. ages isEmpty ⇒ true
  ["removeAll"] = function(self)
    self._keys, self._map, self._n, self._holes, self._index = {}, {}, 0, 0, false
    if self._unshared then self._unshared = false end
    return self
  end,
  ["removeAllObjects"] = function(self) return self:removeAll() end,
  --- -<self> removeObjectsForKeys:<Collection>keys
  --- Removes the given keys and answers the dictionary. Ignores absent keys.
  --- > #{ a: 1, b: 2, c: 3 } removeObjectsForKeys: ['a', 'c', 'x'] ⇒ #{ b: 2 }
  ["removeObjectsForKeys:"] = function(self, keys)
    local list = K.elementsOf(keys, "removeObjectsForKeys:")
    for i = 1, #list do removeKey(self, list[i]) end
    return self
  end,
  --- -<Boolean> includesKey:<any>key
  --- -<Boolean> hasKey:<any>key
  --- -<Boolean> containsKey:<any>key
  --- Answers whether the dictionary has the key, also with a nil value. `includes:` searches the values.
  --- > #{ anna: 31 } includesKey: 'anna' ⇒ true
  ["includesKey:"] = includesKey, ["hasKey:"] = includesKey, ["containsKey:"] = includesKey,
  --- -<Number> count
  --- Answers the number of keys.
  --- > #{ anna: 31, ben: 29 } count ⇒ 2
  ["count"] = function(self) return self._n end,
  --- -<Array> keys
  --- -<Array> allKeys
  --- Answers a new Array of the keys in insertion order.
  --- > #{ anna: 31, ben: 29 } keys ⇒ ['anna', 'ben']
  ["keys"] = keyArray, ["allKeys"] = keyArray,
  --- -<Array> values
  --- -<Array> allValues
  --- -<Array> asArray
  --- Answers a new Array of the values in the order of the keys.
  --- > #{ anna: 31, ben: 29 } values ⇒ [31, 29]
  ["values"] = valueArray, ["allValues"] = valueArray, ["asArray"] = valueArray,
  --- -<nothing> do:<Block(value, key)|String>block
  --- -<nothing> valuesDo:<Block(value, key)|String>block
  --- Evaluates the block for each value and its key. `keysAndValuesDo:` passes the key first.
  --- > sum := 0. #{ anna: 31, ben: 29 } do: { :age | sum := sum + age }. sum ⇒ 60
  ["do:"] = valuesDo, ["valuesDo:"] = valuesDo,
  --- -<nothing> keysDo:<Block(key)>block
  --- Evaluates the block for each key.
  --- > names := []. #{ anna: 31, ben: 29 } keysDo: { :name | names add: name }. names ⇒ ['anna', 'ben']
  ["keysDo:"] = keysDo,
  --- -<nothing> keysAndValuesDo:<Block(key, value)>block
  --- Evaluates the block for each key and its value, in insertion order.
  --- > lines := []. #{ anna: 31 } keysAndValuesDo: { :name :age | lines add: "{name} {age}" }. lines ⇒ ['anna 31']
  ["keysAndValuesDo:"] = keysAndValuesDo,
  --- -<nothing> associationsDo:<Block(association)>block
  --- Evaluates the block for each key with its value, as an Association.
  --- > list := []. #{ anna: 31 } associationsDo: { :one | list add: one key; add: one value }. list ⇒ ['anna', 31]
  ["associationsDo:"] = function(self, block)
    K.expectBlock(block, "associationsDo:")
    keysAndValuesDo(self, function(key, value) block(K.association(key, value)) end)
  end,
  --- -<Array> associations
  --- Answers an Array of one Association for each key. `asDictionary` makes a dictionary of it again.
  --- > #{ anna: 31, ben: 29 } associations collect: 'value' ⇒ [31, 29]
  ["associations"] = function(self)
    local out = {}
    keysAndValuesDo(self, function(key, value) out[#out + 1] = K.association(key, value) end)
    return K.array(out)
  end,
  --- -<any> keyAtValue:<any>value
  --- -<any> keyForValue:<any>value
  --- Answers the first key whose value equals the given one; nil when there is none. Compares one value after the
  --- other.
  --- > #{ anna: 31, ben: 29 } keyAtValue: 29 ⇒ 'ben'
  ["keyAtValue:"] = keyAtValue, ["keyForValue:"] = keyAtValue,
  --- -<Array> collect:<Block(value, key)|String>block
  --- -<Array> map:<Block(value, key)|String>block
  --- Answers an Array of the block's results for each value and its key. `collectValues:` keeps the keys.
  --- > #{ anna: 31 } collect: { :age :name | "{name}: {age}" } ⇒ ['anna: 31']
  ["collect:"] = collect, ["map:"] = collect,
  --- -<Dictionary> collectValues:<Block(value, key)|String>block
  --- -<Dictionary> mapValues:<Block(value, key)|String>block
  --- Answers a new Dictionary with the same keys and the block's results as values.
  --- > #{ anna: 31, ben: 29 } collectValues: { :age | age + 1 } ⇒ #{ anna: 32, ben: 30 }
  ["collectValues:"] = collectValues, ["mapValues:"] = collectValues,
  --- -<Dictionary> select:<Block(value, key)|String>condition
  --- -<Dictionary> filter:<Block(value, key)|String>condition
  --- Answers a new Dictionary of the entries for which the condition is true.
  --- > #{ anna: 31, ben: 29 } select: { :age | age > 30 } ⇒ #{ anna: 31 }
  ["select:"] = function(self, block) return filtered(self, block, true) end,
  ["filter:"] = function(self, block) return filtered(self, block, true) end,
  --- -<Dictionary> reject:<Block(value, key)|String>condition
  --- Answers a new Dictionary of the entries for which the condition is false.
  --- > #{ anna: 31, ben: 29 } reject: { :age :name | name = 'anna' } ⇒ #{ ben: 29 }
  ["reject:"] = function(self, block) return filtered(self, block, false) end,
  --- -<self> addAll:<Dictionary>other
  --- -<self> addEntriesFromDictionary:<Dictionary>other
  --- -<self> merge:<Dictionary>other
  --- Stores all entries of another Dictionary in this one, and answers it. The other's values replace those of equal
  --- keys.
  --- > options := #{ port: 80, host: 'a' }. options merge: #{ port: 8080 }. options ⇒ #{ port: 8080, host: 'a' }
  ["addAll:"] = addAll, ["addEntriesFromDictionary:"] = addAll, ["merge:"] = addAll,
  --- -<Dictionary> , <Dictionary>other
  --- -<Dictionary> concat:<Dictionary>other
  --- Answers a new Dictionary of the entries of both. The other's values replace those of equal keys.
  --- > #{ a: 1, b: 2 } , #{ b: 3 } ⇒ #{ a: 1, b: 3 }
  ["concat:"] = function(self, other)
    if type(other) ~= "table" or not other._isDictionary then
      throw("typeError", ", expects a Dictionary, got " .. K.nameOf(other))
    end
    return addAll(copy(self), other)
  end,
  --- -<Dictionary> copy
  --- -<Dictionary> mutableCopy
  --- -<Dictionary> asDictionary
  --- Answers a new Dictionary with the same keys and values. The values are shared; `deepCopy` copies them too.
  --- > ages := #{ anna: 31 }. other := ages copy. other at: 'ben' put: 29. ages count ⇒ 1
  ["copy"] = copy, ["mutableCopy"] = copy, ["asDictionary"] = copy,
  --- -<Boolean> isDictionary
  --- Answers true; any other object answers false.
  --- > #{ a: 1 } isDictionary ⇒ true
  ["isDictionary"] = function() return true end,
  --- -<Boolean> = <any>other
  --- -<Boolean> isEqual:<any>other
  --- -<Boolean> isEqualToDictionary:<any>other
  --- Answers whether the other object is a Dictionary with equal keys and values, in any order.
  --- > #{ a: 1, b: 2 } = #{ b: 2, a: 1 } ⇒ true
  ["isEqual:"] = equal, ["isEqualToDictionary:"] = equal,
})
K.method(Dictionary, "_keyText", function(self, depth)
  if (depth or 0) > 64 then
    throw("tooLarge", "a Dictionary nested deeper than 64 levels cannot be a key")
  end
  local keys, texts = keysOf(self), {}
  for i = 1, self._n do
    texts[i] = K.keyText(keys[i], depth) .. "=" .. K.keyText(self._map[keys[i]], depth)
  end
  table.sort(texts)
  return "d" .. self._n .. "{" .. table.concat(texts, ",")
end)
K.method(Dictionary, "_frozen", copy)

K.method(Dictionary, "_writeText", function(self, parts, quoted, path, depth)
  local keys, map = keysOf(self), self._map
  parts[#parts + 1] = "{"
  for i = 1, self._n do
    if i > 1 then parts[#parts + 1] = "," end
    local value = map[keys[i]]
    if value == NULL then value = nil end
    local key = keys[i]
    if key == NULL then key = nil end
    K.writeText(parts, key, false, path, depth)
    parts[#parts + 1] = ":"
    K.writeText(parts, value, quoted, path, depth)
  end
  parts[#parts + 1] = "}"
end)

local function empty(class)
  return setmetatable({ _keys = {}, _map = {}, _n = 0 }, class._methods)
end

local function fromLists(selector, values_, keys)
  local list, names = K.elementsOf(values_, selector), K.elementsOf(keys, selector)
  if #list ~= #names then
    throw("outOfRange", selector .. " got " .. #list .. " values for " .. #names .. " keys")
  end
  local out = K.newDictionary()
  for i = 1, #list do put(out, names[i], list[i]) end
  return out
end

K.classMethods(Dictionary, {
  --- +<self> new
  --- +<self> alloc
  --- +<self> dictionary
  --- Answers an empty Dictionary. `#{ key: value }` is the literal.
  --- > Dictionary new isEmpty ⇒ true
  ["new"] = empty, ["alloc"] = empty, ["dictionary"] = empty,
  --- +<self> dictionaryWithCapacity:<Number>count
  --- Answers an empty Dictionary. Ignores the capacity, because a Dictionary grows as needed.
  --- > (Dictionary dictionaryWithCapacity: 100) count ⇒ 0
  ["dictionaryWithCapacity:"] = empty,
  --- +<Dictionary> dictionaryWithDictionary:<Dictionary>other
  --- Answers a new Dictionary with the entries of another one, as `copy` does.
  --- > Dictionary dictionaryWithDictionary: #{ a: 1 } ⇒ #{ a: 1 }
  ["dictionaryWithDictionary:"] = function(_, other) return addAll(K.newDictionary(), other) end,
  --- +<Dictionary> dictionaryWithObjects:<Collection>values forKeys:<Collection>keys
  --- Answers a Dictionary of the values under the keys at the same position. Different counts are an `outOfRange`
  --- error.
  --- > Dictionary dictionaryWithObjects: [31, 29] forKeys: ['anna', 'ben'] ⇒ #{ anna: 31, ben: 29 }
  ["dictionaryWithObjects:forKeys:"] = function(_, list, keys)
    return fromLists("dictionaryWithObjects:forKeys:", list, keys)
  end,
  --- +<Dictionary> dictionaryWithObject:<any>value forKey:<any>key
  --- Answers a Dictionary with one entry.
  --- > Dictionary dictionaryWithObject: 31 forKey: 'anna' ⇒ #{ anna: 31 }
  ["dictionaryWithObject:forKey:"] = function(_, value, key)
    local out = K.newDictionary()
    put(out, key, value)
    return out
  end,
  --- +<Dictionary> keys:<Collection>keys values:<Collection>values
  --- Answers a Dictionary of the values under the keys at the same position. Different counts are an `outOfRange`
  --- error.
  --- > Dictionary keys: ['anna', 'ben'] values: [31, 29] ⇒ #{ anna: 31, ben: 29 }
  ["keys:values:"] = function(_, keys, list) return fromLists("keys:values:", list, keys) end,
})

-- A key with its value.
--- A key with its value, as `associations` of a Dictionary answers it. Two with equal keys and values are equal.
local Association = K.newClass("Association", K.classes.Object)
--- -<any> key
--- -<nothing> setKey:<any>key
--- The key.
--- > #{ anna: 31 } associations first key ⇒ 'anna'
K.ivar(Association, "key")
--- -<any> value
--- -<nothing> setValue:<any>value
--- The value of the key.
--- > #{ anna: 31 } associations first value ⇒ 31
K.ivar(Association, "value")
function K.association(key, value)
  return setmetatable({ i_key = key, i_value = value }, Association._methods)
end
K.methods(Association, {
  --- -<Boolean> = <any>other
  --- -<Boolean> isEqual:<any>other
  --- Answers whether the other object is an Association with an equal key and an equal value.
  --- > #{ a: 1 } associations = #{ a: 1 } associations ⇒ true
  ["isEqual:"] = function(self, other)
    return rawequal(self, other) or K.classOf(other) == Association and K.eq(self.i_key, other.i_key)
      and K.eq(self.i_value, other.i_value)
  end,
  --- -<String> description
  --- Answers the texts of key and value with an arrow between them.
  --- > #{ anna: 31 } associations first description ⇒ 'anna->31'
  ["description"] = function(self) return K.str(self.i_key) .. "->" .. K.str(self.i_value) end,
})
