-- Blocks: functions of the language. Missing arguments are nil, extra ones are dropped.
local K = ...
local type = type
local getinfo = debug.getinfo
local truth = K.truth

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
  ["value"] = function(self) return self() end,
  ["value:"] = function(self, a) return self(a) end,
  ["value:with:"] = function(self, a, b) return self(a, b) end,
  ["value:value:"] = function(self, a, b) return self(a, b) end,
  ["value:with:with:"] = function(self, a, b, c) return self(a, b, c) end,
  ["value:value:value:"] = function(self, a, b, c) return self(a, b, c) end,
  ["value:with:with:with:"] = function(self, a, b, c, d) return self(a, b, c, d) end,
  ["valueWithObjects:"] = apply,
  ["valueWithArguments:"] = apply,
  ["numArgs"] = K.blockArity,
  ["whileTrue:"] = function(self, body)
    while truth(self()) do body() end
  end,
  ["whileFalse:"] = function(self, body)
    while not truth(self()) do body() end
  end,
  ["whileTrue"] = function(self)
    while truth(self()) do end
  end,
  ["whileFalse"] = function(self)
    while not truth(self()) do end
  end,
  ["repeat"] = function(self)
    while true do self() end
  end,
  ["repeatUntil:"] = function(self, condition)
    repeat self() until truth(condition())
  end,
  ["description"] = function() return "a Block" end,
  ["isBlock"] = function() return true end,
  ["asBlock"] = function(self) return self end,
})
