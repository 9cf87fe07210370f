-- Blocks: functions of the language. Missing arguments are nil, extra ones are dropped.
local K = ...
local type = type
local getinfo = debug.getinfo
local truth = K.truth

--- A block of code between braces, as in `{ :each | each + 1 }`: it runs when it gets `value`. A missing argument is
--- nil, an extra one is ignored.
local Block = K.newClass("Block", K.classes.Object)
K.typeMetatable("function", Block, function() end)

-- How many arguments a block takes.
function K.blockArity(block)
  return getinfo(block, "u").nparams
end

-- Apart from `asBlock`, because LuaJIT's tracer stops at a function that makes closures.
local function propertyBlock(name)
  return function(element) return K.property(element, name) end
end

-- What a collection message calls for each element: a block, or the name of a property.
function K.asBlock(value, selector)
  if type(value) == "function" then return value end
  if type(value) == "string" then return propertyBlock(value) end
  K.throw("typeError", selector .. " expects a block or the name of a property, got "
    .. K.nameOf(value))
end

local function apply(self, arguments)
  local list = K.elementsOf(arguments, "valueWithObjects:")
  local values, NULL = {}, K.NULL
  for i = 1, #list do
    if list[i] ~= NULL then values[i] = list[i] end
  end
  return self(unpack(values, 1, #list))
end

K.methods(Block, {
  --- -<any> value
  --- Evaluates the block without arguments and answers the value of its last statement.
  --- > { 3 + 4 } value ⇒ 7
  ["value"] = function(self) return self() end,
  --- -<any> value:<any?>argument
  --- Evaluates the block with one argument and answers the value of its last statement.
  --- > { :n | n * n } value: 5 ⇒ 25
  ["value:"] = function(self, a) return self(a) end,
  --- -<any> value:<any?>first with:<any?>second
  --- -<any> value:<any?>first value:<any?>second
  --- Evaluates the block with two arguments and answers the value of its last statement.
  --- > { :a :b | a - b } value: 5 with: 3 ⇒ 2
  ["value:with:"] = function(self, a, b) return self(a, b) end,
  ["value:value:"] = function(self, a, b) return self(a, b) end,
  --- -<any> value:<any?>first with:<any?>second with:<any?>third
  --- -<any> value:<any?>first value:<any?>second value:<any?>third
  --- Evaluates the block with three arguments and answers the value of its last statement.
  --- > { :a :b :c | [a, b, c] } value: 1 with: 2 with: 3 ⇒ [1, 2, 3]
  ["value:with:with:"] = function(self, a, b, c) return self(a, b, c) end,
  ["value:value:value:"] = function(self, a, b, c) return self(a, b, c) end,
  --- -<any> value:<any?>first with:<any?>second with:<any?>third with:<any?>fourth
  --- Evaluates the block with four arguments and answers the value of its last statement.
  --- > { :a :b :c :d | a + b + c + d } value: 1 with: 2 with: 3 with: 4 ⇒ 10
  ["value:with:with:with:"] = function(self, a, b, c, d) return self(a, b, c, d) end,
  --- -<any> valueWithObjects:<Collection>arguments
  --- -<any> valueWithArguments:<Collection>arguments
  --- Evaluates the block with the elements of a collection as its arguments.
  --- > { :a :b | a - b } valueWithObjects: [5, 3] ⇒ 2
  ["valueWithObjects:"] = apply,
  ["valueWithArguments:"] = apply,
  --- -<Number> numArgs
  --- How many arguments the block declares.
  --- > { :a :b | a - b } numArgs ⇒ 2
  ["numArgs"] = K.blockArity,
  --- -<nothing> whileTrue:<Block()>body
  --- Evaluates the body as long as the receiver answers true. A number other than 0 is true, nil is false, another
  --- value is an error.
  --- > n := 1. { n < 100 } whileTrue: { n := n * 2 }. n ⇒ 128
  ["whileTrue:"] = function(self, body)
    while truth(self()) do body() end
  end,
  --- -<nothing> whileFalse:<Block()>body
  --- Evaluates the body until the receiver answers true; the receiver comes first.
  --- > n := 1. { n > 100 } whileFalse: { n := n * 2 }. n ⇒ 128
  ["whileFalse:"] = function(self, body)
    while not truth(self()) do body() end
  end,
  --- -<nothing> whileTrue
  --- Evaluates the block again and again, until it answers false or nil.
  --- > n := 0. { n := n + 1. n < 5 } whileTrue. n ⇒ 5
  ["whileTrue"] = function(self)
    while truth(self()) do end
  end,
  --- -<nothing> whileFalse
  --- Evaluates the block again and again, until it answers true.
  --- > n := 0. { n := n + 1. n = 5 } whileFalse. n ⇒ 5
  ["whileFalse"] = function(self)
    while not truth(self()) do end
  end,
  --- -<nothing> repeat
  --- Evaluates the block without end. An error, or `^` in a method, leaves the loop.
  --- > n := 0. { { n := n + 1. n = 5 ifTrue: { Error signal: 'enough' } } repeat } onError: { n } ⇒ 5
  ["repeat"] = function(self)
    while true do self() end
  end,
  --- -<nothing> repeatUntil:<Block()>condition
  --- Evaluates the block, then the condition, until the condition answers true; so the block runs at least once.
  --- > n := 0. { n := n + 1 } repeatUntil: { n ≥ 3 }. n ⇒ 3
  ["repeatUntil:"] = function(self, condition)
    repeat self() until truth(condition())
  end,
  --- -<String> description
  --- Answers `a Block`; the source of a block is not kept.
  --- > { 3 } description ⇒ 'a Block'
  ["description"] = function() return "a Block" end,
  --- -<Boolean> isBlock
  --- Whether the value is a block: true.
  --- > { 3 } isBlock ⇒ true
  ["isBlock"] = function() return true end,
  --- -<self> asBlock
  --- The block itself.
  --- > { 3 } asBlock value ⇒ 3
  ["asBlock"] = function(self) return self end,
})
