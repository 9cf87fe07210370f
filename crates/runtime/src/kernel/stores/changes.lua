-- Changes of stores: `ref:file:notes changes` is a source of what is written there from then on.
local K = ...
local type, rawget, setmetatable = type, rawget, setmetatable
local native, throw = K.native, K.throw

for _, key in ipairs { "_watch", "_fiber", "_watched", "_of", "_isSocket", "_unobserve", "_event" } do K.nilKeys[key] = true end

local function isVariable(reference)
  local named = reference._scheme == "var" or reference._scheme == "default" and not K.defaultStore
  return rawget(reference, "_get") ~= nil or named and rawget(reference, "_store") == nil
end

--- A change of a store or a variable, as `changes` answers it: its kind, its path and the present value.
local Change = K.newClass("Change", K.classes.Object)
--- -<String> kind
--- 'changed', 'deleted', or 'lost' where a reader was too slow: then everything below the path may have changed.
--- > scheme:w ← DictStore store. changes := ref:w: changes. w:a ← 1. changes next kind ⇒ 'changed'
K.ivar(Change, "kind")
--- -<String> path
--- The path of what changed, in its store.
--- > scheme:w ← DictStore store. changes := ref:w: changes. w:a ← 1. changes next path ⇒ 'a'
K.ivar(Change, "path")
K.methods(Change, {
  --- -<Reference> reference
  --- The reference of what changed.
  --- > scheme:w ← DictStore store. changes := ref:w: changes. w:a ← 1. changes next reference ⇒ ref:w:a
  ["reference"] = function(self)
    if rawget(self._of, "_get") or isVariable(self._of) then return self._of end
    local reference = K.pathReference(self.i_path, self._of._scheme)
    reference._store = rawget(self._of, "_store")
    return reference
  end,
  --- -<any> value
  --- The content that the change carries, otherwise the content at the moment; nil after a deletion.
  --- > scheme:w ← DictStore store. changes := ref:w: changes. w:a ← 1. changes next value ⇒ 1
  ["value"] = function(self)
    local value = rawget(self, "_value")
    if value ~= nil then return value end
    if self.i_kind == "deleted" then return nil end
    return self:reference():value()
  end,
  --- -<String?> event
  --- What caused the change, where a server reports it, such as 's3:ObjectCreated:Put'; nil otherwise.
  --- > scheme:w ← DictStore store. changes := ref:w: changes. w:a ← 1. changes next event ⇒ nil
  ["event"] = function(self) return self._event end,
  --- -<any> cursor
  --- The place to continue from after this change, for changes of a change feed; nil for others.
  --- > scheme:w ← DictStore store. changes := ref:w: changes. w:a ← 1. changes next cursor ⇒ nil
  ["cursor"] = function() return nil end,
  --- -<Boolean> isDeletion
  --- Whether the content was deleted.
  --- > scheme:w ← DictStore store. changes := ref:w: changes. w:a ← 1. changes next isDeletion ⇒ false
  ["isDeletion"] = function(self) return self.i_kind == "deleted" end,
  --- -<Boolean> isLost
  --- Whether changes were dropped, so that everything below the path is to be read again.
  --- > scheme:w ← DictStore store. changes := ref:w: changes. w:a ← 1. changes next isLost ⇒ false
  ["isLost"] = function(self) return self.i_kind == "lost" end,
  --- -<String> description
  --- -<String> stringValue
  --- The kind and the path.
  --- > scheme:w ← DictStore store. changes := ref:w: changes. w:a ← 1. changes next stringValue ⇒ 'changed a'
  ["description"] = function(self) return self.i_kind .. " " .. self.i_path end,
  ["stringValue"] = function(self) return self:description() end,
  --- -<any> applyTo:<Store>target
  --- Repeats the change in another store, at the same path, and answers that store. After lost changes everything below
  --- the path is synchronized.
  --- > scheme:w ← DictStore store. changes := ref:w: changes. w:a ← 1. (changes next applyTo: #{ } asStore) at: 'a' ⇒ 1
  ["applyTo:"] = function(self, target)
    local path = self.i_path
    if self.i_kind == "lost" then
      if self:reference():isBound() then
        K.copyStore(self._of:store(), target, path, true)
      else
        K.storeDelete(target, path)
      end
      return target
    end
    local value = self:value()
    if value == nil then K.storeDelete(target, path) else K.storePutAt(target, path, value) end
    return target
  end,
})
K.nilKeys._value = true
rawset(Change._methods, "_isOperation", true)

--- The changes below a reference from a moment on, as a stream. At most 1,024 changes wait for a reader; more of them
--- become one of the kind 'lost'.
local Changes = K.newClass("Changes", K.classes.Source)

-- Variables, and what lies in their values, publish their changes through a store of their own, which
-- the watch of the reference watches. Answers what ends it, too.
local function openVariable(reference)
  local store = K.classes.Store:new()
  local watch = native.watch(store, reference._path, nil, reference._scheme)
  local watchers = K.watchersOf(store)
  return watch, K.observe(reference, function() native.publish(watchers, "changed", reference._path) end)
end

local function open(reference)
  if isVariable(reference) then return openVariable(reference) end
  local path, query = K.splitPath(reference._path)
  return native.watch(K.nativeStore(reference:store()), path, query, reference._scheme)
end

local function nextOf(self)
  local told = native.nextChange(self._watch)
  if told == nil then return nil end
  local event = told[4]
  if event == K.NULL then event = nil end
  local change = setmetatable({ i_kind = told[1], i_path = told[2], _event = event, _of = self._watched }, Change._methods)
  change._value = native.changeContent(self._watch)
  return change
end

local function each(self, block)
  while true do
    local change = self:next()
    if change == nil then return self end
    block(change)
  end
end

K.methods(Changes, {
  --- -<Change?> next
  --- -<Change?> nextObject
  --- Waits for the next change and answers it; nil after `stop`.
  --- > scheme:w ← DictStore store. changes := ref:w: changes. w:a ← 1. changes next path ⇒ 'a'
  ["next"] = nextOf,
  ["nextObject"] = nextOf,
  --- -<self> do:<Block(change)>block
  --- Evaluates the block with each change, until `stop` is sent.
  --- > changes := ref:memory:q changes. memory:q ← 1. changes do: { :each | changes stop }. changes next ⇒ nil
  ["do:"] = each,
  --- -<nothing> produce
  --- Forwards each change to the target of a connection, until `stop` is sent.
  --- > { ref:file:notes changes produce }
  ["produce"] = function(self) each(self, function(change) self:forward_(change) end) end,
  --- -<self> stop
  --- Ends the watch; a fiber that waits in `next` gets nil.
  --- > scheme:w ← DictStore store. changes := ref:w: changes. w:a ← 1. changes stop next ⇒ nil
  ["stop"] = function(self)
    native.unwatch(self._watch)
    if self._unobserve then self._unobserve() end
    self._unobserve = nil
    return self
  end,
  --- -<self> connect:<any>target
  --- Forwards each change to a target in a fiber of its own, which ends with the program. A store repeats the changes,
  --- a printing stream writes a line for each, and a block, filter or list gets each change. An arrow sends it.
  --- > { ref:file:notes changes → scheme:memory }
  ["connect:"] = function(self, target)
    if K.isClass(target) then target = K.isSubclass(target, K.classes.Store) and target:store() or target:new() end
    if type(target) == "function" then target = K.classes.MapFilter:filterWithBlock_(target) end
    local follower = type(target) == "table" and not K.isClass(target) and target._follower
    local repeats = true
    local deliver = follower and follower(target, self)
    if deliver then
      -- An index follows in its own way.
    elseif type(target) == "table" and target._isStore then
      deliver = function(change) change:applyTo_(target) end
    elseif type(target) == "table" and target._isDictionary then
      local store = K.asStore(target)
      deliver = function(change) change:applyTo_(store) end
    elseif K.isKind(target, K.classes.ByteStream) then
      deliver, repeats = function(change) target:println_(change) end, false
    else
      -- The end of another port ends the connection.
      repeats = K.isKind(target, K.classes.MapFilter)
      deliver = function(change) target:writeObject_(change) end
    end
    local name, deliverOne = self:description(), deliver
    if repeats then
      deliverOne = function(change) K.deliver("follower", name, change:description(), deliver, change) end
    end
    self._fiber = K.fork(function()
      return K.alone(function() each(self, deliverOne) end)
    end)
    if type(target) == "table" and target._isSocket then target:_followed(self) end
    return self
  end,
  --- -<String> description
  --- What is watched.
  --- > ref:memory:notes changes description ⇒ 'changes of memory:notes'
  ["description"] = function(self) return "changes of " .. self._watched:stringValue() end,
})

-- The changes of a reference from a watch.
function K.changesFrom(reference, watch, unobserve)
  local source = Changes:new()
  source._watched, source._watch, source._unobserve = reference, watch, unobserve
  return source
end

local function changesOf(reference) return K.changesFrom(reference, open(reference)) end

K.methods(K.classes.Reference, {
  --- -<Changes> changes
  --- The changes of the content there and below from now on, as a stream; also those of a variable. A store that
  --- reports no changes is an error: `#Polling{ }` in front of it finds them.
  --- > scheme:w ← DictStore store. changes := ref:w: changes. w:a ← 1. changes next path ⇒ 'a'
  ["changes"] = changesOf,
})
K.methods(K.classes.Store, {
  --- -<Changes> changes
  --- The changes of all content of the store from now on, as a stream.
  --- > store := DictStore store. changes := store changes. store at: 'a' put: 1. changes next path ⇒ 'a'
  ["changes"] = function(self)
    local reference = K.pathReference("")
    reference._store = self
    return changesOf(reference)
  end,
})
K.methods(K.classes.Dictionary, {
  --- -<Changes> changes
  --- The changes of the entries from now on, as a stream. The value of a change is the dictionary; its path is empty.
  --- > settings := #{ a: 1 }. changes := settings changes. settings at: 'a' put: 2. changes next value ⇒ #{ a: 2 }
  ["changes"] = function(self)
    local reference = K.pathReference("")
    reference._get = function() return self end
    reference._observe = function(_, update) return K.observe(self, update) end
    return changesOf(reference)
  end,
})
