-- Changes of stores: `ref:file:notes changes` is a source of what is written there from then on.
local K = ...
local type, rawget, setmetatable = type, rawget, setmetatable
local native, throw = K.native, K.throw

for _, key in ipairs { "_watch", "_fiber", "_watched", "_of", "_isSocket", "_unobserve", "_event" } do K.nilKeys[key] = true end

local function isVariable(reference)
  local named = reference._scheme == "var" or reference._scheme == "default" and not K.defaultStore
  return rawget(reference, "_get") ~= nil or named and rawget(reference, "_store") == nil
end

-- A change: its kind (`changed`, `deleted`, `lost`), its path, the present content.
local Change = K.newClass("Change", K.classes.Object)
K.ivar(Change, "kind")
K.ivar(Change, "path")
K.methods(Change, {
  ["reference"] = function(self)
    if rawget(self._of, "_get") or isVariable(self._of) then return self._of end
    local reference = K.pathReference(self.i_path, self._of._scheme)
    reference._store = rawget(self._of, "_store")
    return reference
  end,
  -- The content that the change carries, else the present content.
  ["value"] = function(self)
    local value = rawget(self, "_value")
    if value ~= nil then return value end
    if self.i_kind == "deleted" then return nil end
    return self:reference():value()
  end,
  -- What caused it, where a server tells (`s3:ObjectCreated:Put`).
  ["event"] = function(self) return self._event end,
  -- Where to go on after it, in a change feed.
  ["cursor"] = function() return nil end,
  ["isDeletion"] = function(self) return self.i_kind == "deleted" end,
  ["isLost"] = function(self) return self.i_kind == "lost" end,
  ["description"] = function(self) return self.i_kind .. " " .. self.i_path end,
  ["stringValue"] = function(self) return self:description() end,
  -- Repeats the change in another store, at the same path.
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

-- The source of them.
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
  local change = setmetatable({ i_kind = told[1], i_path = told[2], _event = told[4], _of = self._watched },
    Change._methods)
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
  ["next"] = nextOf,
  ["nextObject"] = nextOf,
  ["do:"] = each,
  ["produce"] = function(self) each(self, function(change) self:forward_(change) end) end,
  ["stop"] = function(self)
    native.unwatch(self._watch)
    if self._unobserve then self._unobserve() end
    self._unobserve = nil
    return self
  end,
  -- In a fiber of its own: to a store, which repeats each change, or to a stream.
  ["connect:"] = function(self, target)
    if K.isClass(target) then target = K.isSubclass(target, K.classes.Store) and target:store() or target:new() end
    if type(target) == "function" then target = K.classes.MapFilter:filterWithBlock_(target) end
    local follower = type(target) == "table" and not K.isClass(target) and target._follower
    local deliver = follower and follower(target, self)
    if deliver then
      -- An index follows in its own way.
    elseif type(target) == "table" and target._isStore then
      deliver = function(change) change:applyTo_(target) end
    elseif type(target) == "table" and target._isDictionary then
      local store = K.asStore(target)
      deliver = function(change) change:applyTo_(store) end
    elseif K.isKind(target, K.classes.ByteStream) then
      deliver = function(change) target:println_(change) end
    else
      deliver = function(change) target:writeObject_(change) end
    end
    self._fiber = K.fork(function()
      return K.alone(function() each(self, deliver) end)
    end)
    if type(target) == "table" and target._isSocket then target:_followed(self) end
    return self
  end,
  ["description"] = function(self) return "changes of " .. self._watched:stringValue() end,
})

-- The changes of a reference from a watch.
function K.changesFrom(reference, watch, unobserve)
  local source = Changes:new()
  source._watched, source._watch, source._unobserve = reference, watch, unobserve
  return source
end

local function changesOf(reference) return K.changesFrom(reference, open(reference)) end

K.methods(K.classes.Reference, { ["changes"] = changesOf })
K.methods(K.classes.Store, {
  ["changes"] = function(self)
    local reference = K.pathReference("")
    reference._store = self
    return changesOf(reference)
  end,
})
K.methods(K.classes.Dictionary, { ["changes"] = function(self) return K.dictionaryView(self):changes() end })
