-- Stores as objects: the abstract store, native stores, schemes of the program.
local K = ...
local type, rawget, rawset, setmetatable = type, rawget, rawset, setmetatable
local native, pathOf = K.native, K.pathOf
local Object = K.classes.Object

for _, key in ipairs { "_isStore", "_watchers", "_made" } do K.nilKeys[key] = true end

-- Store: answers nothing, takes nothing. The root of all stores.
local Store = K.newClass("Store", Object)
for _, name in ipairs { "MPWAbstractStore", "AbstractStore" } do K.alias(name, Store) end
rawset(Store._methods, "_isStore", true)

K.classMethods(Store, {
  ["store"] = function(class) return class:new() end,
  ["scheme"] = function(class) return class:new() end,
  ["storeWithSource:"] = function(class, source)
    local store = class:new()
    store:setSource_(source)
    return store
  end,
})

K.methods(Store, {
  ["at:"] = function() return nil end,
  ["at:put:"] = function(_, reference) K.refuseVerb("put", pathOf(reference)) end,
  ["at:post:"] = function(_, reference) K.refuseVerb("post", pathOf(reference)) end,
  ["merge:at:"] = function(_, _, reference) K.refuseVerb("merge", pathOf(reference)) end,
  ["deleteAt:"] = function(_, reference) K.refuseVerb("delete", pathOf(reference)) end,
  ["childrenOfReference:"] = function() return nil end,
  ["hasChildren:"] = function(self, reference)
    local names = self:childrenOfReference_(reference)
    return names ~= nil and #names > 0
  end,
  ["referenceForPath:"] = function(self, path)
    local reference = K.pathReference(path)
    reference._store = self
    return reference
  end,
  ["bindingForReference:"] = function(self, path) return self:referenceForPath_(pathOf(path)) end,
  ["get:"] = function(self, path) return K.storeGet(self, pathOf(path)) end,
  ["put:at:"] = function(self, value, path) return K.storePutAt(self, pathOf(path), value) end,
  ["removeAt:"] = function(self, path) return K.storeDelete(self, pathOf(path)) end,
  ["at:merge:"] = function(self, path, value) return K.storeMerge(self, pathOf(path), value) end,
  ["asScheme"] = function(self) return self end,
  ["asStore"] = function(self) return self end,
  ["relativeStoreAt:"] = function(self, path) return K.relativeStore(self, pathOf(path)) end,
  ["logger"] = function(self) return K.classes.LoggingStore:storeWithSource_(self) end,
  ["cachedBy:"] = function(self, cache)
    local store = K.classes.CachingStore:storeWithSource_(self)
    store:setCache_(K.isClass(cache) and cache:store() or cache)
    return store
  end,
  ["copyFrom:"] = function(self, source)
    K.copyStore(K.asStore(source), self, "")
    return self
  end,
  ["copyTo:"] = function(self, target)
    K.copyStore(self, K.asStore(target), "")
    return self
  end,
  -- Makes the target the same: writes what differs, deletes what is not here. Answers how much.
  ["syncTo:"] = function(self, target) return K.copyStore(self, K.asStore(target), "", true) end,
  ["syncToTarget:"] = function(self, target)
    K.copyStore(self, K.asStore(target), "", true)
    return self
  end,
  ["writeObject:"] = function(self, operation)
    -- A store is a sink of REST operations: it repeats them on itself.
    if type(operation) == "table" and operation._isOperation then return operation:applyTo_(self) end
    K.storePost(self, "", operation)
    return self
  end,
  ["graphViz"] = function(self) return native.drawGraph(K.nativeStore(self)) end,
  ["graph"] = function(self) return native.drawGraph(K.nativeStore(self)) end,
})

function K.copyStore(from, to, path, same)
  return native.copy(K.nativeStore(from), K.nativeStore(to), path, same or false, same or false)
end

-- Native stores ----------------------------------------------------------------------------------

local NativeStore = K.newClass("NativeStore", Store)

local function nativeGet(self, reference) return K.storeGet(self, pathOf(reference), reference._scheme) end
K.answering[nativeGet] = function(self, reference)
  return K.storeGet(self, pathOf(reference), reference._scheme, true)
end
K.methods(NativeStore, {
  ["at:"] = nativeGet,
  ["at:put:"] = function(self, reference, value) return K.storePutAt(self, pathOf(reference), value) end,
  ["at:post:"] = function(self, reference, value) return K.storePost(self, pathOf(reference), value) end,
  ["merge:at:"] = function(self, value, reference) return K.storeMerge(self, pathOf(reference), value) end,
  ["deleteAt:"] = function(self, reference) return K.storeDelete(self, pathOf(reference)) end,
  ["childrenOfReference:"] = function(self, reference) return K.storeList(self, pathOf(reference)) end,
  ["description"] = function(self) return native.describe(self._native) end,
})

-- For Rust: a native store as an object.
function K.makeStore(inner)
  return setmetatable({ _native = inner }, NativeStore._methods)
end

-- A class of native stores: each instance makes its own when it is made.
local function nativeClass(name, super, make, ...)
  local class = K.newClass(name, super)
  for _, alias in ipairs { ... } do K.alias(alias, class) end
  K.classMethods(class, {
    ["new"] = function(self)
      local store = setmetatable({ _native = make() }, self._methods)
      return store:init() or store
    end,
  })
  K.methods(class, { ["init"] = function(self) return self end })
  return class
end

local function memory(kind)
  return function() return native.memory(kind)._native end
end

local DictStore = nativeClass("DictStore", NativeStore, memory("dictionary"),
  "MPWDictStore", "RawDictStore", "DictionaryStore", "MemoryStore", "MPWPlistStore")
nativeClass("SiteMap", NativeStore, memory("site"),
  "MPWSiteMap", "MPWTreeNodeScheme", "TreeNodeStore", "SiteTree")
K.classMethods(DictStore, {
  ["storeWithDictionary:"] = function(class, dictionary)
    local store = class:new()
    dictionary:keysAndValuesDo_(function(key, value) K.storePutAt(store, K.str(key), value) end)
    return store
  end,
})
K.methods(DictStore, {
  ["setDict:"] = function(self, dictionary)
    dictionary:keysAndValuesDo_(function(key, value) K.storePutAt(self, K.str(key), value) end)
  end,
})

-- The program's variables as a store: `scheme:var`.
local VariableStore = K.newClass("VariableStore", Store)
K.methods(VariableStore, {
  ["at:"] = function(_, reference) return K.dynamicGet(pathOf(reference), K.default) end,
  ["at:put:"] = function(_, reference, value) return K.dynamicPut(pathOf(reference), K.default, nil, value) end,
  ["deleteAt:"] = function(_, reference)
    K.dynamicPut(pathOf(reference), K.default, nil, nil)
    return true
  end,
})
K.schemes.var = VariableStore:new()
K.schemes.default = K.schemes.var

-- Schemes of the program --------------------------------------------------------------------------

local Scheme = K.newClass("Scheme", Store)
K.alias("MPWScheme", Scheme)

-- Asks the property paths, and `rest` for what they do not know.
local function byPath(verb, rest)
  return function(self, reference, value)
    local path = (K.splitPath(pathOf(reference)))
    local found, answer = K.tryPath(self, verb, path, value, reference)
    if found then return answer end
    return rest(self, reference, value)
  end
end

local base = Store._own
local schemeGet = byPath("get", base.at_)
K.answering[schemeGet] = function(self, reference)
  local _, answer = K.tryPath(self, "get", (K.splitPath(pathOf(reference))), nil, reference, true)
  return answer
end
K.methods(Scheme, {
  ["at:"] = schemeGet,
  ["at:put:"] = byPath("put", base.at_put_),
  ["at:post:"] = byPath("post", base.at_post_),
  ["deleteAt:"] = byPath("delete", base.deleteAt_),
  ["childrenOfReference:"] = byPath("list", base.childrenOfReference_),
})
local merge = byPath("merge", function(self, reference, value) return base.merge_at_(self, value, reference) end)
K.method(Scheme, "merge_at_", function(self, value, reference) return merge(self, reference, value) end)

-- A dictionary as a store: keys are names, and dictionaries in it are below them.
local DictionaryView = K.newClass("DictionaryView", Store)
K.ivar(DictionaryView, "dictionary")
local function inner(reference) return (string.gsub((K.splitPath(pathOf(reference))), "^/+", "")) end
K.methods(DictionaryView, {
  ["at:"] = function(self, reference) return K.walk(self.i_dictionary, inner(reference)) end,
  ["at:put:"] = function(self, reference, value)
    if value == nil then return self:deleteAt_(reference) end
    return K.walkPut(self.i_dictionary, inner(reference), value)
  end,
  ["deleteAt:"] = function(self, reference)
    local path = inner(reference)
    local parent, last = string.match(path, "^(.*)/([^/]+)$")
    local holder = K.walk(self.i_dictionary, parent or "")
    if type(holder) ~= "table" or not holder._isDictionary then return false end
    local key = K.decodeSegment(last or path)
    if not holder:includesKey_(key) and tonumber(key) then key = tonumber(key) end
    local there = holder:includesKey_(key)
    if there then holder:removeObjectForKey_(key) end
    return there
  end,
  ["childrenOfReference:"] = function(self, reference)
    local held = K.walk(self.i_dictionary, inner(reference))
    if type(held) == "table" and held._isDictionary then return held:keys():collect_(K.str) end
  end,
})
function K.dictionaryView(dictionary)
  local view = DictionaryView:new()
  view.i_dictionary = dictionary
  return view
end
K.methods(K.classes.Dictionary, {
  ["asScheme"] = K.dictionaryView,
  ["asStore"] = K.dictionaryView,
  ["logger"] = function(self) return K.dictionaryView(self):logger() end,
})

-- Seen from outside --------------------------------------------------------------------------------

-- The verbs of a path, in words.
local function verbsOf(object, class, path)
  local verbs = class and class._subs and K.pathVerbs(class, path) or {}
  local has = {}
  for _, verb in ipairs(verbs) do has[verb] = true end
  local function own(verb, name)
    -- A class that answers the message itself, not through paths.
    if not has[verb] and type(object) == "table" then
      local method = class._methods[name]
      if method ~= Scheme._methods[name] and method ~= Store._methods[name] then verbs[#verbs + 1] = verb end
    end
  end
  if type(object) == "table" and object._isStore then
    own("get", "at_")
    own("put", "at_put_")
    own("post", "at_post_")
    own("merge", "merge_at_")
    own("delete", "deleteAt_")
    own("list", "childrenOfReference_")
  elseif not has.get then
    verbs[#verbs + 1] = "get"
    if type(object) == "table" and not K.isClass(object) then verbs[#verbs + 1] = "put" end
  end
  return table.concat(verbs, " ")
end

-- The verbs of the paths that stores of each class were last asked for: each write asks.
local KNOWN_VERBS, LONGEST_PATH = 256, 200
local knownVerbs, knownCount = {}, 0
local function forgetVerbs() knownVerbs, knownCount = {}, 0 end
K.followsClasses(forgetVerbs, forgetVerbs)

-- The same for 405 and OPTIONS.
function K.serveVerbs(object, path)
  local class = K.classOf(object)
  if type(object) ~= "table" or not class or K.isClass(object) or #path > LONGEST_PATH then
    return verbsOf(object, class, path)
  end
  local ofClass = knownVerbs[class]
  local known = ofClass and ofClass[path]
  if known then return known end
  if knownCount >= KNOWN_VERBS then
    forgetVerbs()
    ofClass = nil
  end
  if not ofClass then
    ofClass = {}
    knownVerbs[class] = ofClass
  end
  known, knownCount = verbsOf(object, class, path), knownCount + 1
  ofClass[path] = known
  return known
end

-- The stores in an object's instance variables, by name: a plain list of name, store, name, …
function K.storesIn(object)
  local list = {}
  local class = type(object) == "table" and not K.isClass(object) and K.classOf(object)
  for _, name in ipairs(class and class._ivars or {}) do
    local value = rawget(object, K.ivarKey(name))
    local there = type(value) == "table" and not K.isClass(value)
    if there and value._isArray then
      for i = 1, #value do
        local one = value[i]
        if type(one) == "table" and not K.isClass(one) and one._isStore then
          list[#list + 1] = name .. " " .. i
          list[#list + 1] = K.nativeStore(one)
        end
      end
    elseif there and value._isStore then
      list[#list + 1] = name
      list[#list + 1] = K.nativeStore(value)
    end
  end
  return list
end

-- What graphs and logs call a store of the program.
function K.describeStore(object)
  local class = K.classOf(object)
  if type(object) == "function" then return "block" end
  if type(object) ~= "table" then return "value" end
  return (object._isStore and "scheme " or "object ") .. (class and class._name or "")
end

-- A store as Rust should hold it: combinators of native stores stay native.
function K.nativeStore(store)
  store = K.asStore(store)
  if type(store) ~= "table" or rawget(store, "_native") then return store end
  if store._isStore and store.nativeStore then return store:nativeStore() end
  return store
end
K.methods(Store, { ["nativeStore"] = function(self) return self end })

-- `var:store/key` reads from the store.
K.method(Store, "_property", function(self, name) return K.storeGet(self, K.str(name)) end)

-- `ref:… asScheme`
function K.relativeStore(store, path, scheme)
  return native.relative(K.nativeStore(store), path, scheme)
end
