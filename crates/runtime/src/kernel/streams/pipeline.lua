-- Pipelines: several filters in a row as one stream; what stands for a filter in a list; sources.
local K = ...
local type = type
local byte, sub = string.byte, string.sub
local throw = K.throw
local WriteStream = K.classes.WriteStream

-- The stream that a component of a pipeline stands for: a stream or a class of streams; a block; an
-- array (the object goes to each of them); and texts: `-name` sends a message, `[key]` looks up,
-- `%…` formats, `!command` runs a command, any other is a property path.
function K.toStream(component)
  if type(component) == "function" then return K.mapFilter(component) end
  if type(component) == "string" then return K.streamOfText(component) end
  if K.isClass(component) then
    if component._methods._isStream then return component:stream() end
    return component:new()
  end
  if type(component) == "table" and component._isArray then
    return K.classes.ScatterStream:filters_(component)
  end
  if K.isStream(component) or K.understands(component, "writeObject_") then return component end
  throw("typeError", "a pipeline has streams, blocks, texts and arrays, not "
    .. K.nameOf(component))
end

-- First byte of a text → what makes its stream, for files that are loaded later.
K.textStreams = {}
function K.streamOfText(text)
  local first = byte(text)
  if first == 45 then -- -name
    local name = K.mangle(sub(text, 2))
    return K.mapFilter(function(object) return object[name](object) end)
  end
  if first == 91 and byte(text, -1) == 93 then -- [key]
    local key = sub(text, 2, -2)
    local number = key:asNumber()
    return K.mapFilter(function(object)
      if number and object._isArray then return K.at(object, number) end
      return K.property(object, key)
    end)
  end
  if first == 37 then -- %…
    return K.mapFilter(function(object) return K.format(text, { object }, 1) end)
  end
  local make = K.textStreams[first]
  if make then return make(text) end
  return K.mapFilter(function(object) return K.propertyPath(object, text) end)
end

-- Pipelines -------------------------------------------------------------------------------------

local Pipeline = K.newClass("Pipeline", WriteStream)
K.alias("MPWPipeline", Pipeline)
K.nilKeys._filters = true
K.method(Pipeline, "_filters", false)

local function link(self)
  local filters = self._filters
  for i = 1, #filters - 1 do filters[i]:setFinalTarget_(filters[i + 1]) end
  local last = filters[#filters]
  if last and self._target and K.endsByDefault(last) then last:setFinalTarget_(self._target) end
  return self
end

local function setFilters(self, list)
  list = K.elementsOf(list, "filters:")
  self._filters = {}
  for i = 1, #list do self._filters[i] = K.toStream(list[i]) end
  return link(self)
end

local function toFirst(selector)
  return function(self, object)
    local first = self._filters and self._filters[1]
    if first then return first[selector](first, object) end
    if self._target then return self._target[selector](self._target, object) end
  end
end

local function lastFilter(self)
  local filters = self._filters
  return filters and filters[#filters]
end

K.methods(Pipeline, {
  ["setFilters:"] = setFilters, ["filters:"] = setFilters,
  ["filters"] = function(self)
    local list = {}
    for i, stream in ipairs(self._filters or {}) do list[i] = stream end
    return K.array(list)
  end,
  ["addFilter:"] = function(self, component)
    local filters = self._filters or {}
    filters[#filters + 1] = K.toStream(component)
    self._filters = filters
    return link(self)
  end,
  ["writeObject:"] = toFirst("writeObject_"),
  ["target"] = function(self)
    local last = lastFilter(self)
    if last and K.isStream(last) then
      local target = K.lastStream(last):target()
      if target ~= nil then return target end
    end
    return self._target or nil
  end,
  ["setTarget:"] = function(self, target)
    self._target = target == nil and false or target
    local last = lastFilter(self)
    if last then last:setFinalTarget_(target) end
    return self
  end,
  ["flush"] = function(self)
    local first = self._filters and self._filters[1]
    if K.isStream(first) then first:flush() end
    return self
  end,
  ["close"] = function(self)
    local first = self._filters and self._filters[1]
    if K.isStream(first) then first:close() end
    return self
  end,
})
K.classMethods(Pipeline, {
  ["filters:"] = function(class, list) return class:new():setFilters_(list) end,
  ["fromArray:"] = function(class, list) return class:new():setFilters_(list) end,
})

-- Sources ---------------------------------------------------------------------------------------

-- What produces objects by itself: `run` writes them to the target (sources.lua).
local Source = K.newClass("Source", WriteStream)
K.alias("MPWStreamSource", Source)

for _, field in ipairs { "_stopped", "_writing" } do K.nilKeys[field] = true end

-- Forwards an object. Answers whether the source continues.
function K.emit(self, object)
  self._writing = true
  self:forward_(object)
  self._writing = false
  return not self._stopped
end

K.methods(Source, {
  -- Writes each object to a block instead.
  ["do:"] = function(self, block)
    self:setFinalTarget_(block)
    self:run()
  end,
  ["produce"] = function() end,
})

-- The values of a collection, with a pause between them when `seconds` is set.
local FixedValueSource = K.newClass("FixedValueSource", Source)
K.alias("MPWFixedValueSource", FixedValueSource)
K.ivar(FixedValueSource, "values")
K.ivar(FixedValueSource, "seconds")
local function pause(time)
  if type(time) == "table" and time._isDuration then time = time._seconds end
  K.native.sleep(K.expectNumber(time, "seconds"))
end

K.methods(FixedValueSource, {
  ["produce"] = function(self)
    local list = K.elementsOf(self.i_values, "values")
    for i = 1, #list do
      if i > 1 and self.i_seconds then pause(self.i_seconds) end
      if list[i] ~= K.NULL and not K.emit(self, list[i]) then return end
    end
  end,
})
K.classMethods(FixedValueSource, {
  ["values:"] = function(class, list)
    local source = class:new()
    source.i_values = list
    return source
  end,
})
