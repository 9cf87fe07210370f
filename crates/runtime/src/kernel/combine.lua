-- Combinators: stores made of stores.
local K = ...
local type, rawget, rawset, setmetatable = type, rawget, rawset, setmetatable
local native, pathOf = K.native, K.pathOf
local Store, Scheme = K.classes.Store, K.classes.Scheme

-- The source of a combinator, wherever it was set.
local function sourceOf(self)
  local source = self.i_source
  if source == nil then
    K.throw("nilValue", string.format("%s has no source", K.nameOf(self)),
      { i_hint = "connect it: `combinator → store`, or set its `source:`" })
  end
  return source
end

-- MappingStore: passes everything on, through four messages that a subclass may override.
local Mapping = K.newClass("MappingStore", Scheme)
K.alias("MPWMappingStore", Mapping)
K.ivar(Mapping, "source")
local function mapped(self, reference)
  if type(reference) ~= "table" then reference = K.pathReference(reference) end
  return self:mapReference_(reference)
end
local function byPath(verb, rest)
  return function(self, reference, value)
    local found, answer = K.tryPath(self, verb, (K.splitPath(pathOf(reference))), value, reference)
    if found then return answer end
    return rest(self, reference, value)
  end
end
K.methods(Mapping, {
  ["setSource:"] = function(self, source) self.i_source = K.asStore(source) end,
  ["schemeNames"] = function() return K.array({ "source" }, 1) end,
  ["mapReference:"] = function(_, reference) return reference end,
  ["reverseMapReference:"] = function(_, reference) return reference end,
  ["mapRetrievedObject:forReference:"] = function(_, object) return object end,
  ["mapObjectToStore:forReference:"] = function(_, object) return object end,
  ["at:"] = byPath("get", function(self, reference)
    local value = K.storeGet(sourceOf(self), pathOf(mapped(self, reference)))
    if value == nil then return nil end
    return self:mapRetrievedObject_forReference_(value, reference)
  end),
  ["at:put:"] = byPath("put", function(self, reference, value)
    K.storePutAt(sourceOf(self), pathOf(mapped(self, reference)),
      self:mapObjectToStore_forReference_(value, reference))
    return value
  end),
  ["at:post:"] = byPath("post", function(self, reference, value)
    return K.storePost(sourceOf(self), pathOf(mapped(self, reference)),
      self:mapObjectToStore_forReference_(value, reference))
  end),
  ["deleteAt:"] = byPath("delete", function(self, reference)
    return K.storeDelete(sourceOf(self), pathOf(mapped(self, reference)))
  end),
  ["childrenOfReference:"] = byPath("list", function(self, reference)
    return K.storeList(sourceOf(self), pathOf(mapped(self, reference)))
  end),
})
K.method(Mapping, "merge_at_", function(self, value, reference)
  local found, answer = K.tryPath(self, "merge", (K.splitPath(pathOf(reference))), value, reference)
  if found then return answer end
  return K.storeMerge(sourceOf(self), pathOf(mapped(self, reference)),
    self:mapObjectToStore_forReference_(value, reference))
end)

-- RelativeStore: a store seen from a base.
local Relative = K.newClass("RelativeStore", Mapping)
for _, name in ipairs { "MPWPathRelativeStore", "MPWRelScheme", "PathRelativeStore" } do K.alias(name, Relative) end
K.ivar(Relative, "base")
K.ivar(Relative, "baseScheme")
K.methods(Relative, {
  ["initWithBaseScheme:baseURL:"] = function(self, source, at)
    self.i_source, self.i_base = K.asStore(source), K.str(at)
    return self
  end,
  ["setBaseReference:"] = function(self, reference)
    self.i_source, self.i_base = reference:store(), reference._path
  end,
  ["mapReference:"] = function(self, reference)
    local path = string.gsub(pathOf(reference), "^/+", "")
    for part in string.gmatch(path, "[^/]+") do
      if part == ".." then K.throw("denied", "`..` leads out of this store") end
    end
    local at = string.gsub((self.i_base or ""), "/+$", "")
    if at == "" and self.i_base ~= "/" then return K.pathReference(path, self.i_baseScheme) end
    return K.pathReference(path == "" and self.i_base or at .. "/" .. path, self.i_baseScheme)
  end,
})

-- `ref:… asScheme`: native when what it is relative to is.
function K.relativeStore(store, path, scheme)
  if rawget(store, "_native") then return native.relative(store, path, scheme) end
  local relative = Relative:new()
  relative.i_source, relative.i_base, relative.i_baseScheme = store, path, scheme
  return relative
end

-- LoggingStore: tells its log of each write, as a REST operation.
local Operation = K.newClass("RESTOperation", K.classes.Object)
K.alias("MPWRESTOperation", Operation)
rawset(Operation._methods, "_isOperation", true)
K.nilKeys._isOperation = true
K.ivar(Operation, "verb")
K.ivar(Operation, "reference")
K.methods(Operation, {
  ["HTTPVerb"] = function(self) return self.i_verb end,
  ["description"] = function(self) return self.i_verb .. " " .. self.i_reference:stringValue() end,
  ["applyTo:"] = function(self, target)
    local path = self.i_reference._path
    if self.i_verb == "DELETE" then
      K.storeDelete(target, path)
    else
      K.storePutAt(target, path, self._source and K.storeGet(self._source, path))
    end
    return target
  end,
})
K.nilKeys._source, K.nilKeys._followers = true, true

local Logging = K.newClass("LoggingStore", Mapping)
K.alias("MPWLoggingStore", Logging)
K.ivar(Logging, "log")
K.ivar(Logging, "logReads", "bool")
local function tell(self, verb, reference)
  local path = pathOf(reference)
  if self.i_log then
    local operation = setmetatable({ i_verb = verb, i_reference = K.pathReference(path) }, Operation._methods)
    operation._source = self.i_source
    self.i_log:writeObject_(operation)
  end
  local followers = rawget(self, "_followers")
  if followers and verb ~= "GET" then
    for i = 1, #followers do followers[i](path) end
  end
end
local function told(verb, name)
  local method = Mapping._methods[name]
  return function(self, a, b)
    local answer = method(self, a, b)
    tell(self, verb, name == "merge_at_" and b or a)
    return answer
  end
end
K.method(Logging, "at_put_", told("PUT", "at_put_"))
K.method(Logging, "at_post_", told("POST", "at_post_"))
K.method(Logging, "merge_at_", told("PATCH", "merge_at_"))
K.method(Logging, "deleteAt_", told("DELETE", "deleteAt_"))
K.methods(Logging, {
  ["at:"] = function(self, reference)
    local answer = Mapping._methods.at_(self, reference)
    if self.i_logReads then tell(self, "GET", reference) end
    return answer
  end,
  ["logger"] = function(self) return self end,
  ["follow:"] = function(self, block)
    self._followers = rawget(self, "_followers") or {}
    table.insert(self._followers, block)
    return self
  end,
})

-- CachingStore: asks the cache first, fills it from the source; writes to both.
local Caching = K.newClass("CachingStore", Mapping)
for _, name in ipairs { "MPWCachingStore", "MPWWriteThroughCache", "WriteThroughCache" } do K.alias(name, Caching) end
K.ivar(Caching, "cache")
K.ivar(Caching, "readOnlySource", "bool")
K.methods(Caching, {
  ["init"] = function(self) self.i_cache = K.classes.DictStore:store() return self end,
  ["setCache:"] = function(self, cache) self.i_cache = K.asStore(cache) end,
  ["memoryStore"] = function() return K.classes.DictStore:store() end,
  ["at:"] = function(self, reference)
    local path = pathOf(reference)
    local value = K.storeGet(self.i_cache, path)
    if value == nil then
      value = K.storeGet(sourceOf(self), path)
      if value ~= nil then K.storePutAt(self.i_cache, path, value) end
    end
    return value
  end,
  ["at:put:"] = function(self, reference, value)
    local path = pathOf(reference)
    if not self.i_readOnlySource then K.storePutAt(sourceOf(self), path, value) end
    K.storePutAt(self.i_cache, path, value)
    return value
  end,
  ["at:post:"] = function(self, reference, value)
    local path = pathOf(reference)
    local answer = K.storePost(sourceOf(self), path, value)
    K.storeDelete(self.i_cache, path)
    return answer
  end,
  ["merge:at:"] = function(self, value, reference)
    local path = pathOf(reference)
    K.storeMerge(sourceOf(self), path, value)
    K.storeDelete(self.i_cache, path)
  end,
  ["deleteAt:"] = function(self, reference)
    local path = pathOf(reference)
    K.storeDelete(self.i_cache, path)
    if not self.i_readOnlySource then return K.storeDelete(sourceOf(self), path) end
  end,
  ["invalidate:"] = function(self, reference) K.storeDelete(self.i_cache, pathOf(reference)) return self end,
})

-- SequentialStore: the first that has it; writes go to the first.
local Sequential = K.newClass("SequentialStore", Store)
K.alias("MPWSequentialStore", Sequential)
K.ivar(Sequential, "stores")
K.classMethods(Sequential, {
  ["storeWithStores:"] = function(class, list)
    local store = class:new()
    store.i_stores = list:collect_(K.asStore)
    return store
  end,
})
K.methods(Sequential, {
  ["setStores:"] = function(self, list) self.i_stores = list:collect_(K.asStore) end,
  ["at:"] = function(self, reference)
    for i = 1, #self.i_stores do
      local value = K.storeGet(self.i_stores[i], pathOf(reference))
      if value ~= nil then return value end
    end
  end,
  ["at:put:"] = function(self, reference, value) return K.storePutAt(self.i_stores[1], pathOf(reference), value) end,
  ["at:post:"] = function(self, reference, value) return K.storePost(self.i_stores[1], pathOf(reference), value) end,
  ["merge:at:"] = function(self, value, reference) return K.storeMerge(self.i_stores[1], pathOf(reference), value) end,
  ["deleteAt:"] = function(self, reference) return K.storeDelete(self.i_stores[1], pathOf(reference)) end,
  -- A listing has the names of all, each once and in order.
  ["childrenOfReference:"] = function(self, reference)
    local names, seen, known = {}, {}, false
    for i = 1, #self.i_stores do
      local list = K.storeList(self.i_stores[i], pathOf(reference))
      known = known or list ~= nil
      for at = 1, list and #list or 0 do
        if not seen[list[at]] then
          seen[list[at]] = true
          names[#names + 1] = list[at]
        end
      end
    end
    if not known then return nil end
    table.sort(names)
    return K.array(names, #names)
  end,
})

-- SwitchingStore: the first part of the path selects the store.
local Switching = K.newClass("SwitchingStore", Store)
K.alias("MPWSwitchingStore", Switching)
K.ivar(Switching, "stores")
local function switched(self, reference)
  local first, rest = string.match(pathOf(reference), "^/*([^/]*)/*(.*)$")
  local store = self.i_stores and self.i_stores:at_(first)
  return store and K.asStore(store), rest
end
K.methods(Switching, {
  ["at:"] = function(self, reference)
    local store, rest = switched(self, reference)
    if store then return K.storeGet(store, rest) end
  end,
  ["at:put:"] = function(self, reference, value)
    local store, rest = switched(self, reference)
    if store then return K.storePutAt(store, rest, value) end
    K.refuseVerb("put", pathOf(reference))
  end,
  ["at:post:"] = function(self, reference, value)
    local store, rest = switched(self, reference)
    if store then return K.storePost(store, rest, value) end
    K.refuseVerb("post", pathOf(reference))
  end,
  ["merge:at:"] = function(self, value, reference)
    local store, rest = switched(self, reference)
    if store then return K.storeMerge(store, rest, value) end
    K.refuseVerb("merge", pathOf(reference))
  end,
  ["deleteAt:"] = function(self, reference)
    local store, rest = switched(self, reference)
    if store then return K.storeDelete(store, rest) end
  end,
  ["childrenOfReference:"] = function(self, reference)
    if string.find(pathOf(reference), "^/*$") then return self.i_stores:keys() end
    local store, rest = switched(self, reference)
    if store then return K.storeList(store, rest) end
  end,
})

-- MergingStore: a put of an array or a text is added to what is there; everything else replaces.
local Merging = K.newClass("MergingStore", Mapping)
K.alias("MPWMergingStore", Merging)
K.methods(Merging, {
  ["at:put:"] = function(self, reference, value)
    local path = pathOf(reference)
    local held = K.storeGet(sourceOf(self), path)
    local joins = type(value) == "string" and type(held) == "string"
      or type(value) == "table" and value._isArray and type(held) == "table" and held._isArray
    if joins then
      value = type(held) == "string" and held .. value or held:arrayByAddingObjectsFromArray_(value)
    end
    K.storePutAt(sourceOf(self), path, value)
    return value
  end,
})

-- EnsureNonNilStore: what is missing is an error.
local Ensure = K.newClass("EnsureNonNilStore", Mapping)
K.alias("MPWEnsureNonNilStore", Ensure)
K.method(Ensure, "at_", function(self, reference)
  local value = Mapping._methods.at_(self, reference)
  if value == nil then K.throw("notFound", string.format("there is nothing at %s", pathOf(reference))) end
  return value
end)

-- ExtensionStore: adds an ending to names on the way down, and takes it off on the way up.
local Extension = K.newClass("ExtensionStore", Mapping)
for _, name in ipairs { "MPWExtensionStore", "MPWExtensionMapper", "ExtensionMapper" } do K.alias(name, Extension) end
K.ivar(Extension, "extension")
K.methods(Extension, {
  ["mapReference:"] = function(self, reference)
    local path = pathOf(reference)
    if path == "" or string.sub(path, -1) == "/" then return reference end
    return K.pathReference(path .. "." .. self.i_extension)
  end,
  ["childrenOfReference:"] = function(self, reference)
    local names = K.storeList(sourceOf(self), pathOf(reference))
    if names == nil then return nil end
    local ending = "." .. self.i_extension
    return names:collect_(function(name)
      if string.sub(name, -#ending) == ending then return string.sub(name, 1, -#ending - 1) end
      return name
    end)
  end,
})

-- JSONConverter: what is read leaves as JSON, what is written is parsed (`up: false`: the other
-- way round). Native: rows and objects are written straight into the answer.
local Converter = K.newClass("JSONConverter", Mapping)
for _, name in ipairs { "MPWJSONConverterStore", "JSONConverterStore" } do K.alias(name, Converter) end
K.ivar(Converter, "up", "bool")
K.ivar(Converter, "class")
K.ivar(Converter, "converterClass")
K.methods(Converter, {
  ["setConverterClass:"] = function(self, class) self.i_class = class self._made = nil end,
  ["setClass:"] = function(self, class) self.i_class = class self._made = nil end,
  ["setSource:"] = function(self, source) self.i_source = K.asStore(source) self._made = nil end,
  ["setUp:"] = function(self, up) self.i_up = K.truth(up) self._made = nil end,
  ["class"] = function(self) return K.classOf(self) end,
  ["nativeStore"] = function(self)
    local made = rawget(self, "_made")
    if not made then
      local class = self.i_class
      made = native.jsonConverter(K.nativeStore(sourceOf(self)), self.i_up ~= false, class and class._name)
      self._made = made
    end
    return made
  end,
  ["at:"] = function(self, reference) return K.storeGet(self:nativeStore(), pathOf(reference)) end,
  ["at:put:"] = function(self, reference, value) return K.storePutAt(self:nativeStore(), pathOf(reference), value) end,
  ["at:post:"] = function(self, reference, value) return K.storePost(self:nativeStore(), pathOf(reference), value) end,
  ["merge:at:"] = function(self, value, reference) return K.storeMerge(self:nativeStore(), pathOf(reference), value) end,
  ["deleteAt:"] = function(self, reference) return K.storeDelete(self:nativeStore(), pathOf(reference)) end,
})

-- A record that was read for a class becomes an instance of it. Fields that the class does not
-- have are an error; they would be lost otherwise.
function K.instantiate(record, name)
  local class = K.classes[name]
  if not class or type(record) ~= "table" then return record end
  if K.isKind(record, K.classes.Array) then
    for i = 1, #record do record[i] = K.instantiate(record[i], name) end
    return record
  end
  if not K.isKind(record, K.classes.Dictionary) then return record end
  local object = class:new()
  local known = {}
  for _, ivar in ipairs(class._ivars) do known[ivar] = true end
  record:keysAndValuesDo_(function(key, value)
    if not known[key] then
      K.throw("invalid", string.format("%s has no field `%s`", name, K.str(key)))
    end
    object[K.ivarKey(key)] = value
  end)
  return object
end
