-- `K.observe(reference, update)`: calls `update` after every change of what a reference names, with the
-- new value where it is known.
local K = ...
local type, rawget, tostring, setmetatable = type, rawget, tostring, setmetatable
local throw = K.throw

K.nilKeys._observe = true

local pathParts = K.pathParts

local function entryStop(entry)
  return function() K.unobserve(entry) end
end

local function isCollection(value)
  return type(value) == "table" and not K.isClass(value) and (value._isArray or value._isDictionary or value._isSet)
end

local function observeVariable(hub, read, update, isPlain)
  local inside = K.newInside(update)
  inside:enter(read())
  local function moved()
    local value = read()
    if type(value) == "table" or inside.entry then inside:enter(value) end
    return value
  end
  local entry = hub:add(function() update(moved()) end, moved, isPlain)
  return function()
    K.unobserve(entry)
    inside:leave()
  end
end

-- `parts` continues the path, up to the first step that is computed.
local function observeVariablePath(reference, update, parts, isPlain)
  local name, rest = string.match(reference._path, "^([^/]*)/?(.*)$")
  local isPartial = parts ~= nil
  if parts and rest ~= "" then parts = pathParts(rest .. "/" .. table.concat(parts, "/")) end
  if not parts and rest ~= "" then parts = pathParts(rest) end
  local cell, get = rawget(reference, "_cell"), rawget(reference, "_local")
  if not cell and K.defaultStore then return K.observeStore(K.defaultStore, reference._path, nil, update) end
  if not cell and K.variables[name] == nil and K.predefinedNames[name] then
    return K.observePath(K.predefined[name], parts or {}, update, reference:stringValue(), nil, nil, isPartial)
  end
  local hub = cell and K.localHub(name, get, cell) or K.variableHub(name)
  local read = cell and get or function() return K.variables[name] end
  if not parts then return observeVariable(hub, read, update, isPlain) end
  return K.observePath(read(), parts, update, reference:stringValue(), hub, read, isPartial)
end

-- A path of a store. What a dictionary tells, its view tells.
local function observeIn(store, path, scheme, update)
  if not K.isDictionaryView(store) then return K.observeStore(store, path, scheme, update) end
  local parts = pathParts(path)
  if #parts == 0 then return entryStop(K.collectionHub(store.i_dictionary):add(update)) end
  return K.observePath(store.i_dictionary, parts, update, (scheme or "") .. ":" .. path)
end

local function observeReference(reference, update, isPlain)
  local object = rawget(reference, "_object")
  if object ~= nil then
    local parts = rawget(reference, "_key") and { rawget(reference, "_key") } or pathParts(reference._path)
    return K.observePath(object, parts, update, reference:stringValue())
  end
  local scheme = reference._scheme
  if (scheme == "var" or scheme == "default") and not rawget(reference, "_store") then
    if rawget(reference, "_get") and not rawget(reference, "_cell") then
      throw("unsupported", reference:stringValue() .. " cannot tell of its changes",
        { i_hint = "name the variable by `ref:" .. tostring(reference._path) .. "`" })
    end
    return observeVariablePath(reference, update, nil, isPlain)
  end
  return observeIn(reference:store(), reference._path, scheme, update)
end

-- Answers what ends it. `isPlain` says that `update` neither waits nor fails.
function K.observe(reference, update, isPlain)
  if type(reference) == "table" and not K.isClass(reference) then
    local own = rawget(reference, "_observe")
    if own then return own(reference, update) end
    if reference._isReference then return observeReference(reference, update, isPlain) end
    if reference._isStore then return observeIn(reference, "", nil, update) end
    if isCollection(reference) then return entryStop(K.collectionHub(reference):add(update)) end
  end
  throw("unsupported", K.nameOf(reference) .. " cannot tell of its changes",
    { i_hint = "observe a reference, as in `ref:model:title`" })
end

-- What an expression reads by messages to what a reference names: `order price` of the variable
-- `order`. It is observed up to the first step that is neither a property nor an entry.
function K.partReference(base, path)
  local parts = pathParts(path)
  local reference = K.pathReference((base._path or "") .. "/" .. path, base._scheme)
  reference._get = function()
    local value = base:value()
    for i = 1, #parts do value = K.property(value, parts[i]) end
    return value
  end
  reference._observe = function(_, update)
    local object = rawget(base, "_object")
    if object ~= nil then
      local all = pathParts(base._path .. "/" .. path)
      return K.observePath(object, all, update, reference:stringValue(), nil, nil, true)
    end
    local isVariable = base._scheme == "var" and not rawget(base, "_store")
    if isVariable and (rawget(base, "_cell") or not rawget(base, "_get")) then
      return observeVariablePath(base, update, parts)
    end
    return K.observe(base, update)
  end
  return reference
end

-- `ref:x onChange: { :value | … }` -----------------------------------------------------------------

--- What `onChange:` answers: a block that observes a reference, until `stop`.
local Observation = K.newClass("Observation", K.classes.Object)
K.nilKeys._stop = true
K.methods(Observation, {
  --- -<self> stop
  --- Ends the observation.
  --- > n := 1. seen := []. watch := ref:n onChange: { :new | seen add: new }. watch stop. n := 2. seen ⇒ []
  ["stop"] = function(self)
    local stop = self._stop
    self._stop = nil
    if stop then stop() end
    return self
  end,
  --- -<Boolean> isActive
  --- Whether the observation has not been stopped.
  --- > n := 1. (ref:n onChange: { :new | new }) isActive ⇒ true
  ["isActive"] = function(self) return self._stop ~= nil end,
})

K.methods(K.classes.Reference, {
  --- -<Observation> onChange:<Block(value)>action
  --- Evaluates the block with the new value after each change of what the reference names. A reference whose store
  --- cannot report changes is an error of the kind `unsupported`.
  --- > n := 1. seen := []. ref:n onChange: { :new | seen add: new }. n := 2. seen ⇒ [2]
  ["onChange:"] = function(self, block)
    K.expectBlock(block, "onChange:")
    local stop = K.observe(self, function(value)
      if value == nil then value = self:value() end
      block(value)
    end)
    return setmetatable({ _stop = stop }, Observation._methods)
  end,
})
