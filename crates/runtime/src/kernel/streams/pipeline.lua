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

--- Several filters in a row as one stream. A stage is a stream or a class of streams, a block, an array (each object
--- goes to all of its stages), or a text: `'-message'`, `'[key]'`, `'%format'`, `'!command'`, otherwise a property
--- path.
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
  --- -<self> setFilters:<Collection>stages
  --- -<self> filters:<Collection>stages
  --- Replaces the stages, connects each to the next one, and answers the pipeline. Another kind of stage is a
  --- `typeError`.
  --- > (Pipeline new setFilters: ['-uppercase', '-reversed']) process: 'ab' ⇒ ['BA']
  ["setFilters:"] = setFilters, ["filters:"] = setFilters,
  --- -<Array> filters
  --- Answers the streams of the stages.
  --- > #Pipeline[ { :n | n + 1 }, '-printString' ] filters count ⇒ 2
  ["filters"] = function(self)
    local list = {}
    for i, stream in ipairs(self._filters or {}) do list[i] = stream end
    return K.array(list)
  end,
  --- -<self> addFilter:<any>stage
  --- Adds a stage behind the others and answers the pipeline.
  --- > (Pipeline new addFilter: { :n | n + 1 }; addFilter: { :n | n * 10 }) process: 1 ⇒ [20]
  ["addFilter:"] = function(self, component)
    local filters = self._filters or {}
    filters[#filters + 1] = K.toStream(component)
    self._filters = filters
    return link(self)
  end,
  --- -<nothing> writeObject:<any>object
  --- -<nothing> ! <any>object
  --- Writes the object to the first stage, or to the target without stages.
  --- > pipe := #Pipeline[ { :n | n + 1 }, { :n | n * 10 } ]. pipe writeObject: 4. pipe target ⇒ [50]
  ["writeObject:"] = toFirst("writeObject_"),
  --- -<any> target
  --- Answers the target behind the last stage.
  --- > pipe := #Pipeline[ '[name]' ]. pipe writeObject: #{ name: 'ada' }. pipe target ⇒ ['ada']
  ["target"] = function(self)
    local last = lastFilter(self)
    if last and K.isStream(last) then
      local target = K.lastStream(last):target()
      if target ~= nil then return target end
    end
    return self._target or nil
  end,
  --- -<self> setTarget:<any>target
  --- Replaces the target behind the last stage and answers the pipeline.
  --- > list := []. (#Pipeline[ '-uppercase' ] setTarget: list) writeObject: 'a'. list ⇒ ['A']
  ["setTarget:"] = function(self, target)
    self._target = target == nil and false or target
    local last = lastFilter(self)
    if last then last:setFinalTarget_(target) end
    return self
  end,
  --- As in WriteStream.
  ["flush"] = function(self)
    local first = self._filters and self._filters[1]
    if K.isStream(first) then first:flush() end
    return self
  end,
  --- As in WriteStream.
  ["close"] = function(self)
    local first = self._filters and self._filters[1]
    if K.isStream(first) then first:close() end
    return self
  end,
})
K.classMethods(Pipeline, {
  --- +<self> filters:<Collection>stages
  --- +<self> fromArray:<Collection>stages
  --- Answers a new pipeline of the stages, as the literal `#Pipeline[ … ]` does. Another kind of stage is a
  --- `typeError`.
  --- > (Pipeline filters: ['-uppercase']) process: 'a' ⇒ ['A']
  ["filters:"] = function(class, list) return class:new():setFilters_(list) end,
  ["fromArray:"] = function(class, list) return class:new():setFilters_(list) end,
})

-- Sources ---------------------------------------------------------------------------------------

--- A stream that produces its objects itself and writes them to its target. Subclasses define `produce`.
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
  --- -<nothing> do:<any>block
  --- Runs the source and writes each object to the block instead of the target at the end of its chain.
  --- > list := []. (FixedValueSource values: [1, 2]) do: { :n | list add: n * 2 }. list ⇒ [2, 4]
  ["do:"] = function(self, block)
    self:setFinalTarget_(block)
    self:run()
  end,
  --- -<nothing> produce
  --- Writes the objects of the source with `forward:`, until it has no more. `run` sends it; subclasses define it.
  --- > Source new run ⇒ []
  ["produce"] = function() end,
})

--- A source of the elements of a collection, with a pause between them when `seconds` is set.
local FixedValueSource = K.newClass("FixedValueSource", Source)
K.alias("MPWFixedValueSource", FixedValueSource)
--- -<any> values
--- -<nothing> setValues:<Collection>values
--- The collection whose elements the source writes; nil elements are skipped.
--- > (FixedValueSource values: [1, 2]) values ⇒ [1, 2]
K.ivar(FixedValueSource, "values")
--- -<any> seconds
--- -<nothing> setSeconds:<Number|Duration>time
--- The pause between two objects, a Number of seconds or a Duration; nil for none.
--- > #FixedValueSource{ values: ['a', 'b'], seconds: 0.001 } run ⇒ ['a', 'b']
K.ivar(FixedValueSource, "seconds")
local function pause(time)
  if type(time) == "table" and time._isDuration then time = time._seconds end
  K.native.sleep(K.expectNumber(time, "seconds"))
end

K.methods(FixedValueSource, {
  --- As in Source.
  ["produce"] = function(self)
    local list = K.elementsOf(self.i_values, "values")
    for i = 1, #list do
      if i > 1 and self.i_seconds then pause(self.i_seconds) end
      if list[i] ~= K.NULL and not K.emit(self, list[i]) then return end
    end
  end,
})
K.classMethods(FixedValueSource, {
  --- +<self> values:<Collection>values
  --- Answers a new source of the elements of a collection.
  --- > (FixedValueSource values: (1 to: 3)) run ⇒ [1, 2, 3]
  ["values:"] = function(class, list)
    local source = class:new()
    source.i_values = list
    return source
  end,
})
