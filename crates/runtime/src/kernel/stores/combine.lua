-- Combinators: stores made of stores. This file is how they are made; combinators.lua says which
-- there are.
--
-- A combinator that is used as it is becomes a native store when it is first asked: what passes
-- through it enters no fiber. A subclass of the program that overrides something, or that has
-- property paths, is asked through messages, and the native store lies below it.
local K = ...
local type, rawget, getmetatable = type, rawget, getmetatable
local native, pathOf, throw = K.native, K.pathOf, K.throw
local Scheme = K.classes.Scheme

for _, key in ipairs { "_inner", "_combines", "_options" } do K.nilKeys[key] = true end

-- The source of a combinator, wherever it was set.
local function sourceOf(self)
  local source = self.i_source
  if source == nil then
    throw("nilValue", string.format("%s has no source", K.nameOf(self)),
      { i_hint = "connect it: `combinator → store`, or set its `source:`" })
  end
  return source
end
K.sourceOf = sourceOf

--- A store that passes everything on to its source. A subclass maps references and values by overriding
--- `mapReference:`, `mapRetrievedObject:forReference:` and `mapObjectToStore:forReference:`; its property paths come
--- first.
local Mapping = K.newClass("MappingStore", Scheme)
K.alias("MPWMappingStore", Mapping)
--- -<any> source
--- The store behind this one; nil before it is set or connected.
--- > #ReadOnly{ source: DictStore store } source description ⇒ 'memory dictionary'
K.ivar(Mapping, "source")

local standard -- the methods as they are here, to tell what a program has overridden
local function isPlain(self)
  local methods = getmetatable(self)
  for name, method in pairs(standard) do
    if rawget(methods, name) ~= method then return false end
  end
  return K.routesOf(methods._class).empty
end

-- Stores that would ask themselves are refused where they are connected: they would never answer.
local DEEPEST = 100
local function reaches(store, target, depth)
  if store == target then return true end
  if type(store) ~= "table" or depth > DEEPEST or K.isClass(store) or not store._isStore then return false end
  local source, stores = rawget(store, "i_source"), rawget(store, "i_stores")
  if source ~= nil and reaches(source, target, depth + 1) then return true end
  for i = 1, stores and #stores or 0 do
    if reaches(stores[i], target, depth + 1) then return true end
  end
  return false
end

local function noRing(self, store)
  if reaches(store, self, 0) then
    throw("invalid", string.format("%s would be its own source", K.nameOf(self)),
      { i_hint = "connect it to a store that does not lead back to it" })
  end
  return store
end

-- What native code gets of a combinator: options as plain values, sources, names of the sources.
local function parts(self)
  local kind = self._combines
  local keys, map, n = {}, {}, 0
  for name, read in pairs(self._options) do
    local value = rawget(self, K.ivarKey(name))
    if value ~= nil and type(read) == "function" then
      n = n + 1
      keys[n], map[name] = name, read(value, name, self)
    end
  end
  if kind.more then
    kind.more(self, function(name, value)
      n = n + 1
      keys[n], map[name] = name, value
    end)
  end
  local options = K.dictionary(keys, map, n)
  if not kind.parts then return options, { sourceOf(self) }, {} end
  local sources, names = kind.parts(self)
  return options, sources, names
end

-- The native store below a combinator, made when it is first needed. Its handle stays the same when
-- an option or a source is set later: every holder sees the change.
local function combine(self, handle)
  local options, sources, names = parts(self)
  for i = 1, #sources do sources[i] = K.nativeStore(sources[i]) end
  return native.combine(handle, self._combines.kind, options, sources, K.array(names, #names))
end

local function inner(self)
  local made = rawget(self, "_inner")
  if not made then
    local new = combine(self)
    -- Another fiber may have made it while this one was preempted: there is one for all, with its limits and entries.
    made = rawget(self, "_inner")
    if not made then
      made, self._inner = new, new
      if isPlain(self) then self._native = new._native end
    end
  end
  return made
end
K.innerStore = inner

-- After an option or a source was set.
local function changed(self)
  local made = rawget(self, "_inner")
  if made then combine(self, made._native) end
end
K.combinatorChanged = changed

local function below(self)
  if self._combines.kind == "pass" then return sourceOf(self) end
  return inner(self)
end

local function mapped(self, reference)
  if type(reference) ~= "table" then reference = K.pathReference(K.str(reference)) end
  return self:mapReference_(reference)
end

local function byPath(verb, rest)
  return function(self, reference, value)
    local found, answer = K.tryPath(self, verb, (K.splitPath(pathOf(reference))), value, reference)
    if found then return answer end
    return rest(self, reference, value)
  end
end

local function keepObject(_, object) return object end
local mappedGet = byPath("get", function(self, reference)
  local value = K.storeGet(below(self), pathOf(mapped(self, reference)))
  if value == nil then return nil end
  return self:mapRetrievedObject_forReference_(value, reference)
end)
-- For a client, content that is not mapped stays what it is: a file with its media type and its stream.
K.answering[mappedGet] = function(self, reference)
  if self.mapRetrievedObject_forReference_ ~= keepObject then return mappedGet(self, reference) end
  local found, answer = K.tryPath(self, "get", (K.splitPath(pathOf(reference))), nil, reference, true)
  if found then return answer end
  return K.storeGet(below(self), pathOf(mapped(self, reference)), nil, true)
end

K.methods(Mapping, {
  --- -<nothing> setSource:<any>source
  --- Sets the store behind this one: a store, or what stands for one. A store that leads back to this one is an error.
  --- > store := ReadOnly new. store setSource: #DictStore{ a: 1 }. store at: 'a' ⇒ 1
  ["setSource:"] = function(self, source)
    self.i_source = source ~= nil and noRing(self, K.asStore(source)) or nil
    changed(self)
  end,
  --- -<Array> schemeNames
  --- The names of variables that are schemes in methods of the class. Any class may define it; a mapping store has
  --- `source:`.
  --- > MappingStore new schemeNames ⇒ [ 'source' ]
  ["schemeNames"] = function() return K.array({ "source" }, 1) end,
  --- -<self> nativeStore
  --- The store itself, prepared so that requests pass it without a fiber, where nothing is overridden. Runnel sends it.
  --- > #ReadOnly{ source: #DictStore{ a: 1 } } nativeStore at: 'a' ⇒ 1
  ["nativeStore"] = function(self)
    if isPlain(self) then inner(self) else self._native = false end
    return self
  end,
  --- -<any> mapReference:<Reference>reference
  --- The reference, or path, that the source is asked for. A subclass overrides it; by itself it changes nothing.
  --- > MappingStore new mapReference: ref:memory:a ⇒ ref:memory:a
  ["mapReference:"] = function(_, reference) return reference end,
  --- -<any> reverseMapReference:<Reference>reference
  --- The counterpart of `mapReference:`, from the source to this store. No store sends it, so overriding it has no
  --- effect.
  --- > MappingStore new reverseMapReference: ref:memory:a ⇒ ref:memory:a
  ["reverseMapReference:"] = function(_, reference) return reference end,
  --- -<any> mapRetrievedObject:<any>object forReference:<Reference>reference
  --- What a reader gets for a value of the source. A subclass overrides it; nil of the source is not mapped.
  --- > MappingStore new mapRetrievedObject: 'text' forReference: ref:memory:a ⇒ 'text'
  ["mapRetrievedObject:forReference:"] = keepObject,
  --- -<any> mapObjectToStore:<any>object forReference:<Reference>reference
  --- What is written to the source for a value that is put, posted or merged. A subclass overrides it.
  --- > MappingStore new mapObjectToStore: 'text' forReference: ref:memory:a ⇒ 'text'
  ["mapObjectToStore:forReference:"] = function(_, object) return object end,
  --- As in Store.
  ["at:"] = mappedGet,
  --- As in Store.
  ["at:put:"] = byPath("put", function(self, reference, value)
    K.storePutAt(below(self), pathOf(mapped(self, reference)),
      self:mapObjectToStore_forReference_(value, reference))
    return value
  end),
  --- As in Store.
  ["at:post:"] = byPath("post", function(self, reference, value)
    return K.storePost(below(self), pathOf(mapped(self, reference)),
      self:mapObjectToStore_forReference_(value, reference))
  end),
  --- As in Store.
  ["deleteAt:"] = byPath("delete", function(self, reference)
    return K.storeDelete(below(self), pathOf(mapped(self, reference)))
  end),
  --- As in Store.
  ["childrenOfReference:"] = byPath("list", function(self, reference)
    return K.storeList(below(self), pathOf(mapped(self, reference)))
  end),
})
--- -<any> merge:<any>fields at:<Reference|String|Number>path
--- Changes the named fields of the record at the path, by a `merge` handler of this store or in the source.
--- > memory:m ← #{ a: 1 }. #Ensure{ source: scheme:memory } merge: #{ b: 2 } at: 'm'. memory:m ⇒ #{ a: 1, b: 2 }
K.method(Mapping, "merge_at_", function(self, value, reference)
  local found, answer = K.tryPath(self, "merge", (K.splitPath(pathOf(reference))), value, reference)
  if found then return answer end
  return K.storeMerge(below(self), pathOf(mapped(self, reference)),
    self:mapObjectToStore_forReference_(value, reference))
end)

standard = {}
for _, selector in ipairs {
  "at:", "at:put:", "at:post:", "merge:at:", "deleteAt:", "childrenOfReference:", "mapReference:",
  "reverseMapReference:", "mapRetrievedObject:forReference:", "mapObjectToStore:forReference:",
} do standard[K.mangle(selector)] = Mapping._methods[K.mangle(selector)] end

-- Literals of combinators: a key is an option, and a wrong one says which are meant.
local function optionNames(class)
  local names = {}
  for i = 1, #class._ivars do names[i] = class._ivars[i] end
  table.sort(names)
  return names
end

K.classMethod(Mapping, "_literal", function(class, keys, values, n)
  local object = class:new()
  for i = 1, n do
    local key, value = K.str(keys[i]), values[i]
    if value == nil then throw("nilValue", key .. " of " .. K.nameOf(object) .. " is nil in its literal") end
    if not K.setDeclared(object, class, key, value) then
      local present = (class._methods._combines.former or {})[key]
      if present then
        throw("unknownProperty", string.format("`%s` of %s is now `%s`", key, K.nameOf(object), present))
      end
      local names = optionNames(class)
      local near = K.nearest(key, names)
      throw("unknownProperty", string.format("%s has no option `%s`", K.nameOf(object), key), {
        i_hint = near and "did you mean `" .. near .. "`?" or "its options are " .. table.concat(names, ", "),
      })
    end
  end
  local check = object._combines.check
  if check then check(object) end
  return K.connected(object)
end)

-- Kinds of options: each answers what native code is given, or says what is wrong ---------------------

local function wrong(self, name, what, value)
  local secret = self._combines.secret
  if secret and secret[name] then
    throw("typeError", string.format("`%s` of %s must be %s", name, K.nameOf(self), what))
  end
  throw("typeError", string.format("`%s` of %s must be %s, not %s", name, K.nameOf(self), what, K.nameOf(value)))
end

local take = {}
K.optionKinds = take

function take.seconds(value, name, self)
  local seconds = K.durationOf(value, name .. ":")
  if not seconds then wrong(self, name, "a duration such as `5 seconds`", value) end
  if not (seconds >= 0 and seconds <= 315360000) then
    throw("invalid", string.format("`%s` of %s must lie from 0 to ten years", name, K.nameOf(self)))
  end
  return seconds
end

function take.size(value, name, self)
  local bytes = K.sizeOf(value, name .. ":")
  if not bytes or bytes < 0 then wrong(self, name, "a size such as `5 megabytes` or '5M'", value) end
  return bytes
end

function take.count(value, name, self)
  if type(value) ~= "number" or value ~= math.floor(value) or value < 0 or value > 2 ^ 53 then
    wrong(self, name, "a whole number that is not negative", value)
  end
  return value
end

function take.rate(value, name, self)
  if type(value) ~= "number" or not (value > 0 and value <= 1e9) then
    wrong(self, name, "a number above 0", value)
  end
  return value
end

function take.flag(value, name, self)
  if type(value) ~= "boolean" then wrong(self, name, "true or false", value) end
  return value
end

function take.text(value, name, self)
  if type(value) ~= "string" then
    if type(value) == "table" and value._isText then return K.str(value) end
    wrong(self, name, "a text", value)
  end
  return value
end

function take.class(value, name, self)
  if not K.isClass(value) then wrong(self, name, "a class", value) end
  return value._name
end

-- The options of a message, a dictionary or nil, as a table of Lua: those of `what`, for errors. `readers` has a function
-- of the value, the name and `self` for each option. Any other option is an error: a misspelt one must not be without effect.
function K.readOptions(given, what, self, readers)
  if given == nil then return {} end
  if type(given) ~= "table" or K.isClass(given) or not given._isDictionary then
    throw("typeError", "the options of " .. what .. " must be a dictionary, not " .. K.nameOf(given))
  end
  local read = {}
  given:keysAndValuesDo_(function(key, value)
    key = K.str(key)
    local reader = readers[key]
    if reader then
      read[key] = reader(value, key, self)
      return
    end
    local names = {}
    for name in pairs(readers) do names[#names + 1] = name end
    table.sort(names)
    local near = K.nearest(key, names)
    throw("unknownProperty", string.format("%s has no option `%s`", what, key),
      { i_hint = near and "did you mean `" .. near .. "`?" or "its options are " .. table.concat(names, ", ") })
  end)
  return read
end

-- Another store than the source; native code gets it among the sources.
take.store = "store"

-- The value of an option of a native combinator as plain data; its definition checks the rest.
local NOTHING = K.dictionary({}, {}, 0)
local function plainValue(kind, value, name)
  local luaType = type(value)
  if kind == "seconds" then
    local seconds = K.durationOf(value, name .. ":")
    return seconds and K.secondsText(seconds) or NOTHING
  elseif kind == "size" then
    local bytes = K.sizeOf(value, name .. ":")
    return bytes and K.sizeText(bytes) or NOTHING
  end
  if luaType == "number" or luaType == "string" or luaType == "boolean" then return value end
  if luaType == "table" and value._isText then return K.str(value) end
  if kind == "texts" and luaType == "table" and value._isArray then return value end
  if kind == "record" and luaType == "table" and not K.isClass(value) and value._isDictionary then return value end
  return NOTHING
end

-- The reader of an option whose definition names the kind of its values.
local function settingReader(class, kind)
  if kind == "store" or kind == "class" then return take[kind] end
  return function(value, name, self)
    local plain = plainValue(kind, value, name)
    local wanted = native.checkSetting(class, name, plain)
    if wanted then wrong(self, name, wanted, value) end
    return plain
  end
end

-- Makes a class of native combinators:
--   name, aliases: what programs call it; or the class is given
--   kind: what native code calls it
--   options: name → reader of the option, or the name of the kind of its values
--   former: old name → name of the option; secret: name → whether no message shows the value
--   check(self): refuses options that do not belong together, once a literal has set them
--   parts(self): its sources, and their names, where they are not just `source`
function K.nativeCombinator(definition, made)
  local class = made or K.newClass(definition.name, definition.super or Mapping)
  class._plainName = true
  for _, alias in ipairs(definition.aliases or {}) do K.alias(alias, class) end
  K.method(class, "_combines", definition)
  local options, durations, sizes = {}, {}, {}
  for name, kind in pairs(definition.options or {}) do
    if kind == "seconds" or kind == take.seconds then durations[#durations + 1] = name end
    if kind == "size" or kind == take.size then sizes[#sizes + 1] = name end
    options[name] = type(kind) == "string" and settingReader(definition.name, kind) or kind
  end
  K.method(class, "_options", options)
  K.method(class, "_durations", durations)
  K.method(class, "_sizes", sizes)
  for name, kind in pairs(options) do
    K.ivar(class, name)
    local key = K.ivarKey(name)
    K.method(class, K.mangle(K.setterName(name)), function(self, value)
      if value ~= nil then
        if kind == "store" then value = noRing(self, K.asStore(value)) else kind(value, name, self) end
      end
      self[key] = value
      changed(self)
    end)
  end
  return class
end
K.noRing = noRing
