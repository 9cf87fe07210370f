-- Constraints: `a |= b`, `a =|= b`.
local K = ...
local type, rawget, setmetatable = type, rawget, setmetatable
local throw = K.throw
local classes = K.classes

local function is(thing, name)
  return type(thing) == "table" and classes[name] ~= nil and K.isKind(thing, classes[name])
end

local Constraint = K.newClass("Constraint", classes.Object)
for _, key in ipairs { "_left", "_right" } do K.nilKeys[key] = true end

-- The store behind a reference, if it reports its changes.
local function tellingStore(reference)
  local store = rawget(reference, "_store")
  if not store then
    local scheme = reference._scheme
    if scheme == "var" or scheme == "default" then store = K.defaultStore else store = K.schemes[scheme] end
  end
  if type(store) == "table" and store._isStore and is(store, "LoggingStore") then return store end
end

local function plain(path) return (string.gsub(path, "^/+", "")) end

local function follow(left, right)
  local path = plain(right._path)
  local function update()
    -- What is the same already is not written again: two ends that follow each other come to rest.
    local value = right:value()
    if not K.eq(left:value(), value) then left:setValue_(value) end
  end
  local store = tellingStore(right)
  if not store then
    K.observe(right, update)
    return
  end
  store:follow_(function(changed)
    if plain(changed) == path then update() end
  end)
end

local function followStores(left, right)
  local source = K.schemeNamed(right._path)
  if not is(source, "LoggingStore") then
    source = source:logger()
    K.schemes[right._path] = source
  end
  local target = K.schemeNamed(left._path)
  source:follow_(function(path)
    local value = K.storeGet(source, path)
    if K.eq(K.storeGet(target, path), value) then return end
    if value == nil then K.storeDelete(target, path) else K.storePutAt(target, path, value) end
  end)
  return source
end

K.methods(Constraint, {
  ["update"] = function(self)
    self._left:setValue_(self._right:value())
    return self
  end,
  ["source"] = function(self)
    if self._right._scheme == "scheme" then return K.schemeNamed(self._right._path) end
    return self._right
  end,
  ["target"] = function(self) return self._left end,
})

function K.constrain(left, right, both)
  local function reference(thing) return type(thing) == "table" and thing._isReference end
  if not reference(left) or not reference(right) then
    throw("typeError", "a constraint joins two references or variables",
      { i_hint = "write a name or `scheme:path` on both sides" })
  end
  if left._scheme == "scheme" and right._scheme == "scheme" then
    followStores(left, right)
    if both then followStores(right, left) end
  else
    follow(left, right)
    if both then follow(right, left) end
  end
  return setmetatable({ _left = left, _right = right }, Constraint._methods)
end
