-- Observed fields of objects, entries of dictionaries and elements of arrays.
--
-- Code that writes a field looks whether `K.observedFields` has its key, and calls what it finds
-- there. A collection that is observed gets a metatable whose messages look for changes after they
-- have run; others keep theirs. Hubs lie in the object or collection that they belong to, so that
-- they go with it.
local K = ...
local rawget, rawset, pairs, type, getmetatable, setmetatable = rawget, rawset, pairs, type, getmetatable, setmetatable
local observedFields = K.observedFields
local NULL = K.NULL

for _, key in ipairs { "_hubs", "_entryHubs", "_unobserved" } do K.nilKeys[key] = true end

-- Fields ------------------------------------------------------------------------------------------

local counts = {} -- how many objects have an observed field of that key

local function tellField(key)
  return function(object)
    local own = rawget(object, "_hubs")
    local hub = own and own[key]
    if hub then hub:changed(rawget(object, key)) end
  end
end

local function release(hub)
  local object, key = hub.object, hub.key
  local own = rawget(object, "_hubs")
  own[key] = nil
  if next(own) == nil then object._hubs = nil end
  counts[key] = counts[key] - 1
  if counts[key] == 0 then counts[key], observedFields[key] = nil, nil end
end

-- The hub of an instance variable of an object.
function K.fieldHub(object, name)
  local key = K.ivarKey(name)
  local own = rawget(object, "_hubs")
  if not own then
    own = {}
    rawset(object, "_hubs", own)
  end
  local hub = own[key]
  if hub then return hub end
  hub = K.newHub(name .. " of " .. K.articleOf(K.classOf(object)._name), rawget(object, key), release)
  hub.object, hub.key = object, key
  own[key] = hub
  counts[key] = (counts[key] or 0) + 1
  if not observedFields[key] then observedFields[key] = tellField(key) end
  return hub
end

-- Collections -------------------------------------------------------------------------------------

local WRITERS = {
  "at:put:", "setObject:forKey:", "setValue:forKey:", "at:ifAbsentPut:", "removeObjectForKey:", "removeKey:",
  "removeAt:", "removeKey:ifAbsent:", "removeAll", "removeAllObjects", "removeAll:", "removeObjectsForKeys:",
  "addAll:", "addEntriesFromDictionary:", "merge:", "add:", "addObject:", "addLast:", "addFirst:", "push:", "pop",
  "writeObject:", "addObjectsFromArray:", "insertObject:atIndex:", "insert:at:", "add:at:", "removeObject:", "remove:",
  "removeObjectAtIndex:", "removeLast", "removeLastObject", "removeFirst", "replaceObjectAtIndex:withObject:",
  "setObject:atIndexedSubscript:", "setArray:", "swap:with:", "sort", "sort:",
}

local function valueAt(collection, key)
  if collection._isDictionary then
    local value = collection._map[key]
    if value == NULL then return nil end
    return value
  end
  local value = rawget(collection, key + 1)
  if value == NULL then return nil end
  return value
end

-- Looks for changes at the observed entries, then tells those who observe the whole.
local function looked(collection)
  local own = rawget(collection, "_entryHubs")
  if not own then return end
  local keys, n = {}, 0
  for key in pairs(own.entries) do
    n = n + 1
    keys[n] = key
  end
  for i = 1, n do
    local hub = own.entries[keys[i]]
    if hub then hub:changed(valueAt(collection, keys[i])) end
  end
  if own.whole then own.whole:tell() end
end

local function telling(method)
  return function(self, a, b, c)
    local answer = method(self, a, b, c)
    looked(self)
    return answer
  end
end

-- The metatable of observed collections of a class: kept in step with the class as a subclass is.
local kinds = setmetatable({}, { __mode = "k" })
local function observedKind(plain)
  local kind = kinds[plain]
  if kind then return kind end
  kind = {}
  for name, value in pairs(plain) do kind[name] = value end
  local own = { _unobserved = plain }
  for _, selector in ipairs(WRITERS) do
    local name = K.mangle(selector)
    local method = rawget(plain, name)
    if type(method) == "function" then own[name] = telling(method) end
  end
  -- Of a mutable array, `,` appends in place.
  if plain == K.classes.MutableArray._methods then own.concat_ = telling(plain.concat_) end
  for name, value in pairs(own) do kind[name] = value end
  kind.__index = kind
  kinds[plain] = setmetatable(kind, K.missing)
  return kind
end

local function unused(own) return next(own.entries) == nil and not own.whole end

local function releaseEntry(hub)
  local collection = hub.collection
  local own = rawget(collection, "_entryHubs")
  if hub.key == nil then own.whole = nil else own.entries[hub.key] = nil end
  if unused(own) then
    collection._entryHubs = nil
    setmetatable(collection, getmetatable(collection)._unobserved)
  end
end

local function watched(collection)
  local own = rawget(collection, "_entryHubs")
  if own then return own end
  own = { entries = {} }
  rawset(collection, "_entryHubs", own)
  setmetatable(collection, observedKind(getmetatable(collection)))
  return own
end

-- The hub of an entry of a dictionary, or of an element of an array.
function K.entryHub(collection, key)
  if collection._isDictionary then
    key = K.key(key)
    if type(key) == "string" and collection._map[key] == nil and collection._map[tonumber(key)] ~= nil then
      key = tonumber(key)
    end
  else
    key = tonumber(key)
    if not key then return nil end
  end
  local own = watched(collection)
  local hub = own.entries[key]
  if not hub then
    hub = K.newHub(K.str(key), valueAt(collection, key), releaseEntry)
    hub.collection, hub.key = collection, key
    own.entries[key] = hub
  end
  return hub
end

-- The hub of all that a collection holds.
function K.collectionHub(collection)
  local own = watched(collection)
  local hub = own.whole
  if not hub then
    hub = K.newHub(K.nameOf(collection), nil, releaseEntry)
    hub.collection = collection
    own.whole = hub
  end
  return hub
end
