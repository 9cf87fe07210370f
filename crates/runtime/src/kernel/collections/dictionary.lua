-- Dictionaries: keys in the order in which they came, looked up by value.
--
-- `_keys` (array of keys), `_map` (key → value, K.NULL for nil), `_n` (how many). After a removal
-- `_keys` may hold holes (a table that is no value): `_holes` says how many, `_index` (key → place
-- in `_keys`) exists from the first removal until the next compaction. Reading `_keys` from
-- outside: `K.keysOf(dictionary)`.
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
  return keys
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
  local last = self._n + self._holes
  if self._keys[last] == key then
    self._keys[last] = nil
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
    self._keys[last] = key
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
  ["at:"] = at, ["objectForKey:"] = at, ["get:"] = at,
  ["at:put:"] = put,
  ["setObject:forKey:"] = putFor, ["setValue:forKey:"] = putFor,
  ["valueForKey:"] = at,
  ["at:ifAbsent:"] = function(self, key, absent)
    local value = key ~= nil and self._map[toKey(key)]
    if value == nil or key == nil then return K.valueOf(absent) end
    if value == NULL then return nil end
    return value
  end,
  ["at:ifAbsentPut:"] = function(self, key, absent)
    local value = self._map[toKey(key)]
    if value == nil then return put(self, key, K.valueOf(absent)) end
    if value == NULL then return nil end
    return value
  end,
  ["at:ifPresent:"] = function(self, key, block)
    if not includesKey(self, key) then return nil end
    return K.valueOf(block, at(self, key))
  end,
  ["removeObjectForKey:"] = removed, ["removeKey:"] = removed, ["removeAt:"] = removed,
  ["removeKey:ifAbsent:"] = function(self, key, absent)
    if not includesKey(self, key) then return K.valueOf(absent) end
    return removed(self, key)
  end,
  ["removeAll"] = function(self)
    self._keys, self._map, self._n, self._holes, self._index = {}, {}, 0, 0, false
    return self
  end,
  ["removeAllObjects"] = function(self) return self:removeAll() end,
  ["removeObjectsForKeys:"] = function(self, keys)
    local list = K.elementsOf(keys, "removeObjectsForKeys:")
    for i = 1, #list do removeKey(self, list[i]) end
    return self
  end,
  ["includesKey:"] = includesKey, ["hasKey:"] = includesKey, ["containsKey:"] = includesKey,
  ["count"] = function(self) return self._n end,
  ["keys"] = keyArray, ["allKeys"] = keyArray,
  ["values"] = valueArray, ["allValues"] = valueArray, ["asArray"] = valueArray,
  ["do:"] = valuesDo, ["valuesDo:"] = valuesDo, ["keysDo:"] = keysDo,
  ["keysAndValuesDo:"] = keysAndValuesDo,
  ["associationsDo:"] = function(self, block)
    K.expectBlock(block, "associationsDo:")
    keysAndValuesDo(self, function(key, value) block(K.association(key, value)) end)
  end,
  ["associations"] = function(self)
    local out = {}
    keysAndValuesDo(self, function(key, value) out[#out + 1] = K.association(key, value) end)
    return K.array(out)
  end,
  ["keyAtValue:"] = keyAtValue, ["keyForValue:"] = keyAtValue,
  ["collect:"] = collect, ["map:"] = collect,
  ["collectValues:"] = collectValues, ["mapValues:"] = collectValues,
  ["select:"] = function(self, block) return filtered(self, block, true) end,
  ["filter:"] = function(self, block) return filtered(self, block, true) end,
  ["reject:"] = function(self, block) return filtered(self, block, false) end,
  ["addAll:"] = addAll, ["addEntriesFromDictionary:"] = addAll, ["merge:"] = addAll,
  ["concat:"] = function(self, other) return addAll(copy(self), other) end,
  ["copy"] = copy, ["mutableCopy"] = copy, ["asDictionary"] = copy,
  ["isDictionary"] = function() return true end,
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

local function fromLists(_, values_, keys)
  local list, names = K.elementsOf(values_, "dictionaryWithObjects:forKeys:"),
    K.elementsOf(keys, "dictionaryWithObjects:forKeys:")
  if #list ~= #names then
    throw("outOfRange", "dictionaryWithObjects:forKeys: got " .. #list .. " values for " .. #names
      .. " keys")
  end
  local out = K.newDictionary()
  for i = 1, #list do put(out, names[i], list[i]) end
  return out
end

K.classMethods(Dictionary, {
  ["new"] = empty, ["alloc"] = empty, ["dictionary"] = empty, ["dictionaryWithCapacity:"] = empty,
  ["dictionaryWithDictionary:"] = function(_, other) return addAll(K.newDictionary(), other) end,
  ["dictionaryWithObjects:forKeys:"] = fromLists,
  ["dictionaryWithObject:forKey:"] = function(_, value, key)
    local out = K.newDictionary()
    put(out, key, value)
    return out
  end,
  ["keys:values:"] = function(class, keys, list) return fromLists(class, list, keys) end,
})

-- A key with its value.
local Association = K.newClass("Association", K.classes.Object)
K.ivar(Association, "key")
K.ivar(Association, "value")
function K.association(key, value)
  return setmetatable({ i_key = key, i_value = value }, Association._methods)
end
K.methods(Association, {
  ["description"] = function(self) return K.str(self.i_key) .. "->" .. K.str(self.i_value) end,
})
