-- The classes of the native combinators. Rust defines them (`crates/store/src/combine`, one file
-- each): names, options and how they are made. Below is what the language adds to some of them.
local K = ...
local type, rawget = type, rawget
local native, pathOf, throw = K.native, K.pathOf, K.throw
local classes, Mapping = K.classes, K.classes.MappingStore

-- Made of an array of stores, as Sequence is, and defined after it.
local SEVERAL = { Fallback = true, Shard = true, Mirror = true }
local definitions = {}
K.combinatorDefinitions = definitions
for _, definition in ipairs(K.combinators) do
  definitions[definition.name] = definition
  if SEVERAL[definition.name] then definition.super = classes.Sequence end
  K.nativeCombinator(definition)
end

-- A mapping store that maps nothing is its source.
K.method(Mapping, "_combines", { kind = "pass" })
K.method(Mapping, "_options", {})

-- Relative: a store seen from a base.
local Relative = K.classes.RelativeStore
K.methods(Relative, {
  --- -<self> initWithBaseScheme:<any>source baseURL:<any>path
  --- Sets the source and the path that requests begin from, and answers the store.
  --- > (RelativeStore new initWithBaseScheme: #DictStore{ 'docs/a': 1 } baseURL: 'docs') at: 'a' ⇒ 1
  ["initWithBaseScheme:baseURL:"] = function(self, source, at)
    self:setSource_(source)
    self:setBase_(K.str(at))
    return self
  end,
  --- -<nothing> setBaseReference:<Reference>reference
  --- Sets the source, the scheme and the path from a reference.
  --- > store := RelativeStore new. store setBaseReference: ref:memory:docs. store base ⇒ 'docs'
  ["setBaseReference:"] = function(self, reference)
    self:setSource_(reference:store())
    self:setBaseScheme_(reference._scheme)
    self:setBase_(reference._path)
  end,
})

-- Cache: answers from the cache, and fills it from the source.
local Cache = K.classes.Cache
definitions.Cache.parts = function(self)
  return { K.sourceOf(self), self.i_cache }, { "source", self.i_cache and "cache" }
end
K.methods(Cache, {
  --- -<DictStore> memoryStore
  --- A new store in memory, for entries of a cache.
  --- > Cache new memoryStore description ⇒ 'memory dictionary'
  ["memoryStore"] = function() return K.classes.DictStore:store() end,
  --- -<self> invalidate:<Reference|String|Number>path
  --- Removes the entries of the path, of everything below it and of what lies above it. The source stays as it is.
  --- > cache := #Cache{ source: #DictStore{ a: 1 } }. (cache invalidate: 'a') at: 'a' ⇒ 1
  ["invalidate:"] = function(self, reference)
    native.invalidate(K.innerStore(self), pathOf(reference))
    return self
  end,
  --- -<self> invalidateAll
  --- Removes all entries of the cache. The source stays as it is.
  --- > cache := #Cache{ source: #DictStore{ a: 1 } }. cache invalidateAll at: 'a' ⇒ 1
  ["invalidateAll"] = function(self)
    native.invalidate(K.innerStore(self))
    return self
  end,
})

-- Idempotent: keeps answers beside the rows, in the same database.
definitions.Idempotent.parts = function(self)
  if self.i_database == nil then
    throw("nilValue", "an Idempotent has no database",
      { i_hint = "write `#Idempotent{ database: ref:sqlite:shop.db }`" })
  end
  return { K.sourceOf(self), self.i_database }, { "source", "database" }
end

-- WriteBack: writes later, several of a reference as one.
local WriteBack = K.classes.WriteBack
K.methods(WriteBack, {
  --- -<self> flush
  --- Waits until all pending writes are in the source. Writes that failed for good are an error.
  --- > home := DictStore store. (#WriteBack{ source: home } at: 'a' put: 1; yourself) flush. home at: 'a' ⇒ 1
  ["flush"] = function(self)
    native.flushWrites(K.innerStore(self))
    return self
  end,
  --- -<self> makeAsynchronous
  --- The store itself: its writes are always deferred.
  --- > store := WriteBack new. store makeAsynchronous = store ⇒ true
  ["makeAsynchronous"] = function(self) return self end,
})

-- Several stores, as `stores: [ … ]`: what stands for a store is made one.
local function listOfStores(self, list)
  local stores = {}
  for i = 1, #list do stores[i] = K.noRing(self, K.storeOf(list[i])) end
  return K.array(stores, #stores)
end

-- Sequence: the first that has it; Fallback: the first that answers; Shard: each key in one; Mirror: each write
-- in all.
local Sequence = K.classes.Sequence
for _, name in ipairs { "Sequence", "Fallback", "Shard", "Mirror" } do
  definitions[name].parts = function(self)
    if self.i_stores == nil then
      throw("nilValue", "a " .. name .. " has no stores",
        { i_hint = "give it some: `#" .. name .. "{ stores: [ a, b ] }`" })
    end
    return K.copyList(self.i_stores), {}
  end
end
--- -<Array?> stores
--- The stores in their order; nil before they are set. `Fallback`, `Shard` and `Mirror` have them as well.
--- > #Sequence{ stores: [ DictStore, #{ a: 1 } ] } stores count ⇒ 2
K.ivar(Sequence, "stores")
K.classMethods(Sequence, {
  --- +<self> storeWithStores:<Array>stores
  --- A new store over several ones: stores, or what stands for them. An array in it is a sequence, a dictionary of
  --- stores a route.
  --- > (Sequence storeWithStores: [ DictStore store, #{ a: 1 } ]) at: 'a' ⇒ 1
  ["storeWithStores:"] = function(class, list)
    local store = class:new()
    store:setStores_(list)
    return store
  end,
})
K.methods(Sequence, {
  --- -<nothing> setStores:<Array>stores
  --- Sets the stores in their order. Another value than an array, and a store that leads back to this one, are errors.
  --- > store := Sequence new. store setStores: [ #{ a: 1 } ]. store at: 'a' ⇒ 1
  ["setStores:"] = function(self, list)
    if type(list) ~= "table" or K.isClass(list) or not list._isArray then
      throw("typeError", "`stores` of " .. K.nameOf(self) .. " must be an array of stores, not " .. K.nameOf(list))
    end
    self.i_stores = listOfStores(self, list)
    K.combinatorChanged(self)
  end,
  --- -<nothing> setSource:<any>store
  --- Adds a store below the others, so that a connection does: `sequence → store`.
  --- > store := #Sequence{ stores: [ #{ a: 1 } ] }. store setSource: #{ b: 2 }. store at: 'b' ⇒ 2
  ["setSource:"] = function(self, source)
    local stores = K.copyList(self.i_stores or {})
    stores[#stores + 1] = source
    self:setStores_(K.array(stores, #stores))
  end,
})

-- Route: the first part of the path selects the store.
local Route = K.classes.Route
definitions.Route.parts = function(self)
  local stores, names = K.copyList(self.i_stores or {}), K.copyList(self._names or {})
  stores[#stores + 1] = self.i_otherwise
  return stores, names
end
K.ivar(Route, "stores")
K.nilKeys._names, K.nilKeys._dictionary = true, true
local function setRoutes(self, dictionary)
  if type(dictionary) ~= "table" or K.isClass(dictionary) or not dictionary._isDictionary then
    throw("typeError", "`stores` of a Route must be a dictionary of stores, not " .. K.nameOf(dictionary))
  end
  local stores, names, n = {}, {}, 0
  dictionary:keysAndValuesDo_(function(name, store)
    n = n + 1
    names[n], stores[n] = K.str(name), K.noRing(self, K.storeOf(store))
  end)
  self.i_stores, self._names = K.array(stores, n), names
  self._dictionary = dictionary
  K.combinatorChanged(self)
end
K.methods(Route, {
  --- -<nothing> setStores:<Dictionary>stores
  --- Sets the stores by the first segment of their paths. Later changes of the dictionary have no effect.
  --- > store := Route new. store setStores: #{ docs: #{ a: 1 } }. store at: 'docs/a' ⇒ 1
  ["setStores:"] = setRoutes,
  --- -<Dictionary?> stores
  --- The dictionary of stores, as it was set; nil before.
  --- > Route new stores ⇒ nil
  ["stores"] = function(self) return self._dictionary end,
  --- -<nothing> setSource:<any>store
  --- Sets the store of paths without a matching name (`otherwise`); a dictionary sets `stores` instead.
  --- > store := Route new. store setSource: #DictStore{ b: 2 }. store at: 'b' ⇒ 2
  ["setSource:"] = function(self, source)
    if type(source) == "table" and not K.isClass(source) and source._isDictionary then return setRoutes(self, source) end
    self:setOtherwise_(source)
  end,
})

-- Names: what lies at some paths below has other names here.
local Names = K.classes.Names
definitions.Names.parts = function(self)
  local names = {}
  if self.i_names then self.i_names:keysAndValuesDo_(function(name) names[#names + 1] = K.str(name) end) end
  return { K.sourceOf(self) }, names
end
definitions.Names.more = function(self, add)
  local at = 0
  if not self.i_names then return end
  self.i_names:keysAndValuesDo_(function(_, below)
    add(K.str(at), K.str(below))
    at = at + 1
  end)
end
--- -<Dictionary?> names
--- The names of the segments here, with those that the source has for them; nil before they are set.
--- > #Names{ names: #{ people: 'users' } } names ⇒ #{ people: 'users' }
K.ivar(Names, "names")
--- -<nothing> setNames:<Dictionary>names
--- Sets the names of segments: a key is the name here, its value the one in the source. Another value is an error.
--- > store := Names new. store setNames: #{ people: 'users' }. store names count ⇒ 1
K.method(Names, K.mangle("setNames:"), function(self, names)
  if type(names) ~= "table" or K.isClass(names) or not names._isDictionary then
    throw("typeError", "`names` of a Names must be a dictionary of names, not " .. K.nameOf(names))
  end
  self.i_names = names
  K.combinatorChanged(self)
end)

-- JSONConverter: what is read leaves as JSON, what is written is parsed (`up: false`: the other
-- way round). Rows and objects are written straight into the answer.
local Converter = K.classes.JSONConverter
definitions.JSONConverter.more = function(self, add)
  local class = rawget(self, "i_class") or rawget(self, "i_converterClass")
  if not K.isClass(class) then return end
  K.followsClasses(self, K.combinatorChanged)
  add("contract", K.contractOf(class, { dropUnknown = rawget(self, "i_dropUnknown") == true }))
end
K.methods(Converter, {
  --- -<Class> class
  --- The class of the converter, as of every object; `converterClass` answers the class that it creates instances of.
  --- > #JSONConverter{ } class ⇒ JSONConverter
  ["class"] = function(self) return K.classOf(self) end,
})

-- What stands for a store where stores are configured: an array is a sequence, a dictionary whose
-- values are stores is a route.
function K.storeOf(thing)
  if type(thing) == "table" and not K.isClass(thing) then
    if thing._isArray then
      local sequence = Sequence:new()
      sequence:setStores_(thing)
      return sequence
    end
    if thing._isDictionary then
      local all = #thing > 0
      thing:keysAndValuesDo_(function(_, value)
        all = all and type(value) == "table" and (value._isStore or value._isReference
          or K.isClass(value) and K.isSubclass(value, K.classes.Store))
      end)
      if all then
        local route = Route:new()
        route:setStores_(thing)
        return route
      end
    end
  end
  return K.asStore(thing)
end

function K.copyList(list)
  local copy = {}
  for i = 1, #list do copy[i] = list[i] end
  return copy
end

K.classMethods(K.classes.Store, {
  --- +<any> stores:<Array>stores
  --- Connects the stores, each as the source of the one before, and answers the first. An empty array is an error. An
  --- array in it is a `Sequence`, a dictionary of stores a `Route`.
  --- > (Store stores: [ ReadOnly, #DictStore{ a: 1 } ]) at: 'a' ⇒ 1
  ["stores:"] = function(_, list)
    if type(list) ~= "table" or K.isClass(list) or not list._isArray or #list == 0 then
      throw("invalid", "stores: needs an array of stores, got " .. K.nameOf(list),
        { i_hint = "`Store stores: [ ReadOnly, #DictStore{ } ]`" })
    end
    local first, below
    for i = #list, 1, -1 do
      local store = K.storeOf(list[i])
      if below then store:setSource_(below) end
      first, below = store, store
    end
    return first
  end,
})
