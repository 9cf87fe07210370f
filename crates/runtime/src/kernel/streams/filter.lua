-- Filters: streams that do something with each object before they pass it on. Those that programs
-- define with `filter Name |{ … }` are subclasses whose `writeObject:` is the body.
local K = ...
local type, setmetatable = type, setmetatable
local find, sub, byte = string.find, string.sub, string.byte
local throw = K.throw

local Filter = K.newClass("Filter", K.classes.WriteStream)
K.alias("MPWFilter", Filter)

local function fields(names)
  for _, name in ipairs(names) do
    K.nilKeys[name] = true
    K.method(Filter, name, false)
  end
end
fields { "_block", "_left", "_rest", "_outputs", "_latest", "_arrived", "_sources", "_items",
  "_seen", "_from" }

-- A class of filters with its name of the original.
local function define(name, alias, methods, classMethods)
  local class = K.newClass(name, Filter)
  K.alias(alias, class)
  K.methods(class, methods)
  K.classMethods(class, classMethods or {})
  return class
end
K.defineFilter = define

-- An instance with its block, for the class messages below.
local function withBlock(class, block)
  local stream = class:new()
  stream._block = K.asBlock(block, class._name)
  return stream
end

local function setBlock(self, block)
  self._block = K.asBlock(block, "block:")
  return self
end

local blockMakers = { ["filterWithBlock:"] = withBlock, ["streamWithBlock:"] = withBlock,
  ["block:"] = withBlock }

-- Passes on what a block makes of each object; without a block, the object.
local MapFilter = define("MapFilter", "MPWMapFilter", {
  ["writeObject:"] = function(self, object)
    local block = self._block
    if block then object = block(object) end
    self:forward_(object)
  end,
  ["setBlock:"] = setBlock, ["block:"] = setBlock,
  ["setSelector:"] = function(self, selector)
    local name = K.mangle(K.expectText(selector, "setSelector:"))
    self._block = function(object) return object[name](object) end
    return self
  end,
}, blockMakers)
K.classMethods(MapFilter, {
  ["filterWithSelector:"] = function(class, selector) return class:new():setSelector_(selector) end,
})

function K.mapFilter(block)
  local stream = MapFilter:new()
  stream._block = block
  return stream
end

-- Passes on the objects for which a block says yes.
define("SelectFilter", "MPWSelectFilter", {
  ["writeObject:"] = function(self, object)
    local block = self._block
    if not block or K.yes(block(object)) then self:forward_(object) end
  end,
  ["setBlock:"] = setBlock, ["block:"] = setBlock,
}, blockMakers)

-- Leaves out the first objects.
define("SkipFilter", "MPWSkipFilter", {
  ["writeObject:"] = function(self, object)
    if (self._left or 0) > 0 then
      self._left = self._left - 1
    else
      self:forward_(object)
    end
  end,
  ["setSkip:"] = function(self, n)
    self._left = K.expectInteger(n, "skip:")
    return self
  end,
  ["skip:"] = function(self, n) return self:setSkip_(n) end,
}, { ["skip:"] = function(class, n) return class:new():setSkip_(n) end })

-- Passes on the elements of collections, however deep, one by one.
local function writeFlat(self, object, depth)
  if depth > 128 then throw("tooLarge", "FlattenStream goes 128 levels deep at most") end
  if type(object) == "table" and object._isCollection then
    local list = object:_elements()
    for i = 1, #list do writeFlat(self, list[i], depth + 1) end
  elseif object ~= K.NULL then
    self:forward_(object)
  end
end
define("FlattenStream", "MPWFlattenStream", {
  ["writeObject:"] = function(self, object) writeFlat(self, object, 1) end,
})

-- Lines -----------------------------------------------------------------------------------------

-- The longest line that is put together from pieces: 64 MiB.
local LONGEST_LINE = 67108864

-- Text or Data in pieces of any size becomes one text for each line.
define("BytesToLines", "MPWBytesToLines", {
  ["writeObject:"] = function(self, object)
    local text = K.bytesOf(object, "writeObject:")
    local from = 1
    while true do
      local newline = find(text, "\n", from, true)
      if not newline then break end
      local line = (self._rest or "") .. sub(text, from, newline - 1)
      self._rest = false
      if byte(line, -1) == 13 then line = sub(line, 1, -2) end
      self:forward_(line)
      from = newline + 1
    end
    if from <= #text then
      local rest = (self._rest or "") .. sub(text, from)
      if #rest > LONGEST_LINE then throw("tooLarge", "a line has at most 64 MiB") end
      self._rest = rest
    end
  end,
  ["close"] = function(self)
    local rest = self._rest
    self._rest = false
    if rest then self:forward_(rest) end
    return K.classes.WriteStream._methods.close(self)
  end,
})

-- Writes each object as a line of text.
local PrintLiner = define("PrintLiner", "MPWPrintLiner", {
  ["writeObject:"] = function(self, object)
    if object == nil then return end
    local target = self._target
    if target and K.understands(target, "println_") then
      target:println_(object)
    else
      self:forward_(K.str(object) .. "\n")
    end
  end,
  ["println:"] = function(self, object)
    return self:writeObject_(object == nil and "nil" or object)
  end,
})
K.stdline = setmetatable({ _target = K.stdout }, PrintLiner._methods)

-- JSON ------------------------------------------------------------------------------------------

-- Writes each object as JSON text; a newline stands between two of them.
local JSONWriter = define("JSONWriter", "MPWJSONWriter", {
  ["writeObject:"] = function(self, object)
    local text = K.json(object)
    if self._started then text = "\n" .. text end
    self._started = true
    self:forward_(text)
  end,
  ["stringValue"] = function(self) return K.str(self:target()) end,
}, {
  ["defaultTarget"] = function() return K.mutableText("") end,
  ["process:"] = function(_, object) return K.json(object) end,
})

-- Objects that write themselves (`writeOnJSONStream:`) write entries between the braces that
-- `writeDictionaryLikeObject:withContentBlock:` puts around what its block writes.
local function writeEntry(self, value, key)
  local text = K.jsonQuote(K.str(key)) .. ":" .. K.json(value)
  if (self._left or 0) > 0 then text = "," .. text end
  self._left = (self._left or 0) + 1
  self:forward_(text)
end

local function writeDictionaryLike(self, object, block)
  K.expectBlock(block, "writeDictionaryLikeObject:withContentBlock:")
  local outer = self._left
  self._left = 0
  self:forward_("{")
  block(self, object)
  self:forward_("}")
  self._left = outer
end

local function writeValue(self, value) self:forward_(K.json(value)) end

K.methods(JSONWriter, {
  ["writeDictionaryLikeObject:withContentBlock:"] = writeDictionaryLike,
  ["writeObject:forKey:"] = writeEntry, ["writeString:forKey:"] = writeEntry,
  ["writeInteger:forKey:"] = writeEntry, ["writeFloat:forKey:"] = writeEntry,
  ["writeBoolean:forKey:"] = writeEntry,
  ["writeString:"] = writeValue, ["writeInteger:"] = writeValue, ["writeFloat:"] = writeValue,
  ["writeBoolean:"] = writeValue, ["writeArray:"] = writeValue, ["writeDictionary:"] = writeValue,
  ["writeNull"] = function(self) self:forward_("null") end,
})

-- Reads JSON text and passes on the values.
define("JSONParser", "MPWMASONParser", {
  ["writeObject:"] = function(self, object) self:forward_(K.parseJSON(object)) end,
  ["parsedData:"] = function(_, text) return K.parseJSON(text) end,
}, { ["parser"] = function(class) return class:new() end })
