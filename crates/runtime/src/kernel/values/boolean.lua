-- true and false, the conditional messages (numbers and nil understand them too: 0 and nil are
-- false), and null.
local K = ...
local truth, valueOf = K.truth, K.valueOf
local Number, Object = K.classes.Number, K.classes.Object

local Boolean = K.newClass("Boolean", Object)
K.alias("Bool", Boolean)
K.typeMetatable("boolean", Boolean, true)

local conditional = {
  ["ifTrue:"] = function(self, block)
    if truth(self) then return valueOf(block) end
    return nil
  end,
  ["ifFalse:"] = function(self, block)
    if truth(self) then return nil end
    return valueOf(block)
  end,
  ["ifTrue:ifFalse:"] = function(self, yes, no)
    if truth(self) then return valueOf(yes) end
    return valueOf(no)
  end,
  ["ifFalse:ifTrue:"] = function(self, no, yes)
    if truth(self) then return valueOf(yes) end
    return valueOf(no)
  end,
  ["and:"] = function(self, other)
    if truth(self) then return valueOf(other) end
    return false
  end,
  ["or:"] = function(self, other)
    if truth(self) then return true end
    return valueOf(other)
  end,
  ["xor:"] = function(self, other) return truth(self) ~= truth(valueOf(other)) end,
  ["not"] = function(self) return not truth(self) end,
  ["|"] = function(self, other) return truth(self) or truth(valueOf(other)) end,
}
K.methods(Boolean, conditional)
K.methods(Number, conditional)
K.methods(K.classes.Nil, conditional)

-- nil is empty, and has no order.
local function refuse(_, other) K.refuseNil(other) end
K.methods(K.classes.Nil, {
  ["isEmpty"] = function() return true end,
  ["notEmpty"] = function() return false end, ["isNotEmpty"] = function() return false end,
  ["ifEmpty:"] = function(_, block) return valueOf(block) end,
  ["isLessThan:"] = refuse, ["isGreaterThan:"] = refuse, ["isLessThanOrEqualTo:"] = refuse,
  ["isGreaterThanOrEqualTo:"] = refuse, ["max:"] = refuse, ["min:"] = refuse,
  ["between:and:"] = refuse, ["min:max:"] = refuse,
})

-- In arithmetic true counts 1 and false 0.
local function number(self) return self and 1 or 0 end

K.methods(Boolean, {
  ["intValue"] = number, ["integerValue"] = number, ["floatValue"] = number,
  ["doubleValue"] = number, ["asNumber"] = number, ["asInteger"] = number,
  ["boolValue"] = function(self) return self end,
  ["description"] = function(self) return self and "true" or "false" end,
  ["concat:"] = function(self, other) return K.str(self) .. K.str(other) end,
  ["isBoolean"] = function() return true end,
  ["compare:"] = function(self, other) return K.order(self, other) end,
})
for _, selector in ipairs {
  "add:", "sub:", "mul:", "div:", "mod:", "isLessThan:", "isGreaterThan:", "isLessThanOrEqualTo:",
  "isGreaterThanOrEqualTo:", "max:", "min:",
} do
  local name = K.mangle(selector)
  K.method(Boolean, name, function(self, other)
    local value = self and 1 or 0
    return value[name](value, other)
  end)
end
K.classMethods(Boolean, {
  ["new"] = function() return false end,
  ["true"] = function() return true end,
  ["false"] = function() return false end,
})

-- null answers as nil does.
local Null = K.classes.Null
K.method(Null, "_kind", K.kinds.null)
K.methods(Null, {
  ["description"] = function() return "nil" end,
  ["isNil"] = function() return true end,
  ["isNotNil"] = function() return false end,
  ["notNil"] = function() return false end,
  ["ifNil:"] = function(_, block) return valueOf(block) end,
  ["ifNotNil:"] = function() return nil end,
  ["ifNil:ifNotNil:"] = function(_, block) return valueOf(block) end,
  ["ifNotNil:ifNil:"] = function(_, _, block) return valueOf(block) end,
})
K.classMethods(Null, {
  ["new"] = function() return nil end, ["alloc"] = function() return nil end,
  ["null"] = function() return nil end,
})
