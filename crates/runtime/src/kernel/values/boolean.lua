-- true and false, the conditional messages (numbers and nil understand them too: 0 and nil are
-- false), and null.
local K = ...
local truth, valueOf = K.truth, K.valueOf
local Number, Object = K.classes.Number, K.classes.Object

--- `true` or `false`. Arithmetic counts true as 1 and false as 0. Conditions also take numbers and nil: 0 and nil are
--- false.
local Boolean = K.newClass("Boolean", Object)
K.alias("Bool", Boolean)
K.typeMetatable("boolean", Boolean, true)

local conditional = {
  --- Boolean -<any> ifTrue:<any>block
  --- Number -<any> ifTrue:<any>block
  --- Nil -<any> ifTrue:<any>block
  --- The value of the block if the receiver is true, otherwise nil. The argument may be a plain value too.
  --- 0 and nil are false, every other number is true.
  --- > 5 > 3 ifTrue: { 'more' } ⇒ 'more'
  ["ifTrue:"] = function(self, block)
    if truth(self) then return valueOf(block) end
    return nil
  end,
  --- Boolean -<any> ifFalse:<any>block
  --- Number -<any> ifFalse:<any>block
  --- Nil -<any> ifFalse:<any>block
  --- The value of the block if the receiver is false, nil or 0, otherwise nil.
  --- > 5 > 3 ifFalse: { 'less' } ⇒ nil
  ["ifFalse:"] = function(self, block)
    if truth(self) then return nil end
    return valueOf(block)
  end,
  --- Boolean -<any> ifTrue:<any>yes ifFalse:<any>no
  --- Number -<any> ifTrue:<any>yes ifFalse:<any>no
  --- Nil -<any> ifTrue:<any>yes ifFalse:<any>no
  --- The value of the first block if the receiver is true, otherwise that of the second.
  --- > 5 > 3 ifTrue: { 'more' } ifFalse: { 'less' } ⇒ 'more'
  ["ifTrue:ifFalse:"] = function(self, yes, no)
    if truth(self) then return valueOf(yes) end
    return valueOf(no)
  end,
  --- Boolean -<any> ifFalse:<any>no ifTrue:<any>yes
  --- Number -<any> ifFalse:<any>no ifTrue:<any>yes
  --- Nil -<any> ifFalse:<any>no ifTrue:<any>yes
  --- The value of the first block if the receiver is false, nil or 0, otherwise that of the second.
  --- > 5 > 3 ifFalse: { 'less' } ifTrue: { 'more' } ⇒ 'more'
  ["ifFalse:ifTrue:"] = function(self, no, yes)
    if truth(self) then return valueOf(yes) end
    return valueOf(no)
  end,
  --- Boolean -<any> and:<any>block
  --- Boolean -<any> & <any>block
  --- Number -<any> and:<any>block
  --- Number -<any> & <any>block
  --- Nil -<any> and:<any>block
  --- Nil -<any> & <any>block
  --- The value of the block if the receiver is true, otherwise false. The block runs only if the receiver is true.
  --- > (5 > 3) and: { 3 > 4 } ⇒ false
  ["and:"] = function(self, other)
    if truth(self) then return valueOf(other) end
    return false
  end,
  --- Boolean -<any> or:<any>block
  --- Number -<any> or:<any>block
  --- Nil -<any> or:<any>block
  --- true if the receiver is true, otherwise the value of the block. The block runs only if the receiver is false.
  --- > (5 > 3) or: { 3 > 4 } ⇒ true
  ["or:"] = function(self, other)
    if truth(self) then return true end
    return valueOf(other)
  end,
  --- Boolean -<Boolean> xor:<any>other
  --- Number -<Boolean> xor:<any>other
  --- Nil -<Boolean> xor:<any>other
  --- Whether exactly one of both is true. The other may be a block.
  --- > true xor: false ⇒ true
  ["xor:"] = function(self, other) return truth(self) ~= truth(valueOf(other)) end,
  --- Boolean -<Boolean> not
  --- Number -<Boolean> not
  --- Nil -<Boolean> not
  --- true if the receiver is false, nil or 0, otherwise false.
  --- > (5 > 3) not ⇒ false
  ["not"] = function(self) return not truth(self) end,
  ["|"] = function(self, other) return truth(self) or truth(valueOf(other)) end,
}
K.methods(Boolean, conditional)
K.methods(Number, conditional)
K.methods(K.classes.Nil, conditional)

-- nil is empty, and has no order.
local function refuse(_, other) K.refuseNil(other) end
K.methods(K.classes.Nil, {
  --- -<Boolean> isEmpty
  --- true: nil counts as empty.
  --- > nil isEmpty ⇒ true
  ["isEmpty"] = function() return true end,
  --- -<Boolean> notEmpty
  --- -<Boolean> isNotEmpty
  --- false: nil counts as empty.
  --- > nil notEmpty ⇒ false
  ["notEmpty"] = function() return false end, ["isNotEmpty"] = function() return false end,
  --- -<any> ifEmpty:<any>block
  --- The value of the block, or the argument itself: nil counts as empty.
  --- > nil ifEmpty: { 'no name' } ⇒ 'no name'
  ["ifEmpty:"] = function(_, block) return valueOf(block) end,
  --- -<nothing> isLessThan:<any>other
  --- -<nothing> > <any>other
  --- -<nothing> isGreaterThan:<any>other
  --- -<nothing> ≤ <any>other
  --- -<nothing> isLessThanOrEqualTo:<any>other
  --- -<nothing> ≥ <any>other
  --- -<nothing> isGreaterThanOrEqualTo:<any>other
  --- -<nothing> max:<any>other
  --- -<nothing> min:<any>other
  --- -<nothing> between:<any>low and:<any>high
  --- -<nothing> min:<any>low max:<any>high
  --- An error of kind `typeError`: nil has no order. Give a default with `ifNil:` before.
  --- > nil < 3 ⇒ error: nil is not a number
  ["isLessThan:"] = refuse, ["isGreaterThan:"] = refuse, ["isLessThanOrEqualTo:"] = refuse,
  ["isGreaterThanOrEqualTo:"] = refuse, ["max:"] = refuse, ["min:"] = refuse,
  ["between:and:"] = refuse, ["min:max:"] = refuse,
})

-- In arithmetic true counts 1 and false 0.
local function number(self) return self and 1 or 0 end

K.methods(Boolean, {
  --- -<Number> intValue
  --- -<Number> integerValue
  --- -<Number> floatValue
  --- -<Number> doubleValue
  --- -<Number> asNumber
  --- -<Number> asInteger
  --- 1 for true, 0 for false.
  --- > true asInteger ⇒ 1
  ["intValue"] = number, ["integerValue"] = number, ["floatValue"] = number,
  ["doubleValue"] = number, ["asNumber"] = number, ["asInteger"] = number,
  --- -<Boolean> boolValue
  --- The value itself.
  --- > true boolValue ⇒ true
  ["boolValue"] = function(self) return self end,
  --- -<String> description
  --- The text `true` or `false`.
  --- > true description ⇒ 'true'
  ["description"] = function(self) return self and "true" or "false" end,
  --- -<String> , <any>other
  --- -<String> concat:<any>other
  --- The text `true` or `false`, followed by the text of the other.
  --- > 'done: ' , (true , '.') ⇒ 'done: true.'
  ["concat:"] = function(self, other) return K.str(self) .. K.str(other) end,
  --- -<Boolean> isBoolean
  --- true; other values answer false.
  --- > [true isBoolean, 1 isBoolean] ⇒ [true, false]
  ["isBoolean"] = function() return true end,
  --- -<Number> compare:<Boolean|Number|BigInteger|Decimal?>other
  --- The order of both values: -1 if the receiver is less, 0 if both are equal, 1 if it is greater.
  --- false is less than true, nil is the least, and with numbers true counts as 1.
  --- > false compare: true ⇒ -1
  ["compare:"] = function(self, other) return K.order(self, other) end,
})
--- Boolean -<Number|BigInteger|Decimal|Point> + <Number|BigInteger|Decimal|Point|Boolean?>other
--- Boolean -<Number|BigInteger|Decimal|Point> add:<Number|BigInteger|Decimal|Point|Boolean?>other
--- The sum, with true as 1 and false as 0.
--- > true + true ⇒ 2

--- Boolean -<Number|BigInteger|Decimal|Point> - <Number|BigInteger|Decimal|Point|Boolean?>other
--- Boolean -<Number|BigInteger|Decimal|Point> sub:<Number|BigInteger|Decimal|Point|Boolean?>other
--- The difference, with true as 1 and false as 0.
--- > true - 1 ⇒ 0

--- Boolean -<any> * <Number|BigInteger|Decimal|Point|Duration|Period|Boolean?>other
--- Boolean -<any> mul:<Number|BigInteger|Decimal|Point|Duration|Period|Boolean?>other
--- The product, with true as 1 and false as 0.
--- > true * 2.5 ⇒ 2.5

--- Boolean -<Number|BigInteger|Decimal|Point> / <Number|BigInteger|Decimal|Point|Boolean?>other
--- The quotient, with true as 1 and false as 0. Division by 0 is an error.
--- > true / 2 ⇒ 0.5

--- Boolean -<Number|BigInteger|Point> div:<Number|BigInteger|Decimal|Point|Boolean?>other
--- The quotient rounded down, with true as 1 and false as 0. Division by 0 is an error.
--- > true div: 2 ⇒ 0

--- Boolean -<Number|BigInteger|Decimal|Point> mod:<Number|BigInteger|Decimal|Point|Boolean?>other
--- Boolean -<Number|BigInteger|Decimal|Point> % <Number|BigInteger|Decimal|Point|Boolean?>other
--- The remainder with the sign of the divisor, with true as 1 and false as 0.
--- > true mod: 2 ⇒ 1

--- Boolean -<Boolean> isLessThan:<Number|BigInteger|Decimal|Point|Boolean>other
--- Whether true as 1, or false as 0, is less than the other.
--- > false < true ⇒ true

--- Boolean -<Boolean> > <Number|BigInteger|Decimal|Point|Boolean>other
--- Boolean -<Boolean> isGreaterThan:<Number|BigInteger|Decimal|Point|Boolean>other
--- Whether true as 1, or false as 0, is greater than the other.
--- > true > false ⇒ true

--- Boolean -<Boolean> ≤ <Number|BigInteger|Decimal|Point|Boolean>other
--- Boolean -<Boolean> isLessThanOrEqualTo:<Number|BigInteger|Decimal|Point|Boolean>other
--- Whether true as 1, or false as 0, is at most the other.
--- > true <= 1 ⇒ true

--- Boolean -<Boolean> ≥ <Number|BigInteger|Decimal|Point|Boolean>other
--- Boolean -<Boolean> isGreaterThanOrEqualTo:<Number|BigInteger|Decimal|Point|Boolean>other
--- Whether true as 1, or false as 0, is at least the other.
--- > true >= 2 ⇒ false

--- Boolean -<Number|BigInteger|Decimal|Boolean> max:<Number|BigInteger|Decimal|Boolean>other
--- The greater of both, with the receiver as 1 or 0.
--- > true max: 3 ⇒ 3

--- Boolean -<Number|BigInteger|Decimal|Boolean> min:<Number|BigInteger|Decimal|Boolean>other
--- The smaller of both, with the receiver as 1 or 0.
--- > true min: 3 ⇒ 1
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
  --- +<Boolean> new
  --- +<Boolean> false
  --- false.
  --- > Boolean new ⇒ false
  ["new"] = function() return false end,
  --- +<Boolean> true
  --- true.
  --- > Boolean true ⇒ true
  ["true"] = function() return true end,
  ["false"] = function() return false end,
})

-- null answers as nil does.
local Null = K.classes.Null
K.method(Null, "_kind", K.kinds.null)
K.methods(Null, {
  --- As in Nil.
  ["description"] = function() return "nil" end,
  --- As in Nil.
  ["isNil"] = function() return true end,
  --- As in Nil.
  ["isNotNil"] = function() return false end,
  --- As in Nil.
  ["notNil"] = function() return false end,
  --- As in Nil.
  ["ifNil:"] = function(_, block) return valueOf(block) end,
  --- As in Nil.
  ["ifNotNil:"] = function() return nil end,
  --- As in Nil.
  ["ifNil:ifNotNil:"] = function(_, block) return valueOf(block) end,
  --- As in Nil.
  ["ifNotNil:ifNil:"] = function(_, _, block) return valueOf(block) end,
})
K.classMethods(Null, {
  --- +<any> null
  --- +<any> new
  --- +<any> alloc
  --- nil.
  --- > Null null ⇒ nil
  ["new"] = function() return nil end, ["alloc"] = function() return nil end,
  ["null"] = function() return nil end,
})
