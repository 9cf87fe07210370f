-- References as objects: `ref:scheme:path`.
local K = ...
local type, rawget, setmetatable = type, rawget, setmetatable
local throw = K.throw
local find = string.find
local Object = K.classes.Object

-- The address of a reference for browsers: `ref:/tasks/7` is a path of the server, others are as they are.
-- A segment of a reference may have any character; a hash sign, a blank or a quote would end the path of an
-- address (RFC 3986, section 3.3).
local NO_PATH = "[^%w%-%._~!$&'()*+,;=:@/%%?]"
local function percent(char) return string.format("%%%02X", string.byte(char)) end
function K.webAddress(reference)
  local path, scheme = reference._path, reference._scheme
  if (scheme == nil or scheme == "var" or scheme == "default") and find(path, "^/") then
    return (string.gsub(path, NO_PATH, percent))
  end
  return reference:stringValue()
end

-- Schemes in which `asScheme` may find, or make, a key-value store of the name that ends the path.
local DATABASES = { sqlite = true, postgres = true, postgresql = true }

local Reference = K.classes.Reference
local methods = Reference._methods

-- A local variable. `cell` keeps what observes it (observing/variable.lua), where the program names
-- it by `ref:`. With a path, a part of the variable's value.
function K.localReference(name, get, set, cell, path)
  local reference = { _scheme = "var", _path = name, _get = get, _set = set, _local = get, _cell = cell }
  if path then
    reference._path = name .. "/" .. path
    reference._get = function() return K.walk(get(), path) end
    reference._set = function(value) K.walkPut(get(), path, value) end
  end
  return setmetatable(reference, methods)
end

function K.elementReference(receiver, index)
  return setmetatable({
    _scheme = "var", _path = K.str(index), _object = receiver, _key = index,
    _get = function() return K.at(receiver, index) end,
    _set = function(value) K.atPut(receiver, index, value) end,
  }, methods)
end

function K.thisReference(self, path)
  return setmetatable({
    _scheme = "this", _path = path, _object = self,
    _get = function() return K.thisGet(self, path) end,
    _set = function(value) K.thisPut(self, path, value) end,
  }, methods)
end

function K.selfReference(self, path)
  return setmetatable({
    _scheme = "self", _path = path, _object = self,
    _get = function() return K.selfGet(self, path) end,
    _set = function(value) K.selfPut(self, path, value) end,
  }, methods)
end

function K.referenceInto(store, name, path)
  return setmetatable({ _scheme = name, _path = path, _store = K.asStore(store) }, methods)
end

function K.referenceIn(self, name, path)
  local store = K.schemes[name]
  if not store and self.schemeNames then store = K.property(self, name) end
  return setmetatable({ _scheme = name, _path = path, _store = store }, methods)
end

-- The store that a reference is looked up in.
local function storeOf(self)
  return rawget(self, "_store") or K.schemeNamed(self._scheme)
end

local function isVariable(self)
  return (self._scheme == "var" or self._scheme == "default") and not rawget(self, "_store")
end

local function read(self)
  local get = rawget(self, "_get")
  if get then return get() end
  if isVariable(self) then
    local path = self._path
    if not find(path, "/", 1, true) then return K.default[path] end
    local name, rest = string.match(path, "^([^/]*)/?(.*)$")
    local value = K.default[name]
    if rest == "" then return value end
    return K.walk(value, rest)
  end
  return K.storeGet(storeOf(self), self._path, self._scheme)
end

local function write(self, value)
  local set = rawget(self, "_set")
  if set then
    set(value)
  elseif isVariable(self) then
    local path = self._path
    if find(path, "/", 1, true) then K.dynamicPut(path, K.default, nil, value) else K.default[path] = value end
  else
    K.storePutAt(storeOf(self), self._path, value, self._scheme)
  end
  return value
end

local function split(path)
  local parts = {}
  for part in string.gmatch(path, "[^/]+") do parts[#parts + 1] = K.decodeSegment(part) end
  return parts
end

local function joined(self, path)
  local inner = string.gsub(K.str(path), "^/+", "")
  -- Below an empty path, which is where relative ones begin, nothing becomes absolute.
  if self._path ~= "" then inner = string.gsub(self._path, "/+$", "") .. "/" .. inner end
  local result = setmetatable({ _scheme = self._scheme, _path = inner }, methods)
  result._store = rawget(self, "_store")
  return result
end

local function postTo(self, value) return K.storePost(storeOf(self), self._path, value, self._scheme) end

-- A store in memory keeps an array of the program as the object that it is: what is posted becomes its
-- last element. Nothing runs between reading and writing it.
local function addToList(self, value, raised)
  if raised.i_kind ~= "conflict" or not K.isKind(storeOf(self), K.classes.DictStore) then error(raised, 0) end
  local held = read(self)
  if type(held) ~= "table" or not held._isArray then error(raised, 0) end
  local list, n = {}, #held
  for i = 1, n do list[i] = held[i] end
  list[n + 1] = value == nil and K.NULL or value
  write(self, K.array(list, n + 1))
  return value
end

K.methods(Reference, {
  ["value"] = read,
  ["get"] = read,
  ["value:"] = function(self, value) write(self, value) return self end,
  ["setValue:"] = function(self, value) write(self, value) end,
  -- What the store answers: the value of a handler, the content of another server's answer.
  ["put:"] = function(self, value)
    if rawget(self, "_set") or isVariable(self) then return write(self, value) end
    local answer = K.storePutAt(storeOf(self), self._path, value, self._scheme)
    if type(answer) == "boolean" then return nil end
    return answer
  end,
  ["post:"] = function(self, value)
    if rawget(self, "_get") or isVariable(self) then
      local held = read(self)
      if held == nil then
        write(self, K.array({ value }, 1))
      elseif type(held) == "number" or type(held) == "string" then
        write(self, K.add(held, value))
      else
        return held:writeObject_(value)
      end
      return value
    end
    local ok, answer = K.try(postTo, self, value)
    if ok then return answer end
    return addToList(self, value, answer)
  end,
  ["merge:"] = function(self, value) return K.storeMerge(storeOf(self), self._path, value, self._scheme) end,
  ["delete"] = function(self)
    if isVariable(self) then
      write(self, nil)
      return true
    end
    return K.storeDelete(storeOf(self), self._path, self._scheme)
  end,
  ["required"] = function(self)
    return K.required(read(self), self:stringValue(), self._scheme or "")
  end,
  ["isBound"] = function(self) return read(self) ~= nil end,
  ["exists"] = function(self) return read(self) ~= nil end,
  ["ifBound:"] = function(self, block)
    local value = read(self)
    if value ~= nil then return K.valueOf(block, value) end
  end,
  ["ifNotBound:"] = function(self, block)
    if read(self) == nil then return K.valueOf(block) end
  end,
  ["children"] = function(self)
    local names = K.storeList(storeOf(self), self._path, self._scheme)
    if names == nil then return K.array({}, 0) end
    local list = {}
    for i = 1, #names do list[i] = joined(self, (string.gsub(K.str(names[i]), "?", "%%3F"))) end
    return K.array(list, #names)
  end,
  ["childNames"] = function(self)
    local names = K.storeList(storeOf(self), self._path, self._scheme)
    if names == nil then return K.array({}, 0) end
    local list = {}
    for i = 1, #names do list[i] = K.decodeSegment(K.str(names[i])) end
    return K.array(list, #names)
  end,
  -- An address with which anyone may read the content for some time; `for:` names another verb.
  ["presigned:"] = function(self, validity)
    return K.storePresign(storeOf(self), self._path, self._scheme, "get", K.secondsOf(validity, "presigned:"))
  end,
  ["presigned:for:"] = function(self, validity, verb)
    local seconds = K.secondsOf(validity, "presigned:for:")
    return K.storePresign(storeOf(self), self._path, self._scheme, K.expectText(verb, "for:"), seconds)
  end,
  ["hasChildren"] = function(self)
    local names = K.storeList(storeOf(self), self._path, self._scheme)
    return names ~= nil and #names > 0
  end,
  ["path"] = function(self) return (K.splitPath(self._path)) end,
  ["query"] = function(self) local _, query = K.splitPath(self._path) return query end,
  ["identifier"] = function(self) return self end,
  ["identifierName"] = function(self) return self._path end,
  ["reference"] = function(self) return self end,
  ["schemeName"] = function(self) return self._scheme end,
  ["name"] = function(self) return K.decodeSegment(string.match(self._path, "([^/]*)/*$")) end,
  ["pathExtension"] = function(self) return string.match(self._path, "%.([^./]*)$") or "" end,
  ["pathComponents"] = function(self) local parts = split(self._path) return K.array(parts, #parts) end,
  ["relativePathComponents"] = function(self) local parts = split(self._path) return K.array(parts, #parts) end,
  ["isRoot"] = function(self) return self._path == "" or self._path == "/" end,
  ["isAbsolute"] = function(self) return string.sub(self._path, 1, 1) == "/" end,
  ["hasTrailingSlash"] = function(self) return string.sub(self._path, -1) == "/" end,
  ["parent"] = function(self)
    local path = string.gsub(self._path, "/*[^/]*/*$", "")
    return setmetatable({ _scheme = self._scheme, _path = path, _store = rawget(self, "_store") }, methods)
  end,
  ["URL"] = function(self) return (self._scheme and self._scheme .. ":" or "") .. self._path end,
  ["stringValue"] = function(self) return (self._scheme and self._scheme .. ":" or "") .. self._path end,
  ["description"] = function(self) return (self._scheme and self._scheme .. ":" or "") .. self._path end,
  ["asScheme"] = function(self)
    if isVariable(self) then return K.asStore(read(self)) end
    local inner = K.nativeStore(storeOf(self))
    local keyed = DATABASES[self._scheme] and K.native.keyValueAt(inner, self._path, self._scheme)
    if keyed then return keyed end
    local store = K.relativeStore(inner, self._path, self._scheme)
    if self._scheme == "sh" then store._commands = true end
    return store
  end,
  ["asStore"] = function(self) return self:asScheme() end,
  ["store"] = function(self) return storeOf(self) end,
  ["div:"] = joined,
  ["mkdir:"] = function(self, name)
    local at = joined(self, name)
    K.native.put(rawget(storeOf(at), "_native"), at._path, nil, at._scheme, nil)
    return at
  end,
  ["load"] = function(self)
    local source = read(self)
    if source == nil then throw("notFound", string.format("there is nothing at %s to load", self:stringValue())) end
    return K.loadSource(K.str(source), self:stringValue())
  end,
  ["isEqual:"] = function(self, other)
    return type(other) == "table" and rawget(other, "_path") == self._path and rawget(other, "_scheme") == self._scheme
      and rawget(other, "_store") == rawget(self, "_store")
  end,
  ["hash"] = function(self) return self:stringValue() end,
  -- Streams: `! value` assigns, `?` reads.
  ["writeObject:"] = function(self, value) write(self, value) return self end,
  ["nextObject"] = read,
  ["lines"] = function(self)
    local text = read(self)
    if text == nil then return K.array({}, 0) end
    return K.str(text):lines()
  end,
  -- A stream that appends to the content: `text → ref:file:log.txt outputStream`.
  ["outputStream"] = function(self)
    return K.byteStream { write = function(text) self:post_(text) end }
  end,
  ["writeStream"] = function(self) return self:outputStream() end,
  ["copyTo:"] = function(self, target) target:setValue_(read(self)) return target end,
  ["copyFrom:"] = function(self, source) write(self, source:value()) return self end,
  ["traverse:"] = function(self, block)
    local function visit(at, depth)
      if depth > 100 then throw("invalid", "the tree is deeper than 100 levels") end
      block(at)
      local children = at:children()
      for i = 1, #children do visit(children[i], depth + 1) end
    end
    local children = self:children()
    for i = 1, #children do visit(children[i], 1) end
  end,
})

-- Writing only when something is so ---------------------------------------------------------------

-- How often `update:` begins again when others write at the same time.
local UPDATES = 100

local function putIf(self, value, condition, tag)
  if rawget(self, "_get") or isVariable(self) then
    -- Nothing runs between the look and the write.
    if tag or (read(self) == nil) ~= (condition == "absent") then return false end
    write(self, value)
    return true
  end
  return K.storePutIf(storeOf(self), self._path, value, self._scheme, condition, tag)
end

local function hold(self, held, verb, message)
  if not held then throw("precondition", string.format("%s %s: %s", verb, self:stringValue(), message)) end
  return self
end

local CHANGED = "it has changed meanwhile; read it again"

K.methods(Reference, {
  -- What changes with the content, where the store knows it.
  ["entityTag"] = function(self)
    if rawget(self, "_get") or isVariable(self) then return nil end
    return K.storeTag(storeOf(self), self._path, self._scheme)
  end,
  ["create:"] = function(self, value)
    return hold(self, putIf(self, value, "absent"), "create", "something is there already")
  end,
  ["replace:"] = function(self, value)
    return hold(self, putIf(self, value, "present"), "replace", "there is nothing to replace")
  end,
  ["replace:knowing:"] = function(self, value, tag)
    return hold(self, putIf(self, value, "tag", K.str(tag)), "replace", CHANGED)
  end,
  ["deleteKnowing:"] = function(self, tag)
    return hold(self, K.storeDeleteIf(storeOf(self), self._path, self._scheme, "tag", K.str(tag)), "delete", CHANGED)
  end,
  -- Writes what the block makes of the present value; begins again after a concurrent write.
  ["update:"] = function(self, block)
    if rawget(self, "_get") or isVariable(self) then
      write(self, K.valueOf(block, read(self)))
      return read(self)
    end
    for _ = 1, UPDATES do
      -- The tag first: content that is newer than it makes the write fail, never the other way round.
      local tag = self:entityTag()
      local before = read(self)
      if tag == nil and before ~= nil then
        -- Written between the two looks, or without tags at all.
        tag = self:entityTag()
        before = read(self)
        if tag == nil and before ~= nil then
          throw("notAllowed", string.format("update %s: its store has no entity tags", self:stringValue()))
        end
      end
      local after = K.valueOf(block, before)
      if putIf(self, after, tag and "tag" or "absent", tag) then return after end
    end
    throw("conflict", string.format("update %s: others wrote it %d times meanwhile", self:stringValue(), UPDATES))
  end,
})

-- Adding: `count += 1`, `log += entry` --------------------------------------------------------------------

local function isNumber(value)
  return type(value) == "number" or (type(value) == "table" and value._isBig == true)
end

-- A store of the program, where adding is not what its `post` says: reading and writing take turns.
local function addInProgram(self, store, value)
  local verbs = " " .. K.serveVerbs(store, self._path) .. " "
  local function has(verb) return string.find(verbs, " " .. verb .. " ", 1, true) ~= nil end
  if has("post") or not (has("get") and has("put")) then return self:post_(value) end
  return K.inTurn(self:stringValue(), function()
    local held = read(self)
    if not isNumber(held) then return self:post_(value) end
    return write(self, K.add(held, value))
  end)
end

-- Lists by store and path, and how often they may still be posted to without a look: reading a
-- list costs as much as it is long, so the looks get rarer as it grows.
local lists = setmetatable({}, { __mode = "k" })
local MOST_LISTS = 1000 -- paths that are known of a store

-- Posts to a list that is known: whether it still was one.
local function postToList(self, inner, value)
  local known = lists[inner]
  local left = known and known.left[self._path]
  if not left then return false end
  known.left[self._path] = left > 1 and left - 1 or nil
  local ok, answer = K.try(self.post_, self, value)
  if ok then return true, answer end
  -- A number is there now.
  if answer.i_kind == "conflict" then return false end
  error(answer, 0)
end

local function rememberList(inner, path, count)
  local known = lists[inner]
  if not known or known.count >= MOST_LISTS then
    known = { count = 0, left = {} }
    lists[inner] = known
  end
  known.count = known.count + 1
  known.left[path] = count
end

-- Adds where the store holds a number, by compare and swap: whether it is done, and the sum.
local function addOnce(self, inner, value)
  local posted, answer = postToList(self, inner, value)
  if posted then return true, answer end
  local held, tag = K.storeNumber(inner, self._path, self._scheme)
  if held == nil then
    if tag then rememberList(inner, self._path, tag) end
    return true, self:post_(value)
  end
  if tag == nil then
    throw("notAllowed", string.format("%s += %s: its store cannot add in one step", self:stringValue(), K.str(value)),
      { i_hint = string.format("`ref:%s post: …` posts the number", self:stringValue()) })
  end
  -- A store that keeps texts keeps the sum as a text.
  local sum = K.add(isNumber(held) and held or K.classes.String._methods.asNumber(held), value)
  if putIf(self, isNumber(held) and sum or K.str(sum), "tag", tag) then return true, sum end
  return false
end

-- A number is added to a number, in one step of the store; anything else is posted.
function K.addTo(self, value)
  if not isNumber(value) or rawget(self, "_get") or isVariable(self) then return self:post_(value) end
  local store = storeOf(self)
  local inner = K.nativeOf(store)
  if not inner then return addInProgram(self, store, value) end
  local done, sum = addOnce(self, inner, value)
  if done then return sum end
  -- Others add at the same time: those of this worker take turns.
  return K.inTurn(self:stringValue(), function()
    for _ = 1, UPDATES do
      done, sum = addOnce(self, inner, value)
      if done then return sum end
    end
    throw("conflict", string.format("%s += %s: others wrote it %d times meanwhile", self:stringValue(),
      K.str(value), UPDATES))
  end)
end

function K.post(target, value)
  if type(target) == "table" and target._isReference then return K.addTo(target, value) end
  if target == nil then throw("nilValue", "`+=` needs something to add to, not nil") end
  return target:writeObject_(value)
end

-- The same options with durations as numbers of seconds.
local function inSeconds(options)
  if type(options) ~= "table" or not options._isDictionary then return options end
  local keys, map, n = {}, {}, 0
  options:keysAndValuesDo_(function(key, value)
    n = n + 1
    keys[n] = K.str(key)
    if type(value) == "table" and value._isDuration then value = value._seconds end
    map[keys[n]] = value
  end)
  return K.dictionary(keys, map, n)
end

-- A database by its reference: `sqlite:tasks.db`, perhaps with a dictionary of options.
function K.databaseOf(reference, options)
  local database = K.native.database(reference._scheme, reference._path, inSeconds(options))
  -- What stands for a server is its reference, which has been told the options.
  if (reference._scheme == "postgres" or reference._scheme == "postgresql") and (database ~= nil or options == nil) then
    return reference
  end
  if database == nil then
    throw("unsupported", string.format("%s is no database", reference:stringValue()),
      { i_hint = "a database is written like `sqlite:tasks.db`" })
  end
  return database
end

K.methods(Reference, { ["database"] = function(self) return K.databaseOf(self) end, ["database:"] = K.databaseOf })

-- Runs a source once: `ref:file:lib.st load`. What it defines stays.
local loaded = {}
function K.loadSource(source, name)
  if loaded[name] then return nil end
  loaded[name] = true
  local chunk = K.native.compile(source, name)
  return chunk(K)
end

-- Frameworks of the original are built in: loading one does nothing.
local Framework = K.newClass("Framework", Object)
K.ivar(Framework, "name")
K.methods(Framework, { ["load"] = function(self) return self end })
function K.framework(name) return setmetatable({ i_name = name }, Framework._methods) end
