-- Filters: streams that do something with each object before they pass it on. Those that programs
-- define with `filter Name |{ … }` are subclasses whose `writeObject:` is the body.
local K = ...
local type, setmetatable = type, setmetatable
local find, sub, byte = string.find, string.sub, string.byte
local throw = K.throw

--- A stream that does something with each object and passes results on. `filter Name |{ ^object }` defines a subclass
--- whose body runs for each object, in which `^` passes a result on.
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

--- MapFilter +<self> block:<Block(each)|String>block
--- MapFilter +<self> filterWithBlock:<Block(each)|String>block
--- MapFilter +<self> streamWithBlock:<Block(each)|String>block
--- Answers a new filter that passes on the block's value for each object.
--- > (MapFilter block: { :n | n * 2 }) process: 4 ⇒ [8]

--- SelectFilter +<self> block:<Block(each)|String>condition
--- SelectFilter +<self> filterWithBlock:<Block(each)|String>condition
--- SelectFilter +<self> streamWithBlock:<Block(each)|String>condition
--- Answers a new filter that passes on the objects for which the condition is true.
--- > (SelectFilter block: { :n | n > 1 }) process: 4 ⇒ [4]

local blockMakers = { ["filterWithBlock:"] = withBlock, ["streamWithBlock:"] = withBlock,
  ["block:"] = withBlock }

--- Passes on the block's value for each object; without a block the object itself. A nil value is dropped.
local MapFilter = K.newClass("MapFilter", Filter)
K.alias("MPWMapFilter", MapFilter)
K.methods(MapFilter, {
  --- -<nothing> writeObject:<any>object
  --- -<nothing> ! <any>object
  --- Passes on the block's value for the object, or the object without a block; nothing when the value is nil.
  --- > stream := MapFilter block: { :n | n + 1 }. stream ! 1; writeObject: 2. stream target ⇒ [2, 3]
  ["writeObject:"] = function(self, object)
    local block = self._block
    if block then object = block(object) end
    self:forward_(object)
  end,
  --- -<self> setBlock:<Block(each)|String>block
  --- -<self> block:<Block(each)|String>block
  --- Replaces the block, which a text with the name of a property may stand for, and answers the filter.
  --- > #MapFilter{ block: 'count' } process: 'abc' ⇒ [3]
  ["setBlock:"] = setBlock, ["block:"] = setBlock,
  --- -<self> setSelector:<String>selector
  --- Replaces the block by a unary message that each object gets, and answers the filter.
  --- > #MapFilter{ selector: 'uppercase' } process: 'a' ⇒ ['A']
  ["setSelector:"] = function(self, selector)
    local name = K.mangle(K.expectText(selector, "setSelector:"))
    self._block = function(object) return object[name](object) end
    return self
  end,
})
K.classMethods(MapFilter, blockMakers)
K.classMethods(MapFilter, {
  --- +<self> filterWithSelector:<String>selector
  --- Answers a new filter that passes on the answer of each object to a unary message.
  --- > (MapFilter filterWithSelector: 'uppercase') process: 'a' ⇒ ['A']
  ["filterWithSelector:"] = function(class, selector) return class:new():setSelector_(selector) end,
})

function K.mapFilter(block)
  local stream = MapFilter:new()
  stream._block = block
  return stream
end

--- Passes on the objects for which a condition is true; all objects without a condition.
local SelectFilter = K.newClass("SelectFilter", Filter)
K.alias("MPWSelectFilter", SelectFilter)
K.methods(SelectFilter, {
  --- -<nothing> writeObject:<any>object
  --- -<nothing> ! <any>object
  --- Passes the object on when the condition is true for it.
  --- > stream := SelectFilter block: { :n | n odd }. stream ! 1; writeObject: 2. stream target ⇒ [1]
  ["writeObject:"] = function(self, object)
    local block = self._block
    if not block or K.yes(block(object)) then self:forward_(object) end
  end,
  --- -<self> setBlock:<Block(each)|String>condition
  --- -<self> block:<Block(each)|String>condition
  --- Replaces the condition and answers the filter.
  --- > #SelectFilter{ block: { :n | n odd } } process: 2 ⇒ []
  ["setBlock:"] = setBlock, ["block:"] = setBlock,
})
K.classMethods(SelectFilter, blockMakers)

--- Drops the first objects and passes on all others.
local SkipFilter = K.newClass("SkipFilter", Filter)
K.alias("MPWSkipFilter", SkipFilter)
K.methods(SkipFilter, {
  --- -<nothing> writeObject:<any>object
  --- -<nothing> ! <any>object
  --- Drops the object while some are left to skip, otherwise passes it on.
  --- > stream := SkipFilter skip: 1. stream ! 'header'; writeObject: 'line'. stream target ⇒ ['line']
  ["writeObject:"] = function(self, object)
    if (self._left or 0) > 0 then
      self._left = self._left - 1
    else
      self:forward_(object)
    end
  end,
  --- -<self> setSkip:<Number>count
  --- -<self> skip:<Number>count
  --- Sets how many of the following objects are dropped, 0 by default, and answers the filter.
  --- > (#SkipFilter{ skip: 1 } writeAll: [1, 2, 3]) target ⇒ [2, 3]
  ["setSkip:"] = function(self, n)
    self._left = K.expectInteger(n, "skip:")
    if n < 0 then K.throw("outOfRange", "skip: expects a count from 0 on, got " .. K.str(n)) end
    return self
  end,
  ["skip:"] = function(self, n) return self:setSkip_(n) end,
})
K.classMethods(SkipFilter, {
  --- +<self> skip:<Number>count
  --- Answers a new filter that drops the first `count` objects.
  --- > ((SkipFilter skip: 2) writeAll: [1, 2, 3]) target ⇒ [3]
  ["skip:"] = function(class, n) return class:new():setSkip_(n) end,
})

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
--- Passes on the elements of collections one by one, at any depth up to 128; of a Dictionary its values.
local FlattenStream = K.newClass("FlattenStream", Filter)
K.alias("MPWFlattenStream", FlattenStream)
K.methods(FlattenStream, {
  --- -<nothing> writeObject:<any>object
  --- -<nothing> ! <any>object
  --- Passes on the elements of a collection and of those inside it, except nil, or the object itself. A collection
  --- deeper than 128 levels is a `tooLarge` error.
  --- > FlattenStream process: [1, [2, #{ a: 3 }]] ⇒ [1, 2, 3]
  ["writeObject:"] = function(self, object) writeFlat(self, object, 1) end,
})

-- Lines -----------------------------------------------------------------------------------------

-- The longest line that is put together from pieces: 64 MiB.
local LONGEST_LINE = 67108864

--- Splits text or Data in pieces of any size into lines; each goes to the target as a text without its line break.
local BytesToLines = K.newClass("BytesToLines", Filter)
K.alias("MPWBytesToLines", BytesToLines)
K.methods(BytesToLines, {
  --- -<nothing> writeObject:<Data|String>piece
  --- -<nothing> ! <Data|String>piece
  --- Passes on the complete lines, and keeps an incomplete one for the next piece. A line of more than 64 MiB is a
  --- `tooLarge` error.
  --- > lines := BytesToLines new. lines ! 'a\nb'; writeObject: 'c\nd'. lines target ⇒ ['a', 'bc']
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
  --- -<self> close
  --- Passes on the rest as the last line, and closes the stream.
  --- > lines := BytesToLines new. lines ! 'a\nb'; close. lines target ⇒ ['a', 'b']
  ["close"] = function(self)
    local rest = self._rest
    self._rest = false
    if rest then self:forward_(rest) end
    return K.classes.WriteStream._methods.close(self)
  end,
})

--- Writes each object as a line of text. `stdline` is the one that writes to standard output.
local PrintLiner = K.newClass("PrintLiner", Filter)
K.alias("MPWPrintLiner", PrintLiner)
K.methods(PrintLiner, {
  --- -<nothing> writeObject:<any>object
  --- -<nothing> ! <any>object
  --- Writes the text of the object and a newline; nil is ignored.
  --- > lines := PrintLiner new. lines ! 1; writeObject: 2. lines target ⇒ ['1\n', '2\n']
  ["writeObject:"] = function(self, object)
    if object == nil then return end
    local target = self._target
    if target and K.understands(target, "println_") then
      target:println_(object)
    else
      self:forward_(K.str(object) .. "\n")
    end
  end,
  --- -<nothing> println:<any>object
  --- Writes the text of the object and a newline. Unlike with `writeObject:`, nil is written as `nil`.
  --- > lines := PrintLiner new. lines println: nil. lines target ⇒ ['nil\n']
  ["println:"] = function(self, object)
    return self:writeObject_(object == nil and "nil" or object)
  end,
})
K.stdline = setmetatable({ _target = K.stdout }, PrintLiner._methods)

-- JSON ------------------------------------------------------------------------------------------

--- Writes objects as JSON text to a text in memory or another target. An object with `writeOnJSONStream:` writes
--- itself.
local JSONWriter = K.newClass("JSONWriter", Filter)
K.alias("MPWJSONWriter", JSONWriter)
K.methods(JSONWriter, {
  --- -<nothing> writeObject:<any>object
  --- -<nothing> ! <any>object
  --- Writes the object as JSON, after a newline unless it is the first one; nil as `null`.
  --- > json := JSONWriter new. json ! #{ a: 1 }; writeObject: [2]. json stringValue ⇒ '{"a":1}\n[2]'
  ["writeObject:"] = function(self, object)
    local text = K.json(object)
    if self._started then text = "\n" .. text end
    self._started = true
    self:forward_(text)
  end,
  --- -<String> stringValue
  --- Answers the text that is written so far.
  --- > json := JSONWriter new. json ! [1, nil]. json stringValue ⇒ '[1,null]'
  ["stringValue"] = function(self) return K.str(self:target()) end,
})
K.classMethods(JSONWriter, {
  --- +<MutableString> defaultTarget
  --- Answers a new target for an instance without one: an empty MutableString.
  --- > JSONWriter defaultTarget ⇒ ''
  ["defaultTarget"] = function() return K.mutableText("") end,
  --- +<String> process:<any>object
  --- Answers the JSON text of the object.
  --- > JSONWriter process: #{ a: 1 } ⇒ '{"a":1}'
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
  --- -<nothing> writeDictionaryLikeObject:<any>object withContentBlock:<Block(writer, object)>block
  --- Writes a JSON object: a brace, what the block writes with `writeObject:forKey:`, and a brace.
  --- > { :w :task | w writeDictionaryLikeObject: task withContentBlock: { w writeObject: task id forKey: 'id' } }
  ["writeDictionaryLikeObject:withContentBlock:"] = writeDictionaryLike,
  --- -<nothing> writeObject:<any>value forKey:<any>key
  --- -<nothing> writeString:<any>value forKey:<any>key
  --- -<nothing> writeInteger:<any>value forKey:<any>key
  --- -<nothing> writeFloat:<any>value forKey:<any>key
  --- -<nothing> writeBoolean:<any>value forKey:<any>key
  --- Writes an entry of a JSON object, with a comma before all but the first one. The value decides its form.
  --- > json := JSONWriter new. json writeString: 'x' forKey: 'b'. json stringValue ⇒ '"b":"x"'
  ["writeObject:forKey:"] = writeEntry, ["writeString:forKey:"] = writeEntry,
  ["writeInteger:forKey:"] = writeEntry, ["writeFloat:forKey:"] = writeEntry,
  ["writeBoolean:forKey:"] = writeEntry,
  --- -<nothing> writeString:<any>value
  --- -<nothing> writeInteger:<any>value
  --- -<nothing> writeFloat:<any>value
  --- -<nothing> writeBoolean:<any>value
  --- -<nothing> writeArray:<any>value
  --- -<nothing> writeDictionary:<any>value
  --- Writes a value as JSON, without the newline that `writeObject:` puts between two. The value decides its form.
  --- > json := JSONWriter new. json writeString: 'a'. json stringValue ⇒ '"a"'
  ["writeString:"] = writeValue, ["writeInteger:"] = writeValue, ["writeFloat:"] = writeValue,
  ["writeBoolean:"] = writeValue, ["writeArray:"] = writeValue, ["writeDictionary:"] = writeValue,
  --- -<nothing> writeNull
  --- Writes `null`.
  --- > json := JSONWriter new. json writeNull. json stringValue ⇒ 'null'
  ["writeNull"] = function(self) self:forward_("null") end,
})

--- Parses JSON texts and passes on their values.
local JSONParser = K.newClass("JSONParser", Filter)
K.alias("MPWMASONParser", JSONParser)
K.methods(JSONParser, {
  --- -<nothing> writeObject:<Data|String>text
  --- -<nothing> ! <Data|String>text
  --- Passes on the value of one complete JSON text; another text is an error that names line and column.
  --- > parser := JSONParser new. parser ! '[1]'; writeObject: '{"a":2}'. parser target ⇒ [[1], #{ a: 2 }]
  ["writeObject:"] = function(self, object) self:forward_(K.parseJSON(object)) end,
  --- -<any> parsedData:<Data|String>text
  --- Answers the value of a JSON text. Does not write it to the target.
  --- > JSONParser new parsedData: '{"a":[1,null]}' ⇒ #{ a: [1, nil] }
  ["parsedData:"] = function(_, text) return K.parseJSON(text) end,
})
K.classMethods(JSONParser, {
  --- +<self> parser
  --- Answers a new parser, as `new` does.
  --- > JSONParser parser parsedData: '1' ⇒ 1
  ["parser"] = function(class) return class:new() end,
})
