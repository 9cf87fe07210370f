-- Stores as objects: the abstract store, native stores, schemes of the program.
local K = ...
local type, rawget, rawset, setmetatable = type, rawget, rawset, setmetatable
local native, pathOf = K.native, K.pathOf
local Object = K.classes.Object

for _, key in ipairs { "_isStore", "_watchers", "_made" } do K.nilKeys[key] = true end

--- Content under paths, behind the same verbs: get, put, post, merge, delete and list. This class is above all stores
--- and has no content itself; `Scheme` and `MappingStore` are to be subclassed.
local Store = K.newClass("Store", Object)
for _, name in ipairs { "MPWAbstractStore", "AbstractStore" } do K.alias(name, Store) end
rawset(Store._methods, "_isStore", true)

K.classMethods(Store, {
  --- +<self> store
  --- +<self> scheme
  --- A new store of this class, as `new` answers it.
  --- > scheme:notes ← DictStore store. notes:today ← 'work'. notes:today ⇒ 'work'
  ["store"] = function(class) return class:new() end,
  ["scheme"] = function(class) return class:new() end,
  --- +<self> storeWithSource:<any>source
  --- A new store over a source: a store, a reference (everything below it), a dictionary, or a class of stores. It is
  --- for combinators, and an error of stores without a source.
  --- > (ReadOnly storeWithSource: #{ a: 1 }) at: 'a' ⇒ 1
  ["storeWithSource:"] = function(class, source)
    local store = class:new()
    store:setSource_(source)
    return store
  end,
})

K.methods(Store, {
  --- -<any> at:<Reference|String|Number>path
  --- What the store has at the path (get); nil where nothing exists. A subclass overrides it; its argument is a
  --- reference then.
  --- > #DictStore{ a: 1 } at: 'a' ⇒ 1
  ["at:"] = function() return nil end,
  --- -<any> at:<Reference|String|Number>path put:<any>newValue
  --- Writes the value at the path (put), where the store can be written. What it answers depends on the store.
  --- > store := DictStore store. store at: 'a' put: 1. store at: 'a' ⇒ 1
  ["at:put:"] = function(_, reference) K.refuseVerb("put", pathOf(reference)) end,
  --- -<any> at:<Reference|String|Number>path post:<any>entry
  --- Appends to the content at the path or creates an entry below it (post), as the store defines it.
  --- > store := DictStore store. store at: 'list' post: 1. store at: 'list' ⇒ [ 1 ]
  ["at:post:"] = function(_, reference) K.refuseVerb("post", pathOf(reference)) end,
  --- -<any> merge:<any>fields at:<Reference|String|Number>path
  --- Changes the named fields of the record at the path and keeps the others (merge). It is an error where nothing
  --- exists.
  --- > memory:m ← #{ a: 1 }. ref:memory:m store merge: #{ b: 2 } at: 'm'. memory:m ⇒ #{ a: 1, b: 2 }
  ["merge:at:"] = function(_, _, reference) K.refuseVerb("merge", pathOf(reference)) end,
  --- -<any> deleteAt:<Reference|String|Number>path
  --- Deletes the content at the path (delete) and answers whether something existed.
  --- > #DictStore{ a: 1 } deleteAt: 'a' ⇒ true
  ["deleteAt:"] = function(_, reference) K.refuseVerb("delete", pathOf(reference)) end,
  --- -<Array?> childrenOfReference:<Reference|String|Number>path
  --- The names directly below the path (list); an empty path is the root. It is nil where the store lists nothing.
  --- > #DictStore{ a: 1, b: 2 } childrenOfReference: '' ⇒ [ 'a', 'b' ]
  ["childrenOfReference:"] = function() return nil end,
  --- -<Boolean> hasChildren:<Reference|String|Number>path
  --- Whether the store lists anything below the path.
  --- > #DictStore{ 'team/ann': 1 } hasChildren: 'team' ⇒ true
  ["hasChildren:"] = function(self, reference)
    local names = self:childrenOfReference_(reference)
    return names ~= nil and #names > 0
  end,
  --- -<Reference> referenceForPath:<String>path
  --- A reference of this store, which needs no scheme: it is read, written and listed as every reference.
  --- > (#DictStore{ a: 1 } referenceForPath: 'a') value ⇒ 1
  ["referenceForPath:"] = function(self, path)
    local reference = K.pathReference(path)
    reference._store = self
    return reference
  end,
  --- -<Reference> bindingForReference:<Reference|String>path
  --- The reference of this store with the path of another reference.
  --- > (#DictStore{ a: 1 } bindingForReference: ref:memory:a) value ⇒ 1
  ["bindingForReference:"] = function(self, path) return self:referenceForPath_(pathOf(path)) end,
  --- -<any> get:<Reference|String|Number>path
  --- What the store has at the path, as reading a reference answers it; `at:` is what a store implements.
  --- > #DictStore{ a: 1 } get: 'a' ⇒ 1
  ["get:"] = function(self, path) return K.storeGet(self, pathOf(path)) end,
  --- -<any> put:<any>newValue at:<Reference|String|Number>path
  --- Writes the value at the path as assigning to a reference does: nil deletes, and observers of the store see the
  --- change. `at:put:` is what a store implements.
  --- > store := DictStore store. store put: 1 at: 'a'. store at: 'a' ⇒ 1
  ["put:at:"] = function(self, value, path) return K.storePutAt(self, pathOf(path), value) end,
  --- -<any> removeAt:<Reference|String|Number>path
  --- Deletes the content at the path as `delete` of a reference does, and answers whether something existed. Observers
  --- of the store see it; `deleteAt:` is what a store implements.
  --- > #DictStore{ a: 1 } removeAt: 'a' ⇒ true
  ["removeAt:"] = function(self, path) return K.storeDelete(self, pathOf(path)) end,
  --- -<any> at:<Reference|String|Number>path merge:<any>fields
  --- Changes the named fields of the record at the path, as `merge:at:` does.
  --- > memory:n ← #{ a: 1 }. ref:memory:n store at: 'n' merge: #{ b: 2 }. memory:n ⇒ #{ a: 1, b: 2 }
  ["at:merge:"] = function(self, path, value) return K.storeMerge(self, pathOf(path), value) end,
  --- -<self> asScheme
  --- -<self> asStore
  --- The store itself.
  --- > store := DictStore store. store asScheme = store ⇒ true
  ["asScheme"] = function(self) return self end,
  ["asStore"] = function(self) return self end,
  --- -<Store> relativeStoreAt:<Reference|String|Number>path
  --- A store of everything below the path, as `asScheme` of a reference.
  --- > (#DictStore{ 'docs/a': 1 } relativeStoreAt: 'docs') at: 'a' ⇒ 1
  ["relativeStoreAt:"] = function(self, path) return K.relativeStore(self, pathOf(path)) end,
  --- -<LoggingStore> logger
  --- A store in front of this one that reports each write to those that observe it, and to the log that it is connected
  --- to.
  --- > log := [ ]. ((DictStore store logger) setLog: log; yourself) at: 'a' put: 1. log count ⇒ 1
  ["logger"] = function(self) return K.classes.LoggingStore:storeWithSource_(self) end,
  --- -<Cache> cachedBy:<any>cache
  --- A cache in front of this store, which keeps its entries in the given store, or in a new one of the given class.
  --- > (#DictStore{ a: 1 } cachedBy: DictStore) at: 'a' ⇒ 1
  ["cachedBy:"] = function(self, cache)
    local store = K.classes.CachingStore:storeWithSource_(self)
    store:setCache_(K.isClass(cache) and cache:store() or cache)
    return store
  end,
  --- -<self> copyFrom:<any>source
  --- Writes all content of the source, a store or what stands for one, into this store. What exists here alone stays.
  --- Single failures do not stop the copy; the error at the end counts them.
  --- > (DictStore store copyFrom: #{ a: 1 }) at: 'a' ⇒ 1
  ["copyFrom:"] = function(self, source)
    K.copyStore(K.asStore(source), self, "")
    return self
  end,
  --- -<self> copyTo:<any>target
  --- Writes all content of this store into the target, a store or what stands for one. What exists there alone stays;
  --- `syncTo:` deletes it.
  --- > target := DictStore store. #DictStore{ a: 1 } copyTo: target. target at: 'a' ⇒ 1
  ["copyTo:"] = function(self, target)
    K.copyStore(self, K.asStore(target), "")
    return self
  end,
  --- -<Dictionary> syncTo:<any>target
  --- Makes the target equal to this store: writes what differs and deletes what does not exist here. Answers how many
  --- contents were `copied`, `unchanged` and `deleted`, and the `bytes`.
  --- > (#DictStore{ a: 1 } syncTo: #DictStore{ b: 2 }) at: 'deleted' ⇒ 1
  ["syncTo:"] = function(self, target) return K.copyStore(self, K.asStore(target), "", true) end,
  --- -<self> syncToTarget:<any>target
  --- Makes the target equal to this store, as `syncTo:` does.
  --- > target := #DictStore{ b: 2 }. #DictStore{ a: 1 } syncToTarget: target. target at: 'b' ⇒ nil
  ["syncToTarget:"] = function(self, target)
    K.copyStore(self, K.asStore(target), "", true)
    return self
  end,
  --- -<any> writeObject:<any>operation
  --- Repeats an operation of a log (`RESTOperation`) or a change here, at the same path; another value is posted to the
  --- root. Connections send it: `changes → store`.
  --- > copy := DictStore store. #LoggingStore{ source: #{ }, log: copy } at: 'a' put: 1. copy at: 'a' ⇒ 1
  ["writeObject:"] = function(self, operation)
    -- A store is a sink of REST operations: it repeats them on itself.
    if type(operation) == "table" and operation._isOperation then return operation:applyTo_(self) end
    K.storePost(self, "", operation)
    return self
  end,
  --- -<String> graphViz
  --- -<String> graph
  --- The store and those below it as a tree, in lines of text.
  --- > (ReadOnly storeWithSource: DictStore store) graph lines first ⇒ 'read only'
  ["graphViz"] = function(self) return native.drawGraph(K.nativeStore(self)) end,
  ["graph"] = function(self) return native.drawGraph(K.nativeStore(self)) end,
})

function K.copyStore(from, to, path, same)
  return native.copy(K.nativeStore(from), K.nativeStore(to), path, same or false, same or false)
end

-- Native stores ----------------------------------------------------------------------------------

--- A store that is part of Runnel: memory, files, databases, other servers. `DictStore` and `SiteMap` make stores in
--- memory; the others are reached by their schemes.
local NativeStore = K.newClass("NativeStore", Store)

local function nativeGet(self, reference) return K.storeGet(self, pathOf(reference), reference._scheme) end
K.answering[nativeGet] = function(self, reference)
  return K.storeGet(self, pathOf(reference), reference._scheme, true)
end
K.methods(NativeStore, {
  --- As in Store.
  ["at:"] = nativeGet,
  --- As in Store.
  ["at:put:"] = function(self, reference, value) return K.storePutAt(self, pathOf(reference), value) end,
  --- As in Store.
  ["at:post:"] = function(self, reference, value) return K.storePost(self, pathOf(reference), value) end,
  --- As in Store.
  ["merge:at:"] = function(self, value, reference) return K.storeMerge(self, pathOf(reference), value) end,
  --- As in Store.
  ["deleteAt:"] = function(self, reference) return K.storeDelete(self, pathOf(reference)) end,
  --- As in Store.
  ["childrenOfReference:"] = function(self, reference) return K.storeList(self, pathOf(reference)) end,
  --- -<String> description
  --- What the store is, in words for logs and graphs.
  --- > DictStore store description ⇒ 'memory dictionary'
  ["description"] = function(self) return native.describe(self._native) end,
})

-- For Rust: a native store as an object.
function K.makeStore(inner)
  return setmetatable({ _native = inner }, NativeStore._methods)
end

-- Makes each instance of a class of native stores a store of its own.
local function nativeClass(class, make, ...)
  for _, alias in ipairs { ... } do K.alias(alias, class) end
  K.classMethods(class, {
    --- DictStore +<self> new
    --- SiteMap +<self> new
    --- An empty store in memory.
    --- > DictStore new at: 'a' ⇒ nil
    ["new"] = function(self)
      local store = setmetatable({ _native = make() }, self._methods)
      return store:init() or store
    end,
  })
  K.methods(class, {
    --- DictStore -<self> init
    --- SiteMap -<self> init
    --- The store itself. A subclass overrides it to fill a new store.
    --- > DictStore new init at: 'a' ⇒ nil
    ["init"] = function(self) return self end,
  })
  return class
end

local function memory(kind)
  return function() return native.memory(kind)._native end
end

--- A key-value store in memory: a key is a whole path, and a dictionary after the class fills it. Values are stored by
--- reference, and are lost when the program ends.
local DictStore = nativeClass(K.newClass("DictStore", NativeStore), memory("dictionary"),
  "MPWDictStore", "RawDictStore", "DictionaryStore", "MemoryStore", "MPWPlistStore")
--- A tree in memory, like the pages of a web site: every node can have content and children, and doubled or trailing
--- slashes do not matter.
local SiteMap = K.newClass("SiteMap", NativeStore)
rawset(SiteMap, "_plainName", true) -- `scheme SiteMap { … }` is a scheme of the program
nativeClass(SiteMap, memory("site"), "MPWSiteMap", "MPWTreeNodeScheme", "TreeNodeStore", "SiteTree")
K.classMethods(DictStore, {
  --- +<self> storeWithDictionary:<Dictionary>entries
  --- A new store with each entry of the dictionary at the path that its key names, as the literal `#DictStore{ … }`.
  --- > (DictStore storeWithDictionary: #{ 'a/b': 1 }) at: 'a/b' ⇒ 1
  ["storeWithDictionary:"] = function(class, dictionary)
    local store = class:new()
    dictionary:keysAndValuesDo_(function(key, value) K.storePutAt(store, K.str(key), value) end)
    return store
  end,
})
K.methods(DictStore, {
  --- -<nothing> setDict:<Dictionary>entries
  --- Writes each entry of the dictionary at the path that its key names.
  --- > store := DictStore store. store setDict: #{ 'a/b': 1 }. store at: 'a/b' ⇒ 1
  ["setDict:"] = function(self, dictionary)
    dictionary:keysAndValuesDo_(function(key, value) K.storePutAt(self, K.str(key), value) end)
  end,
})

--- The variables of the program as a store, which is `scheme:var`; paths lead to keys, positions and properties.
local VariableStore = K.newClass("VariableStore", Store)
K.methods(VariableStore, {
  --- As in Store.
  ["at:"] = function(_, reference) return K.dynamicGet(pathOf(reference), K.default) end,
  --- As in Store.
  ["at:put:"] = function(_, reference, value) return K.dynamicPut(pathOf(reference), K.default, nil, value) end,
  --- As in Store.
  ["deleteAt:"] = function(_, reference)
    K.dynamicPut(pathOf(reference), K.default, nil, nil)
    return true
  end,
})
K.schemes.var = VariableStore:new()
K.schemes.default = K.schemes.var

-- Schemes of the program --------------------------------------------------------------------------

--- A store that a program defines by property paths: `scheme Notes { /today { get { … } } }`. It has no source, unlike
--- `MappingStore`.
local Scheme = K.newClass("Scheme", Store)
K.alias("MPWScheme", Scheme)

-- The path that a scheme is asked for. The first segment of a variable's reference names the variable, so
-- `store at: ref:var:any/tasks/7` asks for what is below it, as in the original.
local function pathAt(reference)
  local path = pathOf(reference)
  if type(reference) == "table" and reference._scheme == "var" then path = string.match(path, "^[^/]+/(.+)$") or path end
  return path
end

-- Asks the property paths, and `rest` for what they do not know.
local function byPath(verb, rest)
  return function(self, reference, value)
    local path = (K.splitPath(pathAt(reference)))
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
  --- As in Store.
  ["at:"] = schemeGet,
  --- As in Store.
  ["at:put:"] = byPath("put", base.at_put_),
  --- As in Store.
  ["at:post:"] = byPath("post", base.at_post_),
  --- As in Store.
  ["deleteAt:"] = byPath("delete", base.deleteAt_),
  --- As in Store.
  ["childrenOfReference:"] = byPath("list", base.childrenOfReference_),
})
local merge = byPath("merge", function(self, reference, value) return base.merge_at_(self, value, reference) end)
--- -<any> merge:<any>fields at:<Reference|String|Number>path
--- Changes the named fields of the record at the path (merge), by the `merge` handler of the path.
--- > { #Scheme{ } merge: #{ done: true } at: 'tasks/7' }
K.method(Scheme, "merge_at_", function(self, value, reference) return merge(self, reference, value) end)

--- A dictionary as a store: keys are names, and dictionaries in it are below them. `asStore` of a dictionary makes one.
local DictionaryView = K.newClass("DictionaryView", Store)
--- -<Dictionary> dictionary
--- The dictionary that the store shows; writes change it.
--- > settings := #{ a: 1 }. settings asStore dictionary = settings ⇒ true
K.ivar(DictionaryView, "dictionary")
local function inner(reference) return (string.gsub((K.splitPath(pathOf(reference))), "^/+", "")) end
K.methods(DictionaryView, {
  --- As in Store.
  ["at:"] = function(self, reference) return K.walk(self.i_dictionary, inner(reference)) end,
  --- As in Store.
  ["at:put:"] = function(self, reference, value)
    if value == nil then return self:deleteAt_(reference) end
    return K.walkPut(self.i_dictionary, inner(reference), value)
  end,
  --- As in Store.
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
  --- As in Store.
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
  --- -<Store> asScheme
  --- -<Store> asStore
  --- The dictionary as a store. It stays the same dictionary; nested dictionaries are paths below it.
  --- > #{ size: #{ width: 3 } } asStore at: 'size/width' ⇒ 3
  ["asScheme"] = K.dictionaryView,
  ["asStore"] = K.dictionaryView,
  --- -<LoggingStore> logger
  --- The dictionary as a store that reports each write to those that observe it.
  --- > settings := #{ }. settings logger at: 'a' put: 1. settings at: 'a' ⇒ 1
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
  if class._subs and K.isGuarded(class) then known = known .. " guarded" end
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
K.methods(Store, {
  --- -<self> nativeStore
  --- The store as the runtime holds it: itself. Runnel sends it.
  --- > store := DictStore store. store nativeStore = store ⇒ true
  ["nativeStore"] = function(self) return self end,
})

-- `var:store/key` reads from the store.
K.method(Store, "_property", function(self, name) return K.storeGet(self, K.str(name)) end)

-- `ref:… asScheme`
function K.relativeStore(store, path, scheme)
  return native.relative(K.nativeStore(store), path, scheme)
end
