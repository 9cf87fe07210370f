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
  local store = rawget(self, "_store")
  if store == nil and self._scheme == nil then
    throw("unknownScheme", string.format("the reference `%s` has no scheme and no store", self._path),
      { i_hint = "`store referenceForPath: path` answers a reference of a store" })
  end
  return store or K.schemeNamed(self._scheme)
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

-- The path as it is written, without a query.
local function plainPath(self) return string.match(self._path, "^[^?]*") end

local function joined(self, path)
  local inner, base = string.gsub(K.str(path), "^/+", ""), plainPath(self)
  -- Below an empty path, which is where relative ones begin, nothing becomes absolute.
  if base ~= "" then inner = string.gsub(base, "/+$", "") .. "/" .. inner end
  local result = setmetatable({ _scheme = self._scheme, _path = inner }, methods)
  result._store = rawget(self, "_store")
  return result
end

-- The names below a reference. To stores in memory, a path with a slash at its end is another one.
local function listed(self)
  local names = K.storeList(storeOf(self), self._path, self._scheme)
  if names ~= nil and #names > 0 or not find(self._path, "[^/]/+$") then return names end
  return K.storeList(storeOf(self), (string.gsub(self._path, "/+$", "")), self._scheme)
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
  --- -<any> value
  --- -<any> get
  --- What the store has at the reference, or the value of the variable; nil where nothing exists.
  --- > memory:city ← 'Bern'. ref:memory:city value ⇒ 'Bern'
  ["value"] = read,
  ["get"] = read,
  --- -<self> value:<any>newValue
  --- Writes the value and answers the reference; nil deletes. `put:` answers what the store answers instead.
  --- > ref:memory:city value: 'Bern'. memory:city ⇒ 'Bern'
  ["value:"] = function(self, value) write(self, value) return self end,
  --- -<nothing> setValue:<any>newValue
  --- Writes the value as `value:` does; nil deletes.
  --- > ref:memory:city setValue: 'Bern'. memory:city ⇒ 'Bern'
  ["setValue:"] = function(self, value) write(self, value) end,
  --- -<any> put:<any>newValue
  --- Writes the value and answers what the store answers: the value of a `put` handler, the content of an HTTP
  --- response. It is nil where the store only says that it wrote; for a variable it is the value.
  --- > ref:memory:city put: 'Bern'. memory:city ⇒ 'Bern'
  ["put:"] = function(self, value)
    if rawget(self, "_set") or isVariable(self) then return write(self, value) end
    local answer = K.storePutAt(storeOf(self), self._path, value, self._scheme)
    if type(answer) == "boolean" then return nil end
    return answer
  end,
  --- -<any> post:<any>entry
  --- Appends to a text or a list, or creates an entry below the reference, as the store defines it: a table gets a row,
  --- a file is appended to. Answers what the store answers. Unlike `+=`, it adds no number to a number in a store.
  --- > ref:memory:inbox delete. ref:memory:inbox post: 'mail'. memory:inbox ⇒ [ 'mail' ]
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
  --- -<any> merge:<any>fields
  --- Changes the named fields of a record and keeps the others (PATCH). It is an error where nothing exists, and of a
  --- variable.
  --- > memory:user ← #{ name: 'Ada' }. ref:memory:user merge: #{ age: 36 }. memory:user ⇒ #{ name: 'Ada', age: 36 }
  ["merge:"] = function(self, value) return K.storeMerge(storeOf(self), self._path, value, self._scheme) end,
  --- -<any> delete
  --- Deletes the content; a variable becomes nil. Answers whether something existed, or what a `delete` handler
  --- answers.
  --- > memory:draft ← 'text'. ref:memory:draft delete ⇒ true
  ["delete"] = function(self)
    if isVariable(self) then
      write(self, nil)
      return true
    end
    return K.storeDelete(storeOf(self), self._path, self._scheme)
  end,
  --- -<any> required
  --- The value, as `value`, but a missing value or an empty text is an error that names the reference.
  --- > ref:memory:missing required ⇒ error: memory:missing is not set
  ["required"] = function(self)
    return K.required(read(self), self:stringValue(), self._scheme or "")
  end,
  --- -<Boolean> isBound
  --- -<Boolean> exists
  --- Whether the reference has a value. The value is read to find out.
  --- > ref:memory:missing isBound ⇒ false
  ["isBound"] = function(self) return read(self) ~= nil end,
  ["exists"] = function(self) return read(self) ~= nil end,
  --- -<any> ifBound:<any>block
  --- Evaluates the block with the value if there is one, and answers its result; nil otherwise.
  --- > memory:city ← 'Bern'. ref:memory:city ifBound: { :city | city length } ⇒ 4
  ["ifBound:"] = function(self, block)
    local value = read(self)
    if value ~= nil then return K.valueOf(block, value) end
  end,
  --- -<any> ifNotBound:<any>block
  --- Evaluates the block if there is no value, and answers its result; nil otherwise.
  --- > ref:memory:missing ifNotBound: { 'nothing' } ⇒ 'nothing'
  ["ifNotBound:"] = function(self, block)
    if read(self) == nil then return K.valueOf(block) end
  end,
  --- -<Array> children
  --- The references directly below this one; empty where the store lists nothing there. `childNames` answers their
  --- names.
  --- > memory:team/ann ← 1. ref:memory:team children ⇒ [ ref:memory:team/ann ]
  ["children"] = function(self)
    local names = listed(self)
    if names == nil then return K.array({}, 0) end
    local list = {}
    for i = 1, #names do list[i] = joined(self, (string.gsub(K.str(names[i]), "?", "%%3F"))) end
    return K.array(list, #names)
  end,
  --- -<Array> childNames
  --- The names directly below the reference, as texts; a name with entries below it ends with a slash.
  --- > memory:team/ann ← 1. ref:memory:team childNames ⇒ [ 'ann' ]
  ["childNames"] = function(self)
    local names = listed(self)
    if names == nil then return K.array({}, 0) end
    local list = {}
    for i = 1, #names do list[i] = K.decodeSegment(K.str(names[i])) end
    return K.array(list, #names)
  end,
  --- -<String> presigned:<Duration>validity
  --- A URL with which anyone may read the content without credentials until the time is over: from 1 second to 7 days.
  --- Only stores of S3 have such URLs; it is an error of the others.
  --- > address := { ref:s3:shared/report.pdf presigned: 5 minutes }
  ["presigned:"] = function(self, validity)
    return K.storePresign(storeOf(self), self._path, self._scheme, "get", K.secondsOf(validity, "presigned:"))
  end,
  --- -<String> presigned:<Duration>validity for:<String>verb
  --- A URL as `presigned:` answers it, for the verb 'get', 'put' or 'delete'; another verb is an error.
  --- > upload := { ref:s3:shared/new.txt presigned: 5 minutes for: 'put' }
  ["presigned:for:"] = function(self, validity, verb)
    local seconds = K.secondsOf(validity, "for:")
    return K.storePresign(storeOf(self), self._path, self._scheme, K.expectText(verb, "for:"), seconds)
  end,
  --- -<Boolean> hasChildren
  --- Whether the store lists anything below the reference.
  --- > memory:team/ann ← 1. ref:memory:team hasChildren ⇒ true
  ["hasChildren"] = function(self)
    local names = listed(self)
    return names ~= nil and #names > 0
  end,
  --- -<String> path
  --- The path without the scheme and without the query.
  --- > ref:https://example.org/search?q=milk path ⇒ '//example.org/search'
  ["path"] = function(self) return (K.splitPath(self._path)) end,
  --- -<String?> query
  --- The text behind the question mark, as it is written; nil without one.
  --- > ref:https://example.org/search?q=milk query ⇒ 'q=milk'
  ["query"] = function(self) local _, query = K.splitPath(self._path) return query end,
  --- -<self> identifier
  --- -<self> reference
  --- The reference itself.
  --- > ref:file:a.txt reference ⇒ ref:file:a.txt
  ["identifier"] = function(self) return self end,
  --- -<String> identifierName
  --- The path with its query, as it is written, without the scheme.
  --- > ref:https://example.org/search?q=milk identifierName ⇒ '//example.org/search?q=milk'
  ["identifierName"] = function(self) return self._path end,
  ["reference"] = function(self) return self end,
  --- -<String?> schemeName
  --- The name of the scheme; `var` for a variable, and nil for a reference that belongs to a store without a name.
  --- > ref:file:a.txt schemeName ⇒ 'file'
  ["schemeName"] = function(self) return self._scheme end,
  --- -<String> name
  --- The last segment of the path, decoded and without a trailing slash; empty for the root.
  --- > ref:https://example.org/docs/index.html?lang=en name ⇒ 'index.html'
  ["name"] = function(self) return K.decodeSegment(string.match(plainPath(self), "([^/]*)/*$")) end,
  --- -<String> pathExtension
  --- What follows the last point of the last segment; empty without a point.
  --- > ref:https://example.org/docs/index.html?lang=en pathExtension ⇒ 'html'
  ["pathExtension"] = function(self) return string.match(plainPath(self), "%.([^./]*)$") or "" end,
  --- -<Array> pathComponents
  --- -<Array> relativePathComponents
  --- The segments of the path, decoded, without empty ones.
  --- > ref:file:notes/2026/today.txt pathComponents ⇒ [ 'notes', '2026', 'today.txt' ]
  ["pathComponents"] = function(self) local parts = split(plainPath(self)) return K.array(parts, #parts) end,
  ["relativePathComponents"] = function(self) local parts = split(plainPath(self)) return K.array(parts, #parts) end,
  --- -<Boolean> isRoot
  --- Whether the path is empty or a single slash.
  --- > ref:memory:/ isRoot ⇒ true
  ["isRoot"] = function(self) local path = plainPath(self) return path == "" or path == "/" end,
  --- -<Boolean> isAbsolute
  --- Whether the path begins with a slash.
  --- > ref:file:/etc/hosts isAbsolute ⇒ true
  ["isAbsolute"] = function(self) return string.sub(self._path, 1, 1) == "/" end,
  --- -<Boolean> hasTrailingSlash
  --- Whether the path ends with a slash.
  --- > ref:file:notes/ hasTrailingSlash ⇒ true
  ["hasTrailingSlash"] = function(self) return string.sub(plainPath(self), -1) == "/" end,
  --- -<self> parent
  --- The reference without its last segment and its query, in the same store; of a single segment it is the root.
  --- > ref:file:notes/2026/today.txt parent ⇒ ref:file:notes/2026
  ["parent"] = function(self)
    local path = string.gsub(plainPath(self), "/*[^/]*/*$", "")
    return setmetatable({ _scheme = self._scheme, _path = path, _store = rawget(self, "_store") }, methods)
  end,
  --- -<String> URL
  --- -<String> stringValue
  --- -<String> description
  --- The reference as text: scheme, colon and path with its query.
  --- > ref:file:notes/today.txt stringValue ⇒ 'file:notes/today.txt'
  ["URL"] = function(self) return (self._scheme and self._scheme .. ":" or "") .. self._path end,
  ["stringValue"] = function(self) return (self._scheme and self._scheme .. ":" or "") .. self._path end,
  ["description"] = function(self) return (self._scheme and self._scheme .. ":" or "") .. self._path end,
  --- -<Store> asScheme
  --- -<Store> asStore
  --- A store of everything below the reference. Of a database such as `sqlite:data.db/files` it is the key-value store
  --- of that name, which is made when it does not exist; of a variable it is the store or dictionary that the variable
  --- holds.
  --- > (ref:memory:shop asScheme) at: 'tea' put: 3. memory:shop/tea ⇒ 3
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
  --- -<any> store
  --- The store that the reference is read from and written to. An unknown scheme is an error.
  --- > ref:memory:a store = ref:memory:b store ⇒ true
  ["store"] = function(self) return storeOf(self) end,
  --- -<self> div:<any>name
  --- The reference of a name or path below this one, without the query of this one; `reference / name` is the same.
  --- > ref:file:notes div: '2026/today.txt' ⇒ ref:file:notes/2026/today.txt
  ["div:"] = joined,
  --- -<self> mkdir:<any>name
  --- Creates an empty folder of that name below the reference and answers its reference. It is for stores with folders,
  --- as `file:`.
  --- > ref:file:. mkdir: 'reports' ⇒ ref:file:./reports
  ["mkdir:"] = function(self, name)
    local at = joined(self, name)
    K.native.put(rawget(storeOf(at), "_native"), at._path, nil, at._scheme, nil)
    return at
  end,
  --- -<Boolean> isEqual:<any>other
  --- Whether the other is a reference with the same scheme, path and query, in the same store. Contents are not
  --- compared.
  --- > ref:file:a.txt isEqual: ref:file:a.txt ⇒ true
  ["isEqual:"] = function(self, other)
    return type(other) == "table" and rawget(other, "_path") == self._path and rawget(other, "_scheme") == self._scheme
      and rawget(other, "_store") == rawget(self, "_store")
  end,
  --- -<String> hash
  --- The same value for equal references: their text.
  --- > ref:file:a.txt hash = ref:file:a.txt hash ⇒ true
  ["hash"] = function(self) return self:stringValue() end,
  -- Streams: `! value` assigns, `?` reads.
  --- -<self> writeObject:<any>newValue
  --- Writes the value, so that a reference is the target of a connection: `value → ref:file:a.txt`. The last value
  --- stays.
  --- > ref:memory:last writeObject: 7. memory:last ⇒ 7
  ["writeObject:"] = function(self, value) write(self, value) return self end,
  --- -<any> nextObject
  --- The value, as `value` answers it, where a reference is read as a stream.
  --- > memory:city ← 'Bern'. ref:memory:city nextObject ⇒ 'Bern'
  ["nextObject"] = read,
  --- -<Array> lines
  --- The lines of the content as texts; empty where nothing exists. The whole content is read.
  --- > memory:log ← "one{newline}two". ref:memory:log lines ⇒ [ 'one', 'two' ]
  ["lines"] = function(self)
    local text = read(self)
    if text == nil then return K.array({}, 0) end
    return K.str(text):lines()
  end,
  --- -<ByteStream> outputStream
  --- -<ByteStream> writeStream
  --- A stream that posts each text that is written to it: a file is appended to. A missing entry in memory becomes a
  --- list of the texts.
  --- > ref:file:log.txt delete. (ref:file:log.txt outputStream) println: 'one'. ref:file:log.txt lines ⇒ [ 'one' ]
  ["outputStream"] = function(self)
    return K.byteStream { write = function(text) self:post_(text) end }
  end,
  ["writeStream"] = function(self) return self:outputStream() end,
  --- -<any> copyTo:<Reference>target
  --- Writes the value to the target and answers the target. For all content below, use `copyTo:` of a store.
  --- > memory:a ← 1. (ref:memory:a copyTo: ref:memory:b) value ⇒ 1
  ["copyTo:"] = function(self, target) target:setValue_(read(self)) return target end,
  --- -<self> copyFrom:<Reference>source
  --- Writes the value of the source here and answers this reference.
  --- > memory:a ← 1. ref:memory:b copyFrom: ref:memory:a. memory:b ⇒ 1
  ["copyFrom:"] = function(self, source) write(self, source:value()) return self end,
  --- -<nothing> traverse:<Block(each)>block
  --- Evaluates the block with each reference below this one, parents before children. More than 100 levels are an
  --- error.
  --- > memory:t/a/b ← 1. all := [ ]. ref:memory:t traverse: { :each | all add: each name }. all ⇒ [ 'a', 'b' ]
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
  --- -<String?> entityTag
  --- A text that changes with the content, for `replace:knowing:`; nil where nothing exists, and for variables. A store
  --- of the program has no tags, which is an error.
  --- > memory:plan ← 'a'. (ref:memory:plan entityTag) = ref:memory:plan entityTag ⇒ true
  ["entityTag"] = function(self)
    if rawget(self, "_get") or isVariable(self) then return nil end
    return K.storeTag(storeOf(self), self._path, self._scheme)
  end,
  --- -<self> create:<any>newValue
  --- Writes the value only if nothing exists, in one atomic step. Otherwise it is an error of kind `precondition`.
  --- > memory:seat ← 'Ann'. ref:memory:seat create: 'Ben' ⇒ error: create memory:seat: something is there already
  ["create:"] = function(self, value)
    return hold(self, putIf(self, value, "absent"), "create", "something is there already")
  end,
  --- -<self> replace:<any>newValue
  --- Writes the value only if something exists, in one atomic step. Otherwise it is an error of kind `precondition`.
  --- > ref:memory:missing replace: 1 ⇒ error: replace memory:missing: there is nothing to replace
  ["replace:"] = function(self, value)
    return hold(self, putIf(self, value, "present"), "replace", "there is nothing to replace")
  end,
  --- -<self> replace:<any>newValue knowing:<any>tag
  --- Writes the value only while the content has this entity tag (compare-and-swap). Otherwise it is an error of kind
  --- `precondition`.
  --- > memory:plan ← 'a'. ref:memory:plan replace: 'b' knowing: ref:memory:plan entityTag. memory:plan ⇒ 'b'
  ["replace:knowing:"] = function(self, value, tag)
    return hold(self, putIf(self, value, "tag", K.str(tag)), "replace", CHANGED)
  end,
  --- -<self> deleteKnowing:<any>tag
  --- Deletes the content only while it has this entity tag. Otherwise it is an error of kind `precondition`.
  --- > memory:plan ← 'a'. ref:memory:plan deleteKnowing: ref:memory:plan entityTag. memory:plan ⇒ nil
  ["deleteKnowing:"] = function(self, tag)
    return hold(self, K.storeDeleteIf(storeOf(self), self._path, self._scheme, "tag", K.str(tag)), "delete", CHANGED)
  end,
  --- -<any> update:<Block(value)>block
  --- Writes what the block makes of the value (nil if nothing exists) in one atomic step, and answers it. The block
  --- runs again after a concurrent write, at most 100 times; then it is an error of kind `conflict`.
  --- > ref:memory:hits delete. ref:memory:hits update: { :count | (count ifNil: { 0 }) + 1 } ⇒ 1
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

-- The value of an option as Rust reads it: one with a unit as a text.
function K.optionText(value)
  if type(value) ~= "table" then return value end
  if value._isDuration then return K.secondsText(value._seconds) end
  if value._isSize then return K.sizeText(K.sizeOf(value)) end
  return value
end

-- The same options with their values as Rust reads them.
function K.optionTexts(options)
  if type(options) ~= "table" or not options._isDictionary then return options end
  local keys, map, n = {}, {}, 0
  options:keysAndValuesDo_(function(key, value)
    n = n + 1
    keys[n] = K.str(key)
    map[keys[n]] = K.optionText(value)
  end)
  return K.dictionary(keys, map, n)
end

-- A database by its reference: `sqlite:tasks.db`, perhaps with a dictionary of options.
function K.databaseOf(reference, options)
  local database = K.native.database(reference._scheme, reference._path, K.optionTexts(options))
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

K.methods(Reference, {
  --- -<NativeStore|Reference> database
  --- The database that the reference names, such as `sqlite:shop.db` or `postgres://host/shop`; another scheme is an
  --- error.
  --- > ref:sqlite::memory: database run: 'select 1 as one' ⇒ [ #{ one: 1 } ]
  ["database"] = function(self) return K.databaseOf(self) end,
  --- -<NativeStore|Reference> database:<Dictionary>options
  --- The database, opened with options such as `maxConnections`, `busyTimeout` and `readOnly`. An unknown option, or
  --- other options than those with which it is open already, are errors.
  --- > db := { ref:sqlite:shop.db database: #{ maxConnections: 8, poolTimeout: 1 second } }
  ["database:"] = K.databaseOf,
})

K.methods(K.classes.String, {
  --- -<Reference> asReference
  --- The reference that the text spells, such as `env:DATABASE_URL asReference` for a database that the environment names. The
  --- text must be the program's own: who writes it chooses the scheme. A scheme that does not exist, a text without one, and
  --- `sh:`, which runs commands, are errors.
  --- > 'file:notes/today.txt' asReference path ⇒ 'notes/today.txt'
  --- > { 'notes/today.txt' asReference } onError: { :e | e kind } ⇒ 'invalid'
  ["asReference"] = function(self)
    local scheme, path = string.match(self, "^(%a%w+):(.*)$")
    if not scheme then
      throw("invalid", "this text is no reference: it has no scheme", { i_hint = "a reference is written like `file:notes/today.txt`" })
    end
    if scheme == "sh" then
      throw("denied", "a text does not become a reference to a shell command", { i_hint = "write `sh:` in the program itself" })
    end
    K.schemeNamed(scheme)
    return K.reference(scheme, path)
  end,
})
