-- The classes of the native combinators. Rust defines them (`crates/store/src/combine`, one file
-- each): names, options and how they are made. Below is what the language adds to some of them.
local K = ...
local type, rawget = type, rawget
local native, pathOf, throw = K.native, K.pathOf, K.throw
local classes, Mapping = K.classes, K.classes.MappingStore

local definitions = {}
K.combinatorDefinitions = definitions
for _, definition in ipairs(K.combinators) do
  definitions[definition.name] = definition
  if definition.name == "Fallback" then definition.super = classes.Sequence end
  K.nativeCombinator(definition)
end

-- A mapping store that maps nothing is its source.
K.method(Mapping, "_combines", { kind = "pass" })
K.method(Mapping, "_options", {})

-- Relative: a store seen from a base.
local Relative = classes.RelativeStore
K.methods(Relative, {
  ["initWithBaseScheme:baseURL:"] = function(self, source, at)
    self:setSource_(source)
    self:setBase_(K.str(at))
    return self
  end,
  ["setBaseReference:"] = function(self, reference)
    self:setSource_(reference:store())
    self:setBaseScheme_(reference._scheme)
    self:setBase_(reference._path)
  end,
})

-- Cache: answers from the cache, and fills it from the source.
local Cache = classes.Cache
definitions.Cache.parts = function(self)
  return { K.sourceOf(self), self.i_cache }, { "source", self.i_cache and "cache" }
end
K.methods(Cache, {
  ["memoryStore"] = function() return K.classes.DictStore:store() end,
  ["invalidate:"] = function(self, reference)
    native.invalidate(K.innerStore(self), pathOf(reference))
    return self
  end,
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
local WriteBack = classes.WriteBack
K.methods(WriteBack, {
  ["flush"] = function(self)
    native.flushWrites(K.innerStore(self))
    return self
  end,
  -- Writes are always done later; the original can be told so.
  ["makeAsynchronous"] = function(self) return self end,
})

-- Several stores, as `stores: [ … ]`: what stands for a store is made one.
local function listOfStores(self, list)
  local stores = {}
  for i = 1, #list do stores[i] = K.noRing(self, K.storeOf(list[i])) end
  return K.array(stores, #stores)
end

-- Sequence: the first that has it; Fallback: the first that answers. Writes go to the first.
local Sequence = classes.Sequence
for _, name in ipairs { "Sequence", "Fallback" } do
  definitions[name].parts = function(self)
    if self.i_stores == nil then
      throw("nilValue", "a " .. name .. " has no stores",
        { i_hint = "give it some: `#" .. name .. "{ stores: [ a, b ] }`" })
    end
    return K.copyList(self.i_stores), {}
  end
end
K.ivar(Sequence, "stores")
K.classMethods(Sequence, {
  ["storeWithStores:"] = function(class, list)
    local store = class:new()
    store:setStores_(list)
    return store
  end,
})
K.methods(Sequence, {
  ["setStores:"] = function(self, list)
    if type(list) ~= "table" or K.isClass(list) or not list._isArray then
      throw("typeError", "`stores` of " .. K.nameOf(self) .. " must be an array of stores, not " .. K.nameOf(list))
    end
    self.i_stores = listOfStores(self, list)
    K.combinatorChanged(self)
  end,
  -- Connecting it adds a store below the others.
  ["setSource:"] = function(self, source)
    local stores = K.copyList(self.i_stores or {})
    stores[#stores + 1] = source
    self:setStores_(K.array(stores, #stores))
  end,
})

-- Route: the first part of the path selects the store.
local Route = classes.Route
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
  ["setStores:"] = setRoutes,
  ["stores"] = function(self) return self._dictionary end,
  ["setSource:"] = function(self, source)
    if type(source) == "table" and not K.isClass(source) and source._isDictionary then return setRoutes(self, source) end
    self:setOtherwise_(source)
  end,
})

-- Names: what lies at some paths below has other names here.
local Names = classes.Names
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
K.ivar(Names, "names")
K.method(Names, K.mangle("setNames:"), function(self, names)
  if type(names) ~= "table" or K.isClass(names) or not names._isDictionary then
    throw("typeError", "`names` of a Names must be a dictionary of names, not " .. K.nameOf(names))
  end
  self.i_names = names
  K.combinatorChanged(self)
end)

-- JSONConverter: what is read leaves as JSON, what is written is parsed (`up: false`: the other
-- way round). Rows and objects are written straight into the answer.
local Converter = classes.JSONConverter
definitions.JSONConverter.more = function(self, add)
  local class = rawget(self, "i_class") or rawget(self, "i_converterClass")
  if not K.isClass(class) then return end
  K.followsClasses(self, K.combinatorChanged)
  add("contract", K.contractOf(class, { dropUnknown = rawget(self, "i_dropUnknown") == true }))
end
K.methods(Converter, { ["class"] = function(self) return K.classOf(self) end })

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
  -- Several stores, each the source of the one before.
  ["stores:"] = function(_, list)
    local first, below
    for i = #list, 1, -1 do
      local store = K.storeOf(list[i])
      if below then store:setSource_(below) end
      first, below = store, store
    end
    return first
  end,
})
