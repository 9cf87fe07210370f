-- Schemes and references: how `scheme:path` reads and writes.
local K = ...
local type, rawget, setmetatable = type, rawget, setmetatable
local native, throw = K.native, K.throw

K.nilKeys._native, K.nilKeys._store = true, true
local schemes, variables, split, observedFields = K.schemes, K.variables, K.splitPath, K.observedFields
-- Observed stores: native ones in memory by their native part, others themselves; by path. Empty unless
-- something is observed (observing/store.lua).
local observed = {}
K.observedStores = observed

-- The store of a scheme.
function K.schemeNamed(name)
  local store = schemes[name]
  if store == nil then
    store = native.scheme(name)
    if store == nil then
      throw("unknownScheme", string.format("there is no scheme `%s:`", name),
        { i_hint = string.format("install it first: `scheme:%s ← …`", name) })
    end
    schemes[name] = store
  end
  return store
end
local schemeNamed = K.schemeNamed

function K.installScheme(name, store)
  if name == "default" then
    return K.replaceDefault(store)
  end
  schemes[name] = K.asStore(store)
  for _, known in ipairs(K.installed) do
    if known == name then return end
  end
  K.installed[#K.installed + 1] = name
end

-- What can stand for a store: a store, a reference (its relative store), a dictionary, a server.
function K.asStore(thing)
  if thing == nil then throw("nilValue", "a scheme needs a store, not nil") end
  if type(thing) == "table" and not K.isClass(thing) and thing._isReference then return thing:asScheme() end
  if K.isClass(thing) then return thing:store() end
  if type(thing) == "table" and thing._isDictionary then return thing:asStore() end
  return thing
end

-- Verbs on any store ------------------------------------------------------------------------------

-- The native store of a store, if it is one. Combinators become one when they are first asked;
-- `false` says that one never does.
K.nilKeys._combines = true
local function nativeOf(store)
  if type(store) ~= "table" then return nil end
  local inner = rawget(store, "_native")
  if inner ~= nil or not store._combines then return inner end
  store:nativeStore()
  return rawget(store, "_native")
end
K.nativeOf = nativeOf

-- Native stores are asked by their verbs; stores of the program by messages with a reference.
-- With `client`, what is read is the answer to a client: content stays what it is, and nothing may run
-- between this and the end of the fiber.
-- `note` is called with each read while something tracks reads (observing/tracking.lua).
local reads = { note = nil }
K.storeReads = reads
K.answering = {} -- an `at:` of the kernel → the same for a client
function K.storeGet(store, path, scheme, client)
  if reads.note then reads.note(store, path, scheme) end
  local inner = nativeOf(store)
  if inner then
    local at, query = split(path)
    if client then return native.getAnswer(inner, at, query, scheme) end
    local value = native.get(inner, at, query, scheme)
    if type(value) == "table" and value._isRows then value:_foundAt(inner, at, query, scheme) end
    return value
  end
  local answering = client and type(store) == "table" and K.answering[store.at_]
  if answering then return answering(store, K.pathReference(path, scheme)) end
  return store:at_(K.pathReference(path, scheme))
end

-- `store at: path` as the answer of a `get`.
function K.answerAt(store, path, client)
  if client and type(store) == "table" and not K.isClass(store) and store._isStore
    and K.answering[store.at_] then
    return K.storeGet(store, K.pathOf(path), type(path) == "table" and path._scheme or nil, client)
  end
  return store:at_(path)
end

-- A store of the program reports writes through it to its watchers. Watchers that no reader
-- asked for do not exist, so others pay for one look.
local function tell(store, kind, path)
  local watchers = type(store) == "table" and rawget(store, "_watchers")
  if watchers then native.publish(watchers, kind, (split(path))) end
  if observed[store] then observed[store](path) end
end
K.tellWatchers = tell

-- For Rust: the watchers of a store of the program.
function K.watchersOf(store)
  if type(store) ~= "table" or K.isClass(store) or not store._isStore then return nil end
  local watchers = rawget(store, "_watchers")
  if not watchers then
    watchers = native.watchers()
    store._watchers = watchers
  end
  return watchers
end

-- A verb that carries a value. Putting nil is deleting, in every store.
local function carrying(verb, send)
  return function(store, path, value, scheme)
    if value == nil and verb == "put" then
      K.storeDelete(store, path, scheme)
      return nil
    end
    local inner = nativeOf(store)
    if inner then
      local at, query = split(path)
      if type(value) == "table" and value._isRows then value = value:_content() end
      local answer = native[verb](inner, at, query, scheme, value)
      if observed[inner] then observed[inner](at) end
      return answer
    end
    local answer = send(store, K.pathReference(path, scheme), value)
    tell(store, "changed", path)
    return answer
  end
end

K.storePutAt = carrying("put", function(store, at, value) return store:at_put_(at, value) end)
K.storePost = carrying("post", function(store, at, value) return store:at_post_(at, value) end)
K.storeMerge = carrying("merge", function(store, at, value) return store:merge_at_(value, at) end)

function K.storeDelete(store, path, scheme)
  local inner = nativeOf(store)
  if inner then
    local at, query = split(path)
    local answer = native.delete(inner, at, query, scheme)
    if observed[inner] then observed[inner](at) end
    return answer
  end
  local answer = store:deleteAt_(K.pathReference(path, scheme))
  tell(store, "deleted", path)
  return answer
end

-- Writes under a condition, for native stores alone: a store of the program could only look first.
local function conditional(store)
  local inner = nativeOf(store)
  if inner then return inner end
  throw("notAllowed", "a store of the program cannot write under a condition")
end

function K.storeTag(store, path, scheme)
  local at, query = split(path)
  return native.entityTag(conditional(store), at, query, scheme)
end

-- The number that a native store holds, or the text of one, and its tag; for a list nil and how
-- many elements it has; nil for anything else.
function K.storeNumber(inner, path, scheme)
  local at, query = split(path)
  local found = native.heldNumber(inner, at, query, scheme)
  if type(found) ~= "table" then return nil, found end
  local tag = found[2]
  if tag == K.NULL then tag = nil end
  return found[1], tag
end

-- Whether it was written. The condition is `absent`, `present` or `tag`.
function K.storePutIf(store, path, value, scheme, condition, tag)
  if value == nil then
    -- Where nothing is, nothing needs to be deleted.
    if condition == "absent" then return K.storeGet(store, path, scheme) == nil end
    return K.storeDeleteIf(store, path, scheme, condition, tag)
  end
  local at, query = split(path)
  if type(value) == "table" and value._isRows then value = value:_content() end
  local inner = conditional(store)
  local written = native.putIf(inner, at, query, scheme, value, condition, tag)
  if written and observed[inner] then observed[inner](at) end
  return written
end

function K.storeDeleteIf(store, path, scheme, condition, tag)
  local at, query = split(path)
  local inner = conditional(store)
  local deleted = native.deleteIf(inner, at, query, scheme, condition, tag)
  if deleted and observed[inner] then observed[inner](at) end
  return deleted
end

function K.storeList(store, path, scheme)
  if reads.note then reads.note(store, path, scheme) end
  local inner = nativeOf(store)
  if inner then
    local at, query = split(path)
    return native.list(inner, at, query, scheme)
  end
  return store:childrenOfReference_(K.pathReference(path, scheme))
end

-- An address with which anyone may do one verb for some time.
function K.storePresign(store, path, scheme, verb, seconds)
  local inner = nativeOf(store)
  local at, query = split(path)
  if inner then return native.presign(inner, at, query, scheme, verb, seconds) end
  K.throw("notAllowed", (scheme and scheme .. ":" or "") .. at .. " has no presigned addresses; a store of S3 has them")
end

-- `scheme:path` in generated code ------------------------------------------------------------------

function K.fetch(name, path, client)
  return K.storeGet(schemes[name] or schemeNamed(name), path, name, client)
end

function K.storePut(name, path, value)
  K.storePutAt(schemes[name] or schemeNamed(name), path, value, name)
  return value
end

-- A store in an instance variable, used as a scheme of its own name.
function K.fetchFrom(store, name, path, client)
  if store == nil then throw("nilValue", string.format("`%s:` is not set: there is no store in it", name)) end
  return K.storeGet(K.asStore(store), path, nil, client)
end

function K.putInto(store, name, path, value)
  if store == nil then throw("nilValue", string.format("`%s:` is not set: there is no store in it", name)) end
  K.storePutAt(K.asStore(store), path, value)
  return value
end

-- In a method: the object's own schemes come first (`source:`, the names in `schemeNames`).
local function ownStore(self, name)
  if self.schemeNames then
    local names = self:schemeNames()
    if names then
      for i = 1, #names do
        if names[i] == name then return K.property(self, name) end
      end
    end
  end
  return schemeNamed(name)
end

function K.fetchIn(self, name, path, client) return K.storeGet(ownStore(self, name), path, name, client) end
function K.putIn(self, name, path, value)
  K.storePutAt(ownStore(self, name), path, value, name)
  return value
end

function K.classNamed(name)
  local class = K.classes[name]
  if not class then throw("unknownClass", string.format("there is no class `%s`", name)) end
  return class
end

-- Variables by name ---------------------------------------------------------------------------------

-- Follows `a/b/c` from a value: keys, positions, properties, nested stores.
function K.walk(value, path, client)
  local at = value
  for part in string.gmatch(path, "[^/]+") do
    if at == nil then return nil end
    if type(at) == "table" and not K.isClass(at) and at._isStore then
      local from = string.find(path, part, 1, true)
      return K.storeGet(at, string.sub(path, from), nil, client)
    end
    if type(at) == "table" and K.hasPath(at) then
      local from = string.find(path, part, 1, true)
      local found, answer = K.tryPath(at, "get", string.sub(path, from))
      if found then return answer end
    end
    at = K.property(at, K.decodeSegment(part))
  end
  return at
end

function K.walkPut(value, path, new)
  local parent, last = string.match(path, "^(.*)/([^/]+)$")
  local at = value
  if parent then at = K.walk(value, parent) else last = path end
  if at == nil then throw("nilValue", string.format("there is nothing at `%s` to put `%s` into", parent or "", last)) end
  if type(at) == "table" and at._isStore then return K.storePutAt(at, last, new) end
  return K.setProperty(at, K.decodeSegment(last), new)
end

local function unknownName(name)
  throw("unknownName", string.format("nothing is called `%s` here", name),
    { i_hint = string.format("give it a value first: `%s ← …`", name) })
end

function K.dynamicGet(path, script, locals)
  local first, rest = string.match(path, "^([^/]*)/?(.*)$")
  local value
  if locals and locals[first] then
    value = locals[first][1]()
  elseif script and script[first] ~= nil then
    value = script[first]
  elseif K.predefinedNames[first] then
    value = K.predefined[first]
  elseif K.classes[first] then
    value = K.classes[first]
  else
    unknownName(first)
  end
  if rest == "" then return value end
  return K.walk(value, rest)
end

function K.dynamicPut(path, script, locals, value)
  local first, rest = string.match(path, "^([^/]*)/?(.*)$")
  if rest ~= "" then return K.walkPut(K.dynamicGet(first, script, locals), rest, value) end
  if locals and locals[first] then
    locals[first][2](value)
  elseif script then
    script[first] = value
  else
    unknownName(first)
  end
  return value
end

-- The script's variables once `scheme:default` was replaced: reads and writes go to that store.
K.default = setmetatable({}, {
  __index = function(_, name)
    if not K.defaultStore then return variables[name] end
    return K.storeGet(K.defaultStore, name)
  end,
  __newindex = function(_, name, value)
    if not K.defaultStore then
      variables[name] = value
    else
      K.storePutAt(K.defaultStore, name, value)
    end
  end,
})

-- Of a store, `this:` means its own variables first: its paths are what others ask for. Answers the
-- variable's field, and the path within its value.
local function ownVariable(self, path)
  if type(self) ~= "table" or not self._isStore then return nil end
  local first, rest = string.match(path, "^([^/]*)/?(.*)$")
  local declared = K.classOf(self)._ivars
  for i = 1, #declared do
    if declared[i] == first then return K.ivarKey(first), rest end
  end
end

-- A method of the program without arguments, which `this:name` of a store asks before its paths.
local function ownMethod(self, path)
  if type(self) ~= "table" or not self._isStore then return nil end
  local first, rest = string.match(path, "^([^/]*)/?(.*)$")
  local name, class = K.mangle(first), K.classOf(self)
  while class and rawget(class, "_program") do
    local method = rawget(class._own, name)
    if method then return method, rest end
    class = class._super
  end
end

function K.thisGet(self, path, client)
  local field, rest = ownVariable(self, path)
  if field then return K.walk(self[field], rest, client) end
  local method, below = ownMethod(self, path)
  if method then return K.walk(method(self), below, client) end
  return K.walk(self, path)
end
function K.thisPut(self, path, value)
  local field, rest = ownVariable(self, path)
  if not field then return K.walkPut(self, path, value) end
  if rest ~= "" then return K.walkPut(self[field], rest, value) end
  self[field] = value
  if observedFields[field] then observedFields[field](self) end
  return value
end
function K.selfGet(self, path)
  local found, answer = K.tryPath(self, "get", path)
  if found then return answer end
  if self._isStore then return K.storeGet(self, path) end
  return K.walk(self, path)
end
function K.selfPut(self, path, value)
  local found = K.tryPath(self, "put", path, value)
  if found then return value end
  if self._isStore then return K.storePutAt(self, path, value) end
  return K.walkPut(self, path, value)
end
