-- Streams of the original's programs: fields of lines, logs of stores, copies of their writes.
local K = ...
local type = type
local classes = K.classes

-- Fields of lines ---------------------------------------------------------------------------------

--- Evaluates a block with the fields of each line that is written to it, without the empty ones.
local FieldFilter = K.newClass("FieldFilter", classes.Filter)
K.alias("STAWK", FieldFilter)
--- -<String?> separator
--- What stands between two fields; a comma where nothing is set.
--- > (FieldFilter stream setSeparator: ' '; separator) ⇒ ' '
K.ivar(FieldFilter, "separator")
K.methods(FieldFilter, {
  --- -<self> setBlock:<Block>block
  --- Sets the block that gets the fields as its arguments; missing ones are nil.
  --- > FieldFilter stream setBlock: { :a :b | b }; class ⇒ FieldFilter
  ["setBlock:"] = function(self, block)
    self._block = K.expectBlock(block, "setBlock:")
    return self
  end,
  --- -<nothing> writeObject:<any>line
  --- -<nothing> ! <any>line
  --- Evaluates the block with the fields of the line, and passes on its value. Without a block the fields themselves.
  --- > (FieldFilter stream setBlock: { :a :b | b }) process: 'x,y' ⇒ ['y']
  ["writeObject:"] = function(self, line)
    local parts, fields = K.str(line):split_(self.i_separator or ","), {}
    for i = 1, #parts do
      if parts[i] ~= "" then fields[#fields + 1] = parts[i] end
    end
    local block = self._block
    if not block then return self:forward_(K.array(fields)) end
    self:forward_(block(unpack(fields)))
  end,
})

local function eachLine(self, separator, block)
  local filter = FieldFilter:new()
  filter:setTarget_(nil)
  filter.i_separator = K.expectText(separator, "withSeparator:awk:")
  filter:setBlock_(block)
  local lines = self:lines()
  for i = 1, #lines do filter:writeObject_(lines[i]) end
  return nil
end

--- A source of the lines of a reference, such as `ref:file:quakes.csv linesAfter: 1`.
local LineSource = K.newClass("LineSource", classes.Source)
--- -<Reference?> reference
--- -<nothing> setReference:<Reference>reference
--- The reference whose content is read.
--- > (ref:file:quakes.csv linesAfter: 1) reference path ⇒ 'quakes.csv'
K.ivar(LineSource, "reference")
K.methods(LineSource, {
  --- As in Source.
  ["produce"] = function(self)
    local reference = self.i_reference
    local lines = reference and reference:lines() or {}
    for i = 1, #lines do
      if not K.emit(self, lines[i]) then return end
    end
  end,
  --- -<any> do:<Block(line)>block
  --- Runs the source with the block as its target, up to the last line.
  --- > memory:log ← "head{newline}one". (ref:memory:log linesAfter: 1) do: { :line | memory:n ← line }. memory:n ⇒ 'one'
  ["do:"] = function(self, block)
    self:setFinalTarget_(K.expectBlock(block, "do:"))
    return self:run()
  end,
  --- -<any> awaitResultForSeconds:<Number>seconds
  --- The final target: `do:` and `run` have waited already.
  --- > memory:log ← 'one'. lines := ref:memory:log linesAfter: 0. lines run. lines awaitResultForSeconds: 1 ⇒ ['one']
  ["awaitResultForSeconds:"] = function(self) return self:finalTarget() end,
})

local function processed(self, filter) return filter:process_(self) end
for _, class in ipairs { classes.String, classes.Data } do
  --- String -<any> processedWith:<any>filter
  --- Data -<any> processedWith:<any>filter
  --- What a filter, or a new one of a class, makes of the value.
  --- > "one{newline}two" processedWith: BytesToLines ⇒ ['one', 'two']
  K.method(class, "processedWith_", processed)
end

K.methods(classes.Reference, {
  --- -<LineSource> linesAfter:<Number>count
  --- A source of the lines of the content without the first ones.
  --- > memory:log ← "head{newline}one". (ref:memory:log linesAfter: 1) run ⇒ ['one']
  ["linesAfter:"] = function(self, count)
    local source, pass = LineSource:new(), classes.WriteStream:new()
    source.i_reference = self
    pass:setTarget_(classes.SkipFilter:skip_(count))
    source:setTarget_(pass)
    return source
  end,
  --- -<nothing> csv:<Block>block
  --- Evaluates the block with the fields of each line, the first one included, as its arguments. A comma separates
  --- fields and quotes mean nothing; `csvRows` reads CSV with quotes and a header.
  --- > memory:t ← 'a,1'. ref:memory:t csv: { :name :count | memory:n ← name }. memory:n ⇒ 'a'
  ["csv:"] = function(self, block) return eachLine(self, ",", block) end,
  --- -<nothing> awk:<Block>block
  --- Evaluates the block with the fields of each line, which blanks separate, as its arguments.
  --- > memory:t ← 'a  1'. ref:memory:t awk: { :name :count | memory:n ← count }. memory:n ⇒ '1'
  ["awk:"] = function(self, block) return eachLine(self, " ", block) end,
  --- -<nothing> withSeparator:<String>separator awk:<Block>block
  --- Evaluates the block with the fields of each line, which the text separates, as its arguments.
  --- > memory:t ← 'a|1'. ref:memory:t withSeparator: '|' awk: { :a :b | memory:n ← b }. memory:n ⇒ '1'
  ["withSeparator:awk:"] = function(self, separator, block) return eachLine(self, separator, block) end,
})

-- Logs of stores ----------------------------------------------------------------------------------

K.methods(classes.NativeStore, {
  --- -<nothing> setLog:<any>log
  --- Writes each change of the store to the log, a stream or a store, from now on: `ref:file:notes changes → log`.
  --- > ref:file:notes asScheme setLog: stdout
  ["setLog:"] = function(self, log) K.connect(self:referenceForPath_(""):changes(), log) end,
})

K.classMethods(classes.RESTCopyStream, {
  --- +<self> streamWithSource:<any>source target:<any>target
  --- A new stream that repeats the changes of one store in another one.
  --- > (RESTCopyStream streamWithSource: DictStore store target: DictStore store) source description
  ["streamWithSource:target:"] = function(class, source, target)
    local copy = class:new()
    copy:setSource_(source)
    copy:setTarget_(target)
    return copy
  end,
})
